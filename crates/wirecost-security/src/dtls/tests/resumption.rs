use wirecost_proto::{Endpoint, FlowId};

use super::*;

const WITH_SESSIONS: [Version; 2] = [Version::Dtls12Psk, Version::Dtls12Cid];

fn starts(pair: &BarePair) -> Vec<Start> {
    let starts = pair.client_events.iter().filter_map(|(_, event)| match event {
        Event::Established { start, .. } => Some(*start),
        _ => None,
    });
    starts.collect()
}

/// A pair with one connection, which ended, and a second flow that opens then.
fn second_flow(world: &World) -> BarePair {
    let mut pair = world.sending(100);
    pair.command(bare::ClientCommand::Close);
    pair.drive_for(Duration::from_secs(5));
    pair.command(send(10));
    pair.open_flow(FlowId(1));
    pair
}

#[test]
fn a_resumption_takes_one_round_trip_before_the_message() {
    for version in WITH_SESSIONS {
        for (cookie, round_trips) in [(false, 1), (true, 2)] {
            let mut world = World::new(version);
            world.start = Start::Resumed;
            world.accept.cookie = cookie;
            let mut pair = second_flow(&world);
            let (opened, before) = (pair.now, pair.sent.len());
            pair.drive_for(Duration::from_secs(5));
            assert_eq!(starts(&pair), [Start::Cold, Start::Resumed], "{version:?}");
            let arrived = pair
                .server_events
                .iter()
                .rfind(|(_, event)| matches!(event, Event::Inner(_)));
            let expected = opened + 2 * ONE_WAY * round_trips + ONE_WAY;
            assert_eq!(arrived.map(|(at, _)| *at), Some(expected), "{version:?}");
            assert_eq!(received(&pair), 2);
            assert_eq!(pair.unconsumed(), 0);
            let resumed = bytes_of(&pair.sent[before..], |span| span.phase == Phase::Connect);
            let cold = bytes_of(&pair.sent[..before], |span| span.phase == Phase::Connect);
            assert!(resumed > 0 && cold > 0, "{version:?}: {resumed} {cold}");
        }
    }
}

#[test]
fn a_server_that_forgot_the_session_makes_a_full_handshake() {
    for version in WITH_SESSIONS {
        let mut world = World::new(version);
        world.start = Start::Resumed;
        let mut pair = second_flow(&world);
        let common = world.common.clone().with_seed(Rng::new(55));
        let config = ServerConfig::new(common, world.accept.clone()).expect("a server");
        pair.server = Server::new(config, bare::Server::new(Transport::Datagram));
        let peer = "10.77.0.1:1001".parse().expect("an address");
        let opened = pair.server.handle_input(
            wirecost_proto::Input::Opened {
                flow: FlowId(1),
                peer,
            },
            pair.now,
        );
        assert!(opened.is_ok());
        pair.drive_for(Duration::from_secs(5));
        assert_eq!(starts(&pair), [Start::Cold, Start::Cold], "{version:?}");
        assert_eq!(received(&pair), 2, "{version:?}");
    }
}

#[test]
fn early_data_is_refused_before_a_byte_is_sent() {
    for version in WITH_SESSIONS {
        let mut world = World::new(version);
        world.start = Start::ZeroRtt;
        let pair = world.sending(100);
        let expected = Fault::Start {
            asked: Start::ZeroRtt,
            granted: Start::Cold,
        };
        assert_eq!(fault(&pair), Some((Instant::START, expected)));
        assert_eq!(pair.sent, []);
    }
}

/// Loses the datagrams with these numbers, counted over both directions.
struct Loses {
    lost: u32,
    number: u32,
}

impl wirecost_proto::Path for Loses {
    fn offer(
        &mut self,
        _: Direction,
        _: usize,
        now: Instant,
        deliveries: &mut Vec<wirecost_proto::Delivery>,
    ) -> wirecost_proto::Fate {
        let bit = 1u32.checked_shl(self.number).unwrap_or(0);
        self.number += 1;
        if self.lost & bit != 0 {
            return wirecost_proto::Fate::Lost;
        }
        deliveries.push(wirecost_proto::Delivery {
            at: now + ONE_WAY,
            flip_bit: None,
        });
        wirecost_proto::Fate::Delivered
    }
}

#[test]
fn a_handshake_survives_each_loss_of_two_datagrams() {
    for version in WITH_SESSIONS {
        for (first, second) in (0..9).flat_map(|first| (first..9).map(move |second| (first, second))) {
            let mut world = World::new(version);
            world.start = Start::Resumed;
            let lost = 1 << first | 1 << second;
            let mut pair = world.pair_over(Loses { lost, number: 0 });
            pair.open();
            pair.drive_for(Duration::from_secs(20));
            assert!(connected_at(&pair).is_some(), "{version:?}: {first} {second}");
            pair.command(bare::ClientCommand::Close);
            pair.drive_for(Duration::from_secs(5));
            pair.open_flow(FlowId(1));
            pair.drive_for(Duration::from_secs(20));
            let complete = |(_, event): &&(Instant, Event<_>)| matches!(event, Event::Established { .. });
            let complete = pair.client_events.iter().filter(complete).count();
            assert_eq!(complete, 2, "{version:?}: {first} {second}");
            pair.command(send(10));
            pair.drive_for(Duration::from_secs(5));
            assert_eq!(pair.unconsumed(), 0);
        }
    }
}

#[test]
fn a_small_mtu_cuts_a_flight_of_pre_shared_keys() {
    for version in WITH_SESSIONS {
        let mut world = World::new(version);
        world.accept.identity = None;
        world.common.mtu = 64;
        let pair = world.sending(20);
        assert_eq!(received(&pair), 1, "{version:?}");
        let handshake = pair.sent.iter().filter(|sent| sent.bytes.len() <= 64);
        assert!(handshake.count() >= 7, "{version:?}");
        let again = bytes_of(&pair.sent, |span| span.cause == Cause::Retransmission);
        assert_eq!(again, 0, "{version:?}");
    }
}

#[test]
fn a_client_asks_for_ids_with_an_empty_one() {
    let world = World::new(Version::Dtls12Cid);
    let mut pair = world.pair();
    pair.open();
    pair.drive_for(Duration::from_secs(1));
    let hello = &pair.sent[0].bytes;
    let asks = hello.ends_with(&[0, 54, 0, 1, 0]);
    assert!(
        asks,
        "the extension of RFC 9146 section 3 with an empty ID: {hello:02x?}"
    );
}
