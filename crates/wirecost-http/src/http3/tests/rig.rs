//! A client and a server with generated certificates.

use std::sync::Arc;
use std::time::Duration;

use wirecost_proto::bare::Transport as Under;
use wirecost_proto::pair::Pair;
use wirecost_proto::path::FixedDelay;
use wirecost_proto::{Direction, FlowId, Instant, Layer, Path, Phase, Rng, Span};
use wirecost_security::certificate::{Authority, Identity, VALID_FROM};
use wirecost_security::entropy::Entropy;
use wirecost_security::tls::{self, ClientOptions, ServerOptions, Trust};
use wirecost_security::{Epoch, KeyLog, Start, layer};

use crate::client::{self, Command};
use crate::http3::{Client, ClientConfig, Server, ServerConfig};
use crate::message::{Method, RequestTemplate};

pub(in crate::http3) type Rig<P = FixedDelay> = Pair<Client, Server, P>;

/// Half a round trip.
pub(in crate::http3) const DELAY: Duration = Duration::from_millis(50);

/// The configuration of both ends.
pub(in crate::http3) struct Parts {
    pub(in crate::http3) client: ClientOptions,
    pub(in crate::http3) server: ServerOptions,
    pub(in crate::http3) unsafe_early_data: bool,
}

impl Parts {
    pub(in crate::http3) fn new(start: Start) -> Self {
        let authority = Authority::from_entropy(Entropy::seeded(Rng::new(7))).expect("an authority");
        let identity = Identity::generate(&authority).expect("an identity");
        let trust = Trust::Authorities(vec![authority.certificate().to_vec()]);
        let key_log = KeyLog::new();
        let mut client = ClientOptions::new(epoch(), trust, "server");
        client.start = start;
        client.key_log = key_log.clone();
        let mut server = ServerOptions::new(epoch(), identity);
        server.accept_early_data = start == Start::ZeroRtt;
        server.key_log = key_log.clone();
        Self {
            client,
            server,
            unsafe_early_data: true,
        }
    }

    pub(in crate::http3) fn client_config(&self, seed: u64) -> ClientConfig {
        let tls = tls::ClientConfig::new(self.client.clone()).expect("a configuration");
        ClientConfig::new(tls, Rng::new(seed).host(1))
    }

    pub(in crate::http3) fn server(&self, seed: u64) -> Server {
        let tls = tls::ServerConfig::new(self.server.clone()).expect("a configuration");
        let mut config = ServerConfig::new(tls, Rng::new(seed).host(0));
        config.resources.unsafe_early_data = self.unsafe_early_data;
        Server::new(config).expect("a server")
    }

    pub(in crate::http3) fn pair<P: Path>(&self, seed: u64, path: P) -> Rig<P> {
        let client = Client::new(self.client_config(seed)).expect("a client");
        Pair::new(Under::Datagram, client, self.server(seed), path)
    }
}

#[expect(clippy::disallowed_methods, reason = "an instant cannot be made from nothing")]
pub(in crate::http3) fn epoch() -> Epoch {
    Epoch {
        monotonic: std::time::Instant::now(),
        unix: VALID_FROM + Duration::from_secs(86_400),
    }
}

pub(in crate::http3) fn rig(start: Start) -> Rig {
    Parts::new(start).pair(1, FixedDelay(DELAY))
}

pub(in crate::http3) fn post(message: u64, bytes: usize) -> Command {
    let mut payload = vec![0; bytes];
    Rng::new(message).fill(&mut payload);
    let octets = Some("application/octet-stream");
    let template = RequestTemplate::new(Method::Post, "server", "/test", octets, payload);
    request(message, template.expect("a template"))
}

pub(in crate::http3) fn get(message: u64, path: &str) -> Command {
    let template = RequestTemplate::new(Method::Get, "server", path, None, []);
    request(message, template.expect("a template"))
}

fn request(message: u64, template: RequestTemplate) -> Command {
    let template = Arc::new(template);
    Command::Request { message, template }
}

/// Time, number and status of each response.
pub(in crate::http3) fn responses<P>(rig: &Rig<P>) -> Vec<(Instant, u64, u16)> {
    let events = rig.client_events.iter();
    let response = |(at, event): &(Instant, layer::Event<client::Event>)| match event {
        layer::Event::Inner(client::Event::Response { message, status, .. }) => {
            Some((*at, *message, status.code()))
        }
        _ => None,
    };
    events.filter_map(response).collect()
}

/// The starts of the client's connections.
pub(in crate::http3) fn starts<P>(rig: &Rig<P>) -> Vec<Start> {
    let start = |(_, event): &(Instant, layer::Event<client::Event>)| match event {
        layer::Event::Established { start, .. } => Some(*start),
        _ => None,
    };
    rig.client_events.iter().filter_map(start).collect()
}

/// Bytes of a layer and phase that one side sent on a flow.
pub(in crate::http3) fn bytes<P>(
    rig: &Rig<P>,
    flow: u32,
    direction: Direction,
    layer: Layer,
    phase: Phase,
) -> u64 {
    let sent = rig.sent.iter();
    let mine = sent.filter(|sent| sent.flow == FlowId(flow) && sent.direction == direction);
    let spans = mine.flat_map(|sent| &sent.spans);
    let fitting = spans.filter(|span: &&Span| span.layer == layer && span.phase == phase);
    fitting.map(|span| u64::from(span.len)).sum()
}

/// Opens and closes a first connection, which brings a ticket, then opens the second flow at `now`.
pub(in crate::http3) fn reconnected<P: Path>(mut rig: Rig<P>) -> Rig<P> {
    rig.open();
    rig.drive_for(Duration::from_secs(1));
    rig.command(Command::Close);
    rig.drive_for(Duration::from_secs(1));
    rig.client_events.clear();
    rig.open_flow(FlowId(1));
    rig
}
