//! HTTP/3: a connection by its start, a POST on an open one, and the memory of a connection. The time of a connection
//! covers both ends and the close.

#![allow(clippy::disallowed_macros, reason = "a bench prints its figures")]

#[path = "../../wirecost-proto/benches/measure/mod.rs"]
mod measure;

use std::sync::Arc;
use std::time::Duration;

use measure::{Bench, Loop, PAYLOAD, held_bytes};
use wirecost_http::client::Command;
use wirecost_http::http3::{Client, ClientConfig, Server, ServerConfig};
use wirecost_http::message::{Method, RequestTemplate};
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output, Rng};
use wirecost_security::certificate::{Authority, Identity, VALID_FROM};
use wirecost_security::tls::{self, ClientOptions, ServerOptions, Trust};
use wirecost_security::{Epoch, Start};

fn main() {
    let mut bench = Bench::from_arguments();
    let (client, server) = configs();
    for start in [Start::Cold, Start::Resumed, Start::ZeroRtt] {
        let mut ends = Ends::new(client(start), &server);
        ends.connection();
        bench.peer(&format!("http3 connection, {start}"), || ends.connection());
    }
    let one = Client::new(client(Start::Cold)).expect("a client");
    let other = Server::new(server.clone()).expect("a server");
    let mut both = Loop::connected(one, other, Duration::from_millis(1));
    let template = template();
    bench.peer("http3, 128 B", || {
        let template = Arc::clone(&template);
        both.message(Command::Request { message: 0, template });
    });
    print_memory(&client(Start::Cold), &server);
}

fn template() -> Arc<RequestTemplate> {
    let octets = Some("application/octet-stream");
    let template = RequestTemplate::new(Method::Post, "server", "/test", octets, PAYLOAD);
    Arc::new(template.expect("a request"))
}

#[allow(clippy::disallowed_methods, reason = "any instant does")]
fn configs() -> (impl Fn(Start) -> ClientConfig, ServerConfig) {
    let authority = Authority::generate().expect("an authority");
    let epoch = Epoch {
        monotonic: std::time::Instant::now(),
        unix: VALID_FROM,
    };
    let server = ServerOptions {
        accept_early_data: true,
        ..ServerOptions::new(epoch, Identity::generate(&authority).expect("a server"))
    };
    let client = move |start| {
        let trust = Trust::Authorities(vec![authority.certificate().to_vec()]);
        let options = ClientOptions {
            start,
            ..ClientOptions::new(epoch, trust, "server")
        };
        ClientConfig::new(tls::ClientConfig::new(options).expect("a client"), Rng::new(1))
    };
    let server = tls::ServerConfig::new(server).expect("a server");
    (client, ServerConfig::new(server, Rng::new(2)))
}

/// Mean memory of a connection at both sides, in bytes.
fn print_memory(client: &ClientConfig, server: &ServerConfig) {
    const CONNECTIONS: u32 = 100;
    let mut server = Server::new(server.clone()).expect("a server");
    let mut clients = Vec::with_capacity(CONNECTIONS as usize);
    let before = held_bytes();
    for flow in 0..CONNECTIONS {
        let mut client = Client::new(client.clone()).expect("a client");
        let now = Instant::from_millis(u64::from(flow));
        exchange(&mut client, &mut server, FlowId(flow), now, false);
        clients.push(client);
    }
    let held = (held_bytes() - before) / i64::from(CONNECTIONS);
    println!("http3 memory per connection, both ends: {held} bytes");
}

/// A client that connects repeatedly.
struct Ends {
    client: Client,
    server: Server,
    flows: u32,
}

impl Ends {
    fn new(client: ClientConfig, server: &ServerConfig) -> Self {
        Self {
            client: Client::new(client).expect("a client"),
            server: Server::new(server.clone()).expect("a server"),
            flows: 0,
        }
    }

    fn connection(&mut self) {
        let flow = FlowId(self.flows);
        self.flows += 1;
        let now = Instant::from_millis(u64::from(self.flows) * 10);
        exchange(&mut self.client, &mut self.server, flow, now, true);
    }
}

/// Connects, and closes if requested.
fn exchange(client: &mut Client, server: &mut Server, flow: FlowId, now: Instant, closes: bool) {
    let peer = "10.0.0.1:443".parse().expect("an address");
    let _ = server.handle_input(Input::Opened { flow, peer }, now);
    let _ = client.handle_input(Input::Opened { flow, peer }, now);
    let _ = client.handle_input(Input::Timeout, now);
    settle(client, server, flow, now);
    if closes {
        let _ = client.handle_input(Input::Command(Command::Close), now);
        settle(client, server, flow, now);
    }
}

/// Exchanges datagrams until neither side has one.
fn settle(client: &mut Client, server: &mut Server, flow: FlowId, now: Instant) {
    loop {
        let up = datagrams(client);
        for bytes in &up {
            let _ = server.handle_input(Input::Received { flow, bytes }, now);
        }
        let down = datagrams(server);
        for bytes in &down {
            let _ = client.handle_input(Input::Received { flow, bytes }, now);
        }
        if up.is_empty() && down.is_empty() {
            return;
        }
    }
}

fn datagrams<E: Endpoint>(endpoint: &mut E) -> Vec<Vec<u8>> {
    let (mut out, mut datagrams) = (Buffer::new(), Vec::new());
    loop {
        out.clear();
        match endpoint.poll_output(&mut out) {
            Output::Transmit { .. } => datagrams.push(out.bytes().to_vec()),
            Output::Timeout(_) => return datagrams,
            _ => {}
        }
    }
}
