//! The names of loads and of their figures, the same in table, page and exports.

pub(crate) mod agents;
pub(crate) mod answer;
mod named;
pub(crate) mod repeat;
pub(crate) mod search;
mod timed;
mod used;

use wirecost_results::load::{Load, LoadSummary, PhaseFigures};
use wirecost_results::standing::Standing;
use wirecost_results::summary::{Outcomes, Times};
use wirecost_results::thresholds::failure_text;
use wirecost_results::warning::Warning;

use crate::number;
pub(crate) use named::{Fact, headline, labels, labels_without, link, link_of, link_text, offer};
pub use timed::time;
pub(crate) use timed::{Timed, judged, kind_in, standing, times};
pub(crate) use used::{
    all_settings, direction_use, hop, hop_use, link_kept, service, settings, wire_use, worlds,
};

/// The main phase of a load: the one that offered most messages, or had most connects.
pub(crate) fn main_phase(load: &Load) -> Option<&PhaseFigures> {
    let weight = |phase: &&PhaseFigures| (phase.outcomes.offered, phase.connects.attempted);
    // The first of equal ones.
    load.phases.iter().rev().max_by_key(weight)
}

/// What has happened to the messages of a phase that count in its rate: `acknowledged`, `delivered` if nothing answers,
/// `completed` for connects.
pub(crate) fn arrived(phase: &PhaseFigures) -> &'static str {
    let outcomes = &phase.outcomes;
    match phase.name.as_str() {
        "handshakes" | "reconnect" => "completed",
        _ if outcomes.acknowledged == 0 && outcomes.delivered > 0 => "delivered",
        _ => "acknowledged",
    }
}

/// Why the figures of a phase must not be used; `None` if they may.
pub(crate) fn invalid(load: &Load, phase: &PhaseFigures) -> Option<String> {
    (!phase.valid && load.not_run.is_none()).then(|| reasons(load.warnings.iter().chain(&phase.warnings)))
}

/// Why the figures of the main phase of a load must not be used.
pub(crate) fn invalid_main(load: &Load) -> Option<String> {
    invalid(load, main_phase(load)?)
}

/// Why the figures of some phases must not be used; `None` if all may.
pub(crate) fn invalid_somewhere(load: &Load) -> Option<String> {
    let of_phases = load.phases.iter().flat_map(|phase| &phase.warnings);
    (!load.valid && load.not_run.is_none()).then(|| reasons(load.warnings.iter().chain(of_phases)))
}

/// `publish: 30 of 100 were not acknowledged: 20 refused, 10 late`, phase by phase; `None` if all were.
pub(crate) fn not_acknowledged(load: &Load) -> Option<String> {
    let of_phase = |phase: &PhaseFigures| {
        let ends = phase.not_acknowledged();
        let sum: u64 = ends.iter().map(|(_, messages)| messages).sum();
        let named = ends
            .iter()
            .map(|(name, messages)| format!("{} {name}", number::grouped(*messages)));
        let named: Vec<String> = named.collect();
        let offered = number::grouped(phase.outcomes.offered);
        (sum > 0).then(|| {
            format!(
                "{}: {} of {offered} were not {}: {}",
                phase.name,
                number::grouped(sum),
                arrived(phase),
                named.join(", ")
            )
        })
    };
    let told: Vec<String> = load.phases.iter().filter_map(of_phase).collect();
    (!told.is_empty()).then(|| number::plain(&told.join("; ")))
}

fn reasons<'a>(warnings: impl Iterator<Item = &'a Warning>) -> String {
    let reasons: Vec<&str> = warnings
        .filter(|warning| warning.invalidates)
        .map(|warning| warning.text.as_str())
        .collect();
    match reasons.as_slice() {
        [] => "no reason was given".into(),
        reasons => number::plain(&reasons.join("; ")),
    }
}

/// Whether a run is incomplete, unless a threshold has ended it.
pub(crate) fn is_interrupted(summary: &LoadSummary) -> bool {
    summary.interrupted && summary.loads.iter().all(|load| load.aborted.is_none())
}

/// A remark on a load.
pub(crate) struct Remark {
    /// `not run`, `ended early`, `INVALID` or `warning`.
    pub(crate) kind: &'static str,
    pub(crate) text: String,
}

impl Remark {
    /// Whether it is more than a warning.
    pub(crate) fn alarms(&self) -> bool {
        self.kind != "warning"
    }
}

/// The remarks on a load; reasons for invalid figures come first. A remark on one phase begins with its name.
pub(crate) fn remarks(load: &Load) -> Vec<Remark> {
    let remark = |kind, text: &str| Remark {
        kind,
        text: number::plain(text),
    };
    let not_run = load.not_run.iter().map(|reason| remark("not run", reason));
    let aborted = load
        .aborted
        .iter()
        .map(|threshold| remark("ended early", &failure_text(threshold)));
    let of_phases = load.phases.iter().flat_map(|phase| {
        let named = |warning: &Warning| (warning.invalidates, format!("{}: {}", phase.name, warning.text));
        phase.warnings.iter().map(named)
    });
    let of_load = load
        .warnings
        .iter()
        .map(|warning| (warning.invalidates, warning.text.clone()));
    let (bad, other): (Vec<_>, Vec<_>) = of_phases
        .chain(of_load)
        .partition(|(invalidates, _)| *invalidates);
    let bad = bad.iter().map(|(_, text)| remark("INVALID", text));
    let other = other.iter().map(|(_, text)| remark("warning", text));
    not_run.chain(aborted).chain(bad).chain(other).collect()
}

/// The outcomes by name, without `offered`; those of unanswered messages only if there are any.
pub(crate) fn outcomes(outcomes: &Outcomes) -> Vec<(&'static str, u64)> {
    let unanswered = outcomes.delivered + outcomes.lost > 0;
    let answered = outcomes.acknowledged + outcomes.refused + outcomes.late > 0 || !unanswered;
    let mut named = Vec::new();
    if answered {
        named.push(("acknowledged", outcomes.acknowledged));
    }
    if unanswered {
        named.push(("delivered", outcomes.delivered));
        named.push(("lost", outcomes.lost));
    }
    if answered {
        named.push(("refused", outcomes.refused));
        named.push(("late", outcomes.late));
    }
    named.push(("failed", outcomes.failed));
    named.push(("unknown", outcomes.unknown));
    named
}

/// The noun for what a phase offers.
pub(crate) fn offered(phase: &PhaseFigures) -> &'static str {
    match phase.name.as_str() {
        "handshakes" => "handshake",
        "reconnect" => "reconnect",
        "request" => "request",
        _ => "message",
    }
}

/// `6,000 expected, 4,000 missing`: deliveries at subscribers, if any are missing.
pub(crate) fn missing(phase: &PhaseFigures) -> Option<String> {
    let missing = phase.missing.filter(|missing| *missing > 0)?;
    let expected = phase.deliveries?.expected;
    Some(format!(
        "{} expected, {} missing",
        number::grouped(expected),
        number::grouped(missing)
    ))
}

/// The bottleneck and the reason.
pub(crate) fn bottleneck(load: &Load) -> String {
    load.bottleneck.as_ref().map_or_else(
        || "not determined".to_owned(),
        |found| number::plain(&format!("{}: {}", found.who, found.why)),
    )
}

/// The figures of a load in tables of several loads.
pub(crate) struct RowValues {
    pub(crate) offered: String,
    /// The acknowledged rate.
    pub(crate) acknowledged: String,
    /// Median, 90th, 99th and 99.9th percentile and the longest in milliseconds, as far as they can be used.
    pub(crate) times: [String; 5],
    pub(crate) lag: String,
    /// CPU time of generator and target, in seconds per million messages.
    pub(crate) cpu: [String; 2],
    pub(crate) bottleneck: String,
}

/// The figures of the main phase of a load.
pub(crate) fn row_values(load: &Load, phase: &PhaseFigures) -> RowValues {
    let judged = judged(phase);
    let standing = judged
        .as_ref()
        .map_or(Standing::Exact, |timed| standing(load, phase, timed.kind));
    let time = |of: fn(&Times) -> Option<u64>| {
        let nanos = judged.as_ref().and_then(|timed| of(timed.times));
        time(nanos.map(|nanos| nanos as f64), standing)
    };
    let cpu = [&load.generator, &load.target_use].map(|used| {
        let per_million = used.as_ref().and_then(|used| used.cpu_s_per_million);
        number::optional(per_million, |seconds| number::digits(seconds, 3))
    });
    let lag = phase.schedule_lag_ns.as_ref().and_then(|lag| lag.p99);
    RowValues {
        offered: number::optional(phase.offered_rate, number::rate),
        acknowledged: number::optional(phase.carried_rate, number::rate),
        times: [
            time(|times| times.p50),
            time(|times| times.p90),
            time(|times| times.p99),
            time(|times| times.p999),
            time(|times| Some(times.max)),
        ],
        lag: number::optional(lag, |nanos| number::duration(nanos as f64)),
        cpu,
        bottleneck: number::optional(load.bottleneck.as_ref(), |found| number::plain(&found.who)),
    }
}

/// The number of thresholds that hold, and of all; `None` without thresholds.
pub(crate) fn thresholds(summary: &LoadSummary) -> Option<(usize, usize)> {
    let held = summary
        .thresholds
        .iter()
        .filter(|threshold| threshold.pass)
        .count();
    (!summary.thresholds.is_empty()).then_some((held, summary.thresholds.len()))
}
