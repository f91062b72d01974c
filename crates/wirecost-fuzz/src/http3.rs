//! HTTP/3 and QUIC: field sections, frames of both, packets, client, server, and both while their datagrams are changed
//! under way.

use std::slice::Chunks;
use std::sync::Arc;

use wirecost_http::client::{self, Command};
use wirecost_http::http3::open::{Opener, Secrets};
use wirecost_http::http3::qpack::{self, huffman};
use wirecost_http::http3::quic::{frame, packet};
use wirecost_http::http3::reader::{Part, Reader};
use wirecost_http::http3::{Client, ClientConfig, Server, ServerConfig, Side, describe, unidirectional};
use wirecost_http::message::{Method, RequestTemplate};
use wirecost_proto::bare::Transport;
use wirecost_proto::{Buffer, Direction, Rng};
use wirecost_security::layer::Event;
use wirecost_security::tls::Versions;

use crate::conversation::Conversation;
use crate::fixture::{Fixture, is_without_fault};
use crate::rig::Rig;
use crate::script::{Script, read_in_pieces};

/// A field section: what is read is written and reads as the same fields. Returns whether it could be read.
pub fn section(bytes: &[u8]) -> bool {
    let Ok(fields) = qpack::read(bytes) else {
        return false;
    };
    let mut again = Vec::new();
    qpack::begin(&mut again);
    for field in &fields {
        qpack::push(&field.name, &field.value, &mut again);
    }
    assert_eq!(qpack::read(&again).as_deref(), Ok(fields.as_slice()));
    true
}

/// A string in the Huffman code: what is decoded is encoded to the same bytes. Returns whether it is in the code.
pub fn string(bytes: &[u8]) -> bool {
    let Some(text) = huffman::decode(bytes) else {
        return false;
    };
    let mut again = Vec::new();
    huffman::encode(&text, &mut again);
    assert_eq!(again, bytes);
    assert_eq!(again.len(), huffman::encoded_len(&text));
    true
}

/// A request stream: what it holds does not depend on where it is cut. The first byte seeds the cuts. Returns whether
/// it ends with a frame.
pub fn request_stream(bytes: &[u8]) -> bool {
    let parts = read_in_pieces(bytes, parts).and_then(|(_, parts)| parts);
    parts.is_some_and(|parts| parts.ends_whole)
}

/// What a request stream holds.
#[derive(Debug, Default, PartialEq)]
struct Parts {
    frames: usize,
    sections: Vec<Vec<u8>>,
    content: Vec<u8>,
    ends_whole: bool,
}

/// What is in the chunks; `None` where they cannot be read to their end.
fn parts(chunks: Chunks<'_, u8>) -> Option<Parts> {
    let mut reader = Reader::new(Side::Server);
    let mut parts = Parts::default();
    for mut chunk in chunks {
        while let Some(part) = reader.next(&mut chunk).ok()? {
            match part {
                Part::Frame { .. } => parts.frames += 1,
                Part::Section(section) => parts.sections.push(section),
                Part::Data(data) => parts.content.extend_from_slice(data),
            }
        }
        assert!(chunk.is_empty(), "nothing to tell, so all is taken");
    }
    parts.ends_whole = reader.is_between_frames();
    Some(parts)
}

/// A unidirectional stream of the peer: what it says does not depend on where it is cut. The first byte seeds the cuts.
/// Returns whether it could be read.
pub fn unidirectional_stream(bytes: &[u8]) -> bool {
    read_in_pieces(bytes, control_events).is_some_and(|(_, events)| events.is_some())
}

/// The stream ids of GOAWAY frames on a unidirectional stream, and whether the stream may end there; `None` if it cannot be read.
fn control_events(chunks: Chunks<'_, u8>) -> Option<(Vec<u64>, bool)> {
    let mut reader = unidirectional::Reader::default();
    let mut opened = unidirectional::PeerStreams::new(Side::Server);
    let mut events = Vec::new();
    for chunk in chunks {
        reader.read(chunk, &mut opened, |event| events.push(event)).ok()?;
    }
    Some((events, reader.end().is_ok()))
}

/// An opened packet: its frames lie end to end. Returns whether all of them could be read.
pub fn frames(bytes: &[u8]) -> bool {
    let mut at = 0;
    let mut is_understood = !bytes.is_empty();
    for frame in frame::frames(bytes) {
        assert!(frame.total() > 0);
        at += frame.total();
        is_understood &= frame.kind != frame::Kind::Malformed;
    }
    assert_eq!(at, bytes.len());
    is_understood
}

/// Datagrams of a connection, each behind its direction and length, and their keys, which come first: what an observer
/// says of a datagram covers it. Returns whether every datagram held a packet that could be opened.
pub fn datagrams(bytes: &[u8]) -> bool {
    let mut script = Script::new(bytes);
    let Some(len) = script.u16() else {
        return false;
    };
    let keys = String::from_utf8_lossy(script.take(len.into()));
    let secrets = Secrets::parse(&keys);
    let mut opener = Opener::new();
    let mut is_understood = true;
    while let (Some(way), Some(len)) = (script.byte(), script.u16()) {
        let direction = Direction::ALL[usize::from(way & 1)];
        is_understood &= is_opened(&mut opener, direction, &secrets, script.take(len.into()));
    }
    is_understood
}

fn is_opened(opener: &mut Opener, direction: Direction, secrets: &Secrets, datagram: &[u8]) -> bool {
    let mut out = Buffer::new();
    let opened = opener.datagram(direction, datagram, secrets, &mut out);
    assert_eq!(out.covered(), datagram.len() as u64);
    assert!(opened.iter().all(|packet| packet.range.end <= datagram.len()));
    out.clear();
    describe(datagram, &mut out);
    assert_eq!(out.covered(), datagram.len() as u64);
    let mut at = 0;
    for packet in packet::split(datagram, packet::CONNECTION_ID_BYTES) {
        assert!(packet.range.start == at && !packet.range.is_empty());
        assert!(packet.number_at <= packet.range.end);
        at = packet.range.end;
    }
    assert!(at <= datagram.len());
    !opened.is_empty()
}

/// A client with requests to send, under a script. Returns whether what it received is a server's.
pub fn client(bytes: &[u8]) -> bool {
    let mut rig = client_rig();
    rig.play(&mut Script::new(bytes), |number| Some(command(number)));
    is_without_fault(&rig.events)
}

/// A server with up to four flows, under a script. Returns whether a client began a connection.
pub fn server(bytes: &[u8]) -> bool {
    let mut rig = server_rig(4);
    rig.play(&mut Script::new(bytes), |_| None);
    rig.endpoint.connections() > 0
}

/// A connection with a request, of which a script changes what is under way. Returns whether there was a response.
pub fn connection(bytes: &[u8]) -> bool {
    let mut script = Script::new(bytes);
    let mut conversation = Conversation::open(client_rig(), server_rig(1));
    conversation.converse(&mut script, [command(0xff), command(1), command(0)]);
    let response = |event: &_| matches!(event, Event::Inner(client::Event::Response { .. }));
    conversation.client.events.iter().any(response)
}

fn client_rig() -> Rig<Client> {
    let tls = Fixture::get().tls_client(Versions::Tls13, &[b"h3"]);
    let client = Client::new(ClientConfig::new(tls, Rng::new(4))).expect("a client");
    Rig::new(client, Transport::Datagram, 1, |_| {})
}

fn server_rig(flows: usize) -> Rig<Server> {
    let tls = Fixture::get().tls_server(false, &[b"h3"]);
    let server = Server::new(ServerConfig::new(tls, Rng::new(5))).expect("a server");
    Rig::new(server, Transport::Datagram, flows, |_| {})
}

fn command(number: u8) -> Command {
    let method = match number & 0x03 {
        0 => return Command::Close,
        1 => Method::Get,
        _ => Method::Post,
    };
    let content = vec![b'x'; usize::from(number >> 2) * 100];
    let template = RequestTemplate::new(method, "server", "/test", None, content).expect("a request");
    Command::Request {
        message: number.into(),
        template: Arc::new(template),
    }
}
