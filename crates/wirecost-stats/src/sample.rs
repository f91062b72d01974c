//! Exact values of a sample and their summary.

use crate::mean::MeanInterval;
use crate::quantile::Quantile;

/// Values of one quantity, one per device or message, in one unit (durations: nanoseconds); at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    sorted: Vec<u64>,
}

impl Sample {
    /// The sample of `values` in any order; `None` without a value.
    pub fn new(mut values: Vec<u64>) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        values.sort_unstable();
        Some(Self { sorted: values })
    }

    /// The values in ascending order.
    pub fn sorted(&self) -> &[u64] {
        &self.sorted
    }

    /// The values as floating-point numbers in ascending order; exact below 2^53 (104 days of nanoseconds).
    pub fn to_f64(&self) -> Vec<f64> {
        self.sorted.iter().map(|value| *value as f64).collect()
    }

    /// The quantile of a probability; `None` where the sample is too small to print it.
    pub fn quantile(&self, probability: f64) -> Option<Quantile> {
        Quantile::of(&self.sorted, probability)
    }

    /// Mean, extremes and the quantiles that results files print.
    pub fn summary(&self) -> Summary {
        let (min, max) = match self.sorted.as_slice() {
            [only] => (*only, *only),
            [first, .., last] => (*first, *last),
            [] => (0, 0),
        };
        Summary {
            mean: self.mean(),
            min,
            max,
            p50: self.quantile(0.5),
            p90: self.quantile(0.9),
            p95: self.quantile(0.95),
            p99: self.quantile(0.99),
            p99_9: self.quantile(0.999),
        }
    }

    /// The mean with its Student-t interval.
    pub fn mean(&self) -> MeanInterval {
        let empty = MeanInterval {
            mean: 0.0,
            low: None,
            high: None,
            n: 0,
        };
        MeanInterval::of(&self.to_f64()).unwrap_or(empty)
    }
}

/// What a results file says about a sample. A quantile is `None` where the sample is too small to print it.
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
