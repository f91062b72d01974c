//! What a probe notes: where its steps began, and what happened in them.

use std::time::Duration;

use wirecost_proto::Instant;
use wirecost_security::Start;
use wirecost_security::tls::Negotiated;

use super::event::{Fact, StreamPosition, Trouble};

wirecost_proto::named! {
    /// A step of a probe.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Step {
        /// The lookup of the name.
        Dns => "dns",
        /// The connection that brings the ticket for the measured one.
        Ticket => "ticket",
        /// The transport's handshake.
        Connect => "connect",
        /// The channel's handshake.
        Security => "security",
        /// What the protocol exchanges before the first message.
        Open => "open",
        /// The message and its answer.
        Message => "message",
        /// The close of the connection.
        Close => "close",
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
