//! The layers below the applications: flows, sockets, packets in transit, links and the current time.
//!
//! - [`flow`]: a device's port and a service, with the state of both ends
//! - [`in_flight`]: packets in transit
//! - [`datagrams`]: UDP, with fragmentation and reassembly
//! - [`streams`]: connections over TCP
//! - [`stream_spans`]: the spans of a stream, and which of its bytes were sent before
//! - [`socket`]: one end of a stream

pub(crate) mod datagrams;
pub(crate) mod flow;
pub(crate) mod in_flight;
pub(crate) mod socket;
pub(crate) mod stream_spans;
pub(crate) mod streams;

use std::net::SocketAddr;
use std::sync::Arc;

use wirecost_proto::bare::Transport as Kind;
use wirecost_proto::hosts::HostIndex;
use wirecost_proto::{BothWays, Delivery, Direction, Fate, Instant, Span};
use wirecost_tcp::{Config, RestPattern};
use wirecost_wire::tcp::Flags;

use crate::awake::Awake;
use crate::carrier::{Carrier, Decision, Offered};
use crate::queue::Queue;
use crate::settings::Settings;
use crate::slab::Slab;
use crate::tap::{Packet, Tap, Transport};
use datagrams::Fragmented;
use flow::Flow;
use in_flight::{InFlight, PacketSlot};

/// The network between the applications.
#[derive(Debug)]
pub(crate) struct Network<L, T> {
    pub(crate) settings: Settings,
    tcp: BothWays<Arc<Config>>,
    /// What the connections' ends at rest have in common, by the direction in which they send.
    at_rest: BothWays<RestPattern>,
    /// Who keeps memory for reuse.
    pub(crate) awake: Awake,
    pub(crate) now: Instant,
    pub(crate) queue: Queue,
    /// The servers' addresses and ports, by number. Devices and flows are many, and keep the number.
    pub(crate) servers: Vec<SocketAddr>,
    pub(crate) flows: Slab<Flow>,
    packets: Slab<PacketSlot>,
    fragmented: Slab<Fragmented>,
    /// What carries the packets.
    pub(crate) links: L,
    pub(crate) tap: T,
    /// The time until which each device's link was busy, or is known to be busy.
    busy_until: Vec<Instant>,
    /// The packets of each device that the carrier holds.
    held: Vec<u32>,
    /// The deliveries of the current packet.
    deliveries: Vec<Delivery>,
    /// Whether the carrier holds the current packet.
    is_held: bool,
    /// The fates that the carrier has just decided.
    decisions: Vec<Decision>,
    /// The spans of the current packet.
    spans: Vec<Span>,
    /// Empty packets for reuse.
    #[expect(
        clippy::vec_box,
        reason = "packets keep their address in memory and are reused"
    )]
    spare: Vec<Box<InFlight>>,
    /// The packet that leaves next, still empty.
    outgoing: Box<InFlight>,
}

/// A packet that is about to enter its link, without the fields that its flow has.
struct Entering<'a> {
    flow: u32,
    direction: Direction,
    identification: u16,
    transport: Transport<'a>,
    wire_bytes: usize,
    payload: &'a [u8],
    spans: &'a [Span],
}

/// Passes a packet through its link's address translator. Returns whether it has a mapping.
fn translate(carrier: &mut impl Carrier, flow: &mut Flow, entering: &Entering<'_>, now: Instant) -> bool {
    let (own, host) = (flow.client, flow.host);
    let (kind, is_reset) = match entering.transport {
        Transport::Tcp { segment, .. } => (Kind::Stream, segment.flags.contains(Flags::RST)),
        Transport::Udp | Transport::Fragment(_) => (Kind::Datagram, false),
        Transport::Unreachable => return true,
    };
    let end = (kind, own.ip());
    match entering.direction {
        Direction::Up => {
            let seen = carrier.translate(host, Direction::Up, end, own.port(), now);
            flow.seen_port = seen.unwrap_or(own.port());
            true
        }
        Direction::Down => {
            // The server sends to the port from which the flow came. Only the answer to an unknown segment goes to a later one.
            let known = flow.server_end.as_ref().map(|end| end.seen_port);
            let to = if is_reset {
                flow.seen_port
            } else {
                known.unwrap_or(own.port())
            };
            carrier.translate(host, Direction::Down, end, to, now).is_some()
        }
    }
}

impl<L: Carrier, T: Tap> Network<L, T> {
    pub(crate) fn new(
        settings: Settings,
        devices: usize,
        servers: Vec<SocketAddr>,
        links: L,
        tap: T,
    ) -> Self {
        Self {
            tcp: settings.shared_tcp(),
            at_rest: BothWays::default(),
            awake: Awake::default(),
            settings,
            now: Instant::START,
            queue: Queue::default(),
            servers,
            flows: Slab::default(),
            packets: Slab::default(),
            fragmented: Slab::default(),
            links,
            tap,
            busy_until: vec![Instant::START; devices],
            held: vec![0; if L::HOLDS { devices } else { 0 }],
            deliveries: Vec::new(),
            is_held: false,
            decisions: Vec::new(),
            spans: Vec::new(),
            spare: Vec::new(),
            outgoing: Box::default(),
        }
    }

    /// The time until which the link of device `device`, which is `host`, was busy, or is known to be busy. While the carrier
    /// holds a packet, that is the current time.
    pub(crate) fn busy_until(&self, device: u32, host: HostIndex) -> Instant {
        let busy = self.busy_until.get(device as usize).copied().unwrap_or_default();
        match self.held.get(device as usize) {
            None => busy,
            Some(0) => busy.max(self.links.busy_until(host, self.now)),
            Some(_) => busy.max(self.now),
        }
    }

    /// Counts a packet of a flow's device among those that the carrier holds, or no longer.
    fn count_held(&mut self, flow: u32, is_held: bool) {
        let device = self.flows.get(flow).map(|flow| flow.device as usize);
        if let Some(held) = device.and_then(|device| self.held.get_mut(device)) {
            *held = if is_held {
                *held + 1
            } else {
                held.saturating_sub(1)
            };
        }
    }

    /// Adds a flow from an unused port of a device; returns its number.
    pub(crate) fn open(&mut self, flow: Flow) -> u32 {
        self.flows.insert(flow)
    }

    /// A log for a flow of this transport, if logs are kept.
    pub(crate) fn new_log(&self, kind: Kind) -> Option<Box<wirecost_proto::log::FlowLog>> {
        let new = || Box::new(wirecost_proto::log::FlowLog::new(kind));
        self.settings.keeps_logs.then(new)
    }

    /// Offers a packet to its device's link; `self.deliveries` are then those of the intact copies. The receiver's checksum
    /// detects every flipped bit (RFC 1071 section 1: every single-bit error), so that no application receives such a copy.
    fn enter(&mut self, entering: &Entering<'_>) {
        self.deliveries.clear();
        let Some(flow) = self.flows.get_mut(entering.flow) else {
            return;
        };
        let Some((source, destination)) = flow.addresses(entering.direction, &self.servers) else {
            return;
        };
        let packet = Packet {
            host: flow.host,
            direction: entering.direction,
            source,
            destination,
            identification: entering.identification,
            transport: entering.transport,
            wire_bytes: entering.wire_bytes,
            payload: entering.payload,
            spans: entering.spans,
            flow_phase: flow.phase,
            number: if L::HOLDS { self.packets.next_number() } else { 0 },
        };
        let device = flow.device;
        flow.phase = packet.phase();
        let (now, wire_bytes, number) = (self.now, entering.wire_bytes, packet.number);
        self.is_held = false;
        if !translate(&mut self.links, flow, entering, now) {
            return;
        }
        let offered = Offered {
            host: flow.host,
            direction: entering.direction,
            wire_bytes,
            number,
        };
        let fate = self.links.offer(offered, now, &mut self.deliveries);
        self.is_held = L::HOLDS && fate == Fate::Held;
        self.tap.packet(&packet, now, fate, &self.deliveries);
        if let Some(busy) = self.busy_until.get_mut(device as usize) {
            let arrivals = self.deliveries.iter().map(|delivery| delivery.at);
            *busy = arrivals.fold((*busy).max(now), Instant::max);
        }
        if fate != Fate::Delivered {
            self.deliveries.retain(|delivery| delivery.flip_bit.is_none());
        }
    }

    /// When the carrier decides next.
    pub(crate) fn next_decision(&self) -> Option<Instant> {
        if L::HOLDS {
            self.links.next_decision()
        } else {
            None
        }
    }

    /// Lets time go on to `now`, and handles the fates that the carrier has decided until then.
    pub(crate) fn decide(&mut self, now: Instant) {
        self.now = now;
        let mut decisions = std::mem::take(&mut self.decisions);
        self.links.decide(now, &mut decisions);
        for Decision { number, arrives } in decisions.drain(..) {
            self.tap.decided(number, now, arrives);
            match arrives {
                Some(at) => self.arrives(number, at),
                None => self.drop_packet(number),
            }
        }
        self.decisions = decisions;
    }

    /// Removes a flow that neither side uses anymore.
    pub(crate) fn release(&mut self, flow: u32) {
        if self.flows.get(flow).is_some_and(Flow::is_over) {
            self.flows.remove(flow);
        }
    }
}
