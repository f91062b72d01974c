//! Client and server layer together, in virtual time.

mod choices;
mod early;
mod faults;
mod handshakes;
mod messages;
mod raw_keys;
mod sizes;
mod witnesses;

use std::sync::OnceLock;
use std::time::Duration;

use wirecost_proto::bare::{self, ClientCommand, Transport};
use wirecost_proto::pair::{Pair, Sent};
use wirecost_proto::path::FixedDelay;
use wirecost_proto::{Cause, Direction, FlowId, Instant, Layer, Phase, Rng, Span};

use super::*;
use crate::certificate::{Authority, Identity, VALID_FROM};
use crate::entropy::Entropy;
use crate::layer::{Event, Fault};
use crate::{Epoch, Start};

/// One-way delay.
const DELAY: Duration = Duration::from_millis(50);
const YEAR: Duration = Duration::from_secs(365 * 86_400);

type BarePair = Pair<Client<bare::Client>, Server<bare::Server>, FixedDelay>;

fn authority() -> &'static Authority {
    static AUTHORITY: OnceLock<Authority> = OnceLock::new();
    AUTHORITY.get_or_init(|| Authority::from_entropy(Entropy::seeded(Rng::new(7))).expect("an authority"))
}

fn server_identity() -> Identity {
    static IDENTITY: OnceLock<Identity> = OnceLock::new();
    let identity = IDENTITY.get_or_init(|| Identity::generate(authority()).expect("a server"));
    identity.clone()
}

/// A run that starts one year after the certificates become valid.
#[allow(clippy::disallowed_methods)]
fn epoch() -> Epoch {
    static MONOTONIC: OnceLock<std::time::Instant> = OnceLock::new();
    Epoch {
        // Any instant will do.
        monotonic: *MONOTONIC.get_or_init(std::time::Instant::now),
        unix: VALID_FROM + YEAR,
    }
}

fn client_options(versions: Versions) -> ClientOptions {
    let trust = Trust::Authorities(vec![authority().certificate().to_vec()]);
    ClientOptions {
        versions,
        ..ClientOptions::new(epoch(), trust, "server")
    }
}

fn server_options() -> ServerOptions {
    ServerOptions::new(epoch(), server_identity())
}

fn client<E: wirecost_proto::Endpoint>(options: ClientOptions, inner: E) -> Client<E> {
    Client::new(ClientConfig::new(options).expect("a client"), inner)
}

fn server<E: wirecost_proto::Endpoint>(options: ServerOptions, inner: E) -> Server<E> {
    Server::new(&ServerConfig::new(options).expect("a server"), inner)
}

fn bare_pair(client_options: ClientOptions, server_options: ServerOptions) -> BarePair {
    Pair::new(
        Transport::Stream,
        client(client_options, bare::Client::new(Transport::Stream)),
        server(server_options, bare::Server::new(Transport::Stream)),
        FixedDelay(DELAY),
    )
}

/// A pair whose first connection has ended, so that the next one may resume.
fn with_ticket(start: Start, client: ClientOptions, server: ServerOptions) -> BarePair {
    let mut pair = bare_pair(ClientOptions { start, ..client }, server);
    pair.open();
    pair.drive_for(Duration::from_secs(1));
    pair.command(ClientCommand::Close);
    pair.drive_for(Duration::from_secs(1));
    pair.client_events.clear();
    pair.server_events.clear();
    pair.sent.clear();
    pair
}

fn send(payload: &[u8]) -> ClientCommand {
    ClientCommand::Send {
        message: 0,
        content: payload.into(),
    }
}

/// Runs until nothing is left to do, and checks that every byte was accounted.
fn settle(pair: &mut BarePair) {
    pair.drive_for(Duration::from_secs(1));
    assert_eq!(pair.unconsumed(), 0, "every byte that arrived is accounted for");
}

fn client_starts(pair: &BarePair) -> Vec<Start> {
    let start = |(_, event): &(Instant, Event<bare::ClientEvent>)| match event {
        Event::Established { start, .. } => Some(*start),
        _ => None,
    };
    pair.client_events.iter().filter_map(start).collect()
}

fn server_starts(pair: &BarePair) -> Vec<Start> {
    let start = |(_, event): &(Instant, Event<bare::ServerEvent>)| match event {
        Event::Established { start, .. } => Some(*start),
        _ => None,
    };
    pair.server_events.iter().filter_map(start).collect()
}

fn client_faults(pair: &BarePair) -> Vec<Fault> {
    let fault = |(_, event): &(Instant, Event<bare::ClientEvent>)| match event {
        Event::Failed { fault, .. } => Some(fault.clone()),
        _ => None,
    };
    pair.client_events.iter().filter_map(fault).collect()
}

fn server_faults(pair: &BarePair) -> Vec<Fault> {
    let fault = |(_, event): &(Instant, Event<bare::ServerEvent>)| match event {
        Event::Failed { fault, .. } => Some(fault.clone()),
        _ => None,
    };
    pair.server_events.iter().filter_map(fault).collect()
}

/// The arrival time and length of each message.
fn messages(pair: &BarePair) -> Vec<(Instant, u64)> {
    let message = |(at, event): &(Instant, Event<bare::ServerEvent>)| match event {
        Event::Inner(bare::ServerEvent::Message { payload_bytes, .. }) => Some((*at, *payload_bytes)),
        _ => None,
    };
    pair.server_events.iter().filter_map(message).collect()
}

/// Bytes of a layer, a phase and a cause in both directions.
fn bytes_of(sent: &[Sent], is: impl Fn(&Span) -> bool) -> u64 {
    let spans = sent.iter().flat_map(|sent| &sent.spans);
    spans
        .filter(|span| is(span))
        .map(|span| u64::from(span.len))
        .sum()
}
