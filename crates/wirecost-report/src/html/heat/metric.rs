//! The metrics that maps compare, with their intervals.

use wirecost_results::{Cell, SampleRow};

use super::super::estimate::{Estimate, connect_bytes, message_bytes};
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
    estimate: fn(&Cell, &[&SampleRow]) -> Option<Estimate>,
}

/// Every metric, in the order of the controls.
pub(super) const METRICS: [Metric; 7] = [
    metric("bytes per answered message", "B", Scope::Answered, message_bytes),
    metric("bytes per message", "B", Scope::All, message_bytes),
    metric("response time, p50", "ms", Scope::Answered, median),
    metric("response time, p99", "ms", Scope::Answered, tail),
    metric("time to arrival, p50", "ms", Scope::Arrived, median),
    metric("time to arrival, p99", "ms", Scope::Arrived, tail),
    metric("connect bytes", "B", Scope::Connected, connect_bytes),
];

const fn metric(
    name: &'static str,
    unit: &'static str,
    scope: Scope,
    estimate: fn(&Cell, &[&SampleRow]) -> Option<Estimate>,
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
    pub(super) fn of(&self, cell: &Cell, samples: &[&SampleRow]) -> Option<Estimate> {
        if !self.scope.holds(cell) {
            return None;
        }
        (self.estimate)(cell, samples)
    }
}

fn median(cell: &Cell, _: &[&SampleRow]) -> Option<Estimate> {
    quantile(cell, Column::P50)
}

fn tail(cell: &Cell, _: &[&SampleRow]) -> Option<Estimate> {
    quantile(cell, Column::P99)
}

/// A quantile of the response time in nanoseconds with its order-statistic interval.
fn quantile(cell: &Cell, column: Column) -> Option<Estimate> {
    Some(Estimate {
        value: column.value(cell)?,
        interval: column.interval(cell),
    })
}
