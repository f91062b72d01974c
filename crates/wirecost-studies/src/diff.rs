//! What changed between two results folders: exact figures that changed at all, and times whose intervals are apart.

use std::collections::BTreeMap;

use serde::Serialize;
use wirecost_results::thresholds::Aggregation;
use wirecost_results::thresholds::metric::{METRICS, Metric, Quantity};
use wirecost_scenario::selector::Labels;

use crate::evidence::{Evidence, Figure};
use crate::judge::compare::{Compared, by_intervals};
use crate::reference::Reference;

/// The names of the two runs in the evidence.
pub const RUNS: [&str; 2] = ["old", "new"];

/// A figure that changed, or that only one of the runs has.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The cell or phase: its dimensions that tell it apart from the others.
    pub of: String,
    /// The metric.
    pub metric: String,
    /// Its figure in the first run; null if it has none.
    pub old: Option<String>,
    /// Its figure in the second run; null if it has none.
    pub new: Option<String>,
    /// The second figure over the first, minus 1; null without both.
    pub relative: Option<f64>,
}

/// All changes from [`RUNS`]`[0]` to `[1]`, cell by cell.
pub fn changes(evidence: &Evidence) -> Vec<Change> {
    let figures = METRICS.iter().filter(|metric| metric.name != "schedule_lag");
    let figures = figures.flat_map(|metric| of_interest(metric).iter().map(move |one| (metric, *one)));
    let mut changes: Vec<(usize, Change)> = Vec::new();
    let subjects = subjects(evidence);
    for (metric, aggregation) in figures {
        let [old, new] = RUNS.map(|run| figures_of(evidence, &Reference::of(run, metric, aggregation)));
        for (index, subject) in subjects.iter().enumerate() {
            let [old, new] = [old.get(subject), new.get(subject)];
            if let Some(change) = change(metric, aggregation, &subject.1, old, new) {
                changes.push((index, change));
            }
        }
    }
    let names = telling(&subjects);
    changes.sort_by_key(|(index, _)| *index);
    let named = changes.into_iter().map(|(index, change)| Change {
        of: names[index].clone(),
        ..change
    });
    named.collect()
}

/// A cell or phase with its engine.
type Subject = (Labels, String);

/// The figures of a metric that are compared.
const fn of_interest(metric: &'static Metric) -> &'static [Aggregation] {
    match metric.aggregations() {
        [Aggregation::P50, ..] => &[Aggregation::P50, Aggregation::Mean],
        all => all.split_at(1).0,
    }
}

fn subjects(evidence: &Evidence) -> Vec<Subject> {
    let mut all: Vec<Subject> = Vec::new();
    for run in RUNS {
        for subject in evidence.subjects(run) {
            if !all.contains(&subject) {
                all.push(subject);
            }
        }
    }
    all
}

fn figures_of(evidence: &Evidence, reference: &Reference) -> BTreeMap<Subject, Figure> {
    evidence.all(reference).into_iter().collect()
}

fn change(
    metric: &Metric,
    aggregation: Aggregation,
    engine: &str,
    old: Option<&Figure>,
    new: Option<&Figure>,
) -> Option<Change> {
    let (before, after) = match (old, new) {
        (None, None) => return None,
        (Some(before), Some(after)) => (before, after),
        _ => return Some(told(metric, aggregation, old, new)),
    };
    // Of points with intervals, other seeds have other figures.
    let by_interval = metric.is_of_points() && before.interval.is_some() && after.interval.is_some();
    let is_point = metric.is_of_points() && !by_interval;
    let is_exact = is_point
        || !by_interval && metric.quantity != Quantity::Time
        || engine == "sim" && before.is_exact && after.is_exact;
    let has_changed = match is_exact {
        true => (before.amount.value - after.amount.value).abs() > 1e-9 * before.amount.value.abs(),
        // A time without an interval says nothing about the next one.
        false if before.interval.is_none() || after.interval.is_none() => false,
        false => !matches!(by_intervals(before, after), Compared::Inseparable { .. }),
    };
    has_changed.then(|| told(metric, aggregation, old, new))
}

fn told(metric: &Metric, aggregation: Aggregation, old: Option<&Figure>, new: Option<&Figure>) -> Change {
    let text = |figure: Option<&Figure>| figure.map(|figure| figure.amount.to_string());
    let relative = old
        .zip(new)
        .map(|(old, new)| new.amount.value / old.amount.value - 1.0)
        .filter(|relative| relative.is_finite());
    Change {
        of: String::new(),
        metric: format!("{} {}", metric.name, Aggregation::names(&[aggregation])),
        old: text(old),
        new: text(new),
        relative,
    }
}

/// The dimensions in which the subjects differ, and the engine.
fn telling(subjects: &[Subject]) -> Vec<String> {
    let differs = |key: &str| {
        subjects
            .iter()
            .any(|(labels, _)| labels.get(key) != subjects[0].0.get(key))
    };
    let name = |(labels, engine): &Subject| {
        let own = labels
            .iter()
            .filter(|(key, _)| **key != "engine" && (**key == "stack" || differs(key)));
        let own: Vec<&str> = own.map(|(_, value)| value.as_str()).collect();
        format!("{} ({engine})", own.join(" "))
    };
    subjects.iter().map(name).collect()
}

/// The changes as an entry of a changelog, a line for each.
pub fn text(changes: &[Change]) -> String {
    let missing = || "no figure".to_owned();
    let line = |change: &Change| {
        let by = change
            .relative
            .map(|relative| format!(" ({:+.1} %)", relative * 100.0))
            .unwrap_or_default();
        format!(
            "- {}: {} from {} to {}{by}\n",
            change.of,
            change.metric,
            change.old.clone().unwrap_or_else(missing),
            change.new.clone().unwrap_or_else(missing)
        )
    };
    match changes {
        [] => "nothing changed beyond its interval\n".to_owned(),
        changes => changes.iter().map(line).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amount::Amount;

    fn metric(name: &str) -> &'static Metric {
        METRICS.iter().find(|metric| metric.name == name).expect(name)
    }

    fn time(value: f64, interval: Option<[f64; 2]>) -> Figure {
        Figure {
            run: String::new(),
            amount: Amount::seconds(value),
            interval,
            is_exact: false,
            is_median: true,
            engine: "live".into(),
            n: 100,
            samples: Vec::new(),
            reference: String::new(),
            model: None,
        }
    }

    #[test]
    fn times_change_when_their_intervals_are_apart() {
        let of = |old: Figure, new: Figure| {
            change(
                metric("response_time"),
                Aggregation::P50,
                "live",
                Some(&old),
                Some(&new),
            )
            .is_some()
        };
        assert!(of(time(1.0, Some([0.9, 1.1])), time(2.0, Some([1.9, 2.1]))));
        assert!(!of(time(1.0, Some([0.9, 1.1])), time(1.2, Some([1.0, 1.4]))));
        assert!(!of(time(1.0, None), time(2.0, None)));
    }

    #[test]
    fn exact_figures_change_when_they_differ_at_all() {
        let of = |old: f64, new: f64| {
            let [old, new] = [old, new].map(|value| time(value, None));
            change(
                metric("bytes_per_msg"),
                Aggregation::Mean,
                "live",
                Some(&old),
                Some(&new),
            )
        };
        assert_eq!(of(299.0, 299.0), None);
        let change = of(2_992.0, 3_000.0).expect("a change");
        assert_eq!(change.metric, "bytes_per_msg mean");
        assert!(
            change
                .relative
                .is_some_and(|relative| (0.002..0.003).contains(&relative))
        );
    }

    #[test]
    fn a_figure_that_only_one_run_has_is_a_change() {
        let only = change(
            metric("response_time"),
            Aggregation::P50,
            "live",
            None,
            Some(&time(1.0, None)),
        );
        let text = text(&[Change {
            of: "mqtt-qos1 (live)".into(),
            ..only.expect("a change")
        }]);
        assert_eq!(
            text,
            "- mqtt-qos1 (live): response_time p(50) from no figure to 1 s\n"
        );
    }
}
