//! What a probe notes: where its steps began, and what happened in them.

use std::time::Duration;

use wirecost_proto::Instant;
use wirecost_security::Start;
use wirecost_security::tls::Negotiated;

use super::event::{Fact, StreamPosition, Trouble};

/// A step of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The name is looked up.
    Dns,
    /// A connection that brings the ticket for the measured one.
    Ticket,
    /// The transport's handshake.
    Connect,
    /// The channel's handshake.
    Security,
    /// What the protocol says before messages.
    Open,
    /// The message and its answer.
    Message,
    /// The end.
    Close,
}

impl Step {
    /// Every step, in order.
    pub const ALL: [Self; 7] = [
        Self::Dns,
        Self::Ticket,
        Self::Connect,
        Self::Security,
        Self::Open,
        Self::Message,
        Self::Close,
    ];

    /// The step's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::Ticket => "ticket",
            Self::Connect => "connect",
            Self::Security => "security",
            Self::Open => "open",
            Self::Message => "message",
            Self::Close => "close",
        }
    }
}

/// Where a step began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Which step.
    pub step: Step,
    /// When.
    pub at: Instant,
    /// Where the flow stood.
    pub place: StreamPosition,
}

/// What a probe has noted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Where the steps of the measured connection began, and the connection for the ticket before them.
    pub marks: Vec<Mark>,
    /// When the probe was over.
    pub ended: Option<Instant>,
    /// How the connection did start.
    pub start: Option<Start>,
    /// What was agreed on.
    pub negotiated: Option<Negotiated>,
    /// What the server said.
    pub facts: Vec<Fact>,
    /// What went wrong first, in which step, and how long into it.
    pub trouble: Option<(Step, Trouble, Duration)>,
    /// The first bytes that came on the flow.
    pub first_bytes: Vec<u8>,
    /// What came last and answers nothing that was asked.
    pub ignored: Option<String>,
    /// Whether what came first is what was sent first.
    pub is_echo: bool,
    /// Whether the server has closed its direction within the time allowed.
    pub peer_closed: bool,
}
