//! The rule of claims about several curves: where each has its peak, where it falls below a limit, or its mean.
//!
//! Curves of one run in NB-IoT cells have the same devices in each replication, so that their positions are compared within replications.

use super::ordering::{ordered, telling};
use super::outcome::{Margins, Outcome};
use crate::amount::{Amount, Published};
use crate::claims::{Curves, Position};
use crate::evidence::{Evidence, Figure, Missing};

/// The positions are in the order of the claim.
///
/// # Errors
/// A figure is missing, or a value of what is varied is no number.
pub(super) fn of_curves(curves: &Curves, margins: Margins, evidence: &Evidence) -> Result<Outcome, Missing> {
    let mut positions = Vec::new();
    let mut last = String::new();
    for of in &curves.of {
        let series = evidence.series(of, &curves.over)?;
        last = series.last().map_or_else(String::new, |(value, _)| value.clone());
        positions.push(position(&series, &curves.at)?);
    }
    let names = telling(&curves.of);
    let is_beyond = |figure: &Figure| figure.samples.iter().all(|sample| *sample > figure_end(&last));
    let shown = |figure: &Figure| match (&curves.at, is_beyond(figure)) {
        (Position::Peak | Position::Below(_), true) => format!("beyond {last}"),
        (Position::Peak | Position::Below(_) | Position::Mean, _) => figure.shown(),
    };
    let ours: Vec<String> = names
        .iter()
        .zip(&positions)
        .map(|(name, figure)| format!("{name} {}", shown(figure)))
        .collect();
    let (verdict, why) = ordered(&names, &positions, margins.apart);
    Ok(Outcome::new(verdict, why, ours.join(", ")).with_figures(positions))
}

fn figure_end(last: &str) -> f64 {
    Published::read(last).map_or(f64::INFINITY, |last| last.amount.value)
}

/// Where a curve has its position in each replication. Beyond the last value it is a step further: all that is known is that it is
/// larger.
fn position(series: &[(String, Figure)], at: &Position) -> Result<Figure, Missing> {
    let read = |(value, _): &(String, Figure)| Published::read(value).map(|published| published.amount);
    let places = series.iter().map(read).collect::<Result<Vec<Amount>, _>>();
    let places = places.map_err(|error| Missing::Wrong(error.to_string()))?;
    let (Some((_, first)), Some(place)) = (series.first(), places.first()) else {
        return Err(Missing::NotRun("the run has no values".to_owned()));
    };
    // Samples that are no replications, such as the times of single messages, do not belong to one another.
    let are_replicated = series.iter().all(|(_, figure)| figure.is_replicated);
    let lengths = series.iter().map(|(_, figure)| figure.samples.len());
    let replications = lengths.min().filter(|_| are_replicated).unwrap_or(0);
    let values = |replication: usize| -> Vec<f64> {
        let value = |(_, figure): &(String, Figure)| figure.samples.get(replication).copied();
        series
            .iter()
            .map(|one| value(one).unwrap_or(one.1.amount.value))
            .collect()
    };
    let at_places: Vec<f64> = places.iter().map(|place| place.value).collect();
    let samples: Vec<f64> = (0..replications.max(1))
        .map(|replication| match at {
            Position::Mean => mean(&values(replication)),
            Position::Peak => peak(&at_places, &values(replication)),
            Position::Below(limit) => falls_below(&at_places, &values(replication), limit.amount.value),
        })
        .collect();
    let dimension = match at {
        Position::Mean => first.amount.dimension,
        Position::Peak | Position::Below(_) => place.dimension,
    };
    Ok(Figure {
        amount: Amount::new(mean(&samples), dimension),
        interval: None,
        is_exact: match replications {
            0 => series.iter().all(|(_, figure)| figure.is_exact),
            _ => samples.iter().all(|sample| *sample == samples[0]),
        },
        // One figure of each value, whose own spread is left out, tells no order.
        is_median: replications == 0,
        samples,
        ..first.clone()
    }
    .over_replications())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// One step beyond the last place.
fn beyond(places: &[f64]) -> f64 {
    match places {
        [.., before, last] => 2.0 * last - before,
        _ => f64::INFINITY,
    }
}

/// The place of the largest value. One at the last place may be larger beyond it.
fn peak(places: &[f64], values: &[f64]) -> f64 {
    let largest = values
        .iter()
        .enumerate()
        .max_by(|(_, one), (_, other)| one.total_cmp(other));
    match largest {
        Some((at, _)) if at + 1 < places.len() => places[at],
        _ => beyond(places),
    }
}

/// The first place at which the curve is below a limit, between places by a straight line.
fn falls_below(places: &[f64], values: &[f64], limit: f64) -> f64 {
    if values.first().is_some_and(|value| *value < limit) {
        return places[0];
    }
    for (at, pair) in values.windows(2).enumerate() {
        if pair[1] < limit {
            let share = (pair[0] - limit) / (pair[0] - pair[1]);
            return places[at] + (places[at + 1] - places[at]) * share;
        }
    }
    beyond(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_replications_are_looked_at_one_by_one() {
        let series = |is_replicated: bool| {
            let of = |at: &str, samples: [f64; 2]| {
                let figure = Figure {
                    samples: samples.to_vec(),
                    is_replicated,
                    ..crate::judge::rules::tests::figure(1.0, 0.1)
                };
                (at.to_owned(), figure)
            };
            [
                of("1/s", [3.0, 1.0]),
                of("2/s", [2.0, 2.0]),
                of("3/s", [1.0, 1.0]),
            ]
        };
        let replicated = position(&series(true), &Position::Peak).expect("a position");
        assert_eq!(replicated.samples, [1.0, 2.0], "a peak in each replication");
        // The times of single messages: one message at each load, whichever it was, is no curve.
        let single = position(&series(false), &Position::Peak).expect("a position");
        assert_eq!(
            (single.samples.len(), single.is_exact, single.interval),
            (1, false, None)
        );
    }

    #[test]
    fn a_curve_has_a_peak_and_a_fall() {
        let places = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(peak(&places, &[1.0, 3.0, 2.0, 2.5]), 2.0);
        assert_eq!(peak(&places, &[1.0, 2.0, 3.0, 4.0]), 5.0, "beyond the last one");
        // From 99 % at 2 to 91 % at 3: 95 % in the middle.
        assert!((falls_below(&places, &[1.0, 0.99, 0.91, 0.5], 0.95) - 2.5).abs() < 1e-9);
        assert_eq!(falls_below(&places, &[1.0, 1.0, 1.0, 0.95], 0.95), 5.0);
        assert_eq!(falls_below(&places, &[0.9, 1.0, 1.0, 1.0], 0.95), 1.0);
    }
}
