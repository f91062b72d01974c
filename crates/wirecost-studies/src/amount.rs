//! Numbers with units, as publications print them: `14.2ms`, `1.8 uJ`, `72.2 Mbit/s`, `19.6`.

use std::fmt;
use std::ops::{Div, Mul};
pub use wirecost_proto::shown::number as digits;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wirecost_proto::calendar;
use wirecost_results::catalogue::Quantity;

/// Exponents of second, bit, joule and coulomb. A number without a unit has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dimension([i8; 4]);

impl Dimension {
    /// The unit that programs read amounts in: bytes, not bits, and otherwise the base unit. Empty for plain numbers.
    pub(crate) const fn unit(self) -> &'static str {
        match self.0 {
            [1, 0, 0, 0] => "s",
            [0, 1, 0, 0] => "B",
            [-1, 1, 0, 0] => "bit/s",
            [-1, 0, 0, 0] => "/s",
            [0, 0, 1, 0] => "J",
            [-1, 0, 1, 0] => "W",
            [0, 0, 0, 1] => "C",
            [-1, 0, 0, 1] => "A",
            [0, 0, 1, -1] => "V",
            _ => "",
        }
    }

    /// The dimension that has this unit; `None` of a unit that [`Self::unit`] does not give.
    pub(crate) fn from_unit(unit: &str) -> Option<Self> {
        Self::WITH_UNITS
            .into_iter()
            .find(|dimension| dimension.unit() == unit)
    }

    /// Every dimension that [`Self::unit`] has a text of, and plain numbers.
    const WITH_UNITS: [Self; 10] = [
        Self::NONE,
        Self::TIME,
        Self::DATA,
        Self::BIT_RATE,
        Self::RATE,
        Self::ENERGY,
        Self::POWER,
        Self::CHARGE,
        Self::CURRENT,
        Self::VOLTAGE,
    ];

    /// What the ticks of an axis are round numbers of, in base units: data is counted in bytes.
    pub(crate) fn step(self) -> f64 {
        if self == Self::DATA { 8.0 } else { 1.0 }
    }

    /// A plain number, or a share.
    pub const NONE: Self = Self([0, 0, 0, 0]);
    /// Seconds.
    pub const TIME: Self = Self([1, 0, 0, 0]);
    /// Bits.
    pub const DATA: Self = Self([0, 1, 0, 0]);
    /// Bits per second.
    pub const BIT_RATE: Self = Self([-1, 1, 0, 0]);
    /// Per second.
    pub const RATE: Self = Self([-1, 0, 0, 0]);
    /// Joules.
    pub const ENERGY: Self = Self([0, 0, 1, 0]);
    /// Watts.
    pub const POWER: Self = Self([-1, 0, 1, 0]);
    const CHARGE: Self = Self([0, 0, 0, 1]);
    const CURRENT: Self = Self([-1, 0, 0, 1]);
    const VOLTAGE: Self = Self([0, 0, 1, -1]);

    /// The dimension of a metric's quantity.
    pub const fn from_quantity(quantity: Quantity) -> Self {
        match quantity {
            Quantity::Time => Self::TIME,
            Quantity::Bytes => Self::DATA,
            Quantity::PerSecond => Self::RATE,
            Quantity::BitRate => Self::BIT_RATE,
            Quantity::Energy => Self::ENERGY,
            Quantity::Number | Quantity::Share | Quantity::Money => Self::NONE,
        }
    }

    fn combined(self, other: Self, sign: i8) -> Self {
        Self(std::array::from_fn(|at| self.0[at] + sign * other.0[at]))
    }
}

/// A number in the base units of its dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amount {
    /// The number.
    pub value: f64,
    /// Its dimension.
    pub dimension: Dimension,
}

/// Why a text is not an amount, or amounts cannot be combined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// The text does not begin with a number.
    #[error("{0:?} is not a number: write 14.2ms, 1734B, 1.8uJ or 19.6")]
    Number(String),
    /// The unit is unknown.
    #[error("{0:?} is not a unit: it knows {units}", units = unit_names())]
    Unit(String),
    /// Addition of amounts of different dimensions.
    #[error("{0} and {1} have different units")]
    Different(String, String),
}

/// Units with their dimension and their size in base units. Of two units of one dimension, the larger one is first.
const UNITS: [(&str, Dimension, f64); 42] = [
    ("year", Dimension::TIME, calendar::YEAR_SECONDS),
    ("month", Dimension::TIME, calendar::MONTH_SECONDS),
    ("d", Dimension::TIME, calendar::DAY_SECONDS),
    ("h", Dimension::TIME, 3_600.0),
    ("min", Dimension::TIME, 60.0),
    ("s", Dimension::TIME, 1.0),
    ("ms", Dimension::TIME, 1e-3),
    ("us", Dimension::TIME, 1e-6),
    ("ns", Dimension::TIME, 1e-9),
    ("GB", Dimension::DATA, 8e9),
    ("MB", Dimension::DATA, 8e6),
    ("kB", Dimension::DATA, 8e3),
    ("KB", Dimension::DATA, 8e3),
    ("B", Dimension::DATA, 8.0),
    ("Gbit", Dimension::DATA, 1e9),
    ("Mbit", Dimension::DATA, 1e6),
    ("kbit", Dimension::DATA, 1e3),
    ("bit", Dimension::DATA, 1.0),
    ("Wh", Dimension::ENERGY, 3_600.0),
    ("mWh", Dimension::ENERGY, 3.6),
    ("kJ", Dimension::ENERGY, 1e3),
    ("J", Dimension::ENERGY, 1.0),
    ("mJ", Dimension::ENERGY, 1e-3),
    ("uJ", Dimension::ENERGY, 1e-6),
    ("nJ", Dimension::ENERGY, 1e-9),
    ("W", Dimension::POWER, 1.0),
    ("mW", Dimension::POWER, 1e-3),
    ("uW", Dimension::POWER, 1e-6),
    ("Ah", Dimension::CHARGE, 3_600.0),
    ("mAh", Dimension::CHARGE, 3.6),
    ("A", Dimension::CURRENT, 1.0),
    ("mA", Dimension::CURRENT, 1e-3),
    ("uA", Dimension::CURRENT, 1e-6),
    ("V", Dimension::VOLTAGE, 1.0),
    ("mV", Dimension::VOLTAGE, 1e-3),
    ("%", Dimension::NONE, 0.01),
    ("x", Dimension::NONE, 1.0),
    ("msg", Dimension::NONE, 1.0),
    ("M", Dimension::NONE, 1e6),
    ("k", Dimension::NONE, 1e3),
    ("RTT", Dimension::NONE, 1.0),
    ("", Dimension::NONE, 1.0),
];

fn unit_names() -> String {
    let names = UNITS.iter().map(|(name, ..)| *name);
    names
        .filter(|name| !name.is_empty())
        .collect::<Vec<_>>()
        .join(", ")
}

impl Amount {
    /// A plain number.
    pub const fn number(value: f64) -> Self {
        Self::new(value, Dimension::NONE)
    }

    /// A time, given in seconds.
    pub const fn seconds(value: f64) -> Self {
        Self::new(value, Dimension::TIME)
    }

    /// An amount in base units.
    pub const fn new(value: f64, dimension: Dimension) -> Self {
        Self { value, dimension }
    }

    /// A figure of a metric, in the metric's base unit.
    pub fn of_figure(figure: f64, quantity: Quantity) -> Self {
        let bits = if quantity == Quantity::Bytes { 8.0 } else { 1.0 };
        Self::new(figure * bits, Dimension::from_quantity(quantity))
    }

    /// The number in the unit that programs read ([`Dimension::unit`]).
    pub(crate) fn in_unit(self) -> f64 {
        self.value / self.dimension.step()
    }

    /// The amount of a dimension that a plain number gives in its unit: the reverse of [`Self::in_unit`].
    pub(crate) fn given_in_unit(number: f64, dimension: Dimension) -> Self {
        Self::new(number * dimension.step(), dimension)
    }

    /// One of a unit, which may be compound: `Mbit/s`, `/s`.
    ///
    /// # Errors
    /// The unit is unknown.
    pub fn unit(name: &str) -> Result<Self, AmountError> {
        let one = |name: &str| {
            let found = UNITS.iter().find(|(known, ..)| *known == name);
            found
                .map(|(_, dimension, size)| Self::new(*size, *dimension))
                .ok_or_else(|| AmountError::Unit(name.to_owned()))
        };
        let mut parts = name.split('/').map(str::trim);
        let first = one(parts.next().unwrap_or_default())?;
        parts.try_fold(first, |unit, part| Ok(unit / one(part)?))
    }

    /// The sum of two amounts of one dimension.
    ///
    /// # Errors
    /// They have different dimensions.
    pub fn plus(self, other: Self) -> Result<Self, AmountError> {
        self.same(other, |one, other| one + other)
    }

    /// The difference of two amounts of one dimension.
    ///
    /// # Errors
    /// They have different dimensions.
    pub fn minus(self, other: Self) -> Result<Self, AmountError> {
        self.same(other, |one, other| one - other)
    }

    fn same(self, other: Self, combine: fn(f64, f64) -> f64) -> Result<Self, AmountError> {
        if self.dimension != other.dimension {
            return Err(AmountError::Different(self.to_string(), other.to_string()));
        }
        Ok(Self::new(combine(self.value, other.value), self.dimension))
    }
}

/// As a number in the unit that a field beside it names.
impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.in_unit())
    }
}

/// As a plain number: the unit is in the field beside it (`Amount::given_in_unit`).
impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self::number)
    }
}

impl Mul for Amount {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self::new(
            self.value * other.value,
            self.dimension.combined(other.dimension, 1),
        )
    }
}

impl Div for Amount {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        Self::new(
            self.value / other.value,
            self.dimension.combined(other.dimension, -1),
        )
    }
}

impl Mul<f64> for Amount {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self::new(self.value * factor, self.dimension)
    }
}

impl fmt::Display for Amount {
    /// In the unit that leaves one to three digits before the point, with at most four significant digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(names) = display_units(self.dimension) else {
            return f.write_str(&digits(self.value));
        };
        let size = |name: &str| Self::unit(name).map_or(1.0, |unit| unit.value);
        let fits = |name: &&&str| self.value.abs() >= size(name) * 0.999_95;
        let name = names.iter().find(fits).or_else(|| names.last());
        let name = name.copied().unwrap_or_default();
        let space = if name.starts_with('/') { "" } else { " " };
        write!(f, "{}{space}{name}", digits(self.value / size(name)))
    }
}

/// The units that a dimension is printed in, the largest first.
const fn display_units(dimension: Dimension) -> Option<&'static [&'static str]> {
    match dimension.0 {
        [1, 0, 0, 0] => Some(&["d", "h", "s", "ms", "us", "ns"]),
        // Bytes are counted, so they are printed in full up to a megabyte.
        [0, 1, 0, 0] => Some(&["GB", "MB", "B"]),
        [-1, 1, 0, 0] => Some(&["Gbit/s", "Mbit/s", "kbit/s", "bit/s"]),
        [-1, 0, 0, 0] => Some(&["/s"]),
        [0, 0, 1, 0] => Some(&["kJ", "J", "mJ", "uJ", "nJ"]),
        [-1, 0, 1, 0] => Some(&["W", "mW"]),
        [0, 0, 0, 1] => Some(&["Ah", "mAh"]),
        [-1, 0, 0, 1] => Some(&["A", "mA", "uA"]),
        [0, 0, 1, -1] => Some(&["V", "mV"]),
        _ => None,
    }
}

/// A published number: it stands for every value that rounds to its last digit.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// As printed.
    pub text: String,
    /// Its value.
    pub amount: Amount,
    /// Half of its last digit, in base units.
    pub half_digit: f64,
    /// Whether it is the least: any larger number is the same statement.
    pub is_least: bool,
}

impl Published {
    /// Reads a number with its unit. `1,734 B` is 1734 bytes, and `>=10` at least ten.
    ///
    /// # Errors
    /// It is not a number, or its unit is unknown.
    pub fn read(text: &str) -> Result<Self, AmountError> {
        let plain: String = text.chars().filter(|letter| *letter != ',').collect();
        let least = plain.trim().strip_prefix(">=");
        let plain = least.unwrap_or(&plain).trim();
        let end = plain.find(|letter: char| !letter.is_ascii_digit() && !matches!(letter, '.' | '-'));
        let (number, unit) = plain.split_at(end.unwrap_or(plain.len()));
        let value = number
            .parse::<f64>()
            .map_err(|_| AmountError::Number(text.to_owned()))?;
        let unit = Amount::unit(unit.trim())?;
        // A published 1.20 is known to its zero: the text says how far it was rounded, and the number does not.
        let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let last_digit = 10f64.powi(-i32::try_from(decimals).unwrap_or_default());
        Ok(Self {
            text: text.trim().replace(">=", "≥"),
            amount: unit * value,
            half_digit: 0.5 * last_digit * unit.value,
            is_least: least.is_some(),
        })
    }
}

impl Published {
    /// An amount in the unit that this number is published in.
    pub fn unit_of(&self, amount: Amount) -> String {
        let begins = |letter: &char| letter.is_ascii_alphabetic() || matches!(letter, '%' | '/');
        let unit: String = self.text.chars().skip_while(|letter| !begins(letter)).collect();
        let size = Amount::unit(unit.trim()).map_or(1.0, |unit| unit.value);
        let space = if unit.is_empty() || unit.starts_with('/') {
            ""
        } else {
            " "
        };
        format!("{}{space}{}", digits(amount.value / size), unit.trim())
    }
}

impl fmt::Display for Published {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Published {
        Published::read(text).expect(text)
    }

    #[test]
    fn a_published_number_keeps_its_digits() {
        let number = read("14.2ms");
        assert!((number.amount.value - 0.0142).abs() < 1e-12 && number.amount.dimension == Dimension::TIME);
        assert!((number.half_digit - 0.00005).abs() < 1e-12);
        assert_eq!(
            read("1,734 B").amount,
            Amount::new(1_734.0 * 8.0, Dimension::DATA)
        );
        assert_eq!(read("24500/s").amount.dimension, Dimension::RATE);
        assert!((read("25 %").amount.value - 0.25).abs() < 1e-12);
        assert!((read("19.6").half_digit - 0.05).abs() < 1e-12);
        let least = read(">=10");
        assert!(least.is_least && (least.amount.value - 10.0).abs() < 1e-12);
        assert_eq!((least.to_string().as_str(), read("10").is_least), ("≥10", false));
    }

    #[test]
    fn a_unit_that_is_unknown_is_named() {
        assert_eq!(
            Published::read("3 furlong"),
            Err(AmountError::Unit("furlong".into()))
        );
        assert_eq!(Published::read("fast"), Err(AmountError::Number("fast".into())));
    }

    #[test]
    fn units_combine_to_other_units() {
        let airtime = read("170us").amount * read("150mA").amount * read("3.3V").amount;
        assert_eq!(airtime.dimension, Dimension::ENERGY);
        assert_eq!(airtime.to_string(), "84.15 uJ");
        assert_eq!(
            (read("5940J").amount / read("1500mAh").amount).to_string(),
            "1.1 V"
        );
        assert!(read("1s").amount.plus(read("1B").amount).is_err());
    }

    #[test]
    fn amounts_are_printed_in_units_that_fit() {
        for (amount, text) in [
            (Amount::seconds(0.4), "400 ms"),
            (Amount::seconds(0.0142), "14.2 ms"),
            (Amount::seconds(5.9), "5.9 s"),
            (Amount::new(22_112.0 * 8.0, Dimension::DATA), "22,112 B"),
            (Amount::new(15_474_263.0 * 8.0, Dimension::DATA), "15.47 MB"),
            (Amount::new(24_500.0, Dimension::RATE), "24,500/s"),
            (Amount::number(19.57), "19.57"),
            (Amount::number(0.0), "0"),
        ] {
            assert_eq!(amount.to_string(), text);
        }
    }
}
