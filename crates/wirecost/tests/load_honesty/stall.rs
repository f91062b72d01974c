//! A target that is stopped for two of ten seconds: messages intended in that time wait from their intended times on.

use std::thread;
use std::time::{Duration, Instant};

use crate::rig::{Loading, Target};

const RATE: f64 = 1_000.0;
const DURATION: f64 = 10.0;

#[test]
fn a_stall_is_in_the_response_times_of_all_messages_due_in_it() {
    let target = Target::start("mqtt-qos1");
    let url = target.url("mqtt");
    let loading = Loading::start(&format!("{url} --clients 10 --rate 1000/s --duration 10s"));
    thread::sleep(Duration::from_secs(4));
    target.signal("STOP");
    // From after the one signal to before the other: it is stopped for at least this long.
    let stopped = Instant::now();
    thread::sleep(Duration::from_secs(2));
    let stop = stopped.elapsed().as_secs_f64();
    target.signal("CONT");
    let loaded = loading.end();

    let outcomes = loaded.outcomes();
    assert_eq!(outcomes.offered, (RATE * DURATION) as u64, "nothing is withheld");
    assert_eq!(outcomes.acknowledged, outcomes.offered, "{outcomes:?}");
    let phase = loaded.only().phases.iter().find(|phase| phase.name == "publish");
    let phase = phase.expect("messages were sent");
    let response = phase.response_time_ns.as_ref().expect("they were answered");
    let service = phase.service_time_ns.as_ref().expect("and sent");
    // What was intended in the stop, RATE x stop messages, waits from 0 to the whole of it. Whatever else the machine
    // holds up makes it more, so that these are the least that it can be, but for the two digits of a histogram.
    let mean = response.mean / 1e9;
    let expected = stop * stop / 2.0 / DURATION;
    assert!(mean >= 0.975 * expected, "mean {mean} s of a stop of {stop} s");
    // 5 % of all wait longer than the stop without its last half second.
    let p95 = response.p95.expect("10,000 samples") as f64 / 1e9;
    let expected = stop - 0.05 * DURATION;
    assert!(p95 >= expected - 0.05, "p95 {p95} s of a stop of {stop} s");
    assert!(
        response.max as f64 / 1e9 >= stop - 0.1,
        "somebody waited for all of it"
    );
    // The other four fifths did not wait for it.
    let median = response.p50.expect("10,000 samples") as f64 / 1e9;
    assert!(median < stop / 2.0, "median {median} s of a stop of {stop} s");
    assert!(
        service.mean <= response.mean,
        "{} of {}",
        service.mean,
        response.mean
    );
}
