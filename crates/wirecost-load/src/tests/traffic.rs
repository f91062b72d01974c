//! Bytes count in the second in which they pass through sockets.

use std::time::Duration;

use wirecost_proto::Instant;
use wirecost_scenario::options::load::{LoadOptions, LoadTarget, Offer, Phase};
use wirecost_stack::Event;
use wirecost_stack::target::Target;

use super::rig::{CONNECT, MESSAGE_BYTES, Outcome, READY, Request, Rig, open};

/// A server that answers after 10 ms.
fn prompt(_: usize, request: Request, _: Instant) -> Vec<(Duration, Event)> {
    match request {
        Request::Connect => vec![(Duration::ZERO, READY)],
        Request::Message(message) => vec![(Duration::from_millis(10), Event::Acknowledged { message })],
    }
}

/// 200 messages/s for 4 s.
fn published(warm_up: Duration) -> Outcome {
    let publish = Phase::Publish(Offer {
        warm_up,
        ..open(200.0, Duration::from_secs(4))
    });
    let options = LoadOptions {
        phases: vec![CONNECT, publish],
        ..LoadOptions::new(
            "mqtt-qos1".parse().expect("a stack"),
            LoadTarget::Started(Target::Builtin),
        )
    };
    let mut rig = Rig::new(options, prompt);
    rig.phase(0);
    rig.phase(1)
}

#[test]
fn a_second_has_the_bytes_of_the_messages_sent_in_it() {
    let seconds = published(Duration::ZERO).seconds;
    let bytes = |(second, sum): (&u32, &wirecost_results::figures::Interval)| (*second, sum.socket_bytes[0]);
    let each = 200 * MESSAGE_BYTES;
    assert_eq!(
        seconds.iter().map(bytes).collect::<Vec<_>>(),
        [(0, each), (1, each), (2, each), (3, each), (4, 0)]
    );
    // The answers to the messages of the last 10 ms of a second arrive in the next one.
    let answers: Vec<_> = seconds.values().map(|sum| sum.acknowledged_then).collect();
    assert_eq!(answers, [Some(198), Some(200), Some(200), Some(200), Some(2)]);
}

#[test]
fn bytes_that_leave_in_the_warm_up_are_in_no_figure() {
    for (millis, measured) in [(1_000, 600), (1_500, 500), (250, 750)] {
        let published = published(Duration::from_millis(millis)).measured;
        assert_eq!(published.outcomes.offered, measured, "{millis} ms");
        assert_eq!(published.socket_bytes[0], measured * MESSAGE_BYTES, "{millis} ms");
    }
}
