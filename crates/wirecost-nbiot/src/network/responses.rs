//! Random access responses (Msg2) and their grants of Msg3.

use super::placement::UplinkPlace;
use super::{Channel, Event, Message, Network, OnAir};
use crate::calendar::Bins;
use crate::cell::Response;
use crate::config::Flow;
use crate::npdsch::NpdschFormat;
use crate::npusch::NpuschFormat;
use crate::subframe::{Interval, Subframe};
use crate::tables::EDT_TRANSPORT_BLOCKS;
use crate::ue::{Block, Content, DataBlock, Format, Purpose, UeId};

/// Delays of Msg3 after its response (TS 36.213 section 16.3.3).
pub(super) const MSG3_DELAYS: [u64; 4] = [12, 16, 32, 64];

/// Subframes from the end of preconfigured data to its response window (TS 36.321 section 5.4.7).
const WINDOW_GAP: u64 = 4;

/// One block with responses on the air.
#[derive(Debug)]
pub(super) struct ResponseBlock {
    dci: Interval,
    dci_repetitions: u64,
    data: Interval,
    format: NpdschFormat,
    grants: Vec<Grant>,
}

/// A grant of Msg3.
#[derive(Debug)]
struct Grant {
    ue: UeId,
    serial: u32,
    format: NpuschFormat,
    place: UplinkPlace,
    /// Whether Msg3 is large enough for data.
    is_early: bool,
}

impl Network {
    /// Sends the responses that wait in one block, as many as fit. Returns whether a DCI was sent.
    pub(super) fn send_responses(&mut self, cell: usize, level: usize, now: Subframe) -> bool {
        let waiting = &mut self.cells[cell].levels[level].responses;
        let ues = &mut self.ues;
        waiting.retain(|response| {
            let device = ues.get_mut(response.ue);
            response.until > now && device.is_some_and(|device| device.access_with(response.serial).is_some())
        });
        let max = usize::from(self.config.random_access.max_responses);
        let due = waiting.iter().filter(|response| response.from <= now);
        let due: Vec<Response> = due.take(max).copied().collect();
        if due.is_empty() {
            return false;
        }
        let devices = due.iter().filter_map(|response| self.ues.get(response.ue));
        let sinr = devices
            .map(|device| self.expected_downlink_db(device))
            .fold(f64::INFINITY, f64::min);
        let repetitions = self.adaptation.npdcch(&self.levels[level].space, sinr);
        let Some(dci) = self.place_dci(cell, level, now, repetitions) else {
            return false;
        };
        let bits = due.len() as u32 * u32::from(self.config.random_access.response_bytes) * 8;
        let format = self.adaptation.npdsch(bits, sinr);
        let places = self
            .places_of_npdsch(cell, level, dci.interval.end, format.length())
            .next();
        let Some(data) = places else {
            return false;
        };
        let grants: Vec<Grant> = due
            .iter()
            .filter_map(|response| self.grant_msg3(cell, *response, data.interval.end))
            .collect();
        if grants.is_empty() {
            return false;
        }
        self.book_downlink(cell, dci);
        self.book_downlink(cell, data);
        let here = &mut self.cells[cell];
        here.levels[level]
            .responses
            .retain(|response| grants.iter().all(|grant| grant.ue != response.ue));
        here.counters.npdcch += dci.length;
        here.counters.npdsch += data.length;
        here.counters.responses += grants.len() as u64;
        let block = ResponseBlock {
            dci: dci.interval,
            dci_repetitions: repetitions,
            data: data.interval,
            format,
            grants,
        };
        self.events
            .push(data.interval.end, Event::ResponseEnd(Box::new(block)));
        true
    }

    fn grant_msg3(&mut self, cell: usize, response: Response, response_end: Subframe) -> Option<Grant> {
        let device = self.ues.get(response.ue)?;
        let early_bits = self.early_bits(response.ue);
        let bits = early_bits.unwrap_or(self.config.random_access.msg3_bits);
        let sinr = self.expected_uplink_db(device);
        let formats = self.adaptation.npusch(bits.into(), sinr);
        let least = u64::from(self.config.random_access.msg3_delay_ms);
        let first = MSG3_DELAYS.iter().position(|delay| *delay >= least).unwrap_or(0);
        let (format, place) = self.place_npusch(cell, response_end, &MSG3_DELAYS[first..], &formats)?;
        self.book_uplink(cell, place);
        Some(Grant {
            ue: response.ue,
            serial: response.serial,
            format,
            place,
            is_early: early_bits.is_some(),
        })
    }

    /// The size in bits of Msg3 with data, where the device's packets fit into it (early data transmission).
    fn early_bits(&self, ue: UeId) -> Option<u16> {
        let device = self.ues.get(ue)?;
        let access = device.access.as_ref()?;
        let is_early = self.config.rrc.flow == Flow::EarlyData && access.purpose == Purpose::Connect;
        if !is_early || !device.up.sender.has_packets() {
            return None;
        }
        let bits = u32::from(self.config.random_access.msg3_bits);
        let needed = bits + 8 * device.up.sender.needed_bytes(&self.overheads, true);
        EDT_TRANSPORT_BLOCKS
            .into_iter()
            .find(|size| u32::from(*size) >= needed)
    }

    /// A block with responses has ended: every device that decodes it sends Msg3.
    pub(super) fn receive_responses(&mut self, block: ResponseBlock) {
        for grant in &block.grants {
            let is_waiting = self.ues.get_mut(grant.ue).is_some_and(|device| {
                let is_waiting = device.access_with(grant.serial).is_some();
                if is_waiting {
                    device.counters.npdcch += block.dci.len();
                    device.counters.npdsch += block.data.len();
                }
                is_waiting
            });
            if !is_waiting {
                continue;
            }
            let is_heard = self.hears_dci(grant.ue, block.dci, block.dci_repetitions);
            let dci = OnAir::new(
                Channel::Npdcch,
                Message::Assignment,
                block.dci,
                block.dci_repetitions,
            );
            self.note(grant.ue, dci, is_heard);
            if !is_heard {
                continue;
            }
            let is_received = self.decodes(grant.ue, block.data, &block.format);
            let repetitions = block.format.repetitions.into();
            let response = Message::RandomAccessResponse;
            let on_air = OnAir::new(Channel::Npdsch, response, block.data, repetitions);
            self.note(grant.ue, on_air.sized(block.format.bits), is_received);
            if is_received {
                self.transmit_msg3(grant.ue, &grant.format, grant.place, grant.is_early);
            }
        }
    }

    /// Whether a device decodes a block of the downlink that is sent once, without HARQ.
    pub(super) fn decodes(&mut self, ue: UeId, data: Interval, format: &NpdschFormat) -> bool {
        let energy = self
            .adaptation
            .receivers()
            .npdsch
            .energy(self.downlink_sinr(ue, data));
        let error_rate = format.codeword.error_rate(energy);
        let device = self.ues.get_mut(ue);
        device.is_some_and(|device| device.rng.next_f64() >= error_rate)
    }

    /// The device sends Msg3, with its packets where the block was made for them.
    pub(super) fn transmit_msg3(
        &mut self,
        ue: UeId,
        format: &NpuschFormat,
        place: UplinkPlace,
        is_early: bool,
    ) {
        let msg3_bytes = u32::from(self.config.random_access.msg3_bits / 8);
        let Some(device) = self.ues.get_mut(ue) else {
            return;
        };
        device.block_serial += 1;
        let serial = device.block_serial;
        let room = u32::from(format.bits / 8).saturating_sub(msg3_bytes);
        let data = is_early.then(|| DataBlock {
            pdu: device.up.sender.build(&self.overheads, room, true),
            ..DataBlock::default()
        });
        let draw = device.rng.next_f64();
        device.block = Some(Block {
            is_heard: true,
            data: place.interval,
            bins: place.bins,
            ..Block::new(serial, Format::Up(*format), Content::Msg3(data), draw)
        });
        let level = device.level;
        device.counters.npusch_data += place.length;
        let end = place.interval.end;
        self.transmit(ue, place.interval, place.bins);
        self.events.push(end, Event::NpuschEnd { ue, serial });
        self.start_contention_timer(ue, level, end);
    }

    /// (Re)starts the contention resolution timer at the end of Msg3, or the response window of preconfigured data.
    pub(super) fn start_contention_timer(&mut self, ue: UeId, level: usize, msg3_end: Subframe) {
        let channels = &self.levels[level];
        let window_pp = self.config.pur.response_window_pp;
        let Some(device) = self.ues.get_mut(ue) else {
            return;
        };
        let length = match device.access.as_ref().map(|access| access.purpose) {
            Some(Purpose::Preconfigured) => WINDOW_GAP + u64::from(window_pp) * channels.space.period,
            _ => u64::from(channels.config.contention_timer_pp) * channels.space.period,
        };
        device.access_serial += 1;
        let serial = device.access_serial;
        if let Some(access) = &mut device.access {
            access.serial = serial;
            self.events
                .push(msg3_end + length, Event::AccessTimer { ue, serial });
        }
    }

    /// The device is on the air: other cells see it as interference, and its counters run.
    pub(super) fn transmit(&mut self, ue: UeId, interval: Interval, bins: Bins) {
        let Some(device) = self.ues.get(ue) else {
            return;
        };
        let transmitter = self.transmitter(device, bins);
        self.cells[device.cell()].up.transmit(interval, bins, transmitter);
    }
}
