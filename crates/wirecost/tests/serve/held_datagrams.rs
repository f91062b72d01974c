//! What a server on datagrams holds for peers that do not finish their handshakes and messages, and for peers that do not read:
//! QUIC, MQTT-SN and DTLS with certificates. `held.rs` has DTLS with keys, and the protocols on streams.

#![allow(clippy::disallowed_macros, reason = "a test says what it does")]

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use wirecost_http::client::{self, Command as Request};
use wirecost_http::http3;
use wirecost_http::message::{Method, RequestTemplate};
use wirecost_live::environment::OpenFiles;
use wirecost_proto::bare::{self, Transport};
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output, Rng};
use wirecost_security::certificate::Authority;
use wirecost_security::dtls::{self, Certificates, Common, Offer};
use wirecost_security::layer::Event;
use wirecost_security::tls::{self, ClientOptions};
use wirecost_security::{Epoch, KeyLog};

use crate::common::WIRECOST;
use crate::held::{UNFINISHED, check};
use crate::idle::memory;
use crate::peers::{PATIENCE, Server, own_port};

const FLOW: FlowId = FlowId(0);
/// How long a server that has more to say may be silent.
const PAUSE: Duration = Duration::from_millis(100);

/// A client machine on a socket of its own, which is driven for as long as it shall behave well.
struct Client<E: Endpoint> {
    endpoint: E,
    socket: UdpSocket,
    began: std::time::Instant,
    /// Bytes that it has sent.
    sent: usize,
    events: Vec<E::Event>,
}

impl<E: Endpoint> Client<E> {
    fn new(endpoint: E, server: SocketAddr) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
        socket.connect(server).expect("loopback");
        socket.set_read_timeout(Some(PAUSE)).expect("an open socket");
        Self {
            endpoint,
            socket,
            began: std::time::Instant::now(),
            sent: 0,
            events: Vec::new(),
        }
    }

    fn input(&mut self, input: Input<'_, E::Command>) {
        let now = Instant::from_nanos(self.began.elapsed().as_nanos() as u64);
        assert!(
            self.endpoint.handle_input(input, now).is_ok(),
            "the client goes on"
        );
        let mut out = Buffer::new();
        loop {
            out.clear();
            match self.endpoint.poll_output(&mut out) {
                Output::Transmit { .. } => {
                    self.socket.send(out.bytes()).expect("loopback");
                    self.sent += out.bytes().len();
                }
                Output::Timeout(_) => return,
                Output::Event(event) => self.events.push(event),
                Output::Consumed { .. } | Output::Close { .. } => {}
            }
        }
    }

    /// Sends its first flight.
    fn open(&mut self) {
        let peer = self.socket.peer_addr().expect("connected");
        self.input(Input::Opened { flow: FLOW, peer });
    }

    /// Goes on until it has sent so many bytes, or the server stays silent.
    fn send(&mut self, bytes: usize) {
        let (mut datagram, mut silences) = ([0; 65_536], 0);
        while self.sent < bytes && silences < 5 {
            let Ok(length) = self.socket.recv(&mut datagram) else {
                // A lost datagram waits for a timer.
                self.input(Input::Timeout);
                silences += 1;
                continue;
            };
            silences = 0;
            let bytes = &datagram[..length];
            self.input(Input::Received { flow: FLOW, bytes });
        }
    }
}

fn epoch() -> Epoch {
    let unix = std::time::UNIX_EPOCH.elapsed().expect("a time after 1970");
    let monotonic = std::time::Instant::now();
    Epoch { monotonic, unix }
}

fn quic(number: usize, server: SocketAddr) -> Client<http3::Client> {
    let options = ClientOptions::new(epoch(), tls::Trust::Anyone, "localhost");
    let tls = tls::ClientConfig::new(options).expect("a configuration");
    let config = http3::ClientConfig::new(tls, Rng::new(number as u64));
    Client::new(http3::Client::new(config).expect("a client"), server)
}

fn request(method: Method, path: &str, body: &[u8]) -> Arc<RequestTemplate> {
    let template = RequestTemplate::new(method, "localhost", path, Some("text/plain"), body);
    Arc::new(template.expect("a request"))
}

impl Client<http3::Client> {
    /// Goes on until such an event.
    fn receive_until(&mut self, is_awaited: fn(&Event<client::Event>) -> bool) {
        let mut datagram = [0; 65_536];
        self.socket
            .set_read_timeout(Some(PATIENCE))
            .expect("an open socket");
        while !self.events.iter().any(is_awaited) {
            let length = self.socket.recv(&mut datagram).expect("an answer");
            let bytes = &datagram[..length];
            self.input(Input::Received { flow: FLOW, bytes });
        }
    }

    fn ask(&mut self, message: u64, template: &Arc<RequestTemplate>) {
        let template = Arc::clone(template);
        self.input(Input::Command(Request::Request { message, template }));
    }
}

/// Asks once, and waits for the answer.
fn is_answered_on_quic(server: SocketAddr) {
    let mut client = quic(usize::MAX, server);
    client.open();
    client.ask(0, &request(Method::Get, "/test", b""));
    client.receive_until(|event| matches!(event, Event::Inner(client::Event::Response { .. })));
}

fn loopback(server: &Server) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, server.port).into()
}

#[test]
fn quic_handshakes_that_do_not_go_on_stay_within_the_limit() {
    OpenFiles::raise().expect("limits");
    let server = Server::builtin("http3");
    let address = loopback(&server);
    let mut clients: Vec<_> = (0..UNFINISHED).map(|number| quic(number, address)).collect();
    clients.iter_mut().for_each(Client::open);
    is_answered_on_quic(address);
    check(&server, "half handshakes of QUIC");
}

#[test]
fn requests_of_http3_that_do_not_end_stay_within_the_limit() {
    /// Bytes that each client sends of its request: more than the limit in all.
    const PART_BYTES: usize = 300_000;
    OpenFiles::raise().expect("limits");
    let server = Server::builtin("http3");
    let address = loopback(&server);
    let put = request(Method::Put, "/test", &vec![b'x'; 1_000_000]);
    let mut clients: Vec<_> = (0..UNFINISHED).map(|number| quic(number, address)).collect();
    // Most of the time each waits for an acknowledgement, which the server delays.
    std::thread::scope(|scope| {
        for some in clients.chunks_mut(UNFINISHED / 10) {
            let put = &put;
            scope.spawn(move || {
                for client in some {
                    client.open();
                    client.ask(0, put);
                    client.send(PART_BYTES);
                }
            });
        }
    });
    let sent: usize = clients.iter().map(|client| client.sent).sum();
    assert!(sent > UNFINISHED * PART_BYTES / 2, "{sent} B");
    is_answered_on_quic(address);
    check(&server, "half requests of HTTP/3");
}

#[test]
fn clients_of_http3_that_do_not_read_stay_within_the_limit() {
    /// So many that the windows of QUIC alone do not keep the limit.
    const CLIENTS: usize = 300;
    OpenFiles::raise().expect("limits");
    let server = Server::builtin("http3");
    let address = loopback(&server);
    let mut client = quic(usize::MAX, address);
    client.open();
    client.ask(0, &request(Method::Put, "/test", &vec![b'x'; 100_000]));
    client.send(usize::MAX);
    let get = request(Method::Get, "/test", b"");
    let mut clients: Vec<_> = (0..CLIENTS).map(|number| quic(number, address)).collect();
    for client in &mut clients {
        client.open();
        client.receive_until(|event| matches!(event, Event::Inner(client::Event::Opened)));
        // It sends them at once, and reads nothing more.
        (0..100).for_each(|message| client.ask(message, &get));
    }
    is_answered_on_quic(address);
    check(&server, "clients of HTTP/3 that do not read");
}

/// A message of MQTT-SN with the long form of its length (section 5.2.1).
fn sn(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = (content.len() + 4) as u16;
    [&[1][..], &length.to_be_bytes(), &[kind], content].concat()
}

/// Connections of which none goes on, with names that the gateway must remember and messages that wait for their release.
#[test]
fn peers_of_mqtt_sn_that_do_not_finish_stay_within_the_limit() {
    const CONNECT: u8 = 0x04;
    const REGISTER: u8 = 0x0a;
    const PUBLISH: u8 = 0x0c;
    /// Bytes that each client sends of messages.
    const PART_BYTES: usize = 1_000_000;
    OpenFiles::raise().expect("limits");
    let server = Server::builtin("mqttsn");
    let peers: Vec<UdpSocket> = (0..UNFINISHED)
        .map(|number| {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
            socket.connect(loopback(&server)).expect("loopback");
            socket.set_read_timeout(Some(PATIENCE)).expect("an open socket");
            let send = |message: &[u8]| {
                let _ = socket.send(message).expect("loopback");
                // One at a time, so that the kernel drops none.
                let _ = socket.recv(&mut [0; 64]);
            };
            let client_id = format!("client-{number}");
            // Clean session, an hour.
            send(&sn(CONNECT, &[&[4, 1, 14, 16], client_id.as_bytes()].concat()));
            let bytes = vec![b'x'; 50_000];
            for id in 0..(PART_BYTES / bytes.len()) as u8 {
                // Their characters are looked at one by one.
                if id < 3 {
                    let name = [&[0, 0, 0, id, id + 97], &bytes[..]].concat();
                    send(&sn(REGISTER, &name));
                }
                // QoS 2 to the short name "ab", without the PUBREL that would release it.
                send(&sn(
                    PUBLISH,
                    &[&[0x42, b'a', b'b', 0, id + 100], &bytes[..]].concat(),
                ));
            }
            // A connection with a will, whose topic is asked for and never told.
            let half = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
            half.connect(loopback(&server)).expect("loopback");
            half.send(&sn(CONNECT, &[&[12, 1, 14, 16], &b"will"[..]].concat()))
                .expect("loopback");
            socket
        })
        .collect();
    peers[0].send(&[2, 0x16]).expect("loopback");
    let mut answer = [0; 64];
    let length = peers[0].recv(&mut answer).expect("PINGRESP");
    assert_eq!(answer[..length], [2, 0x17]);
    check(&server, "peers of MQTT-SN");
}

/// Clients of DTLS with certificates.
fn dtls_clients(
    count: usize,
    server: SocketAddr,
    version: dtls::Version,
) -> Vec<Client<dtls::Client<bare::Client>>> {
    let anyone = Certificates {
        trust: dtls::Trust::Anyone,
        identity: None,
    };
    let offer = match version {
        dtls::Version::Dtls13 => Offer::Dtls13(anyone),
        _ => Offer::Dtls12(anyone),
    };
    let common = Common::new(epoch(), KeyLog::new());
    let config = dtls::ClientConfig::new(common, offer).expect("a configuration");
    let endpoint = || dtls::Client::new(config.clone(), bare::Client::new(Transport::Datagram));
    (0..count).map(|_| Client::new(endpoint(), server)).collect()
}

/// Handshakes of DTLS with certificates, and then fragments of a message that is never whole: each peer's come to 1 MB.
#[test]
fn handshakes_with_certificates_that_do_not_go_on_stay_within_the_limit() {
    const PART_BYTES: usize = 1_000_000;
    OpenFiles::raise().expect("limits");
    let server = Server::builtin_with("coap", own_port(), &["--dtls"]);
    let mut clients = dtls_clients(UNFINISHED, loopback(&server), dtls::Version::Dtls12);
    for client in &mut clients {
        client.open();
        client
            .socket
            .set_read_timeout(Some(PATIENCE))
            .expect("an open socket");
        let _ = client.socket.recv(&mut [0; 2_048]).expect("a flight");
    }
    check(&server, "half handshakes of DTLS");
    // Of a Certificate of 1 MB as message 1, some bytes at a time.
    let content = [b'x'; 1_300];
    for client in &clients {
        for number in 0..(PART_BYTES / content.len()) as u32 {
            let three = |value: usize| (value as u32).to_be_bytes();
            let (length, part) = (three(PART_BYTES), three(content.len()));
            let offset = three(number as usize * content.len() + 1);
            let message = [&[11], &length[1..], &[0, 1], &offset[1..], &part[1..], &content].concat();
            let record = [&[22, 254, 253, 0, 0, 0, 0][..], &(number + 1).to_be_bytes()].concat();
            let size = (message.len() as u16).to_be_bytes();
            client
                .socket
                .send(&[&record[..], &size, &message].concat())
                .expect("loopback");
        }
    }
    check(&server, "half messages within handshakes of DTLS");
}

/// RFC 6347 section 4.2.1: on an address that others can reach, the server keeps nothing of a client that has not returned its
/// cookie, however many there are.
#[test]
fn hellos_without_cookies_take_no_memory() {
    const ROUNDS: usize = 8;
    OpenFiles::raise().expect("limits");
    let folder = tempfile::TempDir::new().expect("a folder");
    let authority = folder.path().join("authority.pem");
    let own = Authority::generate().expect("an authority");
    std::fs::write(&authority, own.to_pem().expect("a text")).expect("a file");
    let port = own_port();
    let mut command = Command::new(WIRECOST);
    let listen = format!("0.0.0.0:{port}");
    command.args(["serve", "coap", "--dtls", "--listen", &listen, "--client-ca"]);
    command.arg(&authority);
    let server = Server::start(command, port);
    server.wait(|server| server.log().contains("serving"));
    let ask = |version: dtls::Version| {
        let mut clients = dtls_clients(UNFINISHED, loopback(&server), version);
        for client in &mut clients {
            client.open();
            client
                .socket
                .set_read_timeout(Some(PATIENCE))
                .expect("an open socket");
            let _ = client
                .socket
                .recv(&mut [0; 2_048])
                .expect("a request for a cookie");
        }
    };
    let versions = [dtls::Version::Dtls12, dtls::Version::Dtls13];
    versions.into_iter().for_each(ask);
    let before = memory(server.id(), "VmRSS:");
    for round in 0..ROUNDS {
        ask(versions[round % versions.len()]);
    }
    let grown = memory(server.id(), "VmRSS:").saturating_sub(before);
    let count = ROUNDS * UNFINISHED;
    println!("{grown} B for {count} hellos");
    // An engine would take 24 KiB. What is kept of an address is that it has sent something.
    assert!(grown < count * 1_024, "{grown} B for {count} hellos");
    assert!(!server.log().contains("ended"), "{}", server.log());
}
