//! What a client can be asked, what it reports, and how it is set up.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use wirecost_proto::{ResetReason, Rng};

use super::RequestTemplate;
use crate::code::Code;
use crate::option::Options;
use crate::oscore::{Context, ProtectError};
use crate::parameters::TransmissionParameters;
use crate::shared::Share;
use crate::token::Token;

/// How a client behaves.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Time-outs and limits.
    pub parameters: TransmissionParameters,
    /// The randomness of time-outs and tokens.
    pub rng: Rng,
    /// Random bytes of a token, 0 to 8, or to 4 where the client shares its endpoint.
    pub token_bytes: usize,
    /// The first message id, where the client is an endpoint by itself.
    pub first_message_id: u16,
    /// The client's share of an endpoint that others are too; its tokens are longer by its number in it.
    pub shared: Option<Share>,
    /// Bytes of a block: 16 to 1,024; larger contents are sent block-wise (RFC 7959).
    pub block_size: usize,
    /// How long a response may take once the request is acknowledged or was non-confirmable.
    pub response_timeout: Duration,
    /// The largest response body that is put together from blocks, in bytes.
    pub max_body_bytes: usize,
    /// Whether the first block of an upload says the size of the whole (Size1, RFC 7959 section 4): 3 to 6 B.
    pub announces_size: bool,
    /// Whether an observation of which nothing was heard within Max-Age is registered again (RFC 7641
    /// section 3.3.1).
    pub renews_observations: bool,
    /// What protects requests and responses (RFC 8613); pings, empty ACKs and RSTs have nothing to protect.
    pub oscore: Option<Context>,
}

impl Config {
    /// The defaults, with the randomness `rng`.
    pub fn new(rng: Rng) -> Self {
        let parameters = TransmissionParameters::default();
        Self {
            parameters,
            rng,
            token_bytes: 2,
            first_message_id: rng.purpose(0).at(0) as u16,
            shared: None,
            block_size: 1024,
            response_timeout: parameters.exchange_lifetime(),
            max_body_bytes: 16 << 20,
            announces_size: false,
            renews_observations: true,
            oscore: None,
        }
    }

    /// The same, every request protected by `context`. Its sequence numbers are the client's from now on: no other
    /// machine may begin at the same one.
    pub fn with_oscore(self, context: Context) -> Self {
        Self {
            oscore: Some(context),
            ..self
        }
    }
}

/// What a client can be asked. `message` is the caller's number and comes back in the events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Send a request.
    Request {
        /// The caller's number.
        message: u64,
        /// What to send.
        template: Arc<RequestTemplate>,
    },
    /// Register as an observer (RFC 7641): a GET whose notifications carry the same number.
    Observe {
        /// The caller's number.
        message: u64,
        /// The GET to register with.
        template: Arc<RequestTemplate>,
    },
    /// End an observation.
    CancelObserve {
        /// The number of the observation.
        message: u64,
        /// How.
        how: Cancellation,
    },
    /// Ping the server: an empty confirmable message, answered by an RST.
    Ping {
        /// The caller's number.
        message: u64,
    },
    /// Forget everything and close the flow.
    Close,
}

/// How an observation ends (RFC 7641 section 3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancellation {
    /// A GET with Observe 1 tells the server.
    Deregister,
    /// The next notification is rejected with an RST.
    Forget,
}

/// What a client reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The flow is usable.
    Opened,
    /// An empty ACK came: the response follows, unless No-Response suppresses every class.
    Acknowledged {
        /// The caller's number.
        message: u64,
        /// Datagrams sent for the message so far; 1: the time to the ACK is a round trip.
        transmissions: u32,
    },
    /// The response came, its body whole.
    Response(Response),
    /// A notification of an observed resource came, its body whole.
    Notification(Response),
    /// The last byte of a request has been handed out. Where no response is wanted (RFC 7967), nothing else may follow.
    Sent {
        /// The caller's number.
        message: u64,
    },
    /// No answer came in time.
    TimedOut {
        /// The caller's number.
        message: u64,
        /// Datagrams sent for the message.
        transmissions: u32,
    },
    /// The server rejected the request with an RST.
    Reset {
        /// The caller's number.
        message: u64,
    },
    /// The answer to a ping came.
    Pong {
        /// The caller's number.
        message: u64,
        /// Datagrams sent for the ping.
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
}

/// A response or notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The caller's number.
    pub message: u64,
    /// The response code.
    pub code: Code,
    /// The token of the exchange that ended it.
    pub token: Token,
    /// The options of the last datagram.
    pub options: Options,
    /// The body, put together from all blocks.
    pub payload: Vec<u8>,
    /// Datagrams sent for the message; 1: the time to the response is a round trip.
    pub transmissions: u32,
}

/// Why there is no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The representation changed between blocks, more often than the client starts over.
    #[error("the body changed between blocks, expected one entity-tag")]
    BodyChanged,
    /// A block came that was not asked for.
    #[error("block at {got} B came, expected {expected} B")]
    UnexpectedBlock {
        /// Where the block begins, in bytes.
        got: usize,
        /// Where the next block should begin, in bytes.
        expected: usize,
    },
    /// The body exceeds [`Config::max_body_bytes`].
    #[error("the body exceeds {limit} B")]
    BodyTooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// A 2.31 to a request that is not a block of a content with further ones.
    #[error("the server asked for a next block (2.31) where there is none, expected a response")]
    UnexpectedContinue,
    /// A block whose size means nothing (RFC 7959 section 2.2).
    #[error("the response has a block of the reserved size 7, expected 0 to 6")]
    ReservedBlockSize,
    /// The request cannot be protected.
    #[error(transparent)]
    Unprotectable(ProtectError),
    /// The flow broke or was closed.
    #[error("the flow ended")]
    FlowEnded,
}

/// Input that was ignored or answered without the user's knowledge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Datagrams that were not messages.
    pub malformed: u64,
    /// Responses that came before.
    pub duplicates: u64,
    /// ACKs, RSTs and responses that match nothing.
    pub unmatched: u64,
    /// Responses that had to be protected and were not, or not authentic, or replayed (RFC 8613 section 8.4).
    pub unverified: u64,
    /// Messages answered with an RST.
    pub rejected: u64,
    /// Notifications older than one that came before (RFC 7641 section 3.4).
    pub stale: u64,
    /// Datagrams sent again.
    pub retransmissions: u64,
    /// Requests that waited because all message ids were taken.
    pub waited_for_message_id: u64,
    /// What was ignored last.
    pub last_ignored: Option<Ignored>,
}

/// Something that came and answers no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ignored {
    /// No message (RFC 7252 section 3).
    #[error("a datagram that is no CoAP message")]
    Malformed,
    /// An ACK or RST for another message (RFC 7252 section 4.2).
    #[error("message id {got} where {awaited} was asked")]
    MessageId {
        /// Its message id.
        got: u16,
        /// That of the oldest request on its way.
        awaited: u16,
    },
    /// A response to another request (RFC 7252 section 5.3.2).
    #[error("token {got:?} where {awaited:?} was asked")]
    Token {
        /// Its token.
        got: Token,
        /// That of the oldest request on its way.
        awaited: Token,
    },
    /// A message that is no response, or one with a critical option that a client does not know (RFC 7252 section 5.4.1).
    #[error("a message that is no response to a client")]
    NoResponse,
    /// A response that is not protected as the request was (RFC 8613 section 8.4).
    #[error("a response that is not protected, or not authentic")]
    Unverified,
}
