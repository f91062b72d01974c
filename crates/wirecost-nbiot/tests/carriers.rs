//! Carriers beside the anchor: they have no broadcast, random accesses of their own, and connections in common.

use std::time::Duration;

use wirecost_nbiot::{AirEvent, Config, Gains, LossCause, Network, Packet, UeId};
use wirecost_proto::{Direction, Instant};

/// Several blocks, so that broadcast comes between them.
const REPORT: Packet = Packet {
    token: 1,
    bytes: 1_000,
};

/// One cell without errors.
fn cell(carriers: u16) -> Config {
    let mut config = Config::quiet_cell();
    config.scenario.carriers = carriers;
    config
}

/// Offers the report of one device of this number at a coupling loss of 100 dB.
fn report(network: &mut Network, device: u64, at: Instant) -> UeId {
    let ue = network.arrive_with(device, Gains::fixed(&[-100.0]), at);
    network.offer(ue, Direction::Up, REPORT, at);
    ue
}

/// The chance that one of n preambles on 12 subcarriers of each of c carriers meets no other is (1 - 1 / (12 c))^(n-1).
#[test]
fn preambles_on_different_carriers_do_not_collide() {
    const DEVICES: u64 = 12;
    for carriers in [2, 4] {
        let mut network = Network::new(&cell(carriers), 1).unwrap();
        let (mut collisions, mut preambles) = (0.0, 0.0);
        for occasion in 0..600 {
            let at = Instant::from_millis(320 * occasion);
            let arrive = |index| report(&mut network, occasion * DEVICES + index, at);
            let all: Vec<UeId> = (0..DEVICES).map(arrive).collect();
            // Occasions start at 256 ms in each period of 320 ms and last 7 ms.
            let end = at + Duration::from_millis(265);
            network.advance(end, &mut |_| {});
            for ue in all {
                let facts = network.remove(ue, end).unwrap();
                collisions += f64::from(facts.collisions);
                preambles += f64::from(facts.preambles);
            }
        }
        let share = collisions / preambles;
        let expected = 1.0 - (1.0 - 1.0 / (12.0 * f64::from(carriers))).powi(DEVICES as i32 - 1);
        // Preambles of one occasion are not independent: five standard errors, with the occasions as samples.
        let tolerance = 5.0 * (expected * (1.0 - expected) / 600.0).sqrt();
        assert!(
            (share - expected).abs() < tolerance,
            "{carriers}: {share} instead of {expected}"
        );
    }
}

/// When the report of a device that is alone has crossed the air.
fn delivered(config: &Config, device: u64) -> Option<Instant> {
    let mut network = Network::new(config, 1).unwrap();
    report(&mut network, device, Instant::START);
    let mut found = None;
    network.advance(Instant::from_millis(30_000), &mut |event| {
        if let AirEvent::Delivered { at, .. } = event {
            found = Some(at);
        }
    });
    found
}

#[test]
fn a_carrier_beside_the_anchor_has_no_broadcast() {
    const DEVICES: u64 = 100;
    let mut both = cell(2);
    both.downlink = Config::default().downlink;
    let anchor = Config {
        scenario: cell(1).scenario,
        ..both.clone()
    };
    let (on_anchor, beside) = (delivered(&anchor, 0), delivered(&cell(1), 0));
    assert!(beside.is_some() && beside < on_anchor, "broadcast delays blocks");
    let times: Vec<_> = (0..DEVICES).map(|device| delivered(&both, device)).collect();
    assert!(
        times.iter().all(|time| [on_anchor, beside].contains(time)),
        "{times:?}"
    );
    let share = times.iter().filter(|time| **time == on_anchor).count() as f64 / DEVICES as f64;
    assert!(
        (share - 0.5).abs() < 5.0 * (0.25 / DEVICES as f64).sqrt(),
        "{share}"
    );
    let until = Instant::from_millis(51_200);
    let facts = |config: &Config| Network::new(config, 1).unwrap().cell_facts(0, until);
    let (both, anchor) = (facts(&both), facts(&anchor));
    let beside = both.downlink_available - anchor.downlink_available;
    assert_eq!(beside, Duration::from_millis(51_200), "every subframe is usable");
    assert_eq!(both.dci_available, anchor.dci_available.map(|dcis| 2 * dcis));
    assert_eq!(both.uplink_available, 2 * anchor.uplink_available);
}

#[test]
fn connections_are_those_of_the_cell_and_not_of_a_carrier() {
    let mut config = cell(2);
    config.rrc.max_connections = 1;
    for pair in 0..20 {
        let mut network = Network::new(&config, 1).unwrap();
        // The connection of the first one lasts for more than the second of inactivity.
        report(&mut network, 2 * pair, Instant::START);
        let later = Instant::from_millis(500);
        network.advance(later, &mut |_| {});
        let second = report(&mut network, 2 * pair + 1, later);
        let mut causes = Vec::new();
        network.advance(Instant::from_millis(30_000), &mut |event| {
            if let AirEvent::Lost { ue, cause, .. } = event {
                causes.push((ue, cause));
            }
        });
        assert_eq!(causes, [(second, LossCause::Rejected)], "{pair}");
    }
}
