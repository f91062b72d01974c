//! Quantiles as order statistics, with exact intervals.
//!
//! The p-quantile of n values is the ceil(n p)-th smallest: the inverse of the empirical distribution function
//! (type 1 of Hyndman and Fan 1996). It is always a value that occurred, as in an HDR histogram.
//!
//! The interval assumes no distribution. The number of values at or below the true quantile is binomial(n, p),
//! so the l-th and u-th smallest values enclose it with probability P(l <= B < u); the ranks are the narrowest
//! that leave at most 2.5 % on each side. If no rank does, that side of the interval is open.

use crate::CONFIDENCE;

/// Below this number of values p99.9 is never printed.
const P999_MIN_VALUES: u64 = 10_000;

/// Tolerance for products such as 10 x (1 - 0.9), which differ from a whole number by rounding.
const ROUNDING: f64 = 1e-9;

/// A quantile of a sample with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantile {
    /// The probability of the quantile, in (0, 1).
    pub probability: f64,
    /// The value, in the unit of the sample.
    pub value: u64,
    /// The interval's lower end; `None` if the sample is too small for one.
    pub low: Option<u64>,
    /// The interval's upper end; `None` if the sample is too small for one.
    pub high: Option<u64>,
    /// Whether fewer than ten values are expected beyond it. Reports mark such a quantile `low-n`.
    pub low_n: bool,
}

impl Quantile {
    /// The quantile of values in ascending order; `None` unless `is_printable`.
    pub fn from_sorted(sorted: &[u64], probability: f64) -> Option<Self> {
        let n = sorted.len() as u64;
        if !is_printable(n, probability) {
            return None;
        }
        let at = |rank: u64| sorted.get(usize::try_from(rank.checked_sub(1)?).ok()?).copied();
        let (low, high) = interval_ranks(n, probability);
        Some(Self {
            probability,
            value: at(rank(n, probability))?,
            low: low.and_then(at),
            high: high.and_then(at),
            low_n: is_low_n(n, probability),
        })
    }
}

/// Whether the quantile of `n` values may be printed: at least one value is expected beyond it, and p99.9 (and
/// above) needs 10,000 values.
pub(crate) fn is_printable(n: u64, probability: f64) -> bool {
    let is_quantile = probability > 0.0 && probability < 1.0;
    let is_extreme = probability >= 0.999 - ROUNDING;
    is_quantile && expected_beyond(n, probability) >= 1.0 && (!is_extreme || n >= P999_MIN_VALUES)
}

/// Whether reports mark the quantile of `n` values `low-n`: fewer than ten values are expected beyond it.
pub fn is_low_n(n: u64, probability: f64) -> bool {
    expected_beyond(n, probability) < 10.0
}

fn expected_beyond(n: u64, probability: f64) -> f64 {
    n as f64 * (1.0 - probability) + ROUNDING
}

/// The rank of the quantile among `n` values, counted from 1.
pub fn rank(n: u64, probability: f64) -> u64 {
    let rank = (n as f64 * probability - ROUNDING).ceil() as u64;
    rank.clamp(1, n.max(1))
}

/// The ranks, counted from 1, of the values that enclose the quantile with a probability of at least 95 %.
///
/// ```
/// use wirecost_stats::quantile::interval_ranks;
/// assert_eq!(interval_ranks(150, 0.5), (Some(63), Some(88)));
/// assert_eq!(interval_ranks(150, 0.99), (Some(146), None));
/// ```
pub fn interval_ranks(n: u64, probability: f64) -> (Option<u64>, Option<u64>) {
    // The l-th value is above the quantile if fewer than l values lie at or below the quantile. The u-th value is below the
    // quantile if at most n - u values lie above the quantile.
    let low = largest_in_tail(n, probability, 1.0 - probability);
    let high = largest_in_tail(n, 1.0 - probability, probability);
    (low.map(|below| below + 1), high.map(|above| n - above))
}

/// The largest k with P(B <= k) at most half of 1 - [`CONFIDENCE`], for B binomial of `n` trials with the probabilities `p`
/// and `q` = 1 - p; `None` if P(B = 0) is already more.
///
/// Sums the terms relative to that of the mode and divides by their total: sums and products only, so that the
/// result is the same on every machine, in about 20 sqrt(n p q) steps.
fn largest_in_tail(n: u64, p: f64, q: f64) -> Option<u64> {
    let mode = (((n + 1) as f64 * p) as u64).min(n);
    let downwards = relative_terms(mode, |k| k as f64 * q / ((n - k + 1) as f64 * p));
    let upwards = relative_terms(n - mode, |left| left as f64 * p / ((n - left + 1) as f64 * q));
    let total = downwards.iter().sum::<f64>() + upwards.iter().skip(1).sum::<f64>();
    let limit = total * (1.0 - CONFIDENCE) / 2.0;
    let lowest = mode - (downwards.len() as u64 - 1);
    let mut below = 0.0;
    let exceeding = downwards.iter().rev().position(|term| {
        below += term;
        below > limit
    })?;
    (lowest + exceeding as u64).checked_sub(1)
}

/// Binomial terms relative to the first, which is 1, until they are negligible. `ratio` is the ratio of the next term to the
/// one with `left` steps to go.
fn relative_terms(left: u64, ratio: impl Fn(u64) -> f64) -> Vec<f64> {
    let mut term = 1.0;
    let following = (1..=left).rev().map(|left| {
        term *= ratio(left);
        term
    });
    std::iter::once(1.0)
        .chain(following.take_while(|term| *term > 1e-20))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{Binomial, DiscreteCDF};

    #[test]
    fn interval_ranks_are_those_of_the_binomial_distribution() {
        let table = [
            // n = 5: even the extremes enclose the median with 93.75 % only.
            (5, 0.5, None, None),
            (6, 0.5, Some(1), Some(6)),
            (10, 0.5, Some(2), Some(9)),
            (20, 0.5, Some(6), Some(15)),
            (100, 0.5, Some(40), Some(61)),
            (150, 0.5, Some(63), Some(88)),
            (150, 0.9, Some(127), Some(143)),
            (150, 0.99, Some(146), None),
            // 0.99^n is below 2.5 % from n = 368 on.
            (367, 0.99, Some(359), None),
            (368, 0.99, Some(360), Some(368)),
        ];
        for (n, probability, low, high) in table {
            assert_eq!(
                interval_ranks(n, probability),
                (low, high),
                "n = {n}, p = {probability}"
            );
        }
    }

    #[test]
    fn ranks_are_the_narrowest_that_cover() {
        for (n, probability) in [(47, 0.5), (150, 0.9), (1_000, 0.95), (5_000, 0.99)] {
            let below = Binomial::new(probability, n).unwrap();
            let (Some(low), Some(high)) = interval_ranks(n, probability) else {
                panic!("n = {n} is enough for {probability}");
            };
            assert!(below.cdf(low - 1) <= 0.025 && below.cdf(low) > 0.025);
            assert!(below.sf(high - 1) <= 0.025 && below.sf(high - 2) > 0.025);
        }
    }

    #[test]
    fn large_samples_have_the_ranks_of_the_normal_approximation() {
        for (n, probability) in [(1_000_000_u64, 0.5), (1_000_000, 0.99), (10_000_000, 0.999)] {
            let mean = n as f64 * probability;
            let half = 1.959_964 * (mean * (1.0 - probability)).sqrt();
            let (low, high) = interval_ranks(n, probability);
            assert!((low.unwrap() as f64 - (mean - half)).abs() < 2.0);
            assert!((high.unwrap() as f64 - (mean + half)).abs() < 2.0);
        }
    }

    #[test]
    fn ranks_without_a_sample_are_open() {
        for probability in [0.0, 0.5, 1.0, -1.0, 2.0, f64::NAN] {
            assert_eq!(interval_ranks(0, probability), (None, None), "{probability}");
        }
    }

    #[test]
    fn the_quantile_is_the_inverse_of_the_empirical_distribution() {
        let table = [
            (10, 0.5, 5),
            (11, 0.5, 6),
            (10, 0.9, 9),
            (100, 0.95, 95),
            (150, 0.99, 149),
            (1, 0.5, 1),
            (0, 0.5, 1),
        ];
        for (n, probability, expected) in table {
            assert_eq!(rank(n, probability), expected, "n = {n}, p = {probability}");
        }
    }

    #[test]
    fn a_quantile_is_printed_from_one_value_beyond_it_on() {
        for (probability, n, unmarked) in [
            (0.5, 2, 20),
            (0.9, 10, 100),
            (0.95, 20, 200),
            (0.99, 100, 1_000),
            (0.999, 10_000, 10_000),
        ] {
            assert!(
                !is_printable(n - 1, probability) && is_printable(n, probability),
                "{probability}"
            );
            assert!(is_low_n(unmarked - 1, probability) && !is_low_n(unmarked, probability));
        }
        assert!(!is_printable(1_000_000, 1.0) && !is_printable(1_000_000, 0.0));
        assert!(!is_printable(1_000_000, f64::NAN));
    }
}
