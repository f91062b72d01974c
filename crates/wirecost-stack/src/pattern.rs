//! Texts with placeholders: topics, client identifiers, user names, payloads.

use std::fmt::Write;
use std::str::FromStr;

use wirecost_proto::Rng;

use crate::run_tag::RunTag;

/// A text with placeholders for values that differ from device to device and from message to message.
///
/// | placeholder | represents |
/// |---|---|
/// | `%d` | the device's number, from 1 |
/// | `%n` | the message's number among those of its device, from 1 |
/// | `%t` | the time for which the message is intended, in milliseconds since 1970 |
/// | `%r` | eight random hexadecimal digits, the same in every run with the same seed |
/// | `%x` | the [tag](RunTag) of the run, which [`RunTag::fill`] puts in; without that, the one of a run that is alone |
/// | `%%` | a percent sign |
/// | `{device}`, `{n}` | other names of `%d` and `%n` |
///
/// A number can have a width: `%05d` has at least five digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Value(Value, usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Device,
    Message,
    Time,
    Random,
}

/// The values of the placeholders for one message.
#[derive(Clone, Copy, Debug, Default)]
pub struct Values {
    /// The device, from 0.
    pub device: u32,
    /// The message among the device's, from 0.
    pub message: u32,
    /// The time for which the message is intended, in milliseconds since 1970.
    pub unix_ms: u64,
    /// The seed of random digits.
    pub seed: u64,
}

impl Values {
    /// The values of a device, without a message.
    pub fn of_device(device: u32) -> Self {
        Self {
            device,
            ..Self::default()
        }
    }
}

/// A text that is not a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// A percent sign is not followed by a placeholder.
    #[error("% must be followed by d, n, t, r, x, % or a width, got {0:?}")]
    Placeholder(String),
    /// A width is too large.
    #[error("a number must have at most {MAXIMUM_WIDTH} digits, got {0}")]
    Width(usize),
    /// A text that belongs to a device has a placeholder for messages.
    #[error("only %d can stand here, got {0:?}: it is said once for each device")]
    OfMessage(String),
}

/// Digits of the widest number.
const MAXIMUM_WIDTH: usize = 20;

impl Pattern {
    /// The pattern of a text that belongs to a device: a topic filter, a client identifier, a user name.
    ///
    /// # Errors
    /// The text is not a pattern, or has placeholders for messages.
    pub fn of_device(text: &str) -> Result<Self, PatternError> {
        let pattern: Self = text.parse()?;
        match pattern.differs_by_message() {
            true => Err(PatternError::OfMessage(text.to_owned())),
            false => Ok(pattern),
        }
    }

    /// Whether devices have different texts.
    pub fn differs_by_device(&self) -> bool {
        self.has(&[Value::Device, Value::Random])
    }

    /// Whether messages of one device have different texts.
    pub fn differs_by_message(&self) -> bool {
        self.has(&[Value::Message, Value::Time, Value::Random])
    }

    /// Whether every message of every device has this text.
    pub fn is_constant(&self) -> bool {
        !self.differs_by_device() && !self.differs_by_message()
    }

    /// The length of the texts in bytes, where it is the same for the first `devices` devices and all their messages.
    pub fn length(&self, devices: u32) -> Option<u64> {
        let lengths = self.parts.iter().map(|part| match part {
            Part::Text(constant) => Some(constant.len()),
            Part::Value(value, width) => value.length(*width, devices),
        });
        let whole = lengths.sum::<Option<usize>>()?;
        Some(whole as u64)
    }

    fn has(&self, values: &[Value]) -> bool {
        let mut parts = self.parts.iter();
        parts.any(|part| matches!(part, Part::Value(value, _) if values.contains(value)))
    }

    /// Appends the text for `values` to `text`.
    pub fn render(&self, values: &Values, text: &mut String) {
        for part in &self.parts {
            match part {
                Part::Text(constant) => text.push_str(constant),
                Part::Value(value, width) => value.render(*width, values, text),
            }
        }
    }

    /// The text for `values`.
    pub fn text(&self, values: &Values) -> String {
        let mut text = String::new();
        self.render(values, &mut text);
        text
    }
}

impl Value {
    /// The length of the value in bytes, where it is always the same.
    fn length(self, width: usize, devices: u32) -> Option<usize> {
        let digits = |largest: u64| largest.to_string().len();
        let (least, most) = match self {
            Self::Device => (1, digits(devices.into())),
            Self::Message => (1, digits(1 << u32::BITS)),
            // Milliseconds since 1970 have 13 digits from 2001 to 2286.
            Self::Time => (13, 13),
            Self::Random => (8, 8),
        };
        (least.max(width) == most.max(width)).then_some(most.max(width))
    }

    fn render(self, width: usize, values: &Values, text: &mut String) {
        let number = match self {
            Self::Device => u64::from(values.device) + 1,
            Self::Message => u64::from(values.message) + 1,
            Self::Time => values.unix_ms,
            Self::Random => return random(width, values, text),
        };
        // Writing to a String cannot fail.
        let _ = write!(text, "{number:0width$}");
    }
}

/// Appends at least eight digits that follow from seed, device and message.
fn random(width: usize, values: &Values, text: &mut String) {
    let rng = Rng::new(values.seed).host(u64::from(values.device));
    let digits = rng.at(u64::from(values.message)) >> 32;
    let width = width.max(8);
    let _ = write!(text, "{digits:0width$x}");
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let mut parts = Vec::new();
        let mut constant = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['%', '{']) {
            let (before, found) = rest.split_at(at);
            constant.push_str(before);
            if let Some((value, after)) = named(found) {
                parts.extend(taken(&mut constant));
                parts.push(Part::Value(value, 0));
                rest = after;
                continue;
            }
            let Some(after) = found.strip_prefix('%') else {
                constant.push('{');
                rest = &found[1..];
                continue;
            };
            if let Some(after) = after.strip_prefix('%') {
                constant.push('%');
                rest = after;
                continue;
            }
            let (value, after) = placeholder(after)?;
            parts.extend(taken(&mut constant));
            parts.push(value);
            rest = after;
        }
        constant.push_str(rest);
        parts.extend(taken(&mut constant));
        Ok(Self { parts })
    }
}

/// The text so far, if there is any.
fn taken(constant: &mut String) -> Option<Part> {
    let text = std::mem::take(constant);
    (!text.is_empty()).then_some(Part::Text(text))
}

/// The placeholder with a name in braces that `text` begins with, and the rest of the text. Other braces are text.
fn named(text: &str) -> Option<(Value, &str)> {
    let names = [("{device}", Value::Device), ("{n}", Value::Message)];
    names
        .into_iter()
        .find_map(|(name, value)| Some((value, text.strip_prefix(name)?)))
}

/// The placeholder that `text` begins after its percent sign, and the rest of the text.
fn placeholder(text: &str) -> Result<(Part, &str), PatternError> {
    let after = text.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let width = text[..text.len() - after.len()].trim_start_matches('0');
    let value = match after.chars().next() {
        Some('d') => Value::Device,
        Some('n') => Value::Message,
        Some('t') => Value::Time,
        Some('r') => Value::Random,
        Some('x') if text.starts_with('x') => {
            return Ok((Part::Text(RunTag::ALONE.to_string()), &after[1..]));
        }
        _ => return Err(PatternError::Placeholder(format!("%{text}"))),
    };
    let width = match width {
        "" => 0,
        width => width.parse().unwrap_or(usize::MAX),
    };
    if width > MAXIMUM_WIDTH {
        return Err(PatternError::Width(width));
    }
    Ok((Part::Value(value, width), &after[1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: Values = Values {
        device: 6,
        message: 41,
        unix_ms: 1_700_000_000_123,
        seed: 1,
    };

    #[test]
    fn a_length_is_known_where_no_number_grows() {
        for (text, devices, length) in [
            ("reading", 1, Some(7)),
            ("%%%t/%r", 1, Some(1 + 13 + 1 + 8)),
            ("d%d", 9, Some(2)),
            ("d%d", 10, None),
            ("d%05d", 99_999, Some(6)),
            ("d%05d", 100_000, None),
            ("%n", 1, None),
            ("%010n %12r", 1, Some(10 + 1 + 12)),
        ] {
            let pattern: Pattern = text.parse().expect(text);
            assert_eq!(pattern.length(devices), length, "{text}");
            let values = |device, message| Values {
                device,
                message,
                unix_ms: 1_700_000_000_000,
                seed: 1,
            };
            let texts = [values(0, 0), values(devices - 1, 0), values(devices - 1, 1_000)];
            let lengths = texts.map(|values| pattern.text(&values).len() as u64);
            let is_one = lengths.iter().all(|other| *other == lengths[0]);
            assert_eq!(is_one.then_some(lengths[0]), length, "{text}");
        }
    }

    #[test]
    fn placeholders_stand_for_numbers_from_1() {
        for (pattern, text) in [
            ("test", "test"),
            ("", ""),
            ("t/%d/s", "t/7/s"),
            ("wc-%05d", "wc-00007"),
            ("%x%05d", "wc-00007"),
            ("%%x", "%x"),
            ("%d%n", "742"),
            ("{\"n\":%n,\"t\":%t}", "{\"n\":42,\"t\":1700000000123}"),
            ("100 %%", "100 %"),
            ("t/{device}/{n}", "t/7/42"),
            ("{\"n\":{n},\"d\":{d}}", "{\"n\":42,\"d\":{d}}"),
            ("%%{n}{", "%42{"),
            ("%%d", "%d"),
        ] {
            let parsed: Pattern = pattern.parse().expect(pattern);
            assert_eq!(parsed.text(&VALUES), text, "{pattern}");
        }
    }

    #[test]
    fn random_digits_follow_from_seed_device_and_message() {
        let pattern: Pattern = "%r".parse().expect("a pattern");
        let of = |device, message, seed| {
            pattern.text(&Values {
                device,
                message,
                seed,
                unix_ms: 0,
            })
        };
        assert_eq!(of(1, 2, 3), of(1, 2, 3));
        assert_eq!(of(1, 2, 3).len(), 8);
        for other in [of(2, 2, 3), of(1, 3, 3), of(1, 2, 4)] {
            assert_ne!(of(1, 2, 3), other);
        }
    }

    #[test]
    fn what_is_not_a_placeholder_is_an_error() {
        for text in ["%", "%y", "a%5", "%5%", "%5x", "100% sure"] {
            assert!(
                matches!(text.parse::<Pattern>(), Err(PatternError::Placeholder(_))),
                "{text}"
            );
        }
        assert_eq!("%21d".parse::<Pattern>(), Err(PatternError::Width(21)));
        assert!(matches!(
            "%99999999999999999999999d".parse::<Pattern>(),
            Err(PatternError::Width(_))
        ));
    }

    #[test]
    fn a_pattern_knows_what_it_differs_by() {
        for (text, device, message) in [
            ("t", false, false),
            ("%x", false, false),
            ("%d", true, false),
            ("%n", false, true),
            ("%t", false, true),
            ("%r", true, true),
        ] {
            let pattern: Pattern = text.parse().expect(text);
            assert_eq!(
                (pattern.differs_by_device(), pattern.differs_by_message()),
                (device, message),
                "{text}"
            );
            assert_eq!(Pattern::of_device(text).is_err(), message, "{text}");
        }
    }
}
