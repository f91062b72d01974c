//! What is booked on the carrier of a cell: the downlink one by one, the uplink by tones.
//!
//! The calendars are also the record of what was on the air, from which interference is computed. They forget what ended before anything
//! that can still be evaluated began.

mod uplink;

use std::collections::VecDeque;

pub use uplink::{Bins, Transmitter, UplinkCalendar};

/// The downlink of one cell: intervals of usable subframe indices that do not overlap, in their order.
#[derive(Clone, Debug, Default)]
pub struct DownlinkCalendar {
    booked: VecDeque<(u64, u64)>,
}

impl DownlinkCalendar {
    /// Whether `length` usable subframes from `start` are free.
    pub fn is_free(&self, start: u64, length: u64) -> bool {
        let last = self.begun_before(start + length).next();
        last.is_none_or(|booked| booked.1 <= start)
    }

    /// What begins before `end`, the last first. Questions are about now: few bookings are later, and many are long over.
    fn begun_before(&self, end: u64) -> impl Iterator<Item = &(u64, u64)> {
        self.booked.iter().rev().skip_while(move |booked| booked.0 >= end)
    }

    /// Books `length` usable subframes from `start`.
    pub fn book(&mut self, start: u64, length: u64) {
        debug_assert!(self.is_free(start, length), "the downlink is booked twice");
        let at = self.booked.partition_point(|booked| booked.0 < start);
        self.booked.insert(at, (start, start + length));
    }

    /// The first `start` from `from` on at which `length` usable subframes are free.
    pub fn first_free(&self, from: u64, length: u64) -> u64 {
        let mut start = from;
        let first = self.booked.partition_point(|booked| booked.1 <= from);
        for booked in self.booked.iter().skip(first) {
            if booked.0 >= start + length {
                break;
            }
            start = booked.1;
        }
        start
    }

    /// The booked usable subframes from `start` until before `end`.
    pub fn busy(&self, start: u64, end: u64) -> u64 {
        let within = self.begun_before(end).take_while(|booked| booked.1 > start);
        within.map(|booked| booked.1.min(end) - booked.0.max(start)).sum()
    }

    /// Forgets what ended more than `longest` usable subframes before `now`.
    pub fn forget(&mut self, now: u64, longest: u64) {
        while self.booked.front().is_some_and(|booked| booked.1 + longest < now) {
            self.booked.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
    use wirecost_proto::Rng;

    #[test]
    fn bookings_of_the_downlink_leave_gaps_free() {
        let mut calendar = DownlinkCalendar::default();
        calendar.book(10, 5);
        calendar.book(20, 5);
        calendar.book(15, 2);
        assert!(calendar.is_free(17, 3) && !calendar.is_free(17, 4) && !calendar.is_free(9, 2));
        assert_eq!(calendar.first_free(0, 10), 0);
        assert_eq!(calendar.first_free(8, 4), 25);
        assert_eq!(calendar.first_free(12, 3), 17);
        assert_eq!(calendar.busy(12, 22), 7);
    }

    /// Waits at one server with fixed service: `rho D / (2 (1 - rho))` on average.
    #[test]
    fn waits_for_the_downlink_are_those_of_m_d_1() {
        let (service, load) = (40_u64, 0.5);
        let mut calendar = DownlinkCalendar::default();
        let mut rng = Rng::new(11);
        let (mut clock, mut waits, n) = (0.0, 0.0, 100_000);
        for _ in 0..n {
            clock += rng.next_exponential() * service as f64 / load;
            let arrival = libm::ceil(clock) as u64;
            let start = calendar.first_free(arrival, service);
            calendar.book(start, service);
            calendar.forget(arrival, 0);
            waits += (start as f64 - clock) - 0.5;
        }
        let (mean, expected) = (waits / f64::from(n), load * service as f64 / (2.0 * (1.0 - load)));
        // Sums of correlated waits: 100,000 of them repeat to about 1 %.
        assert!(
            (mean / expected - 1.0).abs() < 0.05,
            "{mean} instead of {expected}"
        );
    }

    proptest! {
        #[test]
        fn the_downlink_answers_as_a_list_of_its_subframes(seed: u64) {
            let mut rng = Rng::new(seed);
            let mut calendar = DownlinkCalendar::default();
            let mut is_booked = [false; 400];
            for _ in 0..40 {
                let (start, length) = (rng.next_below(360), 1 + rng.next_below(12));
                let range = start as usize..(start + length) as usize;
                prop_assert_eq!(calendar.is_free(start, length), !is_booked[range.clone()].contains(&true));
                if calendar.is_free(start, length) {
                    calendar.book(start, length);
                    is_booked[range].fill(true);
                }
            }
            for _ in 0..40 {
                let (start, length) = (rng.next_below(300), 1 + rng.next_below(80));
                let range = start as usize..(start + length) as usize;
                let busy = is_booked[range].iter().filter(|is_booked| **is_booked).count();
                prop_assert_eq!(calendar.busy(start, start + length), busy as u64);
            }
        }

        #[test]
        fn what_is_booked_first_fit_never_overlaps(seed: u64) {
            let mut rng = Rng::new(seed);
            let mut calendar = DownlinkCalendar::default();
            let mut total = 0;
            for _ in 0..60 {
                let (from, length) = (rng.next_below(300), 1 + rng.next_below(20));
                let start = calendar.first_free(from, length);
                prop_assert!(start >= from && calendar.is_free(start, length));
                calendar.book(start, length);
                total += length;
            }
            prop_assert_eq!(calendar.busy(0, 10_000), total);
        }
    }
}
