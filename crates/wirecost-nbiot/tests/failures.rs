//! Failures as plain probabilities, and the timers and removals of the published study.

use wirecost_nbiot::config::Flow;
use wirecost_nbiot::{AirEvent, Config, Gains, LossCause, Network, Packet, UeFacts};
use wirecost_proto::{Direction, Instant};

/// Devices that follow one another in a cell, each alone in it.
const DEVICES: u64 = 1_000;

/// The reports of devices at a coupling loss of 110 dB, each with what happened to it in the minute after the one before it.
fn reports(config: &Config) -> Vec<(UeFacts, Vec<AirEvent>)> {
    let mut network = Network::new(config, 7).expect("a network");
    let minute = |number: u64| Instant::from_millis(number * 81_920);
    let each = (0..DEVICES).map(|number| {
        let (begin, end) = (minute(number), minute(number + 1));
        let ue = network.arrive_with(number, Gains::fixed(&[-110.0]), begin);
        network.offer(ue, Direction::Up, Packet { token: 1, bytes: 58 }, begin);
        let mut events = Vec::new();
        network.advance(end, &mut |event| events.push(event));
        (network.remove(ue, end).expect("a device"), events)
    });
    each.collect()
}

fn is_delivered(events: &[AirEvent]) -> bool {
    events
        .iter()
        .any(|event| matches!(event, AirEvent::Delivered { token: 1, .. }))
}

fn mean_preambles(config: &Config) -> f64 {
    let sum: u32 = reports(config).iter().map(|(facts, _)| facts.preambles).sum();
    f64::from(sum) / DEVICES as f64
}

/// A cell without errors, where an access goes on for as long as it takes.
fn cell() -> Config {
    let mut config = Config::quiet_cell();
    config.random_access.ideal_detection = false;
    config.random_access.give_up_ms = 60_000;
    config.random_access.failure = Some(0.0);
    config.npdcch.failure = Some(0.0);
    config
}

#[test]
fn preambles_per_access_are_geometric_in_their_probability_of_failure() {
    let mut config = cell();
    // One block in a thousand fails by its SNR.
    assert!(mean_preambles(&config) < 1.004);
    for failure in [0.2, 0.5] {
        config.random_access.failure = Some(failure);
        let (mean, expected) = (mean_preambles(&config), 1.0 / (1.0 - failure));
        // The deviation of a geometric number is sqrt(p) / (1 - p).
        let error = failure.sqrt() / (1.0 - failure) / (DEVICES as f64).sqrt();
        assert!(
            (mean - expected).abs() < 5.0 * error,
            "{mean} against {expected} +- {error}"
        );
    }
}

#[test]
fn a_lost_dci_costs_a_preamble_where_it_carries_the_response_or_is_lost_four_times() {
    let mut config = cell();
    let failure = 0.4_f64;
    config.npdcch.failure = Some(failure);
    // The DCI of the response is sent once, that of Msg4 four times at most.
    let success = (1.0 - failure) * (1.0 - failure.powi(i32::from(config.link.max_harq_tx)));
    let (mean, expected) = (mean_preambles(&config), 1.0 / success);
    let error = (1.0 - success).sqrt() / success / (DEVICES as f64).sqrt();
    assert!(
        (mean - expected).abs() < 5.0 * error,
        "{mean} against {expected} +- {error}"
    );
}

#[test]
fn an_access_that_outlasts_the_connection_timer_loses_its_packet() {
    let mut config = cell();
    // A preamble that fails is followed by the next one: with back-off 0 the timer allows for a number of them.
    config.random_access.failure = Some(0.5);
    config.random_access.backoff_ms = 0;
    config.rrc.connection_timer_ms = Some(1_000);
    let all = reports(&config);
    let mut lost = 0;
    for (number, (_, events)) in (0..).zip(&all) {
        let at = events.iter().find_map(|event| match event {
            AirEvent::Lost {
                at,
                cause: LossCause::NoAccess,
                ..
            } => Some(*at),
            _ => None,
        });
        assert!(
            at.is_none_or(|at| at == Instant::from_millis(number * 81_920 + 1_000)),
            "{at:?}"
        );
        assert_ne!(at.is_some(), is_delivered(events));
        lost += u64::from(at.is_some());
    }
    // Occasions are at 256, 576 and 896 ms: what fails twice may still be connected by the third one.
    let share = lost as f64 / DEVICES as f64;
    assert!((0.1..=0.3).contains(&share), "{share}");
}

#[test]
fn a_device_that_is_removed_later_is_not_released_meanwhile() {
    for removal_ms in [None, Some(500)] {
        let mut config = cell();
        config.rrc.flow = Flow::Setup;
        config.rrc.removal_ms = removal_ms;
        for (_, events) in reports(&config).iter().take(50) {
            let releases = events
                .iter()
                .filter(|event| matches!(event, AirEvent::Released { .. }));
            assert!(is_delivered(events));
            assert_eq!(releases.count(), usize::from(removal_ms.is_none()));
        }
    }
}
