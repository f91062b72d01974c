//! What every layer reports.

use wirecost_proto::FlowId;

use crate::Start;

/// What a layer reports: its own events, and those of the endpoint within.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<E> {
    /// The inner endpoint's event.
    Inner(E),
    /// The handshake of a flow is complete. It comes before anything that the inner endpoint says of the flow, but for
    /// what it says of early data.
    Established {
        /// The flow.
        flow: FlowId,
        /// How the connection did start, which may be less than was asked for.
        start: Start,
    },
    /// The bytes that the inner endpoint receives next came as early data: anyone may have replayed them (RFC 8446,
    /// appendix E.5).
    EarlyData {
        /// The flow.
        flow: FlowId,
        /// How many bytes.
        bytes: usize,
    },
    /// The handshake or the protection of a flow failed; the flow is closed.
    Failed {
        /// The flow.
        flow: FlowId,
        /// What failed, in one sentence.
        fault: Fault,
    },
}

/// Why a flow's security failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The peer's certificate is not accepted.
    #[error("the peer's certificate is not accepted: {0}")]
    Certificate(String),
    /// The peer refused with an alert.
    #[error("the peer sent the alert {0}")]
    Alert(String),
    /// What the peer sent is not the protocol.
    #[error("the peer does not speak {protocol}: {reason}")]
    Protocol {
        /// `TLS`, `DTLS 1.2`, ...
        protocol: &'static str,
        /// What was wrong.
        reason: String,
    },
    /// A start was asked for that the server did not grant.
    #[error("asked for {asked}, the server granted {granted}")]
    Start {
        /// What was asked for.
        asked: Start,
        /// What was granted.
        granted: Start,
    },
    /// The handshake did not complete in time.
    #[error("the {protocol} handshake was not complete within its time-out")]
    TimedOut {
        /// `TLS`, `DTLS 1.2`, ...
        protocol: &'static str,
    },
    /// Anything else.
    #[error("{0}")]
    Other(String),
}
