//! Uplink blocks: DCI and NPUSCH. HARQ of the uplink has no HARQ-ACK: a further grant asks for a retransmission.

use wirecost_proto::Direction;

use super::{Event, Message, Network, OnAir};
use crate::config::ReleaseAssistance;
use crate::subframe::Subframe;
use crate::tables::NPUSCH_DELAYS;
use crate::ue::{Block, Content, DataBlock, Format, Msg4, Purpose, UeId};

impl Network {
    /// Grants a device the uplink, for a new block or for one that failed. Returns whether there was a place.
    pub(super) fn send_grant(&mut self, ue: UeId, now: Subframe) -> bool {
        let Some(device) = self.ues.get(ue) else {
            return false;
        };
        let (cell, level) = (device.cell(), device.level);
        let down = self.expected_downlink_db(device);
        let up = self.expected_uplink_db(device);
        let bits = 8 * (device.granted + self.config.mac.bsr_bytes);
        let formats = match device.block.as_ref().map(|block| block.format) {
            Some(Format::Up(format)) => vec![format],
            _ => self.adaptation.npusch(bits, up),
        };
        let repetitions = self.adaptation.npdcch(&self.levels[level].space, down);
        let Some(dci) = self.place_dci(cell, level, now, repetitions) else {
            return false;
        };
        let least = u64::from(self.config.mac.npusch_after_dci_ms);
        let first = NPUSCH_DELAYS
            .iter()
            .position(|delay| *delay >= least)
            .unwrap_or(0);
        let placed = self.place_npusch(cell, dci.interval.end, &NPUSCH_DELAYS[first..], &formats);
        let Some((format, data)) = placed else {
            return false;
        };
        self.book_downlink(cell, dci);
        self.book_uplink(cell, data);
        self.cells[cell].counters.npdcch += dci.length;
        let Some(device) = self.ues.get_mut(ue) else {
            return false;
        };
        device.counters.npdcch += dci.interval.len();
        device.block_serial += 1;
        let serial = device.block_serial;
        match &mut device.block {
            Some(block) => block.repeat(serial),
            None => {
                let draw = device.rng.next_f64();
                device.block = Some(Block::new(serial, Format::Up(format), Content::Grant, draw));
            }
        }
        if let Some(block) = &mut device.block {
            device.counters.harq_retransmissions += u32::from(block.attempt > 1);
            (block.dci, block.dci_repetitions) = (dci.interval, repetitions);
            (block.data, block.bins) = (data.interval, data.bins);
        }
        self.events.push(dci.interval.end, Event::DciEnd { ue, serial });
        self.events
            .push(data.interval.end, Event::NpuschEnd { ue, serial });
        true
    }

    /// The DCI of a grant has ended: a device that decodes it transmits.
    pub(super) fn receive_grant(&mut self, ue: UeId, serial: u32, _now: Subframe) {
        let Some(block) = self.ues.get_mut(ue).and_then(|device| device.block_with(serial)) else {
            return;
        };
        let (dci, repetitions, data, bins) = (block.dci, block.dci_repetitions, block.data, block.bins);
        let on_air = OnAir::dci(Message::UplinkGrant, block);
        let is_heard = self.hears_dci(ue, dci, repetitions);
        self.note(ue, on_air, is_heard);
        if !is_heard {
            return;
        }
        let (overheads, bsr_bytes) = (self.overheads, self.config.mac.bsr_bytes);
        let Some(device) = self.ues.get_mut(ue) else {
            return;
        };
        let Some(block) = device.block_with(serial) else {
            return;
        };
        block.is_heard = true;
        let (is_new, is_msg3) = (
            matches!(block.content, Content::Grant),
            matches!(block.content, Content::Msg3(_)),
        );
        let Format::Up(format) = block.format else {
            return;
        };
        device.counters.npusch_data += format.length();
        if is_new {
            // The grant resolves the contention of a device that asked for it by random access.
            device.access = None;
            let built = device.build(Direction::Up, &overheads, u32::from(format.bits / 8), bsr_bytes);
            if let Some(block) = &mut device.block {
                block.content = Content::Data(built);
            }
        }
        let level = device.level;
        self.transmit(ue, data, bins);
        if is_new {
            self.start_poll_timer(ue, Direction::Up, data.end);
        }
        if is_msg3 {
            self.start_contention_timer(ue, level, data.end);
        }
    }

    /// NPUSCH has ended, or the time that was granted for it.
    pub(super) fn receive_npusch(&mut self, ue: UeId, serial: u32, now: Subframe) {
        let next = self.timing.monitor(now);
        let Some(device) = self.ues.get_mut(ue) else {
            return;
        };
        let Some(block) = device.block_with(serial) else {
            return;
        };
        let (data, bins, attempt, is_heard) = (block.data, block.bins, block.attempt, block.is_heard);
        let Format::Up(format) = block.format else {
            return;
        };
        block.is_on_air = false;
        device.eligible = device.eligible.max(next);
        device.resting_since = next;
        if is_heard {
            let receiver = self.adaptation.receivers().npusch(&format);
            let energy = receiver.energy(self.uplink_sinr(ue, data, bins));
            let Some(block) = self.ues.get_mut(ue).and_then(|device| device.block.as_mut()) else {
                return;
            };
            block.energy += energy;
            block.is_decoded = block.draw >= format.codeword.error_rate(block.energy);
            let (is_decoded, on_air) = (block.is_decoded, OnAir::block(block));
            self.note(ue, on_air, is_decoded);
            if attempt == 1 {
                self.adapt(ue, Direction::Up, is_decoded);
            }
        }
        self.conclude_uplink(ue, now);
    }

    /// Goes on after a transmission of an uplink block: with its content, with a retransmission, or without it.
    fn conclude_uplink(&mut self, ue: UeId, now: Subframe) {
        let max_attempts = self.config.link.max_harq_tx;
        let Some(device) = self.ues.get_mut(ue) else {
            return;
        };
        let Some(block) = &device.block else {
            return;
        };
        if !block.is_decoded && block.attempt < max_attempts {
            let eligible = device.eligible;
            return self.make_ready(ue, eligible);
        }
        let is_decoded = block.is_decoded;
        let content = device
            .block
            .take()
            .filter(|_| is_decoded)
            .map(|block| block.content);
        match content {
            Some(Content::Msg3(data)) => self.receive_msg3(ue, data, now),
            Some(Content::Data(data)) => self.receive_uplink_data(ue, data, now),
            Some(Content::Grant | Content::Msg4(..)) | None => {}
        }
        let is_released = self.ues.get(ue).is_some_and(|device| {
            let is_answered = !device.down.receiver.is_status_due || !is_decoded;
            device.is_releasing && is_answered
        });
        match is_released {
            true => self.become_idle(ue, now),
            false => self.settle(ue, now),
        }
    }

    fn receive_uplink_data(&mut self, ue: UeId, data: DataBlock, now: Subframe) {
        let assistance = self.config.rrc.release_assistance;
        let is_last = data.buffered == 0 && data.pdu.is_some();
        if let Some(device) = self.ues.get_mut(ue) {
            device.granted = data.buffered;
        }
        self.receive_data(ue, Direction::Up, data, now);
        match assistance {
            ReleaseAssistance::NoFurtherData if is_last => self.send_release(ue),
            ReleaseAssistance::OneDownlink if is_last => {
                if let Some(device) = self.ues.get_mut(ue) {
                    device.release_after_downlink = true;
                }
            }
            ReleaseAssistance::None | ReleaseAssistance::NoFurtherData | ReleaseAssistance::OneDownlink => {}
        }
    }

    /// The cell has decoded Msg3.
    fn receive_msg3(&mut self, ue: UeId, data: Option<DataBlock>, now: Subframe) {
        let (max, wait) = (
            self.config.rrc.max_connections,
            self.config.rrc.edt_downlink_wait_ms,
        );
        let overheads = self.overheads;
        let Some(device) = self.ues.get_mut(ue) else {
            return;
        };
        let Some(access) = &device.access else {
            return;
        };
        let serial = access.serial;
        if access.purpose == Purpose::Request {
            // Msg3 carries a buffer status report.
            device.granted = device.needed_bytes(Direction::Up, &overheads).max(1);
            return;
        }
        let cell = &mut self.cells[device.serving()];
        if cell.connections >= max {
            device.msg4 = Some(Msg4::Reject);
            return;
        }
        cell.connections += 1;
        device.is_admitted = true;
        match data {
            None => device.msg4 = Some(Msg4::Connect),
            Some(data) => {
                self.receive_data(ue, Direction::Up, data, now);
                self.events
                    .push(now + u64::from(wait), Event::EarlyAnswer { ue, serial });
            }
        }
    }
}
