//! aiocoap with the same security context, as the server and as the client.

use std::time::Duration;

use wirecost_coap::client::{Client, Event, Request};
use wirecost_coap::code::Code;
use wirecost_coap::oscore::Role;
use wirecost_coap::server::{self, Server};

use super::common::{client_config, observe, pattern, server_config};
use super::live::Live;
use super::peer::{Peer, lines_while_serving, response, serving};
use super::{DEVICE, SECRET, context};

const SCRIPT: &str = "aiocoap_peer.py";

/// Content sizes: one datagram, and many blocks.
const SIZES: [usize; 4] = [0, 20, 1_024, 5_000];

/// What the script needs of the context.
fn credentials() -> [String; 2] {
    let secret = SECRET.iter().map(|byte| format!("{byte:02x}")).collect();
    [secret, format!("{DEVICE:04x}")]
}

#[test]
#[ignore = "needs the Python packages"]
fn our_client_asks_aiocoap() {
    let (_peer, port) = serving(SCRIPT, &credentials());
    let config = client_config().with_oscore(context(Role::Client));
    let mut live = Live::new(Client::new(config));
    live.connect(port);
    live.events.clear();
    for size in SIZES {
        let put = response(&mut live, Request::put("/test", pattern(size)));
        assert_eq!(put.code, Code::CHANGED, "{size} B");
        let got = response(&mut live, Request::get("/test"));
        assert_eq!((got.code, got.payload), (Code::CONTENT, pattern(size)));
    }
    assert_eq!(
        response(&mut live, Request::get("/nowhere")).code,
        Code::NOT_FOUND
    );
    // aiocoap notifies of every change. Its first response to a registration may have no Partial IV.
    live.command(observe(9, "/test"));
    live.run_until(|live| !live.events.is_empty());
    for size in [7, 8, 9] {
        let put = response(&mut live, Request::put("/test", pattern(size)));
        assert_eq!(put.code, Code::CHANGED);
        live.run_until(|live| live.events.iter().any(|event| notified(event) == Some(size)));
    }
    assert_eq!(live.endpoint.stats().unverified, 0);
}

/// The size of a notification's content.
fn notified(event: &Event) -> Option<usize> {
    match event {
        Event::Notification(response) => Some(response.payload.len()),
        _ => None,
    }
}

#[test]
#[ignore = "needs the Python packages"]
fn aiocoap_asks_our_server() {
    let config = server::Config {
        observe_interval: Duration::from_millis(200),
        ..server_config().with_oscore([context(Role::Server)], true)
    };
    let mut live = Live::new(Server::new(config));
    let peer = Peer::start(SCRIPT, "ask", live.port(), &credentials());
    let lines = lines_while_serving(peer, &mut live);
    let sizes = SIZES.map(|size| format!("2.04 Changed 2.05 Content {size} True"));
    let rest = ["4.04 Not Found", "4.01 Unauthorized", "observed 4"].map(String::from);
    assert_eq!(lines, [sizes.to_vec(), rest.to_vec()].concat());
    // The unprotected request.
    assert_eq!(
        (live.endpoint.stats().unverified, live.endpoint.stats().replayed),
        (1, 0)
    );
}
