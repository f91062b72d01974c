//! The mean power of a device whose traffic repeats.

use core::time::Duration;

use crate::account::{Account, Energy, Part, Purpose, Purposes};
use crate::device::Device;

/// Some traffic that repeats.
#[derive(Clone, Copy, Debug)]
pub struct Repeated<'a> {
    /// What it costs once, from the wake-up to the end of its tails.
    pub account: &'a Account,
    /// Seconds from one to the next.
    pub every: f64,
}

/// The mean power of a device by purpose, in watts. Between its traffic it rests.
///
/// `P = sum(E / T) + floor max(0, 1 - sum(t / T))` over its traffic and its attaches, with energy E and time t of each, repeated every T. Each has
/// its own wake-up and its tails in full. So the figure is an upper bound where traffic overlaps, and no longer interval gives
/// more of it: no state has less power than the floor. The bound is at most the highest power that the device has; where it is
/// that, the purposes keep their proportions.
pub fn mean_power(device: &Device, traffic: &[Repeated<'_>]) -> Purposes {
    let mut power = Purposes::default();
    let mut busy = 0.0;
    for repeated in traffic {
        for (purpose, energy) in repeated.account.purposes().iter() {
            power.add(*purpose, energy.scaled(1.0 / repeated.every));
        }
        busy += repeated.account.total_nanos() as f64 / 1e9 / repeated.every;
    }
    let of_no_packet = |part| Purpose { part, packet: None };
    if let Some((attach, attached)) = device.attach.zip(device.attached()) {
        let each = attach.every.as_secs_f64();
        power.add(of_no_packet(Part::Attach), attached.energy().scaled(1.0 / each));
        busy += attached.time.as_secs_f64() / each;
    }
    let rest = of_no_packet(Part::Rest);
    let updates = updates_a_second(device, traffic);
    let mut left = (1.0 - busy).max(0.0);
    for (_, level, time) in device.update() {
        // Traffic and updates together take all of the time at most.
        let part = (time.as_secs_f64() * updates).min(left);
        power.add(rest, Energy::at_level(level, 1_000_000_000).scaled(part));
        left -= part;
    }
    power.add(rest, Energy::at_level(device.floor(), 1_000_000_000).scaled(left));
    // Tails that overlap are counted each in full, which may be more than a device that is always at its highest power takes.
    let excess = power.total().joules / device.highest_watts();
    if excess > 1.0 {
        power.scale(1.0 / excess);
    }
    power
}

/// How often a second the device reports its tracking area after the last packet of its traffic. Each traffic starts the timer anew, so
/// that the one which comes most often decides.
fn updates_a_second(device: &Device, traffic: &[Repeated<'_>]) -> f64 {
    let seconds = |repeated: &Repeated<'_>| repeated.account.total_nanos() as f64 / 1e9;
    let often = traffic
        .iter()
        .min_by(|one, other| one.every.total_cmp(&other.every));
    let Some(repeated) = often else {
        return 0.0;
    };
    // Traffic that overlaps leaves no pause, and a negative one is no duration.
    let pause =
        Duration::try_from_secs_f64((repeated.every - seconds(repeated)).max(0.0)).unwrap_or_default();
    f64::from(device.updates_in(pause)) / repeated.every
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wirecost_cost::{ObservedPacket, Observer as _};
    use wirecost_proto::{Cause, Direction, Instant, Layer, Phase, Span};

    use super::*;
    use crate::battery::{Battery, Chemistry};
    use crate::device::{Level, Paging, State, Tail, Wake};
    use crate::meter::Meter;
    use crate::radio::{Cellular, Radio};

    const fn level(watts: f64) -> Level {
        Level { watts, spread: 0.2 }
    }

    fn device(rest: f64, tail: f64, tail_ms: u64) -> Device {
        Device {
            name: "test".to_owned(),
            title: String::new(),
            chip: None,
            volts: 3.6,
            levels: [rest, 0.1, 0.2, 0.3, 1.0, 0.2].map(level),
            rest: State::Sleep,
            paging: Some(Paging {
                every: Duration::from_secs(10),
                listen: Duration::from_millis(10),
            }),
            wake: Some(Wake {
                time: Duration::from_millis(300),
                level: level(0.4),
            }),
            tails: vec![Tail {
                state: State::Listen,
                level: level(tail),
                time: Duration::from_millis(tail_ms),
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

    /// What packets of 125 B (10 ms) cost, the second one `gap_ms` after the first.
    fn cost(device: &Device, gap_ms: u64) -> Account {
        let spans = [Span {
            len: 125,
            layer: Layer::Payload,
            phase: Phase::Message,
            cause: Cause::Original,
        }];
        let mut meter = Meter::new(device);
        for at in [0, gap_ms] {
            meter.packet(&ObservedPacket {
                at: Instant::from_millis(at),
                direction: Direction::Up,
                phase: Phase::Message,
                cause: Cause::Original,
                spans: &spans,
            });
        }
        meter.finish()
    }

    #[test]
    fn mean_power_is_computed_by_hand() {
        let device = device(0.001, 0.2, 1_000);
        let account = cost(&device, 10);
        // 0.3 s at 0.4 W, 20 ms at 1 W, 1 s at 0.2 W; then 0.999 of the time at 1 mW, 0.001 at 0.2 W.
        let once = 0.12 + 0.02 + 0.2;
        assert!((account.total().joules - once).abs() < 1e-9);
        let reading = Repeated {
            account: &account,
            every: 100.0,
        };
        let watts = mean_power(&device, &[reading]).total();
        let floor = 0.999 * 0.001 + 0.001 * 0.2;
        assert!((watts.joules - (once / 100.0 + floor * (1.0 - 1.32 / 100.0))).abs() < 1e-12);
        assert!((watts.low / watts.joules - 0.8).abs() < 1e-9);
    }

    #[test]
    fn readings_that_overlap_have_at_most_the_highest_power() {
        let device = device(0.001, 0.2, 1_000);
        let account = cost(&device, 10);
        let reading = Repeated {
            account: &account,
            every: 0.001,
        };
        let power = mean_power(&device, &[reading]);
        assert!((power.total().joules - 1.0).abs() < 1e-9);
        let tail = power.of_part(Part::Tail).joules;
        assert!((tail - 0.2 / account.total().joules).abs() < 1e-3, "{tail}");
    }

    proptest! {
        #[test]
        fn a_longer_interval_never_shortens_battery_life(
            rest in 0.0..0.05_f64,
            tail in 0.06..0.2_f64,
            tail_ms in 0..20_000_u64,
            gap_ms in 0..60_000_u64,
            interval in 0.01..1e5_f64,
            longer in 1.0..10.0_f64,
            keep_alive in 10.0..2_000.0_f64,
        ) {
            let device = device(rest, tail, tail_ms);
            let reading = cost(&device, gap_ms);
            let ping = cost(&device, 100);
            let battery = Battery { joules: 31_104.0, volts: 3.6, chemistry: Chemistry::default() };
            let years = |interval| {
                let traffic = [
                    Repeated { account: &reading, every: interval },
                    Repeated { account: &ping, every: keep_alive },
                ];
                battery.years(mean_power(&device, &traffic).total().joules)
            };
            prop_assert!(years(interval * longer) >= years(interval) * (1.0 - 1e-12));
        }
    }
}
