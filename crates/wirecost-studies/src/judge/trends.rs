//! The rule of claims about a figure that changes with what is varied, or does not.

use wirecost_stats::Judgement;

use super::compare;
use super::outcome::{Margins, Outcome, meets, tolerance};
use crate::amount::{Amount, Dimension, Published, digits};
use crate::claims::{Shape, Trend};
use crate::evidence::{Evidence, Figure, Missing};
use crate::verdict::Verdict;

/// How a figure changes with what is varied.
///
/// # Errors
/// A figure is missing, or a value of what is varied is no number.
pub(super) fn of_trend(trend: &Trend, margins: Margins, evidence: &Evidence) -> Result<Outcome, Missing> {
    let series = match &trend.by {
        None => evidence.series(&trend.of, &trend.over)?,
        Some(by) => divided(
            evidence.series(&trend.of, &trend.over)?,
            &evidence.series(by, &trend.over)?,
        )?,
    };
    let figures: Vec<Figure> = series.iter().map(|(_, figure)| figure.clone()).collect();
    let dimension = figures
        .first()
        .map_or(Dimension::NONE, |figure| figure.amount.dimension);
    let within = tolerance(margins.within, dimension);
    let (verdict, why) = match trend.shape {
        Shape::Constant => constant(&figures, within),
        Shape::Grows => grows(&figures, true, margins.apart),
        Shape::Falls => grows(&figures, false, margins.apart),
        Shape::Linear { slope } => linear(&series, slope, within)?,
    };
    let each = |(value, figure): &(String, Figure)| format!("{} at {value}", figure.shown());
    let ours: Vec<String> = match series.as_slice() {
        [first, .., last] => vec![each(first), each(last)],
        few => few.iter().map(each).collect(),
    };
    Ok(Outcome::new(verdict, why, ours.join(", ")).with_figures(figures))
}

/// One series by another, value by value; within replications where both have them.
fn divided(series: Vec<(String, Figure)>, by: &[(String, Figure)]) -> Result<Vec<(String, Figure)>, Missing> {
    let quotient = |(value, one): (String, Figure)| {
        // By value, not by place: the two runs may have their values in another order.
        let other = by.iter().find(|(at, _)| *at == value).map(|(_, figure)| figure);
        let other = other.ok_or_else(|| Missing::NotRun(format!("the second figure has no {value}")))?;
        let (ratio, interval) = compare::ratio(&one, other, false)
            .ok_or_else(|| Missing::NotRun(format!("the second figure is 0 at {value}")))?;
        let quotient = Figure {
            amount: Amount::new(ratio, Dimension::NONE),
            interval: Some(interval),
            is_exact: one.is_exact && other.is_exact,
            samples: Vec::new(),
            is_replicated: false,
            ..one.clone()
        };
        let quotient = match one.pairs_with(other) {
            false => quotient,
            true => {
                let pairs = one.samples.iter().zip(&other.samples);
                let samples: Vec<f64> = pairs.map(|(one, other)| one / other).collect();
                // Within replications, so that what both figures of one have in common cancels out.
                let mean = samples.iter().sum::<f64>() / samples.len() as f64;
                Figure {
                    amount: Amount::new(mean, Dimension::NONE),
                    samples,
                    is_replicated: true,
                    ..quotient
                }
                .over_replications()
            }
        };
        Ok((value, quotient))
    };
    series.into_iter().map(quotient).collect()
}

fn constant(figures: &[Figure], within: f64) -> (Verdict, String) {
    let by_value = |one: &&Figure, other: &&Figure| one.amount.value.total_cmp(&other.amount.value);
    let (Some(least), Some(most)) = (figures.iter().min_by(by_value), figures.iter().max_by(by_value)) else {
        return (Verdict::NotRun, "the run has no values".to_owned());
    };
    let text = format!("from {} to {}", least.amount, most.amount);
    let limit = 1.0 + within;
    let verdict = if most.amount.value <= least.amount.value * limit {
        Verdict::Reproduced
    } else if most.ends()[0] > least.ends()[1] * limit {
        Verdict::Contradicted
    } else {
        Verdict::NotSeparable
    };
    (verdict, text)
}

/// Ends that are separated, and no step that is separated the other way.
fn grows(figures: &[Figure], upwards: bool, apart: f64) -> (Verdict, String) {
    let (Some(first), Some(last)) = (figures.first(), figures.last()) else {
        return (Verdict::NotRun, "the run has no values".to_owned());
    };
    let [wanted, opposite] = match upwards {
        true => [Judgement::Less, Judgement::More],
        false => [Judgement::More, Judgement::Less],
    };
    let text = format!("from {} to {}", first.amount, last.amount);
    let ends = compare::judged(first, last, apart);
    if ends == opposite {
        return (Verdict::Contradicted, text);
    }
    // Before the steps: without a difference of the ends there is nothing that grows.
    if ends != wanted {
        return (Verdict::NotSeparable, format!("{text}: {}", ends.words()));
    }
    let against = compare::adjacent(figures, apart)
        .iter()
        .position(|step| *step == opposite);
    match against {
        None => (Verdict::Reproduced, text),
        Some(at) => {
            let [one, other] = [figures[at].amount, figures[at + 1].amount];
            (
                Verdict::Differs,
                format!("{text}, but one step goes from {one} to {other}"),
            )
        }
    }
}

/// A straight line through the first and the last value: its slope, and how far the others are from it.
fn linear(series: &[(String, Figure)], slope: f64, within: f64) -> Result<(Verdict, String), Missing> {
    let read = |value: &str| {
        Published::read(value)
            .map(|published| published.amount.value)
            .map_err(|error| Missing::Wrong(error.to_string()))
    };
    let points = series
        .iter()
        .map(|(value, figure)| Ok((read(value)?, figure)))
        .collect::<Result<Vec<(f64, &Figure)>, Missing>>()?;
    let (Some((x0, first)), Some((x1, last))) = (points.first(), points.last()) else {
        return Err(Missing::NotRun("the run has no values".to_owned()));
    };
    let run = x1 - x0;
    let ours = (last.amount.value - first.amount.value) / run;
    let interval = [
        // The flattest and the steepest line that both intervals allow.
        (last.ends()[0] - first.ends()[1]) / run,
        (last.ends()[1] - first.ends()[0]) / run,
    ];
    let is_near = |(x, figure): &(f64, &Figure)| {
        let expected = first.amount.value + ours * (x - x0);
        (figure.amount.value - expected).abs() <= within * expected.abs()
    };
    let text = format!("the slope is {}", digits(ours));
    let holds = meets(interval, [slope * (1.0 - within), slope * (1.0 + within)]);
    // A slope that may be zero points nowhere.
    let opposite = ours * slope < 0.0 && !meets(interval, [0.0, 0.0]);
    Ok(match (holds, points.iter().all(is_near)) {
        (true, true) => (Verdict::Reproduced, text),
        _ if opposite => (Verdict::Contradicted, text),
        (true, false) => (
            Verdict::Differs,
            format!("{text}, but the values are not on one line"),
        ),
        (false, _) => (Verdict::Differs, text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::rules::tests::figure;

    #[test]
    fn a_constant_figure_stays_within_its_tolerance() {
        let verdict = |values: &[f64], spread: f64| {
            let figures: Vec<Figure> = values.iter().map(|value| figure(*value, spread)).collect();
            constant(&figures, 0.25).0
        };
        assert_eq!(verdict(&[10.0, 11.0, 12.0], 0.1), Verdict::Reproduced);
        assert_eq!(verdict(&[10.0, 20.0], 0.1), Verdict::Contradicted);
        assert_eq!(verdict(&[10.0, 13.0], 2.0), Verdict::NotSeparable);
    }

    #[test]
    fn a_growing_figure_has_separated_ends() {
        let verdict = |values: &[f64], upwards: bool| {
            let figures: Vec<Figure> = values.iter().map(|value| figure(*value, 0.4)).collect();
            grows(&figures, upwards, 0.05).0
        };
        assert_eq!(verdict(&[1.0, 2.0, 3.0], true), Verdict::Reproduced);
        assert_eq!(verdict(&[1.0, 1.1, 3.0], true), Verdict::Reproduced);
        assert_eq!(verdict(&[1.0, 5.0, 3.0], true), Verdict::Differs);
        assert_eq!(verdict(&[3.0, 2.0, 1.0], true), Verdict::Contradicted);
        assert_eq!(verdict(&[1.0, 1.5], true), Verdict::NotSeparable);
        assert_eq!(verdict(&[3.0, 1.0], false), Verdict::Reproduced);
    }

    #[test]
    fn a_line_has_a_slope_and_no_bend() {
        let series = |values: [f64; 3]| {
            let at = ["5ms", "25ms", "100ms"];
            let each = |(at, value): (&str, f64)| (at.to_owned(), figure(value, 0.0));
            at.into_iter().zip(values).map(each).collect::<Vec<_>>()
        };
        let verdict = |values| linear(&series(values), 1.0, 0.05).expect("a line").0;
        assert_eq!(verdict([0.006, 0.026, 0.101]), Verdict::Reproduced);
        assert_eq!(verdict([0.006, 0.060, 0.101]), Verdict::Differs);
        assert_eq!(verdict([0.012, 0.052, 0.202]), Verdict::Differs);
        assert_eq!(verdict([0.101, 0.050, 0.006]), Verdict::Contradicted);
    }
}
