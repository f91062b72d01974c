//! What an HTTP server can be told and what it reports, in either version.

use wirecost_proto::{FlowId, Front};

use crate::message::{Malformed, Method, Status};

/// What a server can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// The next `bytes` bytes received on a flow came as early data: unsafe methods are answered by 425 (RFC 8470)
    /// unless the resources allow them.
    EarlyData {
        /// The flow.
        flow: FlowId,
        /// How many bytes.
        bytes: usize,
    },
}

/// What a server reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A request was answered.
    Answered {
        /// From whom.
        flow: FlowId,
        /// Its method.
        method: Method,
        /// The status of the answer.
        status: Status,
        /// Bytes of the request's content.
        payload_bytes: u64,
        /// The front of that.
        front: Front,
    },
    /// What a client sent is not a request; the flow is closed.
    Failed {
        /// From whom.
        flow: FlowId,
        /// What is wrong with it.
        reason: Malformed,
    },
    /// A client was too slow; the flow is closed.
    TimedOut {
        /// Whose flow.
        flow: FlowId,
    },
    /// A flow has ended.
    Closed {
        /// Which.
        flow: FlowId,
    },
}
