use proptest::prelude::*;
use wirecost_energy::device::Level;
use wirecost_energy::radio::Cellular;
use wirecost_energy::{Device, Part, Radio, State};
use wirecost_nbiot::Config;
use wirecost_nbiot::config::IdleMode;
use wirecost_proto::Direction;

use super::*;

const MODES: [IdleMode; 4] = [IdleMode::Ideal, IdleMode::Drx, IdleMode::Edrx, IdleMode::Psm];
const DAY: Duration = Duration::from_secs(86_400);
const SECOND_NS: u64 = 1_000_000_000;

/// A device of 1 W for each state from idle on up, and a milliwatt of sleep.
fn device() -> Device {
    let levels = [0.001, 1.0, 2.0, 3.0, 4.0, 5.0];
    let level = |watts| Level { watts, spread: 0.0 };
    Device {
        name: "test".to_owned(),
        title: String::new(),
        chip: None,
        volts: 3.6,
        levels: levels.map(level),
        rest: State::Sleep,
        paging: None,
        wake: None,
        tails: Vec::new(),
        updates: None,
        attach: None,
        window_listen: None,
        cdrx_listen: None,
        transmitter: None,
        processor: None,
        radio: Radio::Cellular(Cellular {
            up: "100kbit".parse().expect("a rate"),
            down: "100kbit".parse().expect("a rate"),
            link_bytes: 0,
            grant: Duration::ZERO,
        }),
        provenance: Vec::new(),
    }
}

fn shapes() -> Vec<Shape> {
    let shape = |phase| (Direction::Up, phase, Cause::Original, Vec::new());
    [Phase::Connect, Phase::Message, Phase::KeepAlive]
        .map(shape)
        .into()
}

/// A connection of 10 s: 1 s, 2 s, 3 s and 4 s in its states.
fn connection(ended_s: u64) -> AirConnection {
    AirConnection {
        ended_ns: ended_s * SECOND_NS,
        transmit_ns: SECOND_NS,
        receive_ns: 2 * SECOND_NS,
        monitor_ns: 3 * SECOND_NS,
        wait_ns: 4 * SECOND_NS,
    }
}

fn account_for(seen: &DeviceTraffic, mode: IdleMode, until: (Duration, Until)) -> Option<Account> {
    let mut config = Config::default();
    config.idle.mode = mode;
    let device = device();
    let in_cell = InCell {
        device: &device,
        config: &config,
    };
    account(&in_cell, seen, &shapes(), until)
}

#[test]
fn a_life_is_its_connections_with_synchronisation_and_sleep() {
    let seen = DeviceTraffic {
        packets: vec![(SECOND_NS, 0), (500 * SECOND_NS, 1), (900 * SECOND_NS, 2)],
        air: vec![connection(11), connection(510), connection(910)],
        ..DeviceTraffic::default()
    };
    let life = account_for(&seen, IdleMode::Ideal, (DAY, Until::Next)).expect("times");
    let [connect, message, keep_alive] = [Phase::Connect, Phase::Message, Phase::KeepAlive]
        .map(|phase| life.purposes().of_phase(phase).joules);
    // 4 J + 2 x 3 J + 3 x 2 J + 4 x 1 J, and 0.1 s at 2 W.
    for of_phase in [connect, message, keep_alive] {
        assert!((of_phase - 20.2).abs() < 1e-9, "{of_phase}");
    }
    let rest = life.purposes().of_part(Part::Rest).joules;
    assert!((rest - (86_400.0 - 30.3) * 0.001).abs() < 1e-6, "{rest}");
    let session = account_for(&seen, IdleMode::Ideal, (DAY, Until::Close)).expect("times");
    let rest = session.purposes().of_part(Part::Rest).joules;
    assert!((rest - (489.0 + 390.0 - 0.2) * 0.001).abs() < 1e-6, "{rest}");
}

#[test]
fn connections_before_the_first_packet_do_not_count() {
    let mut seen = DeviceTraffic {
        packets: vec![(100 * SECOND_NS, 1)],
        air: vec![connection(110)],
        ..DeviceTraffic::default()
    };
    let alone = account_for(&seen, IdleMode::Psm, (DAY, Until::Next));
    seen.air.insert(0, connection(20));
    assert_eq!(account_for(&seen, IdleMode::Psm, (DAY, Until::Next)), alone);
    seen.air.clear();
    assert_eq!(account_for(&seen, IdleMode::Psm, (DAY, Until::Next)), None);
}

#[test]
fn a_device_that_is_silent_for_long_makes_updates() {
    let seen = DeviceTraffic {
        packets: vec![(0, 1)],
        air: vec![connection(10)],
        ..DeviceTraffic::default()
    };
    let link = |mode, every| {
        let life = account_for(&seen, mode, (every, Until::Next)).expect("times");
        life.purposes().of_part(Part::Link).joules
    };
    assert!((link(IdleMode::Drx, DAY) - 20.0).abs() < 1e-9);
    assert!((link(IdleMode::Drx, 3 * DAY) - 60.0).abs() < 1e-9);
    assert!((link(IdleMode::Ideal, 3 * DAY) - 20.0).abs() < 1e-9);
}

proptest! {
    #[test]
    fn the_times_sum_to_the_time_until_the_next_life(
        gaps in prop::collection::vec(12..5_000_u64, 1..8),
        mode in 0..MODES.len(),
        days in 1..4_u32,
    ) {
        let mut ended_s = 0;
        let air = gaps.iter().map(|gap| {
            ended_s += gap;
            connection(ended_s)
        });
        let seen = DeviceTraffic {
            packets: vec![(0, 1)],
            air: air.collect(),
            ..DeviceTraffic::default()
        };
        let life = account_for(&seen, MODES[mode], (DAY * days, Until::Next)).expect("times");
        let off = (seconds(&life) - (DAY * days).as_secs_f64()).abs();
        prop_assert!(off < 1e-6, "{off}");
    }
}
