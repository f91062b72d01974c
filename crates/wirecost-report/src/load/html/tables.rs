//! The tables of a run of loads.

use serde_json::Value;
use wirecost_results::curves::CurveKind;
use wirecost_results::load::{Load, LoadSummary, PhaseFigures, ProcessUse};
use wirecost_results::repeat::OverRuns;
use wirecost_results::standing::Standing;
use wirecost_results::summary::Times;
use wirecost_results::threshold::Threshold;

use crate::html::grid::{Grid, GridRow, ValueColumn};
use crate::load::words;
use crate::number;

/// A kind of time of a phase.
struct TimeRow<'a> {
    kind: &'static str,
    times: &'a Times,
    standing: Standing,
}

impl TimeRow<'_> {
    fn nanos(&self, nanos: Option<f64>) -> String {
        words::time(nanos, self.standing)
    }

    fn quantile(&self, of: fn(&Times) -> Option<u64>) -> String {
        self.nanos(of(self.times).map(|nanos| nanos as f64))
    }
}

/// Times of every phase, by kind, as far as they can be used.
pub(super) fn figures<'a>(loads: &'a [Load], labels: &'a [String]) -> Grid {
    let columns: [ValueColumn<TimeRow<'_>>; 11] = [
        ("time", "", |row| row.kind.to_owned()),
        ("mean", "ms", |row| row.nanos(Some(row.times.mean))),
        ("p50", "ms", |row| row.quantile(|times| times.p50)),
        ("p90", "ms", |row| row.quantile(|times| times.p90)),
        ("p95", "ms", |row| row.quantile(|times| times.p95)),
        ("p99", "ms", |row| row.quantile(|times| times.p99)),
        ("p99.9", "ms", |row| row.quantile(|times| times.p999)),
        ("min", "ms", |row| row.quantile(|times| Some(times.min))),
        ("max", "ms", |row| row.quantile(|times| Some(times.max))),
        ("n", "", |row| number::grouped(row.times.n)),
        ("low n", "", |row| row.times.low_n.join(", ")),
    ];
    let rows = phases(loads, labels).flat_map(|(load, name, phase)| {
        let row = move |timed: words::Timed<'a>| {
            let row = TimeRow {
                kind: timed.name,
                times: timed.times,
                standing: words::standing(load, phase, timed.kind),
            };
            (name.clone(), row)
        };
        words::times(phase).into_iter().map(row)
    });
    Grid::from_rows("Times", "load and phase", &columns, rows)
}

/// A table for each repeated load: the means over its runs with 95 % intervals.
pub(super) fn repeats(summary: &LoadSummary) -> Vec<Grid> {
    words::repeat::all(summary).into_iter().map(over_runs).collect()
}

fn over_runs(runs: words::repeat::Runs<'_>) -> Grid {
    let columns: [ValueColumn<&OverRuns>; 3] = [
        ("mean", "", |figure| figure.texts()[0].clone()),
        ("95 % interval", "", |figure| figure.texts()[1].clone()),
        ("runs", "", |figure| figure.runs.len().to_string()),
    ];
    let rows = runs.figures.into_iter().map(|(phase, figure)| {
        let name = format!("{}, {} {}", phase.name, figure.metric, figure.aggregation);
        (name, figure)
    });
    Grid::from_rows(&runs.name, "phase and figure", &columns, rows)
}

/// A row for each load, about its main phase; empty for a run of one load.
pub(super) fn loads(loads: &[Load], labels: &[String]) -> Grid {
    let columns: [ValueColumn<(&Load, &PhaseFigures)>; 7] = [
        ("offered", "per s", |row| words::row_values(row.0, row.1).offered),
        ("acknowledged", "per s", |row| {
            words::row_values(row.0, row.1).acknowledged
        }),
        ("good", "", |(_, phase)| {
            let good = phase.outcomes.acknowledged + phase.outcomes.delivered;
            let offered = Some(phase.outcomes.offered).filter(|offered| *offered > 0);
            number::optional(offered, |offered| number::percent(good as f64 / offered as f64))
        }),
        ("p50", "ms", |row| {
            words::row_values(row.0, row.1).times[0].clone()
        }),
        ("p99", "ms", |row| {
            words::row_values(row.0, row.1).times[2].clone()
        }),
        ("target", "CPU s/M", |row| {
            words::row_values(row.0, row.1).cpu[1].clone()
        }),
        ("bottleneck", "", |row| words::row_values(row.0, row.1).bottleneck),
    ];
    let rows = loads.iter().zip(labels).filter(|_| loads.len() > 1);
    let rows = rows.filter_map(|(load, label)| {
        let phase = words::main_phase(load).filter(|_| load.not_run.is_none())?;
        Some((label.clone(), (load, phase)))
    });
    Grid::from_rows("Loads", "load", &columns, rows)
}

/// Every phase of every load, with its name.
pub(super) fn phases<'a>(
    loads: &'a [Load],
    labels: &'a [String],
) -> impl Iterator<Item = (&'a Load, String, &'a PhaseFigures)> {
    loads.iter().zip(labels).flat_map(move |(load, label)| {
        load.phases.iter().map(move |phase| {
            let name = match loads.len() {
                1 => phase.name.clone(),
                _ => format!("{label}: {}", phase.name),
            };
            (load, name, phase)
        })
    })
}

/// How messages ended, phase by phase.
pub(super) fn outcomes(loads: &[Load], labels: &[String]) -> Grid {
    // The last two columns are shown only with missing deliveries.
    let columns: [ValueColumn<&PhaseFigures>; 15] = [
        ("offered", "", |phase| number::grouped(phase.outcomes.offered)),
        ("sent", "", |phase| number::grouped(phase.sent)),
        ("acknowledged", "", |phase| {
            number::grouped(phase.outcomes.acknowledged)
        }),
        ("delivered", "", |phase| number::grouped(phase.outcomes.delivered)),
        ("late", "", |phase| number::grouped(phase.outcomes.late)),
        ("refused", "", |phase| number::grouped(phase.outcomes.refused)),
        ("failed", "never sent", |phase| {
            number::grouped(phase.outcomes.failed)
        }),
        ("unknown", "no reply", |phase| {
            number::grouped(phase.outcomes.unknown)
        }),
        ("lost", "", |phase| number::grouped(phase.outcomes.lost)),
        ("offered", "per s", |phase| {
            number::optional(phase.offered_rate, number::rate)
        }),
        ("acknowledged", "per s", |phase| {
            number::optional(phase.carried_rate, number::rate)
        }),
        ("up", "B each", |phase| bytes_each(phase, phase.socket_bytes_up)),
        ("down", "B each", |phase| {
            bytes_each(phase, phase.socket_bytes_down)
        }),
        ("expected", "deliveries", |phase| {
            let expected = phase.missing.and(phase.deliveries).map(|found| found.expected);
            number::optional(expected, number::grouped)
        }),
        ("missing", "deliveries", |phase| {
            number::optional(phase.missing, number::grouped)
        }),
    ];
    let with_messages = || phases(loads, labels).filter(|(.., phase)| phase.outcomes.offered > 0);
    let any_missing = with_messages().any(|(.., phase)| words::missing(phase).is_some());
    let count = columns.len() - if any_missing { 0 } else { 2 };
    let rows = with_messages().map(|(_, name, phase)| (name, phase));
    Grid::from_rows(
        "How the messages ended",
        "load and phase",
        &columns[..count],
        rows,
    )
}

fn bytes_each(phase: &PhaseFigures, bytes: u64) -> String {
    let each = (phase.sent > 0).then(|| bytes as f64 / phase.sent as f64);
    number::optional(each, |each| number::trimmed(each, 1))
}

/// The reasons that were given.
pub(super) fn reasons(loads: &[Load], labels: &[String]) -> Grid {
    let head = [("load and phase", ""), ("times", ""), ("reason", "")];
    let rows = phases(loads, labels).flat_map(|(_, name, phase)| {
        let row = move |(reason, times): (&String, &u64)| {
            GridRow::plain(name.clone(), vec![number::grouped(*times), number::plain(reason)])
        };
        phase.reasons.iter().map(row)
    });
    Grid::new("Reasons that were given", &head, rows.collect())
}

/// A phase with connects, and how far their times can be used.
type Connecting<'a> = (&'a PhaseFigures, Standing);

/// The connects of every phase.
pub(super) fn connects(loads: &[Load], labels: &[String]) -> Grid {
    let columns: [ValueColumn<Connecting<'_>>; 12] = [
        ("begun", "", |(phase, _)| {
            number::grouped(phase.connects.attempted)
        }),
        ("established", "", |(phase, _)| {
            number::grouped(phase.connects.established)
        }),
        ("resumed", "", |(phase, _)| {
            number::grouped(phase.connects.resumed)
        }),
        ("early data", "", |(phase, _)| {
            number::grouped(phase.connects.early)
        }),
        ("refused", "", |(phase, _)| {
            number::grouped(phase.connects.refused)
        }),
        ("failed", "", |(phase, _)| number::grouped(phase.connects.failed)),
        ("timed out", "", |(phase, _)| {
            number::grouped(phase.connects.timed_out)
        }),
        ("given up", "", |(phase, _)| {
            number::grouped(phase.connects.given_up)
        }),
        ("lost later", "", |(phase, _)| {
            number::grouped(phase.connects.lost)
        }),
        ("p50", "ms", |row| connect_time(row, |times| times.p50)),
        ("p99", "ms", |row| connect_time(row, |times| times.p99)),
        ("longest", "ms", |row| connect_time(row, |times| Some(times.max))),
    ];
    let connecting = phases(loads, labels)
        .filter(|(.., phase)| phase.connects.attempted + phase.connects.lost > 0)
        .map(|(load, name, phase)| (name, (phase, words::standing(load, phase, CurveKind::Connect))));
    Grid::from_rows("Connections", "load and phase", &columns, connecting)
}

fn connect_time((phase, standing): &Connecting<'_>, of: fn(&Times) -> Option<u64>) -> String {
    let nanos = phase.connect_time_ns.as_ref().and_then(of);
    words::time(nanos.map(|nanos| nanos as f64), *standing)
}

/// The schedule lag of the generator, and the bottleneck.
pub(super) fn honesty(loads: &[Load], labels: &[String]) -> Grid {
    let columns: [ValueColumn<&Load>; 9] = [
        ("verdict", "", |load| verdict(load)),
        ("lag p50", "", |load| lag(load, |lag| lag.p50)),
        ("lag p99", "", |load| lag(load, |lag| lag.p99)),
        ("lag max", "", |load| lag(load, |lag| Some(lag.max))),
        ("offered", "that was sent", |load| {
            let phase = words::main_phase(load).filter(|phase| phase.outcomes.offered > 0);
            let sent = phase.map(|phase| phase.sent as f64 / phase.outcomes.offered as f64);
            number::optional(sent, number::percent)
        }),
        ("busiest thread", "of the generator", |load| {
            number::optional(busiest(load.generator.as_ref()), number::percent)
        }),
        (
            "busiest thread",
            "of the target, or its modelled workers",
            |load| {
                let workers = load.service.as_ref().and_then(|service| service.utilisation);
                number::optional(busiest(load.target_use.as_ref()).or(workers), number::percent)
            },
        ),
        ("bottleneck", "", |load| {
            number::optional(load.bottleneck.as_ref(), |found| number::plain(&found.who))
        }),
        ("because", "", |load| {
            number::optional(load.bottleneck.as_ref(), |found| number::plain(&found.why))
        }),
    ];
    let rows = labels.iter().cloned().zip(loads);
    Grid::from_rows("Did the generator keep its schedule?", "load", &columns, rows)
}

fn lag(load: &Load, of: fn(&Times) -> Option<u64>) -> String {
    let lag = words::main_phase(load).and_then(|phase| of(phase.schedule_lag_ns.as_ref()?));
    number::optional(lag, |nanos| number::duration(nanos as f64))
}

fn busiest(used: Option<&ProcessUse>) -> Option<f64> {
    used?.busiest_thread_share
}

fn verdict(load: &Load) -> String {
    match (&load.not_run, words::invalid_main(load).is_none()) {
        (Some(_), _) => "not run".into(),
        (None, true) => "valid".into(),
        (None, false) => "INVALID".into(),
    }
}

/// CPU and memory of both sides.
pub(super) fn sides(loads: &[Load], labels: &[String]) -> Grid {
    let columns: [ValueColumn<Option<&ProcessUse>>; 6] = [
        ("CPU", "of one", |used| {
            number::optional(used.and_then(|used| used.cpu_share), number::percent)
        }),
        ("user", "s", |used| {
            number::optional(*used, |used| number::trimmed(used.user_s, 2))
        }),
        ("system", "s", |used| {
            number::optional(*used, |used| number::trimmed(used.system_s, 2))
        }),
        ("CPU", "s per million messages", |used| {
            let per_million = used.and_then(|used| used.cpu_s_per_million);
            number::optional(per_million, |seconds| number::digits(seconds, 3))
        }),
        ("memory", "resident, most", |used| {
            number::optional(*used, |used| number::data(used.resident_bytes))
        }),
        ("processes", "", |used| {
            number::optional(*used, |used| used.processes.to_string())
        }),
    ];
    let measured = loads.iter().zip(labels).filter(|(load, _)| !load.is_modelled());
    let rows = measured.flat_map(|(load, label)| {
        let name = |side: &str| match loads.len() {
            1 => side.to_owned(),
            _ => format!("{label}: {side}"),
        };
        [
            (name("generator"), load.generator.as_ref()),
            (name("target"), load.target_use.as_ref()),
        ]
    });
    let caption = "CPU and memory; a target elsewhere cannot be looked into";
    Grid::from_rows(caption, "load and side", &columns, rows)
}

/// The remarks on each load: class and text.
pub(super) fn remarks(loads: &[Load], labels: &[String]) -> Vec<(&'static str, String)> {
    let of_load = |(load, label): (&Load, &String)| {
        let named = |remark: words::Remark| (remark.kind, format!("{label}: {}", remark.text));
        words::remarks(load)
            .into_iter()
            .map(named)
            .collect::<Vec<(&'static str, String)>>()
    };
    loads.iter().zip(labels).flat_map(of_load).collect()
}

/// The judged thresholds.
pub(super) fn thresholds(summary: &LoadSummary) -> Grid {
    let columns: [ValueColumn<&Threshold>; 3] = [
        ("demanded", "", |threshold| number::plain(&threshold.expression)),
        ("is", "base unit", |threshold| {
            number::optional(threshold.actual, |value| number::trimmed(value, 6))
        }),
        ("verdict", "", |threshold| {
            if threshold.pass { "pass" } else { "FAIL" }.to_owned()
        }),
    ];
    let thresholds = summary.thresholds.iter();
    let rows = thresholds.map(|threshold| (number::plain(&threshold.metric), threshold));
    Grid::from_rows("Thresholds", "metric", &columns, rows)
}

/// The facts of `env.json` as names and values. The name of a nested fact is its path.
pub(super) fn machine(environment: &Value) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    flatten("", environment, &mut facts);
    facts
}

fn flatten(path: &str, value: &Value, facts: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path} {name}")
                };
                flatten(&path, value, facts);
            }
        }
        Value::Null => {}
        Value::String(text) => facts.push((name(path), number::plain(text))),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            facts.push((name(path), number::plain(&value.to_string())));
        }
    }
}

fn name(path: &str) -> String {
    number::plain(&path.replace('_', " "))
}
