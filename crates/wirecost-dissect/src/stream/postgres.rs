//! PostgreSQL's protocol 3.0: describes messages by their type, and in Bind the parameters before the last one, which is the
//! payload. What comes before the first Bind or Query is the connect.

use wirecost_proto::Direction;
use wirecost_store::Parts;
use wirecost_store::postgres::codec::{bind_parts, frontend, message_len, startup_len};

use super::Unreadable;
use crate::span_list::{Purpose, Rest};

/// Codes in place of the version: SSLRequest and GSSENCRequest, which the server answers with one byte.
const ENCRYPTION_REQUESTS: [[u8; 4]; 2] = [[0x04, 0xd2, 0x16, 0x2f], [0x04, 0xd2, 0x16, 0x30]];

#[derive(Debug, Default)]
pub(crate) struct Postgres {
    /// Whether the start-up message has been seen.
    is_started: bool,
    /// Whether the server's answer of one byte is due.
    awaits_byte: bool,
    /// Whether the client has sent a statement.
    is_open: bool,
}

impl Postgres {
    /// A connection that was open before the capture began.
    pub(crate) const fn open() -> Self {
        Self {
            is_started: true,
            awaits_byte: false,
            is_open: true,
        }
    }

    /// Describes the message at the start of `bytes`, or returns `None` if too little of it has arrived.
    pub(crate) fn message(&mut self, direction: Direction, bytes: &[u8]) -> Result<Option<Rest>, Unreadable> {
        match direction {
            Direction::Up if !self.is_started => self.startup(bytes),
            Direction::Up => self.request(bytes),
            Direction::Down => self.answer(bytes),
        }
    }

    fn startup(&mut self, bytes: &[u8]) -> Result<Option<Rest>, Unreadable> {
        let (Some(len), Some(code)) = (startup_len(bytes).map_err(unreadable)?, bytes.get(4..8)) else {
            return Ok(None);
        };
        self.awaits_byte = ENCRYPTION_REQUESTS.iter().any(|request| request == code);
        self.is_started = !self.awaits_byte;
        Ok(Some(whole(len, Purpose::CONNECT)))
    }

    fn request(&mut self, bytes: &[u8]) -> Result<Option<Rest>, Unreadable> {
        let Some(len) = message_len(bytes).map_err(unreadable)? else {
            return Ok(None);
        };
        self.is_open |= matches!(bytes.first(), Some(&(frontend::BIND | frontend::QUERY)));
        if bytes.first() == Some(&frontend::BIND) {
            let parts = bind_parts(bytes).map_err(unreadable)?;
            return Ok(parts.map(
                |Parts {
                     before,
                     payload,
                     after,
                 }| {
                    Rest::new([before as u64, payload as u64, after as u64], Purpose::MESSAGE)
                },
            ));
        }
        let purpose = match bytes.first() {
            Some(&frontend::TERMINATE) => Purpose::CLOSE,
            _ if self.is_open => Purpose::MESSAGE,
            _ => Purpose::CONNECT,
        };
        Ok(Some(whole(len, purpose)))
    }

    fn answer(&mut self, bytes: &[u8]) -> Result<Option<Rest>, Unreadable> {
        if std::mem::take(&mut self.awaits_byte) {
            return match bytes.first() {
                Some(b'S' | b'G') => Err(Unreadable("encryption that begins within PostgreSQL's protocol")),
                _ => Ok(Some(whole(1, Purpose::CONNECT))),
            };
        }
        let purpose = match self.is_open {
            true => Purpose::ACKNOWLEDGEMENT,
            false => Purpose::CONNECT,
        };
        let len = message_len(bytes).map_err(unreadable)?;
        Ok(len.map(|len| whole(len, purpose)))
    }
}

fn whole(len: usize, purpose: Purpose) -> Rest {
    Rest::new([len as u64, 0, 0], purpose)
}

const fn unreadable(malformed: wirecost_store::Malformed) -> Unreadable {
    Unreadable(malformed.expected)
}
