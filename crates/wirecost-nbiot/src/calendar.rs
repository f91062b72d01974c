//! What is booked on the carrier of a cell: the downlink one by one, the uplink by tones.
//!
//! The calendars are also the record of what was on the air, from which interference is computed. They forget what ended before anything
//! that can still be evaluated began.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::subframe::{Interval, Subframe};

/// The downlink of one cell: intervals of usable subframe indices that do not overlap, in their order.
#[derive(Clone, Debug, Default)]
pub struct DownlinkCalendar {
    booked: VecDeque<(u64, u64)>,
    longest: u64,
}

impl DownlinkCalendar {
    /// Whether `length` usable subframes from `start` are free.
    pub fn is_free(&self, start: u64, length: u64) -> bool {
        let after = self.booked.partition_point(|booked| booked.1 <= start);
        self.booked
            .get(after)
            .is_none_or(|booked| booked.0 >= start + length)
    }

    /// Books `length` usable subframes from `start`.
    pub fn book(&mut self, start: u64, length: u64) {
        debug_assert!(self.is_free(start, length), "the downlink is booked twice");
        let at = self.booked.partition_point(|booked| booked.0 < start);
        self.booked.insert(at, (start, start + length));
        self.longest = self.longest.max(length);
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
        let first = self.booked.partition_point(|booked| booked.1 <= start);
        let within = self.booked.iter().skip(first).take_while(|booked| booked.0 < end);
        within.map(|booked| booked.1.min(end) - booked.0.max(start)).sum()
    }

    /// Forgets what ended more than `longest` usable subframes before `now`.
    pub fn forget(&mut self, now: u64, longest: u64) {
        while self.booked.front().is_some_and(|booked| booked.1 + longest < now) {
            self.booked.pop_front();
        }
    }

    /// The longest booking so far, in usable subframes.
    pub const fn longest(&self) -> u64 {
        self.longest
    }
}

/// Bins of 3.75 kHz of the uplink carrier, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bins(u64);

impl Bins {
    /// `count` bins from `first` on.
    pub const fn new(first: u64, count: u64) -> Self {
        Self(((1 << count) - 1) << first)
    }

    /// The number of bins.
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// The number of bins that both have.
    pub const fn shared(self, other: Self) -> u32 {
        (self.0 & other.0).count_ones()
    }
}

/// A transmission's power in every cell of the network, without fading.
#[derive(Clone, Debug)]
pub struct Transmitter {
    /// Path gains from the device to each cell, as linear ratios.
    pub gains: Arc<[f64]>,
    /// Power per bin, in mW.
    pub bin_power_mw: f64,
}

/// A booking of the uplink.
#[derive(Clone, Debug)]
pub struct UplinkBooking {
    /// When.
    pub interval: Interval,
    /// Where.
    pub bins: Bins,
    /// The device that transmits; `None` while it is not known whether it will.
    pub transmitter: Option<Transmitter>,
}

/// The uplink of one cell: bookings by their start.
#[derive(Clone, Debug, Default)]
pub struct UplinkCalendar {
    booked: VecDeque<UplinkBooking>,
    longest: u64,
}

impl UplinkCalendar {
    /// Whether `bins` are free throughout `interval`.
    pub fn is_free(&self, interval: Interval, bins: Bins) -> bool {
        self.overlapping(interval)
            .all(|booked| booked.bins.shared(bins) == 0)
    }

    /// Books `bins` for `interval`.
    pub fn book(&mut self, interval: Interval, bins: Bins) {
        debug_assert!(self.is_free(interval, bins), "the uplink is booked twice");
        let at = self
            .booked
            .partition_point(|booked| booked.interval.start <= interval.start);
        let booking = UplinkBooking {
            interval,
            bins,
            transmitter: None,
        };
        self.booked.insert(at, booking);
        self.longest = self.longest.max(interval.len());
    }

    /// Says that the device of a booking transmits.
    pub fn transmit(&mut self, interval: Interval, bins: Bins, transmitter: Transmitter) {
        let from = self
            .booked
            .partition_point(|booked| booked.interval.start < interval.start);
        let mut candidates = self.booked.iter_mut().skip(from);
        if let Some(booked) = candidates.find(|booked| booked.bins == bins && booked.interval == interval) {
            booked.transmitter = Some(transmitter);
        }
    }

    /// The mean power in mW per bin that the transmissions of this cell put into `cell` on `bins` over `interval`.
    pub fn interference_mw(&self, cell: usize, interval: Interval, bins: Bins) -> f64 {
        let mut sum = 0.0;
        for booked in self.overlapping(interval) {
            let Some(transmitter) = &booked.transmitter else {
                continue;
            };
            let shared = u64::from(booked.bins.shared(bins)) * booked.interval.overlap(interval);
            sum += transmitter.bin_power_mw * transmitter.gains[cell] * shared as f64;
        }
        sum / (u64::from(bins.count()) * interval.len()).max(1) as f64
    }

    fn overlapping(&self, interval: Interval) -> impl Iterator<Item = &UplinkBooking> {
        let earliest = interval.start - self.longest;
        let from = self
            .booked
            .partition_point(|booked| booked.interval.start < earliest);
        let started = self
            .booked
            .iter()
            .skip(from)
            .take_while(move |booked| booked.interval.start < interval.end);
        started.filter(move |booked| booked.interval.end > interval.start)
    }

    /// Forgets what ended more than `longest` subframes before `now`.
    pub fn forget(&mut self, now: Subframe, longest: u64) {
        while self
            .booked
            .front()
            .is_some_and(|booked| booked.interval.end + longest < now)
        {
            self.booked.pop_front();
        }
    }

    /// The longest booking so far, in subframes.
    pub const fn longest(&self) -> u64 {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
    use wirecost_proto::Rng;

    fn at(start: u64, end: u64) -> Interval {
        Interval::new(Subframe::new(start), Subframe::new(end))
    }

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

    #[test]
    fn the_uplink_interferes_on_shared_bins_for_the_shared_time() {
        let mut calendar = UplinkCalendar::default();
        let (interval, bins) = (at(100, 110), Bins::new(0, 12));
        calendar.book(interval, bins);
        let power = |interval, bins| calendar.interference_mw(1, interval, bins);
        assert_eq!(power(interval, bins), 0.0);
        let transmitter = Transmitter {
            gains: [0.0, 0.5].into(),
            bin_power_mw: 4.0,
        };
        calendar.transmit(interval, bins, transmitter);
        let power = |interval, bins| calendar.interference_mw(1, interval, bins);
        assert_eq!(power(interval, bins), 2.0);
        assert_eq!(power(at(105, 115), Bins::new(0, 48)), 2.0 / 2.0 / 4.0);
        assert_eq!(power(at(105, 115), Bins::new(12, 12)), 0.0);
        assert_eq!(calendar.interference_mw(0, interval, bins), 0.0);
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
