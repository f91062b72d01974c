//! The events for the loss of a connection.

use quinn_proto::ConnectionError;
use wirecost_proto::ResetReason;
use wirecost_security::layer::Fault;
use wirecost_security::tls::quic_fault;

use crate::client::{Event, Failure};
use crate::fault::Code;

/// The failure of requests without a response, and the event of the connection.
pub(crate) fn lost(reason: &ConnectionError) -> (Failure, Event) {
    match reason {
        ConnectionError::ApplicationClosed(close) if close.error_code == no_error() => {
            (Failure::Closed, Event::Closed)
        }
        ConnectionError::ApplicationClosed(close) => by_peer(Failure::Code(close.error_code.into_inner())),
        ConnectionError::ConnectionClosed(close) => by_peer(Failure::Transport(close.error_code.into())),
        ConnectionError::TransportError(error) => {
            let failure = Failure::OurTransport(error.code.into());
            (failure, Event::Reset(ResetReason::Local))
        }
        ConnectionError::TimedOut => reset(ResetReason::TimedOut),
        ConnectionError::LocallyClosed => (Failure::Abandoned, Event::Closed),
        ConnectionError::Reset | ConnectionError::VersionMismatch | ConnectionError::CidsExhausted => {
            reset(ResetReason::ByPeer)
        }
    }
}

fn by_peer(failure: Failure) -> (Failure, Event) {
    (failure, Event::Reset(ResetReason::ByPeer))
}

fn reset(reason: ResetReason) -> (Failure, Event) {
    (Failure::Reset(reason), Event::Reset(reason))
}

fn no_error() -> quinn_proto::VarInt {
    quinn_proto::VarInt::from_u32(Code::NoError.value() as u32)
}

/// Why a handshake failed. `fault` is the error of TLS, if this side refused.
pub(crate) fn handshake_fault(reason: &ConnectionError, fault: Option<&rustls::Error>) -> Fault {
    if let Some(error) = fault {
        return quic_fault(error);
    }
    let protocol = |reason: String| Fault::Protocol {
        protocol: "QUIC",
        reason: reason.into(),
    };
    match reason {
        // RFC 9001 section 4.8: 0x100 plus the number of an alert.
        ConnectionError::ConnectionClosed(close) => match u64::from(close.error_code) {
            code @ 0x100..=0x1ff => {
                let alert = rustls::AlertDescription::from(code as u8);
                quic_fault(&rustls::Error::AlertReceived(alert))
            }
            _ => protocol(close.to_string()),
        },
        ConnectionError::VersionMismatch => protocol("it does not speak version 1".to_owned()),
        ConnectionError::TimedOut => Fault::TimedOut { protocol: "QUIC" },
        other => protocol(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_reason_phrase_is_escaped() {
        let close = quinn_proto::ConnectionClose {
            error_code: quinn_proto::TransportErrorCode::CONNECTION_REFUSED,
            frame_type: None,
            reason: b"\x1b]0;owned\x07\x1b[2J\n\xff".to_vec().into(),
        };
        let fault = handshake_fault(&ConnectionError::ConnectionClosed(close), None).to_string();
        assert!(fault.contains("\\x1b]0;owned\\x07\\x1b[2J\\n"), "{fault}");
        assert!(!fault.contains(char::is_control), "{fault}");
    }
}
