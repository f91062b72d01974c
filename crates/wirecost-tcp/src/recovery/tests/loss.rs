//! Who is retransmitted when.

use super::*;

const RTT: Duration = Duration::from_millis(20);

fn linux() -> Config {
    Config::linux(1_460)
}

#[test]
fn without_loss_the_window_doubles_from_ten_segments() {
    let mut simulation = Simulation::new(&linux(), RTT, 100, |_, _| false);
    assert_eq!(simulation.run(), 4 * 20_000, "10 + 20 + 40 + 30 segments");
    assert_eq!(simulation.retransmissions(), []);
    let sent_by = |time| {
        simulation
            .sendings
            .iter()
            .filter(|sending| sending.at <= time)
            .count()
    };
    assert_eq!([0, 20_000, 40_000, 60_000].map(sent_by), [10, 30, 70, 100]);
}

#[test]
fn three_sack_blocks_repair_a_lost_first_segment() {
    let mut simulation = Simulation::new(&linux(), RTT, 10, |_, number| number == 0);
    assert_eq!(simulation.run(), 40_000);
    assert_eq!(simulation.retransmissions(), [(20_000, 0)]);
}

#[test]
fn a_lost_last_segment_is_probed_for_after_two_round_trips() {
    let mut simulation = Simulation::new(&linux(), RTT, 10, |_, number| number == 9);
    let end = simulation.run();
    // At 20 ms, jiffy 5, one segment is out: 40 ms and 200 ms for its acknowledgment, but not more than the time-out of 220.001 ms,
    // 56 jiffies; the wheel looks at them one later.
    assert_eq!(simulation.retransmissions(), [(248_000, 9)]);
    assert_eq!(end, 268_000);
}

#[test]
fn two_lost_last_segments_are_probed_for_sooner() {
    let mut simulation = Simulation::new(&linux(), RTT, 10, |_, number| number == 8 || number == 9);
    simulation.run();
    // At 20 ms two segments are out: 40 ms and 2 ms are 11 jiffies, of which the wheel makes 12. The probe is answered at 88 ms
    // and shows that the segment before it is lost; the reordering window is the quarter of a round trip.
    assert_eq!(simulation.retransmissions()[0], (68_000, 9));
    assert_eq!(simulation.retransmissions()[1].1, 8);
    assert_eq!(simulation.retransmissions().len(), 2);
}

#[test]
fn a_lost_only_segment_waits_for_the_delayed_acknowledgment() {
    let mut simulation = Simulation::new(&linux(), RTT, 1, |_, number| number == 0);
    simulation.run();
    // Armed at 0: the time-out of 220.001 ms, 56 jiffies, comes before the probe after 40 + 200 ms.
    assert_eq!(simulation.retransmissions(), [(228_000, 0)]);
}

#[test]
fn every_second_segment_lost_is_mended_in_two_round_trips() {
    let mut simulation = Simulation::new(&linux(), RTT, 10, |sending, _| {
        !sending.is_retransmission && sending.segment.is_multiple_of(2)
    });
    let end = simulation.run();
    let mut segments: Vec<u32> = simulation
        .retransmissions()
        .iter()
        .map(|(_, segment)| *segment)
        .collect();
    segments.sort_unstable();
    assert_eq!(segments, [0, 2, 4, 6, 8]);
    assert!(end <= 100_000, "{end}: {:?}", simulation.retransmissions());
}

#[test]
fn a_lost_retransmission_is_found_by_time() {
    let mut simulation = Simulation::new(&linux(), RTT, 40, |sending, number| {
        number == 0 || (sending.is_retransmission && number < 30)
    });
    let end = simulation.run();
    let of_first = simulation
        .retransmissions()
        .iter()
        .filter(|(_, segment)| *segment == 0)
        .count();
    assert!(of_first >= 2, "{:?}", simulation.retransmissions());
    assert!(end < 200_000, "no time-out was waited for: {end}");
}

#[test]
fn a_lost_window_is_mended_after_a_probe_and_by_the_time_out() {
    let mut simulation = Simulation::new(&linux(), RTT, 10, |_, number| number < 10);
    let end = simulation.run();
    // Nothing of ten segments arrives: the probe for the last after 42 ms, 11 jiffies and one; its acknowledgment shows all others
    // lost.
    assert_eq!(simulation.retransmissions()[0], (48_000, 9));
    assert!(simulation.retransmissions()[1].0 >= 68_000);
    assert_eq!(simulation.retransmissions().len(), 10);
    assert!(end < 200_000, "{end}");
}

#[test]
fn the_time_out_doubles_while_nothing_is_heard() {
    let mut simulation = Simulation::new(&linux(), RTT, 1, |_, number| number < 5);
    simulation.run();
    let times: Vec<u64> = simulation
        .retransmissions()
        .iter()
        .map(|(time, _)| *time)
        .collect();
    // The probe after 56 jiffies, which starts the time-out again; that doubles: 112 jiffies and 224 are counted in eights.
    assert_eq!(times[0], 228_000);
    for (number, gap) in times.windows(2).map(|pair| pair[1] - pair[0]).enumerate() {
        let nominal = 224_000 << number;
        assert!((nominal..nominal + 36_000).contains(&gap), "{number}: {gap}");
    }
}

#[test]
fn lost_acknowledgments_cost_nothing_while_later_ones_arrive() {
    let mut simulation = Simulation::new(&linux(), RTT, 10, |_, _| false).losing_acks(|number| number < 9);
    assert_eq!(simulation.run(), 20_000);
    assert_eq!(simulation.retransmissions(), []);
}

#[test]
fn a_lost_last_acknowledgment_does_not_reduce_the_window() {
    let mut simulation = Simulation::new(&linux(), RTT, 10, |_, _| false).losing_acks(|number| number == 9);
    simulation.run();
    assert_eq!(simulation.retransmissions().len(), 1);
    assert_eq!(
        simulation.recovery.slow_start_threshold(),
        crate::recovery::congestion::window::NO_THRESHOLD
    );
}

#[test]
fn three_duplicates_start_a_recovery_without_sack() {
    let mut simulation = Simulation::new(&Config::larmo(1_460), RTT, 20, |sending, number| {
        number == 0 && !sending.is_retransmission
    });
    simulation.recovery.window.set_cwnd(10);
    simulation.run();
    assert_eq!(simulation.retransmissions(), [(20_000, 0)]);
}

#[test]
fn partial_acknowledgments_mend_one_loss_a_round_trip() {
    let mut simulation = Simulation::new(&Config::larmo(1_460), RTT, 10, |sending, _| {
        !sending.is_retransmission && [0, 2, 4].contains(&sending.segment)
    });
    simulation.recovery.window.set_cwnd(10);
    simulation.run();
    // RFC 6582, section 3.2, step 3.
    assert_eq!(
        simulation.retransmissions(),
        [(20_000, 0), (40_000, 2), (60_000, 4)]
    );
}

#[test]
fn an_end_gives_up_after_fifteen_minutes() {
    let mut simulation = Simulation::new(&linux(), RTT, 1, |_, _| true);
    let end = simulation.run();
    assert!(simulation.gave_up);
    // Linux: the first time-out at least 924.6 s after the first retransmission.
    assert!((924_600_000..1_050_000_000).contains(&end), "{end}");
}

#[test]
fn a_standard_end_gives_up_after_fifteen_retransmissions() {
    let mut simulation = Simulation::new(&Config::larmo(1_460), RTT, 1, |_, _| true);
    simulation.run();
    assert!(simulation.gave_up);
    assert_eq!(simulation.retransmissions().len(), 15);
}
