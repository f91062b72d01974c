//! How long the link held the packets that carry payload to the server, and how far virtual time is.

use std::sync::atomic::Ordering;

use wirecost_proto::{Delivery, Direction, Fate, Instant, Layer};
use wirecost_sim::{Packet, Tap};
use wirecost_stats::Histogram;

use super::Pace;
use super::book::nanos;

/// The delays of delivered packets with payload, up.
pub(super) struct Delays<'a> {
    /// From the entry of a packet until its delivery, queueing included.
    pub(super) up: Histogram,
    pace: &'a Pace,
}

impl<'a> Delays<'a> {
    pub(super) fn new(pace: &'a Pace) -> Self {
        Self {
            up: Histogram::new(),
            pace,
        }
    }
}

impl Tap for Delays<'_> {
    fn packet(&mut self, packet: &Packet<'_>, entered: Instant, _: Fate, deliveries: &[Delivery]) {
        self.pace.at.store(entered.as_nanos(), Ordering::Relaxed);
        let is_payload = || packet.spans.iter().any(|span| span.layer == Layer::Payload);
        let intact = deliveries.iter().find(|delivery| delivery.flip_bit.is_none());
        if let Some(delivery) = intact.filter(|_| packet.direction == Direction::Up && is_payload()) {
            self.up.record(nanos(delivery.at.saturating_since(entered)));
        }
    }
}
