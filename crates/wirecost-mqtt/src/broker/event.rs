//! What a broker can be asked, and what it reports.

use alloc::sync::Arc;

use wirecost_proto::{FlowId, Front};

use crate::client::PublishTemplate;
use crate::codec::{ReasonCode, Version};
use crate::quality::QoS;

/// What a broker can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Publish a message of the broker's own.
    Publish(Arc<PublishTemplate>),
    /// End a client's connection; unknown clients are ignored.
    DisconnectClient {
        /// Which.
        client_id: Arc<str>,
        /// Why, for MQTT 5 clients.
        reason: ReasonCode,
    },
    /// End every connection.
    Shutdown,
}

/// What a broker reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A client's CONNECT was accepted.
    ClientConnected {
        /// Its flow.
        flow: FlowId,
        /// Its identifier, given or assigned.
        client_id: Arc<str>,
        /// The version it speaks.
        version: Version,
        /// Whether it resumed a session.
        session_present: bool,
    },
    /// A client's CONNECT was refused.
    ClientRefused {
        /// Its flow.
        flow: FlowId,
        /// Why.
        reason: ReasonCode,
    },
    /// An accepted client's connection ended.
    ClientDisconnected {
        /// Its flow.
        flow: FlowId,
        /// Its identifier.
        client_id: Arc<str>,
        /// Success where the client said DISCONNECT, otherwise why.
        reason: ReasonCode,
    },
    /// A message arrived, for the first time under its packet identifier.
    Published {
        /// From which flow.
        flow: FlowId,
        /// Characters of the topic, in bytes.
        topic_bytes: usize,
        /// What the publisher gave, in bytes.
        payload_bytes: usize,
        /// The front of that.
        front: Front,
        /// Quality of service.
        qos: QoS,
        /// Whether it may have been sent before.
        dup: bool,
        /// Sessions that it goes to.
        receivers: usize,
    },
    /// Messages for a client are dropped: it takes less than comes for it. Said once, until it has taken what waits.
    Dropping {
        /// Its identifier.
        client_id: Arc<str>,
        /// What is full.
        limit: Limit,
    },
    /// A client subscribed to a filter.
    Subscribed {
        /// On which flow.
        flow: FlowId,
        /// The granted QoS or the failure.
        reason: ReasonCode,
    },
}

/// A limit of what waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// That of each session: [`maximum_queued`](super::Config::maximum_queued) and
    /// [`maximum_queued_bytes`](super::Config::maximum_queued_bytes).
    Session,
    /// That of all clients together: [`maximum_held_bytes`](super::Config::maximum_held_bytes).
    Broker,
}

/// What a broker dropped or ignored, and what it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Messages that arrived.
    pub published: u64,
    /// Messages of QoS 2 that arrived again under the same identifier.
    pub duplicates: u64,
    /// Messages handed to subscribers.
    pub delivered: u64,
    /// PUBLISH and PUBREL sent again on a later connection.
    pub resent: u64,
    /// Messages for sessions whose queue was full.
    pub dropped_queue_full: u64,
    /// Messages for sessions that had to wait while what all clients hold together left no room.
    pub dropped_memory_full: u64,
    /// Messages of QoS 0 for sessions without a connection.
    pub dropped_offline: u64,
    /// Messages whose expiry interval passed while they waited.
    pub dropped_expired: u64,
    /// Messages above a client's maximum packet size.
    pub dropped_too_large: u64,
    /// Messages to topics with too many levels or of the broker's own, retained ones beyond the limits, and connections whose
    /// packet found no memory.
    pub dropped_by_limit: u64,
    /// Malformed packets and protocol errors, each of which ended a connection.
    pub faults: u64,
    /// Answers to nothing that was sent.
    pub unexpected_answers: u64,
    /// Bytes that arrived on closed flows, or behind the DISCONNECT of a client.
    pub ignored_bytes: u64,
}
