//! Quantities with units, as separate types. They are written and parsed with their unit; a number without a unit is an error.

use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use crate::calendar::{DAY_SECONDS, YEAR_SECONDS};
use crate::shown;

/// A text that is not a quantity with a unit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// A number without a unit.
    #[error("{text:?} has no unit: write {example}")]
    MissingUnit {
        /// What was given.
        text: String,
        /// A well-formed quantity.
        example: &'static str,
    },
    /// A unit that this quantity is not measured in.
    #[error("{unit:?} in {text:?} is not a unit of {quantity}: use one of {units}")]
    UnknownUnit {
        /// What was given.
        text: String,
        /// The unit found in it.
        unit: String,
        /// What was expected.
        quantity: &'static str,
        /// The valid units.
        units: &'static str,
    },
    /// A text without a number before the unit.
    #[error("{text:?} does not start with a number: write {example}")]
    NotANumber {
        /// What was given.
        text: String,
        /// A well-formed quantity.
        example: &'static str,
    },
    /// A number outside the quantity's range.
    #[error("{text:?} is outside the range of {quantity}: {range}")]
    OutOfRange {
        /// What was given.
        text: String,
        /// What was expected.
        quantity: &'static str,
        /// The range allowed.
        range: &'static str,
    },
}

/// A count of bytes. KB = kB = 1,000 B, MB = 1,000,000 B.
///
/// ```
/// use wirecost_proto::ByteSize;
/// assert_eq!("10kB".parse::<ByteSize>().unwrap().bytes(), 10_000);
/// assert!("10".parse::<ByteSize>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(u64);

impl ByteSize {
    /// `bytes` bytes.
    pub const fn from_bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The count in bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

const SIZE: Quantity = Quantity {
    name: "a size",
    example: "128B or 10kB",
    units: &[
        ("B", 1.0),
        ("kB", 1e3),
        ("KB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
    ],
    unit_list: "B, kB, MB, GB, KiB, MiB",
    range: "0 B to 1 TB, whole bytes",
};

impl FromStr for ByteSize {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let bytes = SIZE.parse(text)?;
        if bytes > 1e12 || bytes != libm::floor(bytes) {
            return Err(SIZE.out_of_range(text));
        }
        Ok(Self(bytes as u64))
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, &[(1_000_000, "MB"), (1_000, "kB"), (1, "B")])
    }
}

/// A rate in bit/s; above 0.
///
/// ```
/// use wirecost_proto::BitRate;
/// assert_eq!("50kbit".parse::<BitRate>().unwrap().bits_per_second(), 50_000);
/// assert_eq!("50kbit/s".parse::<BitRate>().unwrap().to_string(), "50kbit");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(u64);

impl BitRate {
    /// `bits` bit/s, or `None` for 0.
    pub const fn from_bits_per_second(bits: u64) -> Option<Self> {
        if bits == 0 { None } else { Some(Self(bits)) }
    }

    /// The rate in bit/s.
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// How long `bytes` bytes take at this rate, rounded up to whole nanoseconds.
    pub const fn time_for(self, bytes: u64) -> Duration {
        let nanos = (bytes as u128 * 8 * 1_000_000_000).div_ceil(self.0 as u128);
        Duration::from_nanos(if nanos > u64::MAX as u128 {
            u64::MAX
        } else {
            nanos as u64
        })
    }
}

const RATE: Quantity = Quantity {
    name: "a bit rate",
    example: "50kbit or 1Mbit",
    units: &[
        ("bit", 1.0),
        ("kbit", 1e3),
        ("Mbit", 1e6),
        ("mbit", 1e6),
        ("Gbit", 1e9),
        ("gbit", 1e9),
    ],
    unit_list: "bit, kbit, Mbit, Gbit (per second)",
    range: "1 bit/s to 1 Tbit/s",
};

impl FromStr for BitRate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let bits = RATE.parse(text.strip_suffix("/s").unwrap_or(text))?;
        if !(1.0..=1e12).contains(&bits) {
            return Err(RATE.out_of_range(text));
        }
        Ok(Self(bits as u64))
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(
            f,
            self.0,
            &[
                (1_000_000_000, "Gbit"),
                (1_000_000, "Mbit"),
                (1_000, "kbit"),
                (1, "bit"),
            ],
        )
    }
}

/// A probability in [0, 1], written in percent.
///
/// ```
/// use wirecost_proto::Probability;
/// assert_eq!("5%".parse::<Probability>().unwrap().value(), 0.05);
/// assert!("101%".parse::<Probability>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Probability(f64);

impl Probability {
    /// Never.
    pub const ZERO: Self = Self(0.0);

    /// The probability `value`, or `None` outside [0, 1].
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// The probability as a number in [0, 1].
    pub const fn value(self) -> f64 {
        self.0
    }

    /// Whether it is exactly 0.
    pub const fn is_zero(self) -> bool {
        self.0 == 0.0
    }
}

const PROBABILITY: Quantity = Quantity {
    name: "a probability",
    example: "5%",
    units: &[("%", 1.0)],
    unit_list: "%",
    range: "0% to 100%",
};

impl FromStr for Probability {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let percent = PROBABILITY.parse(text)?;
        Self::new(percent / 100.0).ok_or_else(|| PROBABILITY.out_of_range(text))
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Percent of a parsed probability can carry a rounding error of one part in 2^53: round it away.
        write!(f, "{}%", libm::round(self.0 * 1e14) / 1e12)
    }
}

const TIME: Quantity = Quantity {
    name: "a time",
    example: "40ms or 15min",
    units: &[
        ("ns", 1.0),
        ("us", 1e3),
        ("µs", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("min", 60e9),
        ("h", 3_600e9),
        ("d", DAY_SECONDS * 1e9),
    ],
    unit_list: "ns, us, ms, s, min, h, d",
    range: "0 s to 100 years",
};

/// Parses a time with its unit, in whole nanoseconds.
///
/// # Errors
/// No unit, an unknown unit, a negative number or more than 100 years.
///
/// ```
/// use core::time::Duration;
/// assert_eq!(wirecost_proto::units::parse_duration("40ms"), Ok(Duration::from_millis(40)));
/// ```
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let nanos = TIME.parse(text)?;
    if nanos > 100.0 * YEAR_SECONDS * 1e9 {
        return Err(TIME.out_of_range(text));
    }
    Ok(Duration::from_nanos(libm::round(nanos) as u64))
}

/// Displays a time in the largest unit that gives a whole number.
pub struct DisplayDuration(pub Duration);

impl fmt::Display for DisplayDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX);
        let units = [
            (60_000_000_000, "min"),
            (1_000_000_000, "s"),
            (1_000_000, "ms"),
            (1_000, "us"),
            (1, "ns"),
        ];
        let (divisor, unit) = units
            .into_iter()
            .find(|(divisor, _)| nanos != 0 && nanos.is_multiple_of(*divisor))
            .unwrap_or((1_000_000, "ms"));
        write!(f, "{}{unit}", nanos / divisor)
    }
}

/// `noun` for one, and its regular plural for any other number: `device`, `devices`, `processes`.
///
/// ```
/// use wirecost_proto::units::plural;
/// assert_eq!([0, 1, 2].map(|count| plural(count, "process")), ["processes", "process", "processes"]);
/// ```
pub fn plural(count: u64, noun: &str) -> String {
    let ending = match count {
        1 => "",
        _ if noun.ends_with('s') => "es",
        _ => "s",
    };
    [noun, ending].concat()
}

/// A number and what it counts: `1 device`, `20,000 devices`.
///
/// ```
/// assert_eq!(wirecost_proto::units::counted(20_000, "device"), "20,000 devices");
/// ```
pub fn counted(count: u64, noun: &str) -> String {
    alloc::format!("{} {}", shown::grouped(count), plural(count, noun))
}

/// The units of one quantity and the words of its errors.
struct Quantity {
    name: &'static str,
    example: &'static str,
    units: &'static [(&'static str, f64)],
    unit_list: &'static str,
    range: &'static str,
}

impl Quantity {
    /// The number in `text` times its unit's factor; finite and not negative.
    fn parse(&self, text: &str) -> Result<f64, UnitError> {
        let text = text.trim();
        let split = text
            .find(|c: char| !matches!(c, '0'..='9' | '.' | '-' | '+'))
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let Ok(number) = number.parse::<f64>() else {
            return Err(UnitError::NotANumber {
                text: text.to_string(),
                example: self.example,
            });
        };
        let unit = unit.trim();
        if unit.is_empty() {
            return Err(UnitError::MissingUnit {
                text: text.to_string(),
                example: self.example,
            });
        }
        let Some((_, factor)) = self.units.iter().find(|(name, _)| *name == unit) else {
            return Err(UnitError::UnknownUnit {
                text: text.to_string(),
                unit: unit.to_string(),
                quantity: self.name,
                units: self.unit_list,
            });
        };
        let value = number * factor;
        if !value.is_finite() || value.is_sign_negative() {
            return Err(self.out_of_range(text));
        }
        Ok(value)
    }

    fn out_of_range(&self, text: &str) -> UnitError {
        UnitError::OutOfRange {
            text: text.to_string(),
            quantity: self.name,
            range: self.range,
        }
    }
}

fn scaled(f: &mut fmt::Formatter<'_>, value: u64, units: &[(u64, &str)]) -> fmt::Result {
    let fits = |(divisor, _): &&(u64, &str)| value >= *divisor && value.is_multiple_of(*divisor);
    match units.iter().find(fits).or(units.last()) {
        Some((divisor, unit)) => write!(f, "{}{unit}", value / divisor),
        None => write!(f, "{value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_survive_print_and_parse() {
        for text in ["0B", "128B", "10kB", "1MB", "1500B"] {
            assert_eq!(text.parse::<ByteSize>().unwrap().to_string(), text);
        }
        for text in ["50kbit", "1Mbit", "9600bit", "1Gbit"] {
            assert_eq!(text.parse::<BitRate>().unwrap().to_string(), text);
        }
        for text in ["0%", "5%", "0.1%", "12.5%", "100%"] {
            assert_eq!(text.parse::<Probability>().unwrap().to_string(), text);
        }
        for text in ["0ms", "40ms", "25us", "15min", "1s", "12500us"] {
            assert_eq!(DisplayDuration(parse_duration(text).unwrap()).to_string(), text);
        }
    }

    #[test]
    fn a_number_without_unit_is_an_error_with_an_example() {
        let error = "128".parse::<ByteSize>().unwrap_err();
        assert_eq!(error.to_string(), "\"128\" has no unit: write 128B or 10kB");
    }

    #[test]
    fn absurd_quantities_are_refused() {
        assert!("-1B".parse::<ByteSize>().is_err());
        assert!("1.5B".parse::<ByteSize>().is_err());
        assert!("0kbit".parse::<BitRate>().is_err());
        assert!("5".parse::<Probability>().is_err());
        assert!("120%".parse::<Probability>().is_err());
        assert!(parse_duration("-5ms").is_err());
        assert!(parse_duration("200000d").is_err());
        assert!(parse_duration("ms").is_err());
        assert!(parse_duration("5 parsecs").is_err());
    }

    #[test]
    fn a_rate_rounds_serialisation_time_up() {
        let rate: BitRate = "3bit".parse().unwrap();
        assert_eq!(rate.time_for(3), Duration::from_secs(8));
        assert_eq!(rate.time_for(1).as_nanos(), 2_666_666_667);
    }
}
