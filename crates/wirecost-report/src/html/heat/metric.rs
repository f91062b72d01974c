//! What the maps compare, and how sure each figure is.

use wirecost_lab::results::summary::{Bytes, Times};
use wirecost_lab::results::{Cell, SampleRow, Section};
use wirecost_stats::MeanInterval;

use super::super::scope::Scope;
use crate::columns::overlap;
use crate::number;

/// A figure with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    pub(super) value: f64,
    /// Both ends; equal where every sample is alike, null where the sample is too small to tell.
    pub(super) interval: Option<[f64; 2]>,
}

impl Estimate {
    const fn exact(value: f64) -> Self {
        Self {
            value,
            interval: Some([value; 2]),
        }
    }

    /// Whether the intervals say that one is less than the other.
    pub(super) fn is_separable(&self, other: &Self) -> bool {
        match (self.interval, other.interval) {
            (Some(own), Some(other)) => !overlap(own, other),
            _ => false,
        }
    }
}

/// What a map compares.
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
    /// The cell's figure; null where it has none or does not compete.
    pub(super) fn of(&self, cell: &Cell, samples: &[&SampleRow]) -> Option<Estimate> {
        if !self.scope.holds(cell) {
            return None;
        }
        (self.estimate)(cell, samples)
    }
}

/// Early data shares its packets with the handshake, whose headers count as connect.
fn message_bytes(cell: &Cell, samples: &[&SampleRow]) -> Option<Estimate> {
    let message = cell.message.as_ref().filter(|_| !cell.early_message)?;
    Some(wire(message, samples, |row| {
        row.message_up_bytes + row.message_down_bytes
    }))
}

fn connect_bytes(cell: &Cell, samples: &[&SampleRow]) -> Option<Estimate> {
    let connect = cell.connect.as_ref()?;
    Some(wire(connect, samples, |row| {
        row.connect_up_bytes + row.connect_down_bytes
    }))
}

/// Wire bytes of both directions: the mean of all samples. Where they differ, as far around it as the rows of
/// `samples.csv` say, which hold the first message of each device.
fn wire(section: &Section, samples: &[&SampleRow], of: fn(&SampleRow) -> u64) -> Estimate {
    let value = section.up.wire.mean + section.down.wire.mean;
    let is_exact = |bytes: &Bytes| bytes.wire.min == bytes.wire.max;
    if is_exact(&section.up) && is_exact(&section.down) {
        return Estimate::exact(value);
    }
    let bytes: Vec<f64> = samples.iter().map(|row| of(row) as f64).collect();
    let half = MeanInterval::of(&bytes).and_then(|mean| Some(mean.high? - mean.mean));
    Estimate {
        value,
        interval: half.map(|half| [value - half, value + half]),
    }
}

fn median(cell: &Cell, _: &[&SampleRow]) -> Option<Estimate> {
    quantile(cell, "p50", |times| times.p50)
}

fn tail(cell: &Cell, _: &[&SampleRow]) -> Option<Estimate> {
    quantile(cell, "p99", |times| times.p99)
}

/// A quantile of the response time in nanoseconds with its order-statistic interval.
fn quantile(cell: &Cell, name: &str, of: fn(&Times) -> Option<u64>) -> Option<Estimate> {
    let times = cell.message.as_ref()?.response_time_ns.as_ref()?;
    let value = of(times)? as f64;
    if times.min == times.max {
        return Some(Estimate::exact(value));
    }
    let interval = times.quantile_ci95.get(name).copied().flatten();
    Some(Estimate {
        value,
        interval: interval.map(|bounds| bounds.map(|ns| ns as f64)),
    })
}
