//! The uplink of one cell, by tones.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::subframe::{Interval, Subframe};

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

    /// The bins that either has.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
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

/// Bookings of more subframes are in a list of their own: a search goes back to the first booking that may not have ended, and in one list
/// a long one would make it pass all short ones since.
const SHORT: u64 = 64;

/// A booking of the uplink.
#[derive(Clone, Debug)]
struct UplinkBooking {
    interval: Interval,
    bins: Bins,
    /// The device that transmits; `None` while it is not known whether it will.
    transmitter: Option<Transmitter>,
    /// How many were booked before it.
    number: u64,
    /// When it and everything before it in its list have ended.
    all_end: Subframe,
}

/// Bookings by their start; of the same start, in the order in which they were booked.
#[derive(Clone, Debug, Default)]
struct UplinkBookings(VecDeque<UplinkBooking>);

impl UplinkBookings {
    fn insert(&mut self, interval: Interval, bins: Bins, number: u64) {
        let is_later = |booked: &&UplinkBooking| booked.interval.start > interval.start;
        let at = self.0.len() - self.0.iter().rev().take_while(is_later).count();
        let before = at.checked_sub(1).map(|before| self.0[before].all_end);
        let booking = UplinkBooking {
            interval,
            bins,
            transmitter: None,
            number,
            all_end: before.unwrap_or_default().max(interval.end),
        };
        self.0.insert(at, booking);
        for later in self.0.range_mut(at + 1..) {
            later.all_end = later.all_end.max(interval.end);
        }
    }

    /// What shares subframes with `interval`, in the order of the list.
    fn overlapping(&self, interval: Interval) -> impl Iterator<Item = &UplinkBooking> {
        let is_after = |booked: &&UplinkBooking| booked.all_end > interval.start;
        let first = self.0.len() - self.0.iter().rev().take_while(is_after).count();
        let started = self.0.range(first..);
        let started = started.take_while(move |booked| booked.interval.start < interval.end);
        started.filter(move |booked| booked.interval.end > interval.start)
    }

    fn find_mut(&mut self, interval: Interval, bins: Bins) -> Option<&mut UplinkBooking> {
        let mut booked = self.0.iter_mut().rev();
        booked.find(|booked| booked.interval == interval && booked.bins == bins)
    }

    fn forget(&mut self, before: Subframe) {
        while self.0.front().is_some_and(|booked| booked.interval.end < before) {
            self.0.pop_front();
        }
    }
}

/// The uplink of one cell.
#[derive(Clone, Debug, Default)]
pub struct UplinkCalendar {
    short: UplinkBookings,
    long: UplinkBookings,
    /// Bookings so far.
    count: u64,
}

impl UplinkCalendar {
    /// The bins that are booked at any time of `interval`.
    pub fn taken(&self, interval: Interval) -> Bins {
        let all = self
            .short
            .overlapping(interval)
            .chain(self.long.overlapping(interval));
        all.fold(Bins::default(), |taken, booked| taken.with(booked.bins))
    }

    /// Whether `bins` are free throughout `interval`.
    pub fn is_free(&self, interval: Interval, bins: Bins) -> bool {
        self.taken(interval).shared(bins) == 0
    }

    /// Books `bins` for `interval`.
    pub fn book(&mut self, interval: Interval, bins: Bins) {
        debug_assert!(self.is_free(interval, bins), "the uplink is booked twice");
        let number = self.count;
        self.list_of(interval).insert(interval, bins, number);
        self.count += 1;
    }

    /// Says that the device of a booking transmits.
    pub fn transmit(&mut self, interval: Interval, bins: Bins, transmitter: Transmitter) {
        if let Some(booked) = self.list_of(interval).find_mut(interval, bins) {
            booked.transmitter = Some(transmitter);
        }
    }

    const fn list_of(&mut self, interval: Interval) -> &mut UplinkBookings {
        match interval.len() > SHORT {
            true => &mut self.long,
            false => &mut self.short,
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

    /// What shares subframes with `interval`, by its start and then by when it was booked: sums of powers must not depend on lists.
    fn overlapping(&self, interval: Interval) -> impl Iterator<Item = &UplinkBooking> {
        let mut short = self.short.overlapping(interval).peekable();
        let mut long = self.long.overlapping(interval).peekable();
        let order = |booked: &UplinkBooking| (booked.interval.start, booked.number);
        std::iter::from_fn(move || match (short.peek(), long.peek()) {
            (Some(one), Some(other)) if order(other) < order(one) => long.next(),
            (Some(_), _) => short.next(),
            (None, _) => long.next(),
        })
    }

    /// Forgets what ended more than `longest` subframes before `now`.
    pub fn forget(&mut self, now: Subframe, longest: u64) {
        self.short.forget(now - longest);
        self.long.forget(now - longest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert_eq, proptest};
    use wirecost_proto::Rng;

    fn at(start: u64, end: u64) -> Interval {
        Interval::new(Subframe::new(start), Subframe::new(end))
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

    /// Bookings of any length at any time near the end of what was booked, as a cell makes them.
    fn crowded(rng: &mut Rng) -> (UplinkCalendar, Vec<(Interval, Bins)>) {
        let (mut calendar, mut all) = (UplinkCalendar::default(), Vec::new());
        for step in 0..200 {
            let start = 10 * step + rng.next_below(60);
            let most = 8 << rng.next_below(6);
            let interval = at(start, start + 1 + rng.next_below(most));
            let bins = Bins::new(4 * rng.next_below(12), 4);
            if calendar.is_free(interval, bins) {
                calendar.book(interval, bins);
                let transmitter = Transmitter {
                    gains: [rng.next_f64()].into(),
                    bin_power_mw: 1.0,
                };
                calendar.transmit(interval, bins, transmitter);
                all.push((interval, bins));
            }
        }
        (calendar, all)
    }

    proptest! {
        /// Beside a plain list: by their start, and of the same start as they were booked.
        #[test]
        fn the_uplink_finds_what_overlaps_in_the_order_of_a_plain_list(seed: u64) {
            let mut rng = Rng::new(seed);
            let (calendar, mut all) = crowded(&mut rng);
            all.sort_by_key(|(interval, _)| interval.start);
            for _ in 0..50 {
                let start = rng.next_below(2_200);
                let asked = at(start, start + 1 + rng.next_below(80));
                let expected: Vec<(Interval, Bins)> =
                    all.iter().filter(|(interval, _)| interval.overlap(asked) > 0).copied().collect();
                let found = calendar.overlapping(asked).map(|booked| (booked.interval, booked.bins));
                prop_assert_eq!(found.collect::<Vec<_>>(), expected.clone());
                let taken = expected.iter().fold(Bins::default(), |taken, (_, bins)| taken.with(*bins));
                prop_assert_eq!(calendar.taken(asked), taken);
            }
        }

        #[test]
        fn what_is_still_asked_for_is_not_forgotten(seed: u64) {
            let mut rng = Rng::new(seed);
            let (calendar, all) = crowded(&mut rng);
            let longest = all.iter().map(|(interval, _)| interval.len()).max().unwrap_or(0);
            let now = Subframe::new(1_000 + rng.next_below(1_000));
            let mut shorter = calendar.clone();
            shorter.forget(now, longest);
            let asked = Interval::new(now - longest, now);
            let bins = Bins::new(0, 48);
            prop_assert_eq!(calendar.taken(asked), shorter.taken(asked));
            prop_assert_eq!(
                calendar.interference_mw(0, asked, bins),
                shorter.interference_mw(0, asked, bins)
            );
        }
    }
}
