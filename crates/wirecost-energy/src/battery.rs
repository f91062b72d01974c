//! Battery life.

use core::fmt;

use wirecost_proto::battery::{SELF_DISCHARGE, SHELF_LIFE_YEARS, life};
use wirecost_proto::calendar::YEAR_SECONDS;

use crate::device::Device;

/// A battery.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Battery {
    /// Its energy when new, in joules: ampere hours x 3,600 x volts.
    pub joules: f64,
    /// What kind of cell it is.
    pub chemistry: Chemistry,
}

/// What a kind of cell can do, whatever its size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chemistry {
    /// The part of its energy which it loses by itself per year, e.g. 0.01.
    pub self_discharge: f64,
    /// Years after which it is bad, used or not.
    pub shelf_years: f64,
    /// The part of its capacity that a device can use.
    pub usable: f64,
    /// The highest current that it feeds all the time, in amperes; `None` where that is not known.
    pub continuous: Option<f64>,
    /// The highest current that it feeds for the time of a packet; `None` where that is not known.
    pub pulse: Option<f64>,
}

impl Default for Chemistry {
    /// A cell of which nothing is known but the usual.
    fn default() -> Self {
        Self {
            self_discharge: SELF_DISCHARGE,
            shelf_years: SHELF_LIFE_YEARS,
            usable: 1.0,
            continuous: None,
            pulse: None,
        }
    }
}

/// A cell that cannot feed a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TooWeak {
    /// The device's highest current, in amperes.
    pub needed: f64,
    /// The cell's limit.
    pub most: f64,
}

impl fmt::Display for TooWeak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [needed, most] = [self.needed, self.most].map(|amperes| amperes * 1e3);
        write!(
            f,
            "this cell cannot feed {needed:.0} mA (at most {most:.0} mA): take one with a capacitor or a spiral cell"
        )
    }
}

impl Battery {
    /// Years until a device of a mean power of `watts` has emptied it, at most its shelf life.
    ///
    /// `years = C / (P Y + s C)` with usable energy C, power P, seconds of a year Y and self-discharge s of it when new.
    pub fn years(&self, watts: f64) -> f64 {
        let emptied = self.joules * self.chemistry.usable / (watts * YEAR_SECONDS);
        life(emptied, self.chemistry.self_discharge, self.chemistry.shelf_years)
    }

    /// Why it cannot feed a device: the current of a packet is above that of its pulses, or the device's rest above what it feeds all
    /// the time.
    pub fn too_weak_for(&self, device: &Device) -> Option<TooWeak> {
        let needs = |watts: f64, most: Option<f64>| {
            let needed = watts / device.volts;
            most.filter(|most| needed > *most)
                .map(|most| TooWeak { needed, most })
        };
        let pulse = needs(device.highest_watts(), self.chemistry.pulse);
        pulse.or_else(|| needs(device.floor().watts, self.chemistry.continuous))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn self_discharge_alone_empties_a_battery() {
        let chemistry = Chemistry {
            self_discharge: 0.2,
            ..Chemistry::default()
        };
        let joules = 31_104.0;
        assert_eq!(Battery { joules, chemistry }.years(0.0), 5.0);
    }

    proptest! {
        #[test]
        fn no_life_is_above_the_shelf_life_and_none_grows_with_power_or_self_discharge(
            joules in 1.0..1e6_f64,
            self_discharge in 0.0..0.5_f64,
            shelf_years in 0.5..30.0_f64,
            usable in 0.1..=1.0_f64,
            watts in 0.0..1.0_f64,
            more in 1.0..10.0_f64,
        ) {
            let battery = |self_discharge| Battery {
                joules,
                chemistry: Chemistry { self_discharge, shelf_years, usable, ..Chemistry::default() },
            };
            let years = battery(self_discharge).years(watts);
            prop_assert!(years <= shelf_years && years > 0.0);
            prop_assert!(battery(self_discharge).years(watts * more) <= years);
            prop_assert!(battery((self_discharge * more).min(1.0)).years(watts) <= years);
        }
    }
}
