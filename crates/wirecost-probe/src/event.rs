//! What a probed connection reports, in one form for every protocol.

use wirecost_proto::{BothWays, PeerText, ResetReason};
use wirecost_security::Start;
use wirecost_security::layer::Fault;
use wirecost_security::tls::Negotiated;

/// Something that the server said.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Fact {
    /// The subject: `CONNACK`, `certificate`.
    pub about: &'static str,
    /// The server's words, or a summary of them.
    pub text: String,
}

impl Fact {
    /// A fact about a subject.
    pub fn new(about: &'static str, text: impl Into<String>) -> Self {
        Self {
            about,
            text: text.into(),
        }
    }
}

/// A refusal by the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The server's words.
    pub reason: String,
    /// What the server refuses.
    pub kind: RefusalKind,
    /// The other server that it names, safe to display.
    pub reference: Option<PeerText>,
}

/// What a server refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// The client's identity or credentials.
    Authentication,
    /// The version of the protocol.
    Version,
    /// Every client: another server is to be used.
    Elsewhere,
    /// Something else.
    Other,
}

impl Refusal {
    /// A refusal with the server's reason.
    pub fn new(kind: RefusalKind, reason: impl ToString) -> Self {
        Self {
            reason: reason.to_string(),
            kind,
            reference: None,
        }
    }
}

/// Why a probe cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// No connection was made.
    Unconnected(ResetReason),
    /// The step took too long.
    TimedOut,
    /// The protocol's client stopped waiting for an answer.
    GaveUp {
        /// Datagrams sent for the message.
        transmissions: u32,
    },
    /// TLS, DTLS or QUIC failed.
    Insecure(Fault),
    /// The server refused the client.
    Rejected(Refusal),
    /// The server refused the message, and the client closed the connection as usual.
    Refused(Refusal),
    /// The server does not speak the protocol.
    Foreign(String),
    /// What the user asked for is longer than the protocol, or the server, takes: it was not sent.
    TooLong(String),
    /// The server ended the connection too early.
    Closed,
    /// The connection broke.
    Broken(ResetReason),
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeEvent {
    /// The flow is usable.
    Opened,
    /// The first bytes have arrived.
    Heard,
    /// The first bytes that arrived are the first bytes that were sent.
    Echoed,
    /// The handshake of the channel is complete.
    Established {
        /// How the connection started.
        start: Start,
        /// What TLS negotiated, where it is TLS on a stream.
        negotiated: Option<Box<Negotiated>>,
    },
    /// The protocol's client can send messages.
    Ready(Vec<Fact>),
    /// The protocol's client has handed out the last byte of the message.
    Sent,
    /// The server has answered the message.
    Answered(Vec<Fact>),
    /// The server has refused the message.
    Refused(Refusal),
    /// The layer or the protocol's client reports why the probe cannot go on.
    Trouble(Trouble),
    /// A message came that answers nothing that was asked.
    Ignored(String),
    /// A report that the probe does not need.
    Other,
    /// The client closes the flow.
    Closing,
    /// The server has closed its direction.
    PeerClosed,
    /// The flow is gone.
    Reset(ResetReason),
}

/// What happened, and the position of the flow at that time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What happened.
    pub kind: ProbeEvent,
    /// The position of the flow.
    pub position: StreamPosition,
    /// The first bytes that arrived on the flow.
    pub first_bytes: Vec<u8>,
}

/// Bytes of a stream, or datagrams, that have passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamPosition(pub BothWays<u64>);
