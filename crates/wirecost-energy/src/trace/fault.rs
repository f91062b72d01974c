//! What is wrong with a meter's file, and on which line.

use std::fmt;

wirecost_proto::named! {
    /// What a column holds.
    ///
    /// Named as in messages.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Quantity {
        /// The time of a sample.
        Time => "time",
        /// The current.
        Current => "current",
        /// The voltage.
        Voltage => "voltage",
    }
}

/// What is wrong with a meter's file.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// There is no line with a sample.
    NoSamples,
    /// All samples have the same time.
    NoTime,
    /// The header lacks a column of time or current.
    NoColumn(Quantity),
    /// The header has two columns of one quantity.
    TwoColumns(Quantity, String, String),
    /// A column's name has no unit.
    NoUnit(String),
    /// A column's unit is none of its quantity.
    UnknownUnit(String, Quantity),
    /// The samples are numbered, and no line above says how far they are apart.
    NoInterval,
    /// There is neither a column of voltage nor a voltage for all samples.
    NoVoltage,
    /// There is a column of voltage, and a voltage for all samples.
    TwoVoltages(String),
    /// There is no column of the marker.
    NoMarker(String),
    /// The marker is neither 0 nor 1, nor both within the sample (`X`), nor unknown (`-`).
    NoBit(String),
    /// An empty line between samples.
    EmptyLine,
    /// A line has no value for a quantity.
    NoValue(Quantity),
    /// A value is not a number.
    NotANumber(Quantity, String),
    /// A value is too large to be true.
    OutOfRange(Quantity, String),
    /// The time is earlier than that of the sample before.
    TimeGoesBack {
        /// Seconds of the sample before.
        from: f64,
        /// Seconds of this one.
        to: f64,
    },
    /// Samples are missing from a time on, in a file without lines.
    GapAt {
        /// When they begin to be missing, in seconds of the trace.
        from: f64,
        /// The time from the sample before to the next one, in seconds.
        seconds: f64,
        /// The same in intervals of the samples.
        intervals: f64,
    },
    /// Samples are missing before this line.
    Gap {
        /// The time from the sample before to this one, in seconds.
        seconds: f64,
        /// The same in intervals of the samples.
        intervals: f64,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSamples => f.write_str("no samples"),
            Self::NoTime => f.write_str("all samples have the same time"),
            Self::NoColumn(quantity) => write!(f, "no column of {}", quantity.name()),
            Self::TwoColumns(quantity, first, second) => {
                write!(f, "two columns of {}: {first:?} and {second:?}", quantity.name())
            }
            Self::NoUnit(column) => write!(f, "column {column:?} has no unit"),
            Self::UnknownUnit(column, quantity) => {
                write!(f, "column {column:?} has no unit of {}", quantity.name())
            }
            Self::NoInterval => f.write_str(
                "the samples are numbered, and no line above has their interval (Sample interval: 0.0001)",
            ),
            Self::NoVoltage => f.write_str("no column of voltage"),
            Self::TwoVoltages(column) => write!(f, "column {column:?} has the voltage already"),
            Self::NoMarker(name) => write!(f, "no column {name:?} for the marker"),
            Self::NoBit(text) => write!(f, "the marker is 0, 1, X or -, not {text:?}"),
            Self::EmptyLine => f.write_str("an empty line between samples"),
            Self::NoValue(quantity) => write!(f, "no {}", quantity.name()),
            Self::NotANumber(quantity, text) => write!(f, "{} {text:?} is not a number", quantity.name()),
            Self::OutOfRange(quantity, text) => write!(f, "{} {text:?} is out of range", quantity.name()),
            Self::TimeGoesBack { from, to } => write!(f, "the time goes back from {from} s to {to} s"),
            Self::GapAt {
                from,
                seconds,
                intervals,
            } => write!(
                f,
                "a gap of {seconds:.6} s from {from:.6} s on: {intervals:.0} sample intervals"
            ),
            Self::Gap { seconds, intervals } => write!(
                f,
                "a gap of {seconds:.6} s before this sample: {intervals:.0} sample intervals"
            ),
        }
    }
}

/// A fault and its line.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceError {
    /// Line of the file, from 1; 0 for the file as a whole.
    pub line: u64,
    /// What is wrong.
    pub fault: Fault,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        self.fault.fmt(f)
    }
}

impl std::error::Error for TraceError {}
