//! What follows from the places of a histogram that have a count.

use super::MAX_NS;
use crate::chunks::{Chunks, Recorded};
use crate::quantile::{self, Quantile};

/// The quantile with its interval; `None` if there are too few values to print it.
pub(super) fn estimate(recorded: &[Recorded], n: u64, probability: f64) -> Option<Quantile> {
    if !quantile::is_printable(n, probability) {
        return None;
    }
    let (low, high) = quantile::interval_ranks(n, probability);
    Some(Quantile {
        probability,
        value: at_rank(recorded, quantile::rank(n, probability)),
        low: low.map(|rank| at_rank(recorded, rank)),
        high: high.map(|rank| at_rank(recorded, rank)),
        low_n: quantile::is_low_n(n, probability),
    })
}

/// The value of a rank in ascending order, counted from 1; the largest value beyond the last rank.
pub(super) fn at_rank(recorded: &[Recorded], rank: u64) -> u64 {
    let mut below = 0;
    let reached = recorded.iter().find(|at| {
        below += at.times;
        below >= rank
    });
    reached.map_or_else(|| largest(recorded), |at| at.largest().min(MAX_NS))
}

/// The largest value; 0 without one.
pub(super) fn largest(recorded: &[Recorded]) -> u64 {
    recorded.last().map_or(0, |last| last.largest().min(MAX_NS))
}

/// The number of counted values.
pub(super) fn total(recorded: &[Recorded]) -> u64 {
    recorded
        .iter()
        .fold(0, |sum, at| u64::saturating_add(sum, at.times))
}

/// The places of two histograms, in ascending order.
pub(super) fn both(one: &[Recorded], other: &[Recorded]) -> Box<[Recorded]> {
    let mut all = [one, other].concat();
    all.sort_unstable_by_key(|at| at.value);
    all.dedup_by(|next, kept| {
        let is_same = next.value == kept.value;
        if is_same {
            kept.times = kept.times.saturating_add(next.times);
        }
        is_same
    });
    all.into()
}

/// The mean of `all` values, each as the middle of its place, in the order of HdrHistogram; 0 without one.
pub(super) fn mean_of(recorded: &[Recorded], all: u64) -> f64 {
    recorded.iter().fold(0.0, |sum, at| {
        sum + at.middle() as f64 * at.times as f64 / all as f64
    })
}

pub(super) fn chunks_of(recorded: &[Recorded]) -> Chunks {
    let mut chunks = Chunks::default();
    for at in recorded {
        chunks.record(at.value, at.times);
    }
    chunks
}
