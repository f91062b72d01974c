use wirecost_energy::Level;
use wirecost_energy::device::{Tail, Wake};
use wirecost_energy::radio::{Cellular, Radio};
use wirecost_proto::Layer;

use super::*;

/// Wakes up in 2 s, and is connected for 10 s.
fn modem() -> Device {
    let level = |watts| Level { watts, spread: 0.1 };
    Device {
        name: "modem".to_owned(),
        title: String::new(),
        chip: None,
        volts: 3.7,
        levels: [1e-5, 5e-3, 0.05, 0.1, 0.4, 0.01].map(level),
        rest: State::Sleep,
        paging: None,
        wake: Some(Wake {
            time: Duration::from_secs(2),
            level: level(0.1),
        }),
        tails: vec![Tail {
            state: State::Listen,
            level: level(0.05),
            time: Duration::from_secs(10),
        }],
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

fn packets(every_s: u64) -> Packets {
    let packet = |index: u64| Packet {
        at: Instant::from_millis(index * every_s * 1_000),
        direction: Direction::Up,
        phase: Phase::Message,
        cause: Cause::Original,
        spans: vec![Span {
            len: 125,
            layer: Layer::Payload,
            phase: Phase::Message,
            cause: Cause::Original,
        }],
    };
    Packets((0..4).map(packet).collect())
}

fn curve(every_s: u64) -> Curve {
    let packets = packets(every_s);
    let readings = packets.apart(Duration::from_secs(every_s) / 2);
    assert_eq!(readings.len(), 4);
    Curve::from_readings(&readings, &modem()).expect("packets")
}

#[test]
fn a_reading_begins_with_its_wake_up_and_ends_with_its_tails() {
    let curve = curve(900);
    assert_eq!(name(&curve.segments[0]), "wake-up");
    assert_eq!(curve.packets[0].at, Duration::from_secs(2));
    assert_eq!(curve.duration(), Duration::from_millis(12_010));
}

#[test]
fn a_reading_that_comes_within_the_tails_of_another_has_no_wake_up_and_ends_when_the_next_begins() {
    let curve = curve(5);
    assert_eq!(name(&curve.segments[0]), "transmit");
    assert_eq!(curve.packets[0].at, Duration::ZERO);
    assert_eq!(curve.duration(), Duration::from_secs(5));
}

#[test]
fn a_day_is_the_life_again_and_again_and_has_the_mean_power_of_the_life() {
    let (device, every) = (modem(), Duration::from_secs(4 * 900));
    let day = packets(900).day(&device, every).expect("a day");
    assert_eq!(day.duration(), DAY);
    let wakes = day.segments.iter().filter(|one| name(one) == "wake-up");
    assert_eq!(wakes.count(), 96);
    let means = day.means(Duration::from_secs(300));
    assert_eq!(means.len(), 288);
    assert!((means.iter().sum::<f64>() * 300.0 / day.coulombs() - 1.0).abs() < 1e-9);
    let reading = curve(900);
    let rest = device.floor().watts / device.volts;
    let rested = (DAY - reading.duration() * 96).as_secs_f64();
    let expected = 96.0 * reading.coulombs() + rest * rested;
    assert!(
        (day.coulombs() / expected - 1.0).abs() < 1e-6,
        "{} {expected}",
        day.coulombs()
    );
}

#[test]
fn a_day_of_too_many_packets_and_one_of_none_have_no_curve() {
    let (device, every) = (modem(), Duration::from_secs(4));
    assert_eq!(packets(1).day(&device, every), None);
    assert_eq!(Packets::default().day(&device, every), None);
    assert_eq!(packets(1).day(&device, Duration::ZERO), None);
    let rare = packets(1)
        .day(&device, Duration::MAX)
        .expect("a day with one life");
    assert_eq!(rare.duration(), DAY);
}

#[test]
fn keep_alives_between_two_readings_do_not_join_them() {
    let mut all = packets(900);
    let silent = Packet {
        phase: Phase::KeepAlive,
        ..all.0[0].clone()
    };
    let pings = (0..4 * 15).map(|minute| Packet {
        at: Instant::from_millis(minute * 60_000 + 30_000),
        ..silent.clone()
    });
    all.0.extend(pings);
    all.0.sort_by_key(|packet| packet.at);
    let readings = all.apart(Duration::from_secs(450));
    assert_eq!(readings.iter().map(|one| one.len()).collect::<Vec<_>>(), [16; 4]);
    let curve = all
        .reading(&modem(), Duration::from_secs(900))
        .expect("a reading");
    assert_eq!(curve.packets.len(), 16);
    let last = curve.segments.last().map(name);
    assert_eq!(
        last,
        Some("connected"),
        "the rest after the last tail is not of the reading"
    );
}

#[test]
fn a_reading_of_too_many_packets_has_no_curve() {
    let mut all = packets(900);
    all.0 = vec![all.0[0].clone(); MOST_PACKETS];
    assert!(all.reading(&modem(), Duration::from_secs(900)).is_some());
    all.0.push(all.0[0].clone());
    assert_eq!(all.reading(&modem(), Duration::from_secs(900)), None);
}
