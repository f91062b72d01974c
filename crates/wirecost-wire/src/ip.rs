//! IP packets of either version.

use alloc::vec::Vec;
use core::net::IpAddr;

pub use crate::internet::{Addresses, DEFAULT_HOP_LIMIT, Fragment, Protocol, Version};
use crate::{Error, bytes};

pub mod ipv4;
pub mod ipv6;

/// The header of a packet, for fields that only one version has.
#[derive(Clone, Copy, Debug)]
pub enum Header<'a> {
    /// The IPv4 header with its options.
    V4(ipv4::Header<'a>),
    /// The IPv6 header with its extension headers.
    V6(ipv6::Header<'a>),
}

/// A view of an IP packet.
///
/// The bytes may end before the packet does, as in a capture cut to a snap length or in the quote of an ICMP error; the
/// headers must be whole. Ignores bytes after the packet's end.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    header: Header<'a>,
    header_bytes: usize,
    total_bytes: usize,
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// The packet at the start of `bytes`.
    ///
    /// # Errors
    /// Neither version 4 nor 6, headers cut short, or a length field below the headers' length.
    pub fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        let [first] = bytes::fixed_header("IP packet", bytes)?;
        let (header, header_bytes, total_bytes) = match first >> 4 {
            4 => {
                let header = ipv4::Header::new(bytes)?;
                (Header::V4(header), header.header_bytes(), header.total_bytes())
            }
            6 => {
                let header = ipv6::Header::new(bytes)?;
                (Header::V6(header), header.header_bytes(), header.total_bytes())
            }
            got => return Err(Error::Version { got }),
        };
        Ok(Self::of_header(header, header_bytes, total_bytes, bytes))
    }

    /// The packet at the start of `bytes`, which takes `link_bytes` bytes of its frame. A network card that cuts packets up may
    /// get one with a length field of zero: its length is then that of the frame.
    ///
    /// # Errors
    /// As [`Packet::new`].
    pub fn captured(bytes: &'a [u8], link_bytes: usize) -> Result<Self, Error> {
        if !lacks_length(bytes, link_bytes) {
            return Self::new(bytes);
        }
        let (header, header_bytes) = if bytes.first().is_some_and(|first| first >> 4 == 4) {
            let header = ipv4::Header::without_length(bytes)?;
            (Header::V4(header), header.header_bytes())
        } else {
            let header = ipv6::Header::without_length(bytes)?;
            (Header::V6(header), header.header_bytes())
        };
        let total_bytes = link_bytes.max(header_bytes);
        Ok(Self::of_header(header, header_bytes, total_bytes, bytes))
    }

    fn of_header(header: Header<'a>, header_bytes: usize, total_bytes: usize, bytes: &'a [u8]) -> Self {
        let end = total_bytes.min(bytes.len());
        Self {
            header,
            header_bytes,
            total_bytes,
            payload: bytes.get(header_bytes..end).unwrap_or_default(),
        }
    }

    /// The header, for fields that only one version has.
    pub const fn header(&self) -> Header<'a> {
        self.header
    }

    /// The version.
    pub const fn version(&self) -> Version {
        match self.header {
            Header::V4(_) => Version::V4,
            Header::V6(_) => Version::V6,
        }
    }

    /// Source and destination.
    pub fn addresses(&self) -> Addresses {
        match self.header {
            Header::V4(header) => Addresses::V4 {
                source: header.source(),
                destination: header.destination(),
            },
            Header::V6(header) => Addresses::V6 {
                source: header.source(),
                destination: header.destination(),
            },
        }
    }

    /// The address of the sender.
    pub fn source(&self) -> IpAddr {
        self.addresses().source()
    }

    /// The address of the receiver.
    pub fn destination(&self) -> IpAddr {
        self.addresses().destination()
    }

    /// Bytes that belong to IP: the header with IPv4 options or IPv6 extension headers.
    pub const fn header_bytes(&self) -> usize {
        self.header_bytes
    }

    /// Bytes of the whole packet by its own length field, which may differ from the number of captured bytes.
    pub const fn total_bytes(&self) -> usize {
        self.total_bytes
    }

    /// Whether the bytes end before the packet does.
    pub const fn is_truncated(&self) -> bool {
        self.payload.len() < self.total_bytes.saturating_sub(self.header_bytes)
    }

    /// The upper-layer protocol, after any extension headers.
    pub fn protocol(&self) -> Protocol {
        match self.header {
            Header::V4(header) => header.protocol(),
            Header::V6(header) => header.protocol(),
        }
    }

    /// The packet's position in its datagram; `None` for a whole datagram.
    pub fn fragment(&self) -> Option<Fragment> {
        match self.header {
            Header::V4(header) => header.fragment(),
            Header::V6(header) => header.fragment(),
        }
    }

    /// How many more routers may forward it: IPv4's time to live, IPv6's hop limit.
    pub fn hop_limit(&self) -> u8 {
        match self.header {
            Header::V4(header) => header.time_to_live(),
            Header::V6(header) => header.hop_limit(),
        }
    }

    /// The bytes after the headers, up to the packet's end or the end of the bytes.
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Whether the payload starts with the upper-layer header: a whole datagram or its first fragment.
    pub fn has_upper_header(&self) -> bool {
        self.fragment().is_none_or(|fragment| fragment.offset_bytes == 0)
    }

    /// Source and destination port of TCP or UDP, if four bytes of its header are present.
    pub fn ports(&self) -> Option<(u16, u16)> {
        let has_ports = matches!(self.protocol(), Protocol::Tcp | Protocol::Udp) && self.has_upper_header();
        let ports: &[u8; 4] = self.payload.first_chunk().filter(|_| has_ports)?;
        Some((bytes::u16_at(ports, 0), bytes::u16_at(ports, 2)))
    }
}

/// Whether the length field of the packet in `link_bytes` bytes of a frame is zero, although the packet has content.
pub fn lacks_length(bytes: &[u8], link_bytes: usize) -> bool {
    /// The number that says that nothing follows the IPv6 header.
    const NO_NEXT_HEADER: u8 = 59;
    /// The largest of the headers that are always there: TCP's (RFC 9293 section 3.1).
    const UPPER_HEADER_BYTES: usize = 20;
    match bytes {
        [first, _, high, low, ..] if first >> 4 == 4 => (*high, *low) == (0, 0),
        [first, _, _, _, high, low, next, ..] if first >> 4 == 6 => {
            // The padding of a short frame is no content.
            (*high, *low) == (0, 0)
                && *next != NO_NEXT_HEADER
                && link_bytes > ipv6::HEADER_BYTES + UPPER_HEADER_BYTES
        }
        _ => false,
    }
}

/// A header that can be emitted, of either version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repr {
    /// An IPv4 header without options.
    V4(ipv4::Repr),
    /// An IPv6 header without extension headers.
    V6(ipv6::Repr),
}

impl Repr {
    /// The header of a whole datagram between `addresses`: hop limit 64, best effort, not to be fragmented.
    pub const fn new(addresses: Addresses, protocol: Protocol) -> Self {
        match addresses {
            Addresses::V4 { source, destination } => Self::V4(ipv4::Repr::new(source, destination, protocol)),
            Addresses::V6 { source, destination } => Self::V6(ipv6::Repr::new(source, destination, protocol)),
        }
    }

    /// Source and destination.
    pub const fn addresses(&self) -> Addresses {
        match *self {
            Self::V4(ipv4::Repr {
                source, destination, ..
            }) => Addresses::V4 { source, destination },
            Self::V6(ipv6::Repr {
                source, destination, ..
            }) => Addresses::V6 { source, destination },
        }
    }

    /// Appends the header and `payload` to `out`.
    ///
    /// # Errors
    /// [`Error::TooLong`] for a payload that the length field cannot hold; `out` is then unchanged.
    pub fn emit(&self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        self.emit_header(payload.len(), out)?;
        out.extend_from_slice(payload);
        Ok(())
    }

    /// Appends the header of a packet with `payload_bytes` bytes of payload to `out`.
    ///
    /// # Errors
    /// [`Error::TooLong`] for a payload that the length field cannot hold; `out` is then unchanged.
    pub(crate) fn emit_header(&self, payload_bytes: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        match self {
            Self::V4(repr) => repr.emit_header(payload_bytes, out),
            Self::V6(repr) => repr.emit_header(payload_bytes, out),
        }
    }

    /// Appends the header and `payload`, a fragment of a datagram, to `out`; in IPv6 with a Fragment header.
    ///
    /// # Errors
    /// [`Error::TooLong`] for a payload that the length field cannot hold, [`Error::FragmentOffset`] for an offset that the
    /// header cannot say; `out` is then unchanged.
    pub fn emit_fragment(&self, fragment: Fragment, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        fragment.check(payload.len())?;
        match self {
            Self::V4(repr) => repr.emit_fragment_header(fragment, payload.len(), out)?,
            Self::V6(repr) => repr.emit_fragment_header(fragment, payload.len(), out)?,
        }
        out.extend_from_slice(payload);
        Ok(())
    }

    /// The same header for `protocol`.
    pub(crate) const fn carrying(self, protocol: Protocol) -> Self {
        match self {
            Self::V4(repr) => Self::V4(ipv4::Repr { protocol, ..repr }),
            Self::V6(repr) => Self::V6(ipv6::Repr { protocol, ..repr }),
        }
    }
}

#[cfg(test)]
mod tests;
