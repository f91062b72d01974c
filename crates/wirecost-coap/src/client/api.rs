//! The configuration, the commands and the events of a client.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use wirecost_proto::bare::Transport;
use wirecost_proto::{PeerText, ResetReason, Rng};

use super::RequestTemplate;
use crate::code::Code;
use crate::edhoc::{self, Initiator};
use crate::option::Options;
use crate::oscore::{Context, ProtectError};
use crate::parameters::TransmissionParameters;
use crate::shared::Share;
use crate::stream::{Fault, MAX_MESSAGE_BYTES};
use crate::token::Token;

/// The configuration of a client.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Datagrams (RFC 7252) or a stream (RFC 8323).
    pub transport: Transport,
    /// The largest message that the client accepts on a stream, in bytes (Max-Message-Size).
    pub max_message_bytes: u32,
    /// Time-outs and limits. On a stream there are no retransmissions and no NSTART.
    pub parameters: TransmissionParameters,
    /// The random numbers for time-outs and tokens.
    pub rng: Rng,
    /// The number of random bytes in a token: 0 to 8, or 0 to 4 if the client shares its endpoint.
    pub token_bytes: usize,
    /// The first message id, if the client has an endpoint of its own.
    pub first_message_id: u16,
    /// The client's share of an endpoint that several clients use. It makes tokens longer by the client's number.
    pub shared: Option<Share>,
    /// The block size in bytes, 16 to 1,024. A larger content is sent block-wise (RFC 7959). On a stream the server's CSM decides.
    pub block_size: usize,
    /// How long the client waits for a response after the request was acknowledged, or after a non-confirmable request.
    pub response_timeout: Duration,
    /// The largest response body that the client assembles from blocks, in bytes.
    pub max_body_bytes: usize,
    /// Whether the first block of an upload states the size of the body (Size1, RFC 7959 section 4): 3 to 6 B.
    pub announces_size: bool,
    /// The security context for requests and responses (RFC 8613). Pings, empty ACKs and RSTs are never protected.
    pub oscore: Option<Context>,
    /// The handshake that agrees on the security context of each flow (RFC 9528), in place of a given one. Requests wait until it is
    /// over; the first one carries its last message (RFC 9668).
    pub edhoc: Option<Arc<Initiator>>,
}

impl Config {
    /// The default configuration with the random numbers of `rng`.
    pub fn new(rng: Rng) -> Self {
        let parameters = TransmissionParameters::default();
        Self {
            transport: Transport::Datagram,
            max_message_bytes: MAX_MESSAGE_BYTES,
            parameters,
            rng,
            token_bytes: 2,
            first_message_id: rng.purpose(0).at(0) as u16,
            shared: None,
            block_size: 1024,
            response_timeout: parameters.exchange_lifetime(),
            max_body_bytes: 16 << 20,
            announces_size: false,
            oscore: None,
            edhoc: None,
        }
    }

    /// This configuration, for a stream (RFC 8323).
    pub fn on_stream(self) -> Self {
        Self {
            transport: Transport::Stream,
            ..self
        }
    }

    /// This configuration, with every request protected by a context that EDHOC agrees on.
    pub fn with_edhoc(self, initiator: Initiator) -> Self {
        Self {
            edhoc: Some(Arc::new(initiator)),
            ..self
        }
    }

    /// This configuration, with every request protected by `context`. No other client may use the sequence numbers of
    /// `context`.
    pub fn with_oscore(self, context: Context) -> Self {
        Self {
            oscore: Some(context),
            ..self
        }
    }
}

/// A command to a client. `message` is the caller's number; events return it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Send a request.
    Request {
        /// The caller's number.
        message: u64,
        /// The request.
        template: Arc<RequestTemplate>,
    },
    /// Register as an observer (RFC 7641): send a GET. Notifications have the same number.
    Observe {
        /// The caller's number.
        message: u64,
        /// The GET request.
        template: Arc<RequestTemplate>,
    },
    /// End an observation.
    CancelObserve {
        /// The number of the observation.
        message: u64,
        /// How to end it.
        how: Cancellation,
    },
    /// Ping the server: an empty confirmable message, answered by an RST; on a stream a 7.02, answered by a 7.03.
    Ping {
        /// The caller's number.
        message: u64,
    },
    /// Drop all exchanges and observations, and close the flow; on a stream after a 7.04.
    Close,
}

/// How to end an observation (RFC 7641 section 3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancellation {
    /// Send a GET with Observe 1.
    Deregister,
    /// Reject the next notification with an RST. On a stream there is none, and the client deregisters.
    Forget,
}

/// An event of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The flow is usable: where the client agrees on a context by EDHOC, after message_2.
    Opened,
    /// The handshake of EDHOC failed. Nothing is sent on this flow.
    NotAgreed(edhoc::Failure),
    /// An empty ACK arrived. The response follows, unless No-Response suppresses every class.
    Acknowledged {
        /// The caller's number.
        message: u64,
        /// The datagrams sent for the message so far. If 1, the time to the ACK is a round trip.
        transmissions: u32,
    },
    /// The whole response arrived.
    Response(Response),
    /// A whole notification of an observed resource arrived.
    Notification(Response),
    /// The last byte of a request has been handed out. Where no response is wanted (RFC 7967), nothing else may follow.
    Sent {
        /// The caller's number.
        message: u64,
    },
    /// No answer arrived in time.
    TimedOut {
        /// The caller's number.
        message: u64,
        /// The datagrams sent for the message.
        transmissions: u32,
    },
    /// The server rejected the request with an RST.
    Reset {
        /// The caller's number.
        message: u64,
    },
    /// The answer to a ping arrived.
    Pong {
        /// The caller's number.
        message: u64,
        /// The datagrams sent for the ping.
        transmissions: u32,
    },
    /// A block-wise transfer or an unfinished exchange ended without a response.
    Failed {
        /// The caller's number.
        message: u64,
        /// Why.
        failure: Failure,
    },
    /// The flow broke.
    FlowReset(ResetReason),
    /// The flow was closed on command.
    Closed,
    /// The server closed the stream.
    PeerClosed,
    /// The server aborted the stream (7.05) with this diagnostic payload.
    Aborted(PeerText),
    /// The client aborted the stream, because the server does not keep to RFC 8323.
    Faulted(Fault),
}

/// A response or notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The caller's number.
    pub message: u64,
    /// The response code.
    pub code: Code,
    /// The token of the exchange that received it.
    pub token: Token,
    /// The options of the last datagram.
    pub options: Options,
    /// The body, assembled from all blocks.
    pub payload: Vec<u8>,
    /// The datagrams sent for the message. If 1, the time to the response is a round trip.
    pub transmissions: u32,
}

/// Why there is no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The representation changed between blocks more often than the client starts over.
    #[error("body must have one entity-tag in all blocks, got another one")]
    BodyChanged,
    /// A block that the client did not request.
    #[error("block must begin at {expected} B, got {got} B")]
    UnexpectedBlock {
        /// The offset of the received block, in bytes.
        got: usize,
        /// The offset of the next block, in bytes.
        expected: usize,
    },
    /// The body exceeds [`Config::max_body_bytes`].
    #[error("body must have at most {limit} B")]
    BodyTooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// A 2.31 in response to a request that has no next block.
    #[error("server must send a response after the last block, got 2.31 Continue")]
    UnexpectedContinue,
    /// A block with the reserved size exponent (RFC 7959 section 2.2).
    #[error("response must have a block size of 0 to 6, got the reserved 7")]
    ReservedBlockSize,
    /// The request cannot be protected.
    #[error(transparent)]
    Unprotectable(ProtectError),
    /// The flow broke or was closed.
    #[error("the flow ended")]
    FlowEnded,
}

/// Counters of input that the client ignored, or answered without an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Datagrams that were not messages.
    pub malformed: u64,
    /// Responses that had arrived before.
    pub duplicates: u64,
    /// ACKs, RSTs and responses that match no request.
    pub unmatched: u64,
    /// Responses that are unprotected although they must be protected, not authentic, or replayed (RFC 8613 section
    /// 8.4).
    pub unverified: u64,
    /// Messages answered with an RST.
    pub rejected: u64,
    /// Notifications older than an earlier one (RFC 7641 section 3.4).
    pub stale: u64,
    /// Retransmitted datagrams.
    pub retransmissions: u64,
    /// Requests that waited because all message ids were in use.
    pub waited_for_message_id: u64,
    /// The last ignored message.
    pub last_ignored: Option<Ignored>,
}

/// A received message that answers no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ignored {
    /// Not a CoAP message (RFC 7252 section 3).
    #[error("a datagram that is not a CoAP message")]
    Malformed,
    /// An ACK or RST for another message (RFC 7252 section 4.2).
    #[error("message id {got}, expected {awaited}")]
    MessageId {
        /// Its message id.
        got: u16,
        /// The message id of the oldest outstanding request.
        awaited: u16,
    },
    /// A response to another request (RFC 7252 section 5.3.2).
    #[error("token {got:?}, expected {awaited:?}")]
    Token {
        /// Its token.
        got: Token,
        /// The token of the oldest outstanding request.
        awaited: Token,
    },
    /// A message that is not a response, or a response with an unsupported critical option (RFC 7252 section 5.4.1).
    #[error("a message that is not a response")]
    NoResponse,
    /// A response that is not protected although the request was (RFC 8613 section 8.4).
    #[error("a response that is not protected or not authentic")]
    Unverified,
}
