//! One connection of the library, record by record.

use std::io::{BufRead, Read, Write};

use rustls::{Connection, Error, HandshakeKind, ProtocolVersion};

use super::record::{ContentType, HEADER_BYTES, Header, records};
use crate::Start;
use crate::interleave::Record;

/// Bytes of the tag after the plaintext, in every suite (RFC 5288 section 3, RFC 7905 section 2).
const TAG_BYTES: usize = 16;

/// The content of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opened {
    /// Bytes of plaintext.
    pub(super) plain: usize,
    /// Whether the plaintext arrived before the handshake was complete, so that anyone may have replayed it.
    pub(super) early: bool,
    /// Whether the peer closed its direction (close_notify, RFC 8446 section 6.1).
    pub(super) closed: bool,
}

/// Passes one whole record to the library and appends its plaintext to `plain`.
pub(super) fn open(connection: &mut Connection, record: &[u8], plain: &mut Vec<u8>) -> Result<Opened, Error> {
    let before = plain.len();
    let mut rest = record;
    let mut closed = false;
    while !rest.is_empty() {
        match connection.read_tls(&mut rest) {
            // Everything after a close_notify is ignored (RFC 8446 section 6.1).
            Ok(0) | Err(_) => break,
            Ok(_) => closed = connection.process_new_packets()?.peer_has_closed(),
        }
    }
    read_early(connection, plain);
    let early = plain.len() > before;
    read(connection, plain);
    Ok(Opened {
        plain: plain.len() - before,
        early,
        closed,
    })
}

fn read_early(connection: &mut Connection, plain: &mut Vec<u8>) {
    if let Connection::Server(server) = connection
        && let Some(mut early) = server.early_data()
    {
        // It reads from memory and cannot fail.
        let _ = early.read_to_end(plain);
    }
}

fn read(connection: &mut Connection, plain: &mut Vec<u8>) {
    let mut reader = connection.reader();
    while let Ok(chunk) = reader.fill_buf() {
        let read = chunk.len();
        if read == 0 {
            break;
        }
        plain.extend_from_slice(chunk);
        reader.consume(read);
    }
}

/// Appends the library's output to `sealed`.
pub(super) fn drain(connection: &mut Connection, sealed: &mut Vec<u8>) {
    while connection.wants_write() {
        // Writing to memory cannot fail.
        if connection.write_tls(sealed).is_err() {
            break;
        }
    }
}

/// Protects the plaintext of one record and appends the record to `sealed`, after other output of the library.
pub(super) fn seal(connection: &mut Connection, plain: &[u8], sealed: &mut Vec<u8>) {
    let written = match connection {
        Connection::Client(client) => match client.early_data() {
            Some(mut early) => early.write(plain),
            None => client.writer().write(plain),
        },
        Connection::Server(server) => server.writer().write(plain),
    };
    debug_assert!(
        written.is_ok_and(|written| written == plain.len()),
        "there is room for a record"
    );
    drain(connection, sealed);
}

/// Whether `bytes` of plaintext can be sent now: after the handshake, as early data, or in response to early data.
pub(super) fn may_send(connection: &mut Connection, bytes: usize) -> bool {
    if !connection.is_handshaking() {
        return true;
    }
    match connection {
        Connection::Client(client) => client
            .early_data()
            .is_some_and(|early| early.bytes_left() >= bytes),
        // The configuration that accepts early data lets the server respond at once.
        Connection::Server(server) => server.early_data().is_some(),
    }
}

/// How the connection started. Valid once the handshake is complete.
pub(super) fn start(connection: &mut Connection) -> Start {
    if connection.handshake_kind() != Some(HandshakeKind::Resumed) {
        return Start::Cold;
    }
    let early = match connection {
        Connection::Client(client) => client.is_early_data_accepted(),
        Connection::Server(server) => server.early_data().is_some(),
    };
    if early { Start::ZeroRtt } else { Start::Resumed }
}

/// The layout of a record of `record` bytes.
pub(super) fn layout(connection: &Connection, record: usize, plain: usize) -> Record {
    let front = match connection.protocol_version() {
        // RFC 5288 section 3: an explicit nonce of 8 bytes; RFC 7905 section 2: none.
        Some(ProtocolVersion::TLSv1_2) => record.saturating_sub(plain + TAG_BYTES).max(HEADER_BYTES),
        _ => HEADER_BYTES,
    };
    Record {
        front,
        plain,
        back: record.saturating_sub(front + plain),
    }
}

/// Bytes of the alert at the end of `sealed`, the last output of a failed connection. 0 if there is none.
pub(super) fn last_alert(sealed: &[u8]) -> usize {
    let Some(record) = records(sealed).last() else {
        return 0;
    };
    match Header::parse(record) {
        Ok(Some(header)) if header.content_type != ContentType::ChangeCipherSpec => record.len(),
        _ => 0,
    }
}

/// Bytes of the last record in `sealed`.
pub(super) fn last_record(sealed: &[u8]) -> usize {
    records(sealed).last().map_or(0, <[u8]>::len)
}
