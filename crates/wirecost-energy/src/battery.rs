//! Battery life.

use wirecost_proto::calendar::YEAR_SECONDS;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn self_discharge_alone_empties_a_battery() {
        let battery = Battery {
            joules: 31_104.0,
            self_discharge: 0.02,
        };
        assert_eq!(battery.years(0.0), Some(50.0));
    }
}
