//! Charges computed by hand, and sums that must hold for any traffic.

use proptest::prelude::*;
use wirecost_proto::{Layer, Span};

use super::*;
use crate::device::{Paging, Processor, Wake};
use crate::radio::{Cellular, Radio};

const fn level(watts: f64) -> Level {
    Level { watts, spread: 0.1 }
}

/// 1 ms per 100 B up and down, no header, no grant; tails of 1 s and 2 s; a wake-up of 0.5 s.
fn device() -> Device {
    Device {
        name: "test".to_owned(),
        title: String::new(),
        chip: None,
        volts: 3.6,
        levels: [0.001, 0.01, 0.2, 0.3, 1.0, 0.5].map(level),
        rest: State::Sleep,
        paging: None,
        wake: Some(Wake {
            time: Duration::from_millis(500),
            level: level(0.4),
        }),
        tails: vec![
            Tail {
                state: State::Listen,
                level: level(0.2),
                time: Duration::from_secs(1),
            },
            Tail {
                state: State::Idle,
                level: level(0.05),
                time: Duration::from_secs(2),
            },
        ],
        updates: None,
        attach: None,
        window_listen: None,
        cdrx_listen: None,
        transmitter: None,
        processor: None,
        radio: Radio::Cellular(Cellular {
            up: "800kbit".parse().expect("a rate"),
            down: "800kbit".parse().expect("a rate"),
            link_bytes: 0,
            grant: Duration::ZERO,
        }),
        provenance: Vec::new(),
    }
}

const fn span(len: u32, layer: Layer, phase: Phase, cause: Cause) -> Span {
    Span {
        len,
        layer,
        phase,
        cause,
    }
}

fn send(meter: &mut Meter<'_>, at_ms: u64, direction: Direction, spans: &[Span]) {
    let first = spans.first().expect("a span");
    meter.packet(&ObservedPacket {
        at: Instant::from_millis(at_ms),
        direction,
        phase: first.phase,
        cause: first.cause,
        spans,
    });
}

fn assert_near(got: f64, expected: f64) {
    assert!(
        (got - expected).abs() <= 1e-9 * expected.abs().max(1.0),
        "{got}, {expected}"
    );
}

#[test]
fn one_packet_has_the_charge_computed_by_hand() {
    let device = device();
    let mut meter = Meter::new(&device);
    let spans = [
        span(300, Layer::Ip, Phase::Message, Cause::Original),
        span(700, Layer::Security, Phase::Message, Cause::Original),
    ];
    send(&mut meter, 0, Direction::Up, &spans);
    meter.end(Instant::from_millis(10_010));
    let account = meter.account();
    // 0.5 s at 0.4 W, 10 ms at 1 W, 1 s at 0.2 W, 2 s at 0.05 W, 7 s at 1 mW.
    assert_near(account.total().joules, 0.2 + 0.01 + 0.2 + 0.1 + 0.007);
    assert_near(account.purposes().of_part(Part::Layer(Layer::Ip)).joules, 0.003);
    assert_near(
        account.purposes().of_part(Part::Layer(Layer::Security)).joules,
        0.007,
    );
    assert_near(account.purposes().of_part(Part::Wake).joules, 0.2);
    assert_near(account.purposes().of_part(Part::Tail).joules, 0.3);
    assert_near(account.purposes().of_part(Part::Rest).joules, 0.007);
    assert_eq!(account.total_nanos(), 10_510_000_000);
    assert_eq!(account.nanos(State::Sleep), 7_000_000_000);
    assert_near(account.total().low, account.total().joules * 0.9);
}

#[test]
fn energy_above_rest_is_what_the_floor_leaves() {
    let whole = Device {
        paging: Some(Paging {
            every: Duration::from_secs(1),
            listen: Duration::from_millis(10),
        }),
        ..device()
    };
    let above = whole.above_rest();
    let spent = |device: &Device| {
        let mut meter = Meter::new(device);
        let spans = [span(1_000, Layer::Payload, Phase::Message, Cause::Original)];
        send(&mut meter, 0, Direction::Up, &spans);
        send(&mut meter, 60_000, Direction::Down, &spans);
        meter.finish()
    };
    let (all, traffic) = (spent(&whole), spent(&above));
    assert_eq!(all.total_nanos(), traffic.total_nanos());
    let seconds = all.total_nanos() as f64 / 1e9;
    assert_near(
        traffic.total().joules,
        all.total().joules - whole.floor().watts * seconds,
    );
    assert_near(traffic.purposes().of_part(Part::Rest).joules, 0.0);
    // Ten per cent of a power are as many watts above the floor as below it.
    let sends = |device: &Device| device.level(State::Transmit);
    let reach = |level: Level| level.watts * level.spread;
    assert_near(reach(sends(&above)), reach(sends(&whole)));
}

#[test]
fn a_packet_during_a_tail_starts_the_tail_anew() {
    let device = device();
    let mut meter = Meter::new(&device);
    let ask = [span(100, Layer::Application, Phase::KeepAlive, Cause::Original)];
    let reply = [span(
        100,
        Layer::Application,
        Phase::KeepAlive,
        Cause::Acknowledgement,
    )];
    send(&mut meter, 0, Direction::Up, &ask);
    send(&mut meter, 501, Direction::Down, &reply);
    let account = meter.finish();
    assert_eq!(account.nanos(State::Sleep), 0);
    // 0.5 s of the first tail, then both tails.
    assert_near(account.purposes().of_part(Part::Tail).joules, 0.1 + 0.2 + 0.1);
    assert_near(
        account.purposes().of_cause(Cause::Acknowledgement).joules,
        0.3 * 0.001,
    );
    assert_near(
        account.purposes().of_phase(Phase::KeepAlive).joules,
        account.total().joules,
    );
}

#[test]
fn a_device_that_rests_wakes_before_its_packet() {
    let device = device();
    let mut meter = Meter::new(&device);
    let spans = [span(100, Layer::Payload, Phase::Message, Cause::Original)];
    send(&mut meter, 0, Direction::Up, &spans);
    send(&mut meter, 10_001, Direction::Up, &spans);
    // 10 s after the first packet: 3 s of tails, 0.5 s of wake-up.
    assert_eq!(meter.account().nanos(State::Sleep), 6_500_000_000);
    assert_near(meter.account().purposes().of_part(Part::Wake).joules, 0.4);
}

#[test]
fn paging_is_time_of_the_rest_that_is_listened() {
    let mut device = device();
    device.paging = Some(Paging {
        every: Duration::from_secs(1),
        listen: Duration::from_millis(10),
    });
    let mut meter = Meter::new(&device);
    let spans = [span(100, Layer::Payload, Phase::Message, Cause::Original)];
    send(&mut meter, 0, Direction::Up, &spans);
    meter.end(Instant::from_millis(103_001));
    let rest = meter.account().purposes().of_part(Part::Rest).joules;
    assert_near(rest, 99.0 * 0.001 + 1.0 * 0.2);
    assert_near(rest, 100.0 * device.floor().watts);
}

#[test]
fn cycles_are_time_of_the_processor() {
    let mut device = device();
    device.processor = Some(Processor {
        hertz: 1e8,
        cycles_per_packet: 1e5,
        cycles_per_byte: 1e3,
    });
    let mut meter = Meter::new(&device);
    let spans = [span(100, Layer::Payload, Phase::Message, Cause::Original)];
    send(&mut meter, 0, Direction::Up, &spans);
    meter.event(
        Instant::from_millis(3),
        DeviceEvent::Computed { cycles: 1_000_000 },
    );
    let account = meter.finish();
    // (100,000 + 100 x 1,000 + 1,000,000) cycles at 100 MHz.
    assert_eq!(account.nanos(State::Compute), 12_000_000);
    assert_near(account.purposes().of_part(Part::Compute).joules, 0.006);
}

proptest! {
    #[test]
    fn states_sum_to_the_run_and_purposes_to_the_whole(
        packets in prop::collection::vec((0..5_000_u64, any::<bool>(), 20..1_500_u32, 0..4_usize, 0..4_usize), 1..40),
        rest in 0..20_000_u64,
    ) {
        let device = device();
        let mut meter = Meter::new(&device);
        let mut at = 0;
        let first_at = packets.first().map_or(0, |(gap, ..)| *gap);
        for (gap, is_up, len, phase, cause) in packets {
            at += gap;
            let direction = if is_up { Direction::Up } else { Direction::Down };
            let (phase, cause) = (Phase::ALL[phase], Cause::ALL[cause]);
            let spans = [span(20, Layer::Ip, phase, cause), span(len, Layer::Payload, phase, Cause::Original)];
            send(&mut meter, at, direction, &spans);
        }
        meter.end(Instant::from_millis(at + rest));
        let account = meter.account();
        prop_assert_eq!(account.total_nanos(), nanos(meter.run_time()));
        // Frames and wake-ups that could not begin in time lengthen the run.
        let asked = Duration::from_millis(at + rest - first_at);
        prop_assert!(meter.run_time() >= asked);
        let parts: f64 = Part::ALL.iter().map(|part| account.purposes().of_part(*part).joules).sum();
        prop_assert!((parts - account.total().joules).abs() <= 1e-9 * parts);
        let phases: f64 = Phase::ALL.iter().map(|phase| account.purposes().of_phase(*phase).joules).sum();
        let whole = phases + account.purposes().of_part(Part::Rest).joules;
        prop_assert!((whole - account.total().joules).abs() <= 1e-9 * whole);
    }
}
