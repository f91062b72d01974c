use super::*;

#[test]
fn a_server_certificate_of_an_unknown_issuer_is_refused() {
    for version in [Version::Dtls13, Version::Dtls12] {
        let mut world = World::new(version);
        let other = Authority::generate().expect("an authority");
        world.accept.identity = Some(Identity::generate(&other).expect("a server"));
        let pair = world.sending(100);
        let refused = fault(&pair);
        let at = Instant::START + 2 * ONE_WAY;
        assert!(
            matches!(&refused, Some((when, Fault::Certificate(reason))) if *when == at && *reason == "its signature is wrong"),
            "{version:?}: {refused:?}"
        );
        assert_eq!(received(&pair), 0);
        let alerted = bytes_of(&pair.sent, |span| span.phase == Phase::Close);
        assert_eq!(alerted, 15, "{version:?}: an alert says so");
    }
}

#[test]
fn a_certificate_with_a_wrong_name_or_date_is_refused() {
    let mut world = World::new(Version::Dtls13);
    world.server_name = "elsewhere";
    let refused = fault(&world.sending(100));
    assert!(
        matches!(&refused, Some((_, Fault::Certificate(reason))) if reason.as_str().starts_with("it is not for elsewhere, but for ")),
        "{refused:?}"
    );
    let mut world = World::new(Version::Dtls12);
    world.common.epoch = epoch(VALID_UNTIL + DAY);
    let refused = fault(&world.sending(100));
    assert!(
        matches!(&refused, Some((_, Fault::Certificate(reason))) if *reason == "it expired on 2036-01-01"),
        "{refused:?}"
    );
}

#[test]
fn a_wrong_key_ends_in_a_time_out_that_names_the_protocol() {
    let mut world = World::new(Version::Dtls12Psk);
    world.common.handshake_timeout = Duration::from_secs(20);
    world.psk = Psk::new(b"another key".as_slice());
    let refused = fault(&world.sending(100));
    let expected = Fault::TimedOut {
        protocol: "DTLS 1.2 (pre-shared key)",
    };
    assert_eq!(
        refused,
        Some((Instant::START + Duration::from_secs(20), expected))
    );
}

/// RFC 4279 section 2: whoever asks does not learn which identities a server knows.
#[test]
fn an_unknown_identity_looks_like_a_wrong_key() {
    let conversation = |identity: &[u8], cookie| {
        let mut world = World::new(Version::Dtls12Psk);
        world.accept.cookie = cookie;
        world.psk = Psk {
            identity: identity.to_vec(),
            key: b"another key".to_vec(),
        };
        let pair = world.sending(100);
        let seen = |sent: &Sent| (sent.direction, sent.at, sent.bytes.len());
        let seen: Vec<_> = pair.sent.iter().map(seen).collect();
        let reasons: Vec<_> = pair
            .server_events
            .iter()
            .map(|(_, event)| format!("{event:?}"))
            .collect();
        (seen, fault(&pair), reasons.concat())
    };
    for cookie in [false, true] {
        let (known, unknown) = (conversation(b"wc", cookie), conversation(b"xy", cookie));
        assert_eq!(known.0, unknown.0, "the same datagrams at the same times");
        assert_eq!(known.1, unknown.1, "the client fails in the same way");
        assert!(
            unknown.2.contains("is unknown"),
            "the server's own user is told: {}",
            unknown.2
        );
    }
}

#[test]
fn a_key_or_identity_that_cannot_be_framed_is_refused() {
    for (identity, key, is_accepted) in [
        (65_535, 16, true),
        (65_536, 16, false),
        (2, 65_535, true),
        (2, 65_536, false),
    ] {
        let psk = Psk {
            identity: vec![b'i'; identity],
            key: vec![7; key],
        };
        let mut world = World::new(Version::Dtls12Psk);
        let client = ClientConfig::new(world.common.clone(), Offer::Dtls12Psk(psk.clone()));
        world.accept.psks = vec![psk];
        let server = ServerConfig::new(world.common.clone(), world.accept.clone());
        let accepted = (client.is_ok(), server.is_ok());
        assert_eq!(
            accepted,
            (is_accepted, is_accepted),
            "identity {identity} B, key {key} B"
        );
    }
}

#[test]
fn silence_ends_in_a_time_out_and_the_flow_is_closed() {
    let world = World::new(Version::Dtls13);
    let mut pair = world.pair_over(Silence);
    pair.command(send(100));
    pair.open();
    pair.drive_for(Duration::from_secs(100));
    let at = Instant::START + DEFAULT_HANDSHAKE_TIMEOUT;
    let expected = Fault::TimedOut { protocol: "DTLS 1.3" };
    assert_eq!(fault(&pair), Some((at, expected)));
    // After 1, 2, 4, 8 and 16 s, give or take a quarter.
    assert_eq!(pair.sent.len(), 6);
    let again = bytes_of(&pair.sent, |span| span.cause == Cause::Retransmission);
    assert_eq!(again, 5 * pair.sent[0].bytes.len() as u64);
    assert_eq!(pair.next_step(), None);
}

struct Silence;

impl wirecost_proto::Path for Silence {
    fn offer(
        &mut self,
        _: Direction,
        _: usize,
        _: Instant,
        _: &mut Vec<wirecost_proto::Delivery>,
    ) -> wirecost_proto::Fate {
        wirecost_proto::Fate::Lost
    }
}

#[test]
fn an_unsupported_start_is_refused_before_a_byte_is_sent() {
    for start in [Start::Resumed, Start::ZeroRtt] {
        let mut world = World::new(Version::Dtls13);
        world.start = start;
        let pair = world.sending(100);
        let expected = Fault::Start {
            asked: start,
            granted: Start::Cold,
        };
        assert_eq!(fault(&pair), Some((Instant::START, expected)));
        assert_eq!(pair.sent, []);
    }
}

#[test]
fn a_broken_flow_ends_the_handshake() {
    let mut pair = World::new(Version::Dtls12).pair();
    pair.open();
    pair.drive_for(ONE_WAY);
    pair.reset(FIRST_FLOW, ResetReason::Refused);
    let (_, fault) = fault(&pair).expect("a fault");
    assert_eq!(fault.to_string(), "the handshake was cut off: connection refused");
    assert_eq!(pair.next_step(), None);
}

#[test]
fn a_server_needs_credentials() {
    let common = World::new(Version::Dtls13).common;
    let refused = ServerConfig::new(common, Accept::default()).err();
    assert_eq!(refused, Some(ConfigError::NoCredentials));
}
