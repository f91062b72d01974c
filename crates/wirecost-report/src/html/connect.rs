//! The cost of a connect, by stack and start.

use serde::Serialize;
use wirecost_results::{Cell, Section};

use crate::figures;
use crate::groups::Group;
use crate::names::{distinct, is_modelled};
use crate::number;

/// A row per stack, a column per start.
#[derive(Serialize)]
pub(crate) struct Matrix {
    starts: Vec<String>,
    rows: Vec<Row>,
    /// Notes on connects of varying sizes and on padding.
    varying: Vec<String>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    entries: Vec<Entry>,
}

/// The cost of one start of one stack.
#[derive(Default, Serialize)]
struct Entry {
    bytes: String,
    details: Vec<String>,
    /// Why there is no cost; empty if there is one.
    reason: String,
    invalid: bool,
}

impl Matrix {
    /// The matrix of a group.
    pub(crate) fn from_group(group: &Group<'_>) -> Self {
        let starts = distinct(group.iter().map(|cell| cell.start.clone()));
        let row = |name: String| Row {
            entries: starts.iter().map(|start| entry(group, &name, start)).collect(),
            name,
        };
        Self {
            rows: distinct(group.iter().map(|cell| group.names.stack(cell)))
                .into_iter()
                .map(row)
                .collect(),
            varying: group
                .iter()
                .filter_map(|cell| figures::varying_connect(&group.names, cell))
                .chain(figures::padded_connects(&group.names, group.iter()))
                .collect(),
            starts,
        }
    }
}

fn entry(group: &Group<'_>, name: &str, start: &str) -> Entry {
    let cell = group
        .iter()
        .find(|cell| cell.start == start && group.names.stack(cell) == name);
    let because = |reason: &str| Entry {
        reason: number::plain(reason),
        ..Entry::default()
    };
    match cell {
        // An empty field would look as if the cell had failed.
        None => because("not asked for"),
        Some(cell) => match (&cell.not_run, &cell.connect) {
            (Some(reason), _) => because(&format!("not run: {reason}")),
            (None, None) => because("no connect"),
            (None, Some(connect)) => cost(cell, connect),
        },
    }
}

fn cost(cell: &Cell, connect: &Section) -> Entry {
    let bytes = figures::bytes_of(connect);
    let [up, down] = [bytes.up.total(), bytes.down.total()].map(number::bytes);
    let packets = connect.up.packets.mean + connect.down.packets.mean;
    let trips = number::optional(connect.round_trips, |trips| number::trimmed(trips, 2));
    let time = connect.response_time_ns.as_ref().map(|times| times.mean);
    let cpu = cell.cpu.client.and_then(|side| side.connect_ns);
    let cpu = match (is_modelled(cell), cell.early_message) {
        (true, _) => "simulated: no CPU".to_owned(),
        // Early data leaves with the first flight: no reading of the CPU time lies between both.
        (false, true) => "CPU counted with its message".to_owned(),
        (false, false) => format!("{} µs of CPU", number::optional(cpu, number::micros)),
    };
    Entry {
        bytes: number::bytes(bytes.up.total() + bytes.down.total()),
        details: vec![
            format!("{up} up, {down} down"),
            format!(
                "{} B of security",
                number::bytes(figures::together(&bytes).0[wirecost_proto::Layer::Security as usize])
            ),
            format!("{} packets, {trips} RTT", number::trimmed(packets, 1)),
            format!("{} ms", number::optional(time, number::millis)),
            cpu,
        ],
        reason: String::new(),
        invalid: !cell.valid,
    }
}
