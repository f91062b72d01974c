//! A message in the broker, shared by all its receivers.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use wirecost_proto::Instant;

use super::memory::{Memory, Reservation};
use crate::codec::properties::{Property, Variable};
use crate::codec::text::OwnedText;
use crate::codec::{Properties, PropertiesBuf, Text};
use crate::quality::QoS;

/// A published message.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) topic: OwnedText,
    pub(super) payload: Box<[u8]>,
    pub(super) qos: QoS,
    /// The properties for subscribers, unaltered [MQTT-3.3.2-17], [MQTT-3.3.2-18].
    pub(super) properties: PropertiesBuf,
    pub(super) expires: Option<Instant>,
    /// The reserved memory, until the last receiver drops the message.
    _held: Reservation,
}

/// The memory of a message without its topic, properties and payload.
const MESSAGE_BYTES: usize = size_of::<Message>() + 2 * size_of::<usize>();

impl Message {
    /// The message of a PUBLISH or a will that is published at `now`.
    pub(super) fn new(
        topic: Text<'_>,
        payload: &[u8],
        qos: QoS,
        properties: Properties<'_>,
        now: Instant,
        memory: &Memory,
    ) -> Self {
        let expires = properties.iter().find_map(|property| match property {
            Property::MessageExpiryInterval(seconds) => Some(now + Duration::from_secs(seconds.into())),
            _ => None,
        });
        let mut forwarded = PropertiesBuf::new();
        forwarded.extend(properties.iter().filter(is_forwarded));
        let bytes = topic.len() + forwarded.as_properties().written_bytes() + payload.len();
        Self {
            topic: topic.into(),
            payload: payload.into(),
            qos,
            properties: forwarded,
            expires,
            _held: memory.reserve(MESSAGE_BYTES + bytes),
        }
    }

    /// The bytes of the topic, the properties and the payload.
    pub(super) fn bytes(&self) -> usize {
        let properties = self.properties.as_properties().written_bytes();
        self.topic.as_text().len() + properties + self.payload.len()
    }

    pub(super) fn has_expired(&self, now: Instant) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    /// The rest of the expiry interval in seconds, rounded up [MQTT-3.3.2-6].
    fn seconds_left(&self, now: Instant) -> Option<u32> {
        let left = self.expires?.saturating_since(now);
        let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
        Some(u32::try_from(seconds).unwrap_or(u32::MAX))
    }
}

/// Whether subscribers get a publisher's property unaltered. Topic aliases belong to one connection, the expiry
/// interval decreases, identifiers belong to subscriptions, and the will delay has passed.
const fn is_forwarded(property: &Property<'_>) -> bool {
    !matches!(
        property,
        Property::TopicAlias(_)
            | Property::MessageExpiryInterval(_)
            | Property::SubscriptionIdentifier(_)
            | Property::WillDelayInterval(_)
    )
}

/// A message for one session.
#[derive(Clone, Debug)]
pub(super) struct QueuedMessage {
    pub(super) message: Arc<Message>,
    pub(super) qos: QoS,
    pub(super) retain: bool,
    /// The identifiers of the matching subscriptions [MQTT-3.3.4-4].
    pub(super) identifiers: Vec<u32>,
}

impl QueuedMessage {
    /// The properties of the PUBLISH to the subscriber. They are written to `scratch` if they differ from the
    /// message's.
    pub(super) fn properties<'a>(
        &'a self,
        alias: Option<u16>,
        now: Instant,
        scratch: &'a mut PropertiesBuf,
    ) -> Properties<'a> {
        let message = &self.message;
        if alias.is_none() && message.expires.is_none() && self.identifiers.is_empty() {
            return message.properties.as_properties();
        }
        scratch.clear();
        scratch.extend(alias.map(Property::TopicAlias));
        scratch.extend(message.seconds_left(now).map(Property::MessageExpiryInterval));
        scratch.extend(message.properties.as_properties().iter());
        let identifiers = self.identifiers.iter();
        scratch.extend(identifiers.map(|number| Property::SubscriptionIdentifier(Variable(*number))));
        scratch.as_properties()
    }
}
