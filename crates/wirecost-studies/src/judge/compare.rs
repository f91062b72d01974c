//! What two figures say of each other, by the judgement that every comparison has.

use wirecost_proto::Rng;
use wirecost_stats::mean::MeanInterval;
use wirecost_stats::{Bootstrap, Estimate, Judgement};

use crate::amount::digits;
use crate::evidence::Figure;

/// Standard normal quantiles of a test at 5 % on both sides that finds a true difference four times in five, over that of a 95 %
/// interval.
const TO_FIND: f64 = (1.959_964 + 0.841_621) / 1.959_964;

/// What the first figure is against the second. A difference is of note if it is above `apart`, a share of the smaller one, and its
/// interval does not lie within it.
pub fn judged(one: &Figure, other: &Figure, apart: f64) -> Judgement {
    let [first, second] = [one, other].map(estimate);
    let difference = match one.shares_model(other) {
        false if one.pairs_with(other) => paired(one, other),
        false => first.plus(&second.scaled(-1.0)),
        // Two that are modelled by the same device file have their low end together, and their high end.
        true => {
            let [[low, high], [other_low, other_high]] = [one, other].map(ends);
            let [at_low, at_high] = [low - other_low, high - other_high];
            Estimate {
                value: first.value - second.value,
                interval: Some([at_low.min(at_high), at_low.max(at_high)]),
            }
        }
    };
    // Of the smaller one, so that the order of the two does not change the judgement.
    let margin = apart * first.value.abs().min(second.value.abs());
    match difference.as_difference(margin) {
        // A difference for certain, but one within the margin: more samples would tell whether it is of note.
        Judgement::Less | Judgement::More if difference.value.abs() <= margin => Judgement::TooFew,
        judgement => judgement,
    }
}

/// The mean difference within replications, with Student's interval.
fn paired(one: &Figure, other: &Figure) -> Estimate {
    let pairs = one.samples.iter().zip(&other.samples);
    let differences: Vec<f64> = pairs.map(|(one, other)| one - other).collect();
    match MeanInterval::of_runs(&differences) {
        Some(MeanInterval {
            mean,
            low: Some(low),
            high: Some(high),
            ..
        }) => Estimate {
            value: mean,
            interval: Some([low, high]),
        },
        _ => Estimate::unknown(one.amount.value - other.amount.value),
    }
}

/// The judgement of each figure against the next one.
pub fn adjacent(figures: &[Figure], apart: f64) -> Vec<Judgement> {
    let pairs = figures.iter().zip(figures.iter().skip(1));
    pairs.map(|(one, other)| judged(one, other, apart)).collect()
}

/// A figure of a claim: one that a run has once stands for itself, unless it is of too few samples.
fn estimate(figure: &Figure) -> Estimate {
    let lacks = figure.interval.is_none() && (figure.samples.len() > 1 || figure.is_median);
    match lacks && !figure.is_exact {
        true => Estimate::unknown(figure.amount.value),
        false => Estimate {
            value: figure.amount.value,
            interval: Some(ends(figure)),
        },
    }
}

/// Both ends of a figure. What is above 0 is so in every run, however far a few runs are apart.
fn ends(figure: &Figure) -> [f64; 2] {
    let is_negative = figure.amount.value < 0.0;
    let least = if is_negative { f64::NEG_INFINITY } else { 0.0 };
    figure.ends().map(|end| end.max(least))
}

/// What tells why neither of two figures is less: that they are equal, that they hardly differ, or how many samples would tell.
pub fn undecided(
    judgement: Judgement,
    [one, other]: [&str; 2],
    [first, second]: [&Figure; 2],
    apart: f64,
) -> String {
    if first.amount.value == second.amount.value {
        return format!("{one} and {other} are equal");
    }
    let percent = digits(apart * 100.0);
    match (judgement, needed(first, second, apart)) {
        (Judgement::TooFew, Some(needed)) => format!(
            "{} {one} from {other}; about {needed} of each would show a difference of {percent} %",
            judgement.words()
        ),
        (Judgement::Alike, _) => format!(
            "{} between {one} {} and {other} {}: less than {percent} %",
            judgement.words(),
            first.amount,
            second.amount
        ),
        _ => format!("{} between {one} and {other}", between(judgement)),
    }
}

const fn between(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::TooFew => "too few samples to tell a difference",
        Judgement::Less | Judgement::More | Judgement::Equal | Judgement::Alike => judgement.words(),
    }
}

/// The number of samples of each that would show a difference of this share, whatever these differ by: intervals shrink with the
/// root of the samples.
fn needed(one: &Figure, other: &Figure, apart: f64) -> Option<u64> {
    let [first, second] = [one, other].map(estimate);
    let [low, high] = first.plus(&second.scaled(-1.0)).interval?;
    let reach = TO_FIND * (high - low) / 2.0;
    let wanted = apart * first.value.abs().min(second.value.abs());
    let samples = one.n.max(other.n) as f64 * (reach / wanted).powi(2);
    (samples.is_finite() && samples < 1e12).then(|| (samples.ceil() as u64).max(2))
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
    let [[low, high], [other_low, other_high]] = [one, other].map(ends);
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
            is_replicated: false,
        }
    }

    #[test]
    fn figures_of_the_same_devices_are_compared_within_replications() {
        let of = |samples: [f64; 4]| Figure {
            is_replicated: true,
            is_median: false,
            ..figure(&samples)
        };
        // Replications differ by far more than the stacks.
        let [one, other] = [of([1.0, 5.0, 9.0, 13.0]), of([1.5, 5.4, 9.6, 13.5])];
        assert_eq!(judged(&one, &other), Judgement::Less);
        let [apart, others] = [&one, &other].map(|figure| Figure {
            is_replicated: false,
            ..figure.clone()
        });
        assert_eq!(judged(&apart, &others), Judgement::TooFew);
        assert_eq!(judged(&one, &one), Judgement::Equal);
        assert_eq!(
            judged(&of([1.0, 5.0, 9.0, 13.0]), &of([1.5, 4.4, 9.6, 12.5])),
            Judgement::TooFew
        );
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

    fn make_figure(value: f64, half: f64) -> Figure {
        Figure {
            amount: Amount::seconds(value),
            interval: Some([value - half, value + half]),
            is_exact: half == 0.0,
            n: 20,
            ..figure(&[])
        }
    }

    fn judged(one: &Figure, other: &Figure) -> Judgement {
        super::judged(one, other, 0.05)
    }

    #[test]
    fn an_order_needs_a_distance() {
        let exact = |value: f64| make_figure(value, 0.0);
        assert_eq!(judged(&exact(5.098), &exact(5.145)), Judgement::Alike, "0.9 %");
        assert_eq!(judged(&exact(5.098), &exact(5.4)), Judgement::Less);
        assert_eq!(
            super::judged(&exact(166.0), &exact(167.0), 0.0),
            Judgement::Less,
            "every byte counts"
        );
        // The intervals do not meet and the values differ by less than the margin, but the true difference may be larger than the
        // margin: the samples are too few.
        let [one, other] = [make_figure(1.0, 0.02), make_figure(1.04, 0.015)];
        assert_eq!(judged(&one, &other), Judgement::TooFew);
    }

    #[test]
    fn figures_are_judged_as_every_comparison_is() {
        assert_eq!(
            judged(&make_figure(1.0, 0.1), &make_figure(2.0, 0.1)),
            Judgement::Less
        );
        assert_eq!(
            judged(&make_figure(2.0, 0.1), &make_figure(1.0, 0.1)),
            Judgement::More
        );
        assert_eq!(
            judged(&make_figure(1.0, 0.001), &make_figure(1.02, 0.001)),
            Judgement::Alike
        );
        assert_eq!(
            judged(&make_figure(1.0, 0.2), &make_figure(1.1, 0.2)),
            Judgement::TooFew
        );
        assert_eq!(
            judged(&make_figure(1.0, 0.0), &make_figure(1.01, 0.0)),
            Judgement::Alike,
            "exact"
        );
        assert_eq!(
            judged(&make_figure(2.0, 0.0), &make_figure(2.0, 0.0)),
            Judgement::Equal
        );
    }

    #[test]
    fn a_figure_of_too_few_samples_tells_nothing() {
        let few = figure(&[1.0, 2.0]);
        assert_eq!(judged(&few, &make_figure(9.0, 0.0)), Judgement::TooFew);
    }

    #[test]
    fn equal_cells_are_equal_and_the_samples_that_are_proposed_would_show_the_margin() {
        let said = |one: Figure, other: Figure| {
            let judgement = judged(&one, &other);
            undecided(judgement, ["a", "b"], [&one, &other], 0.05)
        };
        assert_eq!(
            said(make_figure(1.0, 0.2), make_figure(1.0, 0.2)),
            "a and b are equal"
        );
        assert_eq!(
            said(make_figure(1.0, 0.001), make_figure(1.02, 0.001)),
            "no difference of note between a 1 s and b 1.02 s: less than 5 %"
        );
        // Reaches of 0.1 each make one of 0.141 at 20 samples; 20 x (1.4294 x 0.1414 / 0.05)^2 = 326.9.
        assert_eq!(
            said(make_figure(1.0, 0.1), make_figure(1.01, 0.1)),
            "too few samples to tell a from b; about 327 of each would show a difference of 5 %"
        );
        assert_eq!(
            said(make_figure(0.0, 0.0), make_figure(0.0, 0.0)),
            "a and b are equal"
        );
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
        assert_eq!(judged(&one, &other), Judgement::Less);
        assert_eq!(judged(&other, &one), Judgement::More);
        let (_, [low, high]) = ratio(&other, &one, false).expect("a ratio");
        assert!((low - 1.2).abs() < 1e-9 && (high - 1.2).abs() < 1e-9);
        let foreign = modelled(1.2, "b");
        assert_eq!(judged(&one, &foreign), Judgement::TooFew);
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
