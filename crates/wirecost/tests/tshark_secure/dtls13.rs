//! DTLS 1.3: tshark 4.0 gives the datagrams but cannot read their records; an opener of its own does, by the keys in
//! the capture.

#[path = "../../../wirecost-security/tests/dtls_opener/mod.rs"]
mod dtls_opener;

use std::path::Path;

use wirecost_proto::Direction;

use crate::books::{Books, Step, Sums};
use crate::common::capture::key_log;
use crate::common::frames::{Connection, Frame};
use dtls_opener::{Opened, Opener};

/// The fields that [`Keys::books`] reads.
pub(crate) const FIELDS: [&str; 1] = ["udp.payload"];

/// Record types (RFC 9147, section 4.1).
const ALERT: u8 = 21;
const APPLICATION_DATA: u8 = 23;
/// Client hello (RFC 8446, appendix B.3).
const CLIENT_HELLO: u8 = 1;
/// The record type of handshake messages (RFC 9147, section 4).
const HANDSHAKE: u8 = 22;

/// The key log of a run.
pub(crate) struct Keys(String);

impl Keys {
    /// The key log that a capture holds.
    pub(crate) fn from_capture(capture: &Path) -> Self {
        Self(key_log(capture).expect("a capture with its keys"))
    }

    /// The books of one connection.
    pub(crate) fn books(&self, connection: &Connection) -> Books {
        let opener = self.opener(connection);
        let (mut books, mut messages) = (Books::default(), 0);
        for frame in &connection.frames {
            let way = frame.packet.way;
            let opened = opener.open_all([Direction::Up, Direction::Down][way], &content(frame));
            let data: Vec<&Opened> = opened
                .iter()
                .filter(|record| record.content == APPLICATION_DATA)
                .collect();
            let mut sums = Sums {
                packets: 1,
                ip: frame.packet.ip_bytes,
                transport: frame.transport_bytes(),
                ..Sums::default()
            };
            sums.security = frame.packet.wire_bytes - sums.wire();
            let step = match data.as_slice() {
                [] if opened.iter().any(|record| record.content == ALERT) => Step::Close,
                [] => Step::Connect,
                [record] => {
                    assert_eq!(opened.len(), 1, "frame {}", frame.packet.frame);
                    messages += u64::from(way == 0);
                    split(&connection.cell, record, &mut sums);
                    Step::Message(messages)
                }
                _ => panic!("frame {}: two records of data", frame.packet.frame),
            };
            books.enter(step, way, &sums);
        }
        books
    }

    /// The lines of a key log begin with a label and the client's random.
    fn opener(&self, connection: &Connection) -> Opener {
        // A record's type, and after its header of 13 B the handshake message's.
        let hello = |frame: &&Frame| {
            let bytes = content(frame);
            bytes.first() == Some(&HANDSHAKE) && bytes.get(13) == Some(&CLIENT_HELLO)
        };
        let hello = connection.frames.iter().find(hello).expect("a client hello");
        // Behind the record's header, the message's and the version (RFC 9147, sections 4, 5.2 and 5.3).
        let payload = hello.texts("udp.payload")[0].replace(':', "");
        let random = &payload[2 * 27..2 * (27 + 32)];
        let lines = self.0.lines().filter(|line| line.contains(random));
        Opener::new(&lines.map(|line| format!("{line}\n")).collect::<String>())
    }
}

fn content(frame: &Frame) -> Vec<u8> {
    let hex = frame.texts("udp.payload")[0].replace(':', "");
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal digits");
    (0..hex.len()).step_by(2).map(byte).collect()
}

/// Parts what a record holds: a bare payload, or CoAP up to its payload marker.
fn split(cell: &str, record: &Opened, sums: &mut Sums) {
    let inner = record.plaintext.len() as u64;
    let application = if cell.starts_with("udp") {
        0
    } else {
        coap_header_bytes(&record.plaintext)
    };
    sums.security -= inner;
    sums.application = application;
    sums.payload = inner - application;
}

/// Header, token, options and payload marker of a CoAP message (RFC 7252, section 3).
fn coap_header_bytes(message: &[u8]) -> u64 {
    let mut at = 4 + usize::from(message[0] & 0x0f);
    while let Some(byte) = message.get(at) {
        at += 1;
        if *byte == 0xff {
            break;
        }
        at += extended_bytes(byte >> 4);
        let length = byte & 0x0f;
        assert!(length < 13, "an option this long has a longer header");
        at += usize::from(length);
    }
    at as u64
}

/// Bytes behind an option's first that a nibble announces (RFC 7252, section 3.1).
const fn extended_bytes(nibble: u8) -> usize {
    match nibble {
        13 => 1,
        14 => 2,
        _ => 0,
    }
}
