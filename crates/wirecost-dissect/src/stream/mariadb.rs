//! The protocol of MariaDB and MySQL: describes packets by their command, and in an execution of wirecost's insert the
//! payload. What comes before the first execution or query is the connect.

use wirecost_proto::Direction;
use wirecost_store::Parts;
use wirecost_store::mariadb::codec::{
    HEADER_BYTES, command, continued_parts, execute_parts, is_continued, packet_len,
};

use super::Unreadable;
use crate::span_list::{Purpose, Rest};

#[derive(Debug, Default)]
pub(crate) struct Mariadb {
    /// Whether the client has sent a statement.
    is_open: bool,
    /// The client's command of which further packets follow.
    continued: Option<Continued>,
}

/// What the further packets of a command carry.
#[derive(Clone, Copy, Debug)]
enum Continued {
    Payload,
    Other(Purpose),
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
        if let Some(continued) = self.continued {
            self.continued = self.continued.filter(|_| is_continued(len));
            return Ok(Some(match continued {
                Continued::Payload => message(continued_parts(len)),
                Continued::Other(purpose) => whole(len, purpose),
            }));
        }
        // A command begins a sequence; the client's answers while it logs in continue one.
        let (Some(sequence), Some(kind)) = (bytes.get(3), bytes.get(HEADER_BYTES)) else {
            return Ok((len == HEADER_BYTES).then(|| whole(len, Purpose::CONNECT)));
        };
        if *sequence != 0 {
            return Ok(Some(whole(len, Purpose::CONNECT)));
        }
        self.is_open |= matches!(*kind, command::EXECUTE | command::QUERY);
        let (rest, continued) = match *kind {
            command::EXECUTE => match execute_parts(bytes) {
                None => return Ok(None),
                Some(parts) => (message(parts), Continued::Payload),
            },
            kind => {
                let purpose = match kind {
                    command::QUIT => Purpose::CLOSE,
                    _ if self.is_open => Purpose::MESSAGE,
                    _ => Purpose::CONNECT,
                };
                (whole(len, purpose), Continued::Other(purpose))
            }
        };
        self.continued = is_continued(len).then_some(continued);
        Ok(Some(rest))
    }
}

fn message(parts: Parts) -> Rest {
    let Parts {
        before,
        payload,
        after,
    } = parts;
    Rest::new([before as u64, payload as u64, after as u64], Purpose::MESSAGE)
}

fn whole(len: usize, purpose: Purpose) -> Rest {
    Rest::new([len as u64, 0, 0], purpose)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirecost_store::mariadb::codec::LARGEST_CONTENT;

    /// The bytes of a packet's content, and its header.
    fn packet(sequence: u8, content: &[u8]) -> Vec<u8> {
        let [a, b, c, ..] = content.len().to_le_bytes();
        [&[a, b, c, sequence], content].concat()
    }

    #[test]
    fn the_payload_goes_on_in_the_packet_behind_one_of_the_largest_length() {
        // A command, a statement, flags, iterations, which are NULL, no types, a sender of one byte, a number.
        let head = b"\x17\x01\0\0\0\0\x01\0\0\0\0\0\x01s\0\0\0\0\0\0\0\0";
        let payload = LARGEST_CONTENT + 5;
        let [a, b, c, d, ..] = payload.to_le_bytes();
        let mut content = [&head[..], &[0xfe, a, b, c, d, 0, 0, 0, 0]].concat();
        let before = content.len();
        content.resize(LARGEST_CONTENT, 7);
        let mut stream = Mariadb::default();
        let mut parts = |bytes: &[u8]| {
            let rest = stream.packet(Direction::Up, bytes).ok().flatten();
            rest.expect("a whole packet").parts
        };
        let (whole, left) = (LARGEST_CONTENT as u64, (before + 5) as u64);
        let first = [4 + before as u64, whole - before as u64, 0];
        assert_eq!(parts(&packet(0, &content)), first);
        assert_eq!(parts(&packet(1, &vec![7; before + 5])), [4, left, 0]);
        // The next command.
        assert_eq!(parts(&packet(0, b"\x01")), [5, 0, 0]);
    }
}
