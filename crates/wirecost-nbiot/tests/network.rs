//! The network as a whole: its invariants, and figures against closed forms and published ones.

#[allow(dead_code, reason = "the bench uses more of it")]
mod traffic;

use std::collections::BTreeMap;
use std::time::Duration;

use traffic::{Exchange, FOUR_PACKETS, REPORT, Traffic};
use wirecost_nbiot::config::{Flow, ReleaseAssistance};
use wirecost_nbiot::{
    AirEvent, Config, Gains, LossCause, Message, Network, Packet, RrcState, Transmission, UeFacts, UeId,
};
use wirecost_proto::{Direction, Instant};

fn packet(token: u64, bytes: u32) -> Packet {
    Packet { token, bytes }
}

fn seconds(seconds: u64) -> Instant {
    Instant::from_millis(seconds * 1_000)
}

/// Lets time go on until nothing happens any more, `until` at the latest; returns what happened.
fn run(network: &mut Network, until: Instant) -> Vec<AirEvent> {
    let mut events = Vec::new();
    while let Some(next) = network.next_event().filter(|next| *next <= until) {
        network.advance(next, &mut |event| events.push(event));
    }
    events
}

/// A device with this path gain in a network of one cell.
fn device(network: &mut Network, gain_db: f64) -> UeId {
    network.arrive_with(0, Gains::fixed(&[gain_db]), Instant::START)
}

fn delivered(events: &[AirEvent]) -> Vec<(Direction, u64, u64)> {
    let delivered = events.iter().filter_map(|event| match event {
        AirEvent::Delivered {
            direction, token, at, ..
        } => Some((*direction, *token, at.as_nanos() / 1_000_000)),
        _ => None,
    });
    delivered.collect()
}

/// One uplink report of a device that is alone; returns its facts, the events, and the DCIs of the cell.
fn lone_report(config: &Config, gain_db: f64, bytes: u32) -> (UeFacts, Vec<AirEvent>, u64) {
    let mut network = Network::new(config, 1).unwrap();
    let ue = device(&mut network, gain_db);
    network.offer(ue, Direction::Up, packet(1, bytes), Instant::START);
    let events = run(&mut network, seconds(120));
    let facts = network.ue_facts(ue, seconds(120)).unwrap();
    let dcis = network.cell_facts(0, seconds(120)).dci_used.iter().sum();
    assert_eq!(network.rrc_state(ue), Some(RrcState::Idle));
    (facts, events, dcis)
}

/// LENA-NB's example: one cell of 1,250 m radius, outdoors; 49 B of payload in UDP and IP.
#[test]
fn latency_of_one_unloaded_cell_is_that_of_lena_nb() {
    let mut config = Config::profile("vodafone").unwrap();
    config.scenario.n_sites = 1;
    config.scenario.sectors_per_site = 1;
    config.scenario.isd_m = 1_250.0 * 3.0_f64.sqrt();
    config.radio.indoor_loss_db = 0.0;
    let mut network = Network::new(&config, 3).unwrap();
    let result = traffic::run(&mut network, &traffic(&[(Direction::Up, 77)], 1.0, 400));
    assert_eq!(result.served, result.devices);
    let mean = result.delays_ms.iter().sum::<f64>() / result.delays_ms.len() as f64;
    assert!((mean / 238.0 - 1.0).abs() < 0.25, "{mean} ms instead of 238 ms");
}

fn traffic(exchange: Exchange, rate: f64, seconds: u64) -> Traffic {
    Traffic {
        exchange,
        rate,
        arrivals: Duration::from_secs(seconds),
        seed: 3,
    }
}

#[test]
fn every_packet_is_delivered_lost_or_held() {
    for (flow, load) in [
        (Flow::Resume, 3.0),
        (Flow::Setup, 2.0),
        (Flow::ControlPlane, 2.0),
        (Flow::EarlyData, 2.0),
        (Flow::Preconfigured, 2.0),
    ] {
        let mut config = Config::default();
        config.rrc.flow = flow;
        let mut network = Network::new(&config, 4).unwrap();
        let result = traffic::run(&mut network, &traffic(FOUR_PACKETS, load * 21.0, 8));
        assert_eq!(
            result.offered,
            result.delivered + result.lost + result.held,
            "{flow:?}"
        );
        assert_eq!(network.devices(), 0);
        assert!(
            result.served * 100 > result.devices * 95,
            "{flow:?}: {} of {}",
            result.served,
            result.devices
        );
        // Time in states adds up to no more than the time in the network.
        let worst = result
            .facts
            .iter()
            .map(|facts| facts.states.transmit + facts.states.receive)
            .max()
            .unwrap();
        assert!(worst < Duration::from_secs(61), "{worst:?}");
    }
}

/// Weak codes, few retransmissions and too much traffic: everything that can fail does.
#[test]
fn packets_are_accounted_for_where_links_fail() {
    let mut config = Config::default();
    config.link.margin_db = 0.0;
    config.link.outer_loop_step_db = 0.0;
    config.link.bler_target = 0.8;
    config.link.npdcch_bler_target = 0.5;
    config.link.max_harq_tx = 1;
    config.rlc.max_retransmissions = 1;
    config.rrc.max_connections = 3;
    config.random_access.give_up_ms = 5_000;
    config.random_access.capture_db = Some(3.0);
    for flow in [Flow::Resume, Flow::Setup, Flow::EarlyData, Flow::Preconfigured] {
        config.rrc.flow = flow;
        let mut network = Network::new(&config, 4).unwrap();
        let result = traffic::run(&mut network, &traffic(FOUR_PACKETS, 60.0, 6));
        assert_eq!(
            result.offered,
            result.delivered + result.lost + result.held,
            "{flow:?}"
        );
        assert!(
            result.lost > 10 && result.served > 10,
            "{flow:?}: {} lost, {} served",
            result.lost,
            result.served
        );
    }
}

/// A device has one radio and one HARQ process: what it sends and what it receives follow one another.
#[test]
fn transmissions_of_a_device_never_overlap() {
    let mut config = Config::default();
    assert!(transmissions(&config, 150) > 60 * 15);
    config.rrc.flow = Flow::Preconfigured;
    assert!(transmissions(&config, 50) > 60 * 5);
}

/// The number of transmissions of 60 devices with two packets each way; checks that those of a device follow one another.
fn transmissions(config: &Config, bytes: u32) -> usize {
    let mut network = Network::new(config, 5).unwrap();
    let mut last = BTreeMap::new();
    let mut count = 0;
    for index in 0..60 {
        let ue = network.arrive(index, Instant::START);
        network.record(ue);
        for token in 0..4 {
            let direction = Direction::ALL[token as usize % 2];
            network.offer(ue, direction, packet(token, bytes), Instant::START);
        }
    }
    for event in run(&mut network, seconds(60)) {
        let AirEvent::Transmission(transmission) = event else {
            continue;
        };
        assert!(transmission.start < transmission.end, "{transmission:?}");
        if let Some(before) = last.insert(transmission.ue, transmission) {
            let before: Transmission = before;
            assert!(before.end <= transmission.start, "{before:?} {transmission:?}");
        }
        count += 1;
    }
    count
}

#[test]
fn a_network_can_go_to_another_thread() {
    fn is_send<T: Send>(_: &T) -> bool {
        true
    }
    assert!(is_send(&Network::new(&Config::default(), 1).unwrap()));
}

#[test]
fn the_same_seed_gives_the_same_events() {
    let hash = |seed: u64| {
        let mut network = Network::new(&Config::default(), seed).unwrap();
        traffic::run(&mut network, &traffic(FOUR_PACKETS, 42.0, 4)).hash
    };
    assert_eq!(hash(5), hash(5));
    assert_ne!(hash(5), hash(6));
}

#[test]
fn a_device_does_not_depend_on_the_order_of_arrivals() {
    let config = Config::default();
    let outcome = |order: &[u64]| {
        let mut network = Network::new(&config, 8).unwrap();
        let mut found = None;
        for (rank, index) in order.iter().enumerate() {
            // Devices are alone: 100 s apart.
            let at = seconds(100 * rank as u64);
            run(&mut network, at);
            let ue = network.arrive(*index, at);
            network.offer(ue, Direction::Up, packet(*index, 58), at);
            if *index == 2 {
                found = Some((ue, at));
            }
        }
        let (ue, _) = found.unwrap();
        network.gains(ue).unwrap().clone()
    };
    let (first, second) = (outcome(&[1, 2, 3]), outcome(&[3, 2, 9, 1]));
    assert_eq!(first.linear, second.linear);
    assert_eq!(first.place, second.place);
}

/// The chance that one of n preambles on 12 subcarriers meets no other is (11/12)^(n-1).
#[test]
fn preambles_collide_as_in_slotted_aloha() {
    let config = Config::quiet_cell();
    for n in [2, 5, 12] {
        let (mut collisions, mut preambles) = (0.0, 0.0);
        let mut network = Network::new(&config, 1).unwrap();
        let gains = Gains::fixed(&[-100.0]);
        for occasion in 0..600 {
            let at = Instant::from_millis(320 * occasion);
            let arrive = |index| network.arrive_with(occasion * 12 + index, gains.clone(), at);
            let all: Vec<UeId> = (0..n).map(arrive).collect();
            for ue in &all {
                network.offer(*ue, Direction::Up, packet(1, 58), at);
            }
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
        let expected = 1.0 - (11.0_f64 / 12.0).powi(n as i32 - 1);
        // Preambles of one occasion are not independent: five standard errors, with the occasions as samples.
        let tolerance = 5.0 * (expected * (1.0 - expected) / 600.0).sqrt();
        assert!(
            (share - expected).abs() < tolerance,
            "{n}: {share} instead of {expected}"
        );
    }
}

#[test]
fn one_report_takes_six_dcis_with_resume_and_eight_with_setup() {
    let mut config = Config::quiet_cell();
    let (facts, events, dcis) = lone_report(&config, -110.0, 58);
    assert_eq!(
        (
            dcis,
            facts.preambles,
            facts.connections,
            facts.harq_retransmissions
        ),
        (6, 1, 1, 0)
    );
    assert!(matches!(events.last(), Some(AirEvent::Released { .. })));
    config.rrc.flow = Flow::Setup;
    assert_eq!(lone_report(&config, -110.0, 58).2, 8);
    config.rrc.flow = Flow::ControlPlane;
    assert_eq!(lone_report(&config, -110.0, 58).2, 6);
    config.rrc.flow = Flow::EarlyData;
    let (facts, events, dcis) = lone_report(&config, -110.0, 58);
    assert_eq!((dcis, facts.connections, delivered(&events).len()), (2, 0, 1));
}

/// The times of one report by hand, in an empty cell where nothing fails.
#[test]
fn the_parts_of_one_report_add_up() {
    let config = Config::quiet_cell();
    let (facts, events, _) = lone_report(&config, -100.0, 58);
    // Preamble 256 to 263; window from 267; search space 272; DCI 272, response 277 to 278; Msg3 after 12 subframes from 290 to 294 on
    // three tones, because NPRACH of level 2 is on the air until 461; monitoring from 297; search space 304; DCI 304, Msg4 309 to 310;
    // HARQ-ACK 322 to 324; monitoring from 327; search space 336; DCI 336, Msg5 and data (776 bits) 345 to 361 on three tones.
    let connected = events.iter().find_map(|event| match event {
        AirEvent::Connected { at, .. } => Some(at.as_nanos() / 1_000_000),
        _ => None,
    });
    assert_eq!(connected, Some(310));
    let (_, _, at) = delivered(&events)[0];
    assert_eq!(at, 361, "{facts:?}");
    let total =
        facts.states.transmit + facts.states.receive + facts.states.monitor + facts.states.idle_connected;
    let released = match events.last() {
        Some(AirEvent::Released { at, .. }) => at.saturating_since(Instant::START),
        _ => Duration::ZERO,
    };
    assert_eq!(total, released);
}

#[test]
fn a_saturated_uplink_carries_62_5_kbit_per_s() {
    let mut config = Config::quiet_cell();
    config.levels.ce0.npdcch_rmax = 1;
    config.levels.ce0.npdcch_g = 4.0;
    for level in [
        &mut config.levels.ce0,
        &mut config.levels.ce1,
        &mut config.levels.ce2,
    ] {
        level.nprach_period_ms = 2_560;
        level.nprach_repetitions = 1;
    }
    let mut network = Network::new(&config, 1).unwrap();
    let ue = device(&mut network, -90.0);
    for token in 0..100 {
        network.offer(ue, Direction::Up, packet(token, 1_000), Instant::START);
    }
    let events = run(&mut network, seconds(100));
    let delivered = delivered(&events);
    let span = delivered[99].2 - delivered[9].2;
    let rate = 90.0 * 8_000.0 / span as f64;
    // Blocks of 1,000 bits every 16 ms are 62.5 kbit/s; headers take 4 or 5 of 125 bytes.
    assert!((62.5 * 0.94..62.5 * 0.97).contains(&rate), "{rate} kbit/s");
}

#[test]
fn a_device_out_of_reach_gives_up_and_loses_its_packet() {
    let mut config = Config::quiet_cell();
    config.random_access.ideal_detection = false;
    let (facts, events, _) = lone_report(&config, -190.0, 58);
    let lost = events.iter().any(|event| {
        matches!(
            event,
            AirEvent::Lost {
                cause: LossCause::NoAccess,
                token: 1,
                ..
            }
        )
    });
    assert!(lost, "{events:?}");
    assert_eq!(facts.coverage_level, 2);
    // A response window of level 2 is 16 s long.
    assert!(facts.preambles > 2);
}

#[test]
fn a_full_cell_rejects() {
    let mut config = Config::quiet_cell();
    config.rrc.max_connections = 1;
    let mut network = Network::new(&config, 1).unwrap();
    let gains = Gains::fixed(&[-100.0]);
    for index in 0..2 {
        let ue = network.arrive_with(index, gains.clone(), Instant::START);
        network.offer(ue, Direction::Up, packet(index, 58), Instant::START);
    }
    let events = run(&mut network, seconds(60));
    let lost = events.iter().filter(|event| {
        matches!(
            event,
            AirEvent::Lost {
                cause: LossCause::Rejected,
                ..
            }
        )
    });
    assert_eq!((lost.count(), delivered(&events).len()), (1, 1));
}

#[test]
fn an_idle_device_is_paged_for_a_downlink_packet() {
    let mut network = Network::new(&Config::quiet_cell(), 1).unwrap();
    let ue = device(&mut network, -100.0);
    network.offer(ue, Direction::Down, packet(9, 200), Instant::START);
    let events = run(&mut network, seconds(60));
    let [(direction, token, at)] = delivered(&events)[..] else {
        panic!("{events:?}");
    };
    assert_eq!((direction, token), (Direction::Down, 9));
    assert!(at < 2_560 + 1_000, "{at}");
}

/// Answers 10 ms after each uplink packet, for `exchanges` exchanges; returns the number of DCIs and preambles.
fn exchanges(config: &Config, exchanges: u64) -> (u64, u32, u64) {
    let mut network = Network::new(config, 1).unwrap();
    let ue = device(&mut network, -100.0);
    network.offer(ue, Direction::Up, packet(0, 60), Instant::START);
    let mut last = 0;
    let mut released = 0;
    while let Some(next) = network.next_event() {
        let mut events = Vec::new();
        network.advance(next, &mut |event| events.push(event));
        for event in events {
            match event {
                AirEvent::Delivered {
                    direction, token, at, ..
                } => {
                    last = at.as_nanos() / 1_000_000;
                    if direction == Direction::Up {
                        network.offer(
                            ue,
                            Direction::Down,
                            packet(token, 60),
                            at + Duration::from_millis(10),
                        );
                    } else if token + 1 < exchanges {
                        network.offer(ue, Direction::Up, packet(token + 1, 60), at);
                    }
                }
                AirEvent::Released { at, .. } => released = at.as_nanos() / 1_000_000,
                _ => {}
            }
        }
    }
    let preambles = network.ue_facts(ue, seconds(60)).unwrap().preambles;
    (last, preambles, released)
}

#[test]
fn without_proactive_grants_every_answer_costs_a_random_access() {
    let mut config = Config::quiet_cell();
    let (fast, preambles, _) = exchanges(&config, 3);
    assert_eq!(preambles, 1);
    config.mac.ul_grant_after_dl = false;
    let (slow, preambles, _) = exchanges(&config, 3);
    assert!(preambles >= 3, "{preambles}");
    assert!(slow > fast + 300, "{fast} and {slow} ms");
}

#[test]
fn release_assistance_ends_the_connection_at_once() {
    let mut config = Config::quiet_cell();
    let (last, _, released) = exchanges(&config, 1);
    assert!(released >= last + 1_000, "{last} and {released}");
    config.rrc.release_assistance = ReleaseAssistance::OneDownlink;
    let (last, _, released) = exchanges(&config, 1);
    assert!(released <= last + 150, "{last} and {released}");
    config.rrc.release_assistance = ReleaseAssistance::NoFurtherData;
    let (_, events, dcis) = lone_report(&config, -100.0, 58);
    // The status report and the release share a block.
    assert_eq!((dcis, delivered(&events).len()), (5, 1));
}

#[test]
fn early_data_takes_the_answer_in_msg4() {
    let mut config = Config::quiet_cell();
    config.rrc.flow = Flow::EarlyData;
    let mut network = Network::new(&config, 1).unwrap();
    let ue = device(&mut network, -100.0);
    network.offer(ue, Direction::Up, packet(1, 58), Instant::START);
    let mut seen = Vec::new();
    while let Some(next) = network.next_event() {
        let mut events = Vec::new();
        network.advance(next, &mut |event| events.push(event));
        for event in events {
            if let AirEvent::Delivered {
                direction: Direction::Up,
                at,
                ..
            } = event
            {
                network.offer(ue, Direction::Down, packet(2, 40), at + Duration::from_millis(8));
            }
            seen.push(event);
        }
    }
    let order: Vec<u64> = delivered(&seen).iter().map(|(_, token, _)| *token).collect();
    assert_eq!(order, [1, 2]);
    let facts = network.ue_facts(ue, seconds(60)).unwrap();
    assert_eq!((facts.connections, facts.preambles), (0, 1));
    // What does not fit takes a connection.
    let (facts, events, _) = lone_report(&config, -100.0, 400);
    assert_eq!((facts.connections, delivered(&events).len()), (1, 1));
}

#[test]
fn weak_devices_repeat_more_and_take_longer() {
    let mut config = Config::default();
    config.scenario.n_sites = 1;
    config.scenario.sectors_per_site = 1;
    let reports = |gain_db: f64| {
        let mut network = Network::new(&config, 2).unwrap();
        let (mut delays, mut airtime) = (Vec::new(), Duration::ZERO);
        for index in 0..10 {
            let at = seconds(index * 200);
            let ue = network.arrive_with(index, Gains::fixed(&[gain_db]), at);
            network.offer(ue, Direction::Up, packet(index, 58), at);
            let events = run(&mut network, at + Duration::from_secs(150));
            delays.extend(delivered(&events).iter().map(|(_, _, ms)| ms - 200_000 * index));
            airtime += network
                .remove(ue, at + Duration::from_secs(150))
                .unwrap()
                .airtime
                .npusch_data;
        }
        delays.sort_unstable();
        (delays.len(), delays[delays.len() / 2], airtime)
    };
    let (near, far) = (reports(-130.0), reports(-155.0));
    assert_eq!((near.0, far.0), (10, 10));
    assert!(far.1 > near.1 && far.2 > near.2, "{near:?} {far:?}");
}

#[test]
fn a_recorded_device_tells_its_message_sequence() {
    let mut network = Network::new(&Config::quiet_cell(), 1).unwrap();
    let ue = device(&mut network, -100.0);
    network.record(ue);
    network.offer(ue, Direction::Up, packet(1, 58), Instant::START);
    let events = run(&mut network, seconds(1));
    let sequence: Vec<Message> = events
        .iter()
        .filter_map(|event| match event {
            AirEvent::Transmission(transmission) => Some(transmission.message),
            _ => None,
        })
        .collect();
    use Message::{Assignment, Data, HarqAck, Msg3, Msg4, Preamble, RandomAccessResponse, UplinkGrant};
    let report = [
        Preamble,
        Assignment,
        RandomAccessResponse,
        Msg3,
        Assignment,
        Msg4,
        HarqAck,
        UplinkGrant,
        Data,
        Assignment,
        Data,
        HarqAck,
    ];
    assert_eq!(sequence, report);
}

#[test]
fn removed_devices_leave_nothing() {
    let mut network = Network::new(&Config::default(), 4).unwrap();
    let result = traffic::run(&mut network, &traffic(REPORT, 42.0, 10));
    run(&mut network, seconds(1_000));
    assert_eq!((network.devices(), network.next_event()), (0, None));
    assert!(result.served > 300);
}
