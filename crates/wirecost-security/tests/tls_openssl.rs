//! The layers against OpenSSL over loopback: both roles, both versions, resumption and early data.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a foreign program is reached by sockets and takes its time"
)]

#[path = "tls_openssl/driver.rs"]
mod driver;
#[path = "../../wirecost/tests/peers/port.rs"]
mod port;

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Instant as Clock, SystemTime, UNIX_EPOCH};

use driver::{Ask, Driven, Openssl, Text};
use port::own_port;
use wirecost_proto::{Input, Layer};
use wirecost_security::certificate::{Authority, Identity};
use wirecost_security::tls::{
    Client, ClientConfig, ClientOptions, Server, ServerConfig, ServerOptions, Trust, Versions,
};
use wirecost_security::{Epoch, Event, Start};

/// Certificates as files, for OpenSSL, and as ours.
struct Setup {
    authority: Authority,
    identity: Identity,
    folder: tempfile::TempDir,
    started: Clock,
}

impl Setup {
    fn new() -> Self {
        let authority = Authority::generate().expect("an authority");
        let identity = Identity::generate(&authority).expect("a server");
        let setup = Self {
            folder: tempfile::tempdir().expect("a folder"),
            started: Clock::now(),
            authority,
            identity,
        };
        let files = [
            ("ca.pem", setup.authority.to_pem()),
            ("cert.pem", setup.identity.certificates_to_pem()),
            ("key.pem", setup.identity.private_key_to_pem()),
        ];
        for (name, text) in files {
            std::fs::write(setup.file(name), text.expect("a text")).expect("a file");
        }
        setup
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn epoch(&self) -> Epoch {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH);
        Epoch {
            monotonic: self.started,
            unix: unix.expect("a time after 1970") - self.started.elapsed(),
        }
    }

    fn client(&self, versions: Versions, start: Start) -> Client<Text> {
        let trust = Trust::Authorities(vec![self.authority.certificate().to_vec()]);
        let options = ClientOptions {
            versions,
            start,
            ..ClientOptions::new(self.epoch(), trust, "localhost")
        };
        Client::new(ClientConfig::new(options).expect("a client"), Text::default())
    }

    fn server(&self) -> Server<Text> {
        let options = ServerOptions {
            accept_early_data: true,
            ..ServerOptions::new(self.epoch(), self.identity.clone())
        };
        Server::new(&ServerConfig::new(options).expect("a server"), Text::echoing())
    }
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a readable path")
}

const CASES: [(Versions, &str, &str); 2] = [
    (Versions::Tls13, "-tls1_3", "TLSv1.3"),
    (Versions::Tls12, "-tls1_2", "TLSv1.2"),
];

fn s_server(setup: &Setup, port: u16, more: &[&str]) -> Openssl {
    let (certificate, key, port) = (setup.file("cert.pem"), setup.file("key.pem"), port.to_string());
    let mut arguments = vec!["s_server", "-accept", &port];
    arguments.extend(["-cert", path(&certificate), "-key", path(&key)]);
    arguments.extend(more);
    let server = Openssl::start(&arguments);
    server.hear("ACCEPT");
    server
}

fn start_of<V>(events: &[Event<V>]) -> Option<Start> {
    events.iter().find_map(|event| match event {
        Event::Established { start, .. } => Some(*start),
        _ => None,
    })
}

fn texts(events: &[Event<Vec<u8>>]) -> Vec<u8> {
    let inner = events.iter().filter_map(|event| match event {
        Event::Inner(text) => Some(text.as_slice()),
        _ => None,
    });
    inner.flatten().copied().collect()
}

#[test]
#[ignore = "needs openssl"]
fn a_client_speaks_to_s_server_cold_and_resumed() {
    let setup = Setup::new();
    for (versions, option, _) in CASES {
        let port = own_port();
        let _server = s_server(&setup, port, &["-rev", option]);
        let mut client = setup.client(versions, Start::Resumed);
        for (flow, start) in [(0, Start::Cold), (1, Start::Resumed), (2, Start::Resumed)] {
            let socket = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
            let mut driven = Driven::new(&mut client, socket, setup.started, flow);
            driven.run(|driven| start_of(&driven.events).is_some());
            assert_eq!(
                start_of(&driven.events),
                Some(start),
                "{versions:?} {:?}",
                driven.events
            );
            driven.input(Input::Command(Ask::Send(b"wire cost\n".to_vec())));
            driven.run(|driven| texts(&driven.events).ends_with(b"\n"));
            assert_eq!(texts(&driven.events), b"tsoc eriw\n");
            driven.input(Input::Command(Ask::Close));
            driven.run_to_end();
            let payload = |span: &&wirecost_proto::Span| span.layer == Layer::Payload;
            let consumed: u32 = driven.consumed.iter().filter(payload).map(|span| span.len).sum();
            assert_eq!(consumed, 10);
        }
    }
}

#[test]
#[ignore = "needs openssl"]
fn a_client_sends_early_data_to_s_server() {
    let setup = Setup::new();
    let port = own_port();
    let server = s_server(
        &setup,
        port,
        &["-tls1_3", "-early_data", "-max_early_data", "16384"],
    );
    let mut client = setup.client(Versions::Tls13, Start::ZeroRtt);
    for (flow, text, start) in [(0, "in time\n", Start::Cold), (1, "early\n", Start::ZeroRtt)] {
        let socket = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        let mut driven = Driven::new(&mut client, socket, setup.started, flow);
        if start == Start::Cold {
            driven.run(|driven| start_of(&driven.events).is_some());
        }
        driven.input(Input::Command(Ask::Send(text.into())));
        driven.run(|driven| start_of(&driven.events).is_some());
        assert_eq!(start_of(&driven.events), Some(start));
        server.hear(text);
        driven.input(Input::Command(Ask::Close));
        driven.run_to_end();
    }
    assert!(server.said().contains("Early data received"), "{}", server.said());
}

#[test]
#[ignore = "needs openssl"]
fn early_data_refused_by_s_server_is_sent_again() {
    let setup = Setup::new();
    let port = own_port();
    let mut client = setup.client(Versions::Tls13, Start::ZeroRtt);
    let first = s_server(
        &setup,
        port,
        &["-tls1_3", "-early_data", "-max_early_data", "16384"],
    );
    let socket = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    let mut driven = Driven::new(&mut client, socket, setup.started, 0);
    driven.run(|driven| start_of(&driven.events).is_some());
    driven.input(Input::Command(Ask::Close));
    driven.run_to_end();
    drop(first);
    // The next server knows neither the ticket nor early data.
    let second = s_server(&setup, port, &["-tls1_3"]);
    let socket = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    let mut driven = Driven::new(&mut client, socket, setup.started, 1);
    driven.input(Input::Command(Ask::Send(b"again\n".to_vec())));
    driven.run(|driven| start_of(&driven.events).is_some());
    assert_eq!(start_of(&driven.events), Some(Start::Cold));
    second.hear("again");
    assert_eq!(second.said().matches("again").count(), 1);
}

/// Runs s_client against our server until it has received its text back.
fn s_client(
    setup: &Setup,
    server: &mut Server<Text>,
    flow: u32,
    more: &[&str],
) -> (String, Vec<Event<Vec<u8>>>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let authority = setup.file("ca.pem");
    let mut arguments = vec!["s_client", "-connect", &address, "-servername", "localhost"];
    arguments.extend(["-CAfile", path(&authority), "-verify_return_error"]);
    arguments.extend(["-verify_hostname", "localhost"]);
    arguments.extend(more);
    let mut client = Openssl::start(&arguments);
    let (socket, _) = listener.accept().expect("it connects");
    let mut driven = Driven::new(server, socket, setup.started, flow);
    driven.run(|driven| start_of(&driven.events).is_some());
    client.tell("wire cost\n");
    driven.run(|driven| texts(&driven.events).ends_with(b"wire cost\n"));
    client.hear("wire cost\n");
    client.hang_up();
    driven.run_to_end();
    (client.said(), driven.events)
}

#[test]
#[ignore = "needs openssl"]
fn s_client_is_served_cold_and_resumed() {
    let setup = Setup::new();
    for (_, option, version) in CASES {
        let mut server = setup.server();
        let session = setup.file("session");
        let (said, events) = s_client(&setup, &mut server, 0, &[option, "-sess_out", path(&session)]);
        assert!(said.contains("Verify return code: 0 (ok)"), "{said}");
        assert!(said.contains(&format!("New, {version}")), "{said}");
        assert_eq!(start_of(&events), Some(Start::Cold));
        let (said, events) = s_client(&setup, &mut server, 1, &[option, "-sess_in", path(&session)]);
        assert!(said.contains(&format!("Reused, {version}")), "{said}");
        assert_eq!(start_of(&events), Some(Start::Resumed));
    }
}

#[test]
#[ignore = "needs openssl"]
fn early_data_of_s_client_is_marked() {
    let setup = Setup::new();
    let mut server = setup.server();
    let (session, early) = (setup.file("session"), setup.file("early"));
    std::fs::write(&early, "early\n").expect("a file");
    s_client(&setup, &mut server, 0, &["-tls1_3", "-sess_out", path(&session)]);
    let more = ["-tls1_3", "-sess_in", path(&session), "-early_data", path(&early)];
    let (said, events) = s_client(&setup, &mut server, 1, &more);
    assert!(said.contains("Early data was accepted"), "{said}");
    assert_eq!(start_of(&events), Some(Start::ZeroRtt));
    let marked = events.iter().find_map(|event| match event {
        Event::EarlyData { bytes, .. } => Some(*bytes),
        _ => None,
    });
    assert_eq!(marked, Some(6));
    assert!(texts(&events).starts_with(b"early\n"));
}
