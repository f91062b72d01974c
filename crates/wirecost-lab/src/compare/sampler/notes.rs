//! What one device notes of its sample.

use std::time::Duration;

use wirecost_proto::Instant;
use wirecost_security::Start;

/// What became of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When it should have been sent.
    pub intended: Instant,
    /// When the endpoint was told to send it.
    pub actual: Instant,
    /// When its last byte left the driver's buffer.
    pub sent: Option<Instant>,
    /// How and when it ended; `None` while it has not, and for stacks in which nothing answers.
    pub end: Option<(Instant, End)>,
    /// CPU time spent on the device when it was sent.
    pub cpu: Duration,
    /// Bytes of the flow handed out before it.
    pub transmitted_before: u64,
}

/// How a message ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The server answered that it has it.
    Acknowledged,
    /// The server answered that it does not take it.
    Refused,
    /// Sent, and nothing came, or the connection broke.
    Unknown,
}

/// Everything that a device noted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// When the measured connect was intended to start and when it started.
    pub connect_started: Option<(Instant, Instant)>,
    /// How the measured connection did start, where it has a handshake.
    pub start: Option<Start>,
    /// When the client was able to send.
    pub ready: Option<Instant>,
    /// The warm-up message, then the measured ones.
    pub messages: Vec<Mark>,
    /// When the close began.
    pub closed: Option<Instant>,
    /// When the last settle ended.
    pub done: Option<Instant>,
    /// CPU time when the measured connect started: what the connection for the ticket took.
    pub cpu_before_connect: Duration,
    /// CPU time when the last message had settled.
    pub cpu_after_messages: Duration,
    /// Why the device could not do what it should have.
    pub failure: Option<String>,
}
