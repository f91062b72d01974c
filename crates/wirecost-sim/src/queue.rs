//! What is still to happen, by time.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use wirecost_proto::{Direction, Instant};

/// Something that happens at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A copy of a packet comes out of its link.
    Arrival {
        /// Index of the packet on its way.
        flight: u32,
    },
    /// A timer of the connection's end that sends in this direction.
    Transport {
        /// Index of the flow.
        flow: u32,
        /// Which end.
        sends: Direction,
    },
    /// The application at that end finds out what its socket has for it.
    Application {
        /// Index of the flow.
        flow: u32,
        /// Which end.
        sends: Direction,
    },
    /// A device's endpoint or script wants to be woken.
    Device {
        /// Index of the device.
        device: u32,
    },
    /// A service's endpoint wants to be woken.
    Service {
        /// Index of the service.
        service: u32,
    },
}

impl What {
    /// Whether it happens below the sockets: before anything at the same instant that happens above them.
    const fn is_below_sockets(self) -> bool {
        matches!(self, Self::Arrival { .. } | Self::Transport { .. })
    }
}

#[derive(Clone, Copy, Debug)]
struct Event {
    at: Instant,
    /// Breaks ties: the turn at the instant, then what was scheduled first.
    order: u64,
    what: What,
}

/// When something has its turn among what happens at one instant, in the upper bits of an event's order.
const AT_ONCE: u64 = 0;
const BELOW_SOCKETS: u64 = 1 << 62;
const ABOVE_SOCKETS: u64 = 2 << 62;

impl Event {
    const fn key(&self) -> (Instant, u64) {
        (self.at, self.order)
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// Events in the order in which they happen.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    heap: BinaryHeap<Reverse<Event>>,
    /// What happens at the instant at hand above the sockets: no heap need find it.
    soon: VecDeque<Event>,
    /// The instant at hand.
    now: Instant,
    scheduled: u64,
}

impl Queue {
    /// Lets `what` happen at `at`.
    pub(crate) fn push(&mut self, at: Instant, what: What) {
        let turn = if what.is_below_sockets() {
            BELOW_SOCKETS
        } else {
            ABOVE_SOCKETS
        };
        self.push_in_turn(at, turn, what);
    }

    /// Lets `what` happen now, before anything else.
    pub(crate) fn push_at_once(&mut self, now: Instant, what: What) {
        self.push_in_turn(now, AT_ONCE, what);
    }

    fn push_in_turn(&mut self, at: Instant, turn: u64, what: What) {
        self.scheduled += 1;
        let order = turn | self.scheduled;
        let event = Event { at, order, what };
        if at == self.now && turn == ABOVE_SOCKETS {
            self.soon.push_back(event);
        } else {
            self.heap.push(Reverse(event));
        }
    }

    /// Takes the next event, unless it is later than `until`.
    pub(crate) fn pop(&mut self, until: Instant) -> Option<(Instant, What)> {
        let next = match (self.soon.front(), self.heap.peek()) {
            (Some(soon), heaped) if heaped.is_none_or(|Reverse(heaped)| soon < heaped) => {
                self.soon.pop_front()
            }
            (_, Some(Reverse(next))) if next.at <= until => self.heap.pop().map(|Reverse(next)| next),
            _ => None,
        }?;
        self.now = next.at;
        Some((next.at, next.what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_one_instant_what_is_below_the_sockets_comes_first_and_then_what_was_scheduled_first() {
        let at = Instant::from_millis;
        let mut queue = Queue::default();
        queue.push(at(2), What::Device { device: 0 });
        queue.push(at(2), What::Device { device: 1 });
        queue.push(at(2), What::Arrival { flight: 2 });
        queue.push(at(2), What::Arrival { flight: 3 });
        queue.push(at(1), What::Service { service: 4 });
        queue.push_at_once(at(2), What::Service { service: 5 });
        let all: Vec<What> = std::iter::from_fn(|| queue.pop(at(2)).map(|(_, what)| what)).collect();
        let expected = [
            What::Service { service: 4 },
            What::Service { service: 5 },
            What::Arrival { flight: 2 },
            What::Arrival { flight: 3 },
            What::Device { device: 0 },
            What::Device { device: 1 },
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn nothing_later_than_asked_for_is_taken() {
        let mut queue = Queue::default();
        queue.push(Instant::from_millis(2), What::Device { device: 0 });
        assert_eq!(queue.pop(Instant::from_millis(1)), None);
        assert!(queue.pop(Instant::from_millis(2)).is_some());
    }
}
