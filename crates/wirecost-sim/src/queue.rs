//! What is still to happen, by time; of what happens at one instant, by turn, and then by the order of scheduling.

use std::collections::VecDeque;

use wirecost_proto::{Direction, Instant, Wheel};

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
    /// The director of the devices has something due.
    Director,
    /// A service's endpoint wants to be woken.
    Service {
        /// Index of the service.
        service: u32,
    },
    /// An output of a service leaves after the service time.
    Served {
        /// Its number among the outputs that wait.
        held: u32,
    },
}

impl What {
    /// When it has its turn among what happens at one instant.
    const fn turn(self) -> Turn {
        match self {
            Self::Arrival { .. } | Self::Transport { .. } => Turn::BelowSockets,
            Self::Application { .. }
            | Self::Device { .. }
            | Self::Director
            | Self::Service { .. }
            | Self::Served { .. } => Turn::AboveSockets,
        }
    }
}

/// The order of what happens at one instant; within a turn, what was scheduled first.
#[derive(Clone, Copy, Debug)]
enum Turn {
    AtOnce,
    BelowSockets,
    AboveSockets,
}

const TURNS: usize = 3;

/// Events in the order in which they happen.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// The time at hand.
    now: Instant,
    /// What happens at that time, by turn.
    due: [VecDeque<What>; TURNS],
    /// How much that is.
    waiting: usize,
    /// What happens later.
    later: Wheel<What>,
}

impl Queue {
    /// Lets `what` happen at `at`, or now where that has passed.
    pub(crate) fn push(&mut self, at: Instant, what: What) {
        if at <= self.now {
            self.put_due(what.turn(), what);
        } else {
            self.later.put(at, what);
        }
    }

    /// Lets `what` happen now, before anything else.
    pub(crate) fn push_at_once(&mut self, what: What) {
        self.put_due(Turn::AtOnce, what);
    }

    fn put_due(&mut self, turn: Turn, what: What) {
        self.due[turn as usize].push_back(what);
        self.waiting += 1;
    }

    fn take_due(&mut self) -> Option<What> {
        self.waiting = self.waiting.checked_sub(1)?;
        self.due.iter_mut().find_map(VecDeque::pop_front)
    }

    /// Takes the next event, unless it is later than `until`.
    pub(crate) fn pop(&mut self, until: Instant) -> Option<(Instant, What)> {
        let what = self.take_due().or_else(|| self.advance(until))?;
        Some((self.now, what))
    }

    /// Goes on to the time of the next event and takes it; `None` where that is later than `until`.
    fn advance(&mut self, until: Instant) -> Option<What> {
        let (at, first) = self.later.take(until)?;
        self.now = at;
        let Some(second) = self.later.take_due() else {
            return Some(first);
        };
        self.put_due(first.turn(), first);
        self.put_due(second.turn(), second);
        while let Some(what) = self.later.take_due() {
            self.put_due(what.turn(), what);
        }
        self.take_due()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirecost_proto::Rng;

    #[test]
    fn at_one_instant_what_is_below_the_sockets_comes_first_and_then_what_was_scheduled_first() {
        let at = Instant::from_millis;
        let mut queue = Queue::default();
        queue.push(at(2), What::Device { device: 0 });
        queue.push(at(2), What::Device { device: 1 });
        queue.push(at(2), What::Arrival { flight: 2 });
        queue.push(at(2), What::Arrival { flight: 3 });
        queue.push(at(1), What::Service { service: 4 });
        let first = queue.pop(at(2));
        assert_eq!(first, Some((at(1), What::Service { service: 4 })));
        queue.push_at_once(What::Service { service: 5 });
        let all: Vec<What> = std::iter::from_fn(|| queue.pop(at(2)).map(|(_, what)| what)).collect();
        let expected = [
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

    #[test]
    fn what_should_have_happened_happens_now() {
        let mut queue = Queue::default();
        queue.push(Instant::from_millis(2), What::Device { device: 0 });
        assert!(queue.pop(Instant::from_millis(2)).is_some());
        queue.push(Instant::from_millis(1), What::Device { device: 1 });
        let late = queue.pop(Instant::from_millis(2));
        assert_eq!(late, Some((Instant::from_millis(2), What::Device { device: 1 })));
    }

    /// Beside a list that is searched for its earliest entry, the first of those of one time.
    #[test]
    fn any_events_come_by_time_and_then_by_the_order_in_which_they_were_scheduled() {
        let mut rng = Rng::new(7);
        let mut queue = Queue::default();
        let mut list: Vec<(u64, u32)> = Vec::new();
        let mut now = 0;
        for number in 0..20_000 {
            // From the same instant to far away, with many equal times.
            let after = rng.next_below(4) << rng.next_below(44);
            queue.push(Instant::from_nanos(now + after), What::Arrival { flight: number });
            list.push((now + after, number));
            while rng.next_below(20) < 10 && !list.is_empty() {
                let first = (0..list.len()).min_by_key(|index| list[*index].0).expect("one");
                let (at, flight) = list.remove(first);
                now = at;
                let expected = (Instant::from_nanos(at), What::Arrival { flight });
                assert_eq!(queue.pop(Instant::from_nanos(u64::MAX)), Some(expected));
            }
        }
    }
}
