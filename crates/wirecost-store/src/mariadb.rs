//! The client/server protocol of MariaDB and MySQL (MariaDB Knowledge Base, Client/Server Protocol).
//!
//! - `session`: the client's side; `server`: the reference server's side
//! - [`codec`]: packets, commands, and the parts of an execution
//!
//! An insert is COM_STMT_EXECUTE: with autocommit each is a transaction of its own, and OK comes after its commit.

pub mod codec;
mod server;
mod session;

use std::time::Duration;

use crate::{Column, Expiry, TABLE};

pub(crate) use server::Conversation;
pub(crate) use session::Session;

/// The port that is registered for MySQL.
pub const PORT: u16 = 3306;

/// The parameters of the insert.
const PARAMETERS: u16 = 3;

/// The statement that creates the table, unless it exists.
pub fn create_table(column: Column) -> String {
    let (sender, kind) = match column {
        Column::Bytes => ("VARCHAR(255)", "LONGBLOB"),
        // 65,535 B, the longest topic, whatever character set the database has.
        Column::Json => ("TEXT CHARACTER SET utf8mb4", "JSON"),
    };
    format!(
        "CREATE TABLE IF NOT EXISTS {TABLE} (sender {sender} NOT NULL, number BIGINT NOT NULL, \
         stored TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), payload {kind} NOT NULL)"
    )
}

/// The statement that the client prepares.
fn insert() -> String {
    format!("INSERT INTO {TABLE} (sender, number, payload) VALUES (?, ?, ?)")
}

/// The statements that delete rows after this time: an index, and an event that the server runs by itself.
pub(crate) fn expiry(ttl: Duration) -> Expiry {
    Expiry {
        setup: vec![
            format!("CREATE INDEX IF NOT EXISTS {TABLE}_stored ON {TABLE} (stored)"),
            "SET GLOBAL event_scheduler = ON".to_owned(),
            format!(
                "CREATE OR REPLACE EVENT {TABLE}_expiry ON SCHEDULE EVERY {} SECOND DO DELETE FROM {TABLE} WHERE stored < \
                 NOW(6) - INTERVAL {} MICROSECOND",
                Expiry::period(ttl).as_secs(),
                ttl.as_micros()
            ),
        ],
        sweep: None,
    }
}
