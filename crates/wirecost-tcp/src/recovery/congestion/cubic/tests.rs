use core::time::Duration;

use super::super::Algorithm;
use super::*;
use crate::recovery::CongestionControl;
use crate::timers::Granularity;

/// Ticks of 4 ms.
fn jiffies() -> TickClock {
    TickClock::new(Granularity::Wheel(Duration::from_millis(4)))
}

#[test]
fn constants_are_those_of_the_standard() {
    // RFC 9438, section 4.3: alpha = 3 (1 - beta) / (1 + beta); 8 over it is 8 x 1.7 / 0.9 = 15.1.
    assert_eq!(RENO_SCALE, 15);
    assert_eq!(CUBE_FACTOR, 2_681_735_677);
}

#[test]
fn cube_roots_are_rounded_down() {
    for (cube, root) in [
        (0, 0),
        (1, 1),
        (7, 1),
        (8, 2),
        (26, 2),
        (27, 3),
        (u64::MAX, 2_642_245),
    ] {
        assert_eq!(cubic_root(cube), root, "{cube}");
    }
}

#[test]
fn a_loss_leaves_seven_tenths_and_makes_room_for_others() {
    let mut cubic = Cubic::new(false);
    assert_eq!((cubic.threshold_after_loss(100), cubic.w_max), (70, 100));
    // RFC 9438, section 4.7: below the last maximum it falls to 1.7 / 2 of the window.
    assert_eq!((cubic.threshold_after_loss(80), cubic.w_max), (56, 68));
    assert_eq!(cubic.threshold_after_loss(2), 2);
}

#[test]
fn the_window_comes_back_to_its_maximum_after_k() {
    let clock = jiffies();
    let mut cubic = Cubic::new(false);
    let cwnd = cubic.threshold_after_loss(100);
    cubic.acks_per_segment(cwnd, 1, 1_000, &clock);
    let epoch = cubic.epoch.unwrap();
    // RFC 9438, equation 2: K = cbrt((100 - 70) / 0.4) = 4.217 s, in 1/1,024 s.
    assert!((4_310..4_325).contains(&epoch.k), "{}", epoch.k);
    assert_eq!((epoch.origin, epoch.reno_cwnd), (100, 70));
    // Near the plateau the target is the maximum: 30 segments in 70 acknowledgments.
    let at_k = 1_000 + epoch.k * 250 / 1_024;
    let acks = cubic.cubic_acks(cwnd, 1, at_k, &clock);
    assert_eq!(acks, 70 / 30);
    // At the maximum it hardly grows; a second later C x 1 s^3 is no whole segment yet, three later 0.4 x 27 are ten.
    assert_eq!(cubic.cubic_acks(100, 1, at_k, &clock), 100 * 100);
    assert_eq!(cubic.cubic_acks(100, 1, at_k + 751, &clock), 100 / 10);
}

#[test]
fn the_window_is_not_smaller_than_renos() {
    let clock = jiffies();
    let mut cubic = Cubic::new(false);
    let cwnd = cubic.threshold_after_loss(20);
    assert_eq!(cwnd, 14);
    cubic.acks_per_segment(cwnd, 0, 0, &clock);
    // 14 x 15 / 8 = 26 acknowledgments for a segment of Reno's; the 27th and the one after let it grow.
    let epoch = cubic.epoch.as_mut().unwrap();
    epoch.delivered = 26;
    assert_eq!(
        (cubic.reno_friendly(14, 100), cubic.epoch.unwrap().reno_cwnd),
        (100, 14)
    );
    cubic.epoch.as_mut().unwrap().delivered += 1;
    assert_eq!(
        (cubic.reno_friendly(14, 100), cubic.epoch.unwrap().reno_cwnd),
        (14, 15)
    );
}

#[test]
fn before_a_loss_the_window_grows_by_a_twentieth() {
    let clock = jiffies();
    let mut cubic = Cubic::new(false);
    assert_eq!(cubic.acks_per_segment(100, 1, 1, &clock), 20);
}

#[test]
fn the_cube_is_computed_once_in_a_thirty_second() {
    let clock = jiffies();
    let mut cubic = Cubic::new(false);
    cubic.threshold_after_loss(100);
    let first = cubic.acks_per_segment(70, 1, 1_000, &clock);
    cubic.epoch.as_mut().unwrap().k = 0;
    assert_eq!(cubic.acks_per_segment(70, 1, 1_007, &clock), first);
    assert_eq!(
        cubic.epoch.unwrap().delivered,
        2,
        "segments are counted nevertheless"
    );
    assert_ne!(cubic.acks_per_segment(70, 1, 2_000, &clock), first);
}

#[test]
fn a_pause_does_not_count_as_growth() {
    let clock = jiffies();
    let mut cubic = Cubic::new(false);
    cubic.threshold_after_loss(100);
    cubic.acks_per_segment(70, 1, 1_000, &clock);
    cubic.resume(1_100, 1_600);
    assert_eq!(cubic.epoch.unwrap().start_tick, 1_500);
    cubic.resume(1_600, 9_000);
    assert_eq!(cubic.epoch.unwrap().start_tick, 8_900);
}

#[test]
fn a_time_out_resets_the_maximum_and_keeps_hystart() {
    let mut cubic = Cubic::new(true);
    cubic.threshold_after_loss(100);
    cubic.reset(5, 10);
    assert_eq!((cubic.w_max, cubic.delay_min_micros), (0, 0));
    assert!(cubic.hystart.is_some());
}

#[test]
fn algorithms_grow_a_window_that_is_used() {
    let clock = jiffies();
    for control in [
        CongestionControl::NewReno,
        CongestionControl::Cubic { hystart: true },
    ] {
        let mut algorithm = Algorithm::new(control);
        let mut window = Window::new(10, u32::MAX, 0);
        algorithm.grow(&mut window, 2, 1, &clock);
        assert_eq!(window.cwnd(), 10, "nothing was sent");
    }
    let mut window = Window::new(10, u32::MAX, 0);
    let threshold = Algorithm::new(CongestionControl::NewReno).threshold_after_loss(window.cwnd());
    window.set_ssthresh(threshold);
    assert_eq!(threshold, 5);
}
