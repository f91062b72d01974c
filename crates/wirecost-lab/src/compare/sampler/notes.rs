//! The notes of one device about its sample.

use std::time::Duration;

use wirecost_proto::Instant;
use wirecost_security::Start;

/// Why a device could not finish its sample.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CutShort {
    /// No connection came within the time-out.
    #[error("no connection within {} s", .0.as_secs())]
    NotConnected(Duration),
    /// Nothing left the client's buffer within the time-out.
    #[error("the connection took no more bytes for {} s", .0.as_secs_f64())]
    NoRoom(Duration),
    /// The server granted another start than was asked for.
    #[error("asked for {asked}{}, the server granted {granted}", if *again { " again" } else { "" })]
    OtherStart {
        /// The start that the sample is about.
        asked: Start,
        /// Whether it is not the device's first connection.
        again: bool,
        /// The start of the connection.
        granted: Start,
    },
    /// What the client or its connection said.
    #[error("{0}")]
    Said(String),
}

/// The notes about one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When it should have been sent.
    pub intended: Instant,
    /// When the endpoint received the command to send it.
    pub actual: Instant,
    /// When its last byte left the driver's buffer.
    pub sent: Option<Instant>,
    /// Its end and the time of it; `None` until then, and for stacks without answers.
    pub end: Option<(Instant, End)>,
    /// CPU time used for the device when it was sent.
    pub cpu: Duration,
    /// Bytes of its flow handed out before it.
    pub transmitted_before: u64,
    /// The number of its connection among the measured ones, from 0.
    pub connection: usize,
}

/// A connect after an earlier measured connection had ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reconnect {
    /// When the message was due that needs the connection.
    pub intended: Instant,
    /// When the connect started.
    pub started: Instant,
    /// When the client could send.
    pub ready: Option<Instant>,
}

/// The end of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The server acknowledged it.
    Acknowledged,
    /// The server refused it.
    Refused,
    /// Sent, without an answer, or the connection broke.
    Unknown,
}

/// All notes of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// The intended and the actual start of the measured connect.
    pub connect_started: Option<(Instant, Instant)>,
    /// The connects after the first one, each because the connection before it had ended.
    pub reconnects: Vec<Reconnect>,
    /// The start of the measured connection, if it has a handshake.
    pub start: Option<Start>,
    /// When the client could send.
    pub ready: Option<Instant>,
    /// The warm-up message, then the measured ones.
    pub messages: Vec<Mark>,
    /// When the close began.
    pub closed: Option<Instant>,
    /// When the last settle ended.
    pub done: Option<Instant>,
    /// CPU time when the measured connect started, which the connection for the ticket used.
    pub cpu_before_connect: Duration,
    /// CPU time when the last message had settled.
    pub cpu_after_messages: Duration,
    /// Why the device could not finish its sample.
    pub failure: Option<CutShort>,
}
