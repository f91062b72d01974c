//! One row for each of several loads, about its main phase.

use wirecost_results::load::Load;

use super::columns::Columns;
use crate::load::words;
use crate::number;
use crate::terminal::style::Style;

/// The width to which the name of a load is clipped.
const NAMES: usize = 40;

/// The lines of the table.
pub(super) fn lines(loads: &[Load], labels: &[String], width: usize, style: &Style) -> Vec<String> {
    let head = [
        "offered/s",
        "acked/s",
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

/// The figures of a load; `INVALID` instead of figures that must not be used.
fn values(load: &Load) -> [String; 12] {
    let none = || number::NONE.to_owned();
    let Some(phase) = words::main_phase(load).filter(|_| load.not_run.is_none()) else {
        let mut row: [String; 12] = std::array::from_fn(|_| none());
        row[1] = "not run".into();
        return row;
    };
    let good = phase.outcomes.acknowledged + phase.outcomes.delivered;
    let good = match phase.outcomes.offered {
        0 => none(),
        offered => number::percent(good as f64 / offered as f64),
    };
    let values = words::row_values(load, phase);
    let ([p50, p90, p99, p999, max], [generator, target]) = (values.times, values.cpu);
    let (offered, acknowledged) = (values.offered, values.acknowledged);
    let (lag, bottleneck) = (values.lag, values.bottleneck);
    [
        offered,
        acknowledged,
        good,
        p50,
        p90,
        p99,
        p999,
        max,
        lag,
        generator,
        target,
        bottleneck,
    ]
}
