//! How long a server works on a message.

use alloc::string::{String, ToString as _};
use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use crate::units::{DisplayDuration, parse_duration};

/// How long a server works on a message, written as `1ms` or `exponential:1ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceTime {
    /// The same time for every message.
    Constant(Duration),
    /// Exponentially distributed.
    Exponential {
        /// The mean of the distribution.
        mean: Duration,
    },
}

/// The prefix of the mean of an exponential service time.
const EXPONENTIAL: &str = "exponential:";

/// A text that is not a service time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a service time: write 1ms, or exponential:1ms for an exponential one with that mean")]
pub struct NoServiceTime(String);

impl ServiceTime {
    /// Its mean.
    pub const fn mean(self) -> Duration {
        match self {
            Self::Constant(time) | Self::Exponential { mean: time } => time,
        }
    }
}

impl fmt::Display for ServiceTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Self::Constant(_) => "",
            Self::Exponential { .. } => EXPONENTIAL,
        };
        write!(f, "{kind}{}", DisplayDuration(self.mean()))
    }
}

impl FromStr for ServiceTime {
    type Err = NoServiceTime;

    fn from_str(text: &str) -> Result<Self, NoServiceTime> {
        let (mean, is_exponential) = match text.strip_prefix(EXPONENTIAL) {
            Some(mean) => (mean, true),
            None => (text, false),
        };
        let time = parse_duration(mean).map_err(|_| NoServiceTime(text.to_string()))?;
        Ok(match is_exponential {
            true => Self::Exponential { mean: time },
            false => Self::Constant(time),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_time_is_read_as_it_is_written() {
        for text in ["1ms", "250us", "exponential:2s"] {
            let time: ServiceTime = text.parse().expect("a service time");
            assert_eq!(time.to_string(), text);
        }
        for text in ["", "fast", "exponential:", "normal:1ms"] {
            let error = text.parse::<ServiceTime>().expect_err(text);
            assert!(error.to_string().contains("exponential:1ms"), "{error}");
        }
    }
}
