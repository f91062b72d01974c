//! The container with receivers, and with clients that break the rules.

use wirecost_amqp::codec::{
    Attach, DeliveryState, Detach, Disposition, Flow, Performative, ProtocolHeader, Role, SenderSettleMode,
    Terminus, Transfer,
};
use wirecost_amqp::container::{Config, Container, Event};
use wirecost_proto::{Input, Instant, Rng};

use crate::harness::{Harness, a_begin, a_transfer, an_attach, an_open, frame};
use crate::pair::FLOW;

/// A data section of one byte.
const BODY: &[u8] = &[0x00, 0x53, 0x75, 0xa0, 0x01, 0x78];

fn attached(config: Config, attach: Attach<'_>) -> Harness<Container> {
    let mut harness = Harness::new(Container::new(config));
    harness.send_header(ProtocolHeader::AMQP);
    harness.send_frame(an_open(), &[]);
    harness.send_frame(a_begin(None), &[]);
    harness.send_frame(Performative::Attach(attach), &[]);
    harness
}

fn sender() -> Harness<Container> {
    let mut harness = attached(Config::default(), an_attach(Role::Sender));
    let greeting = ["header 0", "open", "begin", "attach", "flow 1000"];
    assert_eq!(harness.received(), greeting);
    harness
}

/// Attaches a receiving link to a queue with `messages` messages.
fn receiver(messages: u32, mode: SenderSettleMode) -> Harness<Container> {
    let mut harness = sender();
    for id in 0..messages {
        harness.send_frame(a_transfer(id, false), BODY);
    }
    harness.received();
    attach_receiver(&mut harness, mode);
    harness
}

fn attach_receiver(harness: &mut Harness<Container>, mode: SenderSettleMode) {
    let receiver = Attach {
        handle: 1,
        name: "receiver",
        snd_settle_mode: mode,
        ..an_attach(Role::Receiver)
    };
    harness.send_frame(Performative::Attach(receiver), &[]);
    assert_eq!(harness.received(), ["attach"]);
}

fn credit(link_credit: u32, delivery_count: u32, drain: bool) -> Performative<'static> {
    Performative::Flow(Flow {
        next_incoming_id: Some(0),
        incoming_window: 100,
        next_outgoing_id: 0,
        outgoing_window: 100,
        handle: Some(1),
        delivery_count: Some(delivery_count),
        link_credit: Some(link_credit),
        drain,
        ..Flow::default()
    })
}

fn settle(first: u32, last: Option<u32>, settled: bool, state: DeliveryState<'_>) -> Performative<'_> {
    Performative::Disposition(Disposition {
        role: Role::Receiver,
        first,
        last,
        settled,
        state: Some(state),
    })
}

#[test]
fn delivers_only_with_credit() {
    let mut harness = receiver(5, SenderSettleMode::Unsettled);
    harness.send_frame(credit(2, 0, false), &[]);
    assert_eq!(harness.received(), ["transfer 6", "transfer 6"]);
    harness.send_frame(credit(2, 2, false), &[]);
    assert_eq!(harness.received(), ["transfer 6", "transfer 6"]);
    harness.send_frame(settle(0, Some(3), true, DeliveryState::Accepted), &[]);
    let stats = harness.endpoint.stats();
    assert_eq!((stats.delivered, stats.accepted), (4, 4));
    assert_eq!(harness.endpoint.queued("test"), 1);
    assert!(harness.is_accounted());
}

#[test]
fn messages_stay_in_their_queue_while_the_transport_is_full() {
    for mode in [SenderSettleMode::Settled, SenderSettleMode::Unsettled] {
        let mut harness = receiver(5, mode);
        harness.input(Input::Congested { flow: FLOW }, Instant::START);
        harness.send_frame(credit(3, 0, false), &[]);
        assert_eq!(
            (harness.received().len(), harness.endpoint.queued("test")),
            (0, 5)
        );
        harness.input(Input::Writable { flow: FLOW }, Instant::START);
        assert_eq!(
            (harness.received().len(), harness.endpoint.queued("test")),
            (3, 2)
        );
    }
}

#[test]
fn queued_messages_follow_those_in_flight_on_a_link() {
    let config = Config {
        queue_messages: 2,
        ..Config::default()
    };
    let mut harness = attached(config, an_attach(Role::Sender));
    harness.received();
    attach_receiver(&mut harness, SenderSettleMode::Settled);
    let window = |incoming_window, handle| {
        Performative::Flow(Flow {
            next_incoming_id: Some(0),
            incoming_window,
            next_outgoing_id: 0,
            outgoing_window: 100,
            handle,
            delivery_count: handle.map(|_| 0),
            link_credit: handle.map(|_| 10),
            ..Flow::default()
        })
    };
    harness.send_frame(window(0, Some(1)), &[]);
    for id in 0..4 {
        harness.send_frame(a_transfer(id, false), BODY);
    }
    assert_eq!(harness.endpoint.queued("test"), 2);
    harness.received();
    harness.send_frame(window(100, None), &[]);
    assert_eq!(
        (harness.received().len(), harness.endpoint.queued("test")),
        (4, 0)
    );
}

#[test]
fn a_drain_sends_queued_messages_and_returns_unused_credit() {
    let mut harness = receiver(2, SenderSettleMode::Settled);
    harness.send_frame(credit(10, 0, true), &[]);
    assert_eq!(harness.received(), ["transfer 6", "transfer 6", "flow 0"]);
    assert_eq!(harness.endpoint.stats().accepted, 2, "settled when sent");
}

#[test]
fn released_messages_return_to_the_front_of_the_queue() {
    let mut harness = receiver(3, SenderSettleMode::Unsettled);
    harness.send_frame(credit(1, 0, false), &[]);
    harness.send_frame(settle(0, None, true, DeliveryState::Released), &[]);
    assert_eq!(harness.endpoint.queued("test"), 3);
    harness.send_frame(credit(1, 1, false), &[]);
    let detach = Detach {
        handle: 1,
        closed: true,
        error: None,
    };
    harness.send_frame(Performative::Detach(detach), &[]);
    assert_eq!(harness.endpoint.queued("test"), 3, "its link is gone");
    assert_eq!(harness.received(), ["transfer 6", "transfer 6", "detach"]);
    assert_eq!(harness.endpoint.stats().requeued, 2);
}

#[test]
fn settles_when_the_receiver_waits_for_it() {
    let mut harness = receiver(1, SenderSettleMode::Unsettled);
    harness.send_frame(credit(1, 0, false), &[]);
    harness.received();
    harness.send_frame(settle(0, None, false, DeliveryState::Accepted), &[]);
    assert_eq!(harness.received(), ["disposition"]);
    assert_eq!(harness.endpoint.stats().accepted, 1);
}

#[test]
fn an_older_client_gets_the_supported_header() {
    for header in [*b"AMQP\0\0\x09\x01", *b"AMQP\x02\x01\0\0", *b"AMQP\0\x02\0\0"] {
        let mut harness = Harness::new(Container::new(Config::default()));
        harness.send_bytes(&header);
        assert_eq!(harness.received(), ["header 0"]);
        assert!(harness.is_closed && harness.is_accounted());
    }
}

#[test]
fn an_error_ends_its_link_session_or_connection_with_a_reason() {
    let transfer = |handle| {
        Performative::Transfer(Transfer {
            handle,
            delivery_id: Some(0),
            ..Transfer::default()
        })
    };
    let dynamic = Attach {
        handle: 2,
        target: Some(Terminus {
            address: None,
            dynamic: true,
        }),
        ..an_attach(Role::Sender)
    };
    let cases = [
        (transfer(9), "end amqp:session:unattached-handle"),
        (
            Performative::Attach(an_attach(Role::Sender)),
            "end amqp:session:handle-in-use",
        ),
        (Performative::Attach(dynamic), "detach amqp:not-implemented"),
        (a_begin(None), "close amqp:not-allowed"),
        (an_open(), "close amqp:not-allowed"),
    ];
    for (performative, expected) in cases {
        let mut harness = sender();
        harness.send_frame(performative, &[]);
        assert_eq!(harness.received().last().map(String::as_str), Some(expected));
        assert_eq!(harness.is_closed, expected.starts_with("close"));
        assert!(harness.is_accounted(), "{performative:?}");
    }
}

#[test]
fn a_message_that_is_too_large_ends_its_link_only() {
    let config = Config {
        max_message_size: 10,
        ..Config::default()
    };
    let mut harness = attached(config, an_attach(Role::Sender));
    harness.received();
    harness.send_frame(a_transfer(0, true), BODY);
    harness.send_frame(a_transfer(0, false), BODY);
    assert_eq!(harness.received(), ["detach amqp:link:message-size-exceeded"]);
    // The client continues until it gets the detach.
    harness.send_frame(a_transfer(1, false), BODY);
    assert!(harness.received().is_empty());
    let detach = Detach {
        handle: 0,
        closed: true,
        error: None,
    };
    harness.send_frame(Performative::Detach(detach), &[]);
    harness.send_frame(Performative::Attach(an_attach(Role::Sender)), &[]);
    assert_eq!(harness.received(), ["attach", "flow 1000"]);
    assert!(harness.is_accounted());
}

#[test]
fn a_window_of_one_is_renewed_with_every_transfer() {
    let config = Config {
        session_window: 1,
        ..Config::default()
    };
    let mut harness = attached(config, an_attach(Role::Sender));
    harness.received();
    let mut burst = frame(a_transfer(0, true));
    burst.extend(frame(a_transfer(0, true)));
    harness.send_bytes(&burst);
    // Every transfer renews the window.
    assert_eq!(harness.received(), ["flow", "flow"]);
}

#[test]
fn an_aborted_message_is_dropped() {
    let mut harness = sender();
    harness.send_frame(a_transfer(0, true), BODY);
    let aborted = Transfer {
        handle: 0,
        aborted: true,
        ..Transfer::default()
    };
    harness.send_frame(Performative::Transfer(aborted), &[]);
    harness.send_frame(a_transfer(1, false), BODY);
    assert_eq!(harness.received(), ["disposition"]);
    assert_eq!(harness.endpoint.queued("test"), 1);
}

#[test]
fn undecodable_bytes_close_the_connection() {
    let cases: [(&[u8], &str); 4] = [
        (&[0, 0, 0, 7, 2, 0, 0, 0], "close amqp:connection:framing-error"),
        (&[0, 0, 0, 8, 1, 0, 0, 0], "close amqp:connection:framing-error"),
        (&[0, 0, 0, 9, 2, 0, 0, 0, 0x3f], "close amqp:decode-error"),
        (
            &[0, 0, 0, 12, 2, 0, 0, 0, 0, 0x53, 0x14, 0x45],
            "close amqp:decode-error",
        ),
    ];
    for (bytes, expected) in cases {
        let mut harness = sender();
        harness.send_bytes(bytes);
        harness.send_bytes(b"and what follows");
        assert_eq!(harness.received(), [expected]);
        assert!(harness.is_closed && harness.is_accounted());
        assert!(matches!(
            harness.events.last(),
            Some(Event::Disconnected { error: Some(_), .. })
        ));
    }
}

#[test]
fn a_client_that_does_not_open_in_time_is_dropped() {
    let mut harness = Harness::new(Container::new(Config::default()));
    harness.send_header(ProtocolHeader::AMQP);
    harness.received();
    let due = harness.timeout.expect("a time-out");
    assert_eq!(due, Instant::from_millis(30_000));
    harness.input(Input::Timeout, due);
    assert_eq!(harness.received(), ["open", "close amqp:resource-limit-exceeded"]);
    assert!(harness.is_closed);
}

#[test]
fn a_client_that_never_closes_its_side_is_forgotten() {
    let mut harness = sender();
    harness.send_frame(Performative::Close(None), &[]);
    assert!(harness.is_closed);
    assert_eq!(harness.endpoint.connections(), 1, "bytes may still come");
    let due = harness.timeout.expect("a time-out");
    harness.input(Input::Timeout, due);
    assert_eq!(harness.endpoint.connections(), 0);
    assert_eq!(harness.timeout, None);
}

#[test]
fn a_session_ends_and_another_begins() {
    let mut harness = sender();
    harness.send_frame(Performative::End(None), &[]);
    harness.send_frame(a_begin(None), &[]);
    harness.send_frame(Performative::Close(None), &[]);
    assert_eq!(harness.received(), ["end", "begin", "close"]);
    assert!(harness.is_closed && harness.is_accounted());
}

#[test]
fn every_byte_of_a_damaged_conversation_is_accounted_for() {
    let whole = [
        ProtocolHeader::AMQP.bytes().to_vec(),
        frame(an_open()),
        frame(a_begin(None)),
        frame(Performative::Attach(an_attach(Role::Sender))),
        frame(a_transfer(0, false)),
        frame(Performative::Attach(Attach {
            handle: 1,
            ..an_attach(Role::Receiver)
        })),
        frame(credit(5, 0, true)),
        frame(settle(0, None, false, DeliveryState::Accepted)),
        frame(Performative::Close(None)),
    ]
    .concat();
    let mut rng = Rng::new(7);
    for _ in 0..3_000 {
        let mut bytes = whole.clone();
        for _ in 0..=rng.next_below(4) {
            let at = rng.next_below(bytes.len() as u64) as usize;
            bytes[at] = rng.next_u64() as u8;
        }
        let mut harness = Harness::new(Container::new(Config::default()));
        let stride = 1 + rng.next_below(200) as usize;
        bytes.chunks(stride).for_each(|chunk| harness.send_bytes(chunk));
        assert!(harness.is_accounted() || !harness.is_closed, "{bytes:02x?}");
    }
}

#[test]
fn all_queues_together_have_a_limit() {
    let mut harness = attached(
        Config {
            stored_bytes: 10 * BODY.len(),
            ..Config::default()
        },
        an_attach(Role::Sender),
    );
    for id in 0..100 {
        harness.send_frame(a_transfer(id, false), BODY);
    }
    assert_eq!(harness.endpoint.stats().overflowed, 90);
    // Unsettled deliveries count, too.
    let receiver = Attach {
        handle: 1,
        name: "receiver",
        ..an_attach(Role::Receiver)
    };
    harness.send_frame(Performative::Attach(receiver), &[]);
    harness.send_frame(credit(10, 0, false), &[]);
    for id in 100..200 {
        harness.send_frame(a_transfer(id, false), BODY);
    }
    assert_eq!(harness.endpoint.stats().overflowed, 190);
}

/// The container skips a full receiver until one of its deliveries gets an outcome.
#[test]
fn a_receiver_at_its_delivery_limit_continues_after_outcomes() {
    let config = Config {
        queue_messages: 3,
        ..Config::default()
    };
    let mut harness = attached(config, an_attach(Role::Sender));
    harness.received();
    attach_receiver(&mut harness, SenderSettleMode::Unsettled);
    harness.send_frame(credit(100, 0, false), &[]);
    for id in 0..3 {
        harness.send_frame(a_transfer(id, false), BODY);
        assert_eq!(harness.received(), ["disposition", "transfer 6"]);
    }
    for id in 3..9 {
        harness.send_frame(a_transfer(id, false), BODY);
        assert_eq!(
            harness.received(),
            ["disposition"],
            "as many as a queue holds have no outcome"
        );
        // Newest first.
        let newest = settle(id - 1, None, true, DeliveryState::Accepted);
        harness.send_frame(newest, &[]);
        assert_eq!(harness.received(), ["transfer 6"]);
    }
    assert_eq!(harness.endpoint.stats().accepted, 6);
}

/// A link's name comes back in the answer, and the client may accept less than the container (section 2.4.1).
#[test]
fn a_container_sends_no_frame_that_the_client_does_not_accept() {
    let name = "n".repeat(600);
    let mut harness = Harness::new(Container::new(Config::default()));
    harness.send_header(ProtocolHeader::AMQP);
    harness.send_frame(an_open(), &[]);
    harness.send_frame(a_begin(None), &[]);
    let attach = Attach {
        name: &name,
        ..an_attach(Role::Sender)
    };
    harness.send_frame(Performative::Attach(attach), &[]);
    let sent = harness.received();
    assert_eq!(
        sent,
        ["header 0", "open", "begin", "close amqp:frame-size-too-small"]
    );
    assert!(harness.is_closed && harness.is_accounted());
}
