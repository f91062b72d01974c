//! Databases without IO: clients that insert a reading by one statement, and a reference server of the same conversation.
//!
//! - [`client`]: connects, prepares the statement once, inserts, reports answers, closes; the same for every database
//! - [`server`]: accepts connections and answers inserts; it keeps no rows
//! - [`postgres`]: the messages of PostgreSQL, protocol 3.0; [`mariadb`]: the packets of MariaDB and MySQL;
//!   [`mongodb`]: the messages of MongoDB
//! - [`keeper`]: readings that wait for a database, up to a bound
//! - `json`: which payloads a JSON column keeps
//! - `command`: commands, settings and events of the client; `dialect`: what differs between databases
//! - `scram`: authentication by SCRAM-SHA-256 (RFC 5802, RFC 7677)
//!
//! The table is called [`TABLE`] and has four columns: `sender`, the sender's name; `number`, its count of inserts from 0;
//! `stored`, the time at which the database stored the row; `payload`, the reading.
//!
//! ```
//! use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output};
//! use wirecost_store::client::{Client, Config};
//! use wirecost_store::Store;
//!
//! let mut client = Client::new(Config::new(Store::Postgres, "readings", "device-1"));
//! let peer = "192.0.2.1:5432".parse().unwrap();
//! client.handle_input(Input::Opened { flow: FlowId(0), peer }, Instant::START).unwrap();
//! let mut out = Buffer::new();
//! assert_eq!(client.poll_output(&mut out), Output::Transmit { flow: FlowId(0) });
//! assert_eq!(out.bytes()[4..8], [0, 3, 0, 0]); // protocol version 3.0
//! ```

pub mod client;
mod command;
mod dialect;
mod json;
pub mod keeper;
pub mod mariadb;
pub mod mongodb;
pub mod postgres;
mod reader;
mod scram;
pub mod server;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The table of readings.
pub const TABLE: &str = "readings";

/// The user that a client logs in as, unless it has another name.
pub const USER: &str = "wirecost";

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Store {
    /// PostgreSQL.
    Postgres,
    /// MariaDB or MySQL.
    Mariadb,
    /// MongoDB.
    Mongodb,
}

impl Store {
    /// The statement that creates the table, unless it exists; `None` where the first insert does that.
    pub fn create_table(self, column: Column) -> Option<String> {
        match self {
            Self::Postgres => Some(postgres::create_table(column)),
            Self::Mariadb => Some(mariadb::create_table(column)),
            Self::Mongodb => None,
        }
    }

    /// The statements that delete rows after this time.
    pub fn expiry(self, ttl: Duration) -> Expiry {
        match self {
            Self::Postgres => postgres::expiry(ttl),
            Self::Mariadb => mariadb::expiry(ttl),
            Self::Mongodb => mongodb::expiry(ttl),
        }
    }

    /// The port of its servers.
    pub const fn port(self) -> u16 {
        match self {
            Self::Postgres => postgres::PORT,
            Self::Mariadb => mariadb::PORT,
            Self::Mongodb => mongodb::PORT,
        }
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Postgres => "PostgreSQL",
            Self::Mariadb => "MariaDB",
            Self::Mongodb => "MongoDB",
        })
    }
}

/// How a database deletes old rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// Statements before the first insert.
    pub setup: Vec<String>,
    /// A statement for the client to repeat, and how often; `None` where the database does it by itself.
    pub sweep: Option<(Arc<str>, Duration)>,
}

impl Expiry {
    /// The time from one sweep to the next: a tenth of the rows' time, in whole seconds from 1 to 60.
    fn period(ttl: Duration) -> Duration {
        Duration::from_secs((ttl.as_secs() / 10).clamp(1, 60))
    }
}

/// The type of the column `payload`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Column {
    /// Any bytes.
    #[default]
    Bytes,
    /// A JSON text: `jsonb` of PostgreSQL, `JSON` of MariaDB, a value of BSON in MongoDB.
    Json,
}

/// Bytes that are not valid in a database's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("peer must send {expected}")]
pub struct Malformed {
    /// What the protocol has at this place.
    pub expected: &'static str,
}

/// Content that a database's protocol cannot frame, or that its server does not take at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} has at most {most} B, got {len} B")]
pub struct TooLong {
    /// What is too long.
    pub what: &'static str,
    /// Its longest length in bytes.
    pub most: usize,
    /// Its length in bytes.
    pub len: usize,
}

impl TooLong {
    /// Refuses what is longer than `most` bytes.
    pub(crate) const fn check(what: &'static str, len: usize, most: usize) -> Result<(), Self> {
        match len > most {
            true => Err(Self { what, most, len }),
            false => Ok(()),
        }
    }
}

impl From<TooLong> for Malformed {
    fn from(too_long: TooLong) -> Self {
        Self {
            expected: too_long.what,
        }
    }
}

/// A length as the signed integer of 32 bits that PostgreSQL and MongoDB write.
pub(crate) fn int32(what: &'static str, len: usize) -> Result<i32, TooLong> {
    const MOST: usize = i32::MAX as usize;
    i32::try_from(len).map_err(|_| TooLong {
        what,
        most: MOST,
        len,
    })
}

/// The lengths of a packet's parts: the bytes before the payload, the payload, and the bytes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Bytes before the payload.
    pub before: usize,
    /// Bytes of the payload.
    pub payload: usize,
    /// Bytes after the payload.
    pub after: usize,
}

impl Parts {
    /// A packet without a payload.
    pub const fn plain(len: usize) -> Self {
        Self {
            before: len,
            payload: 0,
            after: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_length_is_written_as_it_is_or_refused(len: usize, near in 0..64_usize) {
            for len in [len, near, i32::MAX as usize - near, i32::MAX as usize + 1 + near, u32::MAX as usize + near] {
                match int32("a message", len) {
                    Ok(written) => prop_assert_eq!(usize::try_from(written), Ok(len)),
                    Err(too_long) => prop_assert!(too_long.len == len && len > 0x7fff_ffff),
                }
            }
        }
    }
}
