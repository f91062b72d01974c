//! How figures are read, in base units.

use super::{Aggregation, ModelledBy};
use crate::nbiot::Estimate;
use crate::summary::{Bytes, Cell, Count, Outcomes, Section, Times};

/// How a figure is read from a cell, a phase or a point.
pub(super) enum Reader<T: 'static> {
    /// From a distribution of times.
    Times(for<'a> fn(&'a T) -> Option<&'a Times>),
    /// One value for each aggregation.
    Each(fn(&T, Aggregation) -> Option<f64>),
    /// One value.
    Value(fn(&T) -> Option<f64>),
    /// From how messages ended.
    Messages(fn(&Outcomes) -> u64),
    /// A mean over replications with its interval.
    Estimate(fn(&T) -> Option<Estimate>),
    /// It is modelled from a cell's packets, elsewhere.
    Modelled(ModelledBy),
}

impl<T> Reader<T> {
    pub(super) fn read(&self, of: &T, outcomes: &Outcomes, aggregation: Aggregation) -> Option<f64> {
        match self {
            Self::Times(read) => times(read(of)?, aggregation),
            Self::Each(read) => read(of, aggregation),
            Self::Value(read) => read(of),
            Self::Messages(read) => outcome(read(outcomes), outcomes, aggregation),
            Self::Estimate(read) => read(of).map(|estimate| estimate.mean),
            Self::Modelled(_) => None,
        }
    }

    pub(super) fn times<'a>(&self, of: &'a T) -> Option<&'a Times> {
        match self {
            Self::Times(read) => read(of),
            Self::Each(_) | Self::Value(_) | Self::Messages(_) | Self::Estimate(_) | Self::Modelled(_) => {
                None
            }
        }
    }

    pub(super) fn estimate(&self, of: &T) -> Option<Estimate> {
        match self {
            Self::Estimate(read) => read(of),
            Self::Times(_) | Self::Each(_) | Self::Value(_) | Self::Messages(_) | Self::Modelled(_) => None,
        }
    }
}

/// The bytes of keep-alive packets over those of messages; `None` where no message was measured.
pub(super) fn keep_alive_ratio(cell: &Cell) -> Option<f64> {
    let bytes = |section: &Section| both_ways(section, |bytes| bytes.wire, Aggregation::Sum);
    let keep_alive = cell.keep_alive.as_ref().and_then(bytes).unwrap_or_default();
    Some(keep_alive / bytes(cell.message.as_ref()?)?)
}

/// The sum over connect, measured messages and close; `None` where no message was measured.
pub(super) fn session(cell: &Cell, of: impl Fn(&Section) -> Option<f64>) -> Option<f64> {
    let message = of(cell.message.as_ref()?)?;
    let around = [&cell.connect, &cell.close].into_iter().flatten();
    Some(message + around.filter_map(of).sum::<f64>())
}

/// Whether every sample of a phase has the same bytes and packets.
pub(super) fn is_constant(section: &Section) -> bool {
    let ways = [&section.up, &section.down];
    let same = |count: &Count| count.min == count.max;
    ways.iter()
        .all(|way| same(&way.wire) && same(&way.packets) && same(&way.application))
}

/// A quantity of time in seconds.
fn times(times: &Times, aggregation: Aggregation) -> Option<f64> {
    let nanos = match aggregation {
        Aggregation::P50 => times.p50? as f64,
        Aggregation::P90 => times.p90? as f64,
        Aggregation::P95 => times.p95? as f64,
        Aggregation::P99 => times.p99? as f64,
        Aggregation::P999 => times.p999? as f64,
        Aggregation::Mean => times.mean,
        Aggregation::Min => times.min as f64,
        Aggregation::Max => times.max as f64,
        Aggregation::Sum | Aggregation::Count | Aggregation::Rate | Aggregation::Value => return None,
    };
    Some(nanos / 1e9)
}

pub(super) fn nanos(nanos: Option<u64>) -> Option<f64> {
    nanos.map(|nanos| nanos as f64 / 1e9)
}

pub(super) fn count(count: Count, aggregation: Aggregation) -> Option<f64> {
    match aggregation {
        Aggregation::Mean => Some(count.mean),
        Aggregation::Min => Some(count.min as f64),
        Aggregation::Max => Some(count.max as f64),
        Aggregation::Sum => Some(count.sum as f64),
        Aggregation::P50
        | Aggregation::P90
        | Aggregation::P95
        | Aggregation::P99
        | Aggregation::P999
        | Aggregation::Count
        | Aggregation::Rate
        | Aggregation::Value => None,
    }
}

/// Both directions together: means and sums add up, the smallest and the largest do not.
pub(super) fn both_ways(section: &Section, of: fn(&Bytes) -> Count, aggregation: Aggregation) -> Option<f64> {
    let (up, down) = (of(&section.up), of(&section.down));
    match aggregation {
        Aggregation::Mean => Some(up.mean + down.mean),
        Aggregation::Sum => Some((up.sum + down.sum) as f64),
        Aggregation::Min
        | Aggregation::Max
        | Aggregation::P50
        | Aggregation::P90
        | Aggregation::P95
        | Aggregation::P99
        | Aggregation::P999
        | Aggregation::Count
        | Aggregation::Rate
        | Aggregation::Value => None,
    }
}

/// The number of messages, or their share of the offered messages; `None` if no message was offered.
fn outcome(messages: u64, outcomes: &Outcomes, aggregation: Aggregation) -> Option<f64> {
    match aggregation {
        _ if outcomes.offered == 0 => None,
        Aggregation::Rate => Some(messages as f64 / outcomes.offered as f64),
        _ => Some(messages as f64),
    }
}
