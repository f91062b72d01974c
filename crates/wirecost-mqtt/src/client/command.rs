//! Commands to a client, and the events that it reports.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use wirecost_proto::{Content, ResetReason, Stamp};

use super::server_reason::ServerReason;
use crate::codec::text::OwnedText;
use crate::codec::{
    DecodeError, FieldError, FiltersBuf, Malformed, Properties, PropertiesBuf, Property, ReasonCode,
    SubscriptionOptions, Text, TopicsBuf,
};
use crate::quality::QoS;
use crate::topic;

/// A message that can be sent many times without being copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishTemplate {
    topic: OwnedText,
    qos: QoS,
    retain: bool,
    properties: PropertiesBuf,
    content: Content,
}

/// The length of the longest payload in bytes: the largest remaining length without the longest topic and an
/// identifier.
pub const MAXIMUM_PAYLOAD_BYTES: usize = 268_435_455 - 65_535 - 64;

/// A message that does not fit into a PUBLISH.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The topic is not a valid UTF-8 encoded string.
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
        check_topic(topic)?;
        if content.len() > MAXIMUM_PAYLOAD_BYTES {
            return Err(TemplateError::Payload(content.len()));
        }
        Ok(Self {
            topic: topic.parse()?,
            qos,
            retain: false,
            properties: PropertiesBuf::new(),
            content,
        })
    }

    /// This message with the retain flag.
    #[must_use]
    pub fn retained(self) -> Self {
        Self { retain: true, ..self }
    }

    /// This message with the Content Type property, which only MQTT 5 sends.
    ///
    /// # Errors
    /// It is not a valid UTF-8 encoded string.
    pub fn with_content_type(mut self, content_type: &str) -> Result<Self, TemplateError> {
        self.properties.clear();
        self.properties
            .push(Property::ContentType(Text::new(content_type)?));
        Ok(self)
    }

    /// This message with one more User Property, which only MQTT 5 sends (section 3.3.2.3.7).
    ///
    /// # Errors
    /// Name or value is not a valid UTF-8 encoded string.
    pub fn with_user_property(mut self, name: &str, value: &str) -> Result<Self, TemplateError> {
        self.properties
            .push(Property::UserProperty(Text::new(name)?, Text::new(value)?));
        Ok(self)
    }

    /// The properties, of which MQTT 3.1.1 and MQTT-SN send none.
    pub fn properties(&self) -> Properties<'_> {
        self.properties.as_properties()
    }

    /// Changes the topic. It reuses the memory of the old topic if possible.
    ///
    /// # Errors
    /// It is not a topic name. The template then keeps its topic.
    pub fn set_topic(&mut self, topic: &str) -> Result<(), TemplateError> {
        check_topic(topic)?;
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

    /// The payload.
    pub fn payload(&self) -> &[u8] {
        self.content.bytes()
    }

    /// The payload, with the layer of each byte.
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Like `content`, for changes in place between two uses. Keep the length.
    pub const fn content_mut(&mut self) -> &mut Content {
        &mut self.content
    }
}

fn check_topic(topic: &str) -> Result<(), TemplateError> {
    if topic.is_empty() || topic::has_wildcard(topic) {
        return Err(TemplateError::Topic(topic.into()));
    }
    Ok(())
}

/// A command to the client. A command that cannot be sent yet waits in a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Send a message. Messages are numbered from 0.
    Publish(Arc<PublishTemplate>),
    /// Send a message with a number of the caller.
    PublishAs {
        /// The number that events give back.
        message: u64,
        /// The message.
        template: Arc<PublishTemplate>,
        /// Overwrites the first bytes of the payload, so that messages that differ only there can share a template. A
        /// payload that is shorter than the stamp stays unchanged.
        stamp: Option<Stamp>,
    },
    /// Subscribe.
    Subscribe {
        /// The topic filters.
        filters: FiltersBuf,
        /// MQTT 5 properties.
        properties: PropertiesBuf,
    },
    /// Unsubscribe.
    Unsubscribe {
        /// The topic filters.
        topics: TopicsBuf,
        /// MQTT 5 properties.
        properties: PropertiesBuf,
    },
    /// Send a PINGREQ now.
    Ping,
    /// Acknowledge a delivery. Its answer leaves after those to deliveries that arrived before it.
    Acknowledge {
        /// [`Message::delivery`].
        delivery: u64,
    },
    /// Leave a delivery without an answer. It is reported again when the server delivers it again, on a later connection.
    Decline {
        /// [`Message::delivery`].
        delivery: u64,
    },
    /// Send DISCONNECT and close. MQTT 3.1.1 has no reason code.
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

    /// The removal of one subscription.
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

/// A received message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Topic name.
    pub topic: String,
    /// The payload.
    pub payload: Vec<u8>,
    /// Quality of service.
    pub qos: QoS,
    /// The number for [`Command::Acknowledge`]; `None` if it needs none. It is valid while the session lasts, also after the end of
    /// the connection.
    pub delivery: Option<u64>,
    /// Whether it may be a retransmission.
    pub dup: bool,
    /// Whether another client of the session may have had it: it may be a retransmission, and not of a message that this client has
    /// declined.
    pub may_be_known: bool,
    /// Whether it is a retained message.
    pub retain: bool,
    /// MQTT 5 properties.
    pub properties: PropertiesBuf,
}

/// The number of payload bytes in a [`Digest`].
pub const DIGEST_BYTES: usize = 16;

/// The beginning and the properties of a received message, for clients that only count messages. Nothing is allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    /// The first bytes of the payload, padded with zeros.
    pub head: [u8; DIGEST_BYTES],
    /// The length of the payload in bytes.
    pub payload_bytes: usize,
    /// Quality of service.
    pub qos: QoS,
    /// Whether it may be a retransmission.
    pub dup: bool,
    /// Whether it is a retained message.
    pub retain: bool,
}

/// The server's properties in CONNACK (section 3.2.2.3), with the standard's defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerProperties {
    /// How long the session outlives the connection, in seconds, if the server decided it.
    pub session_expiry: Option<u32>,
    /// The number of QoS 1 and 2 messages in flight that the server accepts.
    pub receive_maximum: u16,
    /// The highest QoS that the server accepts.
    pub maximum_qos: QoS,
    /// Whether the server retains messages.
    pub retain_available: bool,
    /// The largest packet that the server accepts, in bytes.
    pub maximum_packet_size: Option<u32>,
    /// The client identifier that the server assigned.
    pub assigned_client_id: Option<OwnedText>,
    /// The highest topic alias that the server accepts.
    pub topic_alias_maximum: u16,
    /// Whether the server accepts filters with wildcards.
    pub wildcard_subscriptions: bool,
    /// Whether the server accepts subscription identifiers.
    pub subscription_identifiers: bool,
    /// Whether the server accepts shared subscriptions.
    pub shared_subscriptions: bool,
    /// The keep-alive in seconds that the client must use.
    pub keep_alive: Option<u16>,
    /// The base of response topics.
    pub response_information: Option<OwnedText>,
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
            _ => {}
        }
    }
}

/// An event of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// CONNECT has been handed out, and the first packet may follow it at once ([`Config::pipelines`](super::Config::pipelines)). Further
    /// ones wait for CONNACK.
    MaySend,
    /// The server accepted the connection.
    Connected {
        /// Whether the server resumed the session.
        session_present: bool,
        /// The server's properties.
        server: Box<ServerProperties>,
    },
    /// The server refused the connection.
    Rejected {
        /// The reason.
        reason: Box<ServerReason>,
    },
    /// The server refused the connection, and so has not processed the message that went behind CONNECT [MQTT-3.1.4-6].
    Unprocessed {
        /// Its number.
        message: u64,
        /// Why the server refused the connection.
        reason: Box<ServerReason>,
    },
    /// The last byte of a message has been handed out. At QoS 0 nothing else follows.
    Sent {
        /// Its number.
        message: u64,
    },
    /// The server accepted a message (PUBACK or PUBCOMP), or refused it (a failure in PUBACK or PUBREC).
    Acknowledged {
        /// Its number.
        message: u64,
        /// Success, or the reason of the refusal.
        reason: ReasonCode,
    },
    /// A message breaks a limit of the server. It was not sent.
    Refused {
        /// Its number.
        message: u64,
        /// The limit.
        reason: ReasonCode,
    },
    /// The server lost the session, and with it an unacknowledged message.
    Discarded {
        /// Its number.
        message: u64,
    },
    /// A message arrived.
    MessageReceived(Box<Message>),
    /// A message arrived at a client that reports digests.
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
        /// The reason.
        reason: Box<ServerReason>,
    },
    /// The server sent an invalid packet, or a packet of the client would be longer than MQTT can frame. The client closed
    /// the connection.
    Failed(DecodeError),
    /// The server did not answer in time. The client closed the connection.
    TimedOut(Awaited),
    /// The server closed the connection, on its own or in answer to our close.
    Closed,
    /// The connection broke.
    Reset(ResetReason),
}

/// An answer that the client waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// CONNACK.
    Connack,
    /// PINGRESP.
    Pingresp,
}
