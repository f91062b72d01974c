//! What a client can be asked, and what it reports.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use wirecost_proto::{Content, PeerText, ResetReason, Stamp};

use crate::codec::properties::Variable;
use crate::codec::text::OwnedText;
use crate::codec::{
    DecodeError, FieldError, FiltersBuf, Malformed, Properties, PropertiesBuf, Property, ReasonCode,
    SubscriptionOptions, Text, TopicsBuf,
};
use crate::quality::QoS;
use crate::topic;

/// A message that can be sent any number of times without being copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishTemplate {
    topic: OwnedText,
    qos: QoS,
    retain: bool,
    content: Content,
}

/// Bytes of the longest payload: what a remaining length can hold beside the longest topic and an identifier.
pub const MAXIMUM_PAYLOAD_BYTES: usize = 268_435_455 - 65_535 - 64;

/// A message that no PUBLISH can carry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The topic is not a text that MQTT can carry.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The topic is empty or has a wildcard.
    #[error("topic name must have a character and no wildcard, got {0:?}")]
    Topic(String),
    /// The payload is too long.
    #[error("payload must be at most {MAXIMUM_PAYLOAD_BYTES} B, got {0} B")]
    Payload(usize),
}

impl PublishTemplate {
    /// A message to `topic` that is not retained.
    ///
    /// # Errors
    /// The topic is not a topic name, or the payload is above [`MAXIMUM_PAYLOAD_BYTES`].
    pub fn new(topic: &str, qos: QoS, payload: impl Into<Content>) -> Result<Self, TemplateError> {
        let content = payload.into();
        if topic.is_empty() || topic::has_wildcard(topic) {
            return Err(TemplateError::Topic(topic.into()));
        }
        if content.len() > MAXIMUM_PAYLOAD_BYTES {
            return Err(TemplateError::Payload(content.len()));
        }
        Ok(Self {
            topic: topic.parse()?,
            qos,
            retain: false,
            content,
        })
    }

    /// The same message, retained by the server.
    #[must_use]
    pub fn retained(self) -> Self {
        Self { retain: true, ..self }
    }

    /// Sends what follows to `topic`, in the memory of the one before where that is enough.
    ///
    /// # Errors
    /// It is not a topic name; the template is as before then.
    pub fn set_topic(&mut self, topic: &str) -> Result<(), TemplateError> {
        if topic.is_empty() || topic::has_wildcard(topic) {
            return Err(TemplateError::Topic(topic.into()));
        }
        self.topic.set(Text::new(topic)?);
        Ok(())
    }

    /// Topic name.
    pub fn topic(&self) -> Text<'_> {
        self.topic.as_text()
    }

    /// Quality of service.
    pub const fn qos(&self) -> QoS {
        self.qos
    }

    /// Whether the server retains it.
    pub const fn retain(&self) -> bool {
        self.retain
    }

    /// What the PUBLISH carries.
    pub fn payload(&self) -> &[u8] {
        self.content.bytes()
    }

    /// What the PUBLISH carries, with the layers of its bytes.
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// The same, to be changed in place between two uses; a content of another length is another template.
    pub const fn content_mut(&mut self) -> &mut Content {
        &mut self.content
    }
}

/// What a client can be asked. What cannot be sent yet waits, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Send a message; messages are numbered from 0.
    Publish(Arc<PublishTemplate>),
    /// Send a message under a number of the caller's.
    PublishAs {
        /// The number that events give back.
        message: u64,
        /// The message.
        template: Arc<PublishTemplate>,
        /// What is over the front of its payload, where messages that differ in nothing else share a template; a payload
        /// that is too short for it has none.
        stamp: Option<Stamp>,
    },
    /// Subscribe.
    Subscribe {
        /// To what.
        filters: FiltersBuf,
        /// MQTT 5 properties.
        properties: PropertiesBuf,
    },
    /// Unsubscribe.
    Unsubscribe {
        /// From what.
        topics: TopicsBuf,
        /// MQTT 5 properties.
        properties: PropertiesBuf,
    },
    /// Send a PINGREQ, due or not.
    Ping,
    /// Send DISCONNECT and close; MQTT 3.1.1 leaves out the reason.
    Disconnect(ReasonCode),
}

impl Command {
    /// A subscription to one filter.
    ///
    /// # Errors
    /// The filter is ill-formed.
    pub fn subscribe(filter: &str, options: SubscriptionOptions) -> Result<Self, Malformed> {
        let mut filters = FiltersBuf::default();
        let filter = Text::new(filter).map_err(|_| Malformed::TopicFilter)?;
        filters.push(filter, options)?;
        Ok(Self::Subscribe {
            filters,
            properties: PropertiesBuf::new(),
        })
    }

    /// The end of one subscription.
    ///
    /// # Errors
    /// The filter is ill-formed.
    pub fn unsubscribe(filter: &str) -> Result<Self, Malformed> {
        let mut topics = TopicsBuf::default();
        topics.push(Text::new(filter).map_err(|_| Malformed::TopicFilter)?)?;
        Ok(Self::Unsubscribe {
            topics,
            properties: PropertiesBuf::new(),
        })
    }
}

/// A message that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Topic name.
    pub topic: String,
    /// What the publisher gave.
    pub payload: Vec<u8>,
    /// Quality of service.
    pub qos: QoS,
    /// Whether it may have been sent before.
    pub dup: bool,
    /// Whether the server took it from its store.
    pub retain: bool,
    /// MQTT 5 properties.
    pub properties: PropertiesBuf,
}

/// Bytes of a payload that a [`Digest`] holds.
pub const DIGEST_BYTES: usize = 16;

/// What is left of a message that arrived where only its arrival counts: nothing of it is copied but its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    /// The first bytes of the payload; zero where it is shorter.
    pub head: [u8; DIGEST_BYTES],
    /// Bytes of the payload.
    pub payload_bytes: usize,
    /// Quality of service.
    pub qos: QoS,
    /// Whether it may have been sent before.
    pub dup: bool,
    /// Whether the server took it from its store.
    pub retain: bool,
}

/// What a server says of itself in CONNACK (section 3.2.2.3), with the standard's defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerProperties {
    /// How long the session outlives the connection, in seconds, where the server decided.
    pub session_expiry: Option<u32>,
    /// How many messages of QoS 1 and 2 it takes at once.
    pub receive_maximum: u16,
    /// The highest QoS that it takes.
    pub maximum_qos: QoS,
    /// Whether it retains messages.
    pub retain_available: bool,
    /// The largest packet that it takes, in bytes.
    pub maximum_packet_size: Option<u32>,
    /// The client identifier that it chose.
    pub assigned_client_id: Option<OwnedText>,
    /// The highest topic alias that it takes.
    pub topic_alias_maximum: u16,
    /// Whether it takes filters with wildcards.
    pub wildcard_subscriptions: bool,
    /// Whether it takes subscription identifiers.
    pub subscription_identifiers: bool,
    /// Whether it takes shared subscriptions.
    pub shared_subscriptions: bool,
    /// The keep-alive in seconds that it imposes.
    pub keep_alive: Option<u16>,
    /// What to build response topics from.
    pub response_information: Option<OwnedText>,
    /// A reason for humans.
    pub reason_string: Option<PeerText>,
}

impl Default for ServerProperties {
    fn default() -> Self {
        Self {
            session_expiry: None,
            receive_maximum: u16::MAX,
            maximum_qos: QoS::ExactlyOnce,
            retain_available: true,
            maximum_packet_size: None,
            assigned_client_id: None,
            topic_alias_maximum: 0,
            wildcard_subscriptions: true,
            subscription_identifiers: true,
            shared_subscriptions: true,
            keep_alive: None,
            response_information: None,
            reason_string: None,
        }
    }
}

impl From<Properties<'_>> for ServerProperties {
    fn from(properties: Properties<'_>) -> Self {
        let mut server = Self::default();
        properties.iter().for_each(|property| server.learn(property));
        server
    }
}

impl ServerProperties {
    fn learn(&mut self, property: Property<'_>) {
        match property {
            Property::SessionExpiryInterval(seconds) => self.session_expiry = Some(seconds),
            Property::ReceiveMaximum(maximum) => self.receive_maximum = maximum,
            Property::MaximumQos(bits) => self.maximum_qos = QoS::from_bits(bits).unwrap_or(self.maximum_qos),
            Property::RetainAvailable(flag) => self.retain_available = flag != 0,
            Property::MaximumPacketSize(bytes) => self.maximum_packet_size = Some(bytes),
            Property::AssignedClientIdentifier(id) => self.assigned_client_id = Some(id.into()),
            Property::TopicAliasMaximum(maximum) => self.topic_alias_maximum = maximum,
            Property::WildcardSubscriptionAvailable(flag) => self.wildcard_subscriptions = flag != 0,
            Property::SubscriptionIdentifiersAvailable(flag) => self.subscription_identifiers = flag != 0,
            Property::SharedSubscriptionAvailable(flag) => self.shared_subscriptions = flag != 0,
            Property::ServerKeepAlive(seconds) => self.keep_alive = Some(seconds),
            Property::ResponseInformation(text) => self.response_information = Some(text.into()),
            Property::ReasonString(text) => self.reason_string = Some(text.as_str().into()),
            _ => {}
        }
    }
}

/// What a client reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The server accepted the connection.
    Connected {
        /// Whether the server has kept the session.
        session_present: bool,
        /// What the server said of itself.
        server: Box<ServerProperties>,
    },
    /// The server refused the connection.
    Refused {
        /// Why.
        reason: ReasonCode,
    },
    /// The last byte of a message has been handed out. At QoS 0 nothing else follows.
    Sent {
        /// Its number.
        message: u64,
    },
    /// The server took responsibility for a message (PUBACK or PUBCOMP) or refused it (a failure in PUBACK or
    /// PUBREC).
    Acknowledged {
        /// Its number.
        message: u64,
        /// Success, or why it was refused.
        reason: ReasonCode,
    },
    /// A message breaks a limit that the server announced; it was not sent.
    Rejected {
        /// Its number.
        message: u64,
        /// The limit.
        reason: ReasonCode,
    },
    /// The server lost the session, and with it a message that it had not acknowledged.
    Discarded {
        /// Its number.
        message: u64,
    },
    /// A message arrived.
    MessageReceived(Box<Message>),
    /// A message arrived at a client that is to report digests.
    DigestReceived(Digest),
    /// The server answered SUBSCRIBE.
    Subscribed {
        /// One per filter.
        codes: Vec<ReasonCode>,
    },
    /// The server answered UNSUBSCRIBE.
    Unsubscribed {
        /// One per filter; none in MQTT 3.1.1.
        codes: Vec<ReasonCode>,
    },
    /// The server answered a PINGREQ.
    Pong,
    /// The server sent DISCONNECT.
    Disconnected {
        /// Why.
        reason: ReasonCode,
    },
    /// The server sent what it must not; the client closed the connection.
    Failed(DecodeError),
    /// The server did not answer in time; the client closed the connection.
    TimedOut(Awaited),
    /// The server closed the connection, first or in answer.
    Closed,
    /// The connection broke.
    Reset(ResetReason),
}

/// An answer that did not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// CONNACK.
    Connack,
    /// PINGRESP.
    Pingresp,
}

/// The subscription identifier `number` as a property of SUBSCRIBE.
pub const fn subscription_identifier(number: u32) -> Property<'static> {
    Property::SubscriptionIdentifier(Variable(number))
}
