//! Our endpoints, and the certificates of both sides as files.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use wirecost_http::client::{self, Command};
use wirecost_http::http3::{Client, ClientConfig, Server, ServerConfig};
use wirecost_http::message::{Method, RequestTemplate};
use wirecost_http::server;
use wirecost_proto::{Input, Rng};
use wirecost_security::certificate::{Authority, Identity};
use wirecost_security::layer::Event;
use wirecost_security::tls::{self, ClientOptions, ServerOptions, Suites, Trust};
use wirecost_security::{Epoch, KeyLog, Start};

use crate::udp::{Driver, Running};

/// Certificates in memory and in a folder.
pub(crate) struct Files {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) epoch: Epoch,
    pub(crate) key_log: KeyLog,
    authority: Authority,
    identity: Identity,
}

impl Files {
    pub(crate) fn new() -> Self {
        let authority = Authority::generate().expect("an authority");
        let identity = Identity::generate(&authority).expect("an identity");
        let folder = tempfile::tempdir().expect("a folder");
        let unix = std::time::UNIX_EPOCH.elapsed().expect("a time after 1970");
        let files = Self {
            folder,
            epoch: Epoch {
                monotonic: std::time::Instant::now(),
                unix,
            },
            key_log: KeyLog::new(),
            authority,
            identity,
        };
        files.write("ca.pem", &files.authority.to_pem().expect("PEM"));
        files.write("cert.pem", &files.identity.certificates_to_pem().expect("PEM"));
        files.write("key.pem", &files.identity.private_key_to_pem().expect("PEM"));
        files
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        std::fs::write(self.path(name), content).expect("a file");
    }

    /// Our server, running.
    pub(crate) fn server(&self) -> Running<Server> {
        let mut options = ServerOptions::new(self.epoch, self.identity.clone());
        options.accept_early_data = true;
        options.key_log = self.key_log.clone();
        // gtlsclient does not prefer X25519.
        options.suites = Suites::Wide;
        let tls = tls::ServerConfig::new(options).expect("a configuration");
        let mut config = ServerConfig::new(tls, Rng::new(1));
        config.resources.unsafe_early_data = true;
        let server = Server::new(config).expect("a server");
        Running::start(Driver::new(server, self.epoch))
    }

    /// Our client, not connected yet.
    pub(crate) fn client(&self, start: Start) -> Driver<Client> {
        let trust = Trust::Authorities(vec![self.authority.certificate().to_vec()]);
        let mut options = ClientOptions::new(self.epoch, trust, "localhost");
        options.start = start;
        options.key_log = self.key_log.clone();
        let tls = tls::ClientConfig::new(options).expect("a configuration");
        let mut config = ClientConfig::new(tls, Rng::new(2));
        config.keep_body_bytes = 1 << 20;
        Driver::new(Client::new(config).expect("a client"), self.epoch)
    }
}

/// Milliseconds within a second of Unix time at which the first and the second connection start.
///
/// rustls counts a ticket's age in started seconds: a ticket issued just before a full second is one second old just
/// after it. GnuTLS refuses early data with a ticket that claims a higher age than expected.
const EARLY: Range<u32> = 0..100;
const LATE: Range<u32> = 900..1_000;

fn await_part_of_second(when: &Range<u32>) {
    let millis = || {
        std::time::UNIX_EPOCH
            .elapsed()
            .map_or(0, |unix| unix.subsec_millis())
    };
    while !when.contains(&millis()) {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Sends requests to a server on two connections, first cold, then with the configured start. Returns every response.
pub(crate) fn ask(
    driver: &mut Driver<Client>,
    server: std::net::SocketAddr,
    requests: &[(Method, &str, &[u8])],
) -> Vec<Answer> {
    let mut answers = Vec::new();
    for (connection, when) in [EARLY, LATE].into_iter().enumerate() {
        await_part_of_second(&when);
        driver.connect(server);
        for (number, (method, path, body)) in requests.iter().enumerate() {
            let template = RequestTemplate::new(*method, "localhost", path, Some("text/plain"), *body);
            let template = Arc::new(template.expect("a template"));
            let message = (connection * requests.len() + number) as u64;
            driver.input(Input::Command(Command::Request { message, template }));
            driver.until("response", |driver| {
                driver.events.iter().any(|event| ends(event, message))
            });
        }
        // Some servers send the ticket after the first response.
        driver.linger(Duration::from_millis(200));
        driver.input(Input::Command(Command::Close));
        driver.linger(Duration::from_millis(20));
    }
    for event in &driver.events {
        match event {
            Event::Inner(client::Event::Response { status, body, .. }) => {
                answers.push(Answer::Response(status.code(), body.clone()));
            }
            Event::Established { start, .. } => answers.push(Answer::Start(*start)),
            Event::Inner(client::Event::Opened | client::Event::Sent { .. } | client::Event::Closed) => {}
            other => panic!("an answer, got {other:?}"),
        }
    }
    answers
}

/// The events of a server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Start(Start),
    Response(u16, Vec<u8>),
}

fn ends(event: &Event<client::Event>, number: u64) -> bool {
    match event {
        Event::Inner(
            client::Event::Response { message, .. }
            | client::Event::Failed { message, .. }
            | client::Event::TimedOut { message },
        ) => *message == number,
        Event::Failed { .. } => true,
        _ => false,
    }
}

/// The responses of our server, and the starts of its connections.
pub(crate) fn answered(events: &[Event<server::Event>]) -> (Vec<(u16, u64)>, Vec<Start>) {
    let (mut statuses, mut starts) = (Vec::new(), Vec::new());
    for event in events {
        match event {
            Event::Inner(server::Event::Answered {
                status,
                payload_bytes,
                ..
            }) => {
                statuses.push((status.code(), *payload_bytes));
            }
            Event::Established { start, .. } => starts.push(*start),
            _ => {}
        }
    }
    (statuses, starts)
}

/// The Python of the test environment with a conforming aioquic peer.
pub(crate) fn python() -> std::process::Command {
    script("aioquic_peer.py")
}

/// The Python of the test environment with a script in this folder.
pub(crate) fn script(name: &str) -> std::process::Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let beside_sources = || root.join("../../.venv");
    let environment = std::env::var_os("WIRECOST_VENV").map_or_else(beside_sources, PathBuf::from);
    let mut command = std::process::Command::new(environment.join("bin/python"));
    command.arg(root.join("tests/http3_foreign").join(name));
    command
}
