//! Which payloads a column of JSON keeps as they are, in every database.
//!
//! A payload is kept as JSON if each of the three databases takes it and gives the same value back. Any other payload is kept as the
//! bytes that it is, in base64: what a device sends is stored whatever it is.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use wirecost_proto::Content;

use crate::Store;

/// The member that holds the bytes of a payload that is not kept as JSON.
pub(crate) const BASE64_KEY: &str = "base64";

/// Arrays and objects within each other, at most: MariaDB's `JSON_VALID` refuses 32.
const LEVELS: u8 = 30;

/// The longest text of a number in bytes, and its largest exponent: PostgreSQL's `numeric` refuses longer ones, and BSON has no number
/// above 1.8e308.
const NUMBER_BYTES: usize = 64;
const LARGEST_EXPONENT: u32 = 300;

/// The payload as the column has it: as it is, or as `{"base64": ...}`.
pub(crate) fn kept(store: Store, payload: Content) -> Content {
    if is_kept(store, payload.bytes()) {
        return payload;
    }
    Content::from(format!("{{\"{BASE64_KEY}\":\"{}\"}}", base64(payload.bytes())).into_bytes())
}

/// Bytes as text.
pub(crate) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

fn is_kept(store: Store, payload: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(payload) else {
        return false;
    };
    let mut reader = serde_json::Deserializer::from_str(text);
    let walk = Walk {
        store,
        levels: LEVELS,
    };
    walk.deserialize(&mut reader).is_ok() && reader.end().is_ok() && has_short_numbers(text.as_bytes())
}

/// Whether every number in a text of JSON is within the bounds.
fn has_short_numbers(mut text: &[u8]) -> bool {
    while let Some((first, behind)) = text.split_first() {
        text = match first {
            b'"' => after_string(behind),
            b'-' | b'0'..=b'9' => {
                let is_of_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                let len = text.iter().position(|byte| !is_of_number(byte));
                let (number, behind) = text.split_at(len.unwrap_or(text.len()));
                if !is_short(number) {
                    return false;
                }
                behind
            }
            _ => behind,
        };
    }
    true
}

/// What follows the string whose first quote has been read.
fn after_string(mut text: &[u8]) -> &[u8] {
    while let Some((first, behind)) = text.split_first() {
        text = match first {
            b'"' => return behind,
            b'\\' => behind.get(1..).unwrap_or_default(),
            _ => behind,
        };
    }
    text
}

fn is_short(number: &[u8]) -> bool {
    let text = std::str::from_utf8(number).unwrap_or_default();
    let exponent = text.split(['e', 'E']).nth(1).map(str::parse::<i32>);
    number.len() <= NUMBER_BYTES
        && match exponent {
            None => true,
            Some(exponent) => exponent.is_ok_and(|exponent| exponent.unsigned_abs() <= LARGEST_EXPONENT),
        }
}

/// Reads a value of JSON, and fails where a database does not keep it.
#[derive(Clone, Copy)]
struct Walk {
    store: Store,
    /// How many arrays and objects may still begin within each other.
    levels: u8,
}

impl Walk {
    fn inner<E: Error>(self) -> Result<Self, E> {
        let levels = self.levels.checked_sub(1);
        let levels = levels.ok_or_else(|| E::custom("too many levels"))?;
        Ok(Self { levels, ..self })
    }

    /// PostgreSQL's text and BSON's keys have no U+0000.
    fn text<E: Error>(text: &str) -> Result<(), E> {
        match text.contains('\0') {
            true => Err(E::custom("U+0000")),
            false => Ok(()),
        }
    }

    /// MongoDB before 5.0 refuses names that begin with a dollar sign.
    fn key<E: Error>(self, key: &str) -> Result<(), E> {
        Self::text(key)?;
        match self.store == Store::Mongodb && key.starts_with('$') {
            true => Err(E::custom("an operator")),
            false => Ok(()),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Walk {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        // BSON's largest integer.
        match self.store == Store::Mongodb && i64::try_from(value).is_err() {
            true => Err(E::custom("no integer of BSON")),
            false => Ok(()),
        }
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        Self::text(text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<(), A::Error> {
        let inner = self.inner()?;
        while values.next_element_seed(inner)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let inner = self.inner()?;
        while let Some(key) = members.next_key::<String>()? {
            self.key(&key)?;
            members.next_value_seed(inner)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORES: [Store; 3] = [Store::Postgres, Store::Mariadb, Store::Mongodb];

    fn column(store: Store, payload: &[u8]) -> String {
        let kept = kept(store, Content::from(payload));
        String::from_utf8(kept.bytes().to_vec()).expect("text")
    }

    #[test]
    fn json_that_every_database_keeps_is_stored_as_it_is() {
        let deep = format!("{}1{}", "[".repeat(30), "]".repeat(30));
        for payload in [
            "21.5",
            " {\"t\": [-1e-9, null, true, \"\\u20ac \\ud83d\\ude00 \\\" \\\\\"]}",
            "\"\"",
            "1e300",
            &deep,
        ] {
            for store in STORES {
                assert_eq!(column(store, payload.as_bytes()), payload, "{store}");
            }
        }
    }

    #[test]
    fn a_payload_that_a_database_would_refuse_or_change_is_stored_as_its_bytes() {
        let deep = format!("{}1{}", "[".repeat(31), "]".repeat(31));
        let digits = "1".repeat(65);
        let cases: [&[u8]; 14] = [
            b"",
            b"\xff\x00",
            b"\"caf\xe9\"",
            b"{\"caf\xe9\": 1}",
            b"\"\\u0000\"",
            b"{\"a\\u0000b\": 1}",
            b"\"\\ud83d\"",
            b"1e999999999",
            b"[1e-999999999]",
            b"{\"a\": 1e400}",
            deep.as_bytes(),
            digits.as_bytes(),
            b"1 2",
            b"\x00",
        ];
        for payload in cases {
            for store in STORES {
                let expected = format!("{{\"base64\":\"{}\"}}", base64(payload));
                assert_eq!(column(store, payload), expected, "{store}");
            }
        }
    }

    #[test]
    fn what_only_bson_does_not_have_is_stored_as_its_bytes_in_mongodb() {
        for payload in ["{\"$oid\": \"57e193d7a9cc81b4027498b5\"}", "18446744073709551615"] {
            assert_eq!(column(Store::Postgres, payload.as_bytes()), payload);
            let expected = format!("{{\"base64\":\"{}\"}}", base64(payload.as_bytes()));
            assert_eq!(column(Store::Mongodb, payload.as_bytes()), expected);
        }
    }
}
