//! Retained messages (section 3.3.1.3).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;

use wirecost_proto::Instant;

use super::message::Message;

mod walk;

/// The last retained message of each topic.
#[derive(Debug, Default)]
pub(super) struct Retained {
    by_topic: BTreeMap<Arc<str>, Arc<Message>>,
    /// The topics whose message expires, by expiry time.
    by_expiry: BTreeSet<(Instant, Arc<str>)>,
    /// The bytes of all messages.
    bytes: usize,
}

impl Retained {
    pub(super) fn len(&self) -> usize {
        self.by_topic.len()
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.by_topic.contains_key(name)
    }

    /// Replaces the message of its topic [MQTT-3.3.1-5].
    pub(super) fn store(&mut self, message: Arc<Message>) {
        let text = message.topic.as_text();
        let name: Arc<str> = match self.take(&text) {
            Some((name, _)) => name,
            None => text.as_str().into(),
        };
        self.bytes += message.bytes();
        if let Some(at) = message.expires {
            self.by_expiry.insert((at, name.clone()));
        }
        self.by_topic.insert(name, message);
    }

    /// The bytes of all messages.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The bytes of all messages except the one of `name`.
    pub(super) fn bytes_except(&self, name: &str) -> usize {
        self.bytes - self.by_topic.get(name).map_or(0, |message| message.bytes())
    }

    /// Removes the message of a topic [MQTT-3.3.1-6].
    pub(super) fn remove(&mut self, name: &str) {
        self.take(name);
    }

    fn take(&mut self, name: &str) -> Option<(Arc<str>, Arc<Message>)> {
        let (name, message) = self.by_topic.remove_entry(name)?;
        self.bytes -= message.bytes();
        if let Some(at) = message.expires {
            self.by_expiry.remove(&(at, name.clone()));
        }
        Some((name, message))
    }

    /// Removes expired messages. It visits no other messages.
    pub(super) fn purge(&mut self, now: Instant) {
        while let Some((_, name)) = self.by_expiry.first().filter(|(at, _)| *at <= now) {
            let name = name.clone();
            self.take(&name);
        }
    }
}

#[cfg(test)]
mod tests;
