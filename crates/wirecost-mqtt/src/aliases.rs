//! Topic aliases (section 3.3.2.3.4): numbers that replace topics within one connection and direction.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::codec::text::OwnedText;
use crate::codec::{ProtocolError, Text};

/// The topic aliases that the peer has assigned.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReceivedAliases {
    maximum: u16,
    topics: Vec<Option<OwnedText>>,
}

impl ReceivedAliases {
    /// No aliases yet. `maximum`: the highest alias that this side accepts.
    pub(crate) const fn new(maximum: u16) -> Self {
        Self {
            maximum,
            topics: Vec::new(),
        }
    }

    /// The topic of a PUBLISH with `topic` and `alias`. If `topic` is not empty, the alias is assigned to it.
    pub(crate) fn resolve<'a>(&'a mut self, topic: Text<'a>, alias: u16) -> Result<Text<'a>, ProtocolError> {
        // [MQTT-3.3.2-9], [MQTT-3.3.2-10]
        if alias == 0 || alias > self.maximum {
            return Err(ProtocolError::TopicAlias);
        }
        let index = usize::from(alias - 1);
        if topic.is_empty() {
            let known = self.topics.get(index).and_then(Option::as_ref);
            return known.map(OwnedText::as_text).ok_or(ProtocolError::EmptyTopic);
        }
        if self.topics.len() <= index {
            self.topics.resize(index + 1, None);
        }
        if let Some(slot) = self.topics.get_mut(index)
            && slot.as_ref().is_none_or(|known| known.as_text() != topic)
        {
            *slot = Some(topic.into());
        }
        Ok(topic)
    }
}

/// The topic aliases that this side has assigned, in the order of the topics.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentAliases {
    maximum: u16,
    numbers: BTreeMap<Box<str>, u16>,
}

impl SentAliases {
    /// No aliases yet. `maximum`: the highest alias that the receiver accepts.
    pub(crate) const fn new(maximum: u16) -> Self {
        Self {
            maximum,
            numbers: BTreeMap::new(),
        }
    }

    /// The topic and the alias to send for `topic`. Assigns an alias if one is free [MQTT-3.3.2-11]; the topic is empty
    /// if the receiver knows its alias.
    pub(crate) fn replace<'a>(&mut self, topic: Text<'a>) -> (Text<'a>, Option<u16>) {
        if let Some(number) = self.numbers.get(topic.as_str()) {
            return (Text::EMPTY, Some(*number));
        }
        match u16::try_from(self.numbers.len()) {
            Ok(assigned) if assigned < self.maximum => {
                self.numbers.insert(topic.as_str().into(), assigned + 1);
                (topic, Some(assigned + 1))
            }
            _ => (topic, None),
        }
    }
}
