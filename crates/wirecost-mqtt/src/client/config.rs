//! The configuration of a client.

use alloc::boxed::Box;
use core::time::Duration;

use crate::codec::text::{OwnedBinary, OwnedText};
use crate::codec::{OwnedWill, PropertiesBuf, Text, Version};

/// The default of [`Config::largest_packet`], in bytes: a quarter of the protocol's limit, and more than devices
/// receive.
const LARGEST_ACCEPTED: u32 = 64 * 1024 * 1024;

/// The default client identifier: 8 characters.
const CLIENT_ID: &str = "wc-00001";

/// The configuration of a client. `Default`: MQTT 3.1.1, client identifier `wc-00001`, keep-alive 60 s, clean start.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The protocol version.
    pub version: Version,
    /// The client identifier. If empty, the server assigns one.
    pub client_id: OwnedText,
    /// Whether to start a new session (clean session in 3.1.1).
    pub clean_start: bool,
    /// The keep-alive in seconds; 0 turns it off.
    pub keep_alive: u16,
    /// MQTT 5: how long the session outlives the connection, in seconds.
    pub session_expiry: u32,
    /// User name.
    pub username: Option<OwnedText>,
    /// Password.
    pub password: Option<OwnedBinary>,
    /// Will message.
    pub will: Option<OwnedWill>,
    /// MQTT 5: the number of QoS 1 and 2 messages in flight that the client accepts.
    pub receive_maximum: u16,
    /// MQTT 5: the largest packet that the client accepts, in bytes; `None` means the protocol's limit.
    pub maximum_packet_size: Option<u32>,
    /// The largest packet accepted from a server, in bytes, whether or not it is announced. Before CONNACK, the limit
    /// is `FIRST_PACKET_BYTES`.
    pub largest_packet: u32,
    /// MQTT 5: the highest topic alias that the client accepts.
    pub topic_alias_maximum: u16,
    /// MQTT 5: whether to assign topic aliases, as many as the server accepts.
    pub use_topic_aliases: bool,
    /// MQTT 5: further CONNECT properties, such as user properties.
    pub properties: PropertiesBuf,
    /// Whether to report received messages as [`Digest`](super::Digest)s, without a copy.
    pub reports_digests: bool,
    /// Whether a received message of QoS 1 or 2 is acknowledged when [`Command::Acknowledge`](super::Command::Acknowledge) says so,
    /// instead of on arrival. A server of MQTT 5 keeps what is without acknowledgement below `receive_maximum`, of a few servers
    /// roughly: the user bounds its memory by [`Command::Decline`](super::Command::Decline). A client that reports digests ignores this.
    pub acknowledges_on_command: bool,
    /// Whether to describe received bytes with [`Output::Consumed`](wirecost_proto::Output::Consumed).
    pub describes_received: bool,
    /// Whether the first packet goes behind CONNECT, before CONNACK ([`Event::MaySend`](super::Event::MaySend)).
    pub pipelines: bool,
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
            largest_packet: LARGEST_ACCEPTED,
            topic_alias_maximum: 0,
            use_topic_aliases: false,
            properties: PropertiesBuf::new(),
            reports_digests: false,
            acknowledges_on_command: false,
            describes_received: true,
            pipelines: false,
            connect_timeout: Duration::from_secs(30),
            ping_timeout: Duration::from_secs(30),
        }
    }
}

/// The configuration in a client. Rarely used fields are separate, so that many clients need little memory.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) client_id: OwnedText,
    pub(super) clean_start: bool,
    pub(super) use_topic_aliases: bool,
    pub(super) reports_digests: bool,
    pub(super) describes_received: bool,
    pub(super) pipelines: bool,
    pub(super) keep_alive: u16,
    pub(super) receive_maximum: u16,
    pub(super) topic_alias_maximum: u16,
    pub(super) session_expiry: u32,
    pub(super) maximum_packet_size: Option<u32>,
    pub(super) largest_packet: u32,
    pub(super) connect_timeout: Duration,
    pub(super) ping_timeout: Duration,
    pub(super) extra: Option<Box<Extra>>,
}

/// The fields that few clients use.
#[derive(Debug)]
pub(super) struct Extra {
    pub(super) username: Option<OwnedText>,
    pub(super) password: Option<OwnedBinary>,
    pub(super) will: Option<OwnedWill>,
    pub(super) properties: PropertiesBuf,
}

impl Settings {
    /// The largest accepted packet, in bytes.
    pub(super) fn largest_packet(&self) -> u32 {
        let announced = self.maximum_packet_size.unwrap_or(self.largest_packet);
        announced.min(self.largest_packet)
    }
}

impl From<Config> for Settings {
    fn from(config: Config) -> Self {
        let extra = Extra {
            username: config.username,
            password: config.password,
            will: config.will,
            properties: config.properties,
        };
        let has_extra = extra.username.is_some()
            || extra.password.is_some()
            || extra.will.is_some()
            || extra.properties != PropertiesBuf::new();
        Self {
            client_id: config.client_id,
            clean_start: config.clean_start,
            use_topic_aliases: config.use_topic_aliases,
            reports_digests: config.reports_digests,
            describes_received: config.describes_received,
            pipelines: config.pipelines,
            keep_alive: config.keep_alive,
            receive_maximum: config.receive_maximum,
            topic_alias_maximum: config.topic_alias_maximum,
            session_expiry: config.session_expiry,
            maximum_packet_size: config.maximum_packet_size,
            largest_packet: config.largest_packet,
            connect_timeout: config.connect_timeout,
            ping_timeout: config.ping_timeout,
            extra: has_extra.then(|| Box::new(extra)),
        }
    }
}
