//! MongoDB's OP_MSG: describes messages by their command, and in an insert of wirecost's the payload. What comes before the
//! first insert is the connect.

use wirecost_proto::Direction;
use wirecost_store::Parts;
use wirecost_store::mongodb::codec::{command, insert_parts, message_len};

use super::Unreadable;
use crate::span_list::{Purpose, Rest};

/// Bytes that hold the name of every command of interest.
const NAMED_BYTES: usize = 40;

#[derive(Debug, Default)]
pub(crate) struct Mongodb {
    /// Whether the client has inserted.
    is_open: bool,
}

impl Mongodb {
    /// Describes the message at the start of `bytes`, or returns `None` if too little of it has arrived.
    pub(crate) fn message(&mut self, direction: Direction, bytes: &[u8]) -> Result<Option<Rest>, Unreadable> {
        let len = message_len(bytes).map_err(|malformed| Unreadable(malformed.expected))?;
        let Some(len) = len else {
            return Ok(None);
        };
        let is_up = direction == Direction::Up;
        if is_up && bytes.len() < len.min(NAMED_BYTES) {
            return Ok(None);
        }
        if is_up && command(bytes) == Some(b"insert") {
            self.is_open = true;
            return Ok(insert_parts(bytes).map(
                |Parts {
                     before,
                     payload,
                     after,
                 }| {
                    Rest::new([before as u64, payload as u64, after as u64], Purpose::MESSAGE)
                },
            ));
        }
        let purpose = match (is_up, self.is_open) {
            (_, false) => Purpose::CONNECT,
            (true, true) => Purpose::MESSAGE,
            (false, true) => Purpose::ACKNOWLEDGEMENT,
        };
        Ok(Some(Rest::new([len as u64, 0, 0], purpose)))
    }
}
