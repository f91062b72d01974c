//! What a container reports.

use alloc::sync::Arc;

use wirecost_proto::{FlowId, Front};

use crate::codec::OwnedCondition;

/// What a container reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A client's open was answered.
    Connected {
        /// Its flow.
        flow: FlowId,
        /// The name that it gave.
        container_id: Arc<str>,
    },
    /// SASL did not let a client in.
    Refused {
        /// Its flow.
        flow: FlowId,
    },
    /// A whole message arrived and is in its queue.
    Received {
        /// From which flow.
        flow: FlowId,
        /// The queue's address.
        address: Arc<str>,
        /// Bytes of the body.
        payload_bytes: u64,
        /// The front of that.
        front: Front,
        /// Whether it came settled.
        settled: bool,
    },
    /// A whole message was handed to the transport towards a receiver.
    Delivered {
        /// To which flow.
        flow: FlowId,
        /// Bytes of the body.
        payload_bytes: u64,
        /// Whether it went settled.
        settled: bool,
    },
    /// A client that was connected is gone, by its close, by ours or by its silence.
    Disconnected {
        /// Its flow.
        flow: FlowId,
        /// What was wrong, where something was.
        error: Option<OwnedCondition>,
    },
}

/// What a container counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Messages that arrived whole.
    pub received: u64,
    /// Messages handed to receivers.
    pub delivered: u64,
    /// Deliveries that a receiver accepted, or that went settled.
    pub accepted: u64,
    /// Deliveries that a receiver rejected: they are gone.
    pub rejected: u64,
    /// Deliveries that came back into their queue: released, modified, or their link lost.
    pub requeued: u64,
    /// Messages that made room for newer ones.
    pub overflowed: u64,
    /// Connections that were closed for a fault of the client.
    pub faults: u64,
    /// Inputs for flows that are not known.
    pub foreign_inputs: u64,
}
