//! HTTP/1.1 inside TLS 1.3, in virtual time: round trips by the start of the connection, and early data.

use std::sync::Arc;
use std::time::Duration;

use wirecost_http::client::{Command, Event as ClientEvent};
use wirecost_http::http1::{Client, ClientConfig, Server, ServerConfig};
use wirecost_http::message::{Method, RequestTemplate};
use wirecost_http::resource;
use wirecost_http::server::{self, Event as ServerEvent};
use wirecost_proto::bare::Transport;
use wirecost_proto::pair::Pair;
use wirecost_proto::path::FixedDelay;
use wirecost_proto::{Buffer, Cause, Direction, Endpoint, FlowId, Input, Instant, Layer, Output, Phase};
use wirecost_security::certificate::{Authority, Identity, VALID_FROM};
use wirecost_security::layer::Event;
use wirecost_security::{Epoch, Start, tls};

/// One-way delay.
const DELAY: Duration = Duration::from_millis(50);

/// TLS around a server that learns which bytes are early data before it receives them.
struct SecureServer(tls::Server<Server>);

impl Endpoint for SecureServer {
    type Command = server::Command;
    type Event = Event<ServerEvent>;
    type Error = <tls::Server<Server> as Endpoint>::Error;

    fn handle_input(&mut self, input: Input<'_, Self::Command>, now: Instant) -> Result<(), Self::Error> {
        self.0.handle_input(input, now)
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Self::Event> {
        let output = self.0.poll_output(out);
        if let Output::Event(Event::EarlyData { flow, bytes }) = output {
            self.0.inner_mut().expect_early_data(flow, bytes);
        }
        output
    }
}

type SecurePair = Pair<tls::Client<Client>, SecureServer, FixedDelay>;

#[allow(
    clippy::disallowed_methods,
    reason = "any instant: what it is does not matter"
)]
fn pair(start: Start, client: ClientConfig, resources: resource::Config) -> SecurePair {
    let epoch = Epoch {
        monotonic: std::time::Instant::now(),
        unix: VALID_FROM + Duration::from_secs(86_400),
    };
    let authority = Authority::generate().expect("an authority");
    let identity = Identity::generate(&authority).expect("a server");
    let trust = tls::Trust::Authorities(vec![authority.certificate().to_vec()]);
    let client_options = tls::ClientOptions {
        start,
        ..tls::ClientOptions::new(epoch, trust, "server")
    };
    let server_options = tls::ServerOptions {
        accept_early_data: true,
        ..tls::ServerOptions::new(epoch, identity)
    };
    let client_config = tls::ClientConfig::new(client_options).expect("a client");
    let server_config = tls::ServerConfig::new(server_options).expect("a server");
    let server = Server::new(ServerConfig {
        resources,
        ..ServerConfig::default()
    });
    Pair::new(
        Transport::Stream,
        tls::Client::new(client_config, Client::new(client)),
        SecureServer(tls::Server::new(&server_config, server)),
        FixedDelay(DELAY),
    )
}

fn post(message: u64) -> Command {
    let template = RequestTemplate::new(Method::Post, "server", "/test", None, [7; 128]);
    let template = Arc::new(template.expect("a request"));
    Command::Request { message, template }
}

/// Opens a flow and posts at once. Returns the time until the response, its status, and the connection's start.
fn first_post(pair: &mut SecurePair, flow: u32) -> (Duration, u16, Start) {
    let (began, already) = (pair.now, pair.client_events.len());
    pair.open_flow(FlowId(flow));
    pair.command(post(0));
    pair.drive_for(Duration::from_secs(1));
    assert_eq!(pair.unconsumed(), 0, "every byte that arrived is accounted for");
    let (mut answered, mut started) = (None, None);
    for (at, event) in &pair.client_events[already..] {
        match event {
            Event::Inner(ClientEvent::Response { status, .. }) => {
                answered = Some((at.saturating_since(began), status.code()));
            }
            Event::Established { start, .. } => started = Some(*start),
            _ => {}
        }
    }
    let (time, status) = answered.expect("a response");
    (time, status, started.expect("a handshake"))
}

fn close(pair: &mut SecurePair) {
    pair.command(Command::Close);
    pair.drive_for(Duration::from_secs(1));
    let last = pair.client_events.last().map(|(_, event)| event.clone());
    assert_eq!(last, Some(Event::Inner(ClientEvent::Closed)));
}

#[test]
fn a_first_post_takes_two_round_trips_on_a_connection() {
    // TCP's handshake, which is not part of this test, would add a third.
    for start in [Start::Cold, Start::Resumed] {
        let mut pair = pair(start, ClientConfig::default(), resource::Config::default());
        assert_eq!(
            first_post(&mut pair, 0),
            (Duration::from_millis(200), 204, Start::Cold)
        );
        close(&mut pair);
        assert_eq!(first_post(&mut pair, 1), (Duration::from_millis(200), 204, start));
    }
}

#[test]
fn early_data_saves_a_round_trip() {
    let allowed = resource::Config {
        unsafe_early_data: true,
        ..resource::Config::default()
    };
    for (resources, status) in [(allowed, 204), (resource::Config::default(), 425)] {
        let mut pair = pair(Start::ZeroRtt, ClientConfig::default(), resources);
        first_post(&mut pair, 0);
        close(&mut pair);
        assert_eq!(
            first_post(&mut pair, 1),
            (Duration::from_millis(100), status, Start::ZeroRtt)
        );
        // The early data has ended: the next request is an ordinary one.
        pair.command(post(1));
        pair.drive_for(Duration::from_secs(1));
        let last = pair.client_events.last().map(|(_, event)| event.clone());
        assert!(
            matches!(last, Some(Event::Inner(ClientEvent::Response { message: 1, status, .. })) if status.code() == 204)
        );
    }
}

#[test]
fn a_connection_per_message_ends_without_a_failure() {
    let client = ClientConfig {
        connection_close: true,
        ..ClientConfig::default()
    };
    let mut pair = pair(Start::Cold, client, resource::Config::default());
    for flow in 0..3 {
        assert_eq!(first_post(&mut pair, flow).1, 204);
        let last = pair.client_events.last().map(|(_, event)| event.clone());
        assert_eq!(last, Some(Event::Inner(ClientEvent::Closed)));
    }
    let failed = |event: &Event<ServerEvent>| matches!(event, Event::Failed { .. });
    assert!(!pair.server_events.iter().any(|(_, event)| failed(event)));
}

#[test]
fn a_record_carries_a_whole_request_with_its_layers() {
    let mut pair = pair(Start::Cold, ClientConfig::default(), resource::Config::default());
    first_post(&mut pair, 0);
    pair.sent.clear();
    pair.command(post(1));
    pair.drive_for(Duration::from_secs(1));
    let layers = |direction: Direction| {
        let sent: Vec<_> = pair
            .sent
            .iter()
            .filter(|sent| sent.direction == direction)
            .collect();
        assert_eq!(sent.len(), 1);
        let of_message = sent[0].spans.iter().all(|span| span.phase == Phase::Message);
        assert!(of_message, "{:?}", sent[0].spans);
        sent[0]
            .spans
            .iter()
            .map(|span| (span.len, span.layer, span.cause))
            .collect::<Vec<_>>()
    };
    let head = "POST /test HTTP/1.1\r\nHost: server\r\nContent-Length: 128\r\n\r\n".len() as u32;
    let original = Cause::Original;
    assert_eq!(
        layers(Direction::Up),
        [
            (5, Layer::Security, original),
            (head, Layer::Application, original),
            (128, Layer::Payload, original),
            (17, Layer::Security, original),
        ]
    );
    let acknowledgement = Cause::Acknowledgement;
    assert_eq!(
        layers(Direction::Down),
        [
            (5, Layer::Security, acknowledgement),
            (27, Layer::Application, acknowledgement),
            (17, Layer::Security, acknowledgement),
        ]
    );
}
