//! The client with servers that refuse, fail or break the rules.

use wirecost_amqp::client::{Client, Config, Event, Failure, Refusal, SaslConfig};
use wirecost_amqp::codec::{
    Attach, Condition, DecodeError, DeliveryState, Detach, Disposition, Flow, Performative, ProtocolHeader,
    Role, Sasl, sasl::Mechanisms,
};
use wirecost_proto::{Buffer, Input, Instant, Rng};

use crate::harness::{Harness, a_begin, a_transfer, an_attach, an_open, frame};
use crate::pair::send;

const ERROR: Condition<'_> = Condition {
    name: "amqp:not-found",
    description: Some("no queue 'test'"),
};

fn credit(link_credit: u32) -> Performative<'static> {
    Performative::Flow(Flow {
        next_incoming_id: Some(0),
        incoming_window: 100,
        outgoing_window: 100,
        handle: Some(0),
        delivery_count: Some(0),
        link_credit: Some(link_credit),
        ..Flow::default()
    })
}

fn config() -> Config {
    Config {
        sasl: SaslConfig::None,
        ..Config::default()
    }
}

/// A client whose server has sent everything up to the attach.
fn attached() -> Harness<Client> {
    let mut harness = Harness::new(Client::new(config()));
    assert_eq!(harness.received(), ["header 0", "open", "begin", "attach"]);
    harness.send_header(ProtocolHeader::AMQP);
    harness.send_frame(an_open(), &[]);
    harness.send_frame(a_begin(Some(0)), &[]);
    harness.send_frame(Performative::Attach(an_attach(Role::Receiver)), &[]);
    harness
}

/// A client with two messages in flight.
fn busy() -> Harness<Client> {
    let mut harness = attached();
    harness.send_frame(credit(10), &[]);
    for message in [0, 1] {
        harness.input(Input::Command(send(message, b"x")), Instant::START);
    }
    assert_eq!(harness.received(), ["transfer 44", "transfer 44"]);
    let sent = |message| Event::Sent { message };
    assert_eq!(harness.events, [Event::Opened, sent(0), sent(1)]);
    harness.events.clear();
    harness
}

fn settle(
    first: u32,
    last: Option<u32>,
    settled: bool,
    state: Option<DeliveryState<'_>>,
) -> Performative<'_> {
    Performative::Disposition(Disposition {
        role: Role::Receiver,
        first,
        last,
        settled,
        state,
    })
}

#[test]
fn every_outcome_has_its_event() {
    let modified = DeliveryState::Modified {
        delivery_failed: true,
        undeliverable_here: false,
    };
    let refused = |reason| Event::Refused { message: 0, reason };
    let cases = [
        (Some(DeliveryState::Accepted), Event::Acknowledged { message: 0 }),
        (
            Some(DeliveryState::Rejected(Some(ERROR))),
            refused(Refusal::Rejected(Some(ERROR.into()))),
        ),
        (Some(DeliveryState::Released), refused(Refusal::Released)),
        (Some(modified), refused(Refusal::Modified)),
        (None, refused(Refusal::NoOutcome)),
    ];
    for (state, expected) in cases {
        let mut harness = busy();
        harness.send_frame(settle(0, None, true, state), &[]);
        assert_eq!(harness.events, [expected]);
        assert_eq!(harness.endpoint.in_flight(), 1);
        harness.send_frame(settle(0, None, true, state), &[]);
        assert_eq!(harness.endpoint.stats().unexpected_answers, 1);
    }
    assert_eq!(
        Refusal::Rejected(Some(ERROR.into())).to_string(),
        "message rejected: amqp:not-found: no queue 'test'"
    );
}

#[test]
fn a_range_of_any_length_settles_what_is_in_flight() {
    let mut harness = busy();
    harness.send_frame(
        settle(0, Some(u32::MAX), true, Some(DeliveryState::Accepted)),
        &[],
    );
    assert_eq!(harness.events.len(), 2);
    assert_eq!(harness.endpoint.in_flight(), 0);
}

#[test]
fn settles_when_the_receiver_waits_for_it() {
    let mut harness = busy();
    harness.send_frame(settle(0, Some(1), false, Some(DeliveryState::Accepted)), &[]);
    assert_eq!(harness.received(), ["disposition"]);
    assert_eq!(harness.events.len(), 2);
}

#[test]
fn gives_unused_credit_back_when_drained() {
    let mut harness = attached();
    let Performative::Flow(flow) = credit(10) else {
        return;
    };
    harness.send_frame(Performative::Flow(Flow { drain: true, ..flow }), &[]);
    assert_eq!(harness.received(), ["flow 0"]);
    harness.input(Input::Command(send(0, b"x")), Instant::START);
    assert_eq!(harness.endpoint.queued(), 1);
}

#[test]
fn ends_by_the_peer_are_reported_with_their_condition() {
    let error = Some(ERROR);
    let owned = || Some(ERROR.into());
    let detach = Detach {
        handle: 0,
        closed: true,
        error,
    };
    let cases = [
        (
            Performative::Detach(detach),
            Event::Failed(Failure::Detached(owned())),
            "close",
        ),
        (
            Performative::End(error),
            Event::Failed(Failure::Ended(owned())),
            "close",
        ),
        (
            Performative::Close(error),
            Event::Closed { error: owned() },
            "close",
        ),
        (
            an_open(),
            Event::Failed(Failure::Unexpected("open")),
            "close amqp:not-allowed",
        ),
        (
            a_transfer(0, false),
            Event::Failed(Failure::Unexpected("transfer")),
            "close amqp:not-allowed",
        ),
    ];
    for (performative, event, answer) in cases {
        let mut harness = attached();
        harness.send_frame(performative, &[]);
        assert_eq!(harness.events, [event]);
        assert_eq!(harness.received(), [answer]);
        assert!(harness.is_closed && harness.is_accounted());
    }
}

#[test]
fn a_refused_link_is_attached_first_and_then_detached() {
    let mut harness = Harness::new(Client::new(config()));
    harness.send_header(ProtocolHeader::AMQP);
    harness.send_frame(an_open(), &[]);
    harness.send_frame(a_begin(Some(0)), &[]);
    let refused = Attach {
        target: None,
        ..an_attach(Role::Receiver)
    };
    harness.send_frame(Performative::Attach(refused), &[]);
    assert!(harness.events.is_empty());
    let detach = Detach {
        handle: 0,
        closed: true,
        error: Some(ERROR),
    };
    harness.send_frame(Performative::Detach(detach), &[]);
    let [Event::Failed(failure)] = harness.events.as_slice() else {
        panic!("{:?}", harness.events);
    };
    assert_eq!(
        failure.to_string(),
        "link detached by the peer: amqp:not-found: no queue 'test'"
    );
}

#[test]
fn another_protocol_is_reported_with_its_header() {
    let mut harness = Harness::new(Client::new(Config::default()));
    harness.send_bytes(b"AMQP\0\0\x09\x01");
    let [Event::Failed(failure)] = harness.events.as_slice() else {
        panic!("{:?}", harness.events);
    };
    assert_eq!(
        failure.to_string(),
        "peer must answer with protocol header AMQP 3 1.0.0, got AMQP 0 0.9.1"
    );
    assert!(harness.is_closed && harness.is_accounted());
}

#[test]
fn a_server_without_amqp_is_reported_as_not_amqp() {
    let mut harness = Harness::new(Client::new(Config::default()));
    harness.send_bytes(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    assert_eq!(harness.events, [Event::Failed(Failure::NotAmqp)]);
    assert!(harness.is_closed && harness.is_accounted());
}

#[test]
fn every_byte_of_a_damaged_conversation_is_accounted_for() {
    let whole = [
        ProtocolHeader::AMQP.bytes().to_vec(),
        frame(an_open()),
        frame(a_begin(Some(0))),
        frame(Performative::Attach(an_attach(Role::Receiver))),
        frame(credit(5)),
        frame(settle(0, None, false, Some(DeliveryState::Rejected(Some(ERROR))))),
        frame(Performative::Close(Some(ERROR))),
    ]
    .concat();
    let mut rng = Rng::new(7);
    for _ in 0..3_000 {
        let mut bytes = whole.clone();
        for _ in 0..=rng.next_below(4) {
            let at = rng.next_below(bytes.len() as u64) as usize;
            bytes[at] = rng.next_u64() as u8;
        }
        let mut harness = Harness::new(Client::new(config()));
        harness.input(Input::Command(send(0, b"x")), Instant::START);
        let stride = 1 + rng.next_below(200) as usize;
        bytes.chunks(stride).for_each(|chunk| harness.send_bytes(chunk));
        assert!(harness.is_accounted() || !harness.is_closed, "{bytes:02x?}");
    }
}

/// The client stores at most its maximum frame size, whatever the size field says.
#[test]
fn a_frame_above_the_clients_limit_is_refused() {
    let limit = config().max_frame_size;
    for size in [limit + 1, 100_000_000, u32::MAX] {
        let mut harness = attached();
        harness.send_bytes(&size.to_be_bytes());
        let expected = Failure::Decode(DecodeError::FrameSize { size, limit });
        assert_eq!(harness.events, [Event::Failed(expected)]);
        assert!(harness.is_closed && harness.is_accounted());
    }
}

/// Sections 2.4.1 and 5.3.2: before the peer has said more, and for SASL at all times, a frame has at most 512 B.
#[test]
fn a_frame_that_the_server_does_not_accept_is_not_sent() {
    let long = |bytes: usize| "x".repeat(bytes);
    let login = |bytes| Config {
        sasl: SaslConfig::Plain {
            user: "user".into(),
            password: long(bytes),
        },
        ..Config::default()
    };
    for bytes in [600, 70_000] {
        let target = Config {
            target: long(bytes),
            ..config()
        };
        let name = Config {
            container_id: long(bytes),
            ..config()
        };
        let close = "close amqp:frame-size-too-small";
        for (config, sent) in [
            (target, &["header 0", "open", "begin", close][..]),
            (name, &["header 0"]),
            (login(bytes), &["header 3"]),
        ] {
            let mut harness = Harness::new(Client::new(config));
            harness.send_header(ProtocolHeader::SASL);
            let mut mechanisms = Buffer::new();
            Sasl::Mechanisms(Mechanisms::One("PLAIN"))
                .emit(&mut mechanisms)
                .expect("a frame");
            harness.send_bytes(mechanisms.bytes());
            assert_eq!(harness.received(), sent);
            let is_refused = |event: &&Event| matches!(event, Event::Failed(Failure::FrameTooLarge(_)));
            assert_eq!(
                harness.events.iter().filter(is_refused).count(),
                1,
                "{:?}",
                harness.events
            );
            assert!(harness.is_closed);
        }
    }
}
