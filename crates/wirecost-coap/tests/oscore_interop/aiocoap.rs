//! aiocoap with the same security context, as the server and as the client.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use wirecost_coap::client::{self, Client, Event, Request, RequestTemplate, Response};
use wirecost_coap::code::Code;
use wirecost_coap::oscore::Role;
use wirecost_coap::server::{self, Server};

use super::common::{client_config, observe, pattern, server_config};
use super::live::Live;
use super::{DEVICE, SECRET, context};

/// Content sizes: one datagram, and many blocks.
const SIZES: [usize; 4] = [0, 20, 1_024, 5_000];

/// A Python process. It is stopped when this value is dropped.
struct Peer(Child);

impl Peer {
    fn start(role: &str, port: u16) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oscore_interop/aiocoap_peer.py");
        let secret: String = SECRET.iter().map(|byte| format!("{byte:02x}")).collect();
        let child = Command::new(interpreter())
            .arg(script)
            .args([role, &port.to_string(), &secret, &format!("{DEVICE:04x}")])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn();
        Self(child.expect("Python starts"))
    }

    /// The lines of its output, up to its end or to a number of lines.
    fn lines(&mut self) -> impl Iterator<Item = String> + use<> {
        let stdout = self.0.stdout.take().expect("it is read once");
        BufReader::new(stdout).lines().map(|line| line.expect("text"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The Python with the packages of scripts/requirements-test.txt.
fn interpreter() -> PathBuf {
    let beside_sources = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv");
    let environment = std::env::var_os("WIRECOST_VENV").map_or_else(beside_sources, PathBuf::from);
    let python = environment.join("bin/python");
    assert!(
        python.is_file(),
        "this test needs {} with scripts/requirements-test.txt installed (scripts/test does that)",
        python.display()
    );
    python
}

fn response(live: &mut Live<Client>, request: Request) -> Response {
    live.events.clear();
    let template = Arc::new(RequestTemplate::new(request).expect("the options fit"));
    live.command(client::Command::Request { message: 1, template });
    live.run_until(|live| {
        live.events
            .iter()
            .any(|event| matches!(event, Event::Response(_)))
    });
    // A peer that is slow to answer acknowledges the request apart, after it was sent again.
    let mut events = live
        .events
        .drain(..)
        .filter(|event| !matches!(event, Event::Acknowledged { .. }));
    assert_eq!(events.next(), Some(Event::Sent { message: 1 }));
    match events.next() {
        Some(Event::Response(response)) => response,
        other => panic!("no response but {other:?}"),
    }
}

/// aiocoap as a server, and its port. The port is free before; if another program takes it meanwhile, aiocoap ends and is never ready.
fn serving() -> (Peer, u16) {
    const TRIES: usize = 5;
    let start = || {
        let port = Live::new(Server::new(server_config())).port();
        let mut peer = Peer::start("serve", port);
        let is_ready = peer.lines().next().as_deref() == Some("ready");
        is_ready.then_some((peer, port))
    };
    let started = (0..TRIES).find_map(|_| start());
    started.expect("aiocoap is ready at one of some ports")
}

#[test]
#[ignore = "needs the Python packages"]
fn our_client_asks_aiocoap() {
    let (_peer, port) = serving();
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
    let mut peer = Peer::start("ask", live.port());
    let lines = peer.lines();
    let ended = Arc::new(Mutex::new(None));
    let collected = ended.clone();
    #[allow(
        clippy::disallowed_methods,
        reason = "the pipe is read while the socket is served"
    )]
    let reader = std::thread::spawn(move || {
        let lines: Vec<String> = lines.collect();
        *collected.lock().expect("nobody panics with it") = Some(lines);
    });
    live.run_until(|_| ended.lock().expect("nobody panics with it").is_some());
    reader.join().expect("it ends");
    let lines = ended.lock().expect("nobody panics with it").take();
    let sizes = SIZES.map(|size| format!("2.04 Changed 2.05 Content {size} True"));
    let rest = ["4.04 Not Found", "4.01 Unauthorized", "observed 4"].map(String::from);
    assert_eq!(lines, Some([sizes.to_vec(), rest.to_vec()].concat()));
    // The unprotected request.
    assert_eq!(
        (live.endpoint.stats().unverified, live.endpoint.stats().replayed),
        (1, 0)
    );
}
