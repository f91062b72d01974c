//! Commands and events of an HTTP client, in either version.

use std::sync::Arc;

use wirecost_proto::ResetReason;

use crate::fault::{ApplicationCode, Fault, TransportCode};
use crate::message::{Malformed, RequestTemplate, Status};

/// A command to a client. Commands that cannot be carried out yet wait in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Send a request. The caller chooses its number.
    Request {
        /// The number in the request's events.
        message: u64,
        /// The request.
        template: Arc<RequestTemplate>,
    },
    /// Close the connection once all earlier requests are answered.
    Close,
}

/// An event of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The client can send requests.
    Opened,
    /// The last byte of a request has been handed out.
    Sent {
        /// The request's number.
        message: u64,
    },
    /// A response is complete. Interim responses (1xx) are not reported.
    Response {
        /// The request's number.
        message: u64,
        /// The status.
        status: Status,
        /// Bytes of the content.
        body_bytes: u64,
        /// The first bytes of the content, up to the configured limit. The default limit is 0.
        body: Vec<u8>,
    },
    /// A request, sent or queued, will have no response.
    Failed {
        /// The request's number.
        message: u64,
        /// The reason.
        reason: Failure,
    },
    /// A response was not complete before the time-out.
    TimedOut {
        /// The request's number.
        message: u64,
    },
    /// The connection closed in order.
    Closed,
    /// The server accepts no further requests (GOAWAY, RFC 9114 section 5.2), and the connection was closed.
    GoneAway,
    /// The connection broke.
    Reset(ResetReason),
}

/// Why a request will have no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Failure {
    /// The server closed the connection before the response was complete.
    #[error("the server closed the connection before the response was complete")]
    Closed,
    /// The connection, on which the server had answered before, ended without a byte of the response: mostly the server's idle
    /// time-out, which the request met. Clients send a request again that may arrive twice (RFC 9110 section 9.2.2, RFC 9112
    /// section 9.3.1).
    #[error(
        "the server ended the connection, on which it had answered before, without a byte of the response"
    )]
    Unanswered,
    /// This side closed the connection, by command or because another request timed out.
    #[error("this side closed the connection")]
    Abandoned,
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Reset(ResetReason),
    /// The server's bytes are not HTTP.
    #[error("the server does not speak HTTP: {0}")]
    Malformed(#[from] Malformed),
    /// The server ended the exchange or the connection with an HTTP/3 error code.
    #[error("the server ended the exchange with {}", ApplicationCode(*.0))]
    Code(u64),
    /// The server ended the connection with a QUIC error code.
    #[error("the server ended the QUIC connection with {}", TransportCode(*.0))]
    Transport(u64),
    /// This side ended the connection with a QUIC error code, because the server broke a rule.
    #[error("the server broke a rule of QUIC, and this side closed the connection with {}", TransportCode(*.0))]
    OurTransport(u64),
    /// This side ended the connection, because the server broke a rule of HTTP/3.
    #[error("the server sent {}, and this side closed the connection with {}", .0.reason, .0.code)]
    Fault(Fault),
    /// The server goes away and has not processed the request (RFC 9114 section 5.2). The request can be sent again.
    #[error("the server goes away (GOAWAY) and did not process the request")]
    NotProcessed,
}

impl Failure {
    /// The failure of a request of whose response nothing has come, on a connection on which another one has.
    pub(crate) fn unanswered(self) -> Self {
        match self {
            Self::Closed | Self::Reset(ResetReason::ByPeer | ResetReason::TimedOut) => Self::Unanswered,
            Self::Unanswered
            | Self::Abandoned
            | Self::Reset(_)
            | Self::Malformed(_)
            | Self::Code(_)
            | Self::Transport(_)
            | Self::OurTransport(_)
            | Self::Fault(_)
            | Self::NotProcessed => self,
        }
    }
}
