//! The client and servers that refuse, fail or break the rules.

use wirecost_amqp::client::{Client, Config, Event, Failure, Refusal, SaslConfig};
use wirecost_amqp::codec::{
    Attach, Close, Condition, DecodeError, DeliveryState, Detach, Disposition, End, Flow, Performative,
    ProtocolHeader, Role,
};
use wirecost_proto::{Input, Instant, Rng};

use crate::rig::send;
use crate::talk::{Talk, a_begin, a_transfer, an_attach, an_open, frame};

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

/// A client with a server that has said everything up to the link's attach.
fn attached() -> Talk<Client> {
    let mut talk = Talk::new(Client::new(config()));
    assert_eq!(talk.heard(), ["header 0", "open", "begin", "attach"]);
    talk.say_header(ProtocolHeader::AMQP);
    talk.say(an_open(), &[]);
    talk.say(a_begin(Some(0)), &[]);
    talk.say(Performative::Attach(an_attach(Role::Receiver)), &[]);
    talk
}

/// A client with two messages in flight.
fn busy() -> Talk<Client> {
    let mut talk = attached();
    talk.say(credit(10), &[]);
    for message in [0, 1] {
        talk.input(Input::Command(send(message, b"x")), Instant::START);
    }
    assert_eq!(talk.heard(), ["transfer 44", "transfer 44"]);
    let sent = |message| Event::Sent { message };
    assert_eq!(talk.events, [Event::Opened, sent(0), sent(1)]);
    talk.events.clear();
    talk
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
        let mut talk = busy();
        talk.say(settle(0, None, true, state), &[]);
        assert_eq!(talk.events, [expected]);
        assert_eq!(talk.endpoint.in_flight(), 1);
        talk.say(settle(0, None, true, state), &[]);
        assert_eq!(talk.endpoint.stats().unexpected_answers, 1);
    }
    assert_eq!(
        Refusal::Rejected(Some(ERROR.into())).to_string(),
        "message rejected: amqp:not-found: no queue 'test'"
    );
}

#[test]
fn a_range_of_any_length_settles_what_is_in_flight() {
    let mut talk = busy();
    talk.say(
        settle(0, Some(u32::MAX), true, Some(DeliveryState::Accepted)),
        &[],
    );
    assert_eq!(talk.events.len(), 2);
    assert_eq!(talk.endpoint.in_flight(), 0);
}

#[test]
fn settles_where_the_receiver_waits_for_it() {
    let mut talk = busy();
    talk.say(settle(0, Some(1), false, Some(DeliveryState::Accepted)), &[]);
    assert_eq!(talk.heard(), ["disposition"]);
    assert_eq!(talk.events.len(), 2);
}

#[test]
fn gives_unused_credit_back_when_drained() {
    let mut talk = attached();
    let Performative::Flow(flow) = credit(10) else {
        return;
    };
    talk.say(Performative::Flow(Flow { drain: true, ..flow }), &[]);
    assert_eq!(talk.heard(), ["flow 0"]);
    talk.input(Input::Command(send(0, b"x")), Instant::START);
    assert_eq!(talk.endpoint.queued(), 1);
}

#[test]
fn what_the_peer_ends_is_told_with_its_reason() {
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
            Performative::End(End { error }),
            Event::Failed(Failure::Ended(owned())),
            "close",
        ),
        (
            Performative::Close(Close { error }),
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
        let mut talk = attached();
        talk.say(performative, &[]);
        assert_eq!(talk.events, [event]);
        assert_eq!(talk.heard(), [answer]);
        assert!(talk.is_closed && talk.is_accounted());
    }
}

#[test]
fn a_refused_link_is_attached_first_and_then_detached() {
    let mut talk = Talk::new(Client::new(config()));
    talk.say_header(ProtocolHeader::AMQP);
    talk.say(an_open(), &[]);
    talk.say(a_begin(Some(0)), &[]);
    let refused = Attach {
        target: None,
        ..an_attach(Role::Receiver)
    };
    talk.say(Performative::Attach(refused), &[]);
    assert!(talk.events.is_empty());
    let detach = Detach {
        handle: 0,
        closed: true,
        error: Some(ERROR),
    };
    talk.say(Performative::Detach(detach), &[]);
    let [Event::Failed(failure)] = talk.events.as_slice() else {
        panic!("{:?}", talk.events);
    };
    assert_eq!(
        failure.to_string(),
        "link detached by the peer: amqp:not-found: no queue 'test'"
    );
}

#[test]
fn another_protocol_is_told_by_its_header() {
    let mut talk = Talk::new(Client::new(Config::default()));
    talk.say_bytes(b"AMQP\0\0\x09\x01");
    let [Event::Failed(failure)] = talk.events.as_slice() else {
        panic!("{:?}", talk.events);
    };
    assert_eq!(
        failure.to_string(),
        "peer must answer with protocol header AMQP 3 1.0.0, got AMQP 0 0.9.1"
    );
    assert!(talk.is_closed && talk.is_accounted());
}

#[test]
fn a_server_that_speaks_no_amqp_at_all_is_told_from_one_that_breaks_it() {
    let mut talk = Talk::new(Client::new(Config::default()));
    talk.say_bytes(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    assert_eq!(talk.events, [Event::Failed(Failure::NotAmqp)]);
    assert!(talk.is_closed && talk.is_accounted());
}

#[test]
fn a_damaged_conversation_ends_or_goes_on_but_every_byte_is_accounted() {
    let whole = [
        ProtocolHeader::AMQP.bytes().to_vec(),
        frame(an_open()),
        frame(a_begin(Some(0))),
        frame(Performative::Attach(an_attach(Role::Receiver))),
        frame(credit(5)),
        frame(settle(0, None, false, Some(DeliveryState::Rejected(Some(ERROR))))),
        frame(Performative::Close(Close { error: Some(ERROR) })),
    ]
    .concat();
    let mut rng = Rng::new(7);
    for _ in 0..3_000 {
        let mut bytes = whole.clone();
        for _ in 0..=rng.next_below(4) {
            let at = rng.next_below(bytes.len() as u64) as usize;
            bytes[at] = rng.next_u64() as u8;
        }
        let mut talk = Talk::new(Client::new(config()));
        talk.input(Input::Command(send(0, b"x")), Instant::START);
        let stride = 1 + rng.next_below(200) as usize;
        bytes.chunks(stride).for_each(|chunk| talk.say_bytes(chunk));
        assert!(talk.is_accounted() || !talk.is_closed, "{bytes:02x?}");
    }
}

/// Whatever a server says of a frame's length, at most the client's maximum frame size of it is held.
#[test]
fn no_frame_of_a_server_is_larger_than_the_client_takes() {
    let limit = config().max_frame_size;
    for size in [limit + 1, 100_000_000, u32::MAX] {
        let mut talk = attached();
        talk.say_bytes(&size.to_be_bytes());
        let expected = Failure::Decode(DecodeError::FrameSize { size, limit });
        assert_eq!(talk.events, [Event::Failed(expected)]);
        assert!(talk.is_closed && talk.is_accounted());
    }
}
