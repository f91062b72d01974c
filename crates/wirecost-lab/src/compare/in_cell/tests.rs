//! One device in a modelled cell.

use wirecost_account::life;
use wirecost_energy::mean_power;
use wirecost_link::CellProfile;
use wirecost_proto::{Cause, Fate};
use wirecost_results::nbiot::DeviceMeans;
use wirecost_results::nbiot::sequence::AirTransmission;
use wirecost_results::summary::{Bytes, Cell, Section};
use wirecost_results::traffic::AirConnection;
use wirecost_scenario::options::compare::{Engine, Options, Schedule};
use wirecost_scenario::plan::Plan;
use wirecost_scenario::spent;

use super::*;
use crate::compare::fixture::options;
use crate::compare::simulated::{CellResult, simulate_cell};
use crate::nbiot::energy::{DEVICE as TR_45820, KeepAliveEnergy, Lifetime};

/// The delay of the internet behind the cell, each way.
const INTERNET: Duration = Duration::from_millis(4);

fn cell_link(load: f64) -> LinkConfig {
    link_at(120.0, load)
}

fn link_at(coupling_loss_db: f64, load: f64) -> LinkConfig {
    LinkConfig {
        cell: Some(NbiotCell {
            profile: CellProfile::Vodafone,
            load,
            coupling_loss_db,
        }),
        ..LinkConfig::symmetric(INTERNET * 2)
    }
}

fn simulated(stack: &str, link: LinkConfig, change: impl FnOnce(&mut Options)) -> CellResult {
    let mut options = options(&[stack]);
    options.engine = Engine::Sim;
    options.samples = 4;
    options.links = vec![link];
    change(&mut options);
    options.validate().expect("a comparison");
    simulate_cell(&options, &Plan::new(&options), 0).expect("a simulation")
}

/// The bytes of connect, messages and close, both directions.
fn bytes(cell: &Cell) -> [Option<[Bytes; 2]>; 3] {
    let ways = |section: &Option<Section>| {
        let section = section.as_ref()?;
        Some([section.up.clone(), section.down.clone()])
    };
    [&cell.connect, &cell.message, &cell.close].map(ways)
}

#[test]
fn bytes_in_the_unloaded_cell_are_those_of_an_emulated_link() {
    let emulated = || LinkConfig::symmetric(Duration::from_millis(25));
    for stack in [
        "coap-con",
        "coap-non",
        "coap-con+oscore",
        "coap-con+dtls1.2-psk",
        "tcp",
        "http1",
    ] {
        let [with, without] = [cell_link(0.0), emulated()].map(|link| simulated(stack, link, |_| {}).cell);
        assert!(with.all_arrived(), "{stack}: {:?}", with.warnings);
        assert_eq!(bytes(&with), bytes(&without), "{stack}");
    }
}

#[test]
fn timers_that_fire_add_retransmissions_and_nothing_new() {
    // Timers of TCP and DTLS begin with 1 s. A handshake with a certificate takes longer on this air.
    let mut far = cell_link(0.0);
    if let Some(cell) = &mut far.cell {
        cell.coupling_loss_db = 140.0;
    }
    for stack in ["mqtt-qos1+tls1.3", "coap-con+dtls1.3"] {
        let emulated = LinkConfig::symmetric(Duration::from_millis(25));
        let [with, without] = [far, emulated].map(|link| {
            let cell = simulated(stack, link, |_| {}).cell;
            cell.connect.expect("a connect").by_cause
        });
        assert_eq!(with["original"], without["original"], "{stack}");
        assert!(with["retransmission"].down > 0.0, "{stack}");
        assert_eq!(without["retransmission"].down, 0.0, "{stack}");
    }
}

/// The rows until the block that completes packet `packet` has ended.
fn until(air: &[AirTransmission], packet: &str) -> usize {
    let has_it = |on_air: &AirTransmission| {
        let names = on_air.packet.as_deref().unwrap_or_default();
        on_air.is_received && names.split(", ").any(|name| name.starts_with(packet))
    };
    air.iter().rposition(has_it).expect("a block of the packet")
}

#[test]
fn a_messages_time_is_the_sum_of_the_parts_on_the_air() {
    for (stack, last_packet, last_index, behind) in [
        // The acknowledgement ends at the device; a non-confirmable message crosses the internet last.
        ("coap-con", "2 ", 1, Duration::ZERO),
        ("coap-non", "1 ", 0, INTERNET),
    ] {
        let result = simulated(stack, cell_link(0.0), |_| {});
        let ladder = result.ladder.expect("a ladder");
        let last = until(&ladder.air, last_packet);
        let parts = ladder.air[..=last].iter();
        let sum_ms: f64 = parts.map(|on_air| on_air.waited_ms + on_air.duration_ms).sum();
        let delivered_ns = ladder.packets[last_index].delivered_ns.expect("delivered");
        let took_ms = (delivered_ns - ladder.packets[0].sent_ns) as f64 / 1e6;
        let behind_ms = behind.as_secs_f64() * 1e3;
        assert!(
            (sum_ms + behind_ms - took_ms).abs() < 1e-6,
            "{stack}: {sum_ms} + {behind_ms} is not {took_ms}"
        );
    }
}

#[test]
fn a_packet_arrives_when_its_last_block_has_ended() {
    let result = simulated("mqtt-qos1", cell_link(0.0), |_| {});
    assert!(result.packets.len() > 20);
    for packet in &result.packets {
        let (entered, air) = (packet.packet.entered, packet.air.expect("times on the air"));
        let (began, ended) = (air.began.expect("began"), air.ended.expect("ended"));
        let [before, behind] = match packet.packet.direction {
            Direction::Up => [Duration::ZERO, INTERNET],
            Direction::Down => [INTERNET, Duration::ZERO],
        };
        assert_eq!(packet.packet.fate, Fate::Delivered);
        assert_eq!(packet.delivered, Some(ended + behind));
        assert!(began >= entered + before, "{began:?}, {entered:?}");
    }
}

#[test]
fn a_step_begins_when_the_last_connection_has_ended() {
    let result = simulated("coap-con", cell_link(0.0), |_| {});
    let new = |packet: &&crate::compare::simulated::SimulatedPacket| {
        packet.packet.direction == Direction::Up && packet.cause == Cause::Original
    };
    let messages: Vec<_> = result.packets.iter().filter(new).collect();
    // Four devices send two messages each; the message after the warm-up pays for random access as well.
    assert_eq!(messages.len(), 8);
    for message in &messages {
        let waited = message.air.and_then(|air| air.began).expect("began");
        let waited = waited.saturating_since(message.packet.entered);
        assert!(waited > Duration::from_millis(90), "{waited:?}");
    }
    let times = result.cell.message.and_then(|section| section.response_time_ns);
    let times = times.expect("times");
    assert!(times.max > times.min, "messages meet NPRACH at different moments");
}

#[test]
fn other_devices_make_messages_wait() {
    let of = |load| {
        let result = simulated("coap-con", cell_link(load), |options| options.samples = 2);
        assert!(result.cell.all_arrived(), "{load}: {:?}", result.cell.warnings);
        let times = result.cell.message.and_then(|section| section.response_time_ns);
        times.expect("times").mean
    };
    let (alone, among_others) = (of(0.0), of(2.5));
    assert!(among_others > alone, "{among_others} is not above {alone}");
}

#[test]
fn a_cell_repeats_with_its_seed() {
    let json = || serde_json::to_string(&simulated("mqtt-qos1", cell_link(1.0), |_| {}).cell).expect("JSON");
    assert_eq!(json(), json());
}

#[test]
fn an_echo_from_idle_takes_longer_than_one_in_a_connection() {
    let figures = EchoFigures::from_link(&cell_link(0.0)).expect("a network");
    assert!(figures.connected_ms > 2 * 4, "{figures:?}");
    assert!(figures.idle_ms > figures.connected_ms + 50, "{figures:?}");
    let [idle, connected] = round_trips(&cell_link(0.0)).expect("a network");
    assert_eq!([idle.len(), connected.len()], [figures.echoes as usize; 2]);
}

#[test]
fn every_profile_of_a_link_is_one_of_the_model() {
    let names = CellProfile::ALL.map(CellProfile::name);
    for name in Config::PROFILES {
        assert!(names.contains(&name), "{name}");
    }
    for profile in CellProfile::ALL {
        let cell = NbiotCell {
            profile,
            load: 1.0,
            coupling_loss_db: 144.0,
        };
        let config = config(&cell).expect("a profile");
        let gains = gains(&config, &cell, Rng::new(3));
        assert!((gains.serving_db() + 144.0).abs() < 1e-9);
    }
}

const DAY: Duration = Duration::from_secs(86_400);

/// The life of devices with a message of `stack` a day at a coupling loss.
fn lived(stack: &str, coupling_loss_db: f64, messages: u64) -> CellResult {
    let result = simulated(stack, link_at(coupling_loss_db, 0.0), |options| {
        options.schedules = vec![Schedule {
            messages,
            warm_up: false,
            interval: Some(DAY),
            keep_alive: None,
        }];
        options.timeout = Duration::from_secs(120);
    });
    assert!(result.cell.all_arrived(), "{stack}: {:?}", result.cell.warnings);
    result
}

/// The times of a device's only connection, as the means of a report have them.
fn means(air: &AirConnection) -> DeviceMeans {
    let ms = |nanos: u64| nanos as f64 / 1e6;
    DeviceMeans {
        transmit_ms: ms(air.transmit_ns),
        receive_ms: ms(air.receive_ns),
        monitor_ms: ms(air.monitor_ns),
        wait_ms: ms(air.wait_ns),
        ..DeviceMeans::default()
    }
}

#[test]
fn a_life_in_a_cell_takes_what_a_report_of_the_same_times_takes() {
    let device = spent::built_in(TR_45820).expect("a device");
    let config = Config::profile("vodafone").expect("a profile");
    let lifetime = Lifetime {
        device: &device,
        config: &config,
        interval: DAY,
    };
    for coupling_loss_db in [120.0, 144.0, 154.0] {
        let result = lived("coap-con", coupling_loss_db, 1);
        let traffic = result.traffic.expect("traffic");
        let lives = life::lives(&traffic, &result.cell, Some(&device)).expect("lives");
        assert_eq!(lives.len(), 4);
        for (life, seen) in lives.iter().zip(&traffic.devices) {
            let [air] = seen.air.as_slice() else {
                panic!("{:?}", seen.air)
            };
            let report = lifetime.report(&means(air));
            let expected_mj = lifetime.day_mj(&report, &KeepAliveEnergy::default());
            let watts = mean_power(&device, &[life.repeated().expect("an account")])
                .total()
                .joules;
            let day_mj = watts * DAY.as_secs_f64() * 1e3;
            assert!(
                (day_mj / expected_mj - 1.0).abs() < 1e-6,
                "{day_mj} instead of {expected_mj}"
            );
        }
    }
}

#[test]
fn the_times_of_a_connection_have_all_that_the_device_sent() {
    for coupling_loss_db in [120.0, 154.0] {
        let result = lived("coap-con", coupling_loss_db, 1);
        let ladder = result.ladder.expect("a ladder");
        let up = ladder.air.iter().filter(|on_air| on_air.direction == "up");
        let sent_ms: f64 = up.map(|on_air| on_air.duration_ms).sum();
        let traffic = result.traffic.expect("traffic");
        let of_connection_ms: f64 = traffic.devices[0]
            .air
            .iter()
            .map(|air| air.transmit_ns as f64 / 1e6)
            .sum();
        assert!(sent_ms > 0.0);
        // A drawn transmission lasts from its begin to its end; while it makes room for NPRACH the device does not send.
        let part = sent_ms / of_connection_ms;
        assert!((1.0..1.15).contains(&part), "{sent_ms} of {of_connection_ms}");
    }
}

#[test]
fn more_coupling_loss_takes_more_energy_in_every_life() {
    let device = spent::built_in(TR_45820).expect("a device");
    let far = [120.0, 144.0, 154.0];
    // A connect of MQTT takes longer than the ten seconds that it has at 154 dB.
    for (stack, messages, losses) in [
        ("coap-con", 1, &far[..]),
        ("coap-con+oscore", 2, &far[..]),
        ("mqtt-qos1", 2, &far[..2]),
    ] {
        let joules = losses.iter().map(|&coupling_loss_db| {
            let result = lived(stack, coupling_loss_db, messages);
            let traffic = result.traffic.expect("traffic");
            let lives = life::lives(&traffic, &result.cell, Some(&device)).expect("lives");
            let accounts = lives.iter().filter_map(|life| life.account.as_ref());
            accounts.map(|account| account.total().joules).sum::<f64>()
        });
        let joules: Vec<f64> = joules.collect();
        assert!(joules.is_sorted_by(|near, far| near < far), "{stack}: {joules:?}");
    }
}

#[test]
fn a_life_in_a_cell_without_its_times_has_no_energy() {
    let device = spent::built_in(TR_45820).expect("a device");
    let result = lived("coap-con", 120.0, 1);
    let mut traffic = result.traffic.expect("traffic");
    for seen in &mut traffic.devices {
        seen.air.clear();
    }
    let without = life::lives(&traffic, &result.cell, Some(&device));
    assert_eq!(without.err(), Some(life::NoLife::NoTimesOnAir));
    assert!(
        life::lives(&traffic, &result.cell, None).is_ok(),
        "bytes need no times"
    );
}
