//! Future events by time; those of one instant by turn, and then in the order of scheduling.

use std::collections::VecDeque;

use wirecost_proto::{Direction, Instant, Wheel};

/// An event at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A copy of a packet comes out of its link.
    Arrival {
        /// The number of the packet in transit.
        packet: u32,
    },
    /// The timer of the connection's end that sends in this direction.
    Transport {
        /// Index of the flow.
        flow: u32,
        /// Which end.
        sends: Direction,
    },
    /// The application at that end checks its socket.
    Application {
        /// Index of the flow.
        flow: u32,
        /// Which end.
        sends: Direction,
    },
    /// A device's endpoint or script asked to be woken.
    Device {
        /// Index of the device.
        device: u32,
    },
    /// The director asked to be called.
    Director,
    /// A service's endpoint asked to be woken.
    Service {
        /// Index of the service.
        service: u32,
    },
    /// The service time of an output has passed, and the output leaves.
    ServiceDone {
        /// The number of the output among those that wait.
        delayed: u32,
    },
}

impl Event {
    /// Its turn among the events of one instant.
    const fn turn(self) -> Turn {
        match self {
            Self::Arrival { .. } | Self::Transport { .. } => Turn::BelowSockets,
            Self::Application { .. }
            | Self::Device { .. }
            | Self::Director
            | Self::Service { .. }
            | Self::ServiceDone { .. } => Turn::AboveSockets,
        }
    }
}

/// The order of the events of one instant; within a turn, events keep the order of scheduling.
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
    /// The current time.
    now: Instant,
    /// The events at the current time, by turn.
    due: [VecDeque<Event>; TURNS],
    /// The number of those events.
    waiting: usize,
    /// The later events.
    later: Wheel<Event>,
}

impl Queue {
    /// Schedules an event at `at`, or now if `at` has passed.
    pub(crate) fn push(&mut self, at: Instant, event: Event) {
        if at <= self.now {
            self.put_due(event.turn(), event);
        } else {
            self.later.put(at, event);
        }
    }

    /// Schedules an event now, before all others.
    pub(crate) fn push_at_once(&mut self, event: Event) {
        self.put_due(Turn::AtOnce, event);
    }

    fn put_due(&mut self, turn: Turn, event: Event) {
        self.due[turn as usize].push_back(event);
        self.waiting += 1;
    }

    fn take_due(&mut self) -> Option<Event> {
        self.waiting = self.waiting.checked_sub(1)?;
        self.due.iter_mut().find_map(VecDeque::pop_front)
    }

    /// When the next event happens.
    pub(crate) fn next(&self) -> Option<Instant> {
        match self.waiting {
            0 => self.later.next(),
            _ => Some(self.now),
        }
    }

    /// Takes the next event, unless it is later than `until`.
    pub(crate) fn pop(&mut self, until: Instant) -> Option<(Instant, Event)> {
        let event = self.take_due().or_else(|| self.advance(until))?;
        Some((self.now, event))
    }

    /// Advances to the time of the next event and takes the event; `None` if it is later than `until`.
    fn advance(&mut self, until: Instant) -> Option<Event> {
        let (at, first) = self.later.take(until)?;
        self.now = at;
        let Some(second) = self.later.take_due() else {
            return Some(first);
        };
        self.put_due(first.turn(), first);
        self.put_due(second.turn(), second);
        while let Some(event) = self.later.take_due() {
            self.put_due(event.turn(), event);
        }
        self.take_due()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirecost_proto::Rng;

    #[test]
    fn transport_events_of_an_instant_precede_applications() {
        let at = Instant::from_millis;
        let mut queue = Queue::default();
        queue.push(at(2), Event::Device { device: 0 });
        queue.push(at(2), Event::Device { device: 1 });
        queue.push(at(2), Event::Arrival { packet: 2 });
        queue.push(at(2), Event::Arrival { packet: 3 });
        queue.push(at(1), Event::Service { service: 4 });
        let first = queue.pop(at(2));
        assert_eq!(first, Some((at(1), Event::Service { service: 4 })));
        queue.push_at_once(Event::Service { service: 5 });
        let all: Vec<Event> = std::iter::from_fn(|| queue.pop(at(2)).map(|(_, event)| event)).collect();
        let expected = [
            Event::Service { service: 5 },
            Event::Arrival { packet: 2 },
            Event::Arrival { packet: 3 },
            Event::Device { device: 0 },
            Event::Device { device: 1 },
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn nothing_later_than_asked_for_is_taken() {
        let mut queue = Queue::default();
        queue.push(Instant::from_millis(2), Event::Device { device: 0 });
        assert_eq!(queue.pop(Instant::from_millis(1)), None);
        assert!(queue.pop(Instant::from_millis(2)).is_some());
    }

    #[test]
    fn what_should_have_happened_happens_now() {
        let mut queue = Queue::default();
        queue.push(Instant::from_millis(2), Event::Device { device: 0 });
        assert!(queue.pop(Instant::from_millis(2)).is_some());
        queue.push(Instant::from_millis(1), Event::Device { device: 1 });
        let late = queue.pop(Instant::from_millis(2));
        assert_eq!(late, Some((Instant::from_millis(2), Event::Device { device: 1 })));
    }

    /// Beside a list that is searched for its earliest entry, the first of those of one time.
    #[test]
    fn any_events_leave_by_time_and_then_by_scheduling() {
        let mut rng = Rng::new(7);
        let mut queue = Queue::default();
        let mut list: Vec<(u64, u32)> = Vec::new();
        let mut now = 0;
        for number in 0..20_000 {
            // From the same instant to far away, with many equal times.
            let after = rng.next_below(4) << rng.next_below(44);
            queue.push(
                Instant::from_nanos(now + after),
                Event::Arrival { packet: number },
            );
            list.push((now + after, number));
            while rng.next_below(20) < 10 && !list.is_empty() {
                let first = (0..list.len()).min_by_key(|index| list[*index].0).expect("one");
                let (at, packet) = list.remove(first);
                now = at;
                let expected = (Instant::from_nanos(at), Event::Arrival { packet });
                assert_eq!(queue.pop(Instant::from_nanos(u64::MAX)), Some(expected));
            }
        }
    }
}
