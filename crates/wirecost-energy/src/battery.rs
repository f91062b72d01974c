//! Battery life.

use core::fmt;

use wirecost_proto::battery::{SELF_DISCHARGE, SHELF_LIFE_YEARS, life};
use wirecost_proto::calendar::YEAR_SECONDS;

use crate::device::Device;

/// What feeds a device: so much energy, at a voltage, of a kind of cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Battery {
    /// Its energy when new, in joules: ampere hours x 3,600 x volts.
    pub joules: f64,
    /// Its voltage: the current that it feeds is a device's power over it.
    pub volts: f64,
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
    /// What the device needs at the voltage of the cell, in amperes.
    pub needed: f64,
    /// The cell's limit.
    pub most: f64,
    /// Whether the device needs it for longer than a packet: a capacitor does not help then.
    pub is_lasting: bool,
}

impl fmt::Display for TooWeak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [needed, most] = [self.needed, self.most].map(|amperes| amperes * 1e3);
        let (lasting, instead) = match self.is_lasting {
            true => (" for longer than a packet", "a spiral cell or a larger one"),
            false => ("", "one with a capacitor or a spiral cell"),
        };
        write!(
            f,
            "this cell cannot feed {needed:.0} mA{lasting} (at most {most:.0} mA): take {instead}"
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

    /// Why it cannot feed a device: a packet takes more current than its pulses, or the wake-up, a tail or the rest, which are longer,
    /// more than it feeds all the time.
    pub fn too_weak_for(&self, device: &Device) -> Option<TooWeak> {
        let above = |watts: f64, most: Option<f64>, is_lasting| {
            let needed = watts / self.volts;
            most.filter(|most| needed > *most).map(|most| TooWeak {
                needed,
                most,
                is_lasting,
            })
        };
        // First: packets take the most current of all.
        above(device.packet_watts(), self.chemistry.pulse, false)
            .or_else(|| above(device.lasting_watts(), self.chemistry.continuous, true))
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
        let battery = Battery {
            joules: 31_104.0,
            volts: 3.6,
            chemistry,
        };
        assert_eq!(battery.years(0.0), 5.0);
    }

    #[test]
    fn packets_are_pulses_and_what_lasts_longer_is_none_both_at_the_voltage_of_the_cell() {
        let device = crate::network::tests::modem();
        let weak = |volts, pulse, continuous| {
            let chemistry = Chemistry {
                pulse,
                continuous,
                ..Chemistry::default()
            };
            let battery = Battery {
                joules: 1.0,
                volts,
                chemistry,
            };
            battery.too_weak_for(&device).map(|weak| weak.to_string())
        };
        // It sends at 0.4 W: 100 mA of a cell of 4 V, 200 mA of one of 2 V. Its wake-up has 0.1 W for 2 s.
        assert_eq!(weak(4.0, Some(0.11), Some(0.03)), None);
        assert_eq!(
            weak(2.0, Some(0.11), None).as_deref(),
            Some("this cell cannot feed 200 mA (at most 110 mA): take one with a capacitor or a spiral cell")
        );
        assert_eq!(
            weak(4.0, Some(0.11), Some(0.02)).as_deref(),
            Some(
                "this cell cannot feed 25 mA for longer than a packet (at most 20 mA): take a spiral cell or a larger one"
            )
        );
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
                volts: 3.6,
                chemistry: Chemistry { self_discharge, shelf_years, usable, ..Chemistry::default() },
            };
            let years = battery(self_discharge).years(watts);
            prop_assert!(years <= shelf_years && years > 0.0);
            prop_assert!(battery(self_discharge).years(watts * more) <= years);
            prop_assert!(battery((self_discharge * more).min(1.0)).years(watts) <= years);
        }
    }
}
