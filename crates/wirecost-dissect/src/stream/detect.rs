//! Which protocol a stream speaks: by its first bytes, and by the server's port where they leave a choice.

use wirecost_proto::Direction;

use super::Protocol;
use super::bare::Bare;
use super::http1::Http1;
use super::mqtt::Mqtt;
use super::tls::{Tls, is_record};

/// What the first bytes of a stream say.
pub(super) enum Detected {
    Protocol(Protocol),
    /// More than one protocol can start like this.
    TooFewBytes,
}

/// What requests and responses start with (RFC 9110 section 9, RFC 9112 section 4).
const HTTP_STARTS: [&str; 10] = [
    "GET ", "POST ", "PUT ", "HEAD ", "DELETE ", "PATCH ", "OPTIONS ", "TRACE ", "CONNECT ", "HTTP/1.",
];

/// What other protocols start with, to be named.
const OTHERS: [(&str, &str); 5] = [
    ("SSH-", "SSH"),
    ("PRI * HTTP/2", "HTTP/2"),
    ("220 ", "SMTP or FTP"),
    ("STARTTLS", "STARTTLS"),
    ("RFB ", "VNC"),
];

/// Bytes within which every protocol here shows itself.
const ENOUGH_BYTES: usize = 14;

/// The ports on which a bare server listens: discard (RFC 863), and the one that wirecost takes for bare messages
/// inside a secure channel.
const BARE_PORTS: [u16; 2] = [9, 10_009];

/// The protocol of a stream of which one direction starts with `bytes`.
pub(super) fn detect(server_port: u16, direction: Direction, bytes: &[u8]) -> Detected {
    match is_record(bytes) {
        Some(true) => return Detected::Protocol(Protocol::Tls(Box::new(Tls::new(server_port)))),
        None => return Detected::TooFewBytes,
        Some(false) => {}
    }
    let by_content = [http1, amqp, other, mqtt];
    let mut undecided = false;
    for found in by_content.iter().map(|detect| detect(bytes)) {
        match found {
            Match::Yes(protocol) => return Detected::Protocol(protocol),
            Match::Perhaps => undecided = true,
            Match::No => {}
        }
    }
    if BARE_PORTS.contains(&server_port) && direction == Direction::Up {
        return Detected::Protocol(Protocol::Bare(Bare::default()));
    }
    if undecided && bytes.len() < ENOUGH_BYTES {
        return Detected::TooFewBytes;
    }
    Detected::Protocol(by_port(server_port))
}

/// What a connection that was open before the capture began speaks, if its port says so.
fn by_port(server_port: u16) -> Protocol {
    match server_port {
        1883 | 8883 => Protocol::Mqtt(Mqtt::default()),
        5671 | 5672 => Protocol::Amqp(Box::default()),
        _ => Protocol::Unknown("unknown"),
    }
}

enum Match {
    Yes(Protocol),
    Perhaps,
    No,
}

/// Whether `bytes` start with `text`, as far as they go.
fn starts(bytes: &[u8], text: &str) -> Option<bool> {
    let text = text.as_bytes();
    if bytes.starts_with(text) {
        return Some(true);
    }
    text.starts_with(bytes).then_some(false)
}

fn first_of<T>(bytes: &[u8], starts_with: impl Iterator<Item = (&'static str, T)>) -> Result<T, Match> {
    let mut undecided = Match::No;
    for (text, value) in starts_with {
        match starts(bytes, text) {
            Some(true) => return Ok(value),
            Some(false) => undecided = Match::Perhaps,
            None => {}
        }
    }
    Err(undecided)
}

fn http1(bytes: &[u8]) -> Match {
    let texts = HTTP_STARTS.into_iter().map(|text| (text, ()));
    first_of(bytes, texts).map_or_else(|no| no, |()| Match::Yes(Protocol::Http1(Http1::default())))
}

fn other(bytes: &[u8]) -> Match {
    first_of(bytes, OTHERS.into_iter()).map_or_else(|no| no, |name| Match::Yes(Protocol::Unknown(name)))
}

/// The protocol header (AMQP 1.0 part 2 section 2.2): the name, an identifier, and version 1.0.0.
fn amqp(bytes: &[u8]) -> Match {
    match (starts(bytes, "AMQP"), bytes.get(4..8)) {
        (Some(true), Some([_, 1, 0, 0])) => Match::Yes(Protocol::Amqp(Box::default())),
        (Some(true), Some(_)) => Match::Yes(Protocol::Unknown("AMQP 0-9-1")),
        (Some(_), _) => Match::Perhaps,
        (None, _) => Match::No,
    }
}

/// CONNECT, flags 0, and the protocol's name behind a length of one to four bytes (MQTT 5 section 3.1.2.1).
fn mqtt(bytes: &[u8]) -> Match {
    if bytes.first() != Some(&0x10) {
        return Match::No;
    }
    let head = bytes.get(..ENOUGH_BYTES).unwrap_or(bytes);
    let named = |name: &[u8]| head.windows(name.len()).any(|window| window == name);
    if named(b"\x00\x04MQTT") || named(b"\x00\x06MQIsdp") {
        return Match::Yes(Protocol::Mqtt(Mqtt::default()));
    }
    if bytes.len() < ENOUGH_BYTES {
        Match::Perhaps
    } else {
        Match::No
    }
}
