//! What the logger of a host saw.

use std::collections::BTreeMap;
use std::net::IpAddr;

use wirecost_wire::{icmp, ip, tcp};

use crate::captured::{hash, hash_more};
use crate::quote::quoted;

/// The bytes of the transport header and its content that tell a packet from others. They are within the snap lengths in use,
/// and include the sequence numbers of TCP, DTLS and QUIC and the message ID of CoAP.
const TELLING: usize = 64;

/// Where a TCP header has its length and its flags.
const TCP_OFFSET_AND_FLAGS: std::ops::Range<usize> = 12..14;

/// A packet of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// What tells it from others.
    pub(super) mark: u64,
    /// Nanoseconds since 1970, by the clock of the host.
    pub(super) at_ns: i64,
    /// The number of its addresses, see [`Log`].
    pub(super) ends: u32,
    /// Bytes of the IP packet.
    pub(super) bytes: u32,
}

/// The packets of a capture: 24 bytes for each.
#[derive(Clone, Debug, Default)]
pub struct Log {
    pub(super) seen: Vec<Seen>,
    /// Packets without a time, which cannot be compared.
    pub(super) untimed: u64,
    /// The number of each pair of addresses: source, destination.
    ends: BTreeMap<(IpAddr, IpAddr), u32>,
    /// The number of the opposite pair.
    opposite: Vec<Option<u32>>,
}

impl Log {
    /// Notes a packet.
    pub(crate) fn packet(&mut self, packet: &ip::Packet<'_>, at_ns: Option<u64>) {
        let Some(at_ns) = at_ns.and_then(|at| i64::try_from(at).ok()) else {
            self.untimed += 1;
            return;
        };
        self.note(
            mark(packet),
            at_ns,
            (packet.source(), packet.destination()),
            packet.total_bytes(),
        );
    }

    pub(super) fn note(&mut self, mark: u64, at_ns: i64, ends: (IpAddr, IpAddr), bytes: usize) {
        let ends = self.number(ends);
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.seen.push(Seen {
            mark,
            at_ns,
            ends,
            bytes,
        });
    }

    fn number(&mut self, (source, destination): (IpAddr, IpAddr)) -> u32 {
        if let Some(number) = self.ends.get(&(source, destination)) {
            return *number;
        }
        let number = u32::try_from(self.opposite.len()).unwrap_or(u32::MAX);
        let opposite = self.ends.get(&(destination, source)).copied();
        self.opposite.push(opposite);
        if let Some(known) = opposite.and_then(|other| self.opposite.get_mut(other as usize)) {
            *known = Some(number);
        }
        self.ends.insert((source, destination), number);
        number
    }

    /// The number of the pair of addresses opposite to `ends`.
    pub(super) fn opposite(&self, ends: u32) -> Option<u32> {
        self.opposite.get(ends as usize).copied().flatten()
    }
}

/// A hash of what neither a router nor address translation nor a network card changes.
fn mark(packet: &ip::Packet<'_>) -> u64 {
    let message = match packet.protocol() {
        ip::Protocol::Icmp | ip::Protocol::Icmpv6 if packet.has_upper_header() => {
            icmp::Message::new(packet.version(), telling(packet)).ok()
        }
        _ => None,
    };
    let about = message.and_then(|message| quoted(packet.version(), &message));
    let [header, content] = parts(packet);
    let length = |packet: &ip::Packet<'_>| (packet.total_bytes() as u64).to_le_bytes();
    let with_header = hash_more(hash(&length(packet)), header);
    match about {
        Some(about) => {
            let quoted = hash_more(with_header, &length(&about));
            parts(&about).into_iter().fold(quoted, hash_more)
        }
        None => hash_more(with_header, content),
    }
}

/// The bytes behind the IP header that are looked at.
fn telling<'a>(packet: &ip::Packet<'a>) -> &'a [u8] {
    let upper = packet.payload();
    upper.get(..TELLING).unwrap_or(upper)
}

/// The parts of a packet that are the same at both hosts. Ports, the identifier of an echo and checksums change with addresses
/// (RFC 3022 section 4, RFC 5508 section 3.1). A router may lower the MSS among the options of a SYN.
fn parts<'a>(packet: &ip::Packet<'a>) -> [&'a [u8]; 2] {
    let upper = telling(packet);
    let part = |start: usize, end: usize| upper.get(start..end.min(upper.len())).unwrap_or_default();
    match packet.protocol() {
        _ if !packet.has_upper_header() => [upper, &[]],
        ip::Protocol::Tcp => {
            let content = match upper.get(TCP_OFFSET_AND_FLAGS) {
                Some([offset, flags]) if tcp::Flags::from_bits(*flags).contains(tcp::Flags::SYN) => {
                    (usize::from(offset >> 4) * 4).max(tcp::HEADER_BYTES)
                }
                _ => 18,
            };
            [part(4, 16), part(content, TELLING)]
        }
        ip::Protocol::Udp => [part(4, 6), part(8, TELLING)],
        ip::Protocol::Icmp | ip::Protocol::Icmpv6 => [part(0, 2), part(6, TELLING)],
        ip::Protocol::Other(_) => [upper, &[]],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use wirecost_wire::ip::{Addresses, Fragment, Protocol};

    fn header(from: [u8; 4], protocol: Protocol) -> ip::Repr {
        let addresses = Addresses::new(from.into(), [10, 0, 0, 1].into()).expect("of one version");
        ip::Repr::new(addresses, protocol)
    }

    fn packet(from: [u8; 4], protocol: Protocol, upper: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        header(from, protocol).emit(upper, &mut bytes).expect("a packet");
        bytes
    }

    fn marked(bytes: &[u8]) -> u64 {
        mark(&ip::Packet::new(bytes).expect("a packet"))
    }

    /// A datagram's first 24 bytes; `port` and checksum are the translation's.
    fn datagram(port: u8, content: u8) -> Vec<u8> {
        let mut upper = vec![0x9c, port, 0x16, 0x33, 0, 40, port, 7];
        upper.extend([content; 16]);
        upper
    }

    /// The device and its address translation.
    const SENDERS: [([u8; 4], u8); 2] = [([10, 0, 0, 2], 1), ([192, 0, 2, 7], 2)];

    #[test]
    fn a_first_fragment_is_the_same_behind_an_address_translation() {
        let fragment = |from, port, content, offset_bytes| {
            let mut bytes = Vec::new();
            let fragment = Fragment {
                id: 77,
                offset_bytes,
                more: true,
            };
            header(from, Protocol::Udp)
                .emit_fragment(fragment, &datagram(port, content), &mut bytes)
                .expect("a fragment");
            marked(&bytes)
        };
        let [one, other] = SENDERS.map(|(from, port)| fragment(from, port, 5, 0));
        assert_eq!(one, other);
        assert_ne!(one, fragment([10, 0, 0, 2], 1, 6, 0));
        // Of the others nothing is changed, and all of it is compared.
        let [one, other] = SENDERS.map(|(from, port)| fragment(from, port, 5, 8));
        assert_ne!(one, other);
    }

    #[test]
    fn an_icmp_error_and_an_echo_are_the_same_behind_an_address_translation() {
        let error = |from, port, content| {
            let mut upper = vec![3, 3, port, 9, 0, 0, 0, 0];
            let about = packet(from, Protocol::Udp, &datagram(port, content));
            upper.extend(&about[..28]);
            // A router has lowered the hop limit of one.
            upper[8 + 8] -= port;
            marked(&packet([10, 0, 0, 9], Protocol::Icmp, &upper))
        };
        let [one, other] = SENDERS.map(|(from, port)| error(from, port, 5));
        assert_eq!(one, other);
        let echo = |(from, port), number| {
            let upper = [8, 0, port, 9, 0, port, 0, number, 1, 2, 3, 4];
            marked(&packet(from, Protocol::Icmp, &upper))
        };
        let [one, other] = SENDERS.map(|sender| echo(sender, 1));
        assert_eq!(one, other);
        assert_ne!(one, echo(SENDERS[0], 2));
    }

    #[test]
    fn icmp_errors_about_different_segments_are_different() {
        let error = |sequence: u8| {
            let mut upper = vec![11, 0, 1, 9, 0, 0, 0, 0];
            // RFC 792 quotes eight bytes behind the IP header.
            let about = packet(
                [10, 0, 0, 2],
                Protocol::Tcp,
                &[0x9c, 1, 7, 0x5b, 0, 0, 0, sequence],
            );
            upper.extend(about);
            marked(&packet([10, 0, 0, 9], Protocol::Icmp, &upper))
        };
        assert_ne!(error(1), error(2));
    }

    #[test]
    fn the_options_of_a_syn_are_left_out_and_those_of_a_segment_are_not() {
        let segment = |flags: u8, mss: u8, content: u8| {
            let mut upper = vec![
                0x9c, 1, 7, 0x5b, 0, 0, 0, 1, 0, 0, 0, 0, 0x60, flags, 1, 0, 0, 0, 0, 0,
            ];
            upper.extend([2, 4, 5, mss, content]);
            marked(&packet([10, 0, 0, 2], Protocol::Tcp, &upper))
        };
        let (syn, ack) = (tcp::Flags::SYN.bits(), tcp::Flags::ACK.bits());
        assert_eq!(segment(syn, 0xb4, 1), segment(syn, 0x78, 1));
        assert_ne!(segment(syn, 0xb4, 1), segment(syn, 0xb4, 2));
        assert_ne!(segment(ack, 0xb4, 1), segment(ack, 0x78, 1));
    }
}
