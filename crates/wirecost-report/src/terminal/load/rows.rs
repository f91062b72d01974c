//! Several loads: one row each, of the phase that each is about.

use wirecost_results::load::Load;

use super::columns::Columns;
use crate::load::words;
use crate::number;
use crate::terminal::style::Style;

/// Characters of the longest name of a load that is not clipped.
const NAMES: usize = 40;

/// The lines of the table.
pub(super) fn lines(loads: &[Load], labels: &[String], width: usize, style: &Style) -> Vec<String> {
    let head = [
        "offered/s",
        "carried/s",
        "good",
        "p50 ms",
        "p90 ms",
        "p99 ms",
        "p99.9",
        "max ms",
        "lag p99",
        "gen s/M",
        "tgt s/M",
        "bottleneck",
    ];
    let mut columns = Columns::new("load", head);
    columns.drop_order(&[4, 7, 10, 9, 8, 6, 11, 2, 0, 5]);
    for (load, label) in loads.iter().zip(labels) {
        columns.row(label, values(load));
        if words::invalid_main(load).is_some() || load.not_run.is_some() {
            columns.alarm();
        }
    }
    let longest = labels
        .iter()
        .map(|label| label.chars().count())
        .max()
        .unwrap_or(0);
    columns.lines(longest.clamp(6, NAMES), width, style)
}

/// The figures of a load; where they must not be used, `INVALID` is in their place.
fn values(load: &Load) -> [String; 12] {
    let none = || number::NONE.to_owned();
    let Some(phase) = words::main_phase(load).filter(|_| load.not_run.is_none()) else {
        let mut row: [String; 12] = std::array::from_fn(|_| none());
        row[1] = "not run".into();
        return row;
    };
    let times = words::judged(phase).map(|(_, times)| times);
    let is_invalid = words::invalid(load, phase).is_some();
    let time = |value: Option<u64>| match value {
        _ if is_invalid => "INVALID".to_owned(),
        value => number::optional(value, |nanos| number::latency(nanos as f64)),
    };
    let good = phase.outcomes.acknowledged + phase.outcomes.delivered;
    let per_million = |used: Option<f64>| number::optional(used, |seconds| number::digits(seconds, 3));
    let lag = phase.schedule_lag_ns.as_ref().and_then(|lag| lag.p99);
    [
        number::optional(phase.offered_rate, number::rate),
        number::optional(phase.carried_rate, number::rate),
        match phase.outcomes.offered {
            0 => none(),
            offered => number::percent(good as f64 / offered as f64),
        },
        time(times.and_then(|times| times.p50)),
        time(times.and_then(|times| times.p90)),
        time(times.and_then(|times| times.p99)),
        time(times.and_then(|times| times.p999)),
        time(times.map(|times| times.max)),
        number::optional(lag, |nanos| number::duration(nanos as f64)),
        per_million(load.generator.as_ref().and_then(|used| used.cpu_s_per_million)),
        per_million(load.target_use.as_ref().and_then(|used| used.cpu_s_per_million)),
        load.bottleneck
            .as_ref()
            .map_or_else(none, |found| number::plain(&found.who)),
    ]
}
