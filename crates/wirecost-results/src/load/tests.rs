use wirecost_stats::Histogram;

use super::*;
use crate::figures::{Deliveries, Interval};

fn second(second: u32, warm_up: bool, response_times: &[u64]) -> Interval {
    let mut interval = Interval::new(0, second, warm_up);
    let mut histogram = Histogram::new();
    response_times.iter().for_each(|nanos| histogram.record(*nanos));
    interval.outcomes.offered = response_times.len() as u64 + 1;
    interval.outcomes.acknowledged = response_times.len() as u64;
    interval.outcomes.refused = 1;
    interval.reason("quota exceeded");
    interval.response_time = Some(histogram);
    interval.deliveries.arrived = 1;
    interval.socket_bytes = [10, 20];
    interval
}

fn publish() -> PhaseFigures {
    PhaseFigures {
        name: "publish".into(),
        measured_s: 2.0,
        ..PhaseFigures::default()
    }
}

#[test]
fn sent_messages_include_warm_up() {
    let named = |name: &str| PhaseFigures {
        name: name.into(),
        ..PhaseFigures::default()
    };
    let sent = |phase, warm_up, sent| Interval {
        sent,
        ..Interval::new(phase, 0, warm_up)
    };
    let file = LoadFile {
        load: Load {
            phases: ["publish", "reconnect", "handshakes"].map(named).into(),
            ..Load::default()
        },
        intervals: vec![
            sent(0, true, 1),
            sent(0, false, 10),
            sent(1, false, 100),
            sent(2, false, 1_000),
        ],
        usage: Vec::new(),
        traffic: None,
        profile: None,
        source_addresses: Vec::new(),
        server: None,
    };
    assert_eq!(file.sent_in_all(), 1_011);
}

#[test]
fn a_phase_has_the_figures_of_all_its_seconds_but_warm_up() {
    let seconds = [
        second(0, true, &[9]),
        second(1, false, &[5, 7]),
        second(2, false, &[6]),
    ];
    let figures = publish().counted(&seconds);
    assert_eq!((figures.outcomes.offered, figures.outcomes.acknowledged), (5, 3));
    assert!(figures.outcomes.add_up());
    assert_eq!(figures.carried_rate, Some(1.5));
    assert_eq!(figures.reasons["quota exceeded"], 2);
    assert_eq!((figures.socket_bytes_up, figures.socket_bytes_down), (20, 40));
    let times = figures.response_time_ns.expect("times");
    assert_eq!((times.n, times.p50, times.max), (3, Some(6), 7));
    assert_eq!((figures.service_time_ns, figures.deliveries), (None, None));
    assert_eq!(figures.name, "publish");
}

#[test]
fn counting_again_changes_nothing() {
    let phase = PhaseFigures {
        deliveries: Some(Deliveries::default()),
        ..publish()
    };
    let seconds = [second(1, false, &[5, 7])];
    let once = phase.counted(&seconds);
    assert_eq!(once.deliveries.map(|deliveries| deliveries.arrived), Some(1));
    assert_eq!(once.clone().counted(&seconds), once);
}

#[test]
fn the_offered_rate_may_differ_from_the_requested_one() {
    let phase = PhaseFigures {
        asked_rate: Some(4.0),
        ..publish()
    };
    let figures = phase.counted(&[second(0, true, &[1]), second(1, false, &[5, 7])]);
    assert_eq!((figures.asked_rate, figures.offered_rate), (Some(4.0), Some(1.5)));
    let closed = publish().counted(&[second(0, false, &[1])]);
    assert_eq!(closed.offered_rate, None, "a closed loop offers what is answered");
}

#[test]
fn the_backlog_is_not_in_the_carried_rate() {
    let mut interval = Interval::new(0, 0, false);
    (interval.outcomes.offered, interval.outcomes.delivered) = (10, 10);
    interval.worked_off = 4;
    assert_eq!(publish().counted(&[interval]).carried_rate, Some(3.0));
}

#[test]
fn a_phase_without_messages_carries_none() {
    let figures = publish().counted(&[Interval::new(0, 0, false)]);
    assert_eq!((figures.carried_rate, figures.response_time_ns), (None, None));
}
