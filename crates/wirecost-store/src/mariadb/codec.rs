//! Packets: a length of three bytes, a sequence number, and the content. Integers are little-endian.
//!
//! Content of [`LARGEST_CONTENT`] bytes or more continues in further packets; the first shorter one, which may be empty, is the last
//! (MariaDB Knowledge Base, "0-packet", section on the standard packet).

use core::iter;

use crate::reader::Reader;
use crate::{Malformed, Parts};

/// Length and sequence number.
pub const HEADER_BYTES: usize = 4;

/// The most content of a packet, in bytes.
pub const LARGEST_CONTENT: usize = 0xff_ffff;

/// The first byte of a command.
pub mod command {
    /// The last packet.
    pub const QUIT: u8 = 0x01;
    /// A statement without parameters.
    pub const QUERY: u8 = 0x03;
    /// Asks whether the server is there.
    pub const PING: u8 = 0x0e;
    /// Prepares a statement.
    pub const PREPARE: u8 = 0x16;
    /// Runs a prepared statement.
    pub const EXECUTE: u8 = 0x17;

    /// The name of a command.
    pub const fn name(kind: u8) -> Option<&'static str> {
        Some(match kind {
            QUIT => "COM_QUIT",
            0x02 => "COM_INIT_DB",
            QUERY => "COM_QUERY",
            PING => "COM_PING",
            PREPARE => "COM_STMT_PREPARE",
            EXECUTE => "COM_STMT_EXECUTE",
            0x18 => "COM_STMT_SEND_LONG_DATA",
            0x19 => "COM_STMT_CLOSE",
            0x1a => "COM_STMT_RESET",
            _ => return None,
        })
    }
}

/// The first byte of an answer.
pub mod answer {
    /// Carried out.
    pub const OK: u8 = 0x00;
    /// Not carried out.
    pub const ERR: u8 = 0xff;
    /// The end of definitions; while a client logs in, a request for another way to authenticate.
    pub const EOF: u8 = 0xfe;
}

/// The version of the protocol, the first byte of the server's greeting.
pub const VERSION: u8 = 10;

/// The length of a packet with its header, in bytes; `None` while the length is incomplete.
pub fn packet_len(bytes: &[u8]) -> Option<usize> {
    let [a, b, c]: [u8; 3] = *bytes.first_chunk()?;
    let content = u32::from_le_bytes([a, b, c, 0]);
    Some(content as usize + HEADER_BYTES)
}

/// Whether content goes on in the next packet, after a packet of `len` bytes with its header.
pub const fn is_continued(len: usize) -> bool {
    len >= HEADER_BYTES + LARGEST_CONTENT
}

/// The headers of the packets that carry `len` bytes of content, each with the length of its own content.
pub(crate) fn headers(first: u8, len: usize) -> impl Iterator<Item = ([u8; HEADER_BYTES], usize)> {
    let lens = iter::repeat_n(LARGEST_CONTENT, len / LARGEST_CONTENT);
    let lens = lens.chain(iter::once(len % LARGEST_CONTENT));
    lens.scan(first, |sequence, len| {
        let [a, b, c, ..] = len.to_le_bytes();
        let header = [a, b, c, *sequence];
        *sequence = sequence.wrapping_add(1);
        Some((header, len))
    })
}

/// Appends the content that `write` appends, in as many packets as it needs.
pub(crate) fn packet(sequence: u8, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let mut content = Vec::new();
    write(&mut content);
    let mut rest = &content[..];
    for (header, len) in headers(sequence, content.len()) {
        let (part, behind) = rest.split_at(len);
        out.extend(header);
        out.extend(part);
        rest = behind;
    }
}

/// Appends a length-encoded integer.
pub(crate) fn length_encoded(value: usize, out: &mut Vec<u8>) {
    let bytes = (value as u64).to_le_bytes();
    match value {
        0..=250 => out.push(bytes[0]),
        251..=0xffff => {
            out.push(0xfc);
            out.extend(&bytes[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend(&bytes[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend(bytes);
        }
    }
}

/// Reads a length-encoded integer.
fn read_length(reader: &mut Reader<'_>) -> Option<usize> {
    let width = match *reader.try_take(1)? {
        [small @ 0..=250] => return Some(usize::from(small)),
        [0xfc] => 2,
        [0xfd] => 3,
        [0xfe] => 8,
        _ => return None,
    };
    let mut bytes = [0; 8];
    bytes[..width].copy_from_slice(reader.try_take(width)?);
    usize::try_from(u64::from_le_bytes(bytes)).ok()
}

/// The parts of the first packet of an execution of wirecost's insert, from the bytes before the payload; `None` while they are
/// incomplete. An execution of another statement has no payload: its parameters cannot be told apart without its definition.
pub fn execute_parts(bytes: &[u8]) -> Option<Parts> {
    let len = packet_len(bytes)?;
    let available = bytes.get(..len).unwrap_or(bytes);
    match before_payload(available) {
        Some((before, payload)) if before + payload == len => Some(Parts {
            before,
            payload,
            after: 0,
        }),
        Some((before, payload)) if is_continued(len) && before + payload > len => Some(Parts {
            before,
            payload: len - before,
            after: 0,
        }),
        None if available.len() < len => None,
        _ => Some(Parts::plain(len)),
    }
}

/// The parts of a packet of `len` bytes that continues a payload.
pub const fn continued_parts(len: usize) -> Parts {
    Parts {
        before: HEADER_BYTES,
        payload: len.saturating_sub(HEADER_BYTES),
        after: 0,
    }
}

/// The place and the length of the payload in an execution.
fn before_payload(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut reader = Reader::new(bytes.get(HEADER_BYTES..)?);
    // Command, statement, flags, iterations; then which parameters are NULL.
    reader.try_take(1 + 4 + 1 + 4 + 1)?;
    // Whether the types of the three parameters follow.
    if reader.try_take(1)? == [1] {
        reader.try_take(6)?;
    }
    let sender = read_length(&mut reader)?;
    reader.try_take(sender)?;
    reader.try_take(8)?;
    let payload = read_length(&mut reader)?;
    Some((bytes.len() - reader.rest().len(), payload))
}

/// The server's first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handshake {
    /// Random bytes for the proof of a password.
    pub(crate) scramble: [u8; 20],
}

impl Handshake {
    /// Reads the content of the packet.
    pub(crate) fn read(content: &[u8]) -> Result<Self, Malformed> {
        const WHAT: &str = "a handshake of version 10";
        let mut reader = Reader::new(content);
        if reader.array(WHAT)? != [VERSION] {
            return Err(Malformed { expected: WHAT });
        }
        reader.until_zero(WHAT)?;
        reader.take(4, WHAT)?;
        let mut scramble = [0; 20];
        scramble[..8].copy_from_slice(reader.take(8, WHAT)?);
        // A zero; capabilities, character set, status, capabilities; length of the scramble; reserved.
        reader.take(1 + 2 + 1 + 2 + 2 + 1 + 10, WHAT)?;
        scramble[8..].copy_from_slice(reader.take(12, WHAT)?);
        Ok(Self { scramble })
    }
}

/// The code and the words of an ERR packet's content: `message (code)`.
pub(crate) fn error(content: &[u8]) -> (u16, Vec<u8>) {
    let code = content
        .get(1..3)
        .map_or(0, |code| u16::from_le_bytes([code[0], code[1]]));
    let text = content.get(3..).unwrap_or_default();
    // A marker and the SQLSTATE of five bytes.
    let message = match text.first() {
        Some(b'#') => text.get(6..).unwrap_or_default(),
        _ => text,
    };
    (code, [message, format!(" ({code})").as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_survive_in_every_width() {
        for value in [0, 250, 251, 0xffff, 0x1_0000, 0xff_ffff, 0x100_0000] {
            let mut out = Vec::new();
            length_encoded(value, &mut out);
            let mut reader = Reader::new(&out);
            assert_eq!((read_length(&mut reader), reader.rest()), (Some(value), &[][..]));
        }
    }

    #[test]
    fn an_execution_of_another_statement_has_no_payload() {
        let mut other = Vec::new();
        packet(0, &mut other, |out| {
            out.extend([0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 5])
        });
        assert_eq!(execute_parts(&other), Some(Parts::plain(other.len())));
        assert_eq!(execute_parts(&other[..10]), None);
    }
}
