//! Downlink blocks: DCI, NPDSCH and HARQ-ACK.

use wirecost_proto::Direction;

use super::{Channel, Event, LossCause, Message, Network, OnAir};
use crate::bler::gaussian_tail;
use crate::npdsch::NpdschFormat;
use crate::subframe::{Interval, Subframe};
use crate::tables::HARQ_ACK_ELEMENTS;
use crate::ue::{Block, Content, DataBlock, Format, Msg4, OnAck, Ue, UeId};

impl Network {
    /// Sends a device its block for the first time or again. Returns whether there was a place.
    pub(super) fn send_downlink(&mut self, ue: UeId, now: Subframe) -> bool {
        let Some(device) = self.ues.get(ue) else {
            return false;
        };
        if device.msg4 == Some(Msg4::Acknowledge) {
            return self.send_acknowledgement(ue, now);
        }
        let (cell, level) = (device.cell(), device.level);
        let sinr = self.expected_downlink_db(device);
        let again = device.block.as_ref().map(|block| block.format);
        let bits = 8 * self.downlink_bytes(device);
        let format = match again {
            Some(Format::Down(format)) => format,
            _ => self.adaptation.npdsch(bits, sinr),
        };
        let repetitions = self.adaptation.npdcch(&self.levels[level].space, sinr);
        let Some(dci) = self.place_dci(cell, level, now, repetitions) else {
            return false;
        };
        let mut places = self.places_of_npdsch(cell, level, dci.interval.end, format.length());
        let with_ack = places.find_map(|data| Some((data, self.place_ack(cell, level, data.interval.end)?)));
        drop(places);
        let Some((data, ack)) = with_ack else {
            return false;
        };
        self.book_downlink(cell, dci);
        self.book_downlink(cell, data);
        self.book_uplink(cell, ack);
        let counters = &mut self.cells[cell].counters;
        counters.npdcch += dci.length;
        counters.npdsch += data.length;
        self.fill_downlink(ue, format);
        let Some(device) = self.ues.get_mut(ue) else {
            return false;
        };
        let serial = device.block_serial;
        device.counters.npdcch += dci.interval.len();
        device.counters.npdsch += data.interval.len();
        if let Some(block) = &mut device.block {
            device.counters.harq_retransmissions += u32::from(block.attempt > 1);
            (block.dci, block.dci_repetitions) = (dci.interval, repetitions);
            (block.data, block.ack, block.bins) = (data.interval, ack.interval, ack.bins);
        }
        self.events
            .push(data.interval.end, Event::NpdschEnd { ue, serial });
        self.events.push(ack.interval.end, Event::AckEnd { ue, serial });
        true
    }

    /// Bytes that the device's next downlink block needs.
    fn downlink_bytes(&self, device: &Ue) -> u32 {
        let rrc = &self.config.rrc;
        match device.msg4 {
            Some(Msg4::Connect | Msg4::Reject) => rrc.msg4_bytes(),
            Some(Msg4::Complete) => {
                rrc.msg4_resume_bytes + device.needed_bytes(Direction::Down, &self.overheads)
            }
            Some(Msg4::Acknowledge) => 0,
            None => device.needed_bytes(Direction::Down, &self.overheads),
        }
    }

    /// Begins the next transmission of the device's block, or a new block.
    fn fill_downlink(&mut self, ue: UeId, format: NpdschFormat) {
        let rrc = self.config.rrc;
        let overheads = self.overheads;
        let Some(device) = self.ues.get_mut(ue) else {
            return;
        };
        device.block_serial += 1;
        let serial = device.block_serial;
        if let Some(block) = &mut device.block {
            return block.repeat(serial);
        }
        let room = u32::from(format.bits / 8);
        let content = match device.msg4.take() {
            Some(Msg4::Complete) => {
                let left = room.saturating_sub(rrc.msg4_resume_bytes);
                Content::Msg4(Msg4::Complete, device.build(Direction::Down, &overheads, left, 0))
            }
            Some(msg4) => Content::Msg4(msg4, DataBlock::default()),
            None => Content::Data(device.build(Direction::Down, &overheads, room, 0)),
        };
        let draw = device.rng.next_f64();
        device.block = Some(Block::new(serial, Format::Down(format), content, draw));
    }

    /// NPDSCH has ended.
    pub(super) fn receive_npdsch(&mut self, ue: UeId, serial: u32, now: Subframe) {
        let Some(block) = self.ues.get_mut(ue).and_then(|device| device.block_with(serial)) else {
            return;
        };
        let (dci, repetitions, data, attempt) = (block.dci, block.dci_repetitions, block.data, block.attempt);
        let (ack, bins, was_decoded) = (block.ack, block.bins, block.is_decoded);
        let on_air = OnAir::dci(Message::Assignment, block);
        self.start_poll_timer(ue, Direction::Down, now);
        let is_heard = self.hears_dci(ue, dci, repetitions);
        self.note(ue, on_air, is_heard);
        if !is_heard {
            return;
        }
        self.transmit(ue, ack, bins);
        let energy = self
            .adaptation
            .receivers()
            .npdsch
            .energy(self.downlink_sinr(ue, data));
        let Some(device) = self.ues.get_mut(ue) else {
            return;
        };
        device.counters.npusch_ack += ack.len();
        let Some(block) = device.block_with(serial) else {
            return;
        };
        block.is_heard = true;
        block.energy += energy;
        if was_decoded {
            return;
        }
        let Format::Down(format) = block.format else {
            return;
        };
        block.is_decoded = block.draw >= format.codeword.error_rate(block.energy);
        let is_decoded = block.is_decoded;
        let on_air = OnAir::block(block);
        let content = is_decoded.then(|| std::mem::replace(&mut block.content, Content::Grant));
        self.note(ue, on_air, is_decoded);
        if attempt == 1 {
            self.adapt(ue, Direction::Down, is_decoded);
        }
        match content {
            Some(Content::Msg4(msg4, data)) => self.receive_msg4(ue, msg4, data, now),
            Some(Content::Data(data)) => self.receive_downlink_data(ue, data, now),
            Some(Content::Grant | Content::Msg3(_)) | None => {}
        }
    }

    fn receive_downlink_data(&mut self, ue: UeId, data: DataBlock, now: Subframe) {
        if let Some(device) = self.ues.get_mut(ue) {
            let polls = data.pdu.is_some_and(|pdu| pdu.poll);
            if let Some(block) = device.block.as_mut().filter(|_| polls) {
                block.on_ack = OnAck::GrantAnswer;
            }
        }
        self.receive_data(ue, Direction::Down, data, now);
    }

    /// The HARQ-ACK has ended, or the time at which the cell expected it.
    pub(super) fn receive_ack(&mut self, ue: UeId, serial: u32, now: Subframe) {
        let Some(block) = self.ues.get_mut(ue).and_then(|device| device.block_with(serial)) else {
            return;
        };
        let (ack, bins, is_decoded, on_ack) = (block.ack, block.bins, block.is_decoded, block.on_ack);
        let (is_heard, attempt) = (block.is_heard, block.attempt);
        let is_read = is_heard && self.reads_ack(ue, ack, bins);
        if is_heard {
            let repetitions = self.ack_repetitions(ue);
            let on_air = OnAir::new(Channel::NpuschAck, Message::HarqAck, ack, repetitions);
            self.note(ue, on_air.attempt(attempt), is_read);
        }
        let max_attempts = self.config.link.max_harq_tx;
        let next = self.timing.monitor(now);
        let Some(device) = self.ues.get_mut(ue) else {
            return;
        };
        device.eligible = device.eligible.max(next);
        device.resting_since = next;
        let Some(block) = device.block_with(serial) else {
            return;
        };
        block.is_on_air = false;
        let is_acknowledged = is_decoded && is_read;
        if !is_acknowledged && block.attempt < max_attempts && on_ack != OnAck::GoIdle {
            return self.make_ready(ue, next);
        }
        device.block = None;
        // A cell that has sent a block often enough goes on; a device that has decoded it goes on as well.
        if is_decoded {
            self.handle_acknowledged(ue, on_ack, now);
        }
        self.settle(ue, now);
    }

    /// How often a device repeats its HARQ-ACKs.
    fn ack_repetitions(&self, ue: UeId) -> u64 {
        let level = self.ues.get(ue).map_or(0, |device| device.level);
        self.levels[level].config.harq_ack_repetitions.into()
    }

    /// Whether the cell reads a HARQ-ACK: coherent detection of one bit, repeated over all its resource elements.
    fn reads_ack(&mut self, ue: UeId, ack: Interval, bins: crate::calendar::Bins) -> bool {
        let sinr = self.uplink_sinr(ue, ack, bins);
        let Some(device) = self.ues.get_mut(ue) else {
            return false;
        };
        let repetitions = f64::from(self.levels[device.level].config.harq_ack_repetitions);
        let error_rate = gaussian_tail(libm::sqrt(2.0 * sinr * HARQ_ACK_ELEMENTS * repetitions));
        device.rng.next_f64() >= error_rate
    }

    fn handle_acknowledged(&mut self, ue: UeId, on_ack: OnAck, now: Subframe) {
        let config = &self.config;
        let (mac, rrc) = (&config.mac, &config.rrc);
        let overheads = self.overheads;
        let Some(device) = self.ues.get_mut(ue) else {
            return;
        };
        match on_ack {
            OnAck::Nothing => {}
            OnAck::GrantMsg5 => {
                // The data volume report in Msg3 tells the cell what is buffered.
                let with_packets = device.up.is_open && rrc.data_with_msg5;
                device.granted = device.up.sender.needed_bytes(&overheads, with_packets);
            }
            OnAck::GrantAnswer if mac.ul_grant_after_dl => {
                device.granted = device.granted.max(mac.ul_grant_bytes)
            }
            OnAck::GrantAnswer => {}
            OnAck::GoIdle => return self.become_idle(ue, now),
        }
        if device.is_releasing && !rrc.status_after_release {
            return self.become_idle(ue, now);
        }
        if device.is_release_due {
            self.send_release(ue);
        }
    }

    /// A device has decoded Msg4.
    fn receive_msg4(&mut self, ue: UeId, msg4: Msg4, data: DataBlock, now: Subframe) {
        let Some(device) = self.ues.get_mut(ue) else {
            return;
        };
        device.access = None;
        let on_ack = match msg4 {
            Msg4::Reject => return self.fail(ue, LossCause::Rejected, now),
            Msg4::Connect => OnAck::GrantMsg5,
            Msg4::Complete | Msg4::Acknowledge => OnAck::GoIdle,
        };
        if let Some(block) = &mut device.block {
            block.on_ack = on_ack;
        }
        match msg4 {
            Msg4::Connect => self.become_connected(ue, now),
            Msg4::Complete | Msg4::Acknowledge | Msg4::Reject => {
                self.receive_data(ue, Direction::Down, data, now)
            }
        }
    }
}
