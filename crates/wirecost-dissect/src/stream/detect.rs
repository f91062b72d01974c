//! Recognizes a stream's protocol by its first bytes and, if they are ambiguous, by the server's port.

use wirecost_proto::Direction;

use super::http1::Http1;
use super::mariadb::Mariadb;
use super::mongodb::Mongodb;
use super::mqtt::Mqtt;
use super::postgres::Postgres;
use super::tls::{Tls, is_record};
use super::{Protocol, amqp, coap as messages};

/// What the first bytes of a stream show.
pub(super) enum Detected {
    Protocol(Protocol),
    /// More than one protocol can start like this.
    TooFewBytes,
}

/// First bytes of requests (RFC 9110 section 9).
pub(super) const REQUESTS: [&str; 9] = [
    "GET ", "POST ", "PUT ", "HEAD ", "DELETE ", "PATCH ", "OPTIONS ", "TRACE ", "CONNECT ",
];

/// First bytes of a response (RFC 9112 section 4).
pub(super) const RESPONSE: &str = "HTTP/1.";

/// First bytes and names of protocols that this crate cannot describe.
const OTHERS: [(&str, &str); 5] = [
    ("SSH-", "SSH"),
    ("PRI * HTTP/2", "HTTP/2"),
    ("220 ", "SMTP or FTP"),
    ("STARTTLS", "STARTTLS"),
    ("RFB ", "VNC"),
];

/// The number of bytes by which every known protocol is recognized.
const ENOUGH_BYTES: usize = 14;

/// Ports of bare servers: discard (RFC 863), and the port that wirecost uses for bare messages inside a secure
/// channel.
const BARE_PORTS: [u16; 2] = [9, 10_009];

/// The protocol of a stream, one direction of which starts with `bytes`.
pub(super) fn detect(server_port: u16, direction: Direction, bytes: &[u8]) -> Detected {
    match is_record(bytes) {
        Some(true) => return Detected::Protocol(Protocol::Tls(Box::new(Tls::new(server_port)))),
        None => return Detected::TooFewBytes,
        Some(false) => {}
    }
    if server_port == wirecost_store::postgres::PORT && direction == Direction::Up {
        match postgres(bytes) {
            Some(true) => return Detected::Protocol(Protocol::Postgres(Postgres::default())),
            Some(false) => {}
            None => return Detected::TooFewBytes,
        }
    }
    let by_content = [http1, amqp_1_0, amqp_0_9_1, other, mqtt, coap];
    let mut undecided = false;
    for found in by_content.iter().map(|detect| detect(bytes)) {
        match found {
            Match::Yes(protocol) => return Detected::Protocol(protocol),
            Match::Perhaps => undecided = true,
            Match::No => {}
        }
    }
    if BARE_PORTS.contains(&server_port) && direction == Direction::Up {
        return Detected::Protocol(Protocol::Bare);
    }
    let is_amqp = matches!(server_port, 5671 | 5672);
    if undecided && bytes.len() < ENOUGH_BYTES || is_amqp && bytes.len() < amqp::HEADER_BYTES {
        return Detected::TooFewBytes;
    }
    Detected::Protocol(by_port(server_port, bytes))
}

/// The protocol of a connection that was open before the capture began, if its port determines one.
fn by_port(server_port: u16, bytes: &[u8]) -> Protocol {
    match server_port {
        1883 | 8883 => Protocol::Mqtt(Mqtt::default()),
        5683 | 5684 => Protocol::Coap,
        5671 | 5672 => amqp_of_port(bytes),
        5432 => Protocol::Postgres(Postgres::open()),
        3306 => Protocol::Mariadb(Mariadb::default()),
        27017 => Protocol::Mongodb(Mongodb::default()),
        _ => Protocol::Unknown("unknown"),
    }
}

enum Match {
    Yes(Protocol),
    Perhaps,
    No,
}

/// Whether `bytes` start with `text`: `Some(false)` if `bytes` are too short to tell, `None` if they do not.
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
    let texts = REQUESTS.into_iter().chain([RESPONSE]).map(|text| (text, ()));
    first_of(bytes, texts).map_or_else(|no| no, |()| Match::Yes(Protocol::Http1(Http1::default())))
}

fn other(bytes: &[u8]) -> Match {
    first_of(bytes, OTHERS.into_iter()).map_or_else(|no| no, |name| Match::Yes(Protocol::Unknown(name)))
}

/// The protocol header (AMQP 1.0 part 2 section 2.2): the name, an identifier, and version 1.0.0.
fn amqp_1_0(bytes: &[u8]) -> Match {
    match (starts(bytes, "AMQP"), bytes.get(4..8)) {
        (Some(true), Some([_, 1, 0, 0])) => Match::Yes(Protocol::Amqp(Box::default())),
        (Some(true), Some(_)) => Match::Yes(Protocol::Unknown("AMQP 0-9-1")),
        (Some(_), _) => Match::Perhaps,
        (None, _) => Match::No,
    }
}

/// Types of the frames of AMQP 0-9-1 (section 4.2.3): method, header, body, heartbeat.
const FRAMES_0_9_1: [u8; 4] = [1, 2, 3, 8];

/// A whole frame of AMQP 0-9-1 (section 4.2.3): type, channel and size in seven bytes, then the content and the byte 0xce.
fn amqp_0_9_1(bytes: &[u8]) -> Match {
    let Some([kind, _, _, a, b, c, d]) = bytes.first_chunk() else {
        return Match::No;
    };
    let size = usize::try_from(u32::from_be_bytes([*a, *b, *c, *d])).unwrap_or(usize::MAX);
    let end = size.checked_add(7).and_then(|end| bytes.get(end));
    // Methods belong to a class: connection, channel, access, exchange, queue, basic, confirm or tx.
    let class = bytes.get(7..9);
    let is_method = || matches!(class, Some([0, 10 | 20 | 30 | 40 | 50 | 60 | 85 | 90]));
    if FRAMES_0_9_1.contains(kind) && end == Some(&0xce) && (*kind != 1 || is_method()) {
        return Match::Yes(Protocol::Unknown("AMQP 0-9-1"));
    }
    Match::No
}

/// The version of AMQP in a connection that was open before the capture began. A frame of AMQP 1.0 starts with a size below
/// 16 MiB, one of AMQP 0-9-1 with its type.
fn amqp_of_port(bytes: &[u8]) -> Protocol {
    match bytes {
        [0, _, _, _, 2..=255, 0 | 1, ..] => Protocol::Amqp(Box::default()),
        [kind, ..] if FRAMES_0_9_1.contains(kind) => Protocol::Unknown("AMQP 0-9-1"),
        _ => Protocol::Unknown("AMQP"),
    }
}

/// Whether a stream to PostgreSQL's port starts with a message that has no type: its length is below 16 MiB. `None` while it
/// is empty.
fn postgres(bytes: &[u8]) -> Option<bool> {
    bytes.first().map(|first| *first == 0)
}

/// CONNECT with flags 0, then the protocol name after a length of one to four bytes (MQTT 5 section 3.1.2.1).
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

/// A CSM, which each side of CoAP over TCP sends first (RFC 8323 section 5.3).
fn coap(bytes: &[u8]) -> Match {
    match messages::is_csm(bytes) {
        Some(true) => Match::Yes(Protocol::Coap),
        Some(false) => Match::No,
        None => Match::Perhaps,
    }
}
