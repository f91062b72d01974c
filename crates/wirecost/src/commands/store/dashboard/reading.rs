//! What a payload says: its text, a number to draw, and when it was sent.

use serde_json::Value;
use wirecost_proto::{PeerText, Stamp};

/// The longest shown text of a payload, in characters.
const CHARACTERS: usize = 48;
/// The largest JSON text that is looked into, in bytes.
const JSON_BYTES: usize = 4_096;
/// How long ago a payload may have been sent. Any bytes can be read as a time: an older one is probably none.
const OLDEST_NS: u64 = 3_600_000_000_000;

/// The present on the two clocks that payloads have times of, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Present {
    /// CLOCK_MONOTONIC.
    pub(super) monotonic_ns: u64,
    /// Since 1970.
    pub(super) unix_ns: u64,
}

/// A payload.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reading {
    /// The text, or the number of bytes where it is none. No character in it has an effect.
    pub(super) shown: String,
    /// The number, or a number of the JSON object.
    pub(super) number: Option<f64>,
    /// The time from sending to the present in nanoseconds, where the payload says when it was sent.
    pub(super) sent_ago_ns: Option<u64>,
}

impl Reading {
    /// Reads a payload that has just arrived.
    pub(super) fn from_payload(payload: &[u8], present: Present) -> Self {
        // First: a stamp of wirecost's own load is binary, but its bytes may also be text.
        let stamp = Stamp::read(payload).map(|stamp| stamp.intended_ns);
        if let Some(ago) = stamp.and_then(|sent| ago(sent, present.monotonic_ns)) {
            return Self {
                shown: format!("{} B", payload.len()),
                number: None,
                sent_ago_ns: Some(ago),
            };
        }
        let text = std::str::from_utf8(payload).ok().filter(|text| !text.is_empty());
        let Some(text) = text else {
            return Self {
                shown: format!("{} B", payload.len()),
                number: None,
                sent_ago_ns: None,
            };
        };
        let shown = shown(text);
        if let Some(number) = number(text) {
            return Self {
                shown,
                number: Some(number),
                sent_ago_ns: None,
            };
        }
        // The page is beside the way of the readings: parsing a payload of megabytes would hold them up.
        let object = (text.len() <= JSON_BYTES).then(|| serde_json::from_str(text));
        let (number, sent_ago_ns) = match object {
            Some(Ok(Value::Object(object))) => {
                let sent_ms = object.get("t").and_then(Value::as_u64);
                let sent_ns = sent_ms.and_then(|ms| ms.checked_mul(1_000_000));
                let ago = sent_ns.and_then(|sent| ago(sent, present.unix_ns));
                (number_of(&object), ago)
            }
            _ => (None, None),
        };
        Self {
            shown,
            number,
            sent_ago_ns,
        }
    }
}

/// The time since `sent`, if that is a time at which a payload can have been sent.
fn ago(sent: u64, present: u64) -> Option<u64> {
    present.checked_sub(sent).filter(|ago| *ago <= OLDEST_NS)
}

fn number(text: &str) -> Option<f64> {
    let number = text.trim().parse::<f64>();
    number.ok().filter(|number| number.is_finite())
}

/// The member `value`, otherwise the first number by name that is not the time.
fn number_of(object: &serde_json::Map<String, Value>) -> Option<f64> {
    let value = object.get("value").and_then(Value::as_f64);
    value.or_else(|| {
        let others = object.iter().filter(|(name, _)| *name != "t");
        others.filter_map(|(_, value)| value.as_f64()).next()
    })
}

/// The beginning of a text, with escapes for what a reader would not see.
fn shown(text: &str) -> String {
    let cleaned = PeerText::new(text);
    let mut characters = cleaned.as_str().char_indices();
    match characters.nth(CHARACTERS) {
        Some((at, _)) => format!("{}…", &cleaned.as_str()[..at]),
        None => cleaned.as_str().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRESENT: Present = Present {
        monotonic_ns: 5_000_000_000,
        unix_ns: 1_800_000_000_000_000_000,
    };

    fn reading(payload: &[u8]) -> (String, Option<f64>, Option<u64>) {
        let reading = Reading::from_payload(payload, PRESENT);
        (reading.shown, reading.number, reading.sent_ago_ns)
    }

    #[test]
    fn a_stamp_or_a_member_t_says_when_a_payload_was_sent() {
        let stamp = Stamp {
            device: 3,
            message: 4,
            intended_ns: 4_998_000_000,
        };
        let mut payload = [7; 20];
        stamp.put(&mut payload);
        assert_eq!(reading(&payload), ("20 B".to_owned(), None, Some(2_000_000)));
        let json = br#"{"t": 1799999999990, "bpm": 71.5}"#;
        let shown = String::from_utf8_lossy(json).into_owned();
        assert_eq!(reading(json), (shown, Some(71.5), Some(10_000_000)));
        // One second in the future, and two hours in the past.
        for json in [
            r#"{"t": 1800000001000}"#,
            r#"{"t": 1799992800000}"#,
            r#"{"t": -1}"#,
        ] {
            assert_eq!(reading(json.as_bytes()), (json.to_owned(), None, None));
        }
    }

    #[test]
    fn a_number_is_drawn_and_a_text_has_no_time() {
        assert_eq!(reading(b"68.5"), ("68.5".to_owned(), Some(68.5), None));
        assert_eq!(reading(b"inf"), ("inf".to_owned(), None, None));
        let text = "the temperature is fine";
        assert_eq!(reading(text.as_bytes()), (text.to_owned(), None, None));
        let json = r#"{"a": "x", "b": 2, "value": 3, "t": 9}"#;
        assert_eq!(reading(json.as_bytes()).1, Some(3.0));
        assert_eq!(reading(br#"{"t": 9, "u": 2}"#).1, Some(2.0));
        assert_eq!(reading(&[0xff; 12]), ("12 B".to_owned(), None, None));
        assert_eq!(reading(b""), ("0 B".to_owned(), None, None));
    }

    #[test]
    fn what_is_shown_is_short_and_without_effect() {
        assert_eq!(reading(b"\x1b[2J\r\n").0, "\\x1b[2J\\r\\n");
        let (shown, ..) = reading("\u{202e}ä".repeat(40).as_bytes());
        assert_eq!(shown.chars().count(), CHARACTERS + 1);
        assert!(shown.starts_with("\\u{202e}ä\\u{202e}ä"), "{shown}");
    }
}
