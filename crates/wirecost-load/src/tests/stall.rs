//! A target's stall shows in the response times: the arithmetic of a stall.

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

/// A server that answers after 200 us, except between 4 and 6 s of the second phase.
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
fn a_stall_of_2_s_is_in_the_response_times_of_waiting_messages() {
    let mut rig = Rig::new(load(), stalled);
    rig.phase(0);
    let outcome = rig.phase(1);
    let messages = &outcome.sum.outcomes;
    assert_eq!((messages.offered, messages.acknowledged), (10_000, 10_000));
    // A fifth of the messages waits between 2 s and 0, 1 s on average: 200 ms over all. A twentieth waits longer than
    // three quarters of the stall.
    let response = outcome.sum.response_time.expect("response times");
    assert!((195e6..230e6).contains(&response.mean()), "{}", response.mean());
    let p95 = response.quantile(0.95);
    assert!((1_450_000_000..1_700_000_000).contains(&p95), "{p95}");
    // Every second has its thousand messages, sent at their intended times.
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
fn waiting_in_the_device_counts_as_response_not_as_service() {
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
    // After the stall, each device sends its 200 waiting messages at 200 us each: 40 ms more at the most.
    assert!((195e6..230e6).contains(&response.mean()), "{}", response.mean());
    // Ten messages were at the server during the stall. All others waited in their devices.
    assert!(service.mean() < 3e6, "{}", service.mean());
    // A device that cannot take a message does not add to the generator's lag.
    assert_eq!(outcome.sum.schedule_lag.expect("lags").max(), 0);
}
