//! A timing wheel: a queue of entries by time.
//!
//! Time never goes back, so that no heap is needed. An entry waits in the wheel of the highest hexadecimal digit in which
//! its time differs from the current time, at the place of that digit. It moves to finer wheels as its time comes near (a
//! radix heap: Ahuja, Mehlhorn, Orlin, Tarjan 1990). Entries for one instant leave in the order in which they were put in,
//! because an entry moves to a finer wheel while that wheel is still empty.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem;

use crate::Instant;

/// Bits of a digit, and the places that a wheel has.
const DIGIT_BITS: u32 = 4;
const PLACES: usize = 1 << DIGIT_BITS;
/// A wheel for each digit of a time.
const WHEELS: usize = (u64::BITS / DIGIT_BITS) as usize;
/// The number of entries whose memory a place keeps after they have left.
const KEPT_ENTRIES: usize = 1_024;

/// Entries in the order of their times, and of equal times in the order in which they were put in.
///
/// ```
/// use wirecost_proto::{Instant, Wheel};
///
/// let mut wheel = Wheel::new();
/// wheel.put(Instant::from_millis(7), "late");
/// wheel.put(Instant::from_millis(3), "early");
/// assert_eq!(wheel.next(), Some(Instant::from_millis(3)));
/// assert_eq!(wheel.take(Instant::from_millis(5)), Some((Instant::from_millis(3), "early")));
/// assert_eq!(wheel.take(Instant::from_millis(5)), None);
/// ```
#[derive(Clone, Debug)]
pub struct Wheel<T> {
    /// The current time, in nanoseconds: that of the entry taken last.
    now: u64,
    /// The entries that are due at the current time.
    due: VecDeque<T>,
    /// The later entries, by the highest digit that differs and by its value.
    places: Box<[[Place<T>; PLACES]; WHEELS]>,
    /// Bit `n` of a wheel's entry: whether its place `n` holds anything.
    occupied: [u16; WHEELS],
    /// Bit `n`: whether wheel `n` holds anything.
    turning: u16,
}

#[derive(Clone, Debug)]
struct Place<T> {
    entries: Vec<(u64, T)>,
    /// The earliest of their times; meaningless without entries.
    earliest: u64,
}

impl<T> Default for Place<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            earliest: u64::MAX,
        }
    }
}

impl<T> Default for Wheel<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Wheel<T> {
    /// A wheel without entries, at the start of the run.
    pub fn new() -> Self {
        Self {
            now: 0,
            due: VecDeque::new(),
            places: Box::default(),
            occupied: [0; WHEELS],
            turning: 0,
        }
    }

    /// Puts an entry in for `at`; where that is before the entry that was taken last, for the time of that one.
    pub fn put(&mut self, at: Instant, entry: T) {
        self.place(at.as_nanos(), entry);
    }

    /// When the first entry is due.
    pub fn next(&self) -> Option<Instant> {
        if !self.due.is_empty() {
            return Some(Instant::from_nanos(self.now));
        }
        let (wheel, digit) = self.first_place()?;
        Some(Instant::from_nanos(self.places[wheel][digit].earliest))
    }

    /// Takes the first entry and its time, unless that is later than `until`.
    pub fn take(&mut self, until: Instant) -> Option<(Instant, T)> {
        let entry = match self.due.pop_front() {
            Some(entry) => entry,
            None => self.advance(until.as_nanos())?,
        };
        Some((Instant::from_nanos(self.now), entry))
    }

    /// Takes another entry of the time of the one that was taken last.
    pub fn take_due(&mut self) -> Option<T> {
        self.due.pop_front()
    }

    fn place(&mut self, at: u64, entry: T) {
        if at <= self.now {
            return self.due.push_back(entry);
        }
        let highest = (at ^ self.now).ilog2() / DIGIT_BITS;
        let digit = (at >> (highest * DIGIT_BITS)) as usize % PLACES;
        let wheel = highest as usize;
        let place = &mut self.places[wheel][digit];
        if place.entries.is_empty() || at < place.earliest {
            place.earliest = at;
        }
        place.entries.push((at, entry));
        self.occupied[wheel] |= 1 << digit;
        self.turning |= 1 << wheel;
    }

    /// The place of the first entry: the finest wheel that holds anything has the earliest ones, and its first place the
    /// earliest of these.
    fn first_place(&self) -> Option<(usize, usize)> {
        if self.turning == 0 {
            return None;
        }
        let wheel = self.turning.trailing_zeros() as usize;
        Some((wheel, self.occupied[wheel].trailing_zeros() as usize))
    }

    /// Goes on to the time of the first entry, takes it, and makes the others of that time due; `None` where that is later than
    /// `until`.
    fn advance(&mut self, until: u64) -> Option<T> {
        let (wheel, digit) = self.first_place()?;
        let place = &mut self.places[wheel][digit];
        if place.earliest > until {
            return None;
        }
        self.now = place.earliest;
        self.occupied[wheel] &= !(1 << digit);
        self.turning &= !(u16::from(self.occupied[wheel] == 0) << wheel);
        if place.entries.len() == 1 {
            return place.entries.pop().map(|(_, entry)| entry);
        }
        let mut leaving = mem::take(&mut place.entries);
        for (at, entry) in leaving.drain(..) {
            self.place(at, entry);
        }
        if leaving.capacity() <= KEPT_ENTRIES {
            self.places[wheel][digit].entries = leaving;
        }
        self.due.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;
    use alloc::collections::BTreeMap;

    #[test]
    fn nothing_later_than_asked_for_is_taken() {
        let mut wheel = Wheel::new();
        wheel.put(Instant::from_millis(2), ());
        assert_eq!(wheel.take(Instant::from_millis(1)), None);
        assert_eq!(
            wheel.take(Instant::from_millis(2)),
            Some((Instant::from_millis(2), ()))
        );
        assert_eq!(wheel.next(), None);
    }

    #[test]
    fn what_is_put_in_too_late_is_due_at_once() {
        let mut wheel = Wheel::new();
        wheel.put(Instant::from_millis(2), 0);
        wheel.take(Instant::from_millis(2));
        wheel.put(Instant::from_millis(1), 1);
        assert_eq!(wheel.next(), Some(Instant::from_millis(2)));
        assert_eq!(
            wheel.take(Instant::from_millis(2)),
            Some((Instant::from_millis(2), 1))
        );
    }

    /// Beside an ordered map from time and number.
    #[test]
    fn any_entries_leave_by_time_and_then_by_insertion() {
        let mut rng = Rng::new(7);
        let mut wheel = Wheel::new();
        let mut map = BTreeMap::new();
        let mut now = 0;
        for number in 0..50_000 {
            // From the same instant to far away, with many equal times.
            let at = now + (rng.next_below(4) << rng.next_below(44));
            wheel.put(Instant::from_nanos(at), number);
            map.insert((at, number), ());
            while rng.next_below(20) < 10 {
                let until = now + (rng.next_below(4) << rng.next_below(44));
                let first = map.keys().next().copied();
                assert_eq!(wheel.next(), first.map(|(at, _)| Instant::from_nanos(at)));
                let expected = first.filter(|(at, _)| *at <= until);
                let taken = wheel.take(Instant::from_nanos(until));
                assert_eq!(
                    taken,
                    expected.map(|(at, number)| (Instant::from_nanos(at), number))
                );
                if let Some(key) = expected {
                    now = key.0;
                    map.remove(&key);
                }
            }
        }
    }
}
