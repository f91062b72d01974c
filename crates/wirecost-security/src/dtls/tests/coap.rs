use std::sync::Arc;

use wirecost_coap::client::{self, Request, RequestTemplate};
use wirecost_coap::server;
use wirecost_proto::{Delivery, Fate, Path};

use super::*;

type CoapPair<P> = Pair<Client<client::Client>, Server<server::Server>, P>;

fn pair<P: Path>(world: &World, path: P) -> CoapPair<P> {
    let server = ServerConfig::new(world.common.clone(), world.accept.clone()).expect("a server");
    let rng = Rng::new(5);
    Pair::new(
        Transport::Datagram,
        Client::new(
            world.client_config(),
            client::Client::new(client::Config::new(rng)),
        ),
        Server::new(server, server::Server::new(server::Config::new(rng))),
        path,
    )
}

fn put(pair: &mut CoapPair<impl Path>, message: u64, payload: usize) {
    let request = Request::put("/test", vec![7; payload]);
    let template = Arc::new(RequestTemplate::new(request).expect("a request"));
    pair.command(client::Command::Request { message, template });
}

/// How many of the client's requests were answered.
fn answered(pair: &CoapPair<impl Path>) -> usize {
    let is_answer = |(_, event): &&(Instant, Event<client::Event>)| {
        matches!(event, Event::Inner(client::Event::Response(_)))
    };
    pair.client_events.iter().filter(is_answer).count()
}

#[test]
fn a_confirmable_put_takes_the_handshake_and_one_round_trip() {
    let cases = [
        (Version::Dtls13, false, 2),
        (Version::Dtls13, true, 3),
        (Version::Dtls12, false, 3),
        (Version::Dtls12Psk, false, 3),
        (Version::Dtls12Cid, false, 3),
    ];
    for (version, cookie, round_trips) in cases {
        let mut world = World::new(version);
        world.accept.cookie = cookie;
        let mut pair = pair(&world, FixedDelay(ONE_WAY));
        put(&mut pair, 1, 128);
        pair.open();
        pair.drive_for(Duration::from_secs(5));
        let answered = established_at(&pair.client_events, |event| {
            matches!(event, Event::Inner(client::Event::Response(_)))
        });
        let expected = Instant::START + 2 * ONE_WAY * round_trips;
        assert_eq!(answered, Some(expected), "{version:?}, cookie {cookie}");
        assert_eq!(pair.unconsumed(), 0);
    }
}

#[test]
fn a_protected_acknowledgement_stays_an_acknowledgement() {
    for version in Version::ALL {
        let mut pair = pair(&World::new(version), FixedDelay(ONE_WAY));
        put(&mut pair, 1, 128);
        pair.open();
        pair.drive_for(Duration::from_secs(5));
        let answer = pair.sent.last().expect("an answer");
        let causes: Vec<_> = answer.spans.iter().map(|span| (span.layer, span.cause)).collect();
        let expected = [Layer::Security, Layer::Application, Layer::Security];
        assert_eq!(
            causes,
            expected.map(|layer| (layer, Cause::Acknowledgement)),
            "{version:?}"
        );
    }
}

/// Loses one datagram in five in each direction.
struct Lossy(Rng);

impl Path for Lossy {
    fn offer(&mut self, _: Direction, _: usize, now: Instant, deliveries: &mut Vec<Delivery>) -> Fate {
        if self.0.next_below(5) == 0 {
            return Fate::Lost;
        }
        deliveries.push(Delivery {
            at: now + ONE_WAY,
            flip_bit: None,
        });
        Fate::Delivered
    }
}

#[test]
fn messages_arrive_despite_a_loss_of_one_fifth() {
    for version in Version::ALL {
        for seed in 0..6 {
            let mut world = World::new(version);
            world.common = world.common.clone().with_seed(Rng::new(seed));
            let mut pair = pair(&world, Lossy(Rng::new(seed)));
            pair.open();
            pair.drive_for(Duration::from_secs(60));
            for message in 0..3 {
                put(&mut pair, message, 100);
            }
            pair.drive_for(Duration::from_secs(120));
            assert_eq!(
                answered(&pair),
                3,
                "{version:?}, seed {seed}: {:?}",
                pair.client_events
            );
            assert_eq!(pair.unconsumed(), 0);
            let again = bytes_of(&pair.sent, |span| span.cause == Cause::Retransmission);
            let lost_some = pair.sent.len() > 14;
            assert!(again > 0 || !lost_some, "{version:?}, seed {seed}");
        }
    }
}
