//! What a probed connection reports, whatever its protocol.

use wirecost_proto::ResetReason;
use wirecost_security::Start;
use wirecost_security::layer::Fault;
use wirecost_security::tls::Negotiated;

/// Something that the server said, for the reader.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Fact {
    /// What it is about: `CONNACK`, `certificate`.
    pub about: &'static str,
    /// What was said.
    pub text: String,
}

impl Fact {
    /// What was said about something.
    pub fn new(about: &'static str, text: impl Into<String>) -> Self {
        Self {
            about,
            text: text.into(),
        }
    }
}

/// A server's no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The server's words.
    pub reason: String,
    /// What kind of no it is.
    pub kind: RefusalKind,
}

/// What a server objects to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// Who the client is.
    Authentication,
    /// The version of the protocol.
    Version,
    /// Something else.
    Other,
}

impl Refusal {
    /// A no for a reason.
    pub fn new(kind: RefusalKind, reason: impl ToString) -> Self {
        Self {
            reason: reason.to_string(),
            kind,
        }
    }
}

/// Why a probe cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// There was no connection.
    Unconnected(ResetReason),
    /// The step took too long.
    TimedOut,
    /// The protocol gave up after so many transmissions.
    GaveUp {
        /// Datagrams sent for the message.
        transmissions: u32,
    },
    /// The channel could not be protected.
    Insecure(Fault),
    /// The server refused the client.
    Rejected(Refusal),
    /// The server refused the message; the connection was closed as usual.
    Refused(Refusal),
    /// The server does not speak the protocol.
    Foreign(String),
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
    /// The first bytes came.
    Heard,
    /// What came first is what was sent first.
    Echoed,
    /// The handshake of the channel is complete.
    Established {
        /// How the connection did start.
        start: Start,
        /// What was agreed on, where the layer tells.
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
    /// The client has asked for the end of the flow.
    Closing,
    /// The server has ended its direction.
    PeerClosed,
    /// The flow is gone.
    Reset(ResetReason),
}

/// What happened, and where the flow stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What.
    pub happening: ProbeEvent,
    /// Where the flow stood.
    pub place: StreamPosition,
    /// The first bytes that came on the flow.
    pub first_bytes: Vec<u8>,
}

/// How far a flow has come: bytes of a stream, or datagrams; indexed by `Direction as usize`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamPosition(pub [u64; 2]);
