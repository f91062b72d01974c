//! TCP segments (RFC 9293 section 3.1).

use alloc::vec::Vec;
use core::fmt;
use core::ops::{BitOr, BitOrAssign};

use crate::Error;
use crate::bytes::{at_least, fixed_header, part, u16_at, u32_at};
use crate::checksum::{Checksum, Sum};
use crate::ip::{Addresses, Protocol};

pub mod options;

pub use options::{Options, SackBlock, SackBlocks, TcpOption};

/// Bytes of a header without options.
pub const HEADER_BYTES: usize = 20;

/// Bytes of options that the data offset leaves room for.
pub const MAX_OPTION_BYTES: usize = 40;

/// The control bits of a segment (RFC 9293 section 3.1, RFC 3168 section 6.1).
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronize sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push function.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgment field is significant.
    pub const ACK: Self = Self(0x10);
    /// The urgent pointer field is significant.
    pub const URG: Self = Self(0x20);
    /// ECN echo.
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced.
    pub const CWR: Self = Self(0x80);

    const NAMES: [(Self, &'static str); 8] = [
        (Self::SYN, "SYN"),
        (Self::FIN, "FIN"),
        (Self::RST, "RST"),
        (Self::PSH, "PSH"),
        (Self::ACK, "ACK"),
        (Self::URG, "URG"),
        (Self::ECE, "ECE"),
        (Self::CWR, "CWR"),
    ];

    /// The flags of the header's 14th byte.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// The header's 14th byte.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether all of `flags` are set.
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Whether any of `flags` is set.
    pub const fn intersects(self, flags: Self) -> bool {
        self.0 & flags.0 != 0
    }
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = Self::NAMES.iter().filter(|(flag, _)| self.contains(*flag));
        for (position, (_, name)) in set.enumerate() {
            let separator = if position == 0 { "" } else { "," };
            write!(f, "{separator}{name}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Flags({self})")
    }
}

/// A view of a TCP segment. The payload may be cut short, as in a capture; the header must be whole.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    fixed: &'a [u8; HEADER_BYTES],
    options: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Segment<'a> {
    /// The segment in `bytes`, the payload of an IP packet.
    ///
    /// # Errors
    /// The header is cut short, or the data offset is below 20 bytes.
    pub fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        let fixed: &[u8; HEADER_BYTES] = fixed_header("TCP header", bytes)?;
        let header_bytes = usize::from(fixed[12] >> 4) * 4;
        at_least("TCP data offset", HEADER_BYTES, header_bytes)?;
        Ok(Self {
            fixed,
            options: part("TCP options", bytes, HEADER_BYTES, header_bytes)?,
            payload: bytes.get(header_bytes..).unwrap_or_default(),
        })
    }

    /// The source port.
    pub fn source_port(&self) -> u16 {
        u16_at(self.fixed, 0)
    }

    /// The destination port.
    pub fn destination_port(&self) -> u16 {
        u16_at(self.fixed, 2)
    }

    /// The sequence number of the first byte, or of the SYN.
    pub fn sequence_number(&self) -> u32 {
        u32_at(self.fixed, 4)
    }

    /// The next sequence number that the sender expects; significant with [`Flags::ACK`].
    pub fn acknowledgment_number(&self) -> u32 {
        u32_at(self.fixed, 8)
    }

    /// Bytes of the header with its options: the data offset.
    pub const fn header_bytes(&self) -> usize {
        HEADER_BYTES + self.options.len()
    }

    /// The control bits.
    pub const fn flags(&self) -> Flags {
        Flags::from_bits(self.fixed[13])
    }

    /// The window, not scaled.
    pub fn window(&self) -> u16 {
        u16_at(self.fixed, 14)
    }

    /// The urgent pointer; significant with [`Flags::URG`].
    pub fn urgent_pointer(&self) -> u16 {
        u16_at(self.fixed, 18)
    }

    /// The options, in their order.
    pub const fn options(&self) -> options::Iter<'a> {
        options::Iter::new(self.options)
    }

    /// The bytes after the header.
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The number of sequence numbers that the segment takes: one for each byte of the payload present, and one for each of
    /// SYN and FIN (RFC 9293 section 3.4).
    pub fn sequence_length(&self) -> u32 {
        let controls =
            u32::from(self.flags().contains(Flags::SYN)) + u32::from(self.flags().contains(Flags::FIN));
        u32::try_from(self.payload.len())
            .unwrap_or(u32::MAX)
            .saturating_add(controls)
    }

    /// Whether the checksum is correct for a whole segment between `addresses`.
    pub fn is_checksum_valid(&self, addresses: &Addresses) -> bool {
        let bytes = self.header_bytes() + self.payload.len();
        Sum::pseudo_header(addresses, Protocol::Tcp, bytes)
            .and(self.fixed)
            .and(self.options)
            .and(self.payload)
            .is_valid()
    }

    /// The state of the checksum of a whole segment between `addresses`.
    pub fn checksum(&self, addresses: &Addresses) -> Checksum {
        let bytes = self.header_bytes() + self.payload.len();
        let pseudo = Sum::pseudo_header(addresses, Protocol::Tcp, bytes);
        Checksum::judge(u16_at(self.fixed, 16), pseudo, |sum| {
            sum.and(self.fixed).and(self.options).and(self.payload)
        })
    }

    /// The segment's decoded fields, without reserved bits.
    pub fn repr(&self) -> Repr {
        Repr {
            source_port: self.source_port(),
            destination_port: self.destination_port(),
            sequence_number: self.sequence_number(),
            acknowledgment_number: self.acknowledgment_number(),
            flags: self.flags(),
            window: self.window(),
            urgent_pointer: self.urgent_pointer(),
            options: Options::from_wire(self.options),
        }
    }
}

/// A TCP header that can be emitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repr {
    /// The source port.
    pub source_port: u16,
    /// The destination port.
    pub destination_port: u16,
    /// The sequence number of the first byte, or of the SYN.
    pub sequence_number: u32,
    /// The next sequence number expected; emitted for any flags.
    pub acknowledgment_number: u32,
    /// The control bits.
    pub flags: Flags,
    /// The window, scaled already.
    pub window: u16,
    /// The urgent pointer.
    pub urgent_pointer: u16,
    /// The options.
    pub options: Options,
}

impl Repr {
    /// Bytes of the header with its options and their padding.
    pub fn header_bytes(&self) -> usize {
        HEADER_BYTES + self.options.padded().len()
    }

    /// Appends the header and `payload` to `out`, with the checksum between `addresses`.
    pub fn emit(&self, addresses: &Addresses, payload: &[u8], out: &mut Vec<u8>) {
        let options = self.options.padded();
        let mut header = [0; HEADER_BYTES];
        header[0..2].copy_from_slice(&self.source_port.to_be_bytes());
        header[2..4].copy_from_slice(&self.destination_port.to_be_bytes());
        header[4..8].copy_from_slice(&self.sequence_number.to_be_bytes());
        header[8..12].copy_from_slice(&self.acknowledgment_number.to_be_bytes());
        // The data offset counts words of four bytes and is in the upper half of its byte.
        header[12] = (self.header_bytes() as u8 / 4) << 4;
        header[13] = self.flags.bits();
        header[14..16].copy_from_slice(&self.window.to_be_bytes());
        header[18..20].copy_from_slice(&self.urgent_pointer.to_be_bytes());
        let bytes = self.header_bytes().saturating_add(payload.len());
        let sum = Sum::pseudo_header(addresses, Protocol::Tcp, bytes);
        let checksum = sum.and(&header).and(options).and(payload).finish();
        header[16..18].copy_from_slice(&checksum.to_be_bytes());
        out.extend_from_slice(&header);
        out.extend_from_slice(options);
        out.extend_from_slice(payload);
    }
}

#[cfg(test)]
mod tests;
