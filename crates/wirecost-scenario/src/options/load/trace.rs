//! A recorded trace: the values that one device sends, each at its own time.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Serialize, Serializer};

/// The first line of a trace.
const HEADER: &str = "time,value";

/// Values with the times at which they are sent, from the start of a phase, in the order of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace(Arc<[Recorded]>);

/// A value of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// From the start of the phase.
    pub at: Duration,
    /// The payload.
    pub value: Arc<[u8]>,
}

/// Why a text is not a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct TraceError {
    /// The line, from 1.
    pub line: usize,
    /// The reason.
    pub why: String,
}

impl Trace {
    /// The values with their times, in the order of time.
    pub fn values(&self) -> &[Recorded] {
        &self.0
    }

    /// Reads the lines `time,value` below this header. The time is in seconds, the value is the rest of the line.
    ///
    /// # Errors
    /// The header or a value is missing, a time cannot be read, or is before that of the line above.
    pub fn read(text: &str) -> Result<Self, TraceError> {
        let error = |line: usize, why: String| TraceError { line: line + 1, why };
        let mut lines = text.lines().enumerate();
        if lines.next().is_none_or(|(_, line)| line.trim_end() != HEADER) {
            return Err(error(0, format!("a trace begins with the line {HEADER}")));
        }
        let mut values: Vec<Recorded> = Vec::new();
        for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let wrong = || {
                error(
                    number,
                    format!("{line:?} is no time in seconds and a value, e.g. 0.85,72"),
                )
            };
            let (time, value) = line.split_once(',').ok_or_else(wrong)?;
            let seconds = time.trim().parse::<f64>().ok();
            let at = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            let at = at.ok_or_else(wrong)?;
            // Equal times are allowed: a sensor may report several values at once.
            if let Some(before) = values.last().filter(|before| before.at > at) {
                let before = before.at.as_secs_f64();
                return Err(error(
                    number,
                    format!(
                        "the time {} is before {before}, that of the value above",
                        time.trim()
                    ),
                ));
            }
            values.push(Recorded {
                at,
                value: value.as_bytes().into(),
            });
        }
        if values.is_empty() {
            return Err(error(0, "a trace has at least one value".to_owned()));
        }
        Ok(Self(values.into()))
    }
}

/// The text that [`Trace::read`] reads.
impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}")?;
        self.values().iter().try_for_each(|Recorded { at, value }| {
            writeln!(f, "{},{}", at.as_secs_f64(), String::from_utf8_lossy(value))
        })
    }
}

impl Serialize for Trace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_reads_back_as_it_is_written() {
        let text = "time,value\n0,72\n0.85,{\"bpm\": 71, \"rr\": 0.85}\n0.85,\n1.7,70\n";
        let trace = Trace::read(text).expect("a trace");
        assert_eq!(trace.to_string(), text);
        assert_eq!(trace.values()[1].at, Duration::from_millis(850));
        assert_eq!(&*trace.values()[1].value, b"{\"bpm\": 71, \"rr\": 0.85}");
    }

    #[test]
    fn what_is_no_trace_is_refused_with_its_line() {
        for (text, why) in [
            ("0,72\n", "line 1: a trace begins with the line time,value"),
            ("time,value\n", "line 1: a trace has at least one value"),
            (
                "time,value\n0,72\n\n2.5,71\n1.5,70\n",
                "line 5: the time 1.5 is before 2.5, that of the value above",
            ),
            (
                "time,value\nnoon,72\n",
                "line 2: \"noon,72\" is no time in seconds and a value, e.g. 0.85,72",
            ),
            (
                "time,value\n-1,72\n",
                "line 2: \"-1,72\" is no time in seconds and a value, e.g. 0.85,72",
            ),
            (
                "time,value\n3\n",
                "line 2: \"3\" is no time in seconds and a value, e.g. 0.85,72",
            ),
        ] {
            assert_eq!(Trace::read(text).expect_err(text).to_string(), why);
        }
    }
}
