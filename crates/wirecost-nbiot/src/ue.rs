//! One device: what its two ends of each layer hold.

use wirecost_proto::{BothWays, Direction, Rng};

use crate::calendar::Bins;
use crate::facts::UeCounters;
use crate::fading::Fading;
use crate::gains::Gains;
use crate::npdsch::NpdschFormat;
use crate::npusch::NpuschFormat;
use crate::rlc::{Overheads, Pdu, Receiver, Sender, Status};
use crate::subframe::{Interval, Subframe};

/// A device in a network. The name is not used again after the device was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UeId {
    slot: u32,
    generation: u32,
}

/// Whether a device has a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RrcState {
    /// It has none.
    Idle,
    /// It is in random access for one.
    Connecting,
    /// It has one.
    Connected,
}

/// A random access under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) purpose: Purpose,
    /// Changes with every step, so that timers of earlier steps are void.
    pub(crate) serial: u32,
    pub(crate) started: Subframe,
    pub(crate) joined: Subframe,
    pub(crate) preambles: u16,
    pub(crate) level_preambles: u16,
}

/// Why a device makes a random access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// For a connection.
    Connect,
    /// For an uplink grant within a connection: Release 13 has no other scheduling request.
    Request,
    /// For data in its preconfigured resource, without a preamble; after a failure for a connection.
    Preconfigured,
}

/// What Msg4 says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Msg4 {
    /// RRCConnectionResume or RRCConnectionSetup.
    Connect,
    /// RRCConnectionReject.
    Reject,
    /// RRCEarlyDataComplete.
    Complete,
    /// Nothing but that preconfigured data has arrived: a DCI without a block.
    Acknowledge,
}

/// RLC of both ends in one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bearer {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// Whether packets may be sent in the connection, beside signalling.
    pub(crate) is_open: bool,
}

impl Bearer {
    pub(crate) fn reset(&mut self) {
        self.sender.reset();
        self.receiver = Receiver::default();
        self.is_open = false;
    }
}

/// What RLC puts into a block.
#[derive(Clone, Debug, Default)]
pub(crate) struct DataBlock {
    pub(crate) pdu: Option<Pdu>,
    /// Of the other direction.
    pub(crate) status: Option<Status>,
    /// Bytes that the device still has to send; uplink only.
    pub(crate) buffered: u32,
}

/// What a block carries.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// An uplink grant that the device has not heard of yet.
    Grant,
    /// Msg3, with data in early data transmission.
    Msg3(Option<DataBlock>),
    /// Msg4, with data in early data transmission.
    Msg4(Msg4, DataBlock),
    /// Data and signalling.
    Data(DataBlock),
}

/// The transport format of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Format {
    Down(NpdschFormat),
    Up(NpuschFormat),
}

/// The block in the device's HARQ process (Release 13 has one).
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Changes with every transmission, so that events of earlier ones are void.
    pub(crate) serial: u32,
    pub(crate) format: Format,
    pub(crate) content: Content,
    /// Transmissions so far.
    pub(crate) attempt: u8,
    /// What the receiver has combined.
    pub(crate) energy: f64,
    /// The block fails while its error rate is above this number, drawn once.
    pub(crate) draw: f64,
    /// Whether the device has decoded the DCI of this transmission.
    pub(crate) is_heard: bool,
    pub(crate) is_decoded: bool,
    pub(crate) is_on_air: bool,
    pub(crate) dci: Interval,
    pub(crate) dci_repetitions: u64,
    pub(crate) data: Interval,
    /// Of NPUSCH, or of the HARQ-ACK.
    pub(crate) bins: Bins,
    /// When the HARQ-ACK is sent; downlink only.
    pub(crate) ack: Interval,
    pub(crate) on_ack: OnAck,
}

impl Block {
    /// A new block, on the air for the first time.
    pub(crate) fn new(serial: u32, format: Format, content: Content, draw: f64) -> Self {
        Self {
            serial,
            format,
            content,
            attempt: 1,
            energy: 0.0,
            draw,
            is_heard: false,
            is_decoded: false,
            is_on_air: true,
            dci: Interval::default(),
            dci_repetitions: 0,
            data: Interval::default(),
            bins: Bins::default(),
            ack: Interval::default(),
            on_ack: OnAck::Nothing,
        }
    }

    /// The block is on the air once more.
    pub(crate) const fn repeat(&mut self, serial: u32) {
        self.serial = serial;
        self.attempt += 1;
        self.is_heard = false;
        self.is_on_air = true;
    }
}

/// What the cell does when it reads the HARQ-ACK of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnAck {
    Nothing,
    /// It grants Msg5.
    GrantMsg5,
    /// It grants the uplink for a status report and an answer.
    GrantAnswer,
    /// It forgets the connection: the device is idle.
    GoIdle,
}

/// A device.
#[derive(Debug)]
pub(crate) struct Ue {
    pub(crate) gains: Gains,
    /// Its carrier of the cell; 0 is the anchor.
    pub(crate) carrier: usize,
    pub(crate) fading: Fading,
    /// For everything that happens to the device in its order: errors, subcarriers, backoff.
    pub(crate) rng: Rng,
    pub(crate) first_level: usize,
    /// The coverage level that it is in now.
    pub(crate) level: usize,
    pub(crate) rrc: RrcState,
    pub(crate) access: Option<Access>,
    pub(crate) access_serial: u32,
    pub(crate) msg4: Option<Msg4>,
    /// Whether the cell counts it among its connections.
    pub(crate) is_admitted: bool,
    pub(crate) up: Bearer,
    pub(crate) down: Bearer,
    pub(crate) block: Option<Block>,
    pub(crate) block_serial: u32,
    /// Bytes for which the cell owes it a grant.
    pub(crate) granted: u32,
    /// It monitors NPDCCH from then on.
    pub(crate) eligible: Subframe,
    /// The end of what it sent or received last in its connection: C-DRX counts from then on.
    pub(crate) resting_since: Subframe,
    /// When it begins to listen in a cycle of C-DRX, in 256ths of the cycle.
    pub(crate) drx_start: u16,
    /// Whether it is in its cell's queue.
    pub(crate) is_queued: bool,
    /// The direction of its last grant.
    pub(crate) last: Direction,
    /// Outer loop of link adaptation, by direction.
    pub(crate) offset_db: BothWays<f64>,
    pub(crate) last_activity: Subframe,
    pub(crate) is_release_sent: bool,
    /// Whether the device has got the release.
    pub(crate) is_releasing: bool,
    /// Whether the cell releases the device after the next downlink packet.
    pub(crate) release_after_downlink: bool,
    /// Whether that packet has arrived.
    pub(crate) is_release_due: bool,
    /// Whether a page is due or on the air.
    pub(crate) is_paged: bool,
    /// Pages since it was connected last.
    pub(crate) pages: u32,
    /// When it became idle.
    pub(crate) idle_since: Subframe,
    /// Whether its timing advance is valid for preconfigured resources; drawn at the first use.
    pub(crate) has_timing_advance: Option<bool>,
    /// Its next preconfigured resource comes not before.
    pub(crate) next_resource: Subframe,
    /// Whether its transmissions are told.
    pub(crate) is_recorded: bool,
    /// When the current random access for a connection began.
    pub(crate) active_since: Subframe,
    pub(crate) counters: UeCounters,
}

impl Ue {
    pub(crate) fn new(gains: Gains, level: usize, fading: Fading, rng: Rng) -> Self {
        Self {
            gains,
            carrier: 0,
            fading,
            rng,
            first_level: level,
            level,
            rrc: RrcState::Idle,
            access: None,
            access_serial: 0,
            msg4: None,
            is_admitted: false,
            up: Bearer::default(),
            down: Bearer::default(),
            block: None,
            block_serial: 0,
            granted: 0,
            eligible: Subframe::START,
            resting_since: Subframe::START,
            drx_start: 0,
            is_queued: false,
            last: Direction::Down,
            offset_db: BothWays::default(),
            last_activity: Subframe::START,
            is_release_sent: false,
            is_releasing: false,
            release_after_downlink: false,
            is_release_due: false,
            is_paged: false,
            pages: 0,
            idle_since: Subframe::START,
            has_timing_advance: None,
            next_resource: Subframe::START,
            is_recorded: false,
            active_since: Subframe::START,
            counters: UeCounters::default(),
        }
    }

    /// The serving cell.
    pub(crate) const fn serving(&self) -> usize {
        self.gains.serving
    }

    /// Its carrier of the serving cell, among the cells of all carriers.
    pub(crate) fn cell(&self) -> usize {
        self.carrier * self.gains.linear.len() + self.gains.serving
    }

    /// The linear path gain to the serving cell.
    pub(crate) fn gain(&self) -> f64 {
        self.gains.linear[self.gains.serving]
    }

    /// Whether the cell has something to send to the device.
    pub(crate) fn has_downlink(&self) -> bool {
        let is_connected = self.rrc == RrcState::Connected;
        let has_data = self.down.sender.has_data(self.down.is_open) || self.up.receiver.is_status_due;
        self.msg4.is_some() || (is_connected && has_data)
    }

    /// Whether the device has something to send in its connection.
    pub(crate) fn has_uplink(&self) -> bool {
        self.up.sender.has_data(self.up.is_open) || self.down.receiver.is_status_due
    }

    /// Whether the cell wants to send it a DCI now.
    pub(crate) fn wants_dci(&self) -> bool {
        if let Some(block) = &self.block {
            return !block.is_on_air;
        }
        let is_reachable = self.access.is_none() || self.msg4.is_some() || self.granted > 0;
        is_reachable && (self.granted > 0 || self.has_downlink())
    }

    /// Fills a block of `room` bytes in one direction with a status report of the other and the queue, headers included.
    pub(crate) fn build(
        &mut self,
        direction: Direction,
        overheads: &Overheads,
        room: u32,
        bsr_bytes: u32,
    ) -> DataBlock {
        let (ours, theirs) = match direction {
            Direction::Up => (&mut self.up, &mut self.down.receiver),
            Direction::Down => (&mut self.down, &mut self.up.receiver),
        };
        let status_bytes = overheads.status_bytes(theirs.missing());
        let again = ours.sender.due_bytes(overheads);
        let mut room = room;
        // A packet data unit that is sent again is not cut: it goes alone where there is no room for both.
        let fits = |more: u32| again.is_none_or(|again| again > room || again + more <= room);
        let with_status = theirs.is_status_due && status_bytes <= room && fits(status_bytes);
        let status = with_status.then(|| theirs.take_status());
        room -= if with_status { status_bytes } else { 0 };
        if ours.sender.needed_bytes(overheads, ours.is_open) > room && again.is_none() {
            room = room.saturating_sub(bsr_bytes);
        }
        let pdu = ours.sender.build(overheads, room, ours.is_open);
        let buffered = ours.sender.needed_bytes(overheads, ours.is_open);
        let unsent_status = if theirs.is_status_due { status_bytes } else { 0 };
        DataBlock {
            pdu,
            status,
            buffered: buffered + unsent_status,
        }
    }

    /// Bytes that a block in one direction needs for everything.
    pub(crate) fn needed_bytes(&self, direction: Direction, overheads: &Overheads) -> u32 {
        let (ours, theirs) = match direction {
            Direction::Up => (&self.up, &self.down.receiver),
            Direction::Down => (&self.down, &self.up.receiver),
        };
        let status = match theirs.is_status_due {
            true => overheads.status_bytes(theirs.missing()),
            false => 0,
        };
        status + ours.sender.needed_bytes(overheads, ours.is_open)
    }

    /// The access whose timers have this serial.
    pub(crate) fn access_with(&mut self, serial: u32) -> Option<&mut Access> {
        self.access.as_mut().filter(|access| access.serial == serial)
    }

    /// Whether nothing is under way in its connection.
    pub(crate) fn is_resting(&self) -> bool {
        self.rrc == RrcState::Connected && self.access.is_none() && self.block.is_none()
    }

    /// The block whose events have this serial.
    pub(crate) fn block_with(&mut self, serial: u32) -> Option<&mut Block> {
        self.block
            .as_mut()
            .filter(|block| block.serial == serial && block.is_on_air)
    }
}

/// The devices of a network: those that were removed leave nothing but a number.
#[derive(Debug, Default)]
pub(crate) struct Ues {
    slots: Vec<(u32, Option<Box<Ue>>)>,
    free: Vec<u32>,
}

impl Ues {
    pub(crate) fn insert(&mut self, ue: Ue) -> UeId {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            self.slots.len() as u32 - 1
        });
        let (generation, place) = &mut self.slots[slot as usize];
        *place = Some(Box::new(ue));
        UeId {
            slot,
            generation: *generation,
        }
    }

    pub(crate) fn get(&self, id: UeId) -> Option<&Ue> {
        let (generation, ue) = self.slots.get(id.slot as usize)?;
        ue.as_deref().filter(|_| *generation == id.generation)
    }

    pub(crate) fn get_mut(&mut self, id: UeId) -> Option<&mut Ue> {
        let (generation, ue) = self.slots.get_mut(id.slot as usize)?;
        ue.as_deref_mut().filter(|_| *generation == id.generation)
    }

    pub(crate) fn remove(&mut self, id: UeId) -> Option<Box<Ue>> {
        self.get(id)?;
        let (generation, ue) = &mut self.slots[id.slot as usize];
        *generation += 1;
        self.free.push(id.slot);
        ue.take()
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RadioConfig;

    fn ue() -> Ue {
        let fading = Fading::new(&RadioConfig::default(), Rng::new(1));
        Ue::new(Gains::fixed(&[-100.0]), 0, fading, Rng::new(2))
    }

    #[test]
    fn a_removed_device_is_not_found_again() {
        let mut ues = Ues::default();
        let first = ues.insert(ue());
        assert!(ues.remove(first).is_some());
        let second = ues.insert(ue());
        assert_ne!(first, second);
        assert!(ues.get(first).is_none() && ues.get(second).is_some());
        assert!(ues.remove(first).is_none());
        assert_eq!((ues.len(), ues.slots.len()), (1, 1));
    }
}
