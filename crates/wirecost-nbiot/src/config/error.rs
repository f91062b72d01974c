//! A value that is not allowed.

/// A key of a configuration whose value is not allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A value that is not one of the allowed values.
    #[error("{key} must be one of {allowed}, got {value}")]
    NotAllowed {
        /// The key, with its groups.
        key: String,
        /// The value.
        value: String,
        /// The allowed values.
        allowed: String,
    },
    /// A number outside its range.
    #[error("{key} must be {minimum} to {maximum}, got {value}")]
    OutOfRange {
        /// The key, with its groups.
        key: String,
        /// The value.
        value: String,
        /// The smallest allowed value.
        minimum: String,
        /// The largest allowed value.
        maximum: String,
    },
    /// Two values in the wrong order.
    #[error("{key} must be {relation} {other}, got {value}")]
    WrongOrder {
        /// The key, with its groups.
        key: String,
        /// The value.
        value: String,
        /// The relation that must hold: `above` or `below`.
        relation: &'static str,
        /// The other key, with its value.
        other: String,
    },
}

impl ConfigError {
    pub(crate) fn not_allowed(key: &str, value: impl ToString, allowed: impl Into<String>) -> Self {
        Self::NotAllowed {
            key: key.to_owned(),
            value: value.to_string(),
            allowed: allowed.into(),
        }
    }
}

/// Checks that `value` is one of `allowed`.
pub(crate) fn one_of<T: PartialEq + ToString>(
    key: &str,
    value: &T,
    allowed: &[T],
) -> Result<(), ConfigError> {
    if allowed.contains(value) {
        return Ok(());
    }
    let names: Vec<String> = allowed.iter().map(ToString::to_string).collect();
    Err(ConfigError::not_allowed(key, value.to_string(), names.join(", ")))
}

/// Checks that `value` is from `minimum` to `maximum`. A number that is not a number is outside.
pub(crate) fn within<T: PartialOrd + ToString>(
    key: &str,
    value: T,
    minimum: T,
    maximum: T,
) -> Result<(), ConfigError> {
    if value >= minimum && value <= maximum {
        return Ok(());
    }
    Err(ConfigError::OutOfRange {
        key: key.to_owned(),
        value: value.to_string(),
        minimum: minimum.to_string(),
        maximum: maximum.to_string(),
    })
}
