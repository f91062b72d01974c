//! The delays of packets with payload to the server.

use wirecost_proto::{Delivery, Direction, Fate, Instant, Layer};
use wirecost_sim::{Packet, Tap};
use wirecost_stats::Histogram;

/// The delays of delivered packets with payload, up.
pub(super) struct Delays {
    /// From the entry of a packet until its delivery, including queueing, in nanoseconds.
    pub(super) up: Histogram,
}

impl Delays {
    pub(super) fn new() -> Self {
        Self { up: Histogram::new() }
    }
}

impl Tap for Delays {
    fn packet(&mut self, packet: &Packet<'_>, entered: Instant, _: Fate, deliveries: &[Delivery]) {
        let is_payload = || packet.spans.iter().any(|span| span.layer == Layer::Payload);
        let intact = deliveries.iter().find(|delivery| delivery.flip_bit.is_none());
        if let Some(delivery) = intact.filter(|_| packet.direction == Direction::Up && is_payload()) {
            self.up
                .record(delivery.at.saturating_since(entered).as_nanos() as u64);
        }
    }
}
