//! Assigns packets to flows and collects the flows' bytes in a report.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use wirecost_http::http3::open::Secrets;
use wirecost_proto::Direction;
use wirecost_wire::capture::Packet;
use wirecost_wire::upper::Upper;
use wirecost_wire::{icmp, ip, tcp, udp};

use crate::flow::{Buffers, Flow, Key};
use crate::fragments::{Fragmented, Fragments};
use crate::frame;
use crate::report::{Builder, Report};
use crate::sightings::Sightings;

/// The most flows at a time. Beyond it, the quarter that was silent longest ends.
const MAX_FLOWS: usize = 16_384;

/// Bytes that all connections together may keep. The connection that exceeds the limit ends and starts anew.
const MAX_KEPT_BYTES: u64 = 256 << 20;

/// Ports of servers whose protocol this crate knows.
const SERVER_PORTS: [u16; 14] = [
    9, 80, 443, 1883, 4433, 5671, 5672, 5683, 5684, 8000, 8080, 8443, 8883, 10_009,
];

/// Attributes the bytes of packets that no endpoint described.
///
/// Packets arrive in capture order. Secrets should arrive before the packets that they decrypt.
#[derive(Debug, Default)]
pub struct Dissector {
    secrets: Secrets,
    flows: BTreeMap<Key, Box<Flow>>,
    fragments: Fragments,
    buffers: Buffers,
    builder: Builder,
    /// Bytes that all connections keep.
    kept_bytes: u64,
}

impl Dissector {
    /// A dissector without secrets.
    pub fn new() -> Self {
        Self::default()
    }

    /// A dissector that also keeps every packet for an observer.
    pub fn observing() -> Self {
        let mut dissector = Self::default();
        dissector.buffers.sightings = Some(Sightings::default());
        dissector
    }

    /// Adds the secrets of a key log (RFC 9850, SSLKEYLOGFILE).
    pub fn add_secrets(&mut self, key_log: &str) {
        self.secrets.add(key_log);
    }

    /// Handles the next packet of a capture.
    pub fn packet(&mut self, packet: &Packet<'_>) {
        self.builder.packet(packet);
        self.buffers.now_ns = packet.timestamp_ns;
        match frame::ip_packet(packet.link_type, packet.bytes) {
            Ok(bytes) => self.ip_packet(bytes),
            Err(what) => self.builder.no_packet(what, u64::from(packet.original_bytes)),
        }
    }

    /// Ends every flow and returns the report.
    pub fn finish(self) -> Report {
        self.finish_observed().0
    }

    /// Ends every flow and returns the report, and the packets if the dissector keeps them.
    pub fn finish_observed(mut self) -> (Report, Sightings) {
        while let Some(fragmented) = self.fragments.give_up() {
            self.fragmented(&fragmented);
        }
        for flow in std::mem::take(&mut self.flows).into_values() {
            self.end(flow);
        }
        let mut sightings = self.buffers.sightings.take().unwrap_or_default();
        sightings.sort();
        (self.builder.finish(&self.secrets), sightings)
    }

    fn ip_packet(&mut self, bytes: &[u8]) {
        let Ok(packet) = ip::Packet::new(bytes) else {
            self.builder
                .no_packet("frames without an IP header", bytes.len() as u64);
            return;
        };
        self.builder.truncated += u64::from(packet.is_truncated());
        if let Some(fragment) = packet
            .fragment()
            .filter(|_| packet.protocol() == ip::Protocol::Udp)
        {
            if let Some(fragmented) = self
                .fragments
                .take(&packet, fragment, (self.buffers.now_ns, bytes))
            {
                self.fragmented(&fragmented);
            }
            return;
        }
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
        let number = self.builder.packets();
        let flow = self.flows.entry(key).or_insert_with(|| {
            let (client, server) = ends_of_connection(source, destination, segment.flags());
            let flow = Flow::connection(client, server);
            flow.start(&mut self.buffers);
            Box::new(flow)
        });
        flow.last_packet = number;
        self.kept_bytes -= flow.kept_bytes();
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
            (&self.secrets, &mut self.buffers),
        );
        self.kept_bytes += flow.kept_bytes();
        if self.kept_bytes > MAX_KEPT_BYTES
            && let Some(flow) = self.flows.remove(&key)
        {
            self.end(flow);
        }
        self.make_room();
    }

    fn datagram(&mut self, packet: &ip::Packet<'_>, bytes: &[u8], datagram: &udp::Datagram<'_>) {
        self.builder.offload.datagram(packet);
        let (flow, direction) = flow_of_datagram(
            (&mut self.flows, &mut self.buffers),
            packet,
            datagram,
            self.builder.packets(),
        );
        if packet.is_truncated() {
            flow.other(direction, bytes, &mut self.buffers);
        } else {
            self.builder
                .offload
                .checksum(datagram.checksum(&packet.addresses()));
            flow.describe(direction, datagram.payload(), (&self.secrets, &mut self.buffers));
            flow.account(direction, self.buffers.now_ns, bytes, &mut self.buffers);
        }
        self.make_room();
    }

    /// Handles the packets of a fragmented datagram, complete or given up.
    fn fragmented(&mut self, fragmented: &Fragmented) {
        let first = fragmented.packets.iter().find_map(|(_, bytes)| {
            let packet = ip::Packet::new(bytes).ok()?;
            packet.has_upper_header().then_some(packet)
        });
        let datagram = udp::Datagram::new(&fragmented.bytes).ok();
        let (Some(first), Some(datagram)) = (first, datagram) else {
            let packets = fragmented
                .packets
                .iter()
                .filter_map(|(_, bytes)| ip::Packet::new(bytes).ok());
            packets.for_each(|packet| self.builder.no_flow(&packet));
            return;
        };
        let (flow, direction) = flow_of_datagram(
            (&mut self.flows, &mut self.buffers),
            &first,
            &datagram,
            self.builder.packets(),
        );
        flow.describe(direction, datagram.payload(), (&self.secrets, &mut self.buffers));
        for (at_ns, bytes) in &fragmented.packets {
            flow.account(direction, *at_ns, bytes, &mut self.buffers);
        }
        self.make_room();
    }

    /// Accounts an ICMP error about a packet of a known flow. Returns whether the message was one.
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
        // The ICMP message travels in the opposite direction of the packet that it quotes.
        let Some(flow) = self.flows.get_mut(&key) else {
            return false;
        };
        self.kept_bytes -= flow.kept_bytes();
        flow.other(flow.direction(source).reverse(), bytes, &mut self.buffers);
        self.kept_bytes += flow.kept_bytes();
        true
    }

    /// Ends the flows that were silent longest if there are too many flows.
    fn make_room(&mut self) {
        if self.flows.len() <= MAX_FLOWS {
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
        self.kept_bytes -= flow.kept_bytes();
        flow.finish(&mut self.buffers);
        self.builder.flow(&flow);
    }
}

/// The flow of a datagram and the datagram's direction. Creates the flow for its first datagram.
fn flow_of_datagram<'a>(
    (flows, buffers): (&'a mut BTreeMap<Key, Box<Flow>>, &mut Buffers),
    packet: &ip::Packet<'_>,
    datagram: &udp::Datagram<'_>,
    number: u64,
) -> (&'a mut Flow, Direction) {
    let source = SocketAddr::new(packet.source(), datagram.source_port());
    let destination = SocketAddr::new(packet.destination(), datagram.destination_port());
    let flow = flows
        .entry(Key::new(source, destination, false))
        .or_insert_with(|| {
            let (client, server) = ends_by_port(source, destination);
            let flow = Flow::datagrams(client, server, datagram.payload());
            flow.start(buffers);
            Box::new(flow)
        });
    flow.last_packet = number;
    let direction = flow.direction(source);
    (flow, direction)
}

/// Client and server of a connection, from its first packet: the sender of a SYN is the client.
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

/// Client and server by port. The server has a known port, or else the lower port. With equal ports, the first sender
/// is the client.
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

/// Whether an ICMP message of this type quotes a packet: destination unreachable, time exceeded, parameter problem,
/// redirect, source quench (RFC 1122 section 3.2.2; RFC 4443 section 2.1).
const fn is_error(version: ip::Version, kind: u8) -> bool {
    match version {
        ip::Version::V4 => matches!(kind, 3 | 4 | 5 | 11 | 12),
        ip::Version::V6 => kind < 128,
    }
}
