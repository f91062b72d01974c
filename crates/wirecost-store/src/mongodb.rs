//! MongoDB's wire protocol: OP_MSG (MongoDB manual, "MongoDB Wire Protocol").
//!
//! - `session`: the client's side; `server`: the reference server's side
//! - [`codec`]: messages, and the parts of an insert; `bson`: documents
//!
//! An insert is one command with one document. The server answers it with the default write concern, once it has applied it.

mod bson;
pub mod codec;
mod server;
mod session;

use std::time::Duration;

use crate::{Expiry, TABLE};

pub(crate) use server::Conversation;
pub(crate) use session::Session;

/// The port that is registered for MongoDB.
pub const PORT: u16 = 27017;

/// The command that deletes documents after this time: an index whose entries expire. The server looks once a minute.
pub(crate) fn expiry(ttl: Duration) -> Expiry {
    let seconds = ttl.as_secs().max(1);
    Expiry {
        setup: vec![format!(
            "{{\"createIndexes\": \"{TABLE}\", \"indexes\": [{{\"key\": {{\"stored\": 1}}, \"name\": \"expiry\", \
             \"expireAfterSeconds\": {seconds}}}]}}"
        )],
        sweep: None,
    }
}
