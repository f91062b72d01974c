//! The parts of a stream that have been seen.

use std::ops::Range;

/// The most separate ranges: more than loss causes, and few enough to move quickly.
const MOST: usize = 1_024;

/// A set of offsets, stored as ranges that neither overlap nor touch. If there are too many, the gap between the
/// lowest two counts as seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranges {
    ranges: Vec<Range<u64>>,
}

impl Ranges {
    /// Adds `added`. Calls `part` for each of its parts, in order, with whether it was in the set before.
    pub(crate) fn add(&mut self, added: Range<u64>, mut part: impl FnMut(Range<u64>, bool)) {
        if added.is_empty() {
            return;
        }
        let first = self.ranges.partition_point(|range| range.end < added.start);
        let behind = self.ranges.partition_point(|range| range.start <= added.end);
        let mut at = added.start;
        for known in self.ranges.get(first..behind).unwrap_or_default() {
            let overlap = known.start.max(at)..known.end.min(added.end);
            if at < overlap.start {
                part(at..overlap.start.min(added.end), false);
            }
            if !overlap.is_empty() {
                part(overlap.clone(), true);
            }
            at = at.max(overlap.end);
        }
        if at < added.end {
            part(at..added.end, false);
        }
        self.merge(first..behind, added);
    }

    /// Replaces the ranges that touch `added` with their union.
    fn merge(&mut self, touched: Range<usize>, added: Range<u64>) {
        let inside = self.ranges.get(touched.clone()).unwrap_or_default();
        let start = inside
            .first()
            .map_or(added.start, |range| range.start.min(added.start));
        let end = inside.last().map_or(added.end, |range| range.end.max(added.end));
        self.ranges.splice(touched, std::iter::once(start..end));
        if self.ranges.len() > MOST {
            let lowest = self.ranges.remove(0);
            if let Some(next) = self.ranges.first_mut() {
                next.start = lowest.start;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_number_of_ranges_is_limited() {
        let mut ranges = Ranges::default();
        for crumb in (0..100_000).rev() {
            ranges.add(2 * crumb..2 * crumb + 1, |_, _| {});
        }
        assert!(ranges.ranges.len() <= MOST);
        let mut again = Vec::new();
        ranges.add(0..3, |_, seen| again.push(seen));
        assert_eq!(again, [true]);
    }

    proptest! {
        #[test]
        fn every_byte_is_new_once(pieces in proptest::collection::vec((0u64..40, 0u64..12), 0..20)) {
            let (mut ranges, mut model) = (Ranges::default(), BTreeSet::new());
            for (start, len) in pieces {
                let mut at = start;
                ranges.add(start..start + len, |part, again| {
                    assert_eq!(part.start, at, "parts lie end to end");
                    assert!(!part.is_empty());
                    at = part.end;
                    for byte in part {
                        assert_eq!(!model.insert(byte), again);
                    }
                });
                prop_assert_eq!(at, start + len);
                prop_assert!(ranges.ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
            }
        }
    }
}
