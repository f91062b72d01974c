//! Everything below the applications: flows, their sockets, packets on their way, links, and the time.
//!
//! - [`flow`]: a device's port towards a service, with what both ends have of it
//! - [`flight`]: packets on their way
//! - [`datagrams`]: UDP, with fragmentation and reassembly
//! - [`streams`]: connections over TCP
//! - [`described`]: what the bytes of a stream are, and which of them were sent before
//! - [`socket`]: one end of a stream

pub(crate) mod datagrams;
pub(crate) mod described;
pub(crate) mod flight;
pub(crate) mod flow;
pub(crate) mod socket;
pub(crate) mod streams;

use wirecost_proto::bare::Transport as Kind;
use wirecost_proto::path::Links;
use wirecost_proto::{Delivery, Direction, Fate, Instant, Span};

use crate::queue::Queue;
use crate::settings::Settings;
use crate::slab::Slab;
use crate::tap::{Packet, Tap, Transport};
use datagrams::Fragmented;
use flight::{Flight, Place};
use flow::Flow;

/// What lies between the applications.
#[derive(Debug)]
pub(crate) struct Network<L, T> {
    pub(crate) settings: Settings,
    pub(crate) now: Instant,
    pub(crate) queue: Queue,
    pub(crate) flows: Slab<Flow>,
    flights: Slab<Place>,
    fragmented: Slab<Fragmented>,
    pub(crate) links: L,
    pub(crate) tap: T,
    /// Until when each device's link was, or is known to be, busy.
    busy_until: Vec<Instant>,
    /// What the link decided of the packet at hand.
    deliveries: Vec<Delivery>,
    /// The spans of the packet at hand.
    spans: Vec<Span>,
    /// Packets that have arrived.
    #[expect(
        clippy::vec_box,
        reason = "packets stay where they are in memory, and are used again"
    )]
    spare: Vec<Box<Flight>>,
    /// The packet that leaves next, with nothing in it.
    outgoing: Box<Flight>,
}

/// A packet about to enter its link: what its flow does not say.
struct Entering<'a> {
    flow: u32,
    direction: Direction,
    identification: u16,
    transport: Transport<'a>,
    wire_bytes: usize,
    payload: &'a [u8],
    spans: &'a [Span],
}

impl<L: Links, T: Tap> Network<L, T> {
    pub(crate) fn new(settings: Settings, devices: usize, links: L, tap: T) -> Self {
        Self {
            settings,
            now: Instant::START,
            queue: Queue::default(),
            flows: Slab::default(),
            flights: Slab::default(),
            fragmented: Slab::default(),
            links,
            tap,
            busy_until: vec![Instant::START; devices],
            deliveries: Vec::new(),
            spans: Vec::new(),
            spare: Vec::new(),
            outgoing: Box::default(),
        }
    }

    /// Until when a device's link was, or is known to be, busy.
    pub(crate) fn busy_until(&self, device: u32) -> Instant {
        let busy = self.busy_until.get(device as usize);
        busy.copied().unwrap_or_default()
    }

    /// A flow from a port of a device that was not used before.
    pub(crate) fn open(&mut self, flow: Flow) -> u32 {
        self.flows.insert(flow)
    }

    /// Whether flows of this kind keep what is said of their bytes.
    pub(crate) fn new_log(&self, kind: Kind) -> Option<Box<wirecost_proto::log::FlowLog>> {
        let new = || Box::new(wirecost_proto::log::FlowLog::new(kind));
        self.settings.keeps_logs.then(new)
    }

    /// Lets a packet enter its device's link; leaves the deliveries of intact copies. A flipped bit is found by the
    /// receiver's checksum (RFC 1071 section 1: every single-bit error), so that no application receives such a copy.
    fn enter(&mut self, entering: &Entering<'_>) {
        self.deliveries.clear();
        let Some(flow) = self.flows.get_mut(entering.flow) else {
            return;
        };
        let (source, destination) = flow.addresses(entering.direction);
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
        };
        let device = flow.device;
        flow.phase = packet.phase();
        let (now, wire_bytes) = (self.now, entering.wire_bytes);
        let fate = match self.links.link(flow.host) {
            Some(link) => link.offer(entering.direction, wire_bytes, now, &mut self.deliveries),
            None => Fate::Lost,
        };
        self.tap.packet(&packet, now, fate, &self.deliveries);
        if let Some(busy) = self.busy_until.get_mut(device as usize) {
            let arrivals = self.deliveries.iter().map(|delivery| delivery.at);
            *busy = arrivals.fold((*busy).max(now), Instant::max);
        }
        if fate != Fate::Delivered {
            self.deliveries.retain(|delivery| delivery.flip_bit.is_none());
        }
    }

    /// Removes a flow that neither side uses any more.
    pub(crate) fn release(&mut self, flow: u32) {
        if self.flows.get(flow).is_some_and(Flow::is_over) {
            self.flows.remove(flow);
        }
    }
}
