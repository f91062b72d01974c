use wirecost_proto::{Delivery, Fate, Path};

use super::*;

#[test]
fn every_version_takes_the_round_trips_of_its_standard() {
    // RFC 9147 section 5.8.1 and RFC 6347 section 4.2.4: a cookie takes one more.
    let cases = [
        (Version::Dtls13, false, 1),
        (Version::Dtls13, true, 2),
        (Version::Dtls12, false, 2),
        (Version::Dtls12, true, 3),
        (Version::Dtls12Psk, false, 2),
        (Version::Dtls12Psk, true, 3),
        (Version::Dtls12Cid, false, 2),
        (Version::Dtls12Cid, true, 3),
    ];
    for (version, cookie, round_trips) in cases {
        let mut world = World::new(version);
        world.accept.cookie = cookie;
        let pair = world.sending(100);
        let connected = Instant::START + 2 * ONE_WAY * round_trips;
        assert_eq!(
            connected_at(&pair),
            Some(connected),
            "{version:?}, cookie {cookie}"
        );
        assert_eq!(received(&pair), 1, "{version:?}");
        assert_eq!(pair.unconsumed(), 0, "{version:?}");
    }
}

#[test]
fn a_message_is_one_record_with_the_suites_overhead() {
    // Header 13, explicit nonce 8 and tag 16 or 8; unified header 5, type 1 and tag 16. RFC 9146 section 4: a connection
    // ID of 6 and the type.
    let cases = [
        (Version::Dtls13, 22),
        (Version::Dtls12, 37),
        (Version::Dtls12Psk, 29),
        (Version::Dtls12Cid, 29 + 6 + 1),
    ];
    for (version, overhead) in cases {
        let mut pair = World::new(version).sending(0);
        let before = pair.sent.len();
        pair.command(send(100));
        pair.drive_for(Duration::from_secs(1));
        let sent = &pair.sent[before..];
        assert_eq!(sent.len(), 1, "{version:?}");
        assert_eq!(sent[0].bytes.len(), 100 + overhead, "{version:?}");
        let of = |layer| bytes_of(sent, |span| span.layer == layer && span.phase == Phase::Message);
        assert_eq!(of(Layer::Payload), 100, "{version:?}");
        assert_eq!(of(Layer::Security), overhead as u64, "{version:?}");
    }
}

#[test]
fn bytes_before_the_first_message_are_security_and_connect() {
    for version in Version::ALL {
        let pair = World::new(version).sending(100);
        let connect = bytes_of(&pair.sent, |span| span.phase == Phase::Connect);
        let security = bytes_of(&pair.sent, |span| {
            span.layer == Layer::Security && span.phase == Phase::Connect
        });
        assert_eq!(connect, security, "{version:?}");
        let again = bytes_of(&pair.sent, |span| span.cause == Cause::Retransmission);
        assert_eq!(again, 0, "{version:?}");
    }
}

#[test]
fn the_padding_of_a_client_hello_is_a_probe() {
    let mut world = World::new(Version::Dtls13);
    world.common.mtu = 1000;
    let pair = world.sending(100);
    let hello = &pair.sent[0];
    assert_eq!(hello.bytes.len(), 1000);
    let padding = bytes_of(&pair.sent[..1], |span| span.cause == Cause::Probe);
    assert!((700..900).contains(&padding), "{padding}");
    let none = World::new(Version::Dtls12).sending(100);
    assert_eq!(bytes_of(&none.sent, |span| span.cause == Cause::Probe), 0);
}

#[test]
fn a_client_certificate_is_requested_and_verified() {
    for version in [Version::Dtls13, Version::Dtls12] {
        let mut world = World::new(version);
        world.accept.client_authorities = vec![world.authority.certificate().to_vec()];
        world.client_identity = Some(Identity::client(&world.authority, "wc-00001").expect("a client"));
        assert_eq!(received(&world.sending(100)), 1, "{version:?}");
        world.client_identity = None;
        let mut refused = world.pair();
        refused.open();
        refused.drive_for(Duration::from_secs(5));
        assert_eq!(refused.unconsumed(), 0);
        let is_refused = |(_, event): &(Instant, Event<_>)| {
            matches!(
                event,
                Event::Failed {
                    fault: Fault::Certificate(_),
                    ..
                }
            )
        };
        assert!(
            refused.server_events.iter().any(is_refused),
            "{version:?}: {:?}",
            refused.server_events
        );
    }
}

#[test]
fn closing_notifies_the_peer_and_closes_the_flow() {
    for version in Version::ALL {
        let mut pair = World::new(version).sending(100);
        pair.command(bare::ClientCommand::Close);
        pair.drive_for(Duration::from_secs(5));
        let closing = bytes_of(&pair.sent, |span| span.phase == Phase::Close);
        // A DTLS 1.2 peer must answer with a close_notify.
        let expected = match version {
            Version::Dtls13 => 5 + 2 + 1 + 16,
            Version::Dtls12 => 2 * (13 + 8 + 2 + 16),
            Version::Dtls12Psk => 2 * (13 + 8 + 2 + 8),
            // Only the client's record has a connection ID.
            Version::Dtls12Cid => 2 * (13 + 8 + 2 + 8) + 6 + 1,
        };
        assert_eq!(closing, expected, "{version:?}");
        assert_eq!(pair.unconsumed(), 0);
        assert_eq!(pair.next_step(), None, "{version:?}: nothing is left to wait for");
    }
}

#[test]
fn a_flow_that_opens_later_is_a_new_connection() {
    for version in Version::ALL {
        let mut pair = World::new(version).sending(100);
        pair.command(bare::ClientCommand::Close);
        pair.drive_for(Duration::from_secs(5));
        pair.command(send(10));
        pair.open_flow(wirecost_proto::FlowId(1));
        pair.drive_for(Duration::from_secs(5));
        assert_eq!(received(&pair), 2, "{version:?}");
    }
}

#[test]
fn a_seed_determines_every_byte_and_chance_no_size() {
    for version in Version::ALL {
        let world = World::new(version);
        let sent = |world: &World| {
            let pair = world.sending(100);
            pair.sent.into_iter().map(|sent| sent.bytes).collect::<Vec<_>>()
        };
        let seeded = sent(&world);
        assert_eq!(seeded, sent(&world), "{version:?}");
        for seed in 0..4 {
            let mut other = World::new(version);
            other.common = other.common.clone().with_seed(Rng::new(100 + seed));
            let other = sent(&other);
            let sizes = |sent: &[Vec<u8>]| sent.iter().map(Vec::len).collect::<Vec<_>>();
            assert_eq!(sizes(&seeded), sizes(&other), "{version:?}");
            assert_ne!(seeded, other, "{version:?}");
        }
    }
}

#[test]
fn a_server_may_have_one_kind_of_credentials_only() {
    for version in Version::ALL {
        let mut world = World::new(version);
        match version {
            Version::Dtls12Psk | Version::Dtls12Cid => world.accept.identity = None,
            _ => world.accept.psks.clear(),
        }
        assert_eq!(received(&world.sending(100)), 1, "{version:?}");
    }
}

#[test]
fn a_small_mtu_cuts_flights_into_fragments() {
    for version in [Version::Dtls13, Version::Dtls12] {
        let mut world = World::new(version);
        world.common.mtu = 128;
        let pair = world.sending(100);
        assert_eq!(received(&pair), 1, "{version:?}");
        let handshake = pair.sent.iter().filter(|sent| sent.bytes.len() <= 128);
        assert!(handshake.count() > 6, "{version:?}");
        let again = bytes_of(&pair.sent, |span| span.cause == Cause::Retransmission);
        assert_eq!(again, 0, "{version:?}: a fragment is no repetition");
    }
}

#[test]
fn a_datagram_above_the_record_limit_is_not_sent() {
    let mut pair = World::new(Version::Dtls13).sending(MAX_PLAINTEXT_BYTES);
    assert_eq!(received(&pair), 1);
    pair.command(send(MAX_PLAINTEXT_BYTES + 1));
    pair.command(send(1));
    pair.drive_for(Duration::from_secs(1));
    assert_eq!(received(&pair), 2);
    assert_eq!(pair.client.stats().unsent_datagrams, 1);
}

/// Loses one downward datagram.
struct LosesOne {
    left: usize,
}

impl Path for LosesOne {
    fn offer(&mut self, way: Direction, _: usize, now: Instant, deliveries: &mut Vec<Delivery>) -> Fate {
        if way == Direction::Down {
            self.left = self.left.wrapping_sub(1);
            if self.left == 0 {
                return Fate::Lost;
            }
        }
        let at = now + ONE_WAY;
        deliveries.push(Delivery { at, flip_bit: None });
        Fate::Delivered
    }
}

#[test]
fn an_endpoint_that_lacks_a_fragment_sleeps_until_it_arrives() {
    for lost in 1..=8 {
        let mut world = World::new(Version::Dtls13);
        world.common.mtu = 128;
        let mut pair = world.pair_over(LosesOne { left: lost });
        pair.open();
        let steps = (0..10_000).take_while(|_| connected_at(&pair).is_none() && pair.step());
        let steps = steps.count();
        assert!(connected_at(&pair).is_some(), "datagram {lost}");
        assert!(steps < 400, "datagram {lost}: {steps}");
    }
}
