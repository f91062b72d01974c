//! What is wrong with a recording, and what to do about it.

use std::fmt;
use std::io;

use super::MOST_EDGES;

/// What is wrong with such a file.
#[derive(Debug)]
pub enum JlsFault {
    /// It cannot be read.
    Read(io::Error),
    /// It is no JLS file.
    NoJls,
    /// It is of version 1.
    Version1,
    /// It was not closed: its end is missing.
    NotClosed,
    /// A chunk has a length that no recorder writes, in bytes.
    Length(u32),
    /// It has no signal of this unit.
    NoSignal(&'static str),
    /// Its current, or voltage, has no samples of 32 bits.
    Type(String),
    /// Current and voltage have other rates, in samples a second.
    Rates(u32, u32),
    /// It has no voltage, and none was given.
    NoVoltage,
    /// It has no such digital signal; those that it has.
    NoChannel(String, Vec<String>),
    /// A digital signal changes all the time.
    NoMarker(String),
    /// The samples of a signal were left out.
    Omitted(String),
}

impl fmt::Display for JlsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => write!(f, "cannot be read: {error}"),
            Self::NoJls => f.write_str("is no .jls file"),
            Self::Version1 => f.write_str("is a .jls file of version 1, which is not read"),
            Self::NotClosed => f.write_str("has no end: its recording was cut off"),
            Self::Length(bytes) => write!(f, "has a chunk of {bytes} B, which no recorder writes"),
            Self::NoSignal(unit) => write!(f, "has no signal in {unit}"),
            Self::Type(name) => write!(f, "{name} has no samples of 32-bit floating-point numbers"),
            Self::Rates(current, voltage) => write!(
                f,
                "has {current} samples a second of the current and {voltage} of the voltage"
            ),
            Self::NoVoltage => f.write_str("has no voltage"),
            Self::NoChannel(name, there) if there.is_empty() => {
                write!(f, "has no digital signal {name}, and no other one")
            }
            Self::NoChannel(name, there) => {
                write!(f, "has no digital signal {name}, but {}", there.join(", "))
            }
            Self::NoMarker(name) => write!(
                f,
                "{name} changes more than {MOST_EDGES} times: it marks no messages"
            ),
            Self::Omitted(name) => write!(f, "{name} has summaries alone: its samples were left out"),
        }
    }
}

impl JlsFault {
    /// What to do about it.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Version1 => "record again with the Joulescope UI 1.0 or later, or export the trace as CSV",
            Self::NotClosed => "open the file in the Joulescope UI, which repairs it, and save it again",
            Self::NoVoltage => "give the voltage of the supply with --volts 3.7V",
            Self::NoChannel(..) | Self::NoMarker(_) => {
                "name a digital signal of the recording with --marker-channel"
            }
            Self::Rates(..) | Self::Type(_) | Self::Omitted(_) | Self::NoSignal(_) => {
                "record current and voltage with all their samples, at one rate"
            }
            Self::Read(_) | Self::NoJls | Self::Length(_) => {
                "save the recording again with the Joulescope UI, or export it as CSV"
            }
        }
    }
}

impl From<io::Error> for JlsFault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::NotClosed,
            _ => Self::Read(error),
        }
    }
}
