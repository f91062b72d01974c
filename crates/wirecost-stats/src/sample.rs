//! Exact values of a sample and their summary.

use crate::mean::MeanInterval;
use crate::quantile::Quantile;

/// Values of one quantity, one per device or message, in one unit (durations: nanoseconds); at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    sorted: Vec<u64>,
    mean: MeanInterval,
    min: u64,
    max: u64,
}

impl Sample {
    /// The sample of `values` in any order; `None` without a value.
    pub fn new(mut values: Vec<u64>) -> Option<Self> {
        values.sort_unstable();
        Some(Self {
            mean: MeanInterval::from_values(&to_f64(&values))?,
            min: *values.first()?,
            max: *values.last()?,
            sorted: values,
        })
    }

    /// The values in ascending order.
    pub fn sorted(&self) -> &[u64] {
        &self.sorted
    }

    /// The quantile of a probability; `None` if the sample is too small to print it.
    pub fn quantile(&self, probability: f64) -> Option<Quantile> {
        Quantile::from_sorted(&self.sorted, probability)
    }

    /// Mean, extremes and the quantiles of results files.
    pub fn summary(&self) -> Summary {
        Summary {
            mean: self.mean,
            min: self.min,
            max: self.max,
            p50: self.quantile(0.5),
            p90: self.quantile(0.9),
            p95: self.quantile(0.95),
            p99: self.quantile(0.99),
            p99_9: self.quantile(0.999),
        }
    }
}

fn to_f64(values: &[u64]) -> Vec<f64> {
    values.iter().map(|value| *value as f64).collect()
}

/// The figures of a sample in a results file. A quantile is `None` if the sample is too small to print it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The mean with its interval.
    pub mean: MeanInterval,
    /// The smallest value.
    pub min: u64,
    /// The largest value.
    pub max: u64,
    /// The median.
    pub p50: Option<Quantile>,
    /// The 90th percentile.
    pub p90: Option<Quantile>,
    /// The 95th percentile.
    pub p95: Option<Quantile>,
    /// The 99th percentile.
    pub p99: Option<Quantile>,
    /// The 99.9th percentile.
    pub p99_9: Option<Quantile>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_of_one_has_a_mean_and_extremes_only() {
        let summary = Sample::new(vec![7]).unwrap().summary();
        assert_eq!((summary.mean.mean, summary.min, summary.max), (7.0, 7, 7));
        assert_eq!((summary.mean.low, summary.p50), (None, None));
        assert_eq!(Sample::new(Vec::new()), None);
    }

    #[test]
    fn a_sample_of_150_prints_p99_but_marks_it() {
        let summary = Sample::new((1..=150).rev().collect()).unwrap().summary();
        let p99 = summary.p99.unwrap();
        assert_eq!(
            (p99.value, p99.low, p99.high, p99.low_n),
            (149, Some(146), None, true)
        );
        let p90 = summary.p90.unwrap();
        assert_eq!(
            (p90.value, p90.low, p90.high, p90.low_n),
            (135, Some(127), Some(143), false)
        );
        assert_eq!(summary.p99_9, None);
        assert_eq!((summary.min, summary.max), (1, 150));
    }
}
