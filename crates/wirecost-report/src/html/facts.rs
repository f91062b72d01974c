//! The details of a run: outcomes, link, CPU, machine, validity.

mod outcomes;
mod validity;

use std::collections::BTreeMap;

use serde::Serialize;
use wirecost_results::summary::{Achieved, CpuSide, LinkDirection};
use wirecost_results::{Cell, Environment, Results, Summary};

use super::grid::{Grid, GridRow, ValueColumn};
use crate::figures::rtt_ns;
use crate::groups::heading;
use crate::names::{Names, is_modelled};
use crate::number;
use validity::Validity;

/// The tables of details.
#[derive(Serialize)]
pub(crate) struct Facts {
    outcomes: Grid,
    /// What happened to the messages of cells that the outcomes do not list.
    other_outcomes: String,
    link: Grid,
    cpu: Grid,
    machine: Vec<(&'static str, String)>,
    networks: Grid,
    validity: Validity,
}

/// The tables of a run.
pub(crate) fn all(results: &Results) -> Facts {
    let (summary, environment) = (&results.summary, &results.environment);
    let name = &Name::in_run(summary);
    Facts {
        outcomes: outcomes::table(summary, name),
        other_outcomes: outcomes::others(summary),
        link: link(summary, name),
        cpu: cpu(summary, name),
        machine: machine(environment),
        networks: networks(environment),
        validity: Validity::from_summary(summary, name),
    }
}

/// Names of cells outside their groups.
struct Name {
    names: Names,
    /// Whether the run has several groups, so that the name includes the group.
    says_group: bool,
}

impl Name {
    fn in_run(summary: &Summary) -> Self {
        let headings = summary.cells.iter().map(heading);
        let mut others = headings.clone().skip(1);
        Self {
            names: Names::from_summary(summary),
            says_group: headings.take(1).any(|first| others.any(|other| other != first)),
        }
    }

    fn tell(&self, cell: &Cell) -> String {
        let label = self.names.label(cell);
        if self.says_group {
            format!("{label}, {}", heading(cell))
        } else {
            label
        }
    }
}

fn run(summary: &Summary) -> impl Iterator<Item = &Cell> {
    summary.cells.iter().filter(|cell| cell.not_run.is_none())
}

fn link(summary: &Summary, name: &Name) -> Grid {
    let queues = run(summary).any(|cell| queue_dropped(cell).is_some());
    // The last column is shown only with a queue.
    let columns: [ValueColumn<&Cell>; 7] = [
        ("RTT asked", "ms", |cell| {
            // A modelled cell is not asked for a round-trip time.
            let asked = cell.link.nbiot_cell.is_none().then(|| rtt_ns(&cell.link));
            number::optional(asked, |ns| number::millis(ns as f64))
        }),
        ("achieved", "ms, p50", |cell| {
            let rtt = cell.link.achieved.as_ref().and_then(|a| a.rtt_p50_ns);
            number::optional(rtt, |ns| number::millis(ns as f64))
        }),
        ("loss asked", "up / down", |cell| {
            up_down([Some(cell.link.up.loss), Some(cell.link.down.loss)].map(share))
        }),
        ("achieved", "up / down", |cell| {
            let achieved = cell.link.achieved.as_ref();
            up_down(
                [
                    achieved.and_then(|a| a.loss_up),
                    achieved.and_then(|a| a.loss_down),
                ]
                .map(share),
            )
        }),
        ("rate asked", "kbit/s, up / down", |cell| {
            let asked = |way: &LinkDirection| match way.rate_bps {
                None => "unlimited".to_owned(),
                limit => rate(limit),
            };
            up_down([&cell.link.up, &cell.link.down].map(asked))
        }),
        ("achieved", "kbit/s, up / down", |cell| {
            let achieved = cell.link.achieved.as_ref();
            up_down(
                [
                    achieved.and_then(|a| a.rate_up_bps),
                    achieved.and_then(|a| a.rate_down_bps),
                ]
                .map(rate),
            )
        }),
        ("queue full", "packets, up / down", |cell| {
            number::optional(queue_dropped(cell), |dropped| {
                up_down(dropped.map(number::grouped))
            })
        }),
    ];
    let count = columns.len() - usize::from(!queues);
    let rows = run(summary).map(|cell| (name.tell(cell), cell));
    Grid::from_rows("The link, asked and achieved", "cell", &columns[..count], rows)
}

fn up_down([up, down]: [String; 2]) -> String {
    format!("{up} / {down}")
}

fn share(share: Option<f64>) -> String {
    number::optional(share, |share| format!("{} %", number::trimmed(share * 100.0, 3)))
}

fn rate(rate: Option<u64>) -> String {
    number::optional(rate, |rate| number::kilobits(rate as f64))
}

/// The packets that a full queue dropped, up and down; `None` without a queue.
fn queue_dropped(cell: &Cell) -> Option<[u64; 2]> {
    let Achieved {
        queue_dropped_up,
        queue_dropped_down,
        ..
    } = cell.link.achieved.as_ref()?;
    let either = queue_dropped_up.is_some() || queue_dropped_down.is_some();
    either.then(|| [queue_dropped_up, queue_dropped_down].map(|dropped| dropped.unwrap_or(0)))
}

/// Only cells that ran in real time have CPU time.
fn cpu(summary: &Summary, name: &Name) -> Grid {
    let columns: [ValueColumn<&Cell>; 7] = [
        ("client", "µs per device", |cell| {
            micros(cell.cpu.client, |side| Some(side.device_ns))
        }),
        ("client", "µs per connect", |cell| {
            micros(cell.cpu.client, |side| side.connect_ns)
        }),
        ("client", "µs per message", |cell| {
            micros(cell.cpu.client, |side| side.message_ns)
        }),
        ("server", "µs per device", |cell| {
            micros(cell.cpu.server, |side| Some(side.device_ns))
        }),
        ("server", "µs per connect", |cell| {
            micros(cell.cpu.server, |side| side.connect_ns)
        }),
        ("server", "µs per message", |cell| {
            micros(cell.cpu.server, |side| side.message_ns)
        }),
        ("why not measured", "", |cell| {
            cell.cpu.reason.clone().unwrap_or_default()
        }),
    ];
    let measured = run(summary).filter(|cell| !is_modelled(cell));
    Grid::from_rows(
        "CPU time",
        "cell",
        &columns,
        measured.map(|cell| (name.tell(cell), cell)),
    )
}

fn micros(side: Option<CpuSide>, of: fn(CpuSide) -> Option<f64>) -> String {
    number::optional(side.and_then(of), number::micros)
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
        "{} packets, late by {} µs (p50), {} µs (p99), {} µs (max); {} ms of CPU, not charged to any cell",
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
