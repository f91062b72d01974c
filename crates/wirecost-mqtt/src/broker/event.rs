//! Commands to a broker, and the events that it reports.

use alloc::sync::Arc;

use wirecost_proto::{FlowId, Front};

use crate::client::PublishTemplate;
use crate::codec::{ReasonCode, Version};
use crate::quality::QoS;

/// A command to a broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Publish a message of the broker itself.
    Publish(Arc<PublishTemplate>),
    /// End a client's connection. Unknown clients are ignored.
    DisconnectClient {
        /// The client identifier.
        client_id: Arc<str>,
        /// The reason for MQTT 5 clients.
        reason: ReasonCode,
    },
    /// End every connection.
    Shutdown,
}

/// An event of a broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The broker accepted a client's CONNECT.
    ClientConnected {
        /// Its flow.
        flow: FlowId,
        /// The client identifier, from the client or assigned.
        client_id: Arc<str>,
        /// The protocol version of the client.
        version: Version,
        /// Whether the client resumed a session.
        session_present: bool,
    },
    /// The broker refused a client's CONNECT.
    ClientRefused {
        /// Its flow.
        flow: FlowId,
        /// The reason.
        reason: ReasonCode,
    },
    /// The connection of an accepted client ended.
    ClientDisconnected {
        /// Its flow.
        flow: FlowId,
        /// The client identifier.
        client_id: Arc<str>,
        /// Success if the client sent DISCONNECT, otherwise the reason.
        reason: ReasonCode,
    },
    /// A message arrived, for the first time with its packet identifier.
    Published {
        /// The flow that it arrived on.
        flow: FlowId,
        /// The length of the payload in bytes.
        payload_bytes: usize,
        /// The first bytes of the payload.
        front: Front,
        /// Quality of service.
        qos: QoS,
        /// Whether it may be a retransmission.
        dup: bool,
        /// The number of sessions that receive it.
        receivers: usize,
    },
    /// Messages for a client are dropped, because a limit is reached. Reported once, until the client's queue is empty.
    Dropping {
        /// The client identifier.
        client_id: Arc<str>,
        /// The limit.
        limit: Limit,
    },
    /// The broker answered a subscription of a client.
    Subscribed {
        /// The flow.
        flow: FlowId,
        /// The granted QoS or the failure.
        reason: ReasonCode,
    },
}

/// A limit of queued messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The limit per session: [`maximum_queued`](super::Config::maximum_queued) or
    /// [`maximum_queued_bytes`](super::Config::maximum_queued_bytes).
    Session,
    /// The limit of all clients together: [`maximum_held_bytes`](super::Config::maximum_held_bytes).
    Broker,
}

/// Counters of a broker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Messages that arrived.
    pub published: u64,
    /// QoS 2 messages that arrived again with the same identifier.
    pub duplicates: u64,
    /// Messages handed to subscribers.
    pub delivered: u64,
    /// PUBLISH and PUBREL packets sent again on a later connection.
    pub resent: u64,
    /// Messages dropped because the queue of a session was full.
    pub dropped_queue_full: u64,
    /// Messages dropped because their session had to wait and too few bytes were free.
    pub dropped_memory_full: u64,
    /// QoS 0 messages for sessions without a connection.
    pub dropped_offline: u64,
    /// Messages whose expiry interval ended in a queue.
    pub dropped_expired: u64,
    /// Messages larger than a client's maximum packet size.
    pub dropped_too_large: u64,
    /// Messages to topics that have too many levels or are reserved, retained messages above the limits, and
    /// connections whose incomplete packet exceeded the memory.
    pub dropped_by_limit: u64,
    /// Malformed packets and protocol errors. Each ended a connection.
    pub faults: u64,
    /// Acknowledgements that match no exchange.
    pub unexpected_answers: u64,
    /// Bytes that arrived on closed flows, or after the client's DISCONNECT.
    pub ignored_bytes: u64,
}
