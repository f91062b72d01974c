//! From packets to a report: every packet finds its flow, the flow its bytes.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use wirecost_proto::Direction;
use wirecost_wire::capture::Packet;
use wirecost_wire::upper::Upper;
use wirecost_wire::{icmp, ip, tcp, udp};

use crate::flow::{Desk, Flow, Key};
use crate::frame;
use crate::report::{Builder, Report};
use crate::secrets::Secrets;

/// Flows that are followed at a time; the quarter that was silent longest makes room for new ones.
const MAX_FLOWS: usize = 16_384;

/// Fragmented datagrams whose later fragments may still come.
const MAX_FRAGMENTED: usize = 64;

/// The ports on which servers listen whose protocol is known here.
const SERVER_PORTS: [u16; 14] = [
    9, 80, 443, 1883, 4433, 5671, 5672, 5683, 5684, 8000, 8080, 8443, 8883, 10_009,
];

/// Attributes the bytes of packets that no endpoint described.
///
/// Packets come in the order in which they were seen. Secrets should come before the packets that they decrypt.
#[derive(Debug, Default)]
pub struct Dissector {
    secrets: Secrets,
    flows: BTreeMap<Key, Box<Flow>>,
    fragmented: VecDeque<(Fragmented, Key, Direction)>,
    desk: Desk,
    builder: Builder,
}

/// What the fragments of a datagram share.
type Fragmented = (ip::Addresses, ip::Protocol, u32);

impl Dissector {
    /// A dissector without secrets.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the secrets of a key log (RFC 9850, SSLKEYLOGFILE); returns how many there are by now.
    pub fn add_secrets(&mut self, key_log: &str) -> u64 {
        self.secrets.add(key_log);
        self.secrets.len()
    }

    /// Takes the next packet of a capture.
    pub fn packet(&mut self, packet: &Packet<'_>) {
        self.builder.packet(packet);
        match frame::ip_packet(packet.link_type, packet.bytes) {
            Ok(bytes) => self.ip_packet(bytes),
            Err(what) => self.builder.no_packet(what, u64::from(packet.original_bytes)),
        }
    }

    /// What was found.
    pub fn finish(mut self) -> Report {
        for flow in std::mem::take(&mut self.flows).into_values() {
            self.end(flow);
        }
        self.builder.finish(&self.secrets)
    }

    fn ip_packet(&mut self, bytes: &[u8]) {
        let Ok(packet) = ip::Packet::new(bytes) else {
            self.builder
                .no_packet("frames without an IP header", bytes.len() as u64);
            return;
        };
        self.builder.truncated += u64::from(packet.is_truncated());
        let known = match Upper::new(&packet) {
            Ok(Upper::Tcp(segment)) => {
                self.segment(&packet, bytes, &segment);
                true
            }
            Ok(Upper::Udp(datagram)) => {
                self.datagram(&packet, bytes, &datagram);
                true
            }
            Ok(Upper::Icmp(message)) => self.icmp(&packet, bytes, &message),
            Ok(Upper::Fragment(_)) => self.later_fragment(&packet, bytes),
            _ => false,
        };
        if !known {
            self.builder.no_flow(&packet);
        }
    }

    fn segment(&mut self, packet: &ip::Packet<'_>, bytes: &[u8], segment: &tcp::Segment<'_>) {
        let source = SocketAddr::new(packet.source(), segment.source_port());
        let destination = SocketAddr::new(packet.destination(), segment.destination_port());
        let key = Key::new(source, destination, true);
        let over = self
            .flows
            .get(&key)
            .is_some_and(|flow| flow.is_ended_by(flow.direction(source), segment));
        if over && let Some(flow) = self.flows.remove(&key) {
            self.end(flow);
        }
        self.make_room(&key);
        let number = self.builder.packets();
        let flow = self.flows.entry(key).or_insert_with(|| {
            let (client, server) = ends_of_connection(source, destination, segment.flags());
            Box::new(Flow::connection(client, server))
        });
        flow.last_packet = number;
        let direction = flow.direction(source);
        let header_bytes = packet.header_bytes() + segment.header_bytes();
        let len = packet.total_bytes().saturating_sub(header_bytes) as u64;
        let limit = flow.limits.learn(direction, segment);
        if packet.fragment().is_none() {
            self.builder.offload.segment(packet, segment, len, limit);
            if !packet.is_truncated() {
                self.builder
                    .offload
                    .checksum(segment.checksum(&packet.addresses()));
            }
        }
        flow.segment(
            direction,
            (packet, bytes),
            segment,
            len,
            (&self.secrets, &mut self.desk),
        );
    }

    fn datagram(&mut self, packet: &ip::Packet<'_>, bytes: &[u8], datagram: &udp::Datagram<'_>) {
        let source = SocketAddr::new(packet.source(), datagram.source_port());
        let destination = SocketAddr::new(packet.destination(), datagram.destination_port());
        let key = Key::new(source, destination, false);
        self.make_room(&key);
        let number = self.builder.packets();
        let flow = self.flows.entry(key).or_insert_with(|| {
            let (client, server) = ends_by_port(source, destination);
            Box::new(Flow::datagrams(client, server, datagram.payload()))
        });
        flow.last_packet = number;
        let direction = flow.direction(source);
        if let Some(fragment) = packet.fragment() {
            let datagram = (packet.addresses(), packet.protocol(), fragment.id);
            if self.fragmented.len() >= MAX_FRAGMENTED {
                self.fragmented.pop_front();
            }
            self.fragmented.push_back((datagram, key, direction));
            flow.other(direction, bytes, &mut self.desk);
            return;
        }
        self.builder.offload.datagram(packet);
        if packet.is_truncated() {
            flow.other(direction, bytes, &mut self.desk);
            return;
        }
        self.builder
            .offload
            .checksum(datagram.checksum(&packet.addresses()));
        flow.datagram(direction, bytes, datagram, (&self.secrets, &mut self.desk));
    }

    /// Whether the fragment's datagram is known.
    fn later_fragment(&mut self, packet: &ip::Packet<'_>, bytes: &[u8]) -> bool {
        let Some(fragment) = packet.fragment() else {
            return false;
        };
        let datagram = (packet.addresses(), packet.protocol(), fragment.id);
        let found = self
            .fragmented
            .iter()
            .rev()
            .find(|(known, ..)| *known == datagram);
        let Some((_, key, direction)) = found.copied() else {
            return false;
        };
        self.other(&key, |_| direction, bytes)
    }

    /// Whether the message is an error about a packet of a known flow.
    fn icmp(&mut self, packet: &ip::Packet<'_>, bytes: &[u8], message: &icmp::Message<'_>) -> bool {
        let Some(quoted) = quoted(packet.version(), message) else {
            return false;
        };
        let Some((source_port, destination_port)) = quoted.ports() else {
            return false;
        };
        let source = SocketAddr::new(quoted.source(), source_port);
        let destination = SocketAddr::new(quoted.destination(), destination_port);
        let key = Key::new(source, destination, quoted.protocol() == ip::Protocol::Tcp);
        // The message travels against the packet that it quotes.
        self.other(&key, |flow| flow.direction(source).reverse(), bytes)
    }

    fn other(&mut self, key: &Key, direction: impl Fn(&Flow) -> Direction, bytes: &[u8]) -> bool {
        let Some(flow) = self.flows.get_mut(key) else {
            return false;
        };
        let direction = direction(flow);
        flow.other(direction, bytes, &mut self.desk);
        true
    }

    /// Ends the flows that were silent longest where there are too many.
    fn make_room(&mut self, new: &Key) {
        if self.flows.len() < MAX_FLOWS || self.flows.contains_key(new) {
            return;
        }
        let mut ages: Vec<u64> = self.flows.values().map(|flow| flow.last_packet).collect();
        let (_, limit, _) = ages.select_nth_unstable(MAX_FLOWS / 4);
        let limit = *limit;
        let silent = |_: &Key, flow: &mut Box<Flow>| flow.last_packet <= limit;
        let silent: Vec<_> = self.flows.extract_if(.., silent).collect();
        silent.into_iter().for_each(|(_, flow)| self.end(flow));
    }

    fn end(&mut self, mut flow: Box<Flow>) {
        flow.finish(&mut self.desk);
        self.builder.flow(&flow);
    }
}

/// Client and server of a connection by the packet seen first: who sends SYN is the client.
fn ends_of_connection(
    source: SocketAddr,
    destination: SocketAddr,
    flags: tcp::Flags,
) -> (SocketAddr, SocketAddr) {
    if !flags.contains(tcp::Flags::SYN) {
        ends_by_port(source, destination)
    } else if flags.contains(tcp::Flags::ACK) {
        (destination, source)
    } else {
        (source, destination)
    }
}

/// Client and server by their ports: the server's is one that is known, or the lower one; else who speaks first is the
/// client.
fn ends_by_port(source: SocketAddr, destination: SocketAddr) -> (SocketAddr, SocketAddr) {
    let rank = |end: SocketAddr| (!SERVER_PORTS.contains(&end.port()), end.port());
    if rank(source) < rank(destination) {
        (destination, source)
    } else {
        (source, destination)
    }
}

/// The packet that an ICMP error quotes.
fn quoted<'a>(version: ip::Version, message: &icmp::Message<'a>) -> Option<ip::Packet<'a>> {
    let bytes = match message.repr() {
        icmp::Repr::DestinationUnreachable { quoted, .. } | icmp::Repr::PacketTooBig { quoted, .. } => quoted,
        icmp::Repr::Other { kind, body, .. } if is_error(version, kind) => body,
        _ => return None,
    };
    ip::Packet::new(bytes).ok()
}

/// Whether an ICMP message of this type quotes a packet: time exceeded, parameter problem, redirect, source quench
/// (RFC 1122 section 3.2.2; RFC 4443 section 2.1).
const fn is_error(version: ip::Version, kind: u8) -> bool {
    match version {
        ip::Version::V4 => matches!(kind, 3 | 4 | 5 | 11 | 12),
        ip::Version::V6 => kind < 128,
    }
}
