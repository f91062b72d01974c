//! Events and counters of a container.

use alloc::sync::Arc;

use wirecost_proto::{FlowId, Front};

use crate::codec::OwnedCondition;

/// An event of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The container answered a client's open.
    Connected {
        /// Its flow.
        flow: FlowId,
        /// The client's container-id.
        container_id: Arc<str>,
    },
    /// The login of a client failed.
    Refused {
        /// Its flow.
        flow: FlowId,
    },
    /// A whole message arrived and is in its queue.
    Received {
        /// The flow that it arrived on.
        flow: FlowId,
        /// The queue's address.
        address: Arc<str>,
        /// The length of the body in bytes.
        payload_bytes: u64,
        /// The first bytes of the body.
        front: Front,
        /// Whether the sender settled it.
        settled: bool,
    },
    /// A whole message to a receiver was handed to the transport.
    Delivered {
        /// The receiver's flow.
        flow: FlowId,
        /// The length of the body in bytes.
        payload_bytes: u64,
        /// Whether it was sent settled.
        settled: bool,
    },
    /// A connected client is gone: either side closed, or the client timed out.
    Disconnected {
        /// Its flow.
        flow: FlowId,
        /// The error, if there was one.
        error: Option<OwnedCondition>,
    },
}

/// Counters of a container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Messages that arrived whole.
    pub received: u64,
    /// Messages handed to the transport.
    pub delivered: u64,
    /// Deliveries that a receiver accepted, or that were sent settled.
    pub accepted: u64,
    /// Deliveries that a receiver rejected. They are dropped.
    pub rejected: u64,
    /// Deliveries that returned to their queue: released, modified, or their link ended.
    pub requeued: u64,
    /// Messages that a full queue dropped.
    pub overflowed: u64,
    /// Connections that the container closed because of an error of the client.
    pub faults: u64,
    /// Inputs for unknown flows.
    pub foreign_inputs: u64,
}
