//! What a client is asked to be.

use core::time::Duration;

use crate::codec::text::{OwnedBinary, OwnedText};
use crate::codec::{PropertiesBuf, Text, Version};
use crate::quality::QoS;

/// The client identifier of a device that is not given another one: 8 characters.
const CLIENT_ID: &str = "wc-00001";

/// How a client connects. `Default`: MQTT 3.1.1, client identifier `wc-00001`, keep-alive 60 s, clean start.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The protocol version.
    pub version: Version,
    /// Client identifier; empty asks the server for one.
    pub client_id: OwnedText,
    /// Whether to start with a new session (clean session in 3.1.1).
    pub clean_start: bool,
    /// Keep-alive in seconds; 0 turns it off.
    pub keep_alive: u16,
    /// MQTT 5: how long the session outlives the connection, in seconds.
    pub session_expiry: u32,
    /// User name.
    pub username: Option<OwnedText>,
    /// Password.
    pub password: Option<OwnedBinary>,
    /// Will message.
    pub will: Option<Will>,
    /// MQTT 5: how many messages of QoS 1 and 2 the client takes at once.
    pub receive_maximum: u16,
    /// MQTT 5: the largest packet that the client takes, in bytes; `None` is no limit but the protocol's.
    pub maximum_packet_size: Option<u32>,
    /// MQTT 5: the highest topic alias that the client takes.
    pub topic_alias_maximum: u16,
    /// MQTT 5: whether to send topic aliases, as many as the server takes.
    pub use_topic_aliases: bool,
    /// MQTT 5: further CONNECT properties, such as user properties.
    pub properties: PropertiesBuf,
    /// How long to wait for CONNACK.
    pub connect_timeout: Duration,
    /// How long to wait for PINGRESP.
    pub ping_timeout: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            version: Version::V3_1_1,
            client_id: Text::new(CLIENT_ID).unwrap_or_default().into(),
            clean_start: true,
            keep_alive: 60,
            session_expiry: 0,
            username: None,
            password: None,
            will: None,
            receive_maximum: u16::MAX,
            maximum_packet_size: None,
            topic_alias_maximum: 0,
            use_topic_aliases: false,
            properties: PropertiesBuf::new(),
            connect_timeout: Duration::from_secs(30),
            ping_timeout: Duration::from_secs(30),
        }
    }
}

/// The message that the server publishes when the client is gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Will {
    /// Topic name.
    pub topic: OwnedText,
    /// Payload.
    pub payload: OwnedBinary,
    /// Quality of service.
    pub qos: QoS,
    /// Whether it is retained.
    pub retain: bool,
    /// MQTT 5 will properties.
    pub properties: PropertiesBuf,
}
