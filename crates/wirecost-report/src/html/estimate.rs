//! Figures of a cell with their intervals, from the summary and the rows of `samples.csv`.

use wirecost_results::summary::Bytes;
use wirecost_results::{Cell, SampleRow, Section};
use wirecost_stats::MeanInterval;

use crate::columns::overlap;

/// A figure with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    pub(super) value: f64,
    /// Both ends; equal if all samples are equal, `None` with too few samples.
    pub(super) interval: Option<[f64; 2]>,
}

impl Estimate {
    pub(super) const fn exact(value: f64) -> Self {
        Self {
            value,
            interval: Some([value; 2]),
        }
    }

    /// Whether the intervals do not overlap.
    pub(super) fn is_separable(&self, other: &Self) -> bool {
        match (self.interval, other.interval) {
            (Some(own), Some(other)) => !overlap(own, other),
            _ => false,
        }
    }
}

/// IP bytes of a message, both directions; `None` if the message shares its packets with the handshake, whose headers
/// count as connect.
pub(super) fn message_bytes(cell: &Cell, samples: &[&SampleRow]) -> Option<Estimate> {
    let message = cell.message.as_ref().filter(|_| !cell.early_message)?;
    Some(wire(&[message], samples, |row| {
        row.message_up_bytes + row.message_down_bytes
    }))
}

/// IP bytes of a connect, both directions.
pub(super) fn connect_bytes(cell: &Cell, samples: &[&SampleRow]) -> Option<Estimate> {
    let connect = cell.connect.as_ref()?;
    Some(wire(&[connect], samples, connect_row))
}

/// IP bytes of connect and close, both directions; 0 without them.
pub(super) fn connection_bytes(cell: &Cell, samples: &[&SampleRow]) -> Option<Estimate> {
    cell.message.as_ref()?;
    let close = cell.close_of_a_connection();
    let phases = [cell.connect.as_ref(), close.as_ref()];
    let phases: Vec<&Section> = phases.into_iter().flatten().collect();
    Some(wire(&phases, samples, |row| {
        connect_row(row) + row.close_up_bytes + row.close_down_bytes
    }))
}

const fn connect_row(row: &SampleRow) -> u64 {
    row.connect_up_bytes + row.connect_down_bytes
}

/// The mean IP bytes of both directions over all samples. If samples differ, the interval follows from the rows of
/// `samples.csv`, which hold the first message of each device.
fn wire(sections: &[&Section], samples: &[&SampleRow], of: fn(&SampleRow) -> u64) -> Estimate {
    let ways = || sections.iter().flat_map(|section| [&section.up, &section.down]);
    let value = ways().map(|bytes| bytes.wire.mean).sum();
    let is_exact = |bytes: &Bytes| bytes.wire.min == bytes.wire.max;
    if ways().all(is_exact) {
        return Estimate::exact(value);
    }
    let bytes: Vec<f64> = samples.iter().map(|row| of(row) as f64).collect();
    let around = |mean: MeanInterval| Some([mean.low?, mean.high?].map(|end| end - mean.mean + value));
    Estimate {
        value,
        interval: MeanInterval::of(&bytes).and_then(around),
    }
}
