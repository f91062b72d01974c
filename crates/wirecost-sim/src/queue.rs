//! What is still to happen, by time.
//!
//! Time only goes on, so that no heap is needed: an event waits in the wheel of the highest hexadecimal digit in which
//! its time differs from the one at hand, at that digit's place, and moves to finer wheels as that time comes near (a
//! radix heap: Ahuja, Mehlhorn, Orlin, Tarjan 1990). What has been scheduled first for an instant stays first on the way
//! down, because it moves before anything can be scheduled into the finer wheels, which are empty then.

use std::collections::VecDeque;

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
    /// When it has its turn among what happens at one instant.
    const fn turn(self) -> Turn {
        match self {
            Self::Arrival { .. } | Self::Transport { .. } => Turn::BelowSockets,
            Self::Application { .. } | Self::Device { .. } | Self::Service { .. } => Turn::AboveSockets,
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

#[derive(Clone, Copy, Debug)]
struct Event {
    at: u64,
    what: What,
}

/// Bits of a digit, and the places that a wheel has.
const DIGIT_BITS: u32 = 4;
const PLACES: usize = 1 << DIGIT_BITS;
/// A wheel for each digit of a time.
const WHEELS: usize = (u64::BITS / DIGIT_BITS) as usize;
/// Events whose memory a place keeps when they have left.
const KEPT_EVENTS: usize = 1_024;

/// Events in the order in which they happen.
#[derive(Debug)]
pub(crate) struct Queue {
    /// The time at hand, in nanoseconds.
    now: u64,
    /// What happens at that time, by turn.
    due: [VecDeque<What>; TURNS],
    /// What happens later, by the highest digit that differs and by its value.
    wheels: [[Vec<Event>; PLACES]; WHEELS],
    /// Bit `n` of a wheel's entry: whether its place `n` holds anything.
    occupied: [u16; WHEELS],
    /// Bit `n`: whether wheel `n` holds anything.
    turning: u16,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            now: 0,
            due: Default::default(),
            wheels: Default::default(),
            occupied: [0; WHEELS],
            turning: 0,
        }
    }
}

impl Queue {
    /// Lets `what` happen at `at`, or now where that has passed.
    pub(crate) fn push(&mut self, at: Instant, what: What) {
        let at = at.as_nanos();
        self.place(Event { at, what });
    }

    /// Lets `what` happen now, before anything else.
    pub(crate) fn push_at_once(&mut self, what: What) {
        self.due[Turn::AtOnce as usize].push_back(what);
    }

    /// Takes the next event, unless it is later than `until`.
    pub(crate) fn pop(&mut self, until: Instant) -> Option<(Instant, What)> {
        let due = self.due.iter_mut().find_map(VecDeque::pop_front);
        let what = due.or_else(|| self.advance(until.as_nanos()))?;
        Some((Instant::from_nanos(self.now), what))
    }

    fn place(&mut self, event: Event) {
        if event.at <= self.now {
            return self.due[event.what.turn() as usize].push_back(event.what);
        }
        let highest = (event.at ^ self.now).ilog2() / DIGIT_BITS;
        let digit = (event.at >> (highest * DIGIT_BITS)) as usize % PLACES;
        let wheel = highest as usize;
        self.wheels[wheel][digit].push(event);
        self.occupied[wheel] |= 1 << digit;
        self.turning |= 1 << wheel;
    }

    /// Goes on to the time of the next event and takes it; `None` where that is later than `until`.
    fn advance(&mut self, until: u64) -> Option<What> {
        if self.turning == 0 {
            return None;
        }
        // The finest wheel that holds anything has the earliest events, and its first place the earliest of these.
        let wheel = self.turning.trailing_zeros() as usize;
        let digit = self.occupied[wheel].trailing_zeros() as usize;
        let place = &mut self.wheels[wheel][digit];
        let next = place.iter().map(|event| event.at).min()?;
        if next > until {
            return None;
        }
        self.now = next;
        self.occupied[wheel] &= !(1 << digit);
        self.turning &= !(u16::from(self.occupied[wheel] == 0) << wheel);
        if place.len() == 1 {
            return place.pop().map(|event| event.what);
        }
        self.refine(wheel, digit);
        self.due.iter_mut().find_map(VecDeque::pop_front)
    }

    /// Moves what waits at a place to finer wheels.
    fn refine(&mut self, wheel: usize, digit: usize) {
        let mut leaving = std::mem::take(&mut self.wheels[wheel][digit]);
        for event in leaving.drain(..) {
            self.place(event);
        }
        if leaving.capacity() <= KEPT_EVENTS {
            self.wheels[wheel][digit] = leaving;
        }
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
