//! Names messages of protocols without protection on TCP.

use wirecost_amqp::codec::{Frame, FrameType, Performative, Sasl};
use wirecost_coap::stream;
use wirecost_mqtt::codec::PacketType;
use wirecost_mqtt::codec::framing::packet_len;
use wirecost_proto::{Direction, Layer};
use wirecost_store::Store;
use wirecost_store::mariadb::codec as mariadb;
use wirecost_store::mongodb::codec as mongodb;
use wirecost_store::postgres::codec::{backend, frontend, message_len, startup_len};

use super::{Content, push_new};
use crate::Application;

/// The messages that begin in a segment; empty where its content continues an earlier message.
pub(super) fn messages(application: Application, direction: Direction, content: &Content<'_>) -> Vec<String> {
    let mut spans = content.spans_of(0..content.bytes.len());
    // A message begins with bytes of its protocol.
    if spans.next().is_none_or(|span| span.layer != Layer::Application) {
        return Vec::new();
    }
    match application {
        Application::Mqtt311(_) | Application::Mqtt5(_) => mqtt_packets(content.bytes),
        Application::AmqpSettled | Application::AmqpUnsettled => amqp_frames(content.bytes),
        Application::CoapTcp => coap_messages(content.bytes),
        Application::Http1 => start_line(content.bytes).into_iter().collect(),
        Application::Tcp => vec!["message".into()],
        Application::Store(Store::Postgres) => postgres_messages(direction, content.bytes),
        Application::Store(Store::Mariadb) => mariadb_packets(direction, content.bytes),
        Application::Store(Store::Mongodb) => mongodb_messages(direction, content.bytes),
        Application::Udp
        | Application::MqttSn(_)
        | Application::CoapNon
        | Application::CoapCon
        | Application::Http3 => Vec::new(),
    }
}

pub(super) fn mqtt_packets(mut bytes: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    while let Some(packet) = bytes.first().and_then(|first| PacketType::from_bits(first >> 4)) {
        names.push(packet.name().to_owned());
        let Ok(Some(len)) = packet_len(bytes, u32::MAX) else {
            break;
        };
        bytes = bytes.get(len..).unwrap_or_default();
    }
    names
}

/// The methods of requests, the codes of responses, the names of signaling messages (RFC 8323 section 5).
pub(super) fn coap_messages(mut bytes: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    while let Some(code) = stream::code(bytes) {
        let name = code.name().filter(|_| matches!(code.class_digit(), 0 | 7));
        names.push(name.map_or(code.to_string(), str::to_owned));
        let Ok(Some(len)) = stream::message_len(bytes, u32::MAX) else {
            break;
        };
        bytes = bytes.get(len..).unwrap_or_default();
    }
    names
}

/// Protocol headers and performatives (AMQP 1.0, part 2, sections 2.2 and 2.3).
pub(super) fn amqp_frames(mut bytes: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    while let Some((size, _)) = bytes.split_first_chunk() {
        let (name, len) = match bytes {
            [b'A', b'M', b'Q', b'P', protocol, ..] => (Some(header_name(*protocol)), 8),
            _ => (frame_name(bytes), u32::from_be_bytes(*size) as usize),
        };
        let Some(name) = name.filter(|_| len >= 8) else {
            break;
        };
        names.push(name.into());
        bytes = bytes.get(len..).unwrap_or_default();
    }
    names
}

/// The name of a protocol header by its protocol id (part 2, section 2.2; part 5, sections 5.2.1 and 5.3.2).
const fn header_name(protocol: u8) -> &'static str {
    match protocol {
        2 => "TLS header",
        3 => "SASL header",
        _ => "AMQP header",
    }
}

/// The content of a frame. The frame may continue in the next segment.
fn frame_name(bytes: &[u8]) -> Option<&'static str> {
    let frame = Frame::new(bytes);
    let body = frame.body().ok()?;
    match frame.frame_type().ok()? {
        // A frame without a body only keeps the connection alive (part 2, section 2.4.5).
        FrameType::Amqp if body.is_empty() => Some("empty frame"),
        FrameType::Amqp => Performative::decode(body).ok().map(|(found, _)| found.name()),
        FrameType::Sasl => Sasl::decode(body).ok().map(|found| found.name()),
    }
}

/// Method and target of a request line, or status and reason of a status line (RFC 9112 sections 3 and 4).
pub(super) fn start_line(bytes: &[u8]) -> Option<String> {
    let line = bytes.split(|byte| *byte == b'\r').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let line = line.strip_prefix("HTTP/1.1 ").unwrap_or(line);
    Some(
        line.strip_suffix(" HTTP/1.1")
            .unwrap_or(line)
            .trim_end()
            .to_owned(),
    )
}

/// Messages by their type, and the start-up message, which has none (PostgreSQL documentation, chapter 55.7).
pub(super) fn postgres_messages(direction: Direction, mut bytes: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    while let Some(first) = bytes.first() {
        let (name, len) = match (direction, *first) {
            (Direction::Up, 0) => (Some("StartupMessage"), startup_len(bytes)),
            (Direction::Up, kind) => (frontend::name(kind), message_len(bytes)),
            (Direction::Down, kind) => (backend::name(kind), message_len(bytes)),
        };
        let Some(name) = name else {
            break;
        };
        push_new(&mut names, name.to_owned());
        let Ok(Some(len)) = len else {
            break;
        };
        bytes = bytes.get(len..).unwrap_or_default();
    }
    names
}

/// Commands and answers by their first byte. What continues a login has a sequence number above 0.
pub(super) fn mariadb_packets(direction: Direction, mut bytes: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    while let (Some(len), Some(sequence), Some(kind)) = (
        mariadb::packet_len(bytes),
        bytes.get(3),
        bytes.get(mariadb::HEADER_BYTES),
    ) {
        let name = match (direction, *kind, *sequence) {
            (Direction::Up, kind, 0) => mariadb::command::name(kind).unwrap_or("command"),
            (Direction::Up, ..) => "login",
            (Direction::Down, mariadb::VERSION, 0) => "handshake",
            (Direction::Down, mariadb::answer::OK, _) => "OK",
            (Direction::Down, mariadb::answer::ERR, _) => "ERR",
            (Direction::Down, mariadb::answer::EOF, _) => "EOF",
            (Direction::Down, ..) => "definition",
        };
        push_new(&mut names, name.to_owned());
        bytes = bytes.get(len..).unwrap_or_default();
    }
    names
}

/// The command of each message up; the answers have no name.
pub(super) fn mongodb_messages(direction: Direction, mut bytes: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    while let Ok(Some(len)) = mongodb::message_len(bytes) {
        let command = mongodb::command(bytes).filter(|_| direction == Direction::Up);
        let name = command.map_or("answer".into(), String::from_utf8_lossy);
        push_new(&mut names, name.into_owned());
        bytes = bytes.get(len..).unwrap_or_default();
    }
    names
}
