//! The events of every layer.

use wirecost_proto::{FlowId, PeerText, ResetReason};

use crate::Start;

/// An event of a layer or of its inner endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<E> {
    /// The inner endpoint's event.
    Inner(E),
    /// The handshake of a flow is complete. This event precedes all events of the inner endpoint about the flow,
    /// except those about early data.
    Established {
        /// The flow.
        flow: FlowId,
        /// How the connection started, which may be less than requested.
        start: Start,
    },
    /// The bytes that the inner endpoint receives next are early data, which anyone may have replayed (RFC 8446,
    /// appendix E.5).
    EarlyData {
        /// The flow.
        flow: FlowId,
        /// How many bytes.
        bytes: usize,
    },
    /// The handshake or the protection of a flow failed. The flow is closed.
    Failed {
        /// The flow.
        flow: FlowId,
        /// What failed.
        fault: Fault,
    },
}

/// Start of every message about a certificate.
const NOT_ACCEPTED: &str = "the peer's certificate is not accepted: ";

/// Why a flow's security failed. The reasons may contain texts from the peer, such as certificate names and reason
/// phrases.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The peer's certificate is not accepted.
    #[error("{NOT_ACCEPTED}{0}")]
    Certificate(PeerText),
    /// The peer sent a fatal alert.
    #[error("the peer sent the alert {0}")]
    Alert(PeerText),
    /// The peer's bytes are not the protocol.
    #[error("the peer does not speak {protocol}: {reason}")]
    Protocol {
        /// `TLS`, `DTLS 1.2`, ...
        protocol: &'static str,
        /// What was wrong.
        reason: PeerText,
    },
    /// The server did not grant the requested start.
    #[error("asked for {asked}, the server granted {granted}")]
    Start {
        /// The requested start.
        asked: Start,
        /// The granted start.
        granted: Start,
    },
    /// The handshake did not complete in time.
    #[error("the {protocol} handshake was not complete before its time-out")]
    TimedOut {
        /// `TLS`, `DTLS 1.2`, ...
        protocol: &'static str,
    },
    /// The flow ended before the handshake was complete.
    #[error("the handshake was cut off: {0}")]
    CutOff(ResetReason),
    /// Anything else.
    #[error("{0}")]
    Other(PeerText),
}

impl Fault {
    /// The reason why a certificate was not accepted, extracted from the text of a fault. A load keeps only that
    /// text. `None` for any other text.
    pub fn certificate_reason(text: &str) -> Option<&str> {
        text.split_once(NOT_ACCEPTED).map(|(_, reason)| reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_certificate_is_found_in_its_text() {
        let fault = Fault::Certificate("it expired".into()).to_string();
        assert_eq!(Fault::certificate_reason(&fault), Some("it expired"));
        assert_eq!(
            Fault::certificate_reason("the peer sent the alert bad_certificate"),
            None
        );
    }
}
