//! The scheduler: who gets the DCIs of a search space. Responses go first, then pages, then devices in turn, each with uplink and downlink in turn.

use wirecost_proto::Direction;

use super::{Event, Network};
use crate::subframe::Subframe;
use crate::ue::{Format, UeId};

/// What became of a device's turn.
enum Turn {
    /// It got a DCI.
    Taken,
    /// It wants one and got none: it does not monitor yet, or there was no place.
    Kept,
    /// It wants none, or is gone.
    Dropped,
}

impl Network {
    /// Makes sure that the first search space from `from` on is used.
    pub(super) fn wake(&mut self, cell: usize, level: usize, from: Subframe) {
        let at = self.levels[level].space.next(from);
        let here = &mut self.cells[cell].levels[level];
        if here.search_at.is_none_or(|scheduled| at < scheduled) {
            here.search_at = Some(at);
            let (cell, level) = (cell as u16, level as u8);
            self.events.push(at, Event::SearchSpace { cell, level });
        }
    }

    /// Puts a device into its cell's queue, if the cell wants to send it a DCI. It monitors NPDCCH from `from` on.
    pub(super) fn make_ready(&mut self, ue: UeId, from: Subframe) {
        let Some(device) = self.ues.get_mut(ue) else {
            return;
        };
        device.eligible = device.eligible.max(from);
        if device.is_queued || !device.wants_dci() {
            return;
        }
        device.is_queued = true;
        let (cell, level, eligible) = (device.cell(), device.level, device.eligible);
        let hears = self
            .ues
            .get(ue)
            .map_or(eligible, |device| self.hears_from(device, eligible));
        self.cells[cell].levels[level].queue.push_back(ue);
        self.wake(cell, level, hears);
    }

    /// A search space starts.
    pub(super) fn schedule(&mut self, cell: usize, level: usize, now: Subframe) {
        let here = &mut self.cells[cell].levels[level];
        if here.search_at != Some(now) {
            return;
        }
        here.search_at = None;
        self.forget(cell, now);
        let mut left = self.config.mac.dci_per_npdcch_period;
        while left > 0 && self.send_responses(cell, level, now) {
            self.cells[cell].counters.dci[level] += 1;
            left -= 1;
        }
        while left > 0 && self.send_pages(cell, level, now) {
            self.cells[cell].counters.dci[level] += 1;
            left -= 1;
        }
        let mut queue = std::mem::take(&mut self.cells[cell].levels[level].queue);
        let mut kept = Vec::new();
        let mut has_place = self.has_place_of_dci(cell, level, now);
        while left > 0
            && let Some(ue) = queue.pop_front()
        {
            match self.take_turn(ue, level, now, has_place) {
                Turn::Taken => {
                    self.cells[cell].counters.dci[level] += 1;
                    left -= 1;
                    has_place = self.has_place_of_dci(cell, level, now);
                }
                Turn::Kept => kept.push(ue),
                Turn::Dropped => {}
            }
        }
        for ue in kept.into_iter().rev() {
            queue.push_front(ue);
        }
        // Devices that were made ready meanwhile come after those that waited.
        let here = &mut self.cells[cell].levels[level];
        queue.append(&mut here.queue);
        here.queue = queue;
        self.wake_again(cell, level, now);
    }

    fn wake_again(&mut self, cell: usize, level: usize, now: Subframe) {
        let here = &self.cells[cell].levels[level];
        let responses = here.responses.iter().map(|response| response.from);
        let devices = here
            .queue
            .iter()
            .filter_map(|ue| self.ues.get(*ue))
            .map(|device| self.hears_from(device, now + 1));
        let pages = here.pages.front().map(|_| now + 1);
        let mut earliest: Option<Subframe> = pages;
        for from in responses.chain(devices) {
            earliest = Some(earliest.map_or(from, |earliest| earliest.min(from)));
            if from <= now + 1 {
                break;
            }
        }
        if let Some(earliest) = earliest {
            self.wake(cell, level, earliest.max(now + 1));
        }
    }

    /// Whether the search space that starts `now` has a place for the shortest DCI, and so for any.
    fn has_place_of_dci(&self, cell: usize, level: usize, now: Subframe) -> bool {
        let mut repetitions = self.levels[level].space.repetitions();
        repetitions
            .next()
            .is_some_and(|fewest| self.place_dci(cell, level, now, fewest).is_some())
    }

    fn take_turn(&mut self, ue: UeId, level: usize, now: Subframe, has_place: bool) -> Turn {
        let Some(device) = self.ues.get_mut(ue) else {
            return Turn::Dropped;
        };
        if device.level != level || !device.wants_dci() {
            device.is_queued = false;
            let eligible = device.eligible;
            self.make_ready(ue, eligible);
            return Turn::Dropped;
        }
        if device.eligible > now || !has_place {
            return Turn::Kept;
        }
        let Some(device) = self
            .ues
            .get(ue)
            .filter(|device| self.hears_from(device, now) == now)
        else {
            return Turn::Kept;
        };
        let slept = self.slept(device, now);
        let direction = match &device.block {
            Some(block) => match block.format {
                Format::Down(_) => Direction::Down,
                Format::Up(_) => Direction::Up,
            },
            None if device.granted == 0 => Direction::Down,
            None if !device.has_downlink() => Direction::Up,
            None => device.last.reverse(),
        };
        let is_sent = match direction {
            Direction::Down => self.send_downlink(ue, now),
            Direction::Up => self.send_grant(ue, now),
        };
        match (is_sent, self.ues.get_mut(ue)) {
            (true, Some(device)) => {
                device.is_queued = false;
                device.last = direction;
                device.counters.asleep += slept;
                Turn::Taken
            }
            _ => Turn::Kept,
        }
    }
}
