//! The intervals of a load in the order of time. Those of a long phase are wider, so that their number stays bounded.

use std::collections::{BTreeMap, BTreeSet};

use crate::figures::{Interval, IntervalKey};

/// How many intervals of a phase stay unpacked: the current one and the one before.
const OPEN: usize = 2;

/// From this second of a phase on, all of its intervals have this many seconds. A width divides the next one, and so does each second
/// from which on it holds: a narrower interval lies in one wider interval.
const WIDTHS: [(u32, u32); 4] = [(3_600, 10), (36_000, 60), (216_000, 600), (2_160_000, 3_600)];

/// The sums of intervals, by phase and time.
#[derive(Debug, Default)]
pub struct Intervals {
    sums: BTreeMap<IntervalKey, Interval>,
    /// The intervals that have changed since they were packed.
    unpacked: BTreeSet<IntervalKey>,
    /// Seconds of the intervals of long phases.
    widths: BTreeMap<u32, u32>,
}

impl Intervals {
    /// Adds the counts of an interval.
    pub fn add(&mut self, mut interval: Interval) {
        self.widen(interval.phase, interval.second, interval.seconds());
        let key = self.widened(interval.key());
        match self.sums.get_mut(&key) {
            Some(sum) => sum.add(&interval),
            None => {
                (interval.second, interval.seconds) = (key.second(), self.width(key.phase()));
                self.sums.insert(key, interval);
                self.pack_all_before(key);
            }
        }
        self.unpacked.insert(key);
    }

    /// The interval of a second, which may be new.
    pub fn at(&mut self, key: IntervalKey) -> &mut Interval {
        self.widen(key.phase(), key.second(), 1);
        let (key, seconds) = (self.widened(key), self.width(key.phase()));
        self.unpacked.insert(key);
        self.sums.entry(key).or_insert_with(|| Interval {
            seconds,
            ..Interval::at(key)
        })
    }

    /// The intervals of a phase.
    pub fn of_phase(&mut self, phase: u32) -> impl DoubleEndedIterator<Item = &mut Interval> {
        self.sums
            .range_mut(first(phase)..first(phase + 1))
            .map(|(_, interval)| interval)
    }

    /// The intervals of a phase, to look at.
    pub fn in_phase(&self, phase: u32) -> impl Iterator<Item = &Interval> {
        self.sums
            .range(first(phase)..first(phase + 1))
            .map(|(_, interval)| interval)
    }

    /// All of them.
    pub fn all(&mut self) -> impl Iterator<Item = &mut Interval> {
        self.sums.values_mut()
    }

    /// All of them.
    pub fn into_list(self) -> Vec<Interval> {
        self.sums.into_values().collect()
    }

    /// The seconds of an interval of a phase, where that is more than one.
    fn width(&self, phase: u32) -> Option<u32> {
        self.widths.get(&phase).copied()
    }

    fn widened(&self, key: IntervalKey) -> IntervalKey {
        let width = self.width(key.phase()).unwrap_or(1);
        IntervalKey::new(key.phase(), key.second() / width * width, key.is_warm_up())
    }

    /// Adds up the intervals of a phase if it has become so long, or if another part of the run has wider ones.
    fn widen(&mut self, phase: u32, second: u32, seconds: u32) {
        let width = width_from(second).max(seconds);
        if width <= self.width(phase).unwrap_or(1) {
            return;
        }
        self.widths.insert(phase, width);
        let mut later = self.sums.split_off(&first(phase));
        self.sums.append(&mut later.split_off(&first(phase + 1)));
        self.unpacked.retain(|key| key.phase() != phase);
        for (_, interval) in later {
            self.add(interval);
        }
    }

    /// Packs the intervals that have changed, without the last ones until `latest`. Those that are packed already are not looked at.
    fn pack_all_before(&mut self, latest: IntervalKey) {
        let open = self.sums.range(..=latest).rev().take(OPEN);
        let open = open.last().map_or(latest, |(key, _)| *key);
        let still_open = self.unpacked.split_off(&open);
        for key in std::mem::replace(&mut self.unpacked, still_open) {
            self.sums.entry(key).and_modify(Interval::pack);
        }
    }
}

impl FromIterator<Interval> for Intervals {
    fn from_iter<I: IntoIterator<Item = Interval>>(intervals: I) -> Self {
        let mut sums = Self::default();
        intervals.into_iter().for_each(|interval| sums.add(interval));
        sums
    }
}

/// The seconds of each interval of a phase that has come to this second.
pub fn width_from(second: u32) -> u32 {
    let of_length = WIDTHS.iter().rev().find(|(from, _)| second >= *from);
    of_length.map_or(1, |(_, width)| *width)
}

/// Moves what the target has counted to the last interval of each phase, and of its warm-up: the intervals are sums of parts, each of which has it
/// in its own last one.
pub fn arrivals_at_the_end(intervals: &mut [Interval]) {
    let is_same = |one: &Interval, other: &Interval| (one.phase, one.warm_up) == (other.phase, other.warm_up);
    for at in 0..intervals.len() {
        let (until, later) = intervals.split_at_mut(at + 1);
        let [.., this] = until else { return };
        let Some(last) = later.iter_mut().rev().find(|last| is_same(last, this)) else {
            continue;
        };
        last.deliveries += std::mem::take(&mut this.deliveries);
        if let Some(delays) = this.one_way_delay.take() {
            last.one_way_delay.get_or_insert_default().merge(&delays);
        }
    }
}

const fn first(phase: u32) -> IntervalKey {
    IntervalKey::new(phase, 0, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(phase: u32, second: u32) -> Interval {
        Interval {
            sent: 1,
            ..Interval::new(phase, second, false)
        }
    }

    #[test]
    fn a_long_phase_has_wider_intervals_and_the_same_sum() {
        for (length, width, count) in [
            (3_600, None, 3_600),
            (3_601, Some(10), 361),
            (86_400, Some(60), 1_440),
        ] {
            let seconds = (0..length).map(|second| sent(1, second));
            let sums: Intervals = std::iter::once(sent(0, 5))
                .chain(seconds)
                .chain([sent(2, 7)])
                .collect();
            let list = sums.into_list();
            let own: Vec<&Interval> = list.iter().filter(|interval| interval.phase == 1).collect();
            assert_eq!(own.len(), count);
            assert_eq!(
                own.iter().map(|interval| interval.sent).sum::<u64>(),
                u64::from(length)
            );
            assert!(own.iter().all(|interval| interval.seconds == width));
            assert_eq!(own[1].second, width.unwrap_or(1));
            assert_eq!((list[0].second, list[0].seconds), (5, None), "a short phase");
            assert_eq!(
                list.last().map(|last| (last.second, last.seconds)),
                Some((7, None))
            );
        }
    }

    #[test]
    fn arrivals_of_parts_are_in_the_last_interval_of_all() {
        let arrived = |second, arrived| {
            let mut interval = sent(0, second);
            interval.deliveries.arrived = arrived;
            interval
        };
        let mut intervals = [arrived(1, 7), arrived(2, 0), arrived(3, 5)];
        arrivals_at_the_end(&mut intervals);
        assert_eq!(intervals.map(|interval| interval.deliveries.arrived), [0, 0, 12]);
    }

    #[test]
    fn parts_of_different_length_are_as_wide_as_the_longest() {
        let long: Intervals = [sent(0, 4), sent(0, 3_600)].into_iter().collect();
        let both: Intervals = [sent(0, 4), sent(0, 15)]
            .into_iter()
            .chain(long.into_list())
            .collect();
        let told: Vec<(u32, u64)> = both
            .into_list()
            .iter()
            .map(|interval| (interval.second, interval.sent))
            .collect();
        assert_eq!(told, [(0, 2), (10, 1), (3_600, 1)]);
    }
}
