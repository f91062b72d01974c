//! Time on the air interface: whole subframes of 1 ms since the run began.

use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

use wirecost_proto::Instant;

/// Subframes per system frame (TS 36.211 section 4.1).
pub const PER_FRAME: u64 = 10;

/// Subframes per cycle of the system frame number: 1,024 frames (TS 36.331 section 6.2.2).
pub const PER_SFN_CYCLE: u64 = 10_240;

const NANOS: u64 = 1_000_000;

/// The start of a subframe, counted in subframes of 1 ms since the start of the run.
///
/// Subframe 0 is subframe 0 of system frame 0 in every cell: the cells are frame-aligned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subframe(u64);

impl Subframe {
    /// The start of the run.
    pub const START: Self = Self(0);

    /// The subframe with this index.
    pub const fn new(index: u64) -> Self {
        Self(index)
    }

    /// The index of the subframe, in ms since the start of the run.
    pub const fn index(self) -> u64 {
        self.0
    }

    /// The first subframe that does not start before `instant`.
    pub const fn at_or_after(instant: Instant) -> Self {
        Self(instant.as_nanos().div_ceil(NANOS))
    }

    /// The last subframe that has started at `instant`.
    pub const fn at_or_before(instant: Instant) -> Self {
        Self(instant.as_nanos() / NANOS)
    }

    /// When the subframe starts.
    pub const fn instant(self) -> Instant {
        Instant::from_nanos(self.0.saturating_mul(NANOS))
    }

    /// The subframes from `earlier` to `self`; 0 where `earlier` is later.
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<u64> for Subframe {
    type Output = Self;

    fn add(self, subframes: u64) -> Self {
        Self(self.0.saturating_add(subframes))
    }
}

impl AddAssign<u64> for Subframe {
    fn add_assign(&mut self, subframes: u64) {
        *self = *self + subframes;
    }
}

impl Sub<u64> for Subframe {
    type Output = Self;

    fn sub(self, subframes: u64) -> Self {
        Self(self.0.saturating_sub(subframes))
    }
}

/// The first subframe from `from` on of those that come back: `(10 SFN + subframe) mod period` is the offset. The count restarts with
/// the system frame number; periods longer than its cycle count on.
pub(crate) fn next_start(from: Subframe, period: u64, offset: u64) -> Subframe {
    let next_in = |from: u64| from.saturating_sub(offset).div_ceil(period) * period + offset;
    if period > PER_SFN_CYCLE {
        return Subframe(next_in(from.0));
    }
    let cycle = from.0 / PER_SFN_CYCLE * PER_SFN_CYCLE;
    let within = next_in(from.0 - cycle);
    match within < PER_SFN_CYCLE {
        true => Subframe(cycle + within),
        false => Subframe(cycle + PER_SFN_CYCLE + offset),
    }
}

/// The last of them until `until`, of periods that are not longer than a cycle of the system frame number; `None` before the first.
pub(crate) fn last_start(until: Subframe, period: u64, offset: u64) -> Option<Subframe> {
    let last_in = |until: u64| Some(until.checked_sub(offset)? / period * period + offset);
    let cycle = until.0 / PER_SFN_CYCLE * PER_SFN_CYCLE;
    match last_in(until.0 - cycle) {
        Some(within) => Some(Subframe(cycle + within)),
        None => Some(Subframe(
            cycle.checked_sub(PER_SFN_CYCLE)? + last_in(PER_SFN_CYCLE - 1)?,
        )),
    }
}

/// How long `subframes` subframes take.
pub const fn duration(subframes: u64) -> Duration {
    Duration::from_millis(subframes)
}

/// The half-open interval of subframes in which something is on the air.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// The first subframe.
    pub start: Subframe,
    /// The first subframe after it.
    pub end: Subframe,
}

impl Interval {
    /// The interval from `start` until before `end`.
    pub const fn new(start: Subframe, end: Subframe) -> Self {
        Self { start, end }
    }

    /// The length in subframes.
    pub const fn len(self) -> u64 {
        self.end.since(self.start)
    }

    /// Whether the interval has no subframe.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The subframes that both intervals share.
    pub fn overlap(self, other: Self) -> u64 {
        self.end.min(other.end).since(self.start.max(other.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_within_a_subframe_waits_for_the_next_one() {
        let within = Instant::from_nanos(4_000_001);
        assert_eq!(Subframe::at_or_after(within), Subframe::new(5));
        assert_eq!(Subframe::at_or_before(within), Subframe::new(4));
        assert_eq!(Subframe::at_or_after(Instant::from_millis(4)), Subframe::new(4));
        assert_eq!(Subframe::new(4).instant(), Instant::from_millis(4));
    }

    #[test]
    fn intervals_overlap_where_they_share_subframes() {
        let interval = |start, end| Interval::new(Subframe::new(start), Subframe::new(end));
        assert_eq!(interval(2, 6).overlap(interval(4, 9)), 2);
        assert_eq!(interval(2, 6).overlap(interval(6, 9)), 0);
        assert_eq!(interval(4, 5).overlap(interval(2, 9)), 1);
    }
}
