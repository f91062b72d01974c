//! UDP datagrams (RFC 768).

use crate::Error;
use crate::bytes::{at_least, fixed_header, u16_at};
use crate::checksum::{Checksum, Sum};
use crate::internet::length_field;
use crate::ip::{Addresses, Protocol, Version};
use alloc::vec::Vec;

/// Bytes of the header.
pub const HEADER_BYTES: usize = 8;

/// A view of a UDP datagram. The bytes may end before the datagram does; the header must be whole.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    header: &'a [u8; HEADER_BYTES],
    length: usize,
    payload: &'a [u8],
}

impl<'a> Datagram<'a> {
    /// The datagram at the start of `bytes`, the payload of an IP packet.
    ///
    /// # Errors
    /// The header is cut short, or the length field is below 8 and not 0.
    pub fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        let header: &[u8; HEADER_BYTES] = fixed_header("UDP header", bytes)?;
        let length = match usize::from(u16_at(header, 4)) {
            // RFC 2675 section 4: zero says that the length comes from the IP header.
            0 => bytes.len(),
            length => length,
        };
        at_least("UDP length", HEADER_BYTES, length)?;
        let end = length.min(bytes.len());
        Ok(Self {
            header,
            length,
            payload: bytes.get(HEADER_BYTES..end).unwrap_or_default(),
        })
    }

    /// The source port.
    pub fn source_port(&self) -> u16 {
        u16_at(self.header, 0)
    }

    /// The destination port.
    pub fn destination_port(&self) -> u16 {
        u16_at(self.header, 2)
    }

    /// Bytes of header and payload, by the length field.
    pub const fn length(&self) -> usize {
        self.length
    }

    /// The bytes after the header, up to the datagram's end or the end of the bytes.
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Whether the checksum is correct for a whole datagram between `addresses`.
    pub fn is_checksum_valid(&self, addresses: &Addresses) -> bool {
        if u16_at(self.header, 6) == 0 {
            // RFC 768: zero means that the sender computed none. RFC 8200 section 8.1 forbids it in IPv6.
            return addresses.version() == Version::V4;
        }
        Sum::pseudo_header(addresses, Protocol::Udp, self.length)
            .and(self.header)
            .and(self.payload)
            .is_valid()
    }

    /// The state of the checksum of a whole datagram between `addresses`.
    pub fn checksum(&self, addresses: &Addresses) -> Checksum {
        let field = u16_at(self.header, 6);
        if field == 0 && addresses.version() == Version::V4 {
            return Checksum::Valid;
        }
        let pseudo = Sum::pseudo_header(addresses, Protocol::Udp, self.length);
        Checksum::judge(field, pseudo, |sum| sum.and(self.header).and(self.payload))
    }

    /// The datagram's meaning.
    pub fn repr(&self) -> Repr {
        Repr {
            source_port: self.source_port(),
            destination_port: self.destination_port(),
        }
    }
}

/// The ports of a datagram that can be emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// The source port.
    pub source_port: u16,
    /// The destination port.
    pub destination_port: u16,
}

impl Repr {
    /// Appends the header and `payload` to `out`, with the checksum between `addresses`.
    ///
    /// # Errors
    /// [`Error::TooLong`] for a datagram above 65,535 bytes; `out` is then unchanged.
    pub fn emit(&self, addresses: &Addresses, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        let length = length_field("UDP datagram", HEADER_BYTES.saturating_add(payload.len()))?;
        let mut header = [0; HEADER_BYTES];
        header[0..2].copy_from_slice(&self.source_port.to_be_bytes());
        header[2..4].copy_from_slice(&self.destination_port.to_be_bytes());
        header[4..6].copy_from_slice(&length.to_be_bytes());
        let sum = Sum::pseudo_header(addresses, Protocol::Udp, usize::from(length));
        let checksum = match sum.and(&header).and(payload).finish() {
            // RFC 768: a checksum that comes out as zero is sent as all ones.
            0 => u16::MAX,
            checksum => checksum,
        };
        header[6..8].copy_from_slice(&checksum.to_be_bytes());
        out.extend_from_slice(&header);
        out.extend_from_slice(payload);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
