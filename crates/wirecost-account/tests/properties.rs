//! What holds for the account of any traffic: parts sum to the whole, and what is cheaper or rarer never costs more.

use std::time::Duration;

use proptest::prelude::*;
use wirecost_account::{Cycle, Figures, Fleet, FleetFigures, Terms, Traffic, Way};
use wirecost_cost::tariff::{Period as Rounded, Price, Rounding, TariffRule, Tier};
use wirecost_cost::{DeviceEvent, ObservedPacket, Observer, Tariff, What};
use wirecost_energy::device::{Tail, Wake};
use wirecost_energy::radio::{Cellular, Radio};
use wirecost_energy::{Battery, Chemistry, Device, Level, Part, State};
use wirecost_proto::calendar::Period;
use wirecost_proto::{Cause, Direction, Instant, Layer, Phase, Span};

/// A packet: milliseconds since the one before, direction, whether it is lost, phase, cause, and bytes by layer.
type Sent = (u64, bool, bool, usize, usize, [u32; 3]);

const LAYERS: [Layer; 3] = [Layer::Ip, Layer::Security, Layer::Payload];

fn packets() -> impl Strategy<Value = Vec<Sent>> {
    let packet = (
        0..30_000_u64,
        any::<bool>(),
        prop::bool::weighted(0.1),
        0..Phase::ALL.len(),
        0..Cause::ALL.len(),
        [20..60_u32, 0..200_u32, 0..1_000_u32],
    );
    prop::collection::vec(packet, 1..40)
}

const fn level(watts: f64) -> Level {
    Level { watts, spread: 0.2 }
}

fn device() -> Device {
    let tail = |state, watts, seconds| Tail {
        state,
        level: level(watts),
        time: Duration::from_secs(seconds),
    };
    Device {
        name: "test".to_owned(),
        title: String::new(),
        chip: None,
        volts: 3.6,
        levels: [0.001, 0.01, 0.05, 0.2, 0.5, 0.1].map(level),
        rest: State::Sleep,
        paging: None,
        wake: Some(Wake {
            time: Duration::from_millis(500),
            level: level(0.1),
        }),
        tails: vec![tail(State::Listen, 0.05, 5), tail(State::Idle, 0.01, 5)],
        updates: None,
        attach: None,
        window_listen: None,
        cdrx_listen: None,
        transmitter: None,
        processor: None,
        radio: Radio::Cellular(Cellular {
            up: "100kbit".parse().expect("a rate"),
            down: "200kbit".parse().expect("a rate"),
            link_bytes: 7,
            grant: Duration::from_millis(10),
        }),
        provenance: Vec::new(),
    }
}

fn tell(packets: &[Sent], observer: &mut dyn Observer) {
    let mut at = Instant::START;
    observer.event(at, DeviceEvent::Connect);
    for (pause, is_up, is_lost, phase, cause, bytes) in packets {
        at += Duration::from_millis(*pause);
        let (phase, cause) = (Phase::ALL[*phase], Cause::ALL[*cause]);
        let spans = LAYERS.iter().zip(bytes).map(|(layer, len)| Span {
            len: *len,
            layer: *layer,
            phase,
            cause,
        });
        let spans: Vec<Span> = spans.filter(|span| span.len > 0).collect();
        let packet = ObservedPacket {
            at,
            direction: if *is_up { Direction::Up } else { Direction::Down },
            phase,
            cause,
            spans: &spans,
        };
        match *is_lost && !is_up {
            true => observer.lost(&packet),
            false => observer.packet(&packet),
        }
    }
}

/// The life of a device with these packets, from one connect to the next.
fn traffic(device: &Device, packets: &[Sent], every: f64) -> Traffic {
    let (cycle, _) = Cycle::metered(Some(device), Some(every), |observer| tell(packets, observer));
    Traffic {
        label: "test".to_owned(),
        stack: None,
        way: Way::Each { renewed: false },
        interval: every,
        keep_alive: None,
        cycles: vec![cycle],
        time: None,
        activity: None,
    }
}

fn figures(device: &Device, tariff: Option<&Tariff>, traffic: &Traffic) -> Figures {
    let terms = Terms {
        device: Some(device),
        tariff,
        battery: Some(Battery {
            joules: 31_104.0,
            volts: 3.6,
            chemistry: Chemistry::default(),
        }),
        beside: None,
        fleet: Fleet::ONE,
    };
    terms.figures(traffic)
}

/// A rule with one price for `per` of what it counts.
fn rule(counts: &[What], rounding: Rounding, (price, per): (f64, f64)) -> TariffRule {
    TariffRule {
        name: "test".to_owned(),
        row: String::new(),
        counts: counts.to_vec(),
        with_topic: false,
        rounding,
        price: Price::Tiers {
            tiers: vec![Tier {
                to: f64::INFINITY,
                price,
            }],
            per,
        },
        is_of_account: false,
    }
}

/// Packets, by the megabyte.
fn packets_of(tunnel: u64, unit_bytes: u64, period: Rounded, price: f64) -> TariffRule {
    let rounding = Rounding::Packets {
        tunnel_bytes: [tunnel; 2],
        unit_bytes,
        least_bytes: 0,
        period,
        cut_minutes: None,
    };
    rule(&[What::Packets], rounding, (price, 1e6))
}

fn tariff(fee: f64, charge: TariffRule) -> Tariff {
    Tariff {
        name: "test".to_owned(),
        title: String::new(),
        rules: vec![charge, rule(&[What::Fee], Rounding::Whole, (fee, 1.0))],
        currency: "EUR".to_owned(),
        is_sourced: false,
        is_uncompressed: false,
        money_step: None,
        takes: Vec::new(),
        other_kilobyte: None,
    }
}

fn roundings() -> impl Strategy<Value = Rounded> {
    prop::sample::select(Rounded::ALL.to_vec())
}

fn near(got: f64, expected: f64) -> bool {
    (got - expected).abs() <= 1e-9 * expected.abs().max(1e-9)
}

proptest! {
    #[test]
    fn parts_phases_and_causes_sum_to_the_whole(packets in packets(), every in 1_500.0..1e6_f64) {
        let device = device();
        let traffic = traffic(&device, &packets, every);
        let figures = figures(&device, None, &traffic);
        let power = figures.power.as_ref().expect("a device");
        let whole = power.total().joules;
        let parts: f64 = Part::ALL.iter().map(|part| power.of_part(*part).joules).sum();
        prop_assert!(near(parts, whole), "{parts}, {whole}");
        // Rest has no packet that it is spent for.
        let rest = power.sum_of(|purpose| purpose.packet.is_none()).joules;
        let phases: f64 = Phase::ALL.iter().map(|phase| power.of_phase(*phase).joules).sum();
        let causes: f64 = Cause::ALL.iter().map(|cause| power.of_cause(*cause).joules).sum();
        prop_assert!(near(phases + rest, whole) && near(causes + rest, whole), "{phases}, {causes}, {rest}, {whole}");
        // Every byte that entered the link is in the usage, once.
        let sent: u64 = packets.iter().flat_map(|packet| packet.5).map(u64::from).sum();
        prop_assert!(near(figures.month.wire_bytes(), sent as f64 * Period::Month.times(every)));
        prop_assert!(near(figures.month.packets().iter().sum(), packets.len() as f64 * Period::Month.times(every)));
        let account = traffic.cycles[0].account.as_ref().expect("a device");
        let states: f64 = State::ALL.iter().map(|state| account.of_state(*state).joules).sum();
        prop_assert!(near(states, account.total().joules));
    }

    /// A message has its share of a month, and a device's day, month and year have as many messages as the interval says.
    #[test]
    fn a_message_times_their_number_is_a_month(packets in packets(), every in 60.0..1e6_f64, price in 0.0..10.0_f64) {
        let device = device();
        let charge = packets_of(0, 1, Rounded::Month, price);
        let figures = figures(&device, Some(&tariff(1.0, charge)), &traffic(&device, &packets, every));
        let message = figures.of_message().expect("messages");
        for period in [Period::Day, Period::Month, Period::Year] {
            let whole = figures.of_fleet(Fleet { devices: 3, period });
            let messages = 3.0 * period.times(every);
            prop_assert!(near(whole.usage.wire_bytes(), message.usage.wire_bytes() * messages));
            prop_assert!(near(whole.energy.expect("a device").joules, message.energy.expect("a device").joules * messages));
            let money = |figures: &FleetFigures| figures.bill.as_ref().expect("a tariff").amount;
            prop_assert!(near(money(&whole), money(&message) * messages));
            prop_assert!(near(whole.energy.expect("a device").joules, figures.each.expect("a device").joules * messages));
        }
    }

    #[test]
    fn a_longer_interval_never_shortens_a_life(
        packets in packets(), every in 1.0..1e5_f64, longer in 1.0..100.0_f64,
    ) {
        let device = device();
        let years = |every| figures(&device, None, &traffic(&device, &packets, every)).years.expect("a battery")[0];
        let (short, long) = (years(every), years(every * longer));
        prop_assert!(long >= short * (1.0 - 1e-9), "{short}, {long}");
    }

    #[test]
    fn a_lost_packet_to_the_device_costs_bytes_and_no_energy(packets in packets(), bytes in 20..1_500_u32) {
        let device = device();
        let mut more = packets.clone();
        more.push((0, false, true, 0, 0, [bytes, 0, 0]));
        let [without, with] = [packets, more].map(|packets| figures(&device, None, &traffic(&device, &packets, 900.0)));
        let month = f64::from(bytes) * Period::Month.times(900.0);
        prop_assert!(near(with.month.wire_bytes() - without.month.wire_bytes(), month));
        prop_assert_eq!(with.years, without.years);
    }

    /// A smaller unit of rounding is cheaper where it divides the larger one: 60 B are not, of 100 B and a unit of 100 B.
    #[test]
    fn a_cheaper_tariff_never_has_a_larger_bill(
        packets in packets(), every in 60.0..1e6_f64, period in roundings(),
        tunnel in 0..100_u64, unit in 1..10_000_u64, units in 1..20_u64, price in 0.0..10.0_f64, fee in 0.0..5.0_f64,
        less in [0.0..=1.0_f64, 0.0..=1.0_f64, 0.0..=1.0_f64], included in 0..1_000_000_u32,
    ) {
        let device = device();
        let traffic = traffic(&device, &packets, every);
        let of = |tariff: &Tariff| figures(&device, Some(tariff), &traffic).bill.expect("a tariff").amount;
        let dear = of(&tariff(fee, packets_of(tunnel, unit * units, period, price)));
        let fewer = (tunnel as f64 * less[0]) as u64;
        let mut cheaper = packets_of(fewer, unit, period, price * less[1]);
        if let Price::Tiers { tiers, .. } = &mut cheaper.price {
            tiers.insert(0, Tier { to: f64::from(included), price: 0.0 });
        }
        let cheap = of(&tariff(fee * less[2], cheaper));
        prop_assert!(cheap <= dear * (1.0 + 1e-9), "{cheap}, {dear}");
    }

    #[test]
    fn a_cheaper_price_of_messages_never_has_a_larger_bill(
        packets in packets(), every in 60.0..1e6_f64, unit in 1..5_000_u64, larger in 0..5_000_u64,
        charged in any::<[bool; 2]>(), price in 0.0..10.0_f64, less in 0.0..=1.0_f64,
    ) {
        let device = device();
        let traffic = traffic(&device, &packets, every);
        let of = |price, unit_bytes, [keep_alives, connects]: [bool; 2]| {
            let more = [(keep_alives, What::KeepAlive), (connects, What::Connect)];
            let more = more.into_iter().filter_map(|(is_counted, what)| is_counted.then_some(what));
            let counts: Vec<What> = std::iter::once(What::Publish).chain(more).collect();
            let charge = rule(&counts, Rounding::Units(unit_bytes), (price, 1_000.0));
            figures(&device, Some(&tariff(0.0, charge)), &traffic).bill.expect("a tariff").amount
        };
        let dear = of(price, unit, [true; 2]);
        let cheap = of(price * less, unit + larger, charged);
        prop_assert!(cheap <= dear * (1.0 + 1e-9), "{cheap}, {dear}");
    }

    #[test]
    fn the_causes_of_a_bill_sum_to_it_and_its_next_step_is_cheaper(
        packets in packets(), every in 60.0..1e6_f64, unit in 1..5_000_u64, devices in 1..500_u32, period in roundings(),
    ) {
        let device = device();
        let month = traffic(&device, &packets, every).month();
        let messages = rule(&[What::Publish, What::KeepAlive], Rounding::Units(unit), (3.0, 1_000.0));
        for charge in [packets_of(54, unit, period, 2.0), messages] {
            let bill = tariff(0.5, TariffRule { is_of_account: true, ..charge }).bill(&month, devices);
            let causes: f64 = bill.causes.iter().map(|(_, amount)| amount).sum();
            let lines: f64 = bill.lines.iter().map(|line| line.amount).sum();
            prop_assert!(near(causes, bill.amount) && near(lines, bill.amount), "{bill:?}");
            if let Some(next) = &bill.next {
                prop_assert!(next.saves > 0.0 && next.saves <= bill.amount && next.less > 0.0 && next.part <= 1.0, "{next:?}");
            }
        }
    }
}
