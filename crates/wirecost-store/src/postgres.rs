//! PostgreSQL's frontend/backend protocol 3.0 (PostgreSQL documentation, chapters 55.2 and 55.7).
//!
//! - `session`: the client's side; `server`: the reference server's side
//! - [`codec`]: message types, framing, and the parts of a Bind
//!
//! An insert is Bind, Execute and Sync in one flight: each is a transaction of its own, and the answer, ReadyForQuery,
//! comes after its commit.

pub mod codec;
mod server;
mod session;

use std::time::Duration;

use crate::{Column, Expiry, TABLE};

pub(crate) use server::Conversation;
pub(crate) use session::Session;

/// The port that is registered for PostgreSQL.
pub const PORT: u16 = 5432;

/// The name of the prepared statement.
const STATEMENT: &[u8] = b"insert\0";

/// The statement that creates the table, unless it exists.
pub fn create_table(column: Column) -> String {
    let kind = match column {
        Column::Bytes => "bytea",
        Column::Json => "jsonb",
    };
    format!(
        "CREATE TABLE IF NOT EXISTS {TABLE} (sender text NOT NULL, number bigint NOT NULL, \
         stored timestamptz NOT NULL DEFAULT now(), payload {kind} NOT NULL)"
    )
}

/// The statement that the client prepares.
fn insert() -> String {
    format!("INSERT INTO {TABLE} (sender, number, payload) VALUES ($1, $2, $3)")
}

/// The statements that delete rows after this time: an index at the start, and a sweep while somebody runs it.
pub(crate) fn expiry(ttl: Duration) -> Expiry {
    let statement = format!(
        "DELETE FROM {TABLE} WHERE stored < now() - interval '{} milliseconds'",
        ttl.as_millis()
    );
    Expiry {
        setup: vec![format!(
            "CREATE INDEX IF NOT EXISTS {TABLE}_stored ON {TABLE} (stored)"
        )],
        sweep: Some((statement.into(), Expiry::period(ttl))),
    }
}
