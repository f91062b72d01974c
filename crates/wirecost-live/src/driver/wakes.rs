//! Deadlines of numbered owners: a timing wheel in which an earlier deadline of an owner replaces a later one.
//!
//! Moving a deadline to a later time costs nothing: the owner is woken at the earlier time and then sets its real
//! deadline.

use wirecost_proto::{Instant, Wheel};

/// Deadlines of numbered owners. An owner may be woken early, never late.
#[derive(Debug, Default)]
pub(super) struct Wakes {
    wheel: Wheel<u32>,
    /// The earliest deadline of each owner, in nanoseconds.
    earliest: Vec<u64>,
}

/// No deadline.
const NONE: u64 = u64::MAX;

impl Wakes {
    /// Sets a deadline of `owner` at `at`. Ignored if the owner has an earlier one.
    pub(super) fn want(&mut self, owner: usize, at: Instant) {
        if self.earliest.len() <= owner {
            self.earliest.resize(owner + 1, NONE);
        }
        if at.as_nanos() < self.earliest[owner] {
            self.earliest[owner] = at.as_nanos();
            self.wheel.put(at, owner as u32);
        }
    }

    /// The earliest deadline, or one that an earlier one has replaced.
    pub(super) fn next(&self) -> Option<Instant> {
        self.wheel.next()
    }

    /// The next owner whose deadline has come.
    pub(super) fn due(&mut self, now: Instant) -> Option<usize> {
        loop {
            let (at, owner) = self.wheel.take(now)?;
            let owner = owner as usize;
            // The wheel's time is never before the deadline. A replaced deadline no longer belongs to the owner.
            if self.earliest[owner] <= at.as_nanos() {
                self.earliest[owner] = NONE;
                return Some(owner);
            }
        }
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
