//! What it takes to tell two figures apart.

use wirecost_proto::Rng;
use wirecost_stats::{Bootstrap, holm, mann_whitney};

use crate::evidence::Figure;

/// The level of all tests and intervals.
const LEVEL: f64 = 0.05;
/// Standard normal quantiles of a test at [`LEVEL`] on both sides that finds a true difference four times in five.
const DEVIATES: f64 = 1.959_964 + 0.841_621;

/// How the first figure of a pair compares with the second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Compared {
    /// It is smaller.
    Smaller,
    /// It is larger.
    Larger,
    /// They cannot be told apart; with this many samples of each they could be, if it is known.
    Inseparable {
        /// Samples of each.
        needed: Option<u64>,
    },
}

/// Compares adjacent figures. Medians whose samples are there are compared by ranks, adjusted for the number of pairs
/// (Holm); all others by their intervals. Ranks say nothing about means: where a few messages are lost, the stack with
/// the lower median can have the higher mean.
pub fn adjacent(figures: &[Figure]) -> Vec<Compared> {
    let pairs: Vec<(&Figure, &Figure)> = figures.iter().zip(figures.iter().skip(1)).collect();
    let tests: Vec<_> = pairs
        .iter()
        .map(|(one, other)| {
            let by_ranks = one.is_median && other.is_median && !(one.is_exact && other.is_exact);
            by_ranks
                .then(|| mann_whitney(&one.samples, &other.samples))
                .flatten()
        })
        .collect();
    let p_values: Vec<f64> = tests.iter().flatten().map(|test| test.p).collect();
    let mut adjusted = holm(&p_values).into_iter();
    pairs
        .into_iter()
        .zip(tests)
        .map(
            |((one, other), test)| match test.zip(adjusted_of(&test, &mut adjusted)) {
                Some((test, p)) if p < LEVEL && test.superiority < 0.5 => Compared::Smaller,
                Some((test, p)) if p < LEVEL && test.superiority > 0.5 => Compared::Larger,
                Some(_) => inseparable(one, other),
                None => by_intervals(one, other),
            },
        )
        .collect()
}

/// The next adjusted p-value, if there was a test.
fn adjusted_of<T>(test: &Option<T>, adjusted: &mut impl Iterator<Item = f64>) -> Option<f64> {
    test.as_ref().and_then(|_| adjusted.next())
}

/// Compares two figures by their intervals. Two that are modelled by the same device file have their low end together, and
/// their high end.
pub fn by_intervals(one: &Figure, other: &Figure) -> Compared {
    // What is above 0 is so in every run, however far a few runs are apart.
    let least = |figure: &Figure| {
        if figure.amount.value < 0.0 {
            f64::NEG_INFINITY
        } else {
            0.0
        }
    };
    let ends = [one, other].map(|figure| figure.ends().map(|end| end.max(least(figure))));
    let [[low, high], [other_low, other_high]] = ends;
    if one.shares_model(other) {
        return match (
            low < other_low && high < other_high,
            low > other_low && high > other_high,
        ) {
            (true, _) => Compared::Smaller,
            (_, true) => Compared::Larger,
            _ => inseparable(one, other),
        };
    }
    if high < other_low {
        Compared::Smaller
    } else if low > other_high {
        Compared::Larger
    } else {
        inseparable(one, other)
    }
}

fn inseparable(one: &Figure, other: &Figure) -> Compared {
    Compared::Inseparable {
        needed: needed(&one.samples, &other.samples),
    }
}

/// The number of samples of each that would separate two means that far apart.
fn needed(one: &[f64], other: &[f64]) -> Option<u64> {
    let (mean, variance) = moments(one)?;
    let (other_mean, other_variance) = moments(other)?;
    let distance = mean - other_mean;
    let samples = DEVIATES.powi(2) * (variance + other_variance) / distance.powi(2);
    (samples.is_finite() && samples < 1e12).then(|| (samples.ceil() as u64).max(2))
}

fn moments(samples: &[f64]) -> Option<(f64, f64)> {
    let n = samples.len() as f64;
    if samples.len() < 2 {
        return None;
    }
    let mean = samples.iter().sum::<f64>() / n;
    let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
    Some((mean, squares / (n - 1.0)))
}

/// The ratio of two figures with its interval: by resampling for medians whose samples are there, otherwise from the
/// ends of both intervals, which go together where the same device file models both. `None` if the second figure is 0.
pub fn ratio(one: &Figure, other: &Figure, of_medians: bool) -> Option<(f64, [f64; 2])> {
    let value = one.amount.value / other.amount.value;
    if !value.is_finite() {
        return None;
    }
    if of_medians && !one.samples.is_empty() && !other.samples.is_empty() {
        let resampled = Bootstrap::new(Rng::new(0)).ratio_of_medians(&one.samples, &other.samples);
        return resampled.map(|interval| (value, [interval.low, interval.high]));
    }
    // What is above 0 is so in every run, however far a few runs are apart.
    let least = |figure: &Figure| {
        if figure.amount.value < 0.0 {
            f64::NEG_INFINITY
        } else {
            0.0
        }
    };
    let ends = [one, other].map(|figure| figure.ends().map(|end| end.max(least(figure))));
    let [[low, high], [other_low, other_high]] = ends;
    if one.shares_model(other) {
        let [first, second] = [low / other_low, high / other_high];
        return Some((value, [first.min(second), first.max(second)]));
    }
    Some((value, [low / other_high, high / other_low]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amount::Amount;

    fn figure(samples: &[f64]) -> Figure {
        let mean = samples.iter().sum::<f64>() / samples.len() as f64;
        Figure {
            run: String::new(),
            amount: Amount::seconds(mean),
            interval: None,
            is_exact: !samples.is_empty() && samples.iter().all(|sample| *sample == samples[0]),
            is_median: true,
            engine: "sim".into(),
            n: samples.len() as u64,
            samples: samples.to_vec(),
            reference: String::new(),
            model: None,
        }
    }

    #[test]
    fn ranks_separate_samples_that_differ() {
        let low: Vec<f64> = (0..20).map(f64::from).collect();
        let high: Vec<f64> = (15..35).map(f64::from).collect();
        let figures = [figure(&low), figure(&high), figure(&low)];
        assert_eq!(adjacent(&figures), [Compared::Smaller, Compared::Larger]);
    }

    #[test]
    fn the_interval_of_a_ratio_does_not_reach_below_0() {
        let wide = Figure {
            interval: Some([-4.0, 8.0]),
            ..figure(&[2.0])
        };
        let (value, [low, high]) = ratio(&wide, &figure(&[2.0]), false).expect("a ratio");
        assert!((value - 1.0).abs() < 1e-12 && low == 0.0 && (high - 4.0).abs() < 1e-12);
    }

    #[test]
    fn means_are_compared_by_their_intervals() {
        // Nine in ten are lower, and the mean is higher.
        let rare: Vec<f64> = (0..100)
            .map(|at| if at % 10 == 0 { 100.0 } else { 1.0 })
            .collect();
        let even: Vec<f64> = vec![2.0; 100];
        let of_mean = |samples: &[f64], interval: [f64; 2]| Figure {
            is_median: false,
            interval: Some(interval),
            ..figure(samples)
        };
        let figures = [of_mean(&rare, [5.0, 17.0]), of_mean(&even, [2.0, 2.0])];
        assert_eq!(adjacent(&figures), [Compared::Larger]);
        let medians = [figure(&rare), figure(&even)];
        assert_eq!(adjacent(&medians), [Compared::Smaller]);
    }

    #[test]
    fn exact_figures_are_compared_by_their_values() {
        let figures = [figure(&[1.0, 1.0]), figure(&[2.0, 2.0]), figure(&[2.0, 2.0])];
        let compared = adjacent(&figures);
        assert_eq!(
            compared,
            [Compared::Smaller, Compared::Inseparable { needed: None }]
        );
    }

    #[test]
    fn the_samples_that_would_separate_are_counted() {
        // Means 1 apart, variances 1 each: 2 (1.96 + 0.84)^2 = 15.7.
        let one = [0.0, 1.0, 2.0];
        let other = [1.0, 2.0, 3.0];
        assert_eq!(needed(&one, &other), Some(16));
        assert_eq!(needed(&one, &one), None);
    }

    #[test]
    fn figures_of_one_device_file_move_together() {
        let modelled = |value: f64, model: &'static str| Figure {
            amount: Amount::new(value, crate::amount::Dimension::ENERGY),
            interval: Some([value * 0.7, value * 1.3]),
            model: Some(crate::model::Modelled {
                device: model,
                mostly: "tails",
                share: 1.0,
            }),
            ..figure(&[])
        };
        let (one, other) = (modelled(1.0, "a"), modelled(1.2, "a"));
        assert_eq!(by_intervals(&one, &other), Compared::Smaller);
        assert_eq!(by_intervals(&other, &one), Compared::Larger);
        let (_, [low, high]) = ratio(&other, &one, false).expect("a ratio");
        assert!((low - 1.2).abs() < 1e-9 && (high - 1.2).abs() < 1e-9);
        let foreign = modelled(1.2, "b");
        assert!(matches!(
            by_intervals(&one, &foreign),
            Compared::Inseparable { .. }
        ));
    }

    #[test]
    fn a_ratio_takes_the_ends_of_both_intervals() {
        let with = |value: f64, interval: [f64; 2]| Figure {
            amount: Amount::seconds(value),
            interval: Some(interval),
            ..figure(&[value])
        };
        let (value, interval) =
            ratio(&with(4.0, [3.0, 5.0]), &with(2.0, [1.0, 2.5]), false).expect("a ratio");
        assert_eq!((value, interval), (2.0, [1.2, 5.0]));
        assert_eq!(ratio(&with(1.0, [1.0, 1.0]), &with(0.0, [0.0, 0.0]), false), None);
    }
}
