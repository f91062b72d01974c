//! The tables of a run of loads.

use serde_json::Value;
use wirecost_results::load::{Load, LoadSummary, PhaseFigures, ProcessUse};
use wirecost_results::summary::Times;

use crate::html::grid::{Grid, GridRow};
use crate::load::words;
use crate::number;

/// Times of every phase, by kind; `INVALID` where they must not be used.
pub(super) fn figures(loads: &[Load], labels: &[String]) -> Grid {
    let head = [
        ("load and phase", ""),
        ("time", ""),
        ("mean", "ms"),
        ("p50", "ms"),
        ("p90", "ms"),
        ("p95", "ms"),
        ("p99", "ms"),
        ("p99.9", "ms"),
        ("min", "ms"),
        ("max", "ms"),
        ("n", ""),
        ("low n", ""),
    ];
    let mut rows = Vec::new();
    for (load, name, phase) in phases(loads, labels) {
        let invalid = words::invalid(load, phase).is_some();
        for (kind, times, _) in words::times(phase) {
            rows.push(GridRow::plain(name.clone(), time_row(kind, times, invalid)));
        }
    }
    Grid::new("Times", &head, rows)
}

fn time_row(kind: &str, times: &Times, invalid: bool) -> Vec<String> {
    // The schedule lag is the reason for the invalidity, so it is always shown.
    let is_hidden = invalid && kind != "schedule lag";
    let quantile = |value: Option<u64>| match value {
        _ if is_hidden => "INVALID".to_owned(),
        value => number::optional(value, |nanos| number::latency(nanos as f64)),
    };
    let mean = if is_hidden {
        "INVALID".to_owned()
    } else {
        number::latency(times.mean)
    };
    vec![
        kind.to_owned(),
        mean,
        quantile(times.p50),
        quantile(times.p90),
        quantile(times.p95),
        quantile(times.p99),
        quantile(times.p999),
        quantile(Some(times.min)),
        quantile(Some(times.max)),
        number::grouped(times.n),
        times.low_n.join(", "),
    ]
}

/// Every phase of every load, with its name.
fn phases<'a>(
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
    let mut head = vec![
        ("load and phase", ""),
        ("offered", ""),
        ("sent", ""),
        ("acknowledged", ""),
        ("delivered", ""),
        ("late", ""),
        ("refused", ""),
        ("failed", "never sent"),
        ("unknown", "no reply"),
        ("lost", ""),
        ("offered", "per s"),
        ("carried", "per s"),
        ("up", "B each"),
        ("down", "B each"),
    ];
    let with_messages = || phases(loads, labels).filter(|(_, _, phase)| phase.outcomes.offered > 0);
    let any_missing = with_messages().any(|(_, _, phase)| words::missing(phase).is_some());
    if any_missing {
        head.extend([("expected", "deliveries"), ("missing", "deliveries")]);
    }
    let row = |(_, name, phase): (&Load, String, &PhaseFigures)| {
        let outcomes = &phase.outcomes;
        let counts = [
            outcomes.offered,
            phase.sent,
            outcomes.acknowledged,
            outcomes.delivered,
            outcomes.late,
            outcomes.refused,
            outcomes.failed,
            outcomes.unknown,
            outcomes.lost,
        ];
        let mut values: Vec<String> = counts.into_iter().map(number::grouped).collect();
        values.push(number::optional(phase.offered_rate, number::rate));
        values.push(number::optional(phase.carried_rate, number::rate));
        for bytes in [phase.socket_bytes_up, phase.socket_bytes_down] {
            let each = (phase.sent > 0).then(|| bytes as f64 / phase.sent as f64);
            values.push(number::optional(each, |each| number::trimmed(each, 1)));
        }
        if any_missing {
            let expected = phase.missing.and(phase.deliveries).map(|found| found.expected);
            values.extend([expected, phase.missing].map(|count| number::optional(count, number::grouped)));
        }
        GridRow::plain(name, values)
    };
    Grid::new(
        "How the messages ended",
        &head,
        with_messages().map(row).collect(),
    )
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

/// How connections came about.
pub(super) fn connects(loads: &[Load], labels: &[String]) -> Grid {
    let head = [
        ("load and phase", ""),
        ("begun", ""),
        ("established", ""),
        ("resumed", ""),
        ("early data", ""),
        ("refused", ""),
        ("failed", ""),
        ("timed out", ""),
        ("given up", ""),
        ("lost later", ""),
        ("p50", "ms"),
        ("p99", "ms"),
        ("longest", "ms"),
    ];
    let row = |(load, name, phase): (&Load, String, &PhaseFigures)| {
        let connects = &phase.connects;
        let counts = [
            connects.attempted,
            connects.established,
            connects.resumed,
            connects.early,
            connects.refused,
            connects.failed,
            connects.timed_out,
            connects.given_up,
            connects.lost,
        ];
        let mut values: Vec<String> = counts.into_iter().map(number::grouped).collect();
        let times = phase.connect_time_ns.as_ref();
        let invalid = words::invalid(load, phase).is_some();
        for value in [
            times.and_then(|times| times.p50),
            times.and_then(|times| times.p99),
            times.map(|times| times.max),
        ] {
            values.push(match value {
                Some(_) if invalid => "INVALID".into(),
                value => number::optional(value, |nanos| number::latency(nanos as f64)),
            });
        }
        GridRow::plain(name, values)
    };
    let connecting =
        phases(loads, labels).filter(|(_, _, phase)| phase.connects.attempted + phase.connects.lost > 0);
    Grid::new("Connections", &head, connecting.map(row).collect())
}

/// The schedule lag of the generator, and the bottleneck.
pub(super) fn honesty(loads: &[Load], labels: &[String]) -> Grid {
    let head = [
        ("load", ""),
        ("verdict", ""),
        ("lag p50", ""),
        ("lag p99", ""),
        ("lag max", ""),
        ("offered", "that was sent"),
        ("busiest thread", "of the generator"),
        ("busiest thread", "of the target, or its modelled workers"),
        ("bottleneck", ""),
        ("because", ""),
    ];
    let row = |(load, label): (&Load, &String)| {
        let phase = words::main_phase(load);
        let lag = phase.and_then(|phase| phase.schedule_lag_ns.as_ref());
        let time = |value: Option<u64>| number::optional(value, |nanos| number::duration(nanos as f64));
        let sent = phase
            .filter(|phase| phase.outcomes.offered > 0)
            .map(|phase| phase.sent as f64 / phase.outcomes.offered as f64);
        let busiest = |side: &Option<ProcessUse>| side.as_ref().and_then(|used| used.busiest_thread_share);
        let workers = load.service.as_ref().and_then(|service| service.utilisation);
        let found = load.bottleneck.as_ref();
        let values = vec![
            verdict(load),
            time(lag.and_then(|lag| lag.p50)),
            time(lag.and_then(|lag| lag.p99)),
            time(lag.map(|lag| lag.max)),
            number::optional(sent, number::percent),
            number::optional(busiest(&load.generator), number::percent),
            number::optional(busiest(&load.target_use).or(workers), number::percent),
            number::optional(found, |found| number::plain(&found.who)),
            number::optional(found, |found| number::plain(&found.why)),
        ];
        GridRow::plain(label.clone(), values)
    };
    let rows = loads.iter().zip(labels).map(row).collect();
    Grid::new("Did the generator keep its schedule?", &head, rows)
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
    let head = [
        ("load and side", ""),
        ("CPU", "of one"),
        ("user", "s"),
        ("system", "s"),
        ("CPU", "s per million messages"),
        ("memory", "resident, most"),
        ("processes", ""),
    ];
    let row = |label: &str, side: &str, used: &Option<ProcessUse>| {
        let name = if loads.len() == 1 {
            side.to_owned()
        } else {
            format!("{label}: {side}")
        };
        let of = |write: &dyn Fn(&ProcessUse) -> String| number::optional(used.as_ref(), write);
        let values = vec![
            of(&|used| number::optional(used.cpu_share, number::percent)),
            of(&|used| number::trimmed(used.user_s, 2)),
            of(&|used| number::trimmed(used.system_s, 2)),
            of(&|used| number::optional(used.cpu_s_per_million, |seconds| number::digits(seconds, 3))),
            of(&|used| number::data(used.resident_bytes)),
            of(&|used| used.processes.to_string()),
        ];
        GridRow::plain(name, values)
    };
    let measured = loads.iter().zip(labels).filter(|(load, _)| !load.is_modelled());
    let rows = measured.flat_map(|(load, label)| {
        [
            row(label, "generator", &load.generator),
            row(label, "target", &load.target_use),
        ]
    });
    Grid::new(
        "CPU and memory; a target elsewhere cannot be looked into",
        &head,
        rows.collect(),
    )
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
    let head = [
        ("metric", ""),
        ("demanded", ""),
        ("is", "base unit"),
        ("verdict", ""),
    ];
    let row = |threshold: &wirecost_results::threshold::Threshold| {
        let verdict = if threshold.pass { "pass" } else { "FAIL" };
        let values = vec![
            number::plain(&threshold.expression),
            number::optional(threshold.actual, |value| number::trimmed(value, 6)),
            verdict.to_owned(),
        ];
        GridRow::plain(number::plain(&threshold.metric), values)
    };
    Grid::new("Thresholds", &head, summary.thresholds.iter().map(row).collect())
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
