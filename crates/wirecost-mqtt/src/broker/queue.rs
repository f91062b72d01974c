//! What waits for a session, within what the broker keeps for one (section 4.1).

use alloc::collections::VecDeque;

use super::config::Config;
use super::message::Delivery;

/// Deliveries in their order, and the bytes of their messages.
#[derive(Debug, Default)]
pub(super) struct Queue {
    deliveries: VecDeque<Delivery>,
    bytes: usize,
}

impl Queue {
    /// The delivery that is next.
    pub(super) fn front(&self) -> Option<&Delivery> {
        self.deliveries.front()
    }

    /// Takes the delivery that is next.
    pub(super) fn pop_front(&mut self) -> Option<Delivery> {
        let delivery = self.deliveries.pop_front()?;
        self.bytes -= delivery.message.bytes();
        Some(delivery)
    }

    /// Puts a delivery behind the others; false where there is no room for it. One alone is always taken: what bounds its
    /// length is the largest packet.
    pub(super) fn push_back(&mut self, delivery: Delivery, config: &Config) -> bool {
        let bytes = self.bytes + delivery.message.bytes();
        let is_too_much = bytes > config.maximum_queued_bytes && !self.deliveries.is_empty();
        if is_too_much || self.deliveries.len() >= config.maximum_queued {
            return false;
        }
        self.bytes = bytes;
        self.deliveries.push_back(delivery);
        true
    }
}
