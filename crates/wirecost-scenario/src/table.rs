//! The keys of one table of a scenario: unknown ones are errors, values have units, errors have lines.

use std::fmt::Display;
use std::time::Duration;

use wirecost_readings::MOST_READINGS;
pub use wirecost_results::value::{ValueError, parsed, time};
use wirecost_stack::name::nearest_of;

use super::error::ScenarioError;
use super::node::{Node, Value};

/// The highest rate per second: more than any generator reaches, and few enough to count one by one.
const HIGHEST_RATE: f64 = 10_000_000.0;

/// A table of a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    /// The prefix of its keys in errors, e.g. `link.`.
    prefix: &'a str,
    node: &'a Node,
}

/// The most values of a key.
pub const MAX_LIST: usize = 1_000;

/// Reads a value from its text.
pub type Read<T> = fn(&str) -> Result<T, ValueError>;

impl<'a> Table<'a> {
    /// The table with the keys that it may have; `prefix` is before its keys in errors.
    ///
    /// # Errors
    /// It is not a table, or has an unknown key.
    pub fn new(node: &'a Node, prefix: &'a str, keys: &[&'static str]) -> Result<Self, ScenarioError> {
        let Some(entries) = node.entries() else {
            let name = if prefix.is_empty() {
                "a scenario"
            } else {
                prefix.trim_end_matches('.')
            };
            let message = format!(
                "{name} must be a table of keys and values, this is {}",
                node.kind()
            );
            return Err(ScenarioError::new(&node.place, message)
                .with_hint(format!("the keys are {}", keys.join(", "))));
        };
        let unknown = entries.iter().find(|(key, _)| !keys.contains(&key.name.as_str()));
        match unknown {
            Some((key, _)) => {
                let message = format!("unknown key {:?}", format!("{prefix}{}", key.name));
                Err(ScenarioError::new(&key.place, message).with_hint(meant(&key.name, keys)))
            }
            None => Ok(Self { prefix, node }),
        }
    }

    /// A table whose keys have been checked.
    pub const fn at(node: &'a Node, prefix: &'a str) -> Self {
        Self { prefix, node }
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&'a Node> {
        self.node.get(key).filter(|node| node.value != Value::Null)
    }

    /// An error about a key, placed at its value, or at the table if it has none.
    pub fn error(&self, key: &str, message: impl Display) -> ScenarioError {
        let place = &self.node.get(key).unwrap_or(self.node).place;
        ScenarioError::new(place, format!("{}{key}: {message}", self.prefix))
    }

    /// The value of a key, read from its text.
    ///
    /// # Errors
    /// It is a list or a table, or cannot be read.
    pub fn one<T>(&self, key: &str, read: Read<T>) -> Result<Option<T>, ScenarioError> {
        self.get(key).map(|node| self.read(key, node, read)).transpose()
    }

    /// The value of a key that must be there.
    ///
    /// # Errors
    /// It is not there, is a list or a table, or cannot be read.
    pub fn required<T>(&self, key: &str, read: Read<T>) -> Result<T, ScenarioError> {
        let missing = || ScenarioError::new(&self.node.place, format!("{}{key} is missing", self.prefix));
        self.one(key, read)?.ok_or_else(missing)
    }

    /// The values of a key: one, or a list of them; empty where the key is not there.
    ///
    /// # Errors
    /// The list is empty, or a value cannot be read.
    pub fn many<T>(&self, key: &str, read: Read<T>) -> Result<Vec<T>, ScenarioError> {
        match self.get(key) {
            None => Ok(Vec::new()),
            Some(Node {
                value: Value::List(nodes),
                ..
            // An empty list would be nothing to run, or the default: each reader expects another one.
            }) if nodes.is_empty() => Err(self.error(key, "the list is empty")),
            Some(Node {
                value: Value::List(nodes),
                ..
            }) => nodes.iter().map(|node| self.read(key, node, read)).collect(),
            Some(node) => Ok(vec![self.read(key, node, read)?]),
        }
    }

    fn read<T>(&self, key: &str, node: &Node, read: Read<T>) -> Result<T, ScenarioError> {
        let at = |message: &dyn Display| {
            ScenarioError::new(&node.place, format!("{}{key}: {message}", self.prefix))
        };
        let Some(text) = node.scalar() else {
            let kind = node.kind();
            return Err(at(&format_args!("one value is expected, this is {kind}")));
        };
        read(&text).map_err(|error| at(&error))
    }
}

/// Each of `all` combined with each of `values`, which change first; `all` if there are no values. Stops at `most` + 1
/// combinations.
pub fn combined<T: Clone, V>(all: &[T], values: &[V], most: usize, with: fn(&mut T, &V)) -> Vec<T> {
    if values.is_empty() {
        return all.to_vec();
    }
    let each = |one: &T| {
        let one = one.clone();
        values.iter().map(move |value| {
            let mut changed = one.clone();
            with(&mut changed, value);
            changed
        })
    };
    all.iter().flat_map(each).take(most.saturating_add(1)).collect()
}

/// Sets a field where there is a value.
pub(crate) fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

/// Keys of other tools, with their names here.
const OTHERWISE: [(&str, &str); 6] = [
    ("latency", "rtt"),
    ("jitter", "delay_variation"),
    ("bandwidth", "rate"),
    ("link_rate", "rate"),
    ("packet_loss", "loss"),
    ("preset", "name"),
];

/// A hint for an unknown key: the nearest key, or all keys.
pub fn meant(key: &str, keys: &[&'static str]) -> String {
    let all = format!("the keys are {}", keys.join(", "));
    let other = OTHERWISE
        .iter()
        .find(|(other, own)| *other == key && keys.contains(own));
    if let Some((_, own)) = other {
        return format!("did you mean {own:?}?");
    }
    nearest_of(key, keys.iter().copied()).map_or(all, |name| format!("did you mean {name:?}?"))
}

/// Any text.
///
/// # Errors
/// Never.
pub fn text(text: &str) -> Result<String, ValueError> {
    Ok(text.to_owned())
}

/// `true` or `false`.
///
/// # Errors
/// It is neither.
pub fn flag(text: &str) -> Result<bool, ValueError> {
    text.parse().map_err(|_| ValueError::form(text, "true or false"))
}

/// A whole number.
///
/// # Errors
/// It is not a whole number, or too large for `T`.
pub fn whole<T: TryFrom<u64>>(text: &str) -> Result<T, ValueError> {
    let number = text.parse::<u64>().ok();
    number
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| ValueError::form(text, "a whole number, or is too large a one"))
}

/// Whole seconds, as in an MQTT keep-alive.
///
/// # Errors
/// It is not a time, not whole seconds, or above 65,535 s.
pub fn keep_alive(text: &str) -> Result<u16, ValueError> {
    let time = time(text)?;
    let seconds = u16::try_from(time.as_secs()).ok();
    seconds
        .filter(|seconds| Duration::from_secs(u64::from(*seconds)) == time)
        .ok_or_else(|| ValueError::form(text, "whole seconds up to 65535s"))
}

/// The digits of a number, and what a `k` (thousands) or an `M` (millions) behind them multiplies it by.
fn scaled(text: &str) -> (&str, u32) {
    [("k", 1_000), ("M", 1_000_000)]
        .into_iter()
        .find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, factor)))
        .unwrap_or((text, 1))
}

/// Reads a whole number of at least 1: `1500`, `50k`, `10M`.
///
/// # Errors
/// It is none, or larger than `T` holds.
pub fn count<T: TryFrom<u64>>(text: &str) -> Result<T, ValueError> {
    let must_be = |range| ValueError::range(range, text);
    let (digits, factor) = scaled(text);
    let number = digits.parse::<u64>().ok().filter(|number| *number > 0);
    let number = number.ok_or_else(|| must_be("a whole number of at least 1"))?;
    let number = number.checked_mul(u64::from(factor));
    number
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| must_be("smaller"))
}

/// Reads a number of devices: `1500`, `50k`, `10M`.
///
/// # Errors
/// It is not a whole number above 0.
pub fn clients(text: &str) -> Result<u32, ValueError> {
    count(text).map_err(|_| ValueError::form(text, "a number of devices: write 1500, 50k or 10M"))
}

/// Reads a rate: `5000/s`, `30/min`, `2/h`.
///
/// # Errors
/// It is not a rate, not above 0, or too high.
pub fn rate(text: &str) -> Result<f64, ValueError> {
    let wrong = || ValueError::form(text, "a rate: write 5000/s, 30/min or 2/h");
    let (number, unit) = text.split_once('/').ok_or_else(wrong)?;
    let seconds = match unit.trim() {
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3_600.0,
        _ => return Err(wrong()),
    };
    let (number, factor) = scaled(number.trim());
    // Rust also reads `inf`, `NaN` and `1e9`, which no rate is.
    let plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let rate = number
        .parse::<f64>()
        .ok()
        .filter(|_| plain)
        .map(|number| number * f64::from(factor) / seconds);
    let rate = rate.filter(|rate| *rate > 0.0).ok_or_else(wrong)?;
    if rate > HIGHEST_RATE {
        return Err(ValueError::range("at most 10000000/s", text));
    }
    Ok(rate)
}

/// A rate as [`rate`] reads it.
pub fn message_rate_text(rate: f64) -> String {
    format!("{rate}/s")
}

/// Readings per message, from 1 to 100,000.
///
/// # Errors
/// It is no whole number, or out of this range.
pub fn readings(text: &str) -> Result<u32, ValueError> {
    let number: u32 = whole(text)?;
    match number {
        0 => Err(ValueError::Refused("a message has at least 1 reading".to_owned())),
        1..=MOST_READINGS => Ok(number),
        _ => Err(ValueError::Refused(format!(
            "a message has at most {MOST_READINGS} readings"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_a_whole_number_of_at_least_one_perhaps_in_thousands_or_millions() {
        let counted = ["150", "50k", "10M"].map(|text| count::<u32>(text).ok());
        assert_eq!(counted, [Some(150), Some(50_000), Some(10_000_000)]);
        let refused = |text| count::<u32>(text).expect_err(text).to_string();
        for wrong in ["0", "-3", "1.5", "x", "", "k", "0M", "10kk", "10 M", "10m"] {
            let expected = format!("must be a whole number of at least 1, got {wrong}");
            assert_eq!(refused(wrong), expected);
        }
        assert_eq!(refused("4294967296"), "must be smaller, got 4294967296");
        assert_eq!(refused("4295M"), "must be smaller, got 4295M");
        assert_eq!(clients("10M"), Ok(10_000_000));
    }

    #[test]
    fn a_rate_may_be_in_thousands_or_millions() {
        assert_eq!(rate("40k/s").ok(), Some(40_000.0));
        assert_eq!(rate("1.5M/h").ok(), Some(1_500_000.0 / 3_600.0));
        assert_eq!(rate("1.5k/min").ok(), Some(25.0));
        for refused in ["k/s", "4kk/s", "4 k/s", "20000k/s", "4K/s", "-1k/s"] {
            assert!(rate(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn a_message_has_from_1_to_100000_readings() {
        assert_eq!(readings("1").ok(), Some(1));
        assert_eq!(readings("100000").ok(), Some(100_000));
        for refused in ["0", "100001", "-1", "1.5", "ten"] {
            assert!(readings(refused).is_err(), "{refused}");
        }
    }
}
