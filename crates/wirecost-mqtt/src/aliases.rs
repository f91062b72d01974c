//! Topic aliases (section 3.3.2.3.4): numbers that represent topics within one connection and direction.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::codec::Text;
use crate::codec::text::OwnedText;

/// Aliases that the other side has given to topics.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReceivedAliases {
    maximum: u16,
    topics: Vec<Option<OwnedText>>,
}

/// An alias that is 0, above the maximum, or not given to a topic yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AliasError {
    OutOfRange,
    Unknown,
}

impl ReceivedAliases {
    /// No alias yet, of at most `maximum`.
    pub(crate) const fn new(maximum: u16) -> Self {
        Self {
            maximum,
            topics: Vec::new(),
        }
    }

    /// The topic of a PUBLISH that carries `topic` and `alias`; a topic that is there is given the alias.
    pub(crate) fn resolve<'a>(&'a mut self, topic: Text<'a>, alias: u16) -> Result<Text<'a>, AliasError> {
        // [MQTT-3.3.2-9], [MQTT-3.3.2-10]
        if alias == 0 || alias > self.maximum {
            return Err(AliasError::OutOfRange);
        }
        let index = usize::from(alias - 1);
        if topic.is_empty() {
            let known = self.topics.get(index).and_then(Option::as_ref);
            return known.map(OwnedText::as_text).ok_or(AliasError::Unknown);
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

/// Aliases that this side has given to topics, first come first served.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentAliases {
    maximum: u16,
    numbers: BTreeMap<Box<str>, u16>,
}

/// How a topic goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alias {
    /// As it is: every alias is taken.
    None,
    /// With a new alias, which the receiver learns.
    New(u16),
    /// As an alias that the receiver knows.
    Known(u16),
}

impl SentAliases {
    /// No alias yet, of at most `maximum`, the receiver's.
    pub(crate) const fn new(maximum: u16) -> Self {
        Self {
            maximum,
            numbers: BTreeMap::new(),
        }
    }

    /// The alias of `topic`, given now if one is free [MQTT-3.3.2-11].
    pub(crate) fn alias(&mut self, topic: &str) -> Alias {
        if let Some(number) = self.numbers.get(topic) {
            return Alias::Known(*number);
        }
        match u16::try_from(self.numbers.len()) {
            Ok(given) if given < self.maximum => {
                self.numbers.insert(topic.into(), given + 1);
                Alias::New(given + 1)
            }
            _ => Alias::None,
        }
    }
}
