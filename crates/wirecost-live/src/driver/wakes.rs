//! Who wants to be woken when: a heap of deadlines in which an earlier one replaces a later one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use wirecost_proto::Instant;

/// Deadlines of numbered owners. An owner may be woken early, never late.
#[derive(Debug, Default)]
pub(super) struct Wakes {
    heap: BinaryHeap<Reverse<(Instant, usize)>>,
    earliest: Vec<Option<Instant>>,
}

impl Wakes {
    /// Wants `owner` woken at `at`; ignored where it is woken earlier anyway.
    pub(super) fn want(&mut self, owner: usize, at: Instant) {
        if self.earliest.len() <= owner {
            self.earliest.resize(owner + 1, None);
        }
        if self.earliest[owner].is_none_or(|earliest| at < earliest) {
            self.earliest[owner] = Some(at);
            self.heap.push(Reverse((at, owner)));
        }
    }

    /// The earliest deadline.
    pub(super) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// The next owner whose deadline has come.
    pub(super) fn due(&mut self, now: Instant) -> Option<usize> {
        while let Some(&Reverse((at, owner))) = self.heap.peek() {
            if at > now {
                return None;
            }
            self.heap.pop();
            if self.earliest[owner] == Some(at) {
                self.earliest[owner] = None;
                return Some(owner);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_deadline_replaces_a_later_one() {
        let at = Instant::from_millis;
        let mut wakes = Wakes::default();
        wakes.want(3, at(10));
        wakes.want(3, at(5));
        wakes.want(3, at(7));
        wakes.want(1, at(6));
        assert_eq!(wakes.next(), Some(at(5)));
        assert_eq!(wakes.due(at(20)), Some(3));
        assert_eq!(wakes.due(at(20)), Some(1));
        assert_eq!(wakes.due(at(20)), None, "the later deadlines of 3 were replaced");
    }
}
