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
    /// The lookup of the name.
    Dns,
    /// The connection that brings the ticket for the measured one.
    Ticket,
    /// The transport's handshake.
    Connect,
    /// The channel's handshake.
    Security,
    /// What the protocol exchanges before the first message.
    Open,
    /// The message and its answer.
    Message,
    /// The close of the connection.
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
    /// The step.
    pub step: Step,
    /// When it began.
    pub at: Instant,
    /// The position of the flow.
    pub position: StreamPosition,
}

/// What a probe has noted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Where the connection that brings the ticket and the steps of the measured connection began.
    pub marks: Vec<Mark>,
    /// When the probe ended.
    pub ended: Option<Instant>,
    /// How the connection started.
    pub start: Option<Start>,
    /// What TLS negotiated.
    pub negotiated: Option<Negotiated>,
    /// What the server said.
    pub facts: Vec<Fact>,
    /// The first trouble, its step, and the time from the beginning of the step.
    pub trouble: Option<(Step, Trouble, Duration)>,
    /// The first bytes that arrived on the flow.
    pub first_bytes: Vec<u8>,
    /// The last message that answered nothing that was asked.
    pub ignored: Option<String>,
    /// Whether the first bytes that arrived are the first bytes that were sent.
    pub is_echo: bool,
    /// Whether the server closed its direction in time.
    pub peer_closed: bool,
}
