//! Values as files and flags write them: texts with units.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use wirecost_proto::units::{UnitError, parse_duration};

/// Why a text is not the value that is expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// A quantity without its unit, or outside its range.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// A text of another form.
    #[error("{text:?} is not {expected}")]
    Form {
        /// The text.
        text: String,
        /// What is expected, with an example.
        expected: &'static str,
    },
    /// A value outside its range.
    #[error("must be {range}, got {got}")]
    Range {
        /// The range.
        range: &'static str,
        /// The value.
        got: String,
    },
    /// A key that a table does not have.
    #[error("unknown key {key:?}; the keys are {known}")]
    UnknownKey {
        /// The key.
        key: String,
        /// The keys of the table.
        known: String,
    },
    /// A text that another type refuses, in the words of that type.
    #[error("{0}")]
    Refused(String),
}

impl ValueError {
    /// The error of a text that is not of the `expected` form.
    pub fn form(text: &str, expected: &'static str) -> Self {
        Self::Form {
            text: text.to_owned(),
            expected,
        }
    }

    /// The error of a text whose value is outside `range`.
    pub fn range(range: &'static str, text: &str) -> Self {
        Self::Range {
            range,
            got: text.to_owned(),
        }
    }
}

/// Reads any type that says itself what is wrong with a text.
///
/// # Errors
/// The text is not a value of the type.
pub fn parsed<T: FromStr<Err: Display>>(text: &str) -> Result<T, ValueError> {
    text.parse()
        .map_err(|error: T::Err| ValueError::Refused(error.to_string()))
}

/// Reads a time with its unit.
///
/// # Errors
/// The text has no unit, or is not a time.
pub fn time(text: &str) -> Result<Duration, ValueError> {
    Ok(parse_duration(text)?)
}
