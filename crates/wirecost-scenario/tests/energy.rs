//! The energy of random traffic on every device of the program. Captures tell it to the meter at once, cells and loads as they have
//! kept it; both ways give the same account.

use proptest::prelude::*;
use wirecost_account::replay;
use wirecost_cost::{ObservedPacket, Observer};
use wirecost_energy::{
    Account, Battery, Chemistry, Device, Meter, Part, Purposes, Repeated, State, mean_power,
};
use wirecost_proto::{Cause, Direction, Instant, Layer, Phase, Span};
use wirecost_results::traffic::{CellTraffic, Collector, Shape};
use wirecost_scenario::device;

/// A packet: milliseconds after the one before, then its direction, phase, cause, and bytes by layer.
type Random = (u64, bool, usize, usize, [u32; Layer::ALL.len()]);

/// Packets of one device.
type Life = Vec<Random>;

fn lives() -> impl Strategy<Value = Vec<Life>> {
    let bytes = prop::array::uniform5(0..400_u32);
    let packet = (0..30_000_u64, any::<bool>(), 0..4_usize, 0..4_usize, bytes);
    prop::collection::vec(prop::collection::vec(packet, 1..12), 1..4)
}

fn tell(life: &Life, mut to: impl FnMut(&ObservedPacket<'_>)) {
    let mut millis = 0;
    for (gap, is_up, phase, cause, bytes) in life {
        millis += gap;
        let (phase, cause) = (Phase::ALL[*phase], Cause::ALL[*cause]);
        let spans = Layer::ALL.into_iter().zip(bytes).map(|(layer, len)| Span {
            len: *len,
            layer,
            phase,
            cause,
        });
        let spans: Vec<Span> = spans.collect();
        to(&ObservedPacket {
            at: Instant::from_millis(millis),
            direction: Direction::ALL[usize::from(!is_up)],
            phase,
            cause,
            spans: &spans,
        });
    }
}

/// The packets as the file of a cell or load has them.
fn kept(lives: &[Life]) -> CellTraffic {
    let mut collector = Collector::default();
    for (sample, life) in (0..).zip(lives) {
        tell(life, |packet| {
            let shape = Shape::from_spans(packet.direction, packet.phase, packet.cause, packet.spans);
            collector.packet(sample, packet.at, shape);
        });
    }
    collector.finish(|_| Some(Vec::new())).expect("devices")
}

/// The accounts of all devices, which are equal to those of the packets told at once.
fn accounts(device: &Device, lives: &[Life]) -> Vec<Account> {
    let traffic = kept(lives);
    let shapes = replay::shapes(&traffic).expect("known names");
    let each = traffic.devices.iter().zip(lives);
    each.map(|(seen, life)| {
        let [mut replayed, mut told] = [Meter::new(device), Meter::new(device)];
        replay::tell_life(seen, &shapes, &mut replayed);
        tell(life, |packet| told.packet(packet));
        let (replayed, told) = (replayed.finish(), told.finish());
        assert_eq!(replayed, told);
        told
    })
    .collect()
}

fn devices() -> Vec<Device> {
    let files = device::BUILT_IN.iter();
    files
        .map(|(name, text)| device::read(name, text).expect("a device"))
        .collect()
}

/// Parts sum to the whole; phases, and causes, with the rest as well.
fn assert_splits(purposes: &Purposes, whole: f64) {
    let rest = purposes.of_part(Part::Rest).joules;
    let parts: f64 = Part::ALL.iter().map(|part| purposes.of_part(*part).joules).sum();
    let phases = Phase::ALL.iter().map(|phase| purposes.of_phase(*phase).joules);
    let causes = Cause::ALL.iter().map(|cause| purposes.of_cause(*cause).joules);
    for sum in [parts, phases.sum::<f64>() + rest, causes.sum::<f64>() + rest] {
        assert!((sum - whole).abs() <= 1e-9 * whole, "{sum}, {whole}");
    }
}

fn every(account: &Account, every: f64) -> Repeated<'_> {
    Repeated { account, every }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn states_sum_to_the_run(lives in lives(), after in 0..100_000_u64) {
        for device in devices() {
            for life in &lives {
                let mut meter = Meter::new(&device);
                tell(life, |packet| meter.packet(packet));
                let millis = after + life.iter().map(|(gap, ..)| gap).sum::<u64>();
                meter.end(Instant::from_millis(millis));
                let states: u64 = State::ALL.iter().map(|state| meter.account().nanos(*state)).sum();
                prop_assert_eq!(u128::from(states), meter.run_time().as_nanos(), "{}", device.name);
                let first = life.first().map_or(0, |(gap, ..)| *gap);
                let least = u128::from(millis - first) * 1_000_000;
                prop_assert!(meter.run_time().as_nanos() >= least, "{}", device.name);
            }
        }
    }

    #[test]
    fn splits_sum_to_the_whole_of_devices_and_of_their_mean(lives in lives(), interval in 0.01..1e5_f64) {
        for device in devices() {
            let accounts = accounts(&device, &lives);
            let mean = Account::mean(&accounts);
            for account in accounts.iter().chain([&mean]) {
                assert_splits(account.purposes(), account.total().joules);
                let power = mean_power(&device, &[every(account, interval)]);
                assert_splits(&power, power.total().joules);
            }
            let sum: f64 = accounts.iter().map(|account| account.total().joules).sum();
            let whole = mean.total().joules * accounts.len() as f64;
            prop_assert!((sum - whole).abs() <= 1e-9 * sum, "{}", device.name);
        }
    }

    #[test]
    fn a_longer_interval_never_shortens_the_battery_life(
        lives in lives(),
        interval in 0.01..1e5_f64,
        longer in 1.0..10.0_f64,
        keep_alive in 10.0..2_000.0_f64,
    ) {
        let battery = Battery { joules: 31_104.0, volts: 3.6, chemistry: Chemistry::default() };
        for device in devices() {
            let accounts = accounts(&device, &lives);
            let mean = Account::mean(&accounts);
            let years = |interval| {
                let traffic = [every(&mean, interval), every(&accounts[0], keep_alive)];
                battery.years(mean_power(&device, &traffic).total().joules)
            };
            let [short, long] = [years(interval), years(interval * longer)];
            prop_assert!(long >= short * (1.0 - 1e-12), "{}: {short}, {long}", device.name);
        }
    }
}
