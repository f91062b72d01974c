//! aiocoap in a process of Python, as the server and as the client.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use wirecost_coap::client::{self, Client, Event, Request, RequestTemplate, Response};
use wirecost_coap::server::Server;

use super::common::server_config;
use super::live::Live;

/// A Python process. It is stopped when this value is dropped.
pub(crate) struct Peer(Child);

impl Peer {
    /// Runs a script beside this file in a role, with the arguments of its security behind the port.
    pub(crate) fn start(script: &str, role: &str, port: u16, security: &[String]) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oscore_interop");
        let child = Command::new(interpreter())
            .arg(folder.join(script))
            .args([port.to_string().as_str(), role])
            .args(security)
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

/// aiocoap as a server, and its port. The port is free before; if another program takes it meanwhile, aiocoap ends and is never ready.
pub(crate) fn serving(script: &str, security: &[String]) -> (Peer, u16) {
    const TRIES: usize = 5;
    let start = || {
        let port = Live::new(Server::new(server_config())).port();
        let mut peer = Peer::start(script, "serve", port, security);
        let is_ready = peer.lines().next().as_deref() == Some("ready");
        is_ready.then_some((peer, port))
    };
    let started = (0..TRIES).find_map(|_| start());
    started.expect("aiocoap is ready at one of some ports")
}

/// What a client writes, up to its end, while our server serves it.
pub(crate) fn lines_while_serving(mut peer: Peer, live: &mut Live<Server>) -> Vec<String> {
    let lines = peer.lines();
    let ended = Arc::new(Mutex::new(None));
    let collected = ended.clone();
    #[allow(
        clippy::disallowed_methods,
        reason = "the pipe is read while the socket is served"
    )]
    let reader = std::thread::spawn(move || {
        let lines: Vec<String> = lines.collect();
        *collected
            .lock()
            .expect("no thread panics while it holds the lock") = Some(lines);
    });
    live.run_until(|_| {
        ended
            .lock()
            .expect("no thread panics while it holds the lock")
            .is_some()
    });
    reader.join().expect("it ends");
    let lines = ended
        .lock()
        .expect("no thread panics while it holds the lock")
        .take();
    lines.unwrap_or_default()
}

/// The response to a request of our client.
pub(crate) fn response(live: &mut Live<Client>, request: Request) -> Response {
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
