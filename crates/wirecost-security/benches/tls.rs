//! A TLS handshake by version and start, a message of 128 bytes, and the memory of a connection. The time of a
//! handshake covers both ends, connection and close.

#![allow(clippy::disallowed_macros, reason = "a bench prints its figures")]

#[path = "../../wirecost-proto/benches/measure/mod.rs"]
mod measure;

use std::time::Duration;

use measure::{Bench, Loop, PAYLOAD, held_bytes};
use wirecost_proto::bare::{self, ClientCommand, Transport};
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output, Peer};
use wirecost_security::certificate::{Authority, Identity, VALID_FROM};
use wirecost_security::tls::{
    Client, ClientConfig, ClientOptions, Server, ServerConfig, ServerOptions, Trust, Versions,
};
use wirecost_security::{Epoch, Start};

const CASES: [(Versions, &str, &[Start]); 2] = [
    (
        Versions::Tls13,
        "tls1.3",
        &[Start::Cold, Start::Resumed, Start::ZeroRtt],
    ),
    (Versions::Tls12, "tls1.2", &[Start::Cold, Start::Resumed]),
];

fn main() {
    let mut bench = Bench::from_arguments();
    let (client, server) = configs();
    for (versions, name, starts) in CASES {
        for &start in starts {
            let mut ends = Ends::new(&client(versions, start), &server);
            ends.connection();
            bench.peer(&format!("{name} handshake, {start}"), || ends.connection());
        }
        let (one, other) = (tls_client(&client(versions, Start::Cold)), tls_server(&server));
        let mut both = Loop::connected(one, other, Duration::from_millis(1));
        let before = held_bytes();
        bench.peer(&format!("{name} message"), || {
            both.message(ClientCommand::Send {
                message: 0,
                content: PAYLOAD.into(),
            });
        });
        println!(
            "{name} held more after the messages: {} bytes",
            held_bytes() - before
        );
        print_memory(name, &client(versions, Start::Cold), &server);
    }
}

#[allow(clippy::disallowed_methods, reason = "any instant does")]
fn configs() -> (impl Fn(Versions, Start) -> ClientConfig, ServerConfig) {
    let authority = Authority::generate().expect("an authority");
    let epoch = Epoch {
        monotonic: std::time::Instant::now(),
        unix: VALID_FROM,
    };
    let server = ServerOptions {
        accept_early_data: true,
        ..ServerOptions::new(epoch, Identity::generate(&authority).expect("a server"))
    };
    let client = move |versions, start| {
        let trust = Trust::Authorities(vec![authority.certificate().to_vec()]);
        let options = ClientOptions {
            versions,
            start,
            ..ClientOptions::new(epoch, trust, "server")
        };
        ClientConfig::new(options).expect("a client")
    };
    (client, ServerConfig::new(server).expect("a server"))
}

fn tls_client(config: &ClientConfig) -> Client<bare::Client> {
    Client::new(config.clone(), bare::Client::new(Transport::Stream))
}

fn tls_server(config: &ServerConfig) -> Server<bare::Server> {
    Server::new(config, bare::Server::new(Transport::Stream))
}

/// Mean memory of a connection at either side, in bytes.
fn print_memory(name: &str, client: &ClientConfig, server: &ServerConfig) {
    const CONNECTIONS: u32 = 100;
    let mut server = tls_server(server);
    let mut clients = Vec::with_capacity(CONNECTIONS as usize);
    let before = held_bytes();
    for flow in 0..CONNECTIONS {
        let mut client = tls_client(client);
        exchange(&mut client, &mut server, FlowId(flow), None);
        clients.push(client);
    }
    let both = held_bytes() - before;
    drop(clients);
    let servers = held_bytes() - before;
    let each = |bytes: i64| bytes / i64::from(CONNECTIONS);
    println!(
        "{name} memory per connection: client {} bytes, server {} bytes with its session",
        each(both - servers),
        each(servers)
    );
}

/// A client and a server, one connection after another.
struct Ends {
    client: Client<bare::Client>,
    server: Server<bare::Server>,
    flow: u32,
}

impl Ends {
    fn new(client: &ClientConfig, server: &ServerConfig) -> Self {
        Self {
            client: tls_client(client),
            server: tls_server(server),
            flow: 0,
        }
    }

    fn connection(&mut self) {
        let flow = FlowId(self.flow);
        self.flow += 1;
        let close = Some(ClientCommand::Close);
        exchange(&mut self.client, &mut self.server, flow, close);
    }
}

/// Opens a flow on both sides, exchanges all their outputs, then gives the client its commands.
fn exchange(
    client: &mut Client<bare::Client>,
    server: &mut Server<bare::Server>,
    flow: FlowId,
    command: Option<ClientCommand>,
) {
    let peer = Peer::from(([192, 0, 2, 1], 1));
    let _ = server.handle_input(Input::Opened { flow, peer }, Instant::START);
    let _ = client.handle_input(Input::Opened { flow, peer }, Instant::START);
    carry(client, server, flow);
    // A first flight that waits for a command leaves at the time-out.
    let _ = client.handle_input(Input::Timeout, Instant::START);
    carry(client, server, flow);
    if let Some(command) = command {
        let _ = client.handle_input(Input::Command(command), Instant::START);
        carry(client, server, flow);
        let _ = client.handle_input(Input::PeerClosed { flow }, Instant::START);
        let _ = server.handle_input(Input::PeerClosed { flow }, Instant::START);
        carry(client, server, flow);
    }
}

fn carry(client: &mut Client<bare::Client>, server: &mut Server<bare::Server>, flow: FlowId) {
    loop {
        let up = said(client);
        if !up.is_empty() {
            let _ = server.handle_input(Input::Received { flow, bytes: &up }, Instant::START);
        }
        let down = said(server);
        if !down.is_empty() {
            let _ = client.handle_input(Input::Received { flow, bytes: &down }, Instant::START);
        } else if up.is_empty() {
            return;
        }
    }
}

fn said<E: Endpoint>(endpoint: &mut E) -> Vec<u8> {
    let (mut all, mut out) = (Vec::new(), Buffer::new());
    loop {
        out.clear();
        match endpoint.poll_output(&mut out) {
            Output::Transmit { .. } => all.extend_from_slice(out.bytes()),
            Output::Timeout(_) => return all,
            _ => {}
        }
    }
}
