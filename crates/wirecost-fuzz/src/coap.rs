//! CoAP: messages, client and server, over datagrams and over a stream.

use std::slice::Chunks;
use std::sync::Arc;

use wirecost_coap::client::{self, Cancellation, Client, Command, Request, RequestTemplate};
use wirecost_coap::message::{Repr, View};
use wirecost_coap::server::{self, Server};
use wirecost_coap::stream::{Fault, Framer, Outline};
use wirecost_proto::bare::Transport;
use wirecost_proto::{Buffer, Rng};

use crate::rig::Rig;
use crate::script::{Script, read_in_pieces};

/// The largest body put together from blocks, in bytes.
const LARGEST_BODY: usize = 4_096;

/// A datagram: its description covers it, and a message that parses is emitted to one that parses to the same.
/// Returns whether it is a message.
pub fn message(bytes: &[u8]) -> bool {
    let view = View::new(bytes);
    let _ = (
        view.version(),
        view.kind(),
        view.token_len(),
        view.code(),
        view.message_id(),
    );
    let mut out = Buffer::new();
    wirecost_coap::describe(bytes, &mut out);
    assert_eq!(out.covered(), bytes.len() as u64);
    let Ok(repr) = Repr::parse(bytes) else {
        return false;
    };
    let mut emitted = Vec::new();
    repr.emit(&mut emitted);
    assert_eq!(Repr::parse(&emitted), Ok(repr));
    true
}

/// A client under a script. The first byte chooses its configuration. Returns whether every datagram was a message.
pub fn client(bytes: &[u8]) -> bool {
    client_that(bytes, |config| config)
}

/// The same with its configuration changed.
pub(crate) fn client_that(bytes: &[u8], change: impl FnOnce(client::Config) -> client::Config) -> bool {
    played_client(bytes, change).is_some_and(|rig| rig.endpoint.stats().malformed == 0)
}

/// Such a client at the end of its script; `None` without one.
pub(crate) fn played_client(
    bytes: &[u8],
    change: impl FnOnce(client::Config) -> client::Config,
) -> Option<Rig<Client>> {
    let (choice, mut script) = Script::with_choice(bytes)?;
    let config = change(client::Config {
        token_bytes: usize::from(choice & 1) * 2,
        first_message_id: 0,
        block_size: if choice & 2 == 0 { 16 } else { 1_024 },
        max_body_bytes: LARGEST_BODY,
        announces_size: choice & 4 != 0,
        ..client::Config::new(Rng::new(1))
    });
    let transport = config.transport;
    let mut rig = Rig::new(Client::new(config), transport, 1, check_of(transport));
    rig.play(&mut script, |number| Some(client_command(number)));
    Some(rig)
}

fn client_command(number: u8) -> Command {
    let message = u64::from(number >> 4);
    let template = |request| Arc::new(RequestTemplate::new(request).expect("the options fit"));
    match number & 0x07 {
        0 => Command::Observe {
            message,
            template: template(Request::get("/obs")),
        },
        1 => Command::Request {
            message,
            template: template(Request::get("/large")),
        },
        2 => Command::Request {
            message,
            template: template(Request::put("/large-update", [7; 50])),
        },
        3 => Command::CancelObserve {
            message,
            how: Cancellation::Deregister,
        },
        4 => Command::CancelObserve {
            message,
            how: Cancellation::Forget,
        },
        5 => Command::Ping { message },
        6 => Command::Close,
        _ => Command::Request {
            message,
            template: template(Request::put("/test", [7; 3])),
        },
    }
}

/// A server with small limits and up to four peers, under a script. The first byte chooses its configuration.
/// Returns whether every datagram was a message that was not refused.
pub fn server(bytes: &[u8]) -> bool {
    server_that(bytes, |config| config)
}

/// The same with its configuration changed.
pub(crate) fn server_that(bytes: &[u8], change: impl FnOnce(server::Config) -> server::Config) -> bool {
    let Some((choice, mut script)) = Script::with_choice(bytes) else {
        return false;
    };
    let config = change(server::Config {
        block_size: if choice & 1 == 0 { 16 } else { 1_024 },
        max_body_bytes: LARGEST_BODY,
        max_assemblies_per_peer: 2,
        max_observers: 3,
        ..server::Config::new(Rng::new(2))
    });
    let transport = config.transport;
    let mut rig = Rig::new(Server::new(config), transport, 4, check_of(transport));
    rig.play(&mut script, |_| None);
    assert!(rig.endpoint.observers() <= 3);
    let stats = rig.endpoint.stats();
    (stats.malformed, stats.refused) == (0, 0)
}

/// The largest message of a stream, in bytes.
const LARGEST_MESSAGE: u32 = 1_200;

/// A stream: its messages do not depend on where it is cut; a message's outline covers it, and one that parses is emitted to one
/// that parses to the same. The first byte seeds the cuts. Returns whether it ends with a message that parses.
pub fn stream(bytes: &[u8]) -> bool {
    let Some((stream, Ok(messages))) = read_in_pieces(bytes, stream_messages) else {
        return false;
    };
    messages.concat().len() == stream.len() && messages.iter().all(|message| stream_message(message))
}

fn stream_messages(chunks: Chunks<'_, u8>) -> Result<Vec<Vec<u8>>, Fault> {
    let mut framer = Framer::new(LARGEST_MESSAGE);
    let mut messages = Vec::new();
    for mut chunk in chunks {
        while let Some(message) = framer.next(&mut chunk)? {
            messages.push(message.to_vec());
        }
        assert!(framer.held() <= LARGEST_MESSAGE as usize);
    }
    Ok(messages)
}

fn stream_message(bytes: &[u8]) -> bool {
    let mut out = Buffer::new();
    wirecost_coap::describe_stream(bytes, &mut out);
    assert_eq!(out.covered(), bytes.len() as u64);
    let Ok(repr) = Repr::parse_stream(bytes) else {
        return false;
    };
    if let Ok(Some(outline)) = Outline::from_bytes(bytes) {
        assert_eq!(outline.payload_bytes, repr.payload.len() as u64);
        assert_eq!(outline.head_bytes + repr.payload.len(), bytes.len());
    }
    let mut emitted = Vec::new();
    repr.emit_stream(&mut emitted)
        .expect("a message that came in a frame");
    assert_eq!(Repr::parse_stream(&emitted), Ok(repr));
    true
}

/// A client on a stream, as [`client()`]. Returns whether the server kept to the standard.
pub fn stream_client(bytes: &[u8]) -> bool {
    client_that(bytes, |config| client::Config {
        max_message_bytes: LARGEST_MESSAGE,
        ..config.on_stream()
    })
}

/// A server on streams, as [`server()`]. Returns whether every client kept to the standard.
pub fn stream_server(bytes: &[u8]) -> bool {
    server_that(bytes, |config| server::Config {
        max_message_bytes: LARGEST_MESSAGE,
        ..config.on_stream()
    })
}

/// Checks that our side sends a message.
fn check_of(transport: Transport) -> fn(&[u8]) {
    match transport {
        Transport::Datagram => |bytes| assert!(Repr::parse(bytes).is_ok(), "{bytes:02x?}"),
        Transport::Stream => |bytes| assert!(Repr::parse_stream(bytes).is_ok(), "{bytes:02x?}"),
    }
}
