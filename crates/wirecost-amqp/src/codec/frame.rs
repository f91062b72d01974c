//! Reads protocol headers and frames from a stream (sections 2.2 and 2.3).

use alloc::vec::Vec;
use core::fmt;

use wirecost_proto::{Buffer, Layer};

use crate::codec::{Attribution, DecodeError, Performative, Sasl};

/// The length of a protocol header and of a frame header in bytes.
pub const HEADER_BYTES: usize = 8;

/// The length of a frame's size field in bytes. Its value tells a frame from a protocol header.
const SIZE_BYTES: usize = 4;

/// The smallest max-frame-size that a peer may announce, in bytes (section 2.7.1).
pub(crate) const MIN_MAX_FRAME_SIZE: u32 = 512;

/// A frame must be smaller than this: its size field would look like the start of a protocol header.
const AMBIGUOUS_SIZE: u32 = u32::from_be_bytes(*b"AMQP");

/// The largest frame in bytes.
pub(crate) const LARGEST_FRAME: usize = AMBIGUOUS_SIZE as usize - 1;

/// The eight bytes that begin a protocol (section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtocolHeader {
    /// 0 for AMQP, 2 for TLS, 3 for SASL.
    pub protocol_id: u8,
    /// Major, minor and revision.
    pub version: [u8; 3],
}

impl ProtocolHeader {
    /// AMQP 1.0.0.
    pub const AMQP: Self = Self::of_version_1(0);
    /// SASL before AMQP 1.0.0 (section 5.3.1).
    pub const SASL: Self = Self::of_version_1(3);

    const fn of_version_1(protocol_id: u8) -> Self {
        Self {
            protocol_id,
            version: [1, 0, 0],
        }
    }

    /// The bytes on the wire.
    pub const fn bytes(&self) -> [u8; HEADER_BYTES] {
        let [major, minor, revision] = self.version;
        [b'A', b'M', b'Q', b'P', self.protocol_id, major, minor, revision]
    }

    /// Appends the header to `out`, in phase connect.
    pub fn emit(&self, out: &mut Buffer) {
        Attribution::CONNECT.push(&self.bytes(), out);
    }
}

impl fmt::Display for ProtocolHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, revision] = self.version;
        write!(f, "AMQP {} {major}.{minor}.{revision}", self.protocol_id)
    }
}

/// The type field of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameType {
    /// A frame of a connection (section 2.3.2).
    Amqp,
    /// A frame of the security layer (section 5.3.1).
    Sasl,
}

/// The decoded body of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// The frame has no body: it only keeps the connection from timing out (section 2.4.5).
    Empty,
    /// The body of an AMQP frame: a performative, and the payload if it is a transfer.
    Amqp(Performative<'a>, &'a [u8]),
    /// The body of a SASL frame.
    Sasl(Sasl<'a>),
}

/// A view over one whole frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    bytes: &'a [u8],
}

impl<'a> Frame<'a> {
    /// A view over `bytes`, which may be any bytes.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The bytes, frame header included.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The frame's type.
    ///
    /// # Errors
    /// The type is not defined.
    pub fn frame_type(&self) -> Result<FrameType, DecodeError> {
        match self.byte(5) {
            0 => Ok(FrameType::Amqp),
            1 => Ok(FrameType::Sasl),
            other => Err(DecodeError::FrameType(other)),
        }
    }

    /// The channel. Only frames of type AMQP have one.
    pub fn channel(&self) -> u16 {
        u16::from_be_bytes([self.byte(6), self.byte(7)])
    }

    /// The bytes behind the frame header and its extension. The body of an empty frame has no bytes.
    ///
    /// # Errors
    /// The data offset points into the frame header or behind the frame.
    pub fn body(&self) -> Result<&'a [u8], DecodeError> {
        let doff = self.byte(4);
        let start = usize::from(doff) * 4;
        let out_of_bounds = DecodeError::DataOffset {
            got: doff,
            limit: u32::try_from(self.bytes.len() / 4).unwrap_or(u32::MAX),
        };
        if start < HEADER_BYTES {
            return Err(out_of_bounds);
        }
        self.bytes.get(start..).ok_or(out_of_bounds)
    }

    /// Decodes the body.
    ///
    /// # Errors
    /// The type is not defined, the data offset is out of bounds, or the body is malformed.
    pub fn decode(&self) -> Result<Body<'a>, DecodeError> {
        Ok(match (self.frame_type()?, self.body()?) {
            (FrameType::Sasl, body) => Body::Sasl(Sasl::decode(body)?),
            (FrameType::Amqp, []) => Body::Empty,
            (FrameType::Amqp, body) => {
                let (performative, payload) = Performative::decode(body)?;
                Body::Amqp(performative, payload)
            }
        })
    }

    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or_default()
    }
}

/// Appends a frame to `out`; `write` appends its body.
pub(crate) fn write_frame(
    out: &mut Vec<u8>,
    frame_type: FrameType,
    channel: u16,
    write: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len();
    let [high, low] = channel.to_be_bytes();
    out.extend_from_slice(&[0, 0, 0, 0, 2, frame_type as u8, high, low]);
    write(out);
    let len = out.len() - start;
    set_frame_size(out, start, len);
}

/// Writes `len`, which is at most [`LARGEST_FRAME`], into the size field of the frame at `start`.
pub(crate) fn set_frame_size(out: &mut [u8], start: usize, len: usize) {
    let size = u32::try_from(len).unwrap_or(u32::MAX).to_be_bytes();
    out.iter_mut()
        .skip(start)
        .zip(size)
        .for_each(|(byte, value)| *byte = value);
}

/// A frame that is larger than its receiver accepts (section 2.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("frame must have at most {limit} B, got {bytes} B")]
pub struct FrameTooLarge {
    /// The frame's length in bytes.
    pub bytes: usize,
    /// The most bytes that the receiver accepts.
    pub limit: usize,
}

/// Appends a frame to `out` as one span.
///
/// # Errors
/// The frame has more than `limit` bytes, or more than a frame can have. Nothing is appended.
pub(crate) fn emit_frame(
    attribution: Attribution,
    (frame_type, channel): (FrameType, u16),
    limit: usize,
    out: &mut Buffer,
    write: impl FnOnce(&mut Vec<u8>),
) -> Result<(), FrameTooLarge> {
    let Attribution { phase, cause } = attribution;
    let limit = limit.min(LARGEST_FRAME);
    let mut outcome = Ok(());
    out.push_with(Layer::Application, phase, cause, |out| {
        let start = out.len();
        write_frame(out, frame_type, channel, write);
        let bytes = out.len() - start;
        if bytes > limit {
            out.truncate(start);
            outcome = Err(FrameTooLarge { bytes, limit });
        }
    });
    outcome
}

/// Appends an empty frame, which keeps the connection from timing out (section 2.4.5).
pub(crate) fn emit_empty_frame(out: &mut Buffer) {
    let outcome = emit_frame(
        Attribution::KEEP_ALIVE,
        (FrameType::Amqp, 0),
        LARGEST_FRAME,
        out,
        |_| {},
    );
    debug_assert_eq!(outcome, Ok(()), "a frame of 8 B");
}

/// A protocol header or a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit<'a> {
    /// A protocol header.
    Header(ProtocolHeader),
    /// A frame.
    Frame(Frame<'a>),
}

/// Splits a stream into protocol headers and frames. It copies a frame only if the frame arrives in several pieces.
///
/// ```
/// use wirecost_amqp::codec::{Framer, ProtocolHeader, Unit};
///
/// let mut framer = Framer::new(512);
/// let mut received: &[u8] = b"AMQP\x00\x01\x00\x00\x00\x00";
/// assert_eq!(framer.next(&mut received), Ok(Some(Unit::Header(ProtocolHeader::AMQP))));
/// assert_eq!(framer.next(&mut received), Ok(None));
/// let mut received: &[u8] = b"\x00\x08\x02\x00\x00\x00";
/// assert!(matches!(framer.next(&mut received), Ok(Some(Unit::Frame(_)))));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Framer {
    limit: u32,
    held: Vec<u8>,
    given: bool,
}

impl Framer {
    /// A framer for frames of at most `limit` bytes. It never stores more than one frame.
    pub const fn new(limit: u32) -> Self {
        let limit = if limit < AMBIGUOUS_SIZE {
            limit
        } else {
            AMBIGUOUS_SIZE - 1
        };
        Self {
            limit,
            held: Vec::new(),
            given: false,
        }
    }

    /// The number of stored bytes of an incomplete frame.
    pub fn held(&self) -> usize {
        if self.given { 0 } else { self.held.len() }
    }

    /// The memory of an incomplete frame, in bytes.
    pub const fn memory(&self) -> usize {
        if self.given {
            0
        } else {
            wirecost_proto::kept::memory(&self.held)
        }
    }

    /// Takes the next whole header or frame from `bytes`. Returns `None` when all bytes are taken.
    ///
    /// # Errors
    /// The size field is out of bounds. The rest of the stream cannot be read.
    pub fn next<'a, 'b: 'a>(&'a mut self, bytes: &mut &'b [u8]) -> Result<Option<Unit<'a>>, DecodeError> {
        if core::mem::take(&mut self.given) {
            wirecost_proto::kept::empty(&mut self.held);
        }
        if !self.held.is_empty() {
            return self.complete(bytes);
        }
        if let Some(len) = unit_len(bytes, self.limit)?
            && let Some((unit, rest)) = bytes.split_at_checked(len)
        {
            *bytes = rest;
            return Ok(Some(unit_of(unit)));
        }
        wirecost_proto::kept::append(&mut self.held, bytes);
        *bytes = &[];
        Ok(None)
    }

    /// Continues a header or frame that is partly stored.
    fn complete(&mut self, bytes: &mut &[u8]) -> Result<Option<Unit<'_>>, DecodeError> {
        loop {
            let len = unit_len(&self.held, self.limit)?;
            let wanted = len.unwrap_or(SIZE_BYTES).saturating_sub(self.held.len());
            let (taken, rest) = bytes.split_at(wanted.min(bytes.len()));
            wirecost_proto::kept::append(&mut self.held, taken);
            *bytes = rest;
            if taken.len() < wanted {
                return Ok(None);
            }
            if len.is_some() {
                self.given = true;
                return Ok(Some(unit_of(&self.held)));
            }
        }
    }
}

fn unit_of(bytes: &[u8]) -> Unit<'_> {
    match *bytes {
        [b'A', b'M', b'Q', b'P', protocol_id, major, minor, revision] => Unit::Header(ProtocolHeader {
            protocol_id,
            version: [major, minor, revision],
        }),
        _ => Unit::Frame(Frame::new(bytes)),
    }
}

/// The length of the header or frame at the start of `bytes`; `None` if `bytes` is too short to tell.
fn unit_len(bytes: &[u8], limit: u32) -> Result<Option<usize>, DecodeError> {
    let Some(first) = bytes.first_chunk::<SIZE_BYTES>() else {
        return Ok(None);
    };
    if first == b"AMQP" {
        return Ok(Some(HEADER_BYTES));
    }
    let size = u32::from_be_bytes(*first);
    let len = usize::try_from(size).unwrap_or(usize::MAX);
    if len < HEADER_BYTES || size > limit {
        return Err(DecodeError::FrameSize { size, limit });
    }
    Ok(Some(len))
}
