//! Reductions that are taken back.

use super::*;
use crate::recovery::congestion::window::NO_THRESHOLD;

const RTT: Duration = Duration::from_millis(20);

/// Nothing arrives for 300 ms, and nothing is lost.
fn interrupted(sending: &Sending) -> u64 {
    ms(300).saturating_sub(sending.at)
}

#[test]
fn an_echo_of_the_first_transmission_takes_a_time_out_back() {
    let mut simulation = Simulation::new(&Config::linux(1_460), RTT, 5, |_, _| false).delaying(interrupted);
    simulation.run();
    // The probe for the last segment, then the time-out: 220.001 ms after the probe, 56 jiffies and one.
    assert_eq!(simulation.retransmissions(), [(48_000, 4), (276_000, 0)]);
    let recovery = &simulation.recovery;
    assert_eq!(
        (recovery.congestion_window(), recovery.slow_start_threshold()),
        (10, NO_THRESHOLD)
    );
    assert_eq!(recovery.state, State::Open);
}

#[test]
fn new_data_shows_a_spurious_time_out_without_timestamps() {
    let config = Config {
        timestamps: false,
        ..Config::linux(1_460)
    };
    // RFC 5682, section 3.1: data sent before the time-out is acknowledged that was not retransmitted. The probe was new data.
    let mut simulation = Simulation::new(&config, RTT, 40, |_, _| false).delaying(interrupted);
    simulation.run();
    assert_eq!(simulation.retransmissions(), [(276_000, 0)]);
    assert_eq!(simulation.recovery.slow_start_threshold(), NO_THRESHOLD);
}

#[test]
fn no_retransmission_within_the_reordering_window() {
    // Segment 3 is overtaken by two others only, and arrives within a quarter of the round trip.
    let mut simulation = Simulation::new(&Config::linux(1_460), RTT, 6, |_, _| false)
        .delaying(|sending| if sending.segment == 3 { ms(4) } else { 0 });
    simulation.run();
    assert_eq!(simulation.retransmissions(), []);
    assert!(simulation.recovery.rack.is_reordering_seen);
    assert_eq!(simulation.recovery.slow_start_threshold(), NO_THRESHOLD);
}

#[test]
fn duplicates_take_a_needless_recovery_back() {
    // Segment 3 is overtaken by six others: three are enough before reordering was seen.
    let mut simulation = Simulation::new(&Config::linux(1_460), RTT, 10, |_, _| false).delaying(|sending| {
        if sending.segment == 3 && !sending.is_retransmission {
            ms(4)
        } else {
            0
        }
    });
    simulation.run();
    assert_eq!(simulation.retransmissions(), [(20_000, 3)]);
    assert_eq!(
        simulation.recovery.slow_start_threshold(),
        NO_THRESHOLD,
        "RFC 3522: the echo shows it"
    );
    assert!(simulation.recovery.congestion_window() >= 10);
}
