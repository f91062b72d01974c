use super::*;

fn outstanding(segments: u32, una: u32, next: u32) -> Outstanding {
    Outstanding {
        segments,
        in_flight: segments,
        una,
        next,
    }
}

#[test]
fn slow_start_grows_by_what_is_delivered_up_to_the_threshold() {
    let mut window = Window::new(10, u32::MAX, 0);
    assert_eq!((window.slow_start(3), window.cwnd()), (0, 13));
    window.set_ssthresh(15);
    assert_eq!((window.slow_start(5), window.cwnd()), (3, 15));
    assert!(!window.in_slow_start());
}

#[test]
fn a_cap_holds() {
    let mut window = Window::new(3, 10, 0);
    window.slow_start(20);
    assert_eq!(window.cwnd(), 10);
    window.grow_linearly(1, 5);
    assert_eq!(window.cwnd(), 10);
}

#[test]
fn linear_growth_takes_a_window_of_acknowledgments() {
    let mut window = Window::new(4, u32::MAX, 0);
    for _ in 0..3 {
        window.grow_linearly(4, 1);
        assert_eq!(window.cwnd(), 4);
    }
    window.grow_linearly(4, 1);
    assert_eq!(window.cwnd(), 5);
    window.grow_linearly(4, 9);
    assert_eq!(window.cwnd(), 7, "a stretched acknowledgment counts in full");
}

#[test]
fn only_a_window_that_is_used_grows() {
    let mut window = Window::new(10, u32::MAX, 0);
    assert!(!window.validate(&outstanding(1, 0, 100), false, 0, 50));
    assert!(!window.is_limiting(), "10 segments, one used");
    window.validate(&outstanding(6, 0, 600), false, 0, 50);
    assert!(window.is_limiting(), "in slow start more than half is enough");
    window.set_ssthresh(5);
    assert!(!window.is_limiting());
    window.validate(&outstanding(10, 0, 1_000), true, 0, 50);
    assert!(window.is_limiting());
    window.validate(&outstanding(1, 500, 1_100), false, 0, 50);
    assert!(window.is_limiting(), "within the same round trip");
    window.validate(&outstanding(1, 1_000, 1_200), false, 0, 50);
    assert!(!window.is_limiting());
}

#[test]
fn an_unused_window_falls_half_way_to_what_is_used() {
    let mut window = Window::new(10, u32::MAX, 0);
    window.set_cwnd(40);
    window.set_ssthresh(30);
    window.stamp(100);
    assert!(!window.validate(&outstanding(12, 0, 100), false, 149, 50));
    assert!(window.validate(&outstanding(11, 0, 100), false, 150, 50));
    window.decay(10, 150);
    // RFC 2861, section 3.2: (40 + 12) / 2; three quarters of 40 are remembered.
    assert_eq!((window.cwnd(), window.ssthresh()), (26, 30));
}

#[test]
fn a_pause_halves_the_window_for_every_time_out() {
    for (idle, cwnd) in [(50, 40), (51, 20), (100, 20), (101, 10), (5_000, 10)] {
        let mut window = Window::new(10, u32::MAX, 0);
        window.set_cwnd(40);
        window.restart(10, idle, 50, 10_000);
        assert_eq!(window.cwnd(), cwnd, "after {idle} ticks");
    }
    let mut small = Window::new(10, u32::MAX, 0);
    small.set_cwnd(4);
    small.restart(10, 5_000, 50, 10_000);
    assert_eq!(small.cwnd(), 4, "a pause does not let it grow");
}
