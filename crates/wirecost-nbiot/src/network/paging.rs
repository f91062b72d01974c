//! Paging: when an idle device looks for a page, and the DCI and the block that a page takes (TS 36.304 section 7).

use super::{Channel, Event, Message, Network, OnAir};
use crate::config::IdleMode;
use crate::npdsch::NpdschFormat;
use crate::subframe::{Interval, Subframe};
use crate::ue::{Purpose, RrcState, UeId};

/// Pages in one block (TS 36.331 maxPageRec).
const MAX_PAGES: usize = 16;

/// One block with pages on the air.
#[derive(Debug)]
pub(super) struct PageBlock {
    dci: Interval,
    dci_repetitions: u64,
    data: Interval,
    format: NpdschFormat,
    ues: Vec<UeId>,
}

impl Network {
    /// The next paging occasion of a device that looks for pages; `None` where the cell cannot page the device until the device sends.
    pub(super) fn next_page(&mut self, ue: UeId, now: Subframe) -> Option<Subframe> {
        let idle = self.config.idle;
        let cycle = u64::from(self.config.rrc.paging_cycle_ms);
        let device = self.ues.get_mut(ue)?;
        let is_in_window = u64::from(device.pages) * cycle < u64::from(idle.paging_window_ms);
        let cycle = match idle.mode {
            IdleMode::Edrx if device.pages == 0 || !is_in_window => u64::from(idle.edrx_cycle_ms),
            IdleMode::Ideal | IdleMode::Drx | IdleMode::Edrx | IdleMode::Psm => cycle,
        };
        // A page that was missed is sent again in the next cycle.
        let wait = match device.pages {
            0 => device.rng.next_below(cycle),
            _ => cycle,
        };
        let occasion = now + wait;
        let reachable_until = device.idle_since + u64::from(idle.active_ms);
        (idle.mode != IdleMode::Psm || occasion < reachable_until).then_some(occasion)
    }

    /// Pages an idle device at its next occasion, unless that is under way.
    pub(super) fn page(&mut self, ue: UeId, now: Subframe) {
        if self.ues.get(ue).is_none_or(|device| device.is_paged) {
            return;
        }
        let Some(occasion) = self.next_page(ue, now) else {
            return;
        };
        if let Some(device) = self.ues.get_mut(ue) {
            device.is_paged = true;
            self.events.push(occasion, Event::Paging { ue });
        }
    }

    /// The paging occasion of an idle device: the page takes the next search space.
    pub(super) fn handle_paging(&mut self, ue: UeId, now: Subframe) {
        let Some(device) = self.ues.get_mut(ue) else {
            return;
        };
        if device.rrc != RrcState::Idle || !device.down.sender.has_packets() {
            device.is_paged = false;
            return;
        }
        let (cell, level) = (device.cell(), device.first_level);
        self.cells[cell].levels[level].pages.push_back(ue);
        self.wake(cell, level, now);
    }

    /// Sends the pages that wait in one block, as many as fit. Returns whether a DCI was sent.
    pub(super) fn send_pages(&mut self, cell: usize, level: usize, now: Subframe) -> bool {
        let ues = &mut self.ues;
        let waiting = &mut self.cells[cell].levels[level].pages;
        waiting.retain(|ue| {
            let Some(device) = ues.get_mut(*ue) else {
                return false;
            };
            device.is_paged = device.rrc == RrcState::Idle;
            device.is_paged
        });
        let due: Vec<UeId> = waiting.iter().take(MAX_PAGES).copied().collect();
        let devices = due.iter().filter_map(|ue| self.ues.get(*ue));
        let sinr = devices
            .map(|device| self.expected_downlink_db(device))
            .fold(f64::INFINITY, f64::min);
        if due.is_empty() {
            return false;
        }
        let repetitions = self.adaptation.npdcch(&self.levels[level].space, sinr);
        let Some(dci) = self.place_dci(cell, level, now, repetitions) else {
            return false;
        };
        let bits = 8 * self.config.idle.paging_bytes * due.len() as u32;
        let format = self.adaptation.npdsch(bits, sinr);
        let place = self
            .places_of_npdsch(cell, level, dci.interval.end, format.length())
            .next();
        let Some(data) = place else {
            return false;
        };
        self.book_downlink(cell, dci);
        self.book_downlink(cell, data);
        let here = &mut self.cells[cell];
        here.levels[level].pages.drain(..due.len());
        here.counters.npdcch += dci.length;
        here.counters.npdsch += data.length;
        let block = PageBlock {
            dci: dci.interval,
            dci_repetitions: repetitions,
            data: data.interval,
            format,
            ues: due,
        };
        self.events
            .push(data.interval.end, Event::PageEnd(Box::new(block)));
        true
    }

    /// A block with pages has ended: a device that decodes its page makes a random access, another one is paged again.
    pub(super) fn receive_pages(&mut self, block: &PageBlock, now: Subframe) {
        for ue in block.ues.iter().copied() {
            let Some(device) = self.ues.get_mut(ue) else {
                continue;
            };
            device.is_paged = false;
            if device.rrc != RrcState::Idle {
                continue;
            }
            device.pages += 1;
            device.counters.npdcch += block.dci.len();
            device.counters.npdsch += block.data.len();
            device.counters.active += block.dci.len() + block.data.len();
            match self.hears_page(ue, block) {
                true => self.begin_access(ue, Purpose::Connect, now),
                false => self.page(ue, now),
            }
        }
    }

    fn hears_page(&mut self, ue: UeId, block: &PageBlock) -> bool {
        let is_heard = self.hears_dci(ue, block.dci, block.dci_repetitions);
        let dci = OnAir::new(
            Channel::Npdcch,
            Message::Assignment,
            block.dci,
            block.dci_repetitions,
        );
        self.note(ue, dci, is_heard);
        if !is_heard {
            return false;
        }
        let is_received = self.decodes(ue, block.data, &block.format);
        let repetitions = block.format.repetitions.into();
        let page = OnAir::new(Channel::Npdsch, Message::Data, block.data, repetitions);
        self.note(ue, page.sized(block.format.bits), is_received);
        is_received
    }
}
