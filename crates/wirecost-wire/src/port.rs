//! Replaces a port in a packet, as an address translator (NAT) does.

use crate::internet::Protocol;
use crate::ip;

/// Which of the two ports of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// The sender's.
    Source,
    /// The receiver's.
    Destination,
}

/// Replaces a port of a TCP segment or UDP datagram and corrects its checksum (RFC 1624, equation 3). Leaves any other
/// packet as it is, and a later fragment.
pub fn replace(bytes: &mut [u8], which: Port, port: u16) {
    let Ok(packet) = ip::Packet::new(bytes) else {
        return;
    };
    if packet.ports().is_none() {
        return;
    }
    let (header, protocol) = (packet.header_bytes(), packet.protocol());
    let checksum_at = match protocol {
        Protocol::Tcp => header + 16,
        Protocol::Udp => header + 6,
        Protocol::Icmp | Protocol::Icmpv6 | Protocol::Other(_) => return,
    };
    let port_at = header + 2 * usize::from(which == Port::Destination);
    let old = word(bytes, port_at);
    set_word(bytes, port_at, port);
    let checksum = word(bytes, checksum_at);
    // RFC 768: a datagram over IPv4 may have no checksum.
    if protocol == Protocol::Udp && checksum == 0 {
        return;
    }
    let mut sum = u32::from(!checksum) + u32::from(!old) + u32::from(port);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let updated = !(sum as u16);
    let is_none = protocol == Protocol::Udp && updated == 0;
    set_word(bytes, checksum_at, if is_none { 0xffff } else { updated });
}

fn word(bytes: &[u8], at: usize) -> u16 {
    let of = |at: usize| bytes.get(at).copied().unwrap_or(0);
    u16::from_be_bytes([of(at), of(at + 1)])
}

fn set_word(bytes: &mut [u8], at: usize, value: u16) {
    if let Some(place) = bytes.get_mut(at..at + 2) {
        place.copy_from_slice(&value.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use core::net::{Ipv4Addr, Ipv6Addr};

    use super::*;
    use crate::internet::Addresses;
    use crate::udp;

    fn datagram(addresses: Addresses, payload: &[u8]) -> Vec<u8> {
        let ports = udp::Repr {
            source_port: 40_000,
            destination_port: 5_683,
        };
        let (mut upper, mut bytes) = (Vec::new(), Vec::new());
        ports.emit(&addresses, payload, &mut upper).expect("a datagram");
        let header = ip::Repr::new(addresses, Protocol::Udp);
        header.emit(&upper, &mut bytes).expect("a packet");
        bytes
    }

    #[test]
    fn a_replaced_port_leaves_a_correct_checksum() {
        let v4 = Addresses::V4 {
            source: Ipv4Addr::new(10, 0, 0, 1),
            destination: Ipv4Addr::new(10, 0, 0, 2),
        };
        let v6 = Addresses::V6 {
            source: Ipv6Addr::LOCALHOST,
            destination: Ipv6Addr::UNSPECIFIED,
        };
        for addresses in [v4, v6] {
            for port in [0, 1, 61_000, u16::MAX] {
                let mut bytes = datagram(addresses, b"abc");
                replace(&mut bytes, Port::Source, port);
                replace(&mut bytes, Port::Destination, !port);
                let packet = ip::Packet::new(&bytes).expect("a packet");
                assert_eq!(packet.ports(), Some((port, !port)));
                let datagram = udp::Datagram::new(packet.payload()).expect("a datagram");
                assert!(datagram.is_checksum_valid(&addresses), "{port}");
            }
        }
    }
}
