//! Intervals of a ratio of medians by resampling (Efron and Tibshirani 1993), repeatable from a seed: for the comparison of a
//! study's claims with measured samples.

use wirecost_proto::Rng;

use crate::CONFIDENCE;

/// Resamples unless another number is asked for.
pub(crate) const DEFAULT_RESAMPLES: u32 = 10_000;

/// An estimate with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The statistic of the sample itself.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// How to resample. Every interval starts from the same stream, so that it does not depend on those before it.
#[derive(Clone, Copy, Debug)]
pub struct Bootstrap {
    /// Where the resamples come from.
    pub rng: Rng,
    /// How many there are.
    pub resamples: u32,
    /// The confidence level of the interval, in (0, 1).
    pub confidence: f64,
}

impl Bootstrap {
    /// 10,000 resamples and 95 % intervals.
    pub const fn new(rng: Rng) -> Self {
        Self {
            rng,
            resamples: DEFAULT_RESAMPLES,
            confidence: CONFIDENCE,
        }
    }

    /// The percentile interval of the median of `numerator` over that of `denominator`, two independent samples;
    /// `None` where one is empty or the denominator's median is 0.
    pub fn ratio_of_medians(&self, numerator: &[f64], denominator: &[f64]) -> Option<Interval> {
        let of = |sample: &[f64]| (!sample.is_empty()).then(|| median(&mut sample.to_vec()));
        let estimate = of(numerator)? / of(denominator)?;
        if !estimate.is_finite() {
            return None;
        }
        let (mut above_rng, mut below_rng) = (self.rng.purpose(1), self.rng.purpose(2));
        let (mut above, mut below) = (numerator.to_vec(), denominator.to_vec());
        let replicates = self.replicates(|| {
            draw(numerator, &mut above, &mut above_rng);
            draw(denominator, &mut below, &mut below_rng);
            median(&mut above) / median(&mut below)
        });
        Some(replicates.interval(estimate, self.tails()))
    }

    fn replicates(&self, replicate: impl FnMut() -> f64) -> Replicates {
        let values = std::iter::repeat_with(replicate);
        let mut sorted: Vec<f64> = values.take(self.resamples.max(1) as usize).collect();
        sorted.sort_by(f64::total_cmp);
        Replicates { sorted }
    }

    /// The shares of replicates below the lower and the upper end.
    fn tails(&self) -> [f64; 2] {
        let tail = (1.0 - self.confidence) / 2.0;
        [tail, 1.0 - tail]
    }
}

/// The median; for an even number of values the mean of the middle two. 0 without a value.
///
/// ```
/// assert_eq!(wirecost_stats::bootstrap::median(&mut [4.0, 1.0, 2.0, 9.0]), 3.0);
/// ```
pub fn median(values: &mut [f64]) -> f64 {
    let length = values.len();
    if length == 0 {
        return 0.0;
    }
    let (lower, upper, _) = values.select_nth_unstable_by(length / 2, f64::total_cmp);
    if length % 2 == 1 {
        return *upper;
    }
    let below = lower.iter().copied().max_by(f64::total_cmp);
    f64::midpoint(below.unwrap_or(*upper), *upper)
}

/// Fills `resample` with values of `sample`, drawn with replacement.
fn draw(sample: &[f64], resample: &mut [f64], rng: &mut Rng) {
    for value in resample {
        let place = rng.next_below(sample.len() as u64) as usize;
        *value = sample.get(place).copied().unwrap_or(*value);
    }
}

/// The statistic of every resample, in ascending order; at least one.
struct Replicates {
    sorted: Vec<f64>,
}

impl Replicates {
    fn interval(&self, estimate: f64, [low, high]: [f64; 2]) -> Interval {
        Interval {
            estimate,
            low: self.at(low),
            high: self.at(high),
        }
    }

    /// The replicate that the share `share` of all lies below.
    fn at(&self, share: f64) -> f64 {
        let last = self.sorted.len().saturating_sub(1);
        let place = (share * (self.sorted.len() + 1) as f64).round() as usize;
        self.sorted
            .get(place.saturating_sub(1).min(last))
            .copied()
            .unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests;
