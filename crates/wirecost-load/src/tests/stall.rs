//! What a target delays is seen: the arithmetic of a stall.

use std::time::Duration;

use wirecost_proto::Instant;
use wirecost_scenario::options::load::{LoadOptions, LoadTarget, Phase};
use wirecost_stack::Event;
use wirecost_stack::target::Target;

use super::rig::{CONNECT, READY, Request, Rig, open};

const ANSWER: Duration = Duration::from_micros(200);

/// 1,000 messages/s from 10 publishers for 10 s.
fn load() -> LoadOptions {
    let publish = Phase::Publish(open(1_000.0, Duration::from_secs(10)));
    LoadOptions {
        phases: vec![CONNECT, publish],
        ..LoadOptions::new(
            "mqtt-qos1".parse().expect("a stack"),
            LoadTarget::Started(Target::Builtin),
        )
    }
}

/// A server that answers after 200 us, but nothing between 4 and 6 s of the second phase.
fn stalled(_: usize, request: Request, now: Instant) -> Vec<(Duration, Event)> {
    let begin = Duration::from_secs(2) + ANSWER;
    let (from, until) = (begin + Duration::from_secs(4), begin + Duration::from_secs(6));
    let at = Duration::from_nanos(now.as_nanos());
    let wait = if at >= from && at < until {
        until - at
    } else {
        Duration::ZERO
    };
    match request {
        Request::Connect => vec![(ANSWER, READY)],
        Request::Message(message) => vec![(wait + ANSWER, Event::Acknowledged { message })],
    }
}

#[test]
fn a_stall_of_2_s_is_in_the_response_times_of_all_that_was_to_be_sent_meanwhile() {
    let mut rig = Rig::new(load(), stalled);
    rig.phase(0);
    let outcome = rig.phase(1);
    let messages = &outcome.sum.outcomes;
    assert_eq!((messages.offered, messages.acknowledged), (10_000, 10_000));
    // A fifth of the messages waits from 2 s down to 0, 1 s on average: 200 ms over all. A twentieth waits longer than
    // three quarters of the stall.
    let response = outcome.sum.response_time.expect("response times");
    assert!((195e6..230e6).contains(&response.mean()), "{}", response.mean());
    let p95 = response.quantile(0.95);
    assert!((1_450_000_000..1_700_000_000).contains(&p95), "{p95}");
    // Nothing is withheld: every second has its thousand, sent when they were intended.
    let offered: Vec<u64> = outcome
        .seconds
        .values()
        .map(|second| second.outcomes.offered)
        .collect();
    assert_eq!(offered, [1_000; 10]);
    let lag = outcome.sum.schedule_lag.expect("lags");
    assert_eq!((lag.len(), lag.max()), (10_000, 0));
}

#[test]
fn with_one_in_flight_what_waits_in_its_device_counts_in_the_response_but_not_in_the_service_time() {
    let options = LoadOptions {
        inflight: Some(1),
        ..load()
    };
    let mut rig = Rig::new(options, stalled);
    rig.phase(0);
    let outcome = rig.phase(1);
    assert_eq!(outcome.sum.outcomes.acknowledged, 10_000);
    let response = outcome.sum.response_time.expect("response times");
    let service = outcome.sum.service_time.expect("service times");
    // What had waited is sent one after the other then, each device's 200 at 200 us: 40 ms more at the most.
    assert!((195e6..230e6).contains(&response.mean()), "{}", response.mean());
    // Ten messages were at the server during the stall, all others waited in front of it.
    assert!(service.mean() < 3e6, "{}", service.mean());
    // A device that cannot take a message is not the generator's lag.
    assert_eq!(outcome.sum.schedule_lag.expect("lags").max(), 0);
}
