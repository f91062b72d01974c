//! From an IP packet to its upper-layer protocol, and back.

use crate::ip::{Protocol, Version};
use crate::{Error, icmp, ip, tcp, udp};
use alloc::vec::Vec;

/// The upper-layer content of an IP packet.
#[derive(Clone, Copy, Debug)]
pub enum Upper<'a> {
    /// A TCP segment.
    Tcp(tcp::Segment<'a>),
    /// A UDP datagram, or its first part if the packet is a first fragment.
    Udp(udp::Datagram<'a>),
    /// An ICMP message of the packet's IP version.
    Icmp(icmp::Message<'a>),
    /// The bytes of a later fragment.
    Fragment(&'a [u8]),
    /// The bytes of a protocol without a view here.
    Other(Protocol, &'a [u8]),
}

impl<'a> Upper<'a> {
    /// The upper-layer content of `packet`.
    ///
    /// # Errors
    /// The upper-layer header is cut short or contradicts itself.
    pub fn new(packet: &ip::Packet<'a>) -> Result<Self, Error> {
        let payload = packet.payload();
        if !packet.has_upper_header() {
            return Ok(Self::Fragment(payload));
        }
        match packet.protocol() {
            Protocol::Tcp => tcp::Segment::new(payload).map(Self::Tcp),
            Protocol::Udp => udp::Datagram::new(payload).map(Self::Udp),
            Protocol::Icmp => icmp::Message::new(Version::V4, payload).map(Self::Icmp),
            Protocol::Icmpv6 => icmp::Message::new(Version::V6, payload).map(Self::Icmp),
            other @ Protocol::Other(_) => Ok(Self::Other(other, payload)),
        }
    }
}

/// Whole packets. The protocol in the IP header is replaced by that of the content.
impl ip::Repr {
    /// Appends an IP packet with a TCP segment around `payload` to `out`.
    ///
    /// # Errors
    /// [`Error::TooLong`] if the length field of IP cannot hold it; `out` is then unchanged.
    pub fn emit_tcp(&self, segment: &tcp::Repr, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        let upper_bytes = segment.header_bytes().saturating_add(payload.len());
        self.carrying(Protocol::Tcp).emit_header(upper_bytes, out)?;
        segment.emit(&self.addresses(), payload, out);
        Ok(())
    }

    /// Appends an IP packet with a UDP datagram around `payload` to `out`.
    ///
    /// # Errors
    /// [`Error::TooLong`] if the length field of IP cannot hold it; `out` is then unchanged.
    pub fn emit_udp(&self, datagram: &udp::Repr, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        let upper_bytes = udp::HEADER_BYTES.saturating_add(payload.len());
        self.carrying(Protocol::Udp).emit_header(upper_bytes, out)?;
        datagram.emit(&self.addresses(), payload, out)
    }

    /// Appends an IP packet with an ICMP message of its version to `out`.
    ///
    /// # Errors
    /// [`Error::TooLong`] if the length field of IP cannot hold it; `out` is then unchanged.
    pub fn emit_icmp(&self, message: &icmp::Repr<'_>, out: &mut Vec<u8>) -> Result<(), Error> {
        let protocol = match self {
            Self::V4(_) => Protocol::Icmp,
            Self::V6(_) => Protocol::Icmpv6,
        };
        self.carrying(protocol).emit_header(message.total_bytes(), out)?;
        message.emit(&self.addresses(), out);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
