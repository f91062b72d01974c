//! What every layer reports.

use wirecost_proto::{FlowId, PeerText, ResetReason};

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

/// What is said of a certificate, before the reason.
const NOT_ACCEPTED: &str = "the peer's certificate is not accepted: ";

/// Why a flow's security failed. The reasons hold what a peer has sent: names of its certificate, its reason phrase.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The peer's certificate is not accepted.
    #[error("{NOT_ACCEPTED}{0}")]
    Certificate(PeerText),
    /// The peer refused with an alert.
    #[error("the peer sent the alert {0}")]
    Alert(PeerText),
    /// What the peer sent is not the protocol.
    #[error("the peer does not speak {protocol}: {reason}")]
    Protocol {
        /// `TLS`, `DTLS 1.2`, ...
        protocol: &'static str,
        /// What was wrong.
        reason: PeerText,
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
    /// The flow ended before the handshake was complete.
    #[error("the handshake was cut off: {0}")]
    CutOff(ResetReason),
    /// Anything else.
    #[error("{0}")]
    Other(PeerText),
}

impl Fault {
    /// The reason for which a certificate was not accepted, from the text of the fault, which is all that is kept of it where many
    /// connections are counted; `None` for any other text.
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
