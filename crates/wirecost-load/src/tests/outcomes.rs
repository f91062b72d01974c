//! Whatever the server does, every offered message ends once, and every phase ends.

use std::time::Duration;

use wirecost_proto::{Instant, Rng};
use wirecost_scenario::options::load::{Arrivals, LoadEngine, LoadOptions, LoadTarget, Offer, Phase, Who};
use wirecost_stack::Event;
use wirecost_stack::target::Target;

use super::rig::{BEGIN, READY, Request, Rig};
use crate::devices::part::ToPart;

fn load(offer: Offer) -> LoadOptions {
    let connect = Phase::Connect {
        who: Who::All,
        rate: Some(100.0),
    };
    LoadOptions {
        phases: vec![connect, Phase::Publish(offer), Phase::Close { rate: None }],
        timeout: Duration::from_secs(3),
        ..LoadOptions::new(
            "mqtt-qos1".parse().expect("a stack"),
            LoadTarget::Started(Target::Builtin),
        )
    }
}

fn offer(arrivals: Arrivals) -> Offer {
    Offer {
        arrivals,
        duration: Some(Duration::from_secs(5)),
        count: None,
        warm_up: Duration::from_secs(1),
        ramp: Duration::ZERO,
        spread: None,
    }
}

const OPEN: Arrivals = Arrivals::Open {
    rate: 200.0,
    per_client: false,
    poisson: true,
};

/// A server that acts at random: answers at once or late, refuses, is silent, ends the connection, rejects the connect.
fn whimsical(mut rng: Rng) -> impl FnMut(usize, Request, Instant) -> Vec<(Duration, Event)> {
    move |_, request, _| {
        let after = Duration::from_millis(rng.next_below(200));
        let lost = || Event::Lost {
            reason: "gone".into(),
        };
        match (request, rng.next_below(100)) {
            (Request::Connect, 0..20) => vec![(after, lost())],
            (Request::Connect, 20..30) => vec![],
            (Request::Connect, 30..40) => vec![(after, Event::Rejected { reason: "no".into() })],
            (Request::Connect, _) => vec![(after, READY)],
            (Request::Message(message), 0..70) => vec![(after, Event::Acknowledged { message })],
            // Late, after the time-out, and twice.
            (Request::Message(message), 70..80) => vec![
                (after * 25, Event::Acknowledged { message }),
                (after * 50, Event::Acknowledged { message }),
            ],
            (Request::Message(message), 80..85) => vec![(
                after,
                Event::Refused {
                    message,
                    reason: "full".into(),
                },
            )],
            (Request::Message(message), 85..88) => vec![(after, Event::TimedOut { message })],
            (Request::Message(_), 88..97) => vec![],
            (Request::Message(_), _) => vec![(after, lost()), (after, Event::Closed)],
        }
    }
}

#[test]
fn outcomes_sum_to_what_was_offered_whatever_the_server_does() {
    for seed in 0..60 {
        let rng = Rng::new(seed);
        let arrivals = if seed % 3 == 0 { Arrivals::Closed } else { OPEN };
        let options = LoadOptions {
            inflight: [None, Some(1), Some(16)][seed as usize % 3],
            session_expiry: (seed % 4 == 0).then_some(Duration::from_secs(60)),
            ..load(offer(arrivals))
        };
        let (timeout, patience) = (options.timeout, Duration::from_secs(1));
        let mut rig = Rig::new(options, whimsical(rng));
        let connected = rig.phase(0);
        let connects = connected.sum.connects;
        assert_eq!(connects.attempted, 10, "seed {seed}");
        let ended = connects.established + connects.refused + connects.failed + connects.timed_out;
        assert_eq!(ended, 10, "seed {seed}: {connects:?}");
        let published = rig.phase(1);
        let outcomes = published.sum.outcomes;
        assert!(outcomes.add_up(), "seed {seed}: {outcomes:?}");
        assert!(
            outcomes.offered > 0 && published.sum.sent <= outcomes.offered,
            "seed {seed}"
        );
        let answered = published.sum.response_time.map_or(0, |times| times.len());
        assert_eq!(answered, outcomes.acknowledged + outcomes.late, "seed {seed}");
        let longest = connected.over + patience + Duration::from_secs(5) + timeout + patience;
        assert!(
            published.over <= longest,
            "seed {seed}: over at {}",
            published.over
        );
        rig.phase(2);
    }
}

#[test]
fn a_silent_server_leaves_every_message_unknown_at_the_drains_end() {
    let mut rig = Rig::new(load(offer(OPEN)), |_, request, _| match request {
        Request::Connect => vec![(Duration::ZERO, READY)],
        Request::Message(_) => vec![],
    });
    let began = rig.phase(0).over + Duration::from_secs(1);
    let published = rig.phase(1);
    let outcomes = published.sum.outcomes;
    assert_eq!(
        (outcomes.unknown, published.sum.sent),
        (outcomes.offered, outcomes.offered)
    );
    assert_eq!(
        published.over,
        began + Duration::from_secs(8),
        "5 s and the time-out"
    );
}

#[test]
fn connects_that_are_pending_at_the_end_of_a_load_are_given_up() {
    let second = Duration::from_secs(1);
    let mut rig = Rig::new(load(offer(OPEN)), |device, _, _| {
        let after = if device < 4 { second } else { second * 3 };
        vec![(after, READY)]
    });
    rig.tell_after(ToPart::Stop, second * 2);
    let connects = rig.phase(0).sum.connects;
    assert_eq!(
        (connects.attempted, connects.established, connects.given_up),
        (10, 4, 6)
    );
    assert_eq!(rig.quit().connects.given_up, 0);
}

#[test]
fn connects_that_are_pending_when_the_part_quits_are_given_up() {
    let mut come = std::collections::BTreeSet::new();
    let mut rig = Rig::new(load(offer(OPEN)), move |device, request, _| match request {
        Request::Connect if come.insert(device) => vec![(Duration::ZERO, READY)],
        Request::Connect => vec![],
        Request::Message(_) => vec![(Duration::ZERO, Event::Closed)],
    });
    let mut sum = rig.phase(0).sum.connects;
    sum += rig.phase(1).sum.connects;
    sum += rig.quit().connects;
    assert_eq!((sum.established, sum.lost), (10, 10));
    assert!(sum.given_up > 0, "{sum:?}");
    assert_eq!(sum.attempted, sum.established + sum.timed_out + sum.given_up);
}

#[test]
fn without_connections_messages_have_failed() {
    let mut rig = Rig::new(load(offer(OPEN)), |_, _, _| vec![]);
    assert_eq!(rig.phase(0).sum.connects.timed_out, 10);
    let published = rig.phase(1);
    let outcomes = published.sum.outcomes;
    assert_eq!((outcomes.failed, published.sum.sent), (outcomes.offered, 0));
    assert!(outcomes.offered > 500);
}

#[test]
fn an_interrupted_phase_ends_soon_and_adds_up() {
    let mut rig = Rig::new(load(offer(OPEN)), |_, request, now| match request {
        Request::Connect => vec![(Duration::ZERO, READY)],
        Request::Message(message) if now.as_nanos() % 2 == 0 => {
            vec![(Duration::from_millis(5), Event::Acknowledged { message })]
        }
        Request::Message(_) => vec![],
    });
    rig.phase(0);
    rig.tell_after(ToPart::Stop, Duration::from_secs(3));
    let published = rig.phase(1);
    let outcomes = published.sum.outcomes;
    assert!(outcomes.add_up() && outcomes.unknown > 0, "{outcomes:?}");
    let offering = published
        .seconds
        .iter()
        .filter(|(_, sum)| sum.outcomes.offered > 0);
    assert!(offering.map(|(second, _)| *second).all(|second| second < 3));
}

#[test]
fn a_loop_with_too_many_arrivals_still_stops() {
    let options = load(offer(Arrivals::Open {
        rate: 1e6,
        per_client: false,
        poisson: false,
    }));
    let mut rig = Rig::new(options, prompt);
    rig.phase(0);
    let outcomes = rig.stopped_after_a_turn(1, Duration::from_secs(1)).sum.outcomes;
    assert!(outcomes.offered > 0 && outcomes.add_up(), "{outcomes:?}");
    assert!(
        outcomes.offered < 100_000,
        "a million were due: {}",
        outcomes.offered
    );
}

#[test]
fn a_count_is_exact_in_both_loops() {
    for arrivals in [OPEN, Arrivals::Closed] {
        let counted = Offer {
            count: Some(123),
            duration: None,
            warm_up: Duration::ZERO,
            ..offer(arrivals)
        };
        let mut rig = Rig::new(load(counted), |_, request, _| match request {
            Request::Connect => vec![(Duration::ZERO, READY)],
            Request::Message(message) => vec![(Duration::from_millis(1), Event::Acknowledged { message })],
        });
        rig.phase(0);
        let outcomes = rig.phase(1).sum.outcomes;
        assert_eq!(
            (outcomes.offered, outcomes.acknowledged),
            (123, 123),
            "{arrivals:?}"
        );
    }
}

#[test]
fn thousands_of_devices_close_in_sixteen_rounds_at_most_and_in_virtual_time_in_more() {
    use LoadEngine::{Live, Sim};
    for (engine, clients, rounds) in [
        (Live, 1_000, 1),
        (Live, 5_000, 5),
        (Live, 20_000, 16),
        (Sim, 20_000, 20),
    ] {
        let who = Who::All;
        let mut options = load(offer(OPEN));
        (options.engine, options.clients) = (engine, clients);
        options.phases = vec![Phase::Connect { who, rate: None }, Phase::Close { rate: None }];
        let mut rig = Rig::new(options, prompt);
        rig.close = Duration::from_millis(100);
        let connected = rig.phase(0).over;
        let closed = rig.phase(1).over;
        // The first round closes when the phase is announced.
        let took = closed.saturating_since(connected + BEGIN);
        assert_eq!(took, rig.close * (rounds - 1), "{clients} devices, {engine}");
    }
}

#[test]
fn a_closed_loop_begins_with_its_phase_whatever_came_before() {
    let closed = Offer {
        warm_up: Duration::ZERO,
        ..offer(Arrivals::Closed)
    };
    let mut options = load(closed);
    options.phases.insert(2, Phase::Publish(closed));
    let mut rig = Rig::new(options, prompt);
    rig.phase(0);
    for phase in 1..=2 {
        let published = rig.phase(phase);
        // Ten devices, one message of 10 ms each at a time.
        let offered = published.seconds.iter();
        let offered: Vec<(u32, u64)> = offered
            .map(|(second, sum)| (*second, sum.outcomes.offered))
            .filter(|(_, offered)| *offered > 0)
            .collect();
        let expected: Vec<(u32, u64)> = (0..5).map(|second| (second, 1_000)).collect();
        assert_eq!(offered, expected, "phase {phase}");
        assert_eq!(published.sum.outcomes.acknowledged, 5_000, "phase {phase}");
    }
}

/// A server that answers after 10 ms.
fn prompt(_: usize, request: Request, _: Instant) -> Vec<(Duration, Event)> {
    match request {
        Request::Connect => vec![(Duration::ZERO, READY)],
        Request::Message(message) => vec![(Duration::from_millis(10), Event::Acknowledged { message })],
    }
}

#[test]
fn a_message_that_the_protocol_holds_is_sent_when_it_leaves() {
    for arrivals in [OPEN, Arrivals::Closed] {
        let counted = Offer {
            count: Some(200),
            warm_up: Duration::ZERO,
            ..offer(arrivals)
        };
        let mut rig = Rig::new(load(counted), prompt);
        rig.phase(0);
        rig.withhold();
        rig.grant_after(1_000, Duration::from_secs(2));
        let sum = rig.phase(1).sum;
        assert_eq!((sum.sent, sum.outcomes.acknowledged), (200, 200), "{arrivals:?}");
        let service = sum.service_time.expect("service times");
        // The resolution of a histogram is well below a millisecond here.
        assert!(
            (9_900_000..10_100_000).contains(&service.max()),
            "what was held back does not count: {}",
            service.max()
        );
        assert!(sum.response_time.expect("response times").max() >= 1_900_000_000);
    }
}

#[test]
fn a_message_that_the_protocol_never_releases_has_failed() {
    for arrivals in [OPEN, Arrivals::Closed] {
        let mut rig = Rig::new(load(offer(arrivals)), prompt);
        rig.phase(0);
        rig.withhold();
        rig.grant_after(7, Duration::from_secs(1));
        let sum = rig.phase(1).sum;
        let outcomes = sum.outcomes;
        assert_eq!(
            (sum.sent, outcomes.acknowledged),
            (7, 7),
            "{arrivals:?}: {outcomes:?}"
        );
        assert_eq!(
            outcomes.failed,
            outcomes.offered - 7,
            "{arrivals:?}: {outcomes:?}"
        );
        assert_eq!(
            sum.schedule_lag.map_or(0, |lag| lag.max()),
            0,
            "nor was the generator late"
        );
    }
}

#[test]
fn without_answers_a_message_is_over_when_it_has_left() {
    let options = LoadOptions {
        stack: "amqp-settled".parse().expect("a stack"),
        ..load(Offer {
            count: Some(150),
            ..offer(Arrivals::Closed)
        })
    };
    let mut rig = Rig::new(options, |_, request, _| match request {
        Request::Connect => vec![(Duration::ZERO, READY)],
        Request::Message(_) => vec![],
    });
    rig.phase(0);
    rig.withhold();
    rig.grant_after(100, Duration::from_secs(1));
    let sum = rig.phase(1).sum;
    assert_eq!((sum.sent, sum.outcomes.unknown), (100, 100));
    // Each of the ten devices still has one unsent message at the end of the phase.
    assert_eq!((sum.outcomes.failed, sum.outcomes.offered), (10, 110));
}
