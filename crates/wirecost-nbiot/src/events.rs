//! The event queue: what happens at which subframe, in the order in which it was scheduled.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::subframe::Subframe;

/// Events of type `E` by time; of the same time, first in, first out.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    heap: BinaryHeap<Scheduled<E>>,
    count: u64,
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            count: 0,
        }
    }
}

#[derive(Clone, Debug)]
struct Scheduled<E> {
    at: Subframe,
    number: u64,
    event: E,
}

impl<E> EventQueue<E> {
    /// Schedules `event`.
    pub fn push(&mut self, at: Subframe, event: E) {
        self.count += 1;
        self.heap.push(Scheduled {
            at,
            number: self.count,
            event,
        });
    }

    /// The time of the next event.
    pub fn next_at(&self) -> Option<Subframe> {
        self.heap.peek().map(|scheduled| scheduled.at)
    }

    /// Takes the next event where its time is not after `until`.
    pub fn pop_until(&mut self, until: Subframe) -> Option<(Subframe, E)> {
        let next = self.heap.peek_mut().filter(|next| next.at <= until)?;
        let scheduled = std::collections::binary_heap::PeekMut::pop(next);
        Some((scheduled.at, scheduled.event))
    }

    /// Events scheduled so far.
    pub const fn count(&self) -> u64 {
        self.count
    }
}

impl<E> Ord for Scheduled<E> {
    /// The earliest is the greatest, so that it is on top of the heap.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<E> PartialOrd for Scheduled<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Scheduled<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Scheduled<E> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_one_subframe_keep_their_order() {
        let mut queue = EventQueue::default();
        for (at, event) in [(5, 'c'), (3, 'a'), (5, 'd'), (3, 'b')] {
            queue.push(Subframe::new(at), event);
        }
        assert_eq!(queue.next_at(), Some(Subframe::new(3)));
        assert!(queue.pop_until(Subframe::new(2)).is_none());
        let order: Vec<char> = std::iter::from_fn(|| queue.pop_until(Subframe::new(9)))
            .map(|(_, event)| event)
            .collect();
        assert_eq!(order, ['a', 'b', 'c', 'd']);
    }
}
