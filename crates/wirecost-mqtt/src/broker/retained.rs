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
        match self.by_topic.get_mut(name) {
            Some(kept) => *kept = message,
            None => {
                self.by_topic.insert(name.into(), message);
            }
        }
    }

    /// Removes the message of a topic [MQTT-3.3.1-6].
    pub(super) fn remove(&mut self, name: &str) {
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
        self.by_topic.retain(|_, message| !message.has_expired(now));
    }
}
