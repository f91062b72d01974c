//! What waits for a session, within what the broker keeps for one (section 4.1).

use alloc::collections::VecDeque;

use super::config::Config;
use super::message::Delivery;

/// Places that an empty queue keeps: more than a client that takes its messages has waiting.
const MOST_KEPT: usize = 1_024;

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
        if self.deliveries.is_empty() && self.deliveries.capacity() > MOST_KEPT {
            self.deliveries = VecDeque::new();
        }
        Some(delivery)
    }

    /// Whether a delivery has room behind the others. One alone always has: what bounds its length is the largest packet.
    pub(super) fn has_room(&self, delivery: &Delivery, config: &Config) -> bool {
        let bytes = self.bytes + delivery.message.bytes();
        let is_too_much = bytes > config.maximum_queued_bytes && !self.deliveries.is_empty();
        !is_too_much && self.deliveries.len() < config.maximum_queued
    }

    /// Puts a delivery behind the others.
    pub(super) fn push_back(&mut self, delivery: Delivery) {
        self.bytes += delivery.message.bytes();
        self.deliveries.push_back(delivery);
    }

    /// Bytes of the messages that wait.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.deliveries.len()
    }
}
