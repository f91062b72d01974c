//! The metrics that maps compare, with their intervals.

use wirecost_results::Cell;
use wirecost_results::catalogue;
use wirecost_stats::Estimate;

use super::super::scope::Scope;
use crate::columns::{self, Column};
use crate::number;

/// A metric of a map.
#[derive(Clone, Copy)]
pub(super) struct Metric {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) scope: Scope,
    read: Read,
}

/// How a metric is read and written.
#[derive(Clone, Copy)]
enum Read {
    /// By a function of the cell.
    Cell(fn(&Cell) -> Option<Estimate>),
    /// As its column.
    Figure(catalogue::Metric),
}

/// Every metric, in the order of the controls: those that maps alone have, and the figures with a column.
pub(super) fn all() -> Vec<Metric> {
    let of_catalogue = |figure: &catalogue::Metric| {
        let column = figure.column()?;
        Some(Metric {
            name: column.name,
            unit: column.unit,
            scope: Scope::All,
            read: Read::Figure(*figure),
        })
    };
    let in_tables = catalogue::Metric::ALL.iter().filter_map(of_catalogue);
    METRICS.into_iter().chain(in_tables).collect()
}

const METRICS: [Metric; 7] = [
    metric("bytes per answered message", "B", Scope::Answered, message_bytes),
    metric("bytes per message", "B", Scope::All, message_bytes),
    metric("response time, p50", "ms", Scope::Answered, median),
    metric("response time, p99", "ms", Scope::Answered, tail),
    metric("time to arrival, p50", "ms", Scope::Arrived, median),
    metric("time to arrival, p99", "ms", Scope::Arrived, tail),
    metric("connect bytes", "B", Scope::Connected, Cell::connect_bytes),
];

const fn metric(
    name: &'static str,
    unit: &'static str,
    scope: Scope,
    estimate: fn(&Cell) -> Option<Estimate>,
) -> Metric {
    Metric {
        name,
        unit,
        scope,
        read: Read::Cell(estimate),
    }
}

impl Metric {
    /// The figure of the cell; `None` without one, or if the cell does not compete.
    pub(super) fn read(&self, cell: &Cell) -> Option<Estimate> {
        if !self.scope.holds(cell) {
            return None;
        }
        match self.read {
            Read::Cell(estimate) => estimate(cell),
            Read::Figure(figure) => Column::Figure(figure).estimate(cell),
        }
    }

    /// A figure as text.
    pub(super) fn write(&self, value: f64) -> String {
        match self.read {
            Read::Figure(figure) => columns::written(figure, value),
            Read::Cell(_) if self.unit == "B" => number::bytes(value),
            Read::Cell(_) => number::millis(value),
        }
    }
}

/// `None` if the message shares its packets with the handshake, whose headers count as connect.
fn message_bytes(cell: &Cell) -> Option<Estimate> {
    cell.message_bytes().filter(|_| !cell.early_message)
}

fn median(cell: &Cell) -> Option<Estimate> {
    Column::P50.estimate(cell)
}

fn tail(cell: &Cell) -> Option<Estimate> {
    Column::P99.estimate(cell)
}
