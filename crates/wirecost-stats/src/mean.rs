//! The mean and its interval, for values whose distribution may have a heavy tail.
//!
//! Under loss most response times are one round trip, and a few include time-outs that double. Student's t is wrong for such
//! values: a sample without the rarest time-outs has too small a mean and too small a deviation. The two ends of the interval
//! here use different methods. `h` is the skewness divided by sqrt(n), and `t` is Student's t:
//!
//! - On the side without the tail, Hall's transformation of Student's statistic (Hall 1992, On the removal of skewness by
//!   transformation, J. R. Statist. Soc. B 54, 221-228), which is correct to the second order.
//! - On the side of the tail, the second-order Cornish-Fisher expansion `t + h (2 t^2 + 1) / 6` (Hall 1992, The Bootstrap and
//!   Edgeworth Expansion, 2.5) of the sample and of what it may lack: one value twice as far from the mean as its farthest,
//!   because time-outs double. That value counts in full where the tail is heavy, and less where the sample is large for
//!   its skewness.
//!
//! docs/decisions/0031 has how often this interval and others hold the truth.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::CONFIDENCE;

/// From this number of values on, there is an interval for any skewness.
pub const ENOUGH: u64 = 150;
/// Below [`ENOUGH`] values, the smallest ratio of n to the squared skewness for which there is an interval.
const LEAST_PER_SKEWNESS: f64 = 20.0;
/// The largest weight of the value that a sample may lack, in values of the sample.
const MOST_LACKING: f64 = 1.25;
/// The weight of that value, divided by the squared skewness over n.
const LACKING_PER_SKEWNESS: f64 = 40.0;

/// A mean with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanInterval {
    /// The mean, in the unit of the values.
    pub mean: f64,
    /// The interval's lower end; `None` if n is too small, or if the values are not independent.
    pub low: Option<f64>,
    /// The interval's upper end; `None` with the lower one.
    pub high: Option<f64>,
    /// The number of values.
    pub n: u64,
    /// Whether n is too small for the skewness of the values. Draw no conclusion from such a mean.
    pub low_n: bool,
}

impl MeanInterval {
    /// The mean of `values` and its interval; `None` without a value.
    pub fn from_values(values: &[f64]) -> Option<Self> {
        let first = *values.first()?;
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        // Not from the mean on: that of equal values may lie beside them by a rounding error.
        let farthest = values.iter().fold([first; 2], |[least, most], value| {
            [least.min(*value), most.max(*value)]
        });
        let deviations = || values.iter().map(|value| value - mean);
        let moments = Moments {
            n: values.len() as f64,
            mean,
            second: deviations().map(|d| d * d).sum::<f64>() / values.len() as f64,
            third: deviations().map(|d| d * d * d).sum::<f64>() / values.len() as f64,
        };
        let interval = moments.interval(farthest);
        Some(Self {
            mean,
            low: interval.map(|[low, _]| low),
            high: interval.map(|[_, high]| high),
            n: values.len() as u64,
            low_n: interval.is_none(),
        })
    }

    /// The mean over repeated runs, with Student's interval: each value is itself a figure of many samples. `None` without a
    /// value.
    pub fn of_runs(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let half = student_t(n - 1.0).map(|t| t * (squares / (n - 1.0) / n).sqrt());
        (!values.is_empty()).then_some(Self {
            mean,
            low: half.map(|half| mean - half),
            high: half.map(|half| mean + half),
            n: values.len() as u64,
            low_n: half.is_none(),
        })
    }

    /// The same mean without its interval, because the values are not a sample that has one.
    #[must_use]
    pub const fn without_interval(self) -> Self {
        Self {
            low: None,
            high: None,
            low_n: true,
            ..self
        }
    }
}

/// The central moments of values, each with n in its denominator.
#[derive(Clone, Copy)]
struct Moments {
    n: f64,
    mean: f64,
    second: f64,
    third: f64,
}

impl Moments {
    /// The interval of the mean for these smallest and largest values; `None` if n is too small.
    fn interval(&self, [least, most]: [f64; 2]) -> Option<[f64; 2]> {
        let t = student_t(self.n - 1.0)?;
        if least >= most {
            return Some([self.mean; 2]);
        }
        let too_skewed = self.n < LEAST_PER_SKEWNESS * self.skewness() * self.skewness();
        if too_skewed && self.n < ENOUGH as f64 {
            return None;
        }
        if self.third < 0.0 {
            let mirrored = Self {
                third: -self.third,
                ..*self
            };
            let away = mirrored.reach_away_from_tail(t);
            return Some([
                self.mean - mirrored.reach_into_tail(t, self.mean - least),
                self.mean + away,
            ]);
        }
        let into = self.reach_into_tail(t, most - self.mean);
        Some([self.mean - self.reach_away_from_tail(t), self.mean + into])
    }

    fn skewness(&self) -> f64 {
        self.third / (self.second * self.second.sqrt())
    }

    /// The skewness divided by sqrt(n): the skewness of the mean of n such values.
    fn asymmetry(&self) -> f64 {
        self.skewness() / self.n.sqrt()
    }

    /// The standard error of the mean.
    fn error(&self) -> f64 {
        (self.second / (self.n - 1.0)).sqrt()
    }

    /// The distance from the mean to the lower end, for a tail above: the inverse of Hall's transformation.
    fn reach_away_from_tail(&self, t: f64) -> f64 {
        /// Below this, rounding errors exceed the correction.
        const SYMMETRIC: f64 = 1e-6;
        let h = self.asymmetry();
        if h < SYMMETRIC {
            return t * self.error();
        }
        let transformed = libm::cbrt(1.0 + h * (t - h / 6.0));
        3.0 / h * (transformed - 1.0) * self.error()
    }

    /// The distance from the mean to the upper end, for a tail above whose farthest value is `farthest` from the mean.
    fn reach_into_tail(&self, t: f64, farthest: f64) -> f64 {
        let h = self.asymmetry();
        let lacking = MOST_LACKING.min(LACKING_PER_SKEWNESS * h * h);
        let whole = self.with(2.0 * farthest, lacking);
        let shift = whole.mean - self.mean;
        shift + (t + whole.asymmetry() * (2.0 * t * t + 1.0) / 6.0) * whole.error()
    }

    /// The moments with a value added that has the weight `times` and lies `away` above the mean. n does not change, because
    /// the value was not measured.
    fn with(&self, away: f64, times: f64) -> Self {
        let share = times / (self.n + times);
        let shift = share * away;
        let rest = away - shift;
        let second = self.second + shift * shift;
        let third = self.third - 3.0 * shift * self.second - shift * shift * shift;
        Self {
            n: self.n,
            mean: self.mean + shift,
            second: (1.0 - share) * second + share * rest * rest,
            third: (1.0 - share) * third + share * rest * rest * rest,
        }
    }
}

/// How much wider Student's interval of `n` values is where it misses the truth in a share `miss` of all cases than at 95 %; `None`
/// below two values.
pub fn widening(n: u64, miss: f64) -> Option<f64> {
    let degrees = n as f64 - 1.0;
    let wide = exact_student_t_at(degrees, 1.0 - miss / 2.0)?;
    Some(wide / exact_student_t(degrees)?)
}

/// From this number of degrees of freedom on, the series for t is exact to seven digits, and statrs' inverse is not.
const SERIES_DEGREES: f64 = 200.0;

/// The two-sided quantile of Student's t for [`CONFIDENCE`]; `None` below one degree of freedom.
///
/// It is rounded to the digits on which the logarithms of all machines agree, so that intervals are the same everywhere.
fn student_t(degrees: f64) -> Option<f64> {
    const DIGITS: f64 = 1e9;
    exact_student_t(degrees).map(|t| (t * DIGITS).round() / DIGITS)
}

fn exact_student_t(degrees: f64) -> Option<f64> {
    exact_student_t_at(degrees, 0.5 + CONFIDENCE / 2.0)
}

fn exact_student_t_at(degrees: f64, probability: f64) -> Option<f64> {
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
    fn a_wider_interval_is_that_of_the_tables() {
        // t(4) is 2.776445 at 95 % and 8.610302 at 99.9 %; the normal deviates are 1.959964 and 3.290527.
        for (n, factor) in [(5, 8.610_302 / 2.776_445), (1_000_001, 3.290_527 / 1.959_964)] {
            let wider = widening(n, 0.001).unwrap();
            assert!((wider - factor).abs() < 1e-4, "{n}: {wider}");
        }
        assert_eq!(widening(1, 0.001), None);
    }

    #[test]
    fn the_interval_of_a_worked_example() {
        // 1 to 10: s = 3.027650, 5.5 +- 2.262157 x 3.027650 / sqrt(10).
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let mean = MeanInterval::from_values(&values).unwrap();
        assert_eq!((mean.mean, mean.n), (5.5, 10));
        assert!((mean.low.unwrap() - 3.334_149).abs() < 1e-5);
        assert!((mean.high.unwrap() - 7.665_851).abs() < 1e-5);
    }

    #[test]
    fn a_single_value_has_no_interval() {
        let mean = MeanInterval::from_values(&[3.0]).unwrap();
        assert_eq!((mean.mean, mean.low, mean.high), (3.0, None, None));
        assert!(mean.low_n);
        assert_eq!(MeanInterval::from_values(&[]), None);
    }

    #[test]
    fn equal_values_have_an_interval_of_one_point() {
        for n in [2, 150] {
            let mean = MeanInterval::from_values(&vec![25e6; n]).unwrap();
            assert_eq!((mean.low, mean.high, mean.low_n), (Some(25e6), Some(25e6), false));
        }
        // The sum has a rounding error, and the mean is beside the values.
        for (value, n) in [(0.1, 7), (1_776.274_305_555_555_7, 5)] {
            let mean = MeanInterval::from_values(&vec![value; n]).unwrap();
            let point = Some(mean.mean);
            assert_eq!((mean.low, mean.high, mean.low_n), (point, point, false));
        }
    }

    /// `common` values of 25 and `rare` ones of 230.
    fn with_rare(common: usize, rare: usize) -> Vec<f64> {
        [vec![25.0; common], vec![230.0; rare]].concat()
    }

    #[test]
    fn the_interval_reaches_further_into_the_tail() {
        let above = MeanInterval::from_values(&with_rare(145, 5)).unwrap();
        let [below_mean, above_mean] = [above.mean - above.low.unwrap(), above.high.unwrap() - above.mean];
        assert!(above_mean > 2.0 * below_mean, "{above:?}");
        let mirrored: Vec<f64> = with_rare(145, 5).iter().map(|value| -value).collect();
        let below = MeanInterval::from_values(&mirrored).unwrap();
        assert!((below.low.unwrap() + above.high.unwrap()).abs() < 1e-9);
        assert!((below.high.unwrap() + above.low.unwrap()).abs() < 1e-9);
    }

    #[test]
    fn few_skewed_values_have_no_interval() {
        assert!(
            MeanInterval::from_values(&with_rare(145, 5))
                .unwrap()
                .low
                .is_some()
        );
        let few = MeanInterval::from_values(&with_rare(55, 5)).unwrap();
        assert_eq!((few.low, few.high, few.low_n), (None, None, true));
        let even: Vec<f64> = (1..=30).map(f64::from).collect();
        assert!(!MeanInterval::from_values(&even).unwrap().low_n);
    }

    #[test]
    fn an_interval_can_be_taken_away() {
        let mean = MeanInterval::from_values(&[1.0, 2.0]).unwrap().without_interval();
        assert_eq!((mean.mean, mean.low, mean.high), (1.5, None, None));
        assert!(mean.low_n);
    }
}
