//! Retained messages (section 3.3.1.3).

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use wirecost_proto::Instant;

use super::message::Message;
use crate::topic;

/// The last retained message of each topic.
#[derive(Debug, Default)]
pub(super) struct Retained {
    by_topic: BTreeMap<Arc<str>, Arc<Message>>,
    /// Bytes of the messages.
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
        let name = message.topic.as_text().as_str();
        self.bytes += message.bytes();
        match self.by_topic.get_mut(name) {
            Some(kept) => {
                self.bytes -= kept.bytes();
                *kept = message;
            }
            None => {
                self.by_topic.insert(name.into(), message);
            }
        }
    }

    /// Bytes of all messages.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes of the messages other than that of `name`.
    pub(super) fn bytes_beside(&self, name: &str) -> usize {
        self.bytes - self.by_topic.get(name).map_or(0, |message| message.bytes())
    }

    /// Removes the message of a topic [MQTT-3.3.1-6].
    pub(super) fn remove(&mut self, name: &str) {
        self.bytes = self.bytes_beside(name);
        self.by_topic.remove(name);
    }

    /// The messages whose topic matches `filter`, in the order of their topics; expired ones are left out.
    pub(super) fn matching<'a>(
        &'a self,
        filter: &'a str,
        now: Instant,
    ) -> impl Iterator<Item = &'a Arc<Message>> {
        let exact = if topic::has_wildcard(filter) {
            None
        } else {
            Some(self.by_topic.get(filter))
        };
        let scanned = exact.is_none().then(|| self.by_topic.iter());
        let matching = scanned
            .into_iter()
            .flatten()
            .filter(move |(name, _)| topic::matches(filter, name))
            .map(|(_, message)| message);
        exact
            .flatten()
            .into_iter()
            .chain(matching)
            .filter(move |message| !message.has_expired(now))
    }

    /// Removes expired messages.
    pub(super) fn purge(&mut self, now: Instant) {
        let bytes = &mut self.bytes;
        self.by_topic.retain(|_, message| {
            let is_kept = !message.has_expired(now);
            *bytes -= if is_kept { 0 } else { message.bytes() };
            is_kept
        });
    }
}
