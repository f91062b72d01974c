//! DTLS 1.2 with OpenSSL and GnuTLS in both roles: their test programs, and libcoap's clients and servers on both
//! libraries.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test against programs has a clock and a socket"
)]

mod dtls_world;
#[path = "../../wirecost/tests/peers/port.rs"]
mod port;

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use dtls_world::{KEY, World};
use port::own_port;
use wirecost_coap::client::{self, Request, RequestTemplate};
use wirecost_coap::server;
use wirecost_proto::bare::{self, Transport};
use wirecost_proto::{Buffer, Endpoint, FlowId, Front, Input, Instant, Layer, Output, Rng, Span};
use wirecost_security::Start;
use wirecost_security::dtls::{Client, Server, Version};
use wirecost_security::layer::Event;

const FLOW: FlowId = FlowId(0);
/// Long enough for a program to start on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// An endpoint on a socket, one peer at a time.
struct Driver<E: Endpoint> {
    endpoint: E,
    socket: UdpSocket,
    peer: Option<SocketAddr>,
    began: std::time::Instant,
    events: Vec<E::Event>,
    /// The spans of all received bytes.
    consumed: Vec<Span>,
    received_bytes: usize,
    is_closed: bool,
}

impl<E: Endpoint> Driver<E> {
    fn new(endpoint: E, peer: Option<SocketAddr>) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let wait = Some(Duration::from_millis(5));
        socket.set_read_timeout(wait).expect("a time-out");
        let mut driver = Self {
            endpoint,
            socket,
            peer,
            began: std::time::Instant::now(),
            events: Vec::new(),
            consumed: Vec::new(),
            received_bytes: 0,
            is_closed: false,
        };
        if let Some(peer) = peer {
            driver.input(Input::Opened { flow: FLOW, peer });
        }
        driver
    }

    fn port(&self) -> u16 {
        self.socket.local_addr().expect("an address").port()
    }

    fn input(&mut self, input: Input<'_, E::Command>) {
        let now = Instant::from_nanos(self.began.elapsed().as_nanos() as u64);
        assert!(self.endpoint.handle_input(input, now).is_ok());
        let mut out = Buffer::new();
        loop {
            out.clear();
            match self.endpoint.poll_output(&mut out) {
                Output::Transmit { .. } => {
                    let peer = self.peer.expect("somebody to send to");
                    // A peer that is gone is not an error.
                    let _ = self.socket.send_to(out.bytes(), peer);
                }
                Output::Consumed { .. } => self.consumed.extend(out.spans()),
                Output::Event(event) => self.events.push(event),
                Output::Close { .. } => self.is_closed = true,
                Output::Timeout(_) => return,
            }
        }
    }

    /// Receives once, or wakes the endpoint.
    fn step(&mut self) {
        let mut bytes = [0; 2048];
        match self.socket.recv_from(&mut bytes) {
            Ok((len, peer)) => {
                if self.peer != Some(peer) {
                    self.peer = Some(peer);
                    self.input(Input::Opened { flow: FLOW, peer });
                }
                self.received_bytes += len;
                self.input(Input::Received {
                    flow: FLOW,
                    bytes: &bytes[..len],
                });
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                self.input(Input::Timeout);
            }
            // The peer's socket is not open yet, or already closed.
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }

    /// Steps until `done`.
    fn run(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        let until = self.began.elapsed() + PATIENCE;
        while !done(self) {
            assert!(self.began.elapsed() < until, "in vain: {what}");
            self.step();
        }
        let covered: usize = self.consumed.iter().map(|span| span.len as usize).sum();
        assert_eq!(covered, self.received_bytes, "every byte received is described");
    }
}

/// A program that ends with the test.
struct Program(Child);

impl Program {
    fn start(name: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(name);
        command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        Self(
            command
                .spawn()
                .unwrap_or_else(|error| panic!("cannot start {name}: {error}")),
        )
    }

    fn say(&mut self, text: &str) {
        let stdin = self.0.stdin.as_mut().expect("a pipe");
        stdin.write_all(text.as_bytes()).expect("the program listens");
    }

    fn has_ended(&mut self) -> bool {
        self.0.try_wait().expect("a child").is_some()
    }

    /// Ends the program and returns what it printed.
    fn end(mut self) -> String {
        let _ = self.0.kill();
        let mut text = Vec::new();
        let stdout = self.0.stdout.as_mut().expect("a pipe");
        stdout.read_to_end(&mut text).expect("what it printed");
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The world's certificates as files.
struct Files {
    _folder: tempfile::TempDir,
    authority: PathBuf,
    server: PathBuf,
    server_key: PathBuf,
    client: PathBuf,
    client_key: PathBuf,
}

impl Files {
    fn write(world: &World) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: String| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("a file");
            path
        };
        Self {
            authority: write("authority.pem", world.authority.to_pem().expect("PEM")),
            server: write("server.pem", world.server.certificates_to_pem().expect("PEM")),
            server_key: write("server.key", world.server.private_key_to_pem().expect("PEM")),
            client: write("client.pem", world.client.certificates_to_pem().expect("PEM")),
            client_key: write("client.key", world.client.private_key_to_pem().expect("PEM")),
            _folder: folder,
        }
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

fn is_established<E>(events: &[Event<E>]) -> bool {
    events
        .iter()
        .any(|event| matches!(event, Event::Established { .. }))
}

#[test]
#[ignore = "needs openssl"]
fn our_client_talks_to_openssl_s_server() {
    let world = World::new();
    let files = Files::write(&world);
    let port = own_port();
    let accept = port.to_string();
    let mut server = Program::start(
        "openssl",
        &[
            "s_server",
            "-dtls1_2",
            "-quiet",
            "-accept",
            &accept,
            "-cert",
            text(&files.server),
            "-key",
            text(&files.server_key),
        ],
    );
    let endpoint = Client::new(
        world.client_config(Version::Dtls12),
        bare::Client::new(Transport::Datagram),
    );
    let mut driver = Driver::new(endpoint, Some(([127, 0, 0, 1], port).into()));
    driver.run("the handshake", |driver| is_established(&driver.events));
    driver.input(Input::Command(bare::ClientCommand::Send {
        message: 0,
        content: b"from wirecost\n".as_slice().into(),
    }));
    server.say("from openssl\n");
    driver.run("its message", |driver| {
        driver.endpoint.inner().ignored_bytes() == 13
    });
    driver.input(Input::Command(bare::ClientCommand::Close));
    driver.run("its close_notify", |driver| driver.is_closed);
    assert!(server.end().contains("from wirecost"));
}

#[test]
#[ignore = "needs openssl"]
fn openssl_s_client_talks_to_our_server() {
    for cookie in [false, true] {
        openssl_talks_to(&World {
            cookie,
            ..World::new()
        });
    }
}

fn openssl_talks_to(world: &World) {
    let files = Files::write(world);
    let endpoint = Server::new(world.server_config(), bare::Server::new(Transport::Datagram));
    let mut driver = Driver::new(endpoint, None);
    let connect = format!("127.0.0.1:{}", driver.port());
    let with_psk: &[&str] = &[
        "-psk_identity",
        "wc",
        "-psk",
        "30313233343536373839616263646566",
        "-cipher",
        "PSK-AES128-CCM8:@SECLEVEL=0",
    ];
    let with_certificate: &[&str] = &[
        "-CAfile",
        text(&files.authority),
        "-verify_return_error",
        "-verify_ip",
        "127.0.0.1",
    ];
    for (round, credentials) in [with_certificate, with_psk].into_iter().enumerate() {
        let arguments = [
            &["s_client", "-dtls1_2", "-quiet", "-connect", &connect],
            credentials,
        ]
        .concat();
        let mut client = Program::start("openssl", &arguments);
        client.say("from openssl\n");
        let messages = |events: &[Event<bare::ServerEvent>]| {
            let message = bare::ServerEvent::Message {
                flow: FLOW,
                payload_bytes: 13,
                front: Front::from_payload(b"from openssl\n"),
            };
            events
                .iter()
                .filter(|event| **event == Event::Inner(message))
                .count()
        };
        driver.run("its message", |driver| messages(&driver.events) == round + 1);
    }
}

/// OpenSSL's options for the pre-shared key and its suite.
const OPENSSL_PSK: [&str; 6] = [
    "-psk_identity",
    "wc",
    "-psk",
    "30313233343536373839616263646566",
    "-cipher",
    "PSK-AES128-CCM8:@SECLEVEL=0",
];

/// How the connections started, in their order.
fn starts<E>(events: &[Event<E>]) -> Vec<Start> {
    let starts = events.iter().filter_map(|event| match event {
        Event::Established { start, .. } => Some(*start),
        _ => None,
    });
    starts.collect()
}

/// OpenSSL's server with the pre-shared key.
fn openssl_psk_server(port: u16) -> Program {
    let accept = port.to_string();
    let arguments = ["s_server", "-dtls1_2", "-quiet", "-nocert", "-accept", &accept];
    Program::start("openssl", &[&arguments[..], &OPENSSL_PSK].concat())
}

#[test]
#[ignore = "needs openssl"]
fn our_client_resumes_a_session_of_openssl() {
    let port = own_port();
    let mut server = openssl_psk_server(port);
    let config = World::new().client_config(Version::Dtls12Psk);
    let endpoint = Client::new(
        config.with_start(Start::Resumed),
        bare::Client::new(Transport::Datagram),
    );
    let peer = ([127, 0, 0, 1], port).into();
    let mut driver = Driver::new(endpoint, Some(peer));
    let expected = [Start::Cold, Start::Resumed, Start::Resumed];
    for round in 1..=expected.len() {
        driver.run("the handshake", |driver| starts(&driver.events).len() == round);
        let content = format!("message {round}\n").into_bytes().into();
        let command = bare::ClientCommand::Send { message: 0, content };
        driver.input(Input::Command(command));
        server.say("from openssl\n");
        driver.run("its message", |driver| {
            driver.endpoint.inner().ignored_bytes() >= 13
        });
        driver.is_closed = false;
        driver.input(Input::Command(bare::ClientCommand::Close));
        driver.run("its close_notify", |driver| driver.is_closed);
        driver.input(Input::Opened { flow: FLOW, peer });
    }
    assert_eq!(starts(&driver.events)[..3], expected);
    let said = server.end();
    assert!(said.contains("message 1") && said.contains("message 3"), "{said}");
}

#[test]
#[ignore = "needs openssl"]
fn openssl_resumes_a_session_of_our_server() {
    let world = World::new();
    let folder = tempfile::tempdir().expect("a folder");
    let session = folder.path().join("session.pem");
    let endpoint = Server::new(world.server_config(), bare::Server::new(Transport::Datagram));
    let mut driver = Driver::new(endpoint, None);
    let connect = format!("127.0.0.1:{}", driver.port());
    for (round, option) in ["-sess_out", "-sess_in"].into_iter().enumerate() {
        let arguments = [
            "s_client",
            "-dtls1_2",
            "-connect",
            &connect,
            option,
            text(&session),
        ];
        let mut client = Program::start("openssl", &[&arguments[..], &OPENSSL_PSK].concat());
        client.say("from openssl\n");
        driver.run("the handshake", |driver| {
            starts(&driver.events).len() == round + 1
        });
        driver.run("the session file", |_| session.exists());
        let said = client.end();
        let expected = ["New, TLSv1.2", "Reused, TLSv1.2"][round];
        assert!(said.is_empty() || said.contains(expected), "{said}");
    }
    assert_eq!(starts(&driver.events), [Start::Cold, Start::Resumed]);
}

#[test]
#[ignore = "needs openssl"]
fn a_server_without_connection_ids_is_refused() {
    let port = own_port();
    let _server = openssl_psk_server(port);
    let endpoint = Client::new(
        World::new().client_config(Version::Dtls12Cid),
        bare::Client::new(Transport::Datagram),
    );
    let mut driver = Driver::new(endpoint, Some(([127, 0, 0, 1], port).into()));
    let fault = |events: &[Event<bare::ClientEvent>]| {
        events.iter().find_map(|event| match event {
            Event::Failed { fault, .. } => Some(fault.to_string()),
            _ => None,
        })
    };
    driver.run("the refusal", |driver| fault(&driver.events).is_some());
    let expected = "the server grants no connection ID (RFC 9146)";
    assert_eq!(fault(&driver.events).as_deref(), Some(expected));
}

/// A PUT by one of libcoap's clients to our server, until the client has ended.
fn put_by_libcoap(world: &World, program: &str, credentials: &[&str]) {
    let endpoint = Server::new(
        world.server_config(),
        server::Server::new(server::Config::new(Rng::new(1))),
    );
    let mut driver = Driver::new(endpoint, None);
    let uri = format!("coaps://127.0.0.1:{}/test", driver.port());
    let arguments = [credentials, &["-m", "put", "-e", "hello", &uri]].concat();
    let mut client = Program::start(program, &arguments);
    driver.run(program, |_| client.has_ended());
    let content = driver.endpoint.inner().content("/test");
    assert_eq!(content, Some(b"hello".as_slice()), "{program} {credentials:?}");
}

#[test]
#[ignore = "needs libcoap3-bin"]
fn libcoap_clients_talk_to_our_server() {
    let programs = ["coap-client-openssl", "coap-client-gnutls"];
    for (program, cookie) in programs
        .into_iter()
        .flat_map(|program| [(program, false), (program, true)])
    {
        let world = World {
            cookie,
            ..World::new()
        };
        let files = Files::write(&world);
        put_by_libcoap(&world, program, &["-k", KEY, "-u", "wc"]);
        let certificates = [
            "-c",
            text(&files.client),
            "-j",
            text(&files.client_key),
            "-C",
            text(&files.authority),
        ];
        put_by_libcoap(&world, program, &certificates);
    }
}

/// A PUT by our client to one of libcoap's servers.
fn put_to_libcoap(world: &World, version: Version, program: &str, credentials: &[&str]) {
    // The secure port is one higher.
    let port = own_port();
    let listen = (port - 1).to_string();
    let arguments = [&["-A", "127.0.0.1", "-p", &listen, "-d", "10"], credentials].concat();
    let _server = Program::start(program, &arguments);
    let coap = client::Client::new(client::Config::new(Rng::new(1)));
    let endpoint = Client::new(world.client_config(version), coap);
    let mut driver = Driver::new(endpoint, Some(([127, 0, 0, 1], port).into()));
    let template = RequestTemplate::new(Request::put("/test", vec![7; 100])).expect("a request");
    let template = Arc::new(template);
    driver.input(Input::Command(client::Command::Request { message: 1, template }));
    driver.run(program, |driver| {
        driver
            .events
            .iter()
            .any(|event| matches!(event, Event::Inner(client::Event::Response(_))))
    });
    let answer = driver.consumed.last().expect("an answer");
    assert_eq!(answer.layer, Layer::Security, "the tag comes last");
    let is_application = |span: &Span| span.layer == Layer::Application;
    assert!(driver.consumed.iter().any(is_application), "{program}");
    driver.input(Input::Command(client::Command::Close));
    driver.run("close_notify, or a second", |driver| driver.is_closed);
}

#[test]
#[ignore = "needs libcoap3-bin"]
fn our_client_talks_to_libcoap_servers() {
    let world = World::new();
    let files = Files::write(&world);
    for program in ["coap-server-openssl", "coap-server-gnutls"] {
        put_to_libcoap(&world, Version::Dtls12Psk, program, &["-k", KEY]);
        let certificates = [
            "-c",
            text(&files.server),
            "-j",
            text(&files.server_key),
            "-C",
            text(&files.authority),
        ];
        put_to_libcoap(&world, Version::Dtls12, program, &certificates);
    }
}
