//! The protocol of MariaDB and MySQL: describes packets by their command, and in an execution of wirecost's insert the
//! payload. What comes before the first execution or query is the connect.

use wirecost_proto::Direction;
use wirecost_store::Parts;
use wirecost_store::mariadb::codec::{HEADER_BYTES, command, execute_parts, packet_len};

use super::Unreadable;
use crate::span_list::{Purpose, Rest};

#[derive(Debug, Default)]
pub(crate) struct Mariadb {
    /// Whether the client has sent a statement.
    is_open: bool,
}

impl Mariadb {
    /// Describes the packet at the start of `bytes`, or returns `None` if too little of it has arrived.
    pub(crate) fn packet(&mut self, direction: Direction, bytes: &[u8]) -> Result<Option<Rest>, Unreadable> {
        let Some(len) = packet_len(bytes) else {
            return Ok(None);
        };
        if direction == Direction::Down {
            let purpose = match self.is_open {
                true => Purpose::ACKNOWLEDGEMENT,
                false => Purpose::CONNECT,
            };
            return Ok(Some(whole(len, purpose)));
        }
        // A command begins a sequence; the client's answers while it logs in continue one.
        let (Some(sequence), Some(kind)) = (bytes.get(3), bytes.get(HEADER_BYTES)) else {
            return Ok((len == HEADER_BYTES).then(|| whole(len, Purpose::CONNECT)));
        };
        if *sequence != 0 {
            return Ok(Some(whole(len, Purpose::CONNECT)));
        }
        self.is_open |= matches!(*kind, command::EXECUTE | command::QUERY);
        Ok(match *kind {
            command::EXECUTE => execute_parts(bytes).map(
                |Parts {
                     before,
                     payload,
                     after,
                 }| {
                    Rest::new([before as u64, payload as u64, after as u64], Purpose::MESSAGE)
                },
            ),
            command::QUIT => Some(whole(len, Purpose::CLOSE)),
            _ if self.is_open => Some(whole(len, Purpose::MESSAGE)),
            _ => Some(whole(len, Purpose::CONNECT)),
        })
    }
}

fn whole(len: usize, purpose: Purpose) -> Rest {
    Rest::new([len as u64, 0, 0], purpose)
}
