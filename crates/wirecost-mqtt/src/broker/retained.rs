//! Retained messages (section 3.3.1.3).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;

use wirecost_proto::Instant;

use super::message::Message;
use crate::topic;

/// The last retained message of each topic.
#[derive(Debug, Default)]
pub(super) struct Retained {
    by_topic: BTreeMap<Arc<str>, Arc<Message>>,
    /// When which message expires, of those that do.
    expiries: BTreeSet<(Instant, Arc<str>)>,
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
        let name = self.remove(name).unwrap_or_else(|| name.into());
        self.bytes += message.bytes();
        if let Some(expires) = message.expires {
            self.expiries.insert((expires, name.clone()));
        }
        self.by_topic.insert(name, message);
    }

    /// Bytes of all messages.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes of the messages other than that of `name`.
    pub(super) fn bytes_beside(&self, name: &str) -> usize {
        self.bytes - self.by_topic.get(name).map_or(0, |message| message.bytes())
    }

    /// Removes the message of a topic [MQTT-3.3.1-6]; the topic, where it had one.
    pub(super) fn remove(&mut self, name: &str) -> Option<Arc<str>> {
        let (name, message) = self.by_topic.remove_entry(name)?;
        self.bytes -= message.bytes();
        if let Some(expires) = message.expires {
            self.expiries.remove(&(expires, name.clone()));
        }
        Some(name)
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

    /// Removes expired messages, and looks at no others.
    pub(super) fn purge(&mut self, now: Instant) {
        while let Some((_, name)) = self.expiries.first().filter(|(expires, _)| *expires <= now) {
            let name = name.clone();
            self.remove(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use core::time::Duration;

    use super::*;
    use crate::broker::memory::Memory;
    use crate::codec::{PropertiesBuf, Property, Text};
    use crate::quality::QoS;

    #[test]
    fn what_has_expired_is_removed_and_what_took_its_place_is_not() {
        let (mut retained, memory) = (Retained::default(), Memory::default());
        let mut store = |topic, seconds: Option<u32>| {
            let mut properties = PropertiesBuf::new();
            properties.extend(seconds.map(Property::MessageExpiryInterval));
            let (topic, properties) = (Text::new(topic).expect("a text"), properties.as_properties());
            let (qos, now) = (QoS::AtMostOnce, Instant::START);
            let message = Message::new(topic, b"x", qos, properties, now, &memory);
            retained.store(message.into());
        };
        for (topic, seconds) in [
            ("short", Some(1)),
            ("long", Some(9)),
            ("ever", None),
            ("was short", Some(1)),
            ("was short", None),
            ("was long", Some(9)),
            ("was long", Some(1)),
        ] {
            store(topic, seconds);
        }
        retained.purge(Instant::START + Duration::from_secs(1));
        let kept: Vec<&str> = retained.by_topic.keys().map(|name| &**name).collect();
        assert_eq!(kept, ["ever", "long", "was short"]);
        retained.purge(Instant::START + Duration::from_secs(9));
        assert_eq!((retained.len(), retained.expiries.len()), (2, 0));
        assert!(
            retained
                .remove("ever")
                .and(retained.remove("was short"))
                .is_some()
        );
        assert_eq!((retained.bytes(), memory.held()), (0, 0));
    }
}
