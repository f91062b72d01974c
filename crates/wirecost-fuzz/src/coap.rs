//! CoAP: messages, client and server.

use std::sync::Arc;

use wirecost_coap::client::{self, Cancellation, Client, Command, Request, RequestTemplate};
use wirecost_coap::message::{Repr, View};
use wirecost_coap::server::{self, Server};
use wirecost_proto::bare::Transport;
use wirecost_proto::{Buffer, Rng};

use crate::rig::Rig;
use crate::script::Script;

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
    let Some((choice, mut script)) = Script::with_choice(bytes) else {
        return false;
    };
    let mut rig = Rig::new(
        Client::new(change(client::Config {
            token_bytes: usize::from(choice & 1) * 2,
            first_message_id: 0,
            block_size: if choice & 2 == 0 { 16 } else { 1_024 },
            max_body_bytes: LARGEST_BODY,
            announces_size: choice & 4 != 0,
            ..client::Config::new(Rng::new(1))
        })),
        Transport::Datagram,
        1,
        assert_message,
    );
    rig.play(&mut script, |number| Some(client_command(number)));
    rig.endpoint.stats().malformed == 0
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
    let mut rig = Rig::new(
        Server::new(change(server::Config {
            block_size: if choice & 1 == 0 { 16 } else { 1_024 },
            max_body_bytes: LARGEST_BODY,
            max_assemblies_per_peer: 2,
            max_observers: 3,
            ..server::Config::new(Rng::new(2))
        })),
        Transport::Datagram,
        4,
        assert_message,
    );
    rig.play(&mut script, |_| None);
    assert!(rig.endpoint.observers() <= 3);
    let stats = rig.endpoint.stats();
    (stats.malformed, stats.refused) == (0, 0)
}

/// Checks that our side sends a message.
fn assert_message(bytes: &[u8]) {
    assert!(Repr::parse(bytes).is_ok(), "{bytes:02x?}");
}
