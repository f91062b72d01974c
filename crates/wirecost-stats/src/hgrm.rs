//! The percentile distribution as text: the `.hgrm` format of HdrHistogram, which its plotter reads.
//!
//! Shape: one row per percentile step (value in ms, percentile as a share in [0, 1], number of values at or below
//! it, 1 / (1 - percentile), the last left out at 1), then comment lines with mean, maximum and counts.

use std::fmt;

use crate::histogram::{Histogram, SUB_BUCKETS, Step};

/// The number of steps each time the distance to 100 % halves, as in HdrHistogram's own tools.
const TICKS: u32 = 5;

const NS_PER_MS: f64 = 1e6;

/// Displays a histogram as `.hgrm`, with values in milliseconds and six decimals (nanoseconds).
///
/// ```
/// use wirecost_stats::{Histogram, hgrm::Hgrm};
///
/// let mut histogram = Histogram::new();
/// histogram.record(25_000_000);
/// let text = Hgrm(&histogram).to_string();
/// assert!(text.starts_with("       Value"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Hgrm<'a>(pub &'a Histogram);

impl fmt::Display for Hgrm<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = ("Value", "Percentile", "TotalCount", "1/(1-Percentile)");
        writeln!(
            f,
            "{:>12} {:>14} {:>10} {:>14}\n",
            header.0, header.1, header.2, header.3
        )?;
        for step in self.0.steps(TICKS) {
            row(f, &step)?;
        }
        footer(f, self.0)
    }
}

fn row(f: &mut fmt::Formatter<'_>, step: &Step) -> fmt::Result {
    let value = step.value_ns as f64 / NS_PER_MS;
    write!(f, "{value:12.6} {:14.12} {:10}", step.quantile, step.total_count)?;
    if step.quantile < 1.0 {
        write!(f, " {:14.2}", 1.0 / (1.0 - step.quantile))?;
    }
    writeln!(f)
}

fn footer(f: &mut fmt::Formatter<'_>, histogram: &Histogram) -> fmt::Result {
    let ms = |nanos: f64| nanos / NS_PER_MS;
    writeln!(
        f,
        "#[Mean    = {:12.6}, StdDeviation   = {:12.6}]",
        ms(histogram.mean()),
        ms(histogram.standard_deviation())
    )?;
    writeln!(
        f,
        "#[Max     = {:12.6}, Total count    = {:12}]",
        ms(histogram.max() as f64),
        histogram.len()
    )?;
    writeln!(
        f,
        "#[Buckets = {:12}, SubBuckets     = {SUB_BUCKETS:12}]",
        histogram.buckets()
    )?;
    if histogram.above_range() > 0 {
        writeln!(
            f,
            "#[Above the range, counted at its end = {}]",
            histogram.above_range()
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram() -> Histogram {
        let mut histogram = Histogram::new();
        (1..=1_000).for_each(|i| histogram.record(i * 1_000_000));
        histogram
    }

    /// Value, percentile and count of each row.
    fn parse(text: &str) -> Vec<(f64, f64, u64)> {
        let rows = text.lines().skip(2).filter(|line| !line.starts_with('#'));
        let fields = rows.map(|row| row.split_whitespace().collect::<Vec<_>>());
        fields
            .map(|row| {
                assert_eq!(row.len(), if row[1] == "1.000000000000" { 3 } else { 4 });
                (
                    row[0].parse().unwrap(),
                    row[1].parse().unwrap(),
                    row[2].parse().unwrap(),
                )
            })
            .collect()
    }

    #[test]
    fn rows_read_back_as_the_steps() {
        let histogram = histogram();
        let rows = parse(&Hgrm(&histogram).to_string());
        let steps: Vec<Step> = histogram.steps(TICKS).collect();
        assert_eq!(rows.len(), steps.len());
        for (row, step) in rows.iter().zip(&steps) {
            assert_eq!((row.0 * NS_PER_MS).round() as u64, step.value_ns);
            assert!((row.1 - step.quantile).abs() < 1e-12);
            assert_eq!(row.2, step.total_count);
        }
    }

    #[test]
    fn header_and_footer_are_those_that_the_plotter_knows() {
        let text = Hgrm(&histogram()).to_string();
        let mut lines = text.lines();
        assert_eq!(
            lines.next(),
            Some("       Value     Percentile TotalCount 1/(1-Percentile)")
        );
        assert_eq!(lines.next(), Some(""));
        let footer: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).collect();
        assert_eq!(footer.len(), 3);
        assert!(footer[0].starts_with("#[Mean    =   500."), "{}", footer[0]);
        assert!(
            footer[1].ends_with("Total count    =         1000]"),
            "{}",
            footer[1]
        );
    }

    #[test]
    fn what_is_above_the_range_is_said() {
        let mut histogram = histogram();
        histogram.record(u64::MAX);
        let text = Hgrm(&histogram).to_string();
        assert!(text.ends_with("#[Above the range, counted at its end = 1]\n"));
    }

    #[test]
    fn an_empty_histogram_has_no_rows() {
        assert!(parse(&Hgrm(&Histogram::new()).to_string()).is_empty());
    }
}
