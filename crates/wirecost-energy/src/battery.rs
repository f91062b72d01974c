//! Battery life.

/// Seconds of a year of 365.25 days.
pub const YEAR_SECONDS: f64 = 365.25 * 86_400.0;

/// A battery.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Battery {
    /// Its energy when new, in joules: ampere hours x 3,600 x volts.
    pub joules: f64,
    /// The part of that energy which it loses by itself per year, e.g. 0.01.
    pub self_discharge: f64,
}

impl Battery {
    /// Years until a device of a mean power of `watts` has emptied it; `None` if nothing drains it.
    ///
    /// `years = C / (P Y + s C)` with capacity C, power P, seconds of a year Y and self-discharge s of the capacity when new.
    pub fn years(&self, watts: f64) -> Option<f64> {
        let drain = watts * YEAR_SECONDS + self.self_discharge * self.joules;
        (drain > 0.0).then(|| self.joules / drain)
    }
}

/// The mean power in watts of a device that repeats the same traffic.
///
/// `joules` is the energy of the traffic once, from the wake-up to the end of its tails, which take `seconds`. It is repeated
/// every `interval` seconds, and `floor` is the power in between. If the interval is shorter than the traffic with its tails, the
/// figure is an upper bound, because tails that overlap are counted in full.
pub fn mean_watts(joules: f64, seconds: f64, floor: f64, interval: f64) -> f64 {
    (joules + floor * (interval - seconds).max(0.0)) / interval
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn self_discharge_alone_empties_a_battery() {
        let battery = Battery {
            joules: 31_104.0,
            self_discharge: 0.02,
        };
        assert_eq!(battery.years(0.0), Some(50.0));
    }

    proptest! {
        #[test]
        fn a_longer_interval_never_shortens_battery_life(
            seconds in 0.001..100.0_f64,
            watts in 0.001..3.0_f64,
            part in 0.0..1.0_f64,
            interval in 0.01..1e6_f64,
            longer in 1.0..10.0_f64,
        ) {
            // No state has less power than the floor.
            let floor = watts * part;
            let battery = Battery { joules: 31_104.0, self_discharge: 0.01 };
            let years = |interval| battery.years(mean_watts(watts * seconds, seconds, floor, interval));
            prop_assert!(years(interval * longer).unwrap() >= years(interval).unwrap() * (1.0 - 1e-12));
        }
    }
}
