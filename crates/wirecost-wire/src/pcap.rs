//! Captures in classic pcap (draft-ietf-opsawg-pcap).
//!
//! Both byte orders, timestamps in microseconds or nanoseconds. [`crate::capture`] reads either format.

use std::io::{self, Read};

use crate::bytes::{array_at, u32_at};
use crate::packet::{ByteOrder, Packet};
use crate::window::Window;

/// The most bytes that a packet record may claim: what libpcap accepts for any link type.
pub const MAX_PACKET_BYTES: u32 = 128 << 20;

/// Bytes of the file header (draft-ietf-opsawg-pcap section 4).
const FILE_HEADER_BYTES: usize = 24;

/// Bytes of a packet record's header (section 5).
const RECORD_HEADER_BYTES: usize = 16;

/// The magic number of microsecond files, and of nanosecond files (section 4).
const MAGIC_MICROSECONDS: u32 = 0xa1b2_c3d4;
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;

/// The error that ends the reading of a capture.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file system returned an error.
    #[error("cannot read the capture: {0}")]
    Io(#[from] io::Error),
    /// The first four bytes are not a magic number of this format.
    #[error("capture must start with the magic number 0xa1b2c3d4 or 0xa1b23c4d (pcap), got 0x{got:08x}")]
    NotPcap {
        /// The first four bytes, as a big-endian number.
        got: u32,
    },
    /// The file ends inside a header or a packet.
    #[error("{what} needs {expected} bytes, the file has {got}")]
    Truncated {
        /// The part that is cut short.
        what: &'static str,
        /// The bytes it takes.
        expected: usize,
        /// The bytes there were.
        got: usize,
    },
    /// A record's captured length is above [`MAX_PACKET_BYTES`].
    #[error("packet must have at most {MAX_PACKET_BYTES} bytes, got {got}")]
    PacketLength {
        /// The length found.
        got: u32,
    },
}

/// The packets of a capture, in their order.
#[derive(Debug)]
pub struct Reader<R> {
    window: Window<R>,
    order: ByteOrder,
    /// Nanoseconds of a unit of a timestamp's second half.
    unit_ns: u64,
    link_type: u16,
}

/// Whether a file that starts with `magic`, as a big-endian number, is of this format.
pub(crate) const fn is_magic(magic: u32) -> bool {
    decoded(magic).is_some()
}

/// The byte order and the unit of the timestamps in a file with this magic number.
const fn decoded(magic: u32) -> Option<(ByteOrder, u64)> {
    match (magic, magic.swap_bytes()) {
        (MAGIC_MICROSECONDS, _) => Some((ByteOrder::Big, 1_000)),
        (MAGIC_NANOSECONDS, _) => Some((ByteOrder::Big, 1)),
        (_, MAGIC_MICROSECONDS) => Some((ByteOrder::Little, 1_000)),
        (_, MAGIC_NANOSECONDS) => Some((ByteOrder::Little, 1)),
        _ => None,
    }
}

impl<R: Read> Reader<R> {
    /// A reader of `source`, with a buffer of its own.
    ///
    /// # Errors
    /// The file header is cut short or of another format.
    pub fn new(source: R) -> Result<Self, ReadError> {
        Self::of_window(Window::new(source))
    }

    pub(crate) fn of_window(mut window: Window<R>) -> Result<Self, ReadError> {
        let header = window.take(FILE_HEADER_BYTES)?;
        let magic = u32_at(header, 0);
        let (order, unit_ns) = decoded(magic).ok_or(ReadError::NotPcap { got: magic })?;
        whole("file header", header, FILE_HEADER_BYTES)?;
        // Section 4: the lower 16 bits are the link type, the others speak of a frame check sequence.
        let link_type = order.u32(array_at(header, 20)) as u16;
        Ok(Self {
            window,
            order,
            unit_ns,
            link_type,
        })
    }

    /// The type of the packets' first header, in the registry "LINKTYPE values".
    pub const fn link_type(&self) -> u16 {
        self.link_type
    }

    /// The next packet; `None` at the end of the file.
    ///
    /// # Errors
    /// The file system returns an error, or the file ends inside a packet.
    pub fn packet(&mut self) -> Result<Option<Packet<'_>>, ReadError> {
        let order = self.order;
        let header = self.window.take(RECORD_HEADER_BYTES)?;
        if header.is_empty() {
            return Ok(None);
        }
        whole("packet header", header, RECORD_HEADER_BYTES)?;
        let [seconds, units, captured, original_bytes] =
            [0, 4, 8, 12].map(|at| order.u32(array_at(header, at)));
        if captured > MAX_PACKET_BYTES {
            return Err(ReadError::PacketLength { got: captured });
        }
        let bytes = self.window.take(captured as usize)?;
        whole("packet", bytes, captured as usize)?;
        Ok(Some(Packet {
            timestamp_ns: Some(u64::from(seconds) * 1_000_000_000 + u64::from(units) * self.unit_ns),
            link_type: self.link_type,
            bytes,
            original_bytes,
            interface: 0,
            lost_before: 0,
        }))
    }
}

fn whole(what: &'static str, bytes: &[u8], expected: usize) -> Result<(), ReadError> {
    let got = bytes.len();
    if got < expected {
        return Err(ReadError::Truncated { what, expected, got });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
