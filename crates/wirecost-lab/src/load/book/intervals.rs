//! What is counted, by the second of the phase, until it is handed over.

use std::collections::BTreeMap;
use std::time::Duration;

use wirecost_proto::Instant;
use wirecost_stats::Histogram;

use crate::load::figures::Interval;

/// What has been counted since it was last handed over.
#[derive(Debug)]
pub(super) struct Intervals {
    /// By key, those in which something has happened.
    open: BTreeMap<u64, Box<Interval>>,
    phase: u32,
    began: Instant,
    warm_up_ends: Instant,
}

impl Intervals {
    /// Before the first phase.
    pub(super) const fn new() -> Self {
        Self {
            open: BTreeMap::new(),
            phase: 0,
            began: Instant::START,
            warm_up_ends: Instant::START,
        }
    }

    /// A phase begins.
    pub(super) fn begin(&mut self, phase: u32, at: Instant, warm_up: Duration) {
        self.phase = phase;
        self.began = at;
        self.warm_up_ends = at + warm_up;
    }

    /// The key of the interval of a time in the current phase: phase, second and whether it is warm-up.
    pub(super) fn key_of(&self, at: Instant) -> u64 {
        let second = at
            .saturating_since(self.began)
            .as_secs()
            .min(u64::from(u32::MAX >> 1));
        // A phase is told before it begins: what happens until then is in its figures where it has no warm-up.
        let warm_up = self.began.max(at) < self.warm_up_ends;
        u64::from(self.phase) << 32 | second << 1 | u64::from(warm_up)
    }

    /// The interval of a key.
    pub(super) fn of(&mut self, key: u64) -> &mut Interval {
        self.open.entry(key).or_insert_with(|| {
            let second = (key as u32) >> 1;
            Box::new(Interval::new((key >> 32) as u32, second, key & 1 == 1))
        })
    }

    /// Everything that has been counted; nothing is, then.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Box<Interval>> + use<> {
        std::mem::take(&mut self.open).into_values()
    }
}

/// Counts a time in nanoseconds.
pub(super) fn record(histogram: &mut Option<Histogram>, time: Duration) {
    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    histogram.get_or_insert_default().record(nanos);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_between_the_word_and_the_beginning_is_no_warm_up_where_there_is_none() {
        let begin = Instant::from_millis(1_020);
        let mut intervals = Intervals::new();
        let is_warm_up =
            |intervals: &Intervals, millis| intervals.key_of(Instant::from_millis(millis)) & 1 == 1;
        intervals.begin(3, begin, Duration::ZERO);
        assert!(!is_warm_up(&intervals, 1_000) && !is_warm_up(&intervals, 1_020));
        intervals.begin(4, begin, Duration::from_secs(1));
        assert!(is_warm_up(&intervals, 1_000) && is_warm_up(&intervals, 2_019));
        assert!(!is_warm_up(&intervals, 2_020));
    }
}
