//! Splits a stream into packets by their fixed header (section 2.1).

use alloc::vec::Vec;

use crate::codec::reader::Reader;
use crate::codec::writer::{MAXIMUM_VARIABLE_BYTE_INTEGER, variable_byte_integer_len};
use crate::codec::{DecodeError, Malformed, PacketType};

/// The length of the longest fixed header in bytes: type and flags, and four bytes of remaining length.
const MAXIMUM_HEADER_BYTES: usize = 5;

/// The length of the largest packet in bytes: its fixed header and the largest remaining length.
pub const LARGEST_PACKET: u32 = MAXIMUM_VARIABLE_BYTE_INTEGER + 5;

/// The largest first packet that either side accepts, in bytes. It has room for the longest fields of a CONNECT (client
/// identifier, will topic and payload, user name, password: 65,535 B each, sections 1.5.4 and 1.5.6) and 192 kB of
/// properties, which the standard does not limit. A CONNACK has fewer fields.
pub(crate) const FIRST_PACKET_BYTES: u32 = 512 * 1024;

/// A view over the bytes of one packet. They may be any bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    bytes: &'a [u8],
}

impl<'a> Frame<'a> {
    /// A view over `bytes`, complete or not.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The bytes, fixed header included.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The packet type, unless there is no byte or the type is reserved.
    pub fn packet_type(&self) -> Option<PacketType> {
        PacketType::from_bits(self.first_byte()? >> 4)
    }

    /// The four flag bits; 0 if there is no byte.
    pub fn flags(&self) -> u8 {
        self.first_byte().unwrap_or(0) & 0x0f
    }

    /// The bytes after the fixed header; none if the header is incomplete.
    pub fn body(&self) -> &'a [u8] {
        self.split().map_or(&[], |(_, body)| body)
    }

    pub(crate) fn first_byte(&self) -> Option<u8> {
        self.bytes.first().copied()
    }

    fn split(&self) -> Result<(u32, &'a [u8]), Malformed> {
        let mut reader = Reader::new(self.bytes);
        reader.byte()?;
        let remaining = reader.variable_byte_integer()?;
        Ok((remaining, reader.rest()))
    }
}

/// The length of a packet with this remaining length in bytes.
pub(crate) const fn packet_bytes(remaining: usize) -> usize {
    1 + variable_byte_integer_len(remaining) + remaining
}

/// The length of the packet at the start of `bytes`, or `None` if its fixed header is incomplete.
///
/// # Errors
/// The remaining length is malformed, or the packet is larger than `limit` bytes.
pub fn packet_len(bytes: &[u8], limit: u32) -> Result<Option<usize>, DecodeError> {
    let (remaining, body) = match Frame::new(bytes).split() {
        Ok(split) => split,
        Err(Malformed::Truncated { .. }) => return Ok(None),
        Err(malformed) => return Err(malformed.into()),
    };
    let total = (bytes.len() - body.len()) as u64 + u64::from(remaining);
    if total > u64::from(limit) {
        return Err(DecodeError::TooLarge { bytes: total, limit });
    }
    // The sum is at most 5 + 268,435,455, so it fits.
    Ok(usize::try_from(total).ok())
}

/// Splits a stream into packets. It copies a packet only if the packet arrives in several pieces.
///
/// ```
/// use wirecost_mqtt::codec::{Framer, PacketType};
///
/// let mut framer = Framer::new(1_000);
/// let mut received: &[u8] = &[0xc0];
/// assert!(framer.next(&mut received).unwrap().is_none());
/// let mut received: &[u8] = &[0x00, 0xd0, 0x00];
/// assert_eq!(framer.next(&mut received).unwrap().unwrap().packet_type(), Some(PacketType::Pingreq));
/// assert_eq!(framer.next(&mut received).unwrap().unwrap().packet_type(), Some(PacketType::Pingresp));
/// assert!(framer.next(&mut received).unwrap().is_none());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Framer {
    limit: u32,
    held: Vec<u8>,
    given: bool,
}

impl Framer {
    /// A framer for packets of at most `limit` bytes. It never stores more than one packet.
    pub const fn new(limit: u32) -> Self {
        Self {
            limit,
            held: Vec::new(),
            given: false,
        }
    }

    /// Changes the limit for the following packets.
    pub(crate) const fn set_limit(&mut self, limit: u32) {
        self.limit = limit;
    }

    /// Takes the next whole packet from `bytes`. Returns `None` when all bytes are taken.
    ///
    /// # Errors
    /// The remaining length is malformed or above the limit. The rest of the stream cannot be read.
    pub fn next<'a, 'b: 'a>(&'a mut self, bytes: &mut &'b [u8]) -> Result<Option<Frame<'a>>, DecodeError> {
        if core::mem::take(&mut self.given) {
            wirecost_proto::kept::empty(&mut self.held);
        }
        if !self.held.is_empty() {
            return self.complete(bytes);
        }
        if let Some(len) = packet_len(bytes, self.limit)?
            && let Some((packet, rest)) = bytes.split_at_checked(len)
        {
            *bytes = rest;
            return Ok(Some(Frame::new(packet)));
        }
        wirecost_proto::kept::append(&mut self.held, bytes);
        *bytes = &[];
        Ok(None)
    }

    /// Continues a packet that is partly stored.
    fn complete<'a>(&'a mut self, bytes: &mut &[u8]) -> Result<Option<Frame<'a>>, DecodeError> {
        let len = loop {
            if let Some(len) = packet_len(&self.held, self.limit)? {
                break len;
            }
            debug_assert!(self.held.len() < MAXIMUM_HEADER_BYTES, "a header has at most 5 B");
            let Some((first, rest)) = bytes.split_first() else {
                return Ok(None);
            };
            self.held.push(*first);
            *bytes = rest;
        };
        let missing = len.saturating_sub(self.held.len());
        let (taken, rest) = bytes.split_at(missing.min(bytes.len()));
        wirecost_proto::kept::append(&mut self.held, taken);
        *bytes = rest;
        self.given = self.held.len() == len;
        Ok(self.given.then_some(Frame::new(&self.held)))
    }

    /// Gives back the memory of a packet that is complete.
    pub(crate) fn rest(&mut self) {
        if self.held() == 0 {
            *self = Self::new(self.limit);
        }
    }

    /// The number of stored bytes of an incomplete packet.
    pub const fn held(&self) -> usize {
        if self.given { 0 } else { self.held.len() }
    }

    /// The memory of an incomplete packet, in bytes.
    pub const fn memory(&self) -> usize {
        if self.given {
            0
        } else {
            wirecost_proto::kept::memory(&self.held)
        }
    }
}
