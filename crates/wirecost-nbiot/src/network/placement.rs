//! Where a transmission fits on the carrier of a cell.

use super::Network;
use crate::calendar::Bins;
use crate::npusch::NpuschFormat;
use crate::radio::{BINS, uplink_end};
use crate::subframe::{Interval, Subframe};
use crate::tables::{
    HARQ_ACK_EXTRA_DELAYS, HARQ_ACK_SUBCARRIERS, HARQ_ACK_SUBFRAMES, NPDSCH_DELAYS, NPDSCH_DELAYS_LONG, Tones,
};

/// Rmax from which the long delays of NPDSCH are used (TS 36.213 table 16.4.1-1).
const LONG_DELAYS_FROM: u64 = 128;

/// A place on the downlink.
#[derive(Clone, Copy, Debug)]
pub(super) struct DownlinkPlace {
    /// The usable subframe that it starts with.
    pub(super) start: u64,
    /// Usable subframes.
    pub(super) length: u64,
    /// The time from the first to the last of them.
    pub(super) interval: Interval,
}

/// A place on the uplink.
#[derive(Clone, Copy, Debug)]
pub(super) struct UplinkPlace {
    /// From the first to the last subframe, pauses included.
    pub(super) interval: Interval,
    pub(super) bins: Bins,
    /// Subframes on the air.
    pub(super) length: u64,
}

impl Network {
    fn downlink_place(&self, cell: usize, start: u64, length: u64) -> DownlinkPlace {
        let budget = self.budget(cell);
        let interval = Interval::new(budget.nth_usable(start), budget.end_of(start, length));
        DownlinkPlace {
            start,
            length,
            interval,
        }
    }

    /// The first free place of a DCI in the search space that starts `now`.
    pub(super) fn place_dci(
        &self,
        cell: usize,
        level: usize,
        now: Subframe,
        repetitions: u64,
    ) -> Option<DownlinkPlace> {
        let first = self.budget(cell).usable_before(now);
        let candidates =
            (0..self.levels[level].space.rmax / repetitions).map(|index| first + index * repetitions);
        let calendar = &self.cells[cell].down;
        let start = candidates
            .into_iter()
            .find(|start| calendar.is_free(*start, repetitions))?;
        Some(self.downlink_place(cell, start, repetitions))
    }

    /// The free places of NPDSCH after a DCI, the earliest first.
    pub(super) fn places_of_npdsch(
        &self,
        cell: usize,
        level: usize,
        dci_end: Subframe,
        length: u64,
    ) -> impl Iterator<Item = DownlinkPlace> + '_ {
        let delays = match self.levels[level].space.rmax < LONG_DELAYS_FROM {
            true => NPDSCH_DELAYS,
            false => NPDSCH_DELAYS_LONG,
        };
        let from = self.budget(cell).usable_before(self.timing.npdsch(dci_end));
        let free = delays.into_iter().map(move |delay| from + delay);
        free.filter(move |start| self.cells[cell].down.is_free(*start, length))
            .map(move |start| self.downlink_place(cell, start, length))
    }

    /// The first free place of a HARQ-ACK after NPDSCH.
    pub(super) fn place_ack(&self, cell: usize, level: usize, npdsch_end: Subframe) -> Option<UplinkPlace> {
        let first = self.timing.ack(npdsch_end);
        let length = HARQ_ACK_SUBFRAMES * u64::from(self.levels[level].config.harq_ack_repetitions);
        let width = u64::from(Tones::Single15k.bins());
        HARQ_ACK_EXTRA_DELAYS.into_iter().find_map(|delay| {
            let all = (0..HARQ_ACK_SUBCARRIERS).map(|subcarrier| Bins::new(subcarrier * width, width));
            self.free_places(cell, first + delay, length, all).next()
        })
    }

    /// Where NPUSCH ends first in one of `formats` after one of `delays` from `from`; of equal ends, the most tones.
    pub(super) fn place_npusch(
        &self,
        cell: usize,
        from: Subframe,
        delays: &[u64],
        formats: &[NpuschFormat],
    ) -> Option<(NpuschFormat, UplinkPlace)> {
        let placed = formats
            .iter()
            .filter_map(|format| Some((*format, self.place_format(cell, from, delays, format)?)));
        placed.min_by_key(|(_, place)| place.interval.end)
    }

    fn place_format(
        &self,
        cell: usize,
        from: Subframe,
        delays: &[u64],
        format: &NpuschFormat,
    ) -> Option<UplinkPlace> {
        let width = u64::from(format.tones.bins());
        delays.iter().find_map(|delay| {
            let all = (0..BINS / width).map(|index| Bins::new(index * width, width));
            let mut first: Option<UplinkPlace> = None;
            for place in self.free_places(cell, from + *delay, format.length(), all) {
                if first.is_none_or(|first| place.interval.end < first.interval.end) {
                    first = Some(place);
                }
                // None ends before one without a pause.
                if place.interval.len() == place.length {
                    break;
                }
            }
            first
        })
    }

    /// The free places of `length` subframes on the air from `start` on, in the order of `candidates`.
    fn free_places(
        &self,
        cell: usize,
        start: Subframe,
        length: u64,
        candidates: impl Iterator<Item = Bins>,
    ) -> impl Iterator<Item = UplinkPlace> {
        let up = &self.cells[cell].up;
        // Pauses make it longer only, so that bins that are taken before need no look at pauses.
        let taken = up.taken(Interval::new(start, start + length));
        candidates
            .filter(move |bins| taken.shared(*bins) == 0)
            .map(move |bins| self.uplink_place(start, length, bins))
            .filter(move |place| place.interval.len() == length || up.is_free(place.interval, place.bins))
    }

    fn uplink_place(&self, start: Subframe, length: u64, bins: Bins) -> UplinkPlace {
        let mac = &self.config.mac;
        let gap = (mac.uplink_gap_every_ms.into(), mac.uplink_gap_ms.into());
        let nprach = self.levels.each_ref().map(|level| &level.nprach);
        let interval = Interval::new(start, uplink_end(nprach, gap, start, length, bins));
        UplinkPlace {
            interval,
            bins,
            length,
        }
    }

    /// Books a DCI or NPDSCH.
    pub(super) fn book_downlink(&mut self, cell: usize, place: DownlinkPlace) {
        self.cells[cell].down.book(place.start, place.length);
        self.longest.down = self.longest.down.max(place.length);
    }

    /// Books NPUSCH of either format.
    pub(super) fn book_uplink(&mut self, cell: usize, place: UplinkPlace) {
        self.cells[cell].up.book(place.interval, place.bins);
        self.longest.up = self.longest.up.max(place.interval.len());
        let bins = u64::from(place.bins.count());
        self.cells[cell].counters.npusch_bins += place.length * bins;
    }

    /// Forgets bookings that no block can still interfere with.
    pub(super) fn forget(&mut self, cell: usize, now: Subframe) {
        let usable = self.budget(cell).usable_before(now);
        self.cells[cell].down.forget(usable, self.longest.down);
        self.cells[cell].up.forget(now, self.longest.up);
    }
}
