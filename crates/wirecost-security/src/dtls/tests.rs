use std::time::Duration;

use wirecost_proto::bare::{self, Transport};
use wirecost_proto::pair::{FIRST_FLOW, Pair, Sent};
use wirecost_proto::path::FixedDelay;
use wirecost_proto::{Cause, Direction, Instant, Layer, Phase, ResetReason, Rng};

use super::*;
use crate::certificate::{Authority, Identity, VALID_FROM, VALID_UNTIL};
use crate::layer::{Event, Fault};
use crate::{Epoch, KeyLog, Start};

mod amplification;
mod coap;
mod connect;
mod cookie;
mod failure;
mod moved;
mod records;
mod restart;
mod resumption;

type BarePair<P = FixedDelay> = Pair<Client<bare::Client>, Server<bare::Server>, P>;

const ONE_WAY: Duration = Duration::from_millis(50);
const DAY: Duration = Duration::from_secs(86_400);

/// The settings of a test, to be changed before it starts.
struct World {
    authority: Authority,
    version: Version,
    common: Common,
    accept: Accept,
    psk: Psk,
    server_name: &'static str,
    client_identity: Option<Identity>,
    start: Start,
}

#[allow(
    clippy::disallowed_methods,
    reason = "any instant does, but there is no other way to have one"
)]
fn epoch(unix: Duration) -> Epoch {
    Epoch {
        monotonic: std::time::Instant::now(),
        unix,
    }
}

impl World {
    fn new(version: Version) -> Self {
        let authority = Authority::from_entropy(crate::entropy::Entropy::seeded(Rng::new(1)));
        let authority = authority.expect("an authority");
        let psk = Psk::new(b"0123456789abcdef".as_slice());
        let accept = Accept {
            identity: Some(Identity::generate(&authority).expect("a server")),
            psks: vec![psk.clone()],
            ..Accept::default()
        };
        Self {
            authority,
            version,
            common: Common::new(epoch(VALID_FROM + DAY), KeyLog::new()).with_seed(Rng::new(7)),
            accept,
            psk,
            server_name: "server",
            client_identity: None,
            start: Start::Cold,
        }
    }

    fn client_config(&self) -> ClientConfig {
        let certificates = Certificates {
            trust: Trust::Authorities {
                certificates: vec![self.authority.certificate().to_vec()],
                server_name: self.server_name.to_owned(),
            },
            identity: self.client_identity.clone(),
        };
        let offer = match self.version {
            Version::Dtls13 => Offer::Dtls13(certificates),
            Version::Dtls12 => Offer::Dtls12(certificates),
            Version::Dtls12Psk => Offer::Dtls12Psk(self.psk.clone()),
            Version::Dtls12Cid => Offer::Dtls12Cid(self.psk.clone()),
        };
        let config = ClientConfig::new(self.common.clone(), offer).expect("a client");
        config.with_start(self.start)
    }

    fn pair(&self) -> BarePair {
        self.pair_over(FixedDelay(ONE_WAY))
    }

    fn pair_over<P: wirecost_proto::Path>(&self, path: P) -> BarePair<P> {
        let mut common = self.common.clone();
        common = common.with_seed(Rng::new(8));
        let server = ServerConfig::new(common, self.accept.clone()).expect("a server");
        Pair::new(
            Transport::Datagram,
            Client::new(self.client_config(), bare::Client::new(Transport::Datagram)),
            Server::new(server, bare::Server::new(Transport::Datagram)),
            path,
        )
    }

    /// A pair whose client has a message to send before its flow opens.
    fn sending(&self, payload: usize) -> BarePair {
        let mut pair = self.pair();
        pair.command(send(payload));
        pair.open();
        pair.drive_for(Duration::from_secs(60));
        pair
    }
}

fn send(payload: usize) -> bare::ClientCommand {
    bare::ClientCommand::Send {
        message: 0,
        content: vec![7; payload].into(),
    }
}

fn established_at<E, F>(events: &[(Instant, Event<E>)], found: F) -> Option<Instant>
where
    F: Fn(&Event<E>) -> bool,
{
    events.iter().find(|(_, event)| found(event)).map(|(at, _)| *at)
}

/// When the client's handshake was complete.
fn connected_at<P: wirecost_proto::Path>(pair: &BarePair<P>) -> Option<Instant> {
    established_at(&pair.client_events, |event| {
        matches!(event, Event::Established { .. })
    })
}

/// Bytes of the layers and phases that `wanted` accepts.
fn bytes_of(sent: &[Sent], wanted: impl Fn(&wirecost_proto::Span) -> bool) -> u64 {
    let spans = sent.iter().flat_map(|sent| &sent.spans);
    spans
        .filter(|span| wanted(span))
        .map(|span| u64::from(span.len))
        .sum()
}

/// The fault that ended the client's flow.
fn fault<P: wirecost_proto::Path>(pair: &BarePair<P>) -> Option<(Instant, Fault)> {
    pair.client_events.iter().find_map(|(at, event)| match event {
        Event::Failed { fault, .. } => Some((*at, fault.clone())),
        _ => None,
    })
}

fn received<P: wirecost_proto::Path>(pair: &BarePair<P>) -> usize {
    let is_message = |(_, event): &&(Instant, Event<bare::ServerEvent>)| {
        matches!(event, Event::Inner(bare::ServerEvent::Message { .. }))
    };
    pair.server_events.iter().filter(is_message).count()
}

#[test]
fn clients_without_an_identity_share_one_that_a_simulation_makes_from_a_seed() {
    let seeded = World::new(Version::Dtls13).common;
    let identity = |common: &Common| super::config::stand_in(common).expect("an identity");
    let other_seed = seeded.clone().with_seed(Rng::new(99));
    assert!(identity(&seeded) == identity(&other_seed));
    let entropy = crate::entropy::Entropy::seeded(Rng::new(0).purpose(0));
    let authority =
        Authority::from_entropy(entropy.derive("a client without an identity")).expect("an authority");
    let made = Identity::client(&authority, "wirecost").expect("an identity");
    assert!(
        identity(&seeded) == made,
        "it does not derive from the seed alone"
    );
    // What a simulation reveals must not be a key of live connections.
    let live = Common::new(seeded.epoch, KeyLog::new());
    assert!(identity(&live) == identity(&live) && identity(&live) != made);
}

#[test]
fn what_dimpl_tries_for_each_configuration_is_what_connections_offer() {
    let provider = super::provider::provider();
    let suites_12 = provider.cipher_suites.iter().map(|suite| suite.suite());
    let suites_13 = provider.dtls13_cipher_suites.iter().map(|suite| suite.suite());
    assert_eq!(suites_12.collect::<Vec<_>>(), [super::provider::SUITE_12]);
    assert_eq!(suites_13.collect::<Vec<_>>(), [super::provider::SUITE_13]);
}
