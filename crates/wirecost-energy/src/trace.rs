//! What a power meter measured: samples of current and voltage from the lines of its CSV file, and their energy.
//!
//! The caller reads the file and hands over its lines. Between two samples the power is a straight line: the trapezoid rule.

mod columns;
mod fault;

use columns::Columns;
pub use fault::{Fault, Quantity, TraceError};

/// The longest time between two samples, in intervals of the samples.
pub const MAX_GAP_INTERVALS: f64 = 10.0;
/// The most lines above the header.
pub const MOST_LINES_ABOVE: u64 = 40;
/// The largest time, in seconds, and the largest current and voltage, in amperes and volts, that a file may have.
const MAX_SECONDS: f64 = 1e10;
const MAX_VALUE: f64 = 1e4;
/// The part of the samples that has at most the current of the rest.
const REST_PART: f64 = 0.1;

/// One sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Seconds, as the file's time column counts them.
    pub seconds: f64,
    /// The current in amperes.
    pub amperes: f64,
    /// Watts: amperes times volts.
    pub watts: f64,
}

/// Reads the lines of a meter's CSV file.
///
/// ```
/// use wirecost_energy::trace::Reader;
///
/// // 10 mA at 3.3 V for 2 s.
/// let mut reader = Reader::new(Some(3.3));
/// for line in ["Timestamp(ms),Current(uA)", "0,10000", "1000,10000", "2000,10000"] {
///     reader.line(line)?;
/// }
/// let trace = reader.finish()?;
/// assert!((trace.joules(0.0, 2.0).unwrap() - 0.066).abs() < 1e-12);
/// # Ok::<(), wirecost_energy::trace::TraceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Reader {
    rows: SampleReader,
    samples: Vec<Sample>,
}

/// Reads the lines of a meter's CSV file one by one, and keeps none.
#[derive(Clone, Debug)]
pub struct SampleReader {
    volts: Option<f64>,
    columns: Option<Columns>,
    /// Why the first line is no header. A meter may write lines about itself above it.
    no_header: Option<TraceError>,
    /// Seconds between samples, where a line above the header tells them.
    interval: Option<f64>,
    /// Lines read.
    lines: u64,
    /// The line of the header.
    header: u64,
    /// The first empty line below the header: a file may only end with empty lines.
    empty: Option<u64>,
    /// Seconds of the last sample.
    last: f64,
    /// The name of the column of a marker.
    marker: Option<String>,
    /// The marker of the last sample, and when it rose.
    is_marked: bool,
    rises: Vec<f64>,
}

/// Seconds between samples, of a line above the header: `Sample interval: 0.0001`, as the data logger of a Keysight N6705 writes it.
fn interval(line: &str) -> Option<f64> {
    let (name, value) = line.trim_matches('"').split_once(':')?;
    let value = value.trim().trim_end_matches([',', '"']);
    let seconds: f64 = value.parse().ok()?;
    let is_named = name.trim().eq_ignore_ascii_case("sample interval");
    (is_named && seconds > 0.0 && seconds <= MAX_SECONDS).then_some(seconds)
}

impl SampleReader {
    /// Of a file; `volts` is the voltage of a file that has none, `marker` the name of a column that is 1 where the device sends.
    pub const fn new(volts: Option<f64>, marker: Option<String>) -> Self {
        Self {
            volts,
            columns: None,
            no_header: None,
            interval: None,
            lines: 0,
            header: 0,
            empty: None,
            last: f64::NEG_INFINITY,
            marker,
            is_marked: true,
            rises: Vec::new(),
        }
    }

    /// Seconds at which the marker rises.
    pub fn rises(&self) -> &[f64] {
        &self.rises
    }

    /// Reads the next line, with or without its line end; `None` where it has no sample. The first line that names a column of time and one
    /// of current is the header; at most [`MOST_LINES_ABOVE`] lines stand above it.
    ///
    /// # Errors
    /// A column, its unit or the voltage is missing; a value is no number, or its time goes back.
    pub fn line(&mut self, line: &str) -> Result<Option<Sample>, TraceError> {
        self.lines += 1;
        let at = |fault| TraceError {
            line: self.lines,
            fault,
        };
        let line = line.trim();
        let Some(columns) = &self.columns else {
            self.interval = interval(line).or(self.interval);
            match Columns::read(line, self.volts, self.marker.as_deref(), self.interval) {
                Ok(columns) => (self.columns, self.header) = (Some(columns), self.lines),
                // Exports of power meters begin with lines about the meter: a line without columns may be one of them.
                Err(fault @ (Fault::NoColumn(_) | Fault::NoSamples)) if self.lines <= MOST_LINES_ABOVE => {
                    // If no header follows, the first line is the one that a person takes for it.
                    self.no_header.get_or_insert(at(fault));
                }
                Err(fault @ (Fault::NoColumn(_) | Fault::NoSamples)) => {
                    return Err(self.no_header.clone().unwrap_or(at(fault)));
                }
                Err(fault) => return Err(at(fault)),
            }
            return Ok(None);
        };
        if line.is_empty() {
            // An empty line at the end is none between samples: only a sample behind it makes it a fault.
            self.empty.get_or_insert(self.lines);
            return Ok(None);
        }
        if let Some(line) = self.empty {
            return Err(TraceError {
                line,
                fault: Fault::EmptyLine,
            });
        }
        let sample = columns.sample(line).map_err(at)?;
        if sample.seconds < self.last {
            return Err(at(Fault::TimeGoesBack {
                from: self.last,
                to: sample.seconds,
            }));
        }
        let is_marked = columns.is_marked(line).map_err(at)?.unwrap_or(self.is_marked);
        // The marker stays high as long as the device sends; its rise is the time.
        if is_marked && !self.is_marked {
            self.rises.push(sample.seconds);
        }
        self.is_marked = is_marked;
        self.last = sample.seconds;
        Ok(Some(sample))
    }

    /// Ends the file.
    ///
    /// # Errors
    /// It has no header.
    pub fn finish(self) -> Result<(), TraceError> {
        match (self.columns, self.no_header) {
            (None, Some(no_header)) => Err(no_header),
            (None, None) => Err(TraceError {
                line: 0,
                fault: Fault::NoSamples,
            }),
            (Some(_), _) => Ok(()),
        }
    }
}

impl Reader {
    /// A reader of a file; `volts` is the voltage of a file that has none.
    pub const fn new(volts: Option<f64>) -> Self {
        Self {
            rows: SampleReader::new(volts, None),
            samples: Vec::new(),
        }
    }

    /// Reads the next line, with or without its line end.
    ///
    /// # Errors
    /// As [`SampleReader::line`].
    pub fn line(&mut self, line: &str) -> Result<(), TraceError> {
        self.samples.extend(self.rows.line(line)?);
        Ok(())
    }

    /// Ends the file.
    ///
    /// # Errors
    /// It has no header, no two samples at different times, or a gap of more than [`MAX_GAP_INTERVALS`].
    pub fn finish(self) -> Result<Trace, TraceError> {
        let whole = |fault| TraceError { line: 0, fault };
        let header = self.rows.header;
        self.rows.finish()?;
        if self.samples.is_empty() {
            return Err(whole(Fault::NoSamples));
        }
        // The sample at index i is on the line i + 1 below the header, and no line between them is empty.
        let times = self.samples.iter().map(|sample| sample.seconds);
        let steps: Vec<f64> = times
            .clone()
            .zip(times.skip(1))
            .map(|(from, to)| to - from)
            .collect();
        // Rounded times may repeat.
        let mut sorted: Vec<f64> = steps.iter().copied().filter(|step| *step > 0.0).collect();
        if sorted.is_empty() {
            return Err(whole(Fault::NoTime));
        }
        let middle = sorted.len() / 2;
        // The median: a pause in the recording must not widen the interval by which it is found.
        let interval = *sorted.select_nth_unstable_by(middle, f64::total_cmp).1;
        if let Some(index) = steps.iter().position(|step| *step > interval * MAX_GAP_INTERVALS) {
            return Err(TraceError {
                line: header + index as u64 + 2,
                fault: Fault::Gap {
                    seconds: steps[index],
                    intervals: steps[index] / interval,
                },
            });
        }
        Ok(Trace {
            longest_step: steps.iter().copied().fold(0.0, f64::max),
            samples: self.samples,
            interval,
        })
    }
}

/// What a power meter measured. It has at least two samples, in the order of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    samples: Vec<Sample>,
    interval: f64,
    longest_step: f64,
}

impl Trace {
    /// A trace of samples that are an interval apart.
    pub(crate) const fn even(samples: Vec<Sample>, interval: f64) -> Self {
        Self {
            samples,
            interval,
            longest_step: interval,
        }
    }

    /// The samples in the order of time, as the meter wrote them.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// The time of the first sample, in seconds.
    pub fn start(&self) -> f64 {
        self.samples.first().map_or(0.0, |sample| sample.seconds)
    }

    /// The time of the last sample, in seconds.
    pub fn end(&self) -> f64 {
        self.samples.last().map_or(0.0, |sample| sample.seconds)
    }

    /// The median time from one sample to the next, in seconds.
    pub const fn interval(&self) -> f64 {
        self.interval
    }

    /// The longest time from one sample to the next, in seconds.
    pub const fn longest_step(&self) -> f64 {
        self.longest_step
    }

    /// The energy from one time to another, in joules; `None` if the trace does not cover them. The power at a time between two
    /// samples is on the straight line between theirs.
    pub fn joules(&self, from: f64, to: f64) -> Option<f64> {
        if !(self.start() <= from && from <= to && to <= self.end()) {
            return None;
        }
        let first = self.samples.partition_point(|sample| sample.seconds <= from);
        let after = self.samples.partition_point(|sample| sample.seconds < to);
        let inner = self.samples.get(first..after).unwrap_or_default();
        let inner = inner.iter().map(|sample| (sample.seconds, sample.watts));
        let mut before = (from, self.watts_at(from));
        let mut sum = 0.0;
        for point in inner.chain([(to, self.watts_at(to))]) {
            sum += (point.0 - before.0) * (point.1 + before.1) / 2.0;
            before = point;
        }
        Some(sum)
    }

    /// The power at a time inside the trace.
    fn watts_at(&self, seconds: f64) -> f64 {
        let next = self.samples.partition_point(|sample| sample.seconds < seconds);
        let Some(after) = self.samples.get(next) else {
            return self.samples.last().map_or(0.0, |sample| sample.watts);
        };
        let before = &self.samples[next.saturating_sub(1)];
        let step = after.seconds - before.seconds;
        // Two samples of one time have no line between them.
        if step <= 0.0 {
            return after.watts;
        }
        before.watts + (after.watts - before.watts) * ((seconds - before.seconds) / step)
    }

    /// The current of the rest, in amperes: a tenth of the samples have at most this current.
    pub fn rest_amperes(&self) -> f64 {
        let mut sorted: Vec<f64> = self.samples.iter().map(|sample| sample.amperes).collect();
        let index = ((sorted.len() - 1) as f64 * REST_PART) as usize;
        *sorted.select_nth_unstable_by(index, f64::total_cmp).1
    }

    /// The first time at which the current rises above a value, in seconds: where the straight line from the sample before
    /// crosses it. `None` if it never does. A trace that begins above the value has no first rise.
    pub fn rise_above(&self, amperes: f64) -> Option<f64> {
        let index = self.samples.iter().position(|sample| sample.amperes > amperes)?;
        let (before, after) = (self.samples.get(index.checked_sub(1)?)?, &self.samples[index]);
        let part = (amperes - before.amperes) / (after.amperes - before.amperes);
        Some(before.seconds + (after.seconds - before.seconds) * part)
    }
}

#[cfg(test)]
mod tests;
