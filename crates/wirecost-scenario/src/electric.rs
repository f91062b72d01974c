//! Electrical quantities and prices as files and flags write them.

use std::str::FromStr;

use wirecost_energy::{Battery, Chemistry};
use wirecost_results::value::ValueError;

/// Splits a text into a number that is not negative and its unit.
fn split<'a>(text: &'a str, expected: &'static str) -> Result<(f64, &'a str), ValueError> {
    let text = text.trim();
    let end = text.find(|letter: char| !(letter.is_ascii_digit() || ".-+".contains(letter)));
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let number: f64 = number.parse().map_err(|_| ValueError::form(text, expected))?;
    if number < 0.0 {
        return Err(ValueError::range("0 or more", text));
    }
    Ok((number, unit.trim()))
}

/// A number in one of some units.
pub(crate) fn quantity(text: &str, units: &[(&str, f64)], expected: &'static str) -> Result<f64, ValueError> {
    let (number, unit) = split(text, expected)?;
    let factor = units
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, factor)| factor);
    factor
        .map(|factor| number * factor)
        .ok_or_else(|| ValueError::form(text, expected))
}

/// Units of current, as factors to amperes.
pub(crate) const CURRENTS: [(&str, f64); 4] = [("nA", 1e-9), ("uA", 1e-6), ("mA", 1e-3), ("A", 1.0)];

/// Units of power, as factors to watts.
pub(crate) const POWERS: [(&str, f64); 3] = [("uW", 1e-6), ("mW", 1e-3), ("W", 1.0)];

/// Units of voltage, as factors to volts.
pub(crate) const VOLTAGES: [(&str, f64); 2] = [("mV", 1e-3), ("V", 1.0)];

/// Units of frequency, as factors to hertz.
pub(crate) const FREQUENCIES: [(&str, f64); 4] = [("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9)];

/// A power, or a current at the supply's voltage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Draw {
    /// Watts.
    Power(f64),
    /// Amperes.
    Current(f64),
}

impl Draw {
    /// Watts at a voltage.
    pub fn watts(self, volts: f64) -> f64 {
        match self {
            Self::Power(watts) => watts,
            Self::Current(amperes) => amperes * volts,
        }
    }
}

/// Reads a power or a current: `90mW`, `2.7uA`.
///
/// # Errors
/// It is neither, has no unit, or is negative.
pub fn draw(text: &str) -> Result<Draw, ValueError> {
    const EXPECTED: &str = "a current or a power: write 2.7uA, 283mA or 90mW";
    let unit = split(text, EXPECTED)?.1;
    if unit.ends_with('W') {
        quantity(text, &POWERS, EXPECTED).map(Draw::Power)
    } else {
        quantity(text, &CURRENTS, EXPECTED).map(Draw::Current)
    }
}

/// Reads a current: `20mA`. Returns amperes.
///
/// # Errors
/// It is not a current, or 0.
pub fn current(text: &str) -> Result<f64, ValueError> {
    above_zero(quantity(text, &CURRENTS, "a current: write 20mA")?, text)
}

/// Reads a voltage: `3.3V`. Returns volts.
///
/// # Errors
/// It is not a voltage, or 0.
pub fn voltage(text: &str) -> Result<f64, ValueError> {
    let volts = quantity(text, &VOLTAGES, "a voltage: write 3.3V")?;
    above_zero(volts, text)
}

/// Reads a frequency: `80MHz`. Returns hertz.
///
/// # Errors
/// It is not a frequency, or 0.
pub fn frequency(text: &str) -> Result<f64, ValueError> {
    above_zero(quantity(text, &FREQUENCIES, "a frequency: write 80MHz")?, text)
}

/// Reads a transmit power: `23dBm`, `-5dBm`. Returns decibel milliwatts.
///
/// # Errors
/// It is not one from -50 to 50 dBm.
pub fn decibel_milliwatts(text: &str) -> Result<f64, ValueError> {
    let wrong = || ValueError::form(text, "a transmit power: write 23dBm");
    let number = text.trim().strip_suffix("dBm").ok_or_else(wrong)?;
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    (-50.0..=50.0)
        .contains(&number)
        .then_some(number)
        .ok_or_else(|| ValueError::range("from -50dBm to 50dBm", text))
}

/// Reads a number that is not negative, without a unit.
///
/// # Errors
/// It is not such a number.
pub fn count(text: &str) -> Result<f64, ValueError> {
    quantity(text, &[("", 1.0)], "a number")
}

/// Reads a price: `0.40 EUR`. Returns the amount and the currency.
///
/// # Errors
/// It has no currency of three letters, or is negative.
pub fn price(text: &str) -> Result<(f64, String), ValueError> {
    const EXPECTED: &str = "a price with its currency: write 0.40 EUR";
    let (amount, currency) = split(text, EXPECTED)?;
    let is_code = currency.len() == 3 && currency.bytes().all(|letter| letter.is_ascii_uppercase());
    is_code
        .then(|| (amount, currency.to_owned()))
        .ok_or_else(|| ValueError::form(text, EXPECTED))
}

/// A value above 0.
pub(crate) fn above_zero(value: f64, text: &str) -> Result<f64, ValueError> {
    (value > 0.0)
        .then_some(value)
        .ok_or_else(|| ValueError::range("above 0", text))
}

/// A battery as `2400mAh@3.6V`, without its chemistry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatterySize {
    /// Ampere hours.
    pub ampere_hours: f64,
    /// Volts, by which the charge is an energy.
    pub volts: f64,
}

impl BatterySize {
    /// The battery of a kind of cells.
    pub const fn battery(self, chemistry: Chemistry) -> Battery {
        Battery {
            joules: self.ampere_hours * 3_600.0 * self.volts,
            volts: self.volts,
            chemistry,
        }
    }
}

impl FromStr for BatterySize {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        const EXPECTED: &str = "a battery: write 2400mAh@3.6V";
        let (charge, volts) = text
            .split_once('@')
            .ok_or_else(|| ValueError::form(text, EXPECTED))?;
        let ampere_hours = quantity(charge, &[("mAh", 1e-3), ("Ah", 1.0)], EXPECTED)?;
        Ok(Self {
            ampere_hours: above_zero(ampere_hours, charge)?,
            volts: voltage(volts)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_units_and_are_not_negative() {
        assert_eq!(draw("90mW").map(|draw| draw.watts(3.0)), Ok(0.09));
        assert_eq!(draw("0.5 A").map(|draw| draw.watts(3.0)), Ok(1.5));
        assert_eq!(price("0.40 EUR"), Ok((0.4, "EUR".to_owned())));
        for wrong in ["283", "mA", "", "1e3mA", "3mJ"] {
            assert!(draw(wrong).is_err(), "{wrong}");
        }
        let negative = draw("-5mA").map_err(|error| error.to_string());
        assert_eq!(negative, Err("must be 0 or more, got -5mA".to_owned()));
        assert!((current("20mA").expect("a current") - 0.02).abs() < 1e-12);
        assert!(current("20mW").is_err() && current("0mA").is_err());
        assert!(price("0.40").is_err() && price("-1 EUR").is_err() && voltage("0V").is_err());
    }

    #[test]
    fn a_battery_is_charge_at_a_voltage() {
        let size: BatterySize = "2400mAh@3.6V".parse().expect("a battery");
        assert!((size.battery(Chemistry::default()).joules - 31_104.0).abs() < 1e-6);
        for wrong in ["2400mAh", "2400@3.6V", "0mAh@3.6V", "2400mAh@3.6"] {
            assert!(wrong.parse::<BatterySize>().is_err(), "{wrong}");
        }
    }
}
