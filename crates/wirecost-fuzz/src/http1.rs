//! HTTP/1.1: heads, chunked content, client and server.

use std::slice::Chunks;
use std::sync::Arc;
use std::time::Duration;

use wirecost_http::client::Command;
use wirecost_http::http1::body::Body;
use wirecost_http::http1::head::{Collector, RequestHead, ResponseHead, Side};
use wirecost_http::http1::{Client, ClientConfig, Server, ServerConfig};
use wirecost_http::message::{Method, RequestTemplate};
use wirecost_http::resource;
use wirecost_http::server;
use wirecost_proto::bare::Transport;
use wirecost_proto::{FlowId, Layer};

use crate::rig::Rig;
use crate::script::{Script, read_in_pieces};

/// The longest head taken, in bytes, where there is a limit.
const LIMIT: usize = 200;

/// A stream of heads in chunks, as requests and as responses: the heads do not depend on where it is cut. The first
/// byte seeds the cuts. Returns whether the stream ends with a head that has a meaning.
pub fn head(bytes: &[u8]) -> bool {
    let means_something = |side: Side, head: &[u8]| match side {
        Side::Server => RequestHead::parse(head).is_ok(),
        Side::Client => ResponseHead::parse(head, Method::Get).is_ok(),
    };
    let understood = [Side::Server, Side::Client].map(|side| {
        let Some((stream, Some(heads))) = read_in_pieces(bytes, |chunks| heads(side, chunks)) else {
            return false;
        };
        let all_mean = heads.iter().filter(|head| means_something(side, head)).count() == heads.len();
        all_mean && heads.concat().len() == stream.len()
    });
    understood.contains(&true)
}

/// The heads in the chunks; `None` where the stream cannot be read on.
fn heads(side: Side, chunks: Chunks<'_, u8>) -> Option<Vec<Vec<u8>>> {
    let mut collector = Collector::new(side, LIMIT);
    let mut heads = Vec::new();
    for chunk in chunks {
        let mut left = chunk;
        while let Some(head) = collector.next(&mut left).ok()? {
            heads.push(head.to_vec());
        }
        assert!(left.is_empty(), "no head, so all is taken");
        assert!(collector.held() <= LIMIT);
    }
    Some(heads)
}

/// The content of an answer to a poll: a page has fewer messages than bytes, and white space around it changes nothing. Returns
/// whether it is a page.
pub fn page(bytes: &[u8]) -> bool {
    let page = resource::Page::read(bytes);
    assert_eq!(resource::Page::read(&[b" ", bytes, b"\r\n"].concat()), page);
    if let Some(page) = &page {
        assert!(page.messages.len() < bytes.len(), "{page:?}");
    }
    page.is_some()
}

/// Chunked content in pieces: what is payload does not depend on where the stream is cut. The first byte seeds the
/// cuts. Returns whether the content ends with the stream.
pub fn chunks(bytes: &[u8]) -> bool {
    let content = read_in_pieces(bytes, content);
    content.is_some_and(|(stream, content)| content.is_some_and(|(_, taken)| taken == stream.len()))
}

/// The payload of chunked content and the bytes that it took; `None` where it does not end.
fn content(chunks: Chunks<'_, u8>) -> Option<(Vec<u8>, usize)> {
    let mut body = Body::CHUNKED;
    let (mut payload, mut taken) = (Vec::new(), 0);
    for mut left in chunks {
        while !left.is_empty() {
            let piece = body.take(left).ok()?;
            assert!((1..=left.len()).contains(&piece.len));
            let (bytes, rest) = left.split_at(piece.len);
            if piece.layer == Layer::Payload {
                payload.extend_from_slice(bytes);
            }
            taken += piece.len;
            if piece.is_last {
                return Some((payload, taken));
            }
            left = rest;
        }
    }
    None
}

/// A client with requests to send, under a script. The first byte chooses its configuration. Returns whether all that
/// it received belongs to a response.
pub fn client(bytes: &[u8]) -> bool {
    let Some((choice, mut script)) = Script::with_choice(bytes) else {
        return false;
    };
    let client = Client::new(ClientConfig {
        connection_close: choice & 1 != 0,
        keep_body_bytes: usize::from(choice & 2) * 50,
        response_timeout: (choice & 4 == 0).then_some(Duration::from_secs(60)),
        max_head_bytes: LIMIT,
        ..ClientConfig::default()
    });
    let mut rig = Rig::new(client, Transport::Stream, 1, |_| {});
    rig.play(&mut script, |number| Some(client_command(number)));
    let stats = rig.endpoint.stats();
    (stats.unasked_bytes, stats.foreign_inputs) == (0, 0)
}

fn client_command(number: u8) -> Command {
    let method = match number & 0x03 {
        0 => return Command::Close,
        1 => Method::Get,
        2 => Method::Head,
        _ => Method::Post,
    };
    let content = vec![b'x'; usize::from(number >> 2)];
    let template = RequestTemplate::new(method, "a", "/test", None, content).expect("a request");
    Command::Request {
        message: number.into(),
        template: Arc::new(template),
    }
}

/// A server with small limits and up to four flows, under a script. The first byte chooses its configuration. Returns
/// whether the clients made no fault and were answered.
pub fn server(bytes: &[u8]) -> bool {
    let Some((choice, mut script)) = Script::with_choice(bytes) else {
        return false;
    };
    let server = Server::new(ServerConfig {
        resources: resource::Config {
            max_body_bytes: 100,
            unsafe_early_data: choice & 1 != 0,
            kept_messages: 3,
            kept_bytes: 150,
            max_waiting: 2,
            ..resource::Config::default()
        },
        max_head_bytes: LIMIT,
        max_held_bytes: 100,
        ..ServerConfig::default()
    });
    let mut rig = Rig::new(server, Transport::Stream, 4, |_| {});
    rig.play(&mut script, |number| {
        Some(server::Command::EarlyData {
            flow: FlowId(u32::from(number & 0x03)),
            bytes: usize::from(number >> 2),
        })
    });
    let stats = rig.endpoint.stats();
    (stats.malformed, stats.timed_out, stats.ignored_bytes) == (0, 0, 0) && stats.answered > 0
}
