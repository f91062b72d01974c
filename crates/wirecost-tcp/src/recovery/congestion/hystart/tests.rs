use super::*;
use crate::recovery::Pacing;

const RTT: u64 = 50_000;

/// A window of 20 segments in slow start, a round trip that started at 0 and ends at 100, and an acknowledgment in it.
fn started() -> (HyStart, Window, AckSample) {
    let mut hystart = HyStart::idle();
    hystart.start_round(100, 0);
    let sample = AckSample {
        now_micros: 0,
        rtt_micros: Some(RTT),
        una: 10,
        next: 100,
        pacing: Pacing::of_rate(1_000_000),
    };
    (hystart, Window::new(20, u32::MAX, 0), sample)
}

#[test]
fn a_train_of_half_a_round_trip_ends_slow_start() {
    let (mut hystart, mut window, sample) = started();
    // (50 ms + 1 ms) / 2 = 25.5 ms, in steps of 2 ms at most.
    for now_micros in (0..=25_500).step_by(1_500) {
        hystart.measure(&AckSample { now_micros, ..sample }, RTT, RTT, &mut window);
        assert!(window.in_slow_start(), "{now_micros}");
    }
    let late = AckSample {
        now_micros: 26_000,
        ..sample
    };
    hystart.measure(&late, RTT, RTT, &mut window);
    assert_eq!(window.ssthresh(), 20);
}

#[test]
fn a_gap_breaks_the_train() {
    let (mut hystart, mut window, sample) = started();
    for now_micros in (0..100_000).step_by(2_001) {
        hystart.measure(&AckSample { now_micros, ..sample }, RTT, RTT, &mut window);
    }
    assert!(window.in_slow_start());
}

#[test]
fn a_delay_above_an_eighth_ends_slow_start_after_eight_samples() {
    let (mut hystart, mut window, sample) = started();
    let sample = AckSample {
        now_micros: 10_000_000,
        ..sample
    };
    // 50 ms and an eighth: 56.25 ms.
    for _ in 0..8 {
        hystart.measure(&sample, RTT + 6_251, RTT, &mut window);
        assert!(window.in_slow_start());
    }
    hystart.measure(&sample, RTT + 6_251, RTT, &mut window);
    assert!(!window.in_slow_start());
}

#[test]
fn small_or_single_delay_growth_does_not_count() {
    let (mut hystart, mut window, sample) = started();
    let sample = AckSample {
        now_micros: 10_000_000,
        ..sample
    };
    for _ in 0..20 {
        hystart.measure(&sample, 5_000 + 4_000, 5_000, &mut window);
    }
    assert!(window.in_slow_start());
    let (mut hystart, mut window, _) = started();
    hystart.measure(&sample, RTT, RTT, &mut window);
    for _ in 0..20 {
        hystart.measure(&sample, 2 * RTT, RTT, &mut window);
    }
    assert!(window.in_slow_start(), "the least of the round trip counts");
}

#[test]
fn small_windows_are_not_judged_and_a_verdict_is_final() {
    let (mut hystart, _, sample) = started();
    let mut window = Window::new(15, u32::MAX, 0);
    for now_micros in (0..60_000).step_by(1_500) {
        hystart.measure(&AckSample { now_micros, ..sample }, RTT, RTT, &mut window);
    }
    assert!(window.in_slow_start());
}

#[test]
fn a_round_trip_ends_when_earlier_data_is_acknowledged() {
    let (mut hystart, mut window, sample) = started();
    let next_round = AckSample {
        now_micros: 40_000,
        una: 101,
        next: 200,
        ..sample
    };
    hystart.measure(&next_round, RTT, RTT, &mut window);
    assert_eq!((hystart.round_start_micros, hystart.round_end), (40_000, 200));
}
