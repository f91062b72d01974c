//! Preconfigured uplink resources (TS 36.321 section 5.4.7): data without a preamble, and an acknowledgement that is a DCI alone.
//!
//! ```text
//! device                                  cell
//!   data with the resume request      ->         at the device's resource
//!   <- DCI: acknowledged                         or DCI and NPDSCH with an answer
//! ```
//!
//! A device without an answer in its window makes a random access. Skipped resources of a device are booked within
//! [`SKIPPED_WITHIN`] of the one that is used: only their number counts, because devices are many and their resources lie anywhere.

use super::placement::UplinkPlace;
use super::{Channel, Event, Message, Network, OnAir};
use crate::config::Flow;
use crate::npusch::NpuschFormat;
use crate::subframe::{Interval, Subframe};
use crate::tables::EDT_TRANSPORT_BLOCKS;
use crate::ue::{Access, Purpose, RrcState, UeId};

/// Subframes after which the first free place for a resource is looked for.
const PLACES: [u64; 8] = [0, 8, 16, 32, 64, 128, 256, 512];

/// Subframes after a used resource in which the skipped ones of its device are booked.
const SKIPPED_WITHIN: u64 = 10_000;

/// A resource of a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resource {
    format: NpuschFormat,
    place: UplinkPlace,
}

impl Network {
    /// Lets an idle device use its resource; `false` where it has none that holds its packets.
    pub(super) fn use_preconfigured(&mut self, ue: UeId, now: Subframe) -> bool {
        let pur = self.config.pur;
        if self.config.rrc.flow != Flow::Preconfigured || !self.may_use_preconfigured(ue, now) {
            return false;
        }
        let Some(bits) = self.preconfigured_bits(ue) else {
            return false;
        };
        let Some(wait) = self.draw(ue, u64::from(pur.wait_ms) + 1) else {
            return false;
        };
        let Some(resource) = self.reserve(ue, bits, now + wait) else {
            return false;
        };
        for _ in 1..pur.resources_per_report {
            let Some(later) = self.draw(ue, SKIPPED_WITHIN) else {
                return false;
            };
            self.reserve(ue, bits, resource.place.interval.end + later);
        }
        let start = resource.place.interval.start;
        let Some(device) = self.ues.get_mut(ue) else {
            return false;
        };
        device.rrc = RrcState::Connecting;
        device.active_since = start;
        device.next_resource = start + u64::from(pur.period_ms);
        device.access_serial += 1;
        let serial = device.access_serial;
        device.access = Some(Access {
            purpose: Purpose::Preconfigured,
            serial,
            started: now,
            joined: now,
            preambles: 0,
            level_preambles: 0,
        });
        let resource = Box::new(resource);
        self.events
            .push(start, Event::Preconfigured { ue, serial, resource });
        true
    }

    fn draw(&mut self, ue: UeId, below: u64) -> Option<u64> {
        Some(self.ues.get_mut(ue)?.rng.next_below(below))
    }

    /// Whether the device's timing advance is valid and its next resource has come. The first is drawn once.
    fn may_use_preconfigured(&mut self, ue: UeId, now: Subframe) -> bool {
        let share = self.config.pur.timing_advance_valid;
        let Some(device) = self.ues.get_mut(ue) else {
            return false;
        };
        device.level = device.first_level;
        let rng = &mut device.rng;
        let is_valid = *device
            .has_timing_advance
            .get_or_insert_with(|| rng.next_f64() < share);
        is_valid && now >= device.next_resource
    }

    /// The size in bits of a block with the resume request and all packets of the device.
    fn preconfigured_bits(&self, ue: UeId) -> Option<u16> {
        let sender = &self.ues.get(ue)?.up.sender;
        let needed =
            u32::from(self.config.random_access.msg3_bits) + 8 * sender.needed_bytes(&self.overheads, true);
        let sizes = EDT_TRANSPORT_BLOCKS
            .into_iter()
            .filter(|size| *size <= self.config.pur.max_bits);
        sizes.into_iter().find(|size| u32::from(*size) >= needed)
    }

    /// Books a resource of a device from `from` on.
    fn reserve(&mut self, ue: UeId, bits: u16, from: Subframe) -> Option<Resource> {
        let device = self.ues.get(ue)?;
        let cell = device.cell();
        let formats = self
            .adaptation
            .npusch(bits.into(), self.expected_uplink_db(device));
        let (format, place) = self.place_npusch(cell, from, &PLACES, &formats)?;
        self.book_uplink(cell, place);
        Some(Resource { format, place })
    }

    /// The resource of a device starts.
    pub(super) fn send_preconfigured(&mut self, ue: UeId, serial: u32, resource: &Resource) {
        let is_waiting = self
            .ues
            .get_mut(ue)
            .is_some_and(|device| device.access_with(serial).is_some());
        if is_waiting {
            self.transmit_msg3(ue, &resource.format, resource.place, true);
        }
    }

    /// Acknowledges the data of a device with a DCI alone. Returns whether there was a place.
    pub(super) fn send_acknowledgement(&mut self, ue: UeId, now: Subframe) -> bool {
        let Some(device) = self.ues.get(ue) else {
            return false;
        };
        let (cell, level) = (device.cell(), device.level);
        let Some(serial) = device.access.as_ref().map(|access| access.serial) else {
            return false;
        };
        let sinr = self.expected_downlink_db(device);
        let repetitions = self.adaptation.npdcch(&self.levels[level].space, sinr);
        let Some(dci) = self.place_dci(cell, level, now, repetitions) else {
            return false;
        };
        self.book_downlink(cell, dci);
        self.cells[cell].counters.npdcch += dci.length;
        if let Some(device) = self.ues.get_mut(ue) {
            device.msg4 = None;
            device.counters.npdcch += dci.interval.len();
        }
        let dci = dci.interval;
        let event = Event::AcknowledgementEnd {
            ue,
            serial,
            dci,
            repetitions,
        };
        self.events.push(dci.end, event);
        true
    }

    /// An acknowledgement has ended: a device that decodes it is idle. Another one makes a random access when its window ends.
    pub(super) fn receive_acknowledgement(&mut self, ue: UeId, serial: u32, dci: Interval, repetitions: u64) {
        let is_waiting = self
            .ues
            .get_mut(ue)
            .is_some_and(|device| device.access_with(serial).is_some());
        if !is_waiting {
            return;
        }
        let is_heard = self.hears_dci(ue, dci, repetitions);
        let acknowledgement = OnAir::new(Channel::Npdcch, Message::HarqAck, dci, repetitions);
        self.note(ue, acknowledgement, is_heard);
        if is_heard {
            self.become_idle(ue, dci.end);
        }
    }
}
