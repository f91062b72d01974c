//! What an HTTP client can be asked and what it reports, in either version.

use std::sync::Arc;

use wirecost_proto::ResetReason;

use crate::fault::{Fault, Received, Transport};
use crate::message::{Malformed, RequestTemplate, Status};

/// What a client can be asked. What cannot be sent yet waits, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Send a request under a number of the caller's.
    Request {
        /// The number that events give back.
        message: u64,
        /// The request.
        template: Arc<RequestTemplate>,
    },
    /// Close the connection once what was asked is answered.
    Close,
}

/// What a client reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Requests can be sent.
    Opened,
    /// The last byte of a request has been handed out.
    Sent {
        /// The request's number.
        message: u64,
    },
    /// A response is complete; interim ones (1xx) are not reported.
    Response {
        /// The request's number.
        message: u64,
        /// Its status.
        status: Status,
        /// Bytes of its content.
        body_bytes: u64,
        /// The first bytes of its content, as many as the client is configured to keep; none by default.
        body: Vec<u8>,
    },
    /// A request was sent, or waited to be sent, and will have no response.
    Failed {
        /// The request's number.
        message: u64,
        /// Why.
        reason: Failure,
    },
    /// A response was not complete within the time-out.
    TimedOut {
        /// The request's number.
        message: u64,
    },
    /// The connection has ended as HTTP intends it.
    Closed,
    /// The server said that it takes no further request (GOAWAY, RFC 9114 section 5.2), and the connection was closed.
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
    /// This side closed the connection, by command or because another request timed out.
    #[error("the connection was given up")]
    Abandoned,
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Reset(ResetReason),
    /// The server sent what is not HTTP.
    #[error("the server does not speak HTTP: {0}")]
    Malformed(#[from] Malformed),
    /// The server ended the exchange or the connection with an error code of HTTP/3.
    #[error("the server ended it with {}", Received(*.0))]
    Code(u64),
    /// The server ended the connection with an error code of QUIC.
    #[error("the server ended the QUIC connection with {}", Transport(*.0))]
    Transport(u64),
    /// This side ended the connection with an error code of QUIC, for what the server had sent.
    #[error("the server broke a rule of QUIC, and this side closed the connection with {}", Transport(*.0))]
    OurTransport(u64),
    /// This side ended the connection, because the server broke a rule of HTTP/3.
    #[error("the server sent {}, and this side closed the connection with {}", .0.reason, .0.code)]
    Fault(Fault),
    /// The server goes away and has done nothing about the request (RFC 9114 section 5.2): it can be sent again.
    #[error("the server goes away (GOAWAY) and has not processed the request")]
    NotProcessed,
}
