//! What differs between databases, on the client's side and on the server's.

use std::fmt;

use wirecost_proto::{Buffer, Content, Front, Phase};

use crate::command::{Failure, Refusal};
use crate::{Malformed, Parts, TooLong};

/// A row to insert.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    pub(crate) sender: &'a str,
    pub(crate) number: u64,
    /// The time since 1970 in milliseconds.
    pub(crate) unix_ms: Option<i64>,
    pub(crate) content: &'a Content,
}

/// What a packet means for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Other packets follow.
    More,
    /// The insert is prepared.
    Ready,
    /// The answer to the oldest command in flight.
    Answer(Result<(), Refusal>),
}

/// One connection in the protocol of a database.
pub(crate) trait Dialect: fmt::Debug + Send {
    /// The length of the packet at the front of `bytes`; `None` while its header is incomplete.
    fn packet_len(&self, bytes: &[u8]) -> Result<Option<usize>, Failure>;

    /// Appends what the client sends first.
    fn greet(&mut self, out: &mut Vec<u8>) -> Result<(), TooLong>;

    /// Handles a whole packet, and appends what the client sends in answer.
    fn receive(&mut self, packet: &[u8], out: &mut Vec<u8>) -> Result<Step, Failure>;

    /// Whether the insert is prepared.
    fn is_ready(&self) -> bool;

    /// Appends an insert, or nothing if it is too long.
    fn insert(&mut self, row: &Row<'_>, out: &mut Buffer) -> Result<(), TooLong>;

    /// Appends a statement without parameters and results, or nothing if it is too long.
    fn execute(&mut self, statement: &str, out: &mut Vec<u8>) -> Result<(), TooLong>;

    /// Appends what the client sends last.
    fn bye(&self, out: &mut Vec<u8>) -> Result<(), TooLong>;
}

/// What the server sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The answer to an insert.
    Inserted(&'static [u8]),
    /// Another answer, of the client's connect or to a statement.
    Other(Vec<u8>, Phase),
}

/// What a packet means for the server.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) parts: Parts,
    pub(crate) phase: Phase,
    /// The insert that is complete with this packet.
    pub(crate) insert: Option<Inserted>,
    pub(crate) answer: Option<Answer>,
}

/// The payload of an insert that has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inserted {
    pub(crate) payload_bytes: u64,
    /// The first bytes of the payload.
    pub(crate) front: Front,
}

impl Inserted {
    /// The insert in one packet with these parts.
    pub(crate) fn from_packet(packet: &[u8], parts: Parts) -> Self {
        let payload = packet.get(parts.before..parts.before + parts.payload);
        Self {
            payload_bytes: parts.payload as u64,
            front: Front::from_payload(payload.unwrap_or_default()),
        }
    }
}

/// One connection in the protocol of a database, on the server's side.
pub(crate) trait ServerDialect: fmt::Debug + Send {
    /// What the server sends first.
    fn greeting(&mut self) -> Option<Answer>;

    /// The length of the packet at the front of `bytes`; `None` while its header is incomplete.
    fn packet_len(&self, bytes: &[u8]) -> Result<Option<usize>, Malformed>;

    /// Handles a whole packet.
    fn receive(&mut self, packet: &[u8]) -> Result<Reply, Malformed>;

    /// Bytes of answers that the client has not asked for yet.
    fn held(&self) -> usize {
        0
    }
}
