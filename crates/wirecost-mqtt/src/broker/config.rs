//! What a broker allows.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use crate::codec::PropertiesBuf;
use crate::codec::framing::FIRST_PACKET_BYTES;
use crate::codec::properties::Property;
use crate::codec::text::OwnedText;
use crate::quality::QoS;

/// How a broker serves. `Default` announces nothing in CONNACK: everything is as the standard's defaults say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Passwords by user name; `None` lets everybody in.
    pub users: Option<BTreeMap<String, Vec<u8>>>,
    /// The largest packet taken, in bytes; `None` is no limit but the protocol's.
    pub maximum_packet_size: Option<u32>,
    /// The largest packet taken before a client is connected, in bytes: who it is, is not known until then.
    pub maximum_connect_size: u32,
    /// How many messages of QoS 2 an MQTT 5 client may have unreleased.
    pub receive_maximum: u16,
    /// How many messages of QoS 1 and 2 are on their way to a client at once, whatever it takes.
    pub maximum_inflight: u16,
    /// The highest topic alias taken from a client.
    pub topic_alias_maximum: u16,
    /// How many topic aliases are given for a client that takes them.
    pub sent_topic_aliases: u16,
    /// The highest QoS taken and granted.
    pub maximum_qos: QoS,
    /// Whether messages are retained.
    pub retain_available: bool,
    /// Whether filters may have wildcards.
    pub wildcard_subscriptions: bool,
    /// Whether subscriptions may have identifiers.
    pub subscription_identifiers: bool,
    /// Whether subscriptions may be shared.
    pub shared_subscriptions: bool,
    /// The keep-alive in seconds imposed on MQTT 5 clients.
    pub server_keep_alive: Option<u16>,
    /// The longest session expiry interval granted, in seconds.
    pub maximum_session_expiry: u32,
    /// Sessions at once, connected or not.
    pub maximum_sessions: usize,
    /// Subscriptions of a session.
    pub maximum_subscriptions: usize,
    /// Messages waiting for a session; more are dropped and counted.
    pub maximum_queued: usize,
    /// Bytes of topics, properties and payloads waiting for a session; what does not fit beside others is dropped and counted.
    pub maximum_queued_bytes: usize,
    /// Bytes held for all clients together, every message once. Messages may take three quarters of them: who must wait may have as
    /// many bytes waiting as are free of those, and half as many of QoS 0; retained messages may take half of all. What does not fit
    /// is dropped or refused, and counted.
    pub maximum_held_bytes: usize,
    /// Topics with a retained message; more are not stored and counted.
    pub maximum_retained: usize,
    /// Levels of a topic name or filter.
    pub maximum_topic_levels: usize,
    /// Given to clients that ask for response information.
    pub response_information: Option<OwnedText>,
    /// Whether the broker tells MQTT 5 publishers that no client subscribes (reason code 0x10 costs a byte).
    pub report_no_subscribers: bool,
    /// How long a flow may stay without CONNECT.
    pub connect_timeout: Duration,
    /// How long a client that said DISCONNECT may take to close before the broker does.
    pub close_patience: Duration,
}

/// As much as may wait unsent for a client that is connected and does not read.
const MAXIMUM_QUEUED_BYTES: usize = 32 * 1024 * 1024;

/// What a broker holds for all clients unless told otherwise, in bytes: as much as a few of them may have waiting at their limits,
/// and little beside a machine's memory.
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
            close_patience: Duration::from_secs(1),
        }
    }
}

impl Config {
    /// The CONNACK properties that differ from the standard's defaults (section 3.2.2.3).
    pub(super) fn announced(&self) -> PropertiesBuf {
        let mut properties = PropertiesBuf::new();
        if self.receive_maximum != u16::MAX {
            properties.push(Property::ReceiveMaximum(self.receive_maximum));
        }
        // [MQTT-3.2.2-9]: 0 or 1; left out it is 2.
        if self.maximum_qos != QoS::ExactlyOnce {
            properties.push(Property::MaximumQos(self.maximum_qos.bits()));
        }
        if let Some(bytes) = self.maximum_packet_size {
            properties.push(Property::MaximumPacketSize(bytes));
        }
        if self.topic_alias_maximum != 0 {
            properties.push(Property::TopicAliasMaximum(self.topic_alias_maximum));
        }
        if let Some(seconds) = self.server_keep_alive {
            properties.push(Property::ServerKeepAlive(seconds));
        }
        let unavailable = [
            (self.retain_available, Property::RetainAvailable(0)),
            (
                self.wildcard_subscriptions,
                Property::WildcardSubscriptionAvailable(0),
            ),
            (
                self.subscription_identifiers,
                Property::SubscriptionIdentifiersAvailable(0),
            ),
            (
                self.shared_subscriptions,
                Property::SharedSubscriptionAvailable(0),
            ),
        ];
        properties.extend(
            unavailable
                .into_iter()
                .filter(|(available, _)| !available)
                .map(|(_, property)| property),
        );
        properties
    }
}
