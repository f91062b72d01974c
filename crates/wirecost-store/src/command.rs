//! Commands to the client, its settings, and the events that it reports.

use std::sync::Arc;
use std::time::Duration;

use wirecost_proto::{Content, PeerText, ResetReason};

use crate::{Column, Malformed, Store, TooLong, USER};

/// The default time for an answer while the client connects or closes.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The settings of a client.
#[derive(Clone, Debug)]
pub struct Config {
    /// The kind of database.
    pub store: Store,
    /// The name of the database.
    pub name: String,
    /// The user.
    pub user: String,
    /// The user's password, for a server that asks for one.
    pub password: Option<String>,
    /// The column `sender` of inserts that name no other one.
    pub sender: String,
    /// The type of the column `payload`.
    pub column: Column,
    /// Statements before the insert is prepared, each without parameters and results; commands in JSON (MongoDB).
    pub setup: Vec<String>,
    /// The time since 1970 at the start of the client's clock, in milliseconds: for databases that do not know when they store
    /// (MongoDB). `None` leaves the column `stored` out there.
    pub unix_ms_at_start: Option<u64>,
    /// Random bytes for the login.
    pub nonce: [u8; 18],
    /// How long the server may take to answer while the client connects or closes.
    pub answer_timeout: Duration,
    /// Whether the client describes the bytes that it receives.
    pub describes_received: bool,
}

impl Config {
    /// A client of the database `name`, without a password and without setup.
    pub fn new(store: Store, name: impl Into<String>, sender: impl Into<String>) -> Self {
        Self {
            store,
            name: name.into(),
            user: USER.to_owned(),
            password: None,
            sender: sender.into(),
            column: Column::Bytes,
            setup: Vec::new(),
            unix_ms_at_start: None,
            nonce: [0; 18],
            answer_timeout: ANSWER_TIMEOUT,
            describes_received: true,
        }
    }
}

/// A command to the client. What cannot be sent yet waits in a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Insert a reading.
    Insert {
        /// The number that events give back.
        message: u64,
        /// The columns `sender` and `number`; `None` for the sender of the settings and the client's own count.
        key: Option<Key>,
        /// The column `payload`. Where it is JSON, a payload that the column does not keep as it is becomes `{"base64": ...}`.
        content: Content,
    },
    /// Run a statement without parameters and results.
    Execute {
        /// The number that events give back.
        message: u64,
        /// The statement.
        statement: Arc<str>,
    },
    /// Close the connection once all earlier commands are answered.
    Close,
}

/// The columns that name a reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The column `sender`.
    pub sender: Arc<str>,
    /// The column `number`.
    pub number: u64,
}

/// Why a database did not carry out a command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct Refusal {
    /// The database's words, with its code.
    pub words: PeerText,
    /// Whether the same insert may succeed later.
    pub verdict: Verdict,
}

impl From<TooLong> for Refusal {
    fn from(too_long: TooLong) -> Self {
        Self {
            words: PeerText::new(&too_long.to_string()),
            verdict: Verdict::Never,
        }
    }
}

/// What a refusal says about the same insert at another time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The database does not take this reading.
    Never,
    /// The database takes no reading now: it has no room, no such table, or no right to write.
    Later,
    /// The refusal does not say whether it is about the reading or about the database.
    Unknown,
}

/// An event of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The statement is prepared: the client can insert.
    Opened,
    /// The last byte of an insert or a statement has been handed out.
    Sent {
        /// Its number.
        message: u64,
    },
    /// The database has committed an insert, or carried out a statement.
    Acknowledged {
        /// Its number.
        message: u64,
    },
    /// The database has refused an insert or a statement.
    Refused {
        /// Its number.
        message: u64,
        /// Why.
        refusal: Refusal,
    },
    /// The connection ended before the answer. The row may be stored.
    Discarded {
        /// Its number.
        message: u64,
    },
    /// The connection failed. The client closes it.
    Failed(Failure),
    /// The server closed the connection.
    Closed,
    /// The flow broke.
    Reset(ResetReason),
}

/// Why a connection failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The server has refused the login or the statement, or ends the connection.
    #[error("{0}")]
    Refused(PeerText),
    /// The server asks for a password.
    #[error("the server asks for a password, and none was given")]
    NoPassword,
    /// The server asks for a way to authenticate that the client does not have.
    #[error("the server asks for authentication by {0}, which wirecost does not have")]
    Method(PeerText),
    /// The login by SCRAM failed.
    #[error("{0}")]
    Scram(String),
    /// What the client would say does not fit into the protocol.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// The server's bytes are not valid in the protocol.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The server's first bytes are of another protocol.
    #[error("the server does not speak the protocol of {0}")]
    OtherProtocol(Store),
    /// The server did not answer in time.
    #[error("no answer in time to the {0}")]
    TimedOut(&'static str),
}
