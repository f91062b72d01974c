//! Commands and events of an HTTP server, in either version.

use wirecost_proto::{FlowId, Front};

use crate::message::{Malformed, Method, Status};

/// A command to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// The next `bytes` bytes received on a flow are early data. Unsafe methods are answered with 425 (RFC 8470)
    /// unless the resources allow them.
    EarlyData {
        /// The flow.
        flow: FlowId,
        /// How many bytes.
        bytes: usize,
    },
}

/// An event of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A request was answered.
    Answered {
        /// The flow of the request.
        flow: FlowId,
        /// Its method.
        method: Method,
        /// The status of the answer.
        status: Status,
        /// Bytes of the request's content.
        payload_bytes: u64,
        /// The start of the content.
        front: Front,
    },
    /// A client sent something that is not a request. The flow is closed.
    Failed {
        /// The client's flow.
        flow: FlowId,
        /// What is wrong.
        reason: Malformed,
    },
    /// A client timed out. The flow is closed.
    TimedOut {
        /// The client's flow.
        flow: FlowId,
    },
    /// A flow has ended.
    Closed {
        /// The flow.
        flow: FlowId,
    },
}
