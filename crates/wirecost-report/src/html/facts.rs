//! What stands behind the figures: outcomes, link, CPU, machine, validity.

use std::collections::BTreeMap;

use serde::Serialize;
use wirecost_lab::results::summary::{CpuSide, LinkDirection, Outcomes};
use wirecost_lab::results::{Cell, Environment, Results, Summary};

use super::grid::{Grid, GridRow};
use crate::figures::{self, link_words};
use crate::groups::Group;
use crate::number;

/// The tables behind the figures.
#[derive(Serialize)]
pub(super) struct Facts {
    outcomes: Grid,
    link: Grid,
    cpu: Grid,
    machine: Vec<(&'static str, String)>,
    networks: Grid,
    validity: Vec<Validity>,
}

/// Whether one cell's figures may be used, and what to look at first.
#[derive(Serialize)]
struct Validity {
    name: String,
    /// `valid`, `not run` or `INVALID`.
    verdict: &'static str,
    remarks: Vec<String>,
}

/// The tables of a run.
pub(super) fn all(results: &Results) -> Facts {
    let (summary, environment) = (&results.summary, &results.environment);
    let name = name_of(summary);
    Facts {
        outcomes: outcomes(summary, name),
        link: link(summary, name),
        cpu: cpu(summary, name),
        machine: machine(environment),
        networks: networks(environment),
        validity: summary.cells.iter().map(|cell| validity(cell, name)).collect(),
    }
}

/// How a cell is called outside its group.
type Name = fn(&Cell) -> String;

/// The label alone where the run has one group; with size and link where it has several.
fn name_of(summary: &Summary) -> Name {
    if Group::all(summary).len() < 2 {
        return figures::label;
    }
    |cell| {
        format!(
            "{}, {} B, {}",
            figures::label(cell),
            cell.payload_bytes,
            link_words(&cell.link)
        )
    }
}

fn run(summary: &Summary) -> impl Iterator<Item = &Cell> {
    summary.cells.iter().filter(|cell| cell.not_run.is_none())
}

fn outcomes(summary: &Summary, name: Name) -> Grid {
    let head = [
        "cell",
        "offered",
        "acknowledged",
        "delivered",
        "refused",
        "failed",
        "late",
        "unknown",
        "lost",
        "sum",
    ];
    let row = |cell: &Cell| {
        let o: &Outcomes = &cell.outcomes;
        let ends = [
            o.acknowledged,
            o.delivered,
            o.refused,
            o.failed,
            o.late,
            o.unknown,
            o.lost,
        ];
        let sum = if o.add_up() { "= offered" } else { "≠ offered" };
        let mut values = vec![o.offered.to_string()];
        values.extend(ends.map(|count| count.to_string()));
        values.push(sum.to_owned());
        GridRow::plain(name(cell), values)
    };
    Grid::new(
        "How the offered messages ended",
        &head.map(|name| (name, "")),
        run(summary).map(row).collect(),
    )
}

fn link(summary: &Summary, name: Name) -> Grid {
    let head = [
        ("cell", ""),
        ("RTT asked", "ms"),
        ("achieved", "ms, p50"),
        ("loss asked", "up / down"),
        ("achieved", "up / down"),
        ("rate asked", "kbit/s, up / down"),
        ("achieved", "kbit/s, up / down"),
    ];
    let rows = run(summary)
        .map(|cell| GridRow::plain(name(cell), link_values(cell)))
        .collect();
    Grid::new("The link, asked and achieved", &head, rows)
}

fn link_values(cell: &Cell) -> Vec<String> {
    let (up, down) = (&cell.link.up, &cell.link.down);
    let achieved = cell.link.achieved.as_ref();
    let both = |up: String, down: String| format!("{up} / {down}");
    let share = |share: Option<f64>| {
        number::optional(share, |share| format!("{} %", number::trimmed(share * 100.0, 3)))
    };
    let rate = |rate: Option<u64>| number::optional(rate, |rate| number::kilobits(rate as f64));
    let asked = |direction: &LinkDirection| match direction.rate_bps {
        None => "unlimited".to_owned(),
        limit => rate(limit),
    };
    vec![
        number::millis(up.delay_ns.saturating_add(down.delay_ns) as f64),
        number::optional(achieved.and_then(|a| a.rtt_p50_ns), |ns| {
            number::millis(ns as f64)
        }),
        both(share(Some(up.loss)), share(Some(down.loss))),
        both(
            share(achieved.and_then(|a| a.loss_up)),
            share(achieved.and_then(|a| a.loss_down)),
        ),
        both(asked(up), asked(down)),
        both(
            rate(achieved.and_then(|a| a.rate_up_bps)),
            rate(achieved.and_then(|a| a.rate_down_bps)),
        ),
    ]
}

fn cpu(summary: &Summary, name: Name) -> Grid {
    let head = [
        ("cell", ""),
        ("client", "µs per device"),
        ("client", "µs per connect"),
        ("client", "µs per message"),
        ("server", "µs per device"),
        ("server", "µs per connect"),
        ("server", "µs per message"),
        ("why not measured", ""),
    ];
    let row = |cell: &Cell| {
        let mut values = cpu_side(cell.cpu.client.as_ref());
        values.extend(cpu_side(cell.cpu.server.as_ref()));
        values.push(cell.cpu.reason.clone().unwrap_or_default());
        GridRow::plain(name(cell), values)
    };
    Grid::new("CPU time", &head, run(summary).map(row).collect())
}

fn cpu_side(side: Option<&CpuSide>) -> Vec<String> {
    vec![
        number::optional(side, |side| number::micros(side.device_ns)),
        number::optional(side.and_then(|side| side.connect_ns), number::micros),
        number::optional(side.and_then(|side| side.message_ns), number::micros),
    ]
}

fn machine(environment: &Environment) -> Vec<(&'static str, String)> {
    let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "not told".to_owned());
    let [before, after] = environment.load_average;
    let mut facts = vec![
        ("started", environment.started_at.clone()),
        (
            "took",
            format!("{} s", number::trimmed(environment.duration_s, 1)),
        ),
        ("wirecost", environment.wirecost_version.clone()),
        ("kernel", environment.kernel.clone()),
        (
            "CPU",
            format!(
                "{}, {} usable, governor {}",
                environment.cpu_model,
                environment.cpus,
                known(&environment.cpu_governor)
            ),
        ),
        ("memory", format!("{} MB", environment.memory_bytes / 1_000_000)),
        (
            "clock",
            format!(
                "{}, resolution {} ns, read in {} ns",
                known(&environment.clock_source),
                environment.clock_resolution_ns,
                environment.clock_read_ns
            ),
        ),
        ("load average", format!("{before} before, {after} after")),
        (
            "steal",
            number::optional(environment.steal, |share| {
                format!("{} %", number::trimmed(share * 100.0, 2))
            }),
        ),
        ("packet path", environment.packet_path.clone()),
        ("packets of no cell", environment.unattributed_packets.to_string()),
        (
            "packets dropped by the recorder",
            environment.dropped_packets.to_string(),
        ),
    ];
    facts.extend(emulator(environment));
    facts.extend(
        environment
            .servers
            .iter()
            .map(|(name, version)| ("server", format!("{name}: {version}"))),
    );
    let memory = environment.server_resident_bytes;
    facts.extend(memory.map(|bytes| ("server memory", format!("{} kB resident", bytes / 1_000))));
    facts
}

fn emulator(environment: &Environment) -> Option<(&'static str, String)> {
    let emulator = environment.emulator.as_ref()?;
    let micros = |nanos: u64| number::micros(nanos as f64);
    let text = format!(
        "{} packets, late by {} µs (p50), {} µs (p99), {} µs (max); {} ms of CPU, charged to nobody",
        emulator.packets,
        micros(emulator.lateness_p50_ns),
        micros(emulator.lateness_p99_ns),
        micros(emulator.lateness_max_ns),
        emulator.cpu_ns / 1_000_000,
    );
    Some(("emulator", text))
}

fn networks(environment: &Environment) -> Grid {
    let (device, server) = (&environment.device_network, &environment.server_network);
    let both: BTreeMap<&String, ()> = device
        .keys()
        .chain(server.keys())
        .map(|name| (name, ()))
        .collect();
    let value = |network: &BTreeMap<String, String>, name: &String| {
        number::optional(network.get(name), |value| value.clone())
    };
    let row = |name: &String| GridRow::plain(name.clone(), vec![value(device, name), value(server, name)]);
    let head = [("setting", ""), ("device", ""), ("server", "")];
    Grid::new("Network settings", &head, both.into_keys().map(row).collect())
}

fn validity(cell: &Cell, name: Name) -> Validity {
    let warnings = cell.warnings.iter().map(|warning| warning.text.clone());
    Validity {
        name: name(cell),
        verdict: match (&cell.not_run, cell.valid) {
            (Some(_), _) => "not run",
            (None, true) => "valid",
            (None, false) => "INVALID",
        },
        remarks: cell.not_run.iter().cloned().chain(warnings).collect(),
    }
}
