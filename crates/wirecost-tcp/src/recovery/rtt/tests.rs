use core::time::Duration;

use super::*;
use crate::Config;
use crate::timers::Granularity;

const JIFFIES: Granularity = Granularity::Wheel(Duration::from_millis(4));

fn linux() -> (RttEstimator, TickClock) {
    let clock = TickClock::new(JIFFIES);
    (RttEstimator::new(&RecoveryConfig::linux(), &clock), clock)
}

/// A round trip in which everything sent before is acknowledged: the next one starts.
fn sample(micros: u64, round: u32) -> RttSample {
    RttSample {
        micros,
        una: round * 10,
        next: round * 10 + 9,
    }
}

#[test]
fn the_first_time_out_is_a_second() {
    let (estimator, clock) = linux();
    assert_eq!(clock.duration(estimator.rto_ticks()), Duration::from_secs(1));
}

#[test]
fn linux_adds_at_least_200_ms_to_the_round_trip() {
    let (mut estimator, clock) = linux();
    // 25.001 ms and 200 ms (twice the round trip is less): 225.001 ms are 57 jiffies.
    estimator.measure(&sample(25_000, 1), &clock);
    assert_eq!(estimator.srtt_eighths(), Some(8 * 25_001));
    assert_eq!(estimator.rto_ticks(), 57);
    // 150.001 ms and twice that: 450.003 ms are 113 jiffies.
    let (mut estimator, clock) = linux();
    estimator.measure(&sample(150_000, 1), &clock);
    assert_eq!(estimator.rto_ticks(), 113);
}

#[test]
fn linux_smooths_by_an_eighth_and_a_quarter() {
    let (mut estimator, clock) = linux();
    estimator.measure(&sample(99_999, 1), &clock);
    // mdev = 200,000 us. The error is 80,000: srtt 100,000 + 10,000; mdev 200,000 + (80,000 - 50,000) = 230,000.
    estimator.measure(&sample(179_999, 1), &clock);
    assert_eq!(estimator.srtt_eighths(), Some(8 * 110_000));
    assert_eq!((estimator.mdev, estimator.rttvar), (230_000, 230_000));
    // A falling round trip counts for an eighth of its deviation: error -100,000, growth (100,000 - 57,500) / 8 = 5,312.
    estimator.measure(&sample(9_999, 1), &clock);
    assert_eq!(estimator.mdev, 235_312);
}

#[test]
fn the_deviation_falls_once_a_round_trip() {
    let (mut estimator, clock) = linux();
    estimator.measure(&sample(300_000, 1), &clock);
    let first = estimator.rttvar;
    estimator.measure(&sample(300_000, 1), &clock);
    assert_eq!(estimator.rttvar, first, "the round trip is not over");
    estimator.measure(&sample(300_000, 2), &clock);
    assert_eq!(estimator.rttvar, first, "its maximum was the first");
    estimator.measure(&sample(300_000, 3), &clock);
    assert!(estimator.rttvar < first);
    for round in 4..60 {
        estimator.measure(&sample(300_000, round), &clock);
    }
    // Down to 200 ms: 500 ms and the microsecond are 126 jiffies.
    assert_eq!(estimator.rto_ticks(), 126);
}

#[test]
fn the_standard_filter_is_rfc_6298() {
    let config = Config::larmo(1_460);
    let clock = TickClock::new(config.granularity);
    let mut estimator = RttEstimator::new(&config.recovery, &clock);
    // Section 2.2: 2 s and four times 1 s.
    estimator.measure(&sample(2_000_000, 1), &clock);
    assert_eq!(clock.duration(estimator.rto_ticks()), Duration::from_secs(6));
    // Section 2.3: RTTVAR = 3/4 of 1 s; SRTT stays.
    estimator.measure(&sample(2_000_000, 2), &clock);
    assert_eq!(clock.duration(estimator.rto_ticks()), Duration::from_secs(5));
    // Section 2.4: one second at least.
    let mut estimator = RttEstimator::new(&config.recovery, &clock);
    estimator.measure(&sample(10_000, 1), &clock);
    assert_eq!(clock.duration(estimator.rto_ticks()), Duration::from_secs(1));
}

#[test]
fn an_opening_without_a_measurement_leaves_three_seconds() {
    let (mut estimator, clock) = linux();
    estimator.fall_back(750, &clock);
    assert_eq!(clock.duration(estimator.rto_ticks()), Duration::from_secs(3));
    let (mut estimator, clock) = linux();
    estimator.measure(&sample(25_000, 1), &clock);
    estimator.fall_back(750, &clock);
    assert_eq!(estimator.rto_ticks(), 57);
}

#[test]
fn the_least_round_trip_is_forgotten_after_five_minutes() {
    let clock = TickClock::new(JIFFIES);
    let mut least = MinRtt::default();
    assert_eq!(least.micros(), u64::MAX);
    let second = 250;
    least.measure(10_000, 0, &clock);
    for at in 1..=300 {
        least.measure(20_000 + at, at * second, &clock);
    }
    assert_eq!(least.micros(), 10_000);
    least.measure(30_000, 301 * second, &clock);
    assert!((20_000..30_000).contains(&least.micros()), "{}", least.micros());
    least.measure(5_000, 302 * second, &clock);
    assert_eq!(least.micros(), 5_000);
}
