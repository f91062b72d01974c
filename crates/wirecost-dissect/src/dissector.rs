//! Assigns packets to flows and collects the flows' bytes in a report.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use wirecost_http::http3::open::Secrets;
use wirecost_proto::Direction;
use wirecost_wire::capture::Packet;
use wirecost_wire::upper::Upper;
use wirecost_wire::{icmp, ip, tcp, udp};

use crate::captured::{Captured, with_whole_headers};
use crate::copies::CopyFinder;
use crate::flow::{Buffers, Flow, Key};
use crate::fragments::{Fragmented, Fragments, Taken};
use crate::hosts::Log;
use crate::quote::quoted;
use crate::report::{Builder, Report};
use crate::sightings::Sightings;
use crate::{ends, frame};

/// The most flows at a time. Beyond it, the quarter that was silent longest ends.
const MAX_FLOWS: usize = 16_384;

/// Bytes that all connections together may keep. The connection that exceeds the limit ends and starts anew.
const MAX_KEPT_BYTES: u64 = 256 << 20;

/// Attributes the bytes of packets that no endpoint described.
///
/// Packets arrive in capture order. Secrets should arrive before the packets that they decrypt.
#[derive(Debug, Default)]
pub struct Dissector {
    secrets: Secrets,
    flows: BTreeMap<Key, Box<Flow>>,
    fragments: Fragments,
    copies: CopyFinder,
    buffers: Buffers,
    builder: Builder,
    /// The packets for a comparison with another host's capture.
    log: Option<Log>,
    /// Bytes that all connections keep.
    kept_bytes: u64,
}

/// What a dissector keeps of the packets, besides their report.
#[derive(Debug)]
pub struct KeptPackets {
    /// What [`Dissector::observing`] keeps.
    pub sightings: Sightings,
    /// What [`Dissector::logging`] keeps.
    pub log: Log,
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

    /// A dissector that also keeps a line for every packet, to compare the capture with another host's.
    pub fn logging() -> Self {
        Self {
            log: Some(Log::default()),
            ..Self::default()
        }
    }

    /// Adds the secrets of a key log (RFC 9850, SSLKEYLOGFILE).
    pub fn add_secrets(&mut self, key_log: &str) {
        self.secrets.add(key_log);
    }

    /// Notes the name of an interface of the capture.
    pub(crate) fn interface(&mut self, number: u32, name: Option<String>) {
        self.copies.name(number, name);
    }

    /// Notes how many packets an interface has lost since the capture began.
    pub(crate) fn lost(&mut self, interface: u32, packets: u64) {
        self.builder.losses.of_interface(interface, packets);
    }

    /// Counts a block of the file that cannot be read.
    pub(crate) fn unread_block(&mut self, block_type: u32) {
        self.builder.unread_block(block_type);
    }

    /// Handles the next packet of a capture.
    pub fn packet(&mut self, packet: &Packet<'_>) {
        self.builder.losses.before_packet(packet);
        let frame_bytes = packet.original_bytes as usize;
        let framed = match frame::ip_packet(packet.link_type, packet.bytes) {
            Ok(framed) => framed,
            Err(what) => {
                self.builder.packet(packet);
                self.builder
                    .no_packet(what, frame_bytes.max(packet.bytes.len()) as u64);
                return;
            }
        };
        let header_bytes = packet.bytes.len() - framed.bytes.len();
        let link_bytes = frame_bytes.saturating_sub(header_bytes).max(framed.bytes.len());
        let headers = with_whole_headers(framed.bytes, link_bytes);
        let captured = Captured {
            bytes: &headers,
            link_bytes,
            at_ns: packet.timestamp_ns,
        };
        let Some(ip_packet) = captured.packet() else {
            self.builder.packet(packet);
            self.builder.no_ip_header(link_bytes as u64);
            return;
        };
        let end = ip_packet.total_bytes().min(framed.bytes.len());
        let bytes = framed.bytes.get(..end).unwrap_or(framed.bytes);
        let interface = (packet.interface, framed.interface);
        if self.copies.is_copy(interface, bytes, packet.timestamp_ns) {
            return;
        }
        if let Some(log) = &mut self.log {
            log.packet(&ip_packet, packet.timestamp_ns);
        }
        self.builder.packet(packet);
        self.buffers.now_ns = packet.timestamp_ns;
        let is_cut = framed.bytes.len() < ip_packet.total_bytes();
        self.ip_packet(&ip_packet, captured, is_cut);
    }

    /// Ends every flow and returns the report.
    pub fn finish(self) -> Report {
        self.finish_kept().0
    }

    /// Ends every flow and returns the report, and what the dissector keeps of the packets.
    pub fn finish_kept(mut self) -> (Report, KeptPackets) {
        while let Some(fragmented) = self.fragments.give_up() {
            self.fragmented(&fragmented);
        }
        for flow in std::mem::take(&mut self.flows).into_values() {
            self.end(flow);
        }
        let mut sightings = self.buffers.sightings.take().unwrap_or_default();
        sightings.sort();
        let copies = self.copies.finish();
        let log = self.log.take().unwrap_or_default();
        (
            self.builder.finish(&self.secrets, copies),
            KeptPackets { sightings, log },
        )
    }

    /// Handles an IP packet. `is_cut` says that the capture lacks bytes of it.
    fn ip_packet(&mut self, packet: &ip::Packet<'_>, captured: Captured<'_>, is_cut: bool) {
        self.builder.truncated += u64::from(is_cut);
        let lacks_length = ip::lacks_length(captured.bytes, captured.link_bytes);
        self.builder.offload.unset_lengths += u64::from(lacks_length);
        let fragment = packet.fragment();
        if let Some(fragment) = fragment.filter(|_| packet.protocol() == ip::Protocol::Udp) {
            self.fragment(packet, fragment, captured);
            return;
        }
        let is_whole = !is_cut && !lacks_length;
        let known = match Upper::new(packet) {
            Ok(Upper::Tcp(segment)) => {
                self.segment(packet, captured, &segment, is_whole);
                true
            }
            Ok(Upper::Udp(datagram)) => {
                self.datagram(packet, captured, &datagram, is_cut, is_whole);
                true
            }
            Ok(Upper::Icmp(message)) => self.icmp(packet, captured, &message),
            Ok(Upper::Fragment(_) | Upper::Other(..)) => false,
            Err(_) => self.cut_header(packet, captured),
        };
        if !known {
            self.builder.no_flow(packet);
        }
    }

    fn fragment(&mut self, packet: &ip::Packet<'_>, fragment: ip::Fragment, captured: Captured<'_>) {
        match self.fragments.take(packet, fragment, captured) {
            Taken::Waits => {}
            Taken::Datagram(fragmented) => self.fragmented(&fragmented),
            Taken::Again(source, destination) => {
                let source = SocketAddr::new(packet.source(), source);
                let destination = SocketAddr::new(packet.destination(), destination);
                match self.flows.get_mut(&Key::new(source, destination, false)) {
                    Some(flow) => flow.account_again(flow.direction(source), captured, &mut self.buffers),
                    None => self.builder.no_flow(packet),
                }
            }
            Taken::Refused => self.builder.no_flow(packet),
        }
    }

    fn segment(
        &mut self,
        packet: &ip::Packet<'_>,
        captured: Captured<'_>,
        segment: &tcp::Segment<'_>,
        is_whole: bool,
    ) {
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
            let (client, server) =
                ends::of_connection(source, destination, segment.flags(), segment.payload());
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
            if is_whole {
                self.builder
                    .offload
                    .checksum(segment.checksum(&packet.addresses()));
            }
        }
        flow.segment(
            direction,
            (packet, captured),
            segment,
            len,
            (&self.secrets, &mut self.buffers),
        );
        self.keep(&key);
    }

    /// Adds up the bytes that a connection keeps, and ends it if all keep too many.
    fn keep(&mut self, key: &Key) {
        self.kept_bytes += self.flows.get(key).map_or(0, |flow| flow.kept_bytes());
        if self.kept_bytes > MAX_KEPT_BYTES
            && let Some(flow) = self.flows.remove(key)
        {
            self.end(flow);
        }
        self.make_room();
    }

    fn datagram(
        &mut self,
        packet: &ip::Packet<'_>,
        captured: Captured<'_>,
        datagram: &udp::Datagram<'_>,
        is_cut: bool,
        is_whole: bool,
    ) {
        self.builder.offload.datagram(packet);
        let (flow, direction) = flow_of_datagram(
            (&mut self.flows, &mut self.buffers),
            packet,
            datagram,
            self.builder.packets(),
        );
        if is_cut {
            flow.other(direction, captured, &mut self.buffers);
        } else {
            if is_whole {
                self.builder
                    .offload
                    .checksum(datagram.checksum(&packet.addresses()));
            }
            flow.describe(direction, datagram.payload(), (&self.secrets, &mut self.buffers));
            flow.account(direction, captured, &mut self.buffers);
        }
        self.make_room();
    }

    /// Handles the packets of a fragmented datagram, complete or given up.
    fn fragmented(&mut self, fragmented: &Fragmented) {
        let packets = || {
            fragmented
                .packets
                .iter()
                .filter_map(|part| part.captured().packet())
        };
        let first = packets().find(ip::Packet::has_upper_header);
        let datagram = udp::Datagram::new(&fragmented.bytes).ok();
        let (Some(first), Some(datagram)) = (first, datagram) else {
            packets().for_each(|packet| self.builder.no_flow(&packet));
            return;
        };
        let (flow, direction) = flow_of_datagram(
            (&mut self.flows, &mut self.buffers),
            &first,
            &datagram,
            self.builder.packets(),
        );
        if fragmented.is_whole() {
            flow.describe(direction, datagram.payload(), (&self.secrets, &mut self.buffers));
        }
        for part in &fragmented.packets {
            if part.is_again {
                flow.account_again(direction, part.captured(), &mut self.buffers);
            } else {
                flow.account(direction, part.captured(), &mut self.buffers);
            }
        }
        self.make_room();
    }

    /// Accounts an ICMP error about a packet of a known flow. Returns whether the message was one.
    fn icmp(&mut self, packet: &ip::Packet<'_>, captured: Captured<'_>, message: &icmp::Message<'_>) -> bool {
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
        flow.other(flow.direction(source).reverse(), captured, &mut self.buffers);
        self.kept_bytes += flow.kept_bytes();
        true
    }

    /// Accounts a packet whose TCP or UDP header is cut off behind the ports. Returns whether it has ports.
    fn cut_header(&mut self, packet: &ip::Packet<'_>, captured: Captured<'_>) -> bool {
        let Some((source_port, destination_port)) = packet.ports() else {
            return false;
        };
        let source = SocketAddr::new(packet.source(), source_port);
        let destination = SocketAddr::new(packet.destination(), destination_port);
        let is_tcp = packet.protocol() == ip::Protocol::Tcp;
        let key = Key::new(source, destination, is_tcp);
        let number = self.builder.packets();
        let flow = self.flows.entry(key).or_insert_with(|| {
            let (client, server) = ends::of_ports(source, destination);
            let flow = if is_tcp {
                Flow::connection(client, server)
            } else {
                Flow::datagrams(client, server, &[])
            };
            flow.start(&mut self.buffers);
            Box::new(flow)
        });
        flow.last_packet = number;
        self.kept_bytes -= flow.kept_bytes();
        flow.other(flow.direction(source), captured, &mut self.buffers);
        self.keep(&key);
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
            let (client, server) = ends::of_datagrams(source, destination, datagram.payload());
            let flow = Flow::datagrams(client, server, datagram.payload());
            flow.start(buffers);
            Box::new(flow)
        });
    flow.last_packet = number;
    let direction = flow.direction(source);
    (flow, direction)
}
