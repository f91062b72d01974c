//! The metrics that maps compare, with their intervals.

use wirecost_results::Cell;
use wirecost_stats::Estimate;

use super::super::scope::Scope;
use crate::columns::Column;
use crate::number;

/// A metric of a map.
#[derive(Clone, Copy)]
pub(super) struct Metric {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) scope: Scope,
    pub(super) write: fn(f64) -> String,
    estimate: fn(&Cell) -> Option<Estimate>,
}

/// Every metric, in the order of the controls.
pub(super) const METRICS: [Metric; 7] = [
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
        write: match unit.as_bytes() {
            b"B" => number::bytes,
            _ => number::millis,
        },
        estimate,
    }
}

impl Metric {
    /// The figure of the cell; `None` without one, or if the cell does not compete.
    pub(super) fn of(&self, cell: &Cell) -> Option<Estimate> {
        if !self.scope.holds(cell) {
            return None;
        }
        (self.estimate)(cell)
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
