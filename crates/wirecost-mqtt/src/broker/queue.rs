//! The message queue of a session, with limits (section 4.1).

use alloc::collections::VecDeque;

use super::config::Config;
use super::message::QueuedMessage;

/// The capacity that an empty queue keeps. A client that reads its messages needs less.
const MOST_KEPT: usize = 1_024;

/// Queued messages in order, and their bytes.
#[derive(Debug, Default)]
pub(super) struct Queue {
    deliveries: VecDeque<QueuedMessage>,
    bytes: usize,
}

impl Queue {
    /// The next message.
    pub(super) fn front(&self) -> Option<&QueuedMessage> {
        self.deliveries.front()
    }

    /// Takes the next message.
    pub(super) fn pop_front(&mut self) -> Option<QueuedMessage> {
        let delivery = self.deliveries.pop_front()?;
        self.bytes -= delivery.message.bytes();
        if self.deliveries.is_empty() && self.deliveries.capacity() > MOST_KEPT {
            self.deliveries = VecDeque::new();
        }
        Some(delivery)
    }

    /// Whether a message fits into the queue. One always fits into an empty queue: the largest packet limits its
    /// length.
    pub(super) fn has_room(&self, delivery: &QueuedMessage, config: &Config) -> bool {
        let bytes = self.bytes + delivery.message.bytes();
        let is_too_much = bytes > config.maximum_queued_bytes && !self.deliveries.is_empty();
        !is_too_much && self.deliveries.len() < config.maximum_queued
    }

    /// Appends a message.
    pub(super) fn push_back(&mut self, delivery: QueuedMessage) {
        self.bytes += delivery.message.bytes();
        self.deliveries.push_back(delivery);
    }

    /// The bytes of the queued messages.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.deliveries.len()
    }
}
