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
        window_listen: None,
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

fn curve(every_s: u64) -> Curve {
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
    let packets = Packets((0..4).map(packet).collect());
    let readings = packets.apart(Duration::from_secs(every_s) / 2);
    assert_eq!(readings.len(), 4);
    Curve::of(&readings, &modem()).expect("packets")
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
