//! Bytes count in the second in which they pass through sockets.

use std::collections::BTreeMap;
use std::time::Duration;

use wirecost_proto::Instant;
use wirecost_results::figures::Interval;
use wirecost_results::intervals::Intervals;
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
    let offer = Offer {
        warm_up,
        ..open(200.0, Duration::from_secs(4))
    };
    let mut rig = Rig::new(publishing(offer), prompt);
    rig.phase(0);
    rig.phase(1)
}

fn publishing(offer: Offer) -> LoadOptions {
    LoadOptions {
        phases: vec![CONNECT, Phase::Publish(offer)],
        ..LoadOptions::new(
            "mqtt-qos1".parse().expect("a stack"),
            LoadTarget::Started(Target::Builtin),
        )
    }
}

#[test]
fn from_its_second_hour_on_a_simulated_phase_is_reported_every_ten_seconds_with_the_same_rows() {
    let rows = |seconds: BTreeMap<u32, Interval>| {
        let rows: Intervals = seconds.into_values().collect();
        let counts = |row: &Interval| {
            let bytes = row.socket_bytes;
            (
                row.second,
                row.seconds,
                row.outcomes,
                row.acknowledged_then,
                bytes,
            )
        };
        rows.into_list().iter().map(counts).collect::<Vec<_>>()
    };
    let offer = open(2.0, Duration::from_secs(3_700));
    let [live, simulated] = [false, true].map(|is_virtual| {
        let rig = Rig::new(publishing(offer), prompt);
        let mut rig = if is_virtual { rig.in_virtual_time() } else { rig };
        rig.phase(0);
        rig.phase(1)
    });
    // One for each second, and one for each ten after the first hour; the last one with the end of the phase.
    assert_eq!([live.reports, simulated.reports], [3_701, 3_611]);
    assert_eq!(rows(simulated.seconds), rows(live.seconds));
}

#[test]
fn a_second_has_the_bytes_of_the_messages_sent_in_it() {
    let seconds = published(Duration::ZERO).seconds;
    let bytes = |(second, sum): (&u32, &Interval)| (*second, sum.socket_bytes[0]);
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
