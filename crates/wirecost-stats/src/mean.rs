//! The mean and its Student-t interval.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::CONFIDENCE;

/// A mean with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanInterval {
    /// The mean, in the unit of the values.
    pub mean: f64,
    /// The interval's lower end; `None` for a single value.
    pub low: Option<f64>,
    /// The interval's upper end; `None` for a single value.
    pub high: Option<f64>,
    /// The number of values.
    pub n: u64,
}

impl MeanInterval {
    /// The mean of `values` and its Student-t interval: mean +- t(n-1) s / sqrt(n); `None` without a value.
    ///
    /// The interval holds where means of n values are about normally distributed: for heavy tails and small n
    /// rather use [`Bootstrap::bca`](crate::Bootstrap::bca).
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        Some(Self::around(mean, values.len() as u64, squares))
    }

    /// The same of `n` values of which only the mean and the standard deviation (with n in its denominator) are known.
    pub fn of_moments(n: u64, mean: f64, standard_deviation: f64) -> Option<Self> {
        let squares = standard_deviation * standard_deviation * n as f64;
        (n > 0).then(|| Self::around(mean, n, squares))
    }

    /// `squares` is the sum of the squared distances from the mean.
    fn around(mean: f64, n: u64, squares: f64) -> Self {
        let count = n as f64;
        let half = student_t(count - 1.0).map(|t| t * (squares / (count - 1.0) / count).sqrt());
        Self {
            mean,
            low: half.map(|half| mean - half),
            high: half.map(|half| mean + half),
            n,
        }
    }
}

/// From this many degrees of freedom on, the series for t is exact to seven digits, and statrs' inverse is not.
const SERIES_DEGREES: f64 = 200.0;

/// Student's t that [`CONFIDENCE`] of all values lie within on both sides; `None` below one degree of freedom.
///
/// It has as many digits as every machine's logarithm agrees on, so that intervals are the same on every machine.
fn student_t(degrees: f64) -> Option<f64> {
    const DIGITS: f64 = 1e9;
    exact_student_t(degrees).map(|t| (t * DIGITS).round() / DIGITS)
}

fn exact_student_t(degrees: f64) -> Option<f64> {
    let probability = 0.5 + CONFIDENCE / 2.0;
    if degrees < 1.0 {
        return None;
    }
    if degrees >= SERIES_DEGREES {
        return Some(student_t_series(
            Normal::standard().inverse_cdf(probability),
            degrees,
        ));
    }
    let distribution = StudentsT::new(0.0, 1.0, degrees).ok()?;
    Some(distribution.inverse_cdf(probability))
}

/// Student's t of the probability of the normal deviate `z`, to the third order in 1 / `degrees` (Abramowitz and
/// Stegun 26.7.5).
fn student_t_series(z: f64, degrees: f64) -> f64 {
    let z2 = z * z;
    let first = z * (z2 + 1.0) / 4.0;
    let second = z * ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0;
    let third = z * (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0;
    z + (first + (second + third / degrees) / degrees) / degrees
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_is_that_of_the_tables() {
        let table = [
            (1.0, 12.706_205),
            (2.0, 4.302_653),
            (9.0, 2.262_157),
            (29.0, 2.045_230),
            (149.0, 1.976_013),
            (200.0, 1.971_896),
            (1_000.0, 1.962_339),
            (1e6, 1.959_966),
        ];
        for (degrees, expected) in table {
            let t = student_t(degrees).unwrap();
            assert!((t - expected).abs() < 2e-6, "t({degrees}) = {t}");
        }
    }

    #[test]
    fn the_interval_of_a_worked_example() {
        // 1 to 10: s = 3.027650, 5.5 +- 2.262157 x 3.027650 / sqrt(10).
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let mean = MeanInterval::of(&values).unwrap();
        assert_eq!((mean.mean, mean.n), (5.5, 10));
        assert!((mean.low.unwrap() - 3.334_149).abs() < 1e-5);
        assert!((mean.high.unwrap() - 7.665_851).abs() < 1e-5);
    }

    #[test]
    fn a_single_value_has_no_interval() {
        let mean = MeanInterval::of(&[3.0]).unwrap();
        assert_eq!((mean.mean, mean.low, mean.high), (3.0, None, None));
        assert_eq!(MeanInterval::of(&[]), None);
    }

    #[test]
    fn equal_values_have_an_interval_of_one_point() {
        let mean = MeanInterval::of(&[25e6; 150]).unwrap();
        assert_eq!((mean.low, mean.high), (Some(25e6), Some(25e6)));
    }

    #[test]
    fn moments_give_the_interval_of_the_values() {
        // 1 to 10: the variance with n in its denominator is 8.25.
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let (exact, kept) = (
            MeanInterval::of(&values).unwrap(),
            MeanInterval::of_moments(10, 5.5, 8.25_f64.sqrt()).unwrap(),
        );
        assert!((exact.low.unwrap() - kept.low.unwrap()).abs() < 1e-12);
        assert_eq!(MeanInterval::of_moments(0, 0.0, 0.0), None);
        assert_eq!(MeanInterval::of_moments(1, 3.0, 0.0).unwrap().low, None);
    }
}
