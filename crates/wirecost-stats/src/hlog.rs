//! Histograms of one quantity, interval by interval: the interval log of HdrHistogram (version 1.3), which its tools
//! merge and plot.
//!
//! Shape: comment lines with the start of the log, a line that names the columns, then one row per interval: its start
//! in seconds since the start of the log, its length in seconds, its largest value in milliseconds, its histogram in
//! the V2 format, compressed, in base64. Values are nanoseconds. Durations above the range of a [`Histogram`] are
//! counted at its end; a comment has their number.

use std::fmt::{self, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::histogram::Histogram;

const NS_PER_MS: f64 = 1e6;

/// One row of an interval log.
#[derive(Clone, Debug)]
pub struct Row {
    /// Start of the interval, in seconds since the start of the log.
    pub start_s: f64,
    /// Its length in seconds.
    pub length_s: f64,
    /// The values of the interval.
    pub histogram: Histogram,
}

/// Why a text is not an interval log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotALog {
    /// The line, counted from 1.
    pub line: usize,
}

/// An interval log that begins `start_s` seconds after 1970 UTC, with a row for each start, length (in seconds) and
/// histogram, in their order.
///
/// ```
/// use wirecost_stats::{Histogram, hlog};
///
/// let mut second = Histogram::new();
/// second.record(25_000_000);
/// let text = hlog::text(1_795_181_696.0, "response time", [(0.0, 1.0, &second)]);
/// assert_eq!(hlog::read(&text).unwrap()[0].histogram.len(), 1);
/// ```
pub fn text<'a>(
    start_s: f64,
    what: &str,
    rows: impl IntoIterator<Item = (f64, f64, &'a Histogram)>,
) -> String {
    let mut text = format!(
        "#[{what}, in nanoseconds]\n\
         #[Histogram log format version 1.3]\n\
         #[StartTime: {start_s:.3} (seconds since epoch)]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
    );
    for (start, length, histogram) in rows {
        let written = row(&mut text, start, length, histogram);
        written.expect("a string takes all text");
    }
    text
}

fn row(text: &mut String, start: f64, length: f64, histogram: &Histogram) -> fmt::Result {
    let mut bytes = Vec::new();
    histogram.counts_to_bytes(&mut bytes);
    if histogram.above_range() > 0 {
        writeln!(
            text,
            "#[Above the range, counted at its end = {}]",
            histogram.above_range()
        )?;
    }
    let max = histogram.max() as f64 / NS_PER_MS;
    writeln!(text, "{start:.3},{length:.3},{max:.6},{}", STANDARD.encode(bytes))
}

/// Reads the rows of an interval log without tags, in their order, from any program.
///
/// # Errors
/// A line is neither comment nor row, or its histogram cannot be read.
pub fn read(text: &str) -> Result<Vec<Row>, NotALog> {
    let lines = text.lines().enumerate();
    let rows = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with(['#', '"']));
    rows.map(|(index, line)| parse(line).ok_or(NotALog { line: index + 1 }))
        .collect()
}

fn parse(line: &str) -> Option<Row> {
    let mut fields = line.split(',');
    let (start, length, _max) = (fields.next()?, fields.next()?, fields.next()?);
    let bytes = STANDARD.decode(fields.next()?).ok()?;
    Some(Row {
        start_s: start.parse().ok()?,
        length_s: length.parse().ok()?,
        histogram: Histogram::from_counts(&bytes)?,
    })
}

impl fmt::Display for NotALog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} is not a row of an interval log", self.line)
    }
}

impl std::error::Error for NotALog {}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram as Counts;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    use super::*;
    use crate::histogram::tests::record as histogram;

    #[test]
    fn rows_read_back_as_they_were_written() {
        let seconds = [histogram(1..1_000), histogram([]), histogram([7, 60_000_000_000])];
        let rows = (0_u32..).zip(&seconds);
        let text = text(
            1_000.0,
            "service time",
            rows.map(|(second, histogram)| (f64::from(second), 1.0, histogram)),
        );
        let read = read(&text).expect("a log");
        assert_eq!(read.len(), 3);
        for ((second, written), row) in (0_u32..).zip(&seconds).zip(&read) {
            assert_eq!((row.start_s, row.length_s), (f64::from(second), 1.0));
            assert!(written.steps(5).eq(row.histogram.steps(5)));
        }
    }

    #[test]
    fn the_library_s_own_reader_reads_it() {
        let second = histogram([1_000_000, 3_000_000]);
        let text = text(1_795_181_696.0, "response time", [(4.0, 1.0, &second)]);
        let entries = IntervalLogIterator::new(text.as_bytes()).map(|entry| entry.expect("an entry"));
        let entries: Vec<LogEntry<'_>> = entries.collect();
        let [LogEntry::StartTime(start), LogEntry::Interval(interval)] = &entries[..] else {
            panic!("{entries:?}");
        };
        assert_eq!(start.as_secs(), 1_795_181_696);
        assert_eq!(interval.start_timestamp().as_secs(), 4);
        let bytes = STANDARD.decode(interval.encoded_histogram()).expect("base64");
        let counts: Counts<u64> = Deserializer::new()
            .deserialize(&mut &bytes[..])
            .expect("a histogram");
        assert_eq!((counts.len(), counts.min()), (2, second.min()));
    }

    #[test]
    fn what_is_above_the_range_is_said() {
        let text = text(0.0, "response time", [(0.0, 1.0, &histogram([u64::MAX]))]);
        assert!(text.contains("\n#[Above the range, counted at its end = 1]\n0.000,1.000,4611686018427."));
        assert_eq!(read(&text).expect("a log").len(), 1);
    }

    #[test]
    fn a_line_that_is_no_row_is_named() {
        for line in ["1,2", "a,1,1,AAAA", "0,1,1,####", "0,1,1,AAAA"] {
            assert_eq!(
                read(&format!("#c\n{line}\n")).map(|_| ()),
                Err(NotALog { line: 2 }),
                "{line}"
            );
        }
    }
}
