//! Figures over the runs of repeated loads.

use wirecost_proto::units::counted;
use wirecost_results::load::LoadSummary;
use wirecost_results::repeat::{OverRuns, Repeated, RepeatedPhase};

use super::{Fact, labels_without};
use crate::number;

/// Metrics that tables show; `summary.json` has all.
const SHOWN: [&str; 8] = [
    "carried_rate",
    "response_time",
    "one_way_delay",
    "connect_time",
    "messages_lost",
    "missing",
    "bytes_up",
    "bytes_down",
];
/// Their figures.
const FIGURES: [&str; 6] = ["mean", "p(50)", "p(99)", "value", "count", "sum"];

/// A repeated load with its figures.
pub(crate) struct Runs<'a> {
    /// Its name, and the number of its runs.
    pub(crate) name: String,
    /// Phase and figure, in order.
    pub(crate) figures: Vec<(&'a RepeatedPhase, &'a OverRuns)>,
}

/// The repeated loads of a run.
pub(crate) fn all(summary: &LoadSummary) -> Vec<Runs<'_>> {
    let labels = labels_without(&summary.loads, Some(Fact::Run));
    let of_one = |repeated| runs(summary, &labels, repeated);
    summary.repeats.iter().map(of_one).collect()
}

fn runs<'a>(summary: &LoadSummary, labels: &[String], repeated: &'a Repeated) -> Runs<'a> {
    let first = repeated.runs.first();
    let place = summary.loads.iter().position(|load| Some(&load.key) == first);
    let label = place.and_then(|place| labels.get(place)).cloned();
    let there = repeated.runs.len() as u64;
    let of = match u64::from(repeated.asked) {
        asked if asked == there => counted(there, "run"),
        asked => format!("{there} of {}", counted(asked, "run")),
    };
    let figures = repeated.phases.iter().flat_map(|phase| {
        let shown = phase.figures.iter().filter(|figure| is_shown(figure));
        shown.map(move |figure| (phase, figure))
    });
    Runs {
        name: number::plain(&format!("{}, {of}", label.unwrap_or_default())),
        figures: figures.collect(),
    }
}

/// Whether a table shows a figure: a count that is 0 in every run tells nothing.
fn is_shown(figure: &OverRuns) -> bool {
    SHOWN.contains(&figure.metric.as_str())
        && FIGURES.contains(&figure.aggregation.as_str())
        && figure.runs.iter().any(|value| *value != 0.0)
}
