//! The configuration of a broker.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use crate::codec::PropertiesBuf;
use crate::codec::framing::FIRST_PACKET_BYTES;
use crate::codec::properties::Property;
use crate::codec::text::OwnedText;
use crate::quality::QoS;

/// The configuration of a broker. With `Default`, CONNACK has no properties: every limit is the standard's default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Passwords by user name; `None` accepts every client.
    pub users: Option<BTreeMap<String, Vec<u8>>>,
    /// The largest accepted packet, in bytes; `None` means the protocol's limit.
    pub maximum_packet_size: Option<u32>,
    /// The largest packet accepted before a client is connected, in bytes.
    pub maximum_connect_size: u32,
    /// The number of unreleased QoS 2 messages of an MQTT 5 client.
    pub receive_maximum: u16,
    /// The largest number of QoS 1 and 2 messages in flight to a client, even if the client accepts more.
    pub maximum_inflight: u16,
    /// The highest topic alias accepted from a client.
    pub topic_alias_maximum: u16,
    /// The number of topic aliases assigned for a client that accepts them.
    pub sent_topic_aliases: u16,
    /// The highest QoS accepted and granted.
    pub maximum_qos: QoS,
    /// Whether the broker retains messages.
    pub retain_available: bool,
    /// Whether filters may have wildcards.
    pub wildcard_subscriptions: bool,
    /// Whether subscriptions may have identifiers.
    pub subscription_identifiers: bool,
    /// Whether shared subscriptions are allowed.
    pub shared_subscriptions: bool,
    /// The keep-alive in seconds that MQTT 5 clients must use.
    pub server_keep_alive: Option<u16>,
    /// The longest session expiry interval, in seconds.
    pub maximum_session_expiry: u32,
    /// The number of sessions, connected or not.
    pub maximum_sessions: usize,
    /// The number of subscriptions of a session.
    pub maximum_subscriptions: usize,
    /// The number of messages queued for a session. Further messages are dropped and counted.
    pub maximum_queued: usize,
    /// The bytes of topics, properties and payloads queued for a session. Further messages are dropped and counted; a
    /// single message always fits.
    pub maximum_queued_bytes: usize,
    /// The bytes held for all clients together; each message counts once. Messages may use three quarters. A session
    /// that must wait may have as many bytes queued as are free of these three quarters, and half of that for QoS 0.
    /// Retained messages may use half of all bytes. Messages above a limit are dropped or refused, and counted.
    pub maximum_held_bytes: usize,
    /// The number of topics with a retained message. Further ones are not stored, and counted.
    pub maximum_retained: usize,
    /// The number of levels of a topic name or filter.
    pub maximum_topic_levels: usize,
    /// The response information for clients that request it.
    pub response_information: Option<OwnedText>,
    /// Whether the broker tells MQTT 5 publishers that a message has no subscribers (reason code 0x10 costs a byte).
    pub report_no_subscribers: bool,
    /// How long a flow may stay open without CONNECT.
    pub connect_timeout: Duration,
    /// How long a client may take to close the flow after its DISCONNECT, before the broker closes it.
    pub close_timeout: Duration,
}

/// The limit of the unsent data for a connected client that does not read, too.
const MAXIMUM_QUEUED_BYTES: usize = 32 * 1024 * 1024;

/// The default of [`Config::maximum_held_bytes`]: enough for a few sessions at their limits, and little compared to a
/// machine's memory.
pub const MAXIMUM_HELD_BYTES: usize = 256 * 1024 * 1024;

impl Default for Config {
    fn default() -> Self {
        Self {
            users: None,
            maximum_packet_size: None,
            maximum_connect_size: FIRST_PACKET_BYTES,
            receive_maximum: u16::MAX,
            maximum_inflight: u16::MAX,
            topic_alias_maximum: 0,
            sent_topic_aliases: 0,
            maximum_qos: QoS::ExactlyOnce,
            retain_available: true,
            wildcard_subscriptions: true,
            subscription_identifiers: true,
            shared_subscriptions: true,
            server_keep_alive: None,
            maximum_session_expiry: u32::MAX,
            maximum_sessions: 1_000_000,
            maximum_subscriptions: 10_000,
            maximum_queued: 10_000,
            maximum_queued_bytes: MAXIMUM_QUEUED_BYTES,
            maximum_held_bytes: MAXIMUM_HELD_BYTES,
            maximum_retained: 100_000,
            maximum_topic_levels: 128,
            response_information: None,
            report_no_subscribers: true,
            connect_timeout: Duration::from_secs(30),
            close_timeout: Duration::from_secs(1),
        }
    }
}

impl Config {
    /// The CONNACK properties that differ from the standard's defaults (section 3.2.2.3).
    pub(super) fn announced(&self) -> PropertiesBuf {
        let mut properties = PropertiesBuf::new();
        let receive_maximum = self.receive_maximum;
        properties.push_if(
            receive_maximum != u16::MAX,
            Property::ReceiveMaximum(receive_maximum),
        );
        // [MQTT-3.2.2-9]: 0 or 1; without the property it is 2.
        let maximum_qos = Property::MaximumQos(self.maximum_qos.bits());
        properties.push_if(self.maximum_qos != QoS::ExactlyOnce, maximum_qos);
        properties.extend(self.maximum_packet_size.map(Property::MaximumPacketSize));
        let aliases = self.topic_alias_maximum;
        properties.push_if(aliases != 0, Property::TopicAliasMaximum(aliases));
        properties.extend(self.server_keep_alive.map(Property::ServerKeepAlive));
        properties.push_if(!self.retain_available, Property::RetainAvailable(0));
        let wildcards = Property::WildcardSubscriptionAvailable(0);
        properties.push_if(!self.wildcard_subscriptions, wildcards);
        let identifiers = Property::SubscriptionIdentifiersAvailable(0);
        properties.push_if(!self.subscription_identifiers, identifiers);
        let shared = Property::SharedSubscriptionAvailable(0);
        properties.push_if(!self.shared_subscriptions, shared);
        properties
    }
}
