//! Connections: from Msg4 to the release, and what RLC hands up.

use wirecost_proto::Direction;

use super::{AirEvent, Event, LossCause, Network};
use crate::config::Flow;
use crate::rlc::{Control, Payload};
use crate::subframe::Subframe;
use crate::tables::NPDSCH_MAX_BITS;
use crate::ue::{DataBlock, Msg4, Purpose, RrcState, UeId};

/// The longest time between two looks at a connection without traffic, in subframes.
pub(super) const INACTIVITY_LOOK: u64 = 100;

impl Network {
    /// A device has something to send: without a connection it begins random access; within one it waits for its grant, or begins
    /// random access where none will come.
    pub(super) fn request_uplink(&mut self, ue: UeId, now: Subframe) {
        let Some(device) = self.ues.get(ue) else {
            return;
        };
        match device.rrc {
            RrcState::Idle if device.up.sender.has_packets() => {
                if !self.use_preconfigured(ue, now) {
                    self.begin_access(ue, Purpose::Connect, now);
                }
            }
            RrcState::Idle | RrcState::Connecting => {}
            RrcState::Connected => {
                let comes_a_grant = device.granted > 0 || device.block.is_some() || device.is_releasing;
                if device.has_uplink() && !comes_a_grant {
                    self.begin_access(ue, Purpose::Request, now);
                }
            }
        }
    }

    /// The cell has something for a device: an idle one is paged.
    pub(super) fn request_downlink(&mut self, ue: UeId, now: Subframe) {
        let Some(device) = self.ues.get(ue) else {
            return;
        };
        match device.rrc {
            RrcState::Idle => self.page(ue, now),
            RrcState::Connecting => {}
            RrcState::Connected => self.make_ready(ue, now),
        }
    }

    /// Bytes of a signalling message with its PDCP header; signalling without security has none.
    pub(super) fn control_bytes(&self, control: Control) -> u32 {
        let rrc = &self.config.rrc;
        let header = match rrc.flow {
            Flow::ControlPlane => 0,
            Flow::Resume | Flow::Setup | Flow::EarlyData | Flow::Preconfigured => {
                self.config.pdcp.srb_header_bytes
            }
        };
        header
            + match control {
                Control::Msg5 => rrc.msg5_bytes,
                Control::SecurityDown => rrc.security_down_bytes,
                Control::SecurityUp => rrc.security_up_bytes,
                Control::Release => rrc.release_bytes,
            }
    }

    fn send_control(&mut self, ue: UeId, direction: Direction, control: Control) {
        let bytes = self.control_bytes(control);
        if let Some(device) = self.ues.get_mut(ue) {
            let bearer = match direction {
                Direction::Up => &mut device.up,
                Direction::Down => &mut device.down,
            };
            bearer.sender.push(Payload::Control(control), bytes);
        }
    }

    /// A device has decoded the Msg4 that gives it a connection.
    pub(super) fn become_connected(&mut self, ue: UeId, now: Subframe) {
        let rrc = self.config.rrc;
        let Some(device) = self.ues.get_mut(ue) else {
            return;
        };
        device.rrc = RrcState::Connected;
        device.up.is_open = rrc.flow != Flow::Setup;
        device.last_activity = now;
        device.pages = 0;
        device.counters.connections += 1;
        let connection = device.counters.connections;
        self.send_control(ue, Direction::Up, Control::Msg5);
        if rrc.removal_ms.is_none() {
            let at = now + u64::from(rrc.inactivity_ms);
            self.events.push(at, Event::Inactivity { ue, connection });
        }
        let at = now.instant();
        self.outbox.push(AirEvent::Connected { ue, at });
    }

    /// Takes what RLC put into a decoded block.
    pub(super) fn receive_data(&mut self, ue: UeId, direction: Direction, data: DataBlock, now: Subframe) {
        let overheads = self.overheads;
        let Some(device) = self.ues.get_mut(ue) else {
            return;
        };
        device.last_activity = now;
        let (ours, theirs) = match direction {
            Direction::Up => (&mut device.up, &mut device.down),
            Direction::Down => (&mut device.down, &mut device.up),
        };
        let checked = data
            .status
            .map_or(Ok(()), |status| theirs.sender.handle_status(&status, &overheads));
        let count = data.pdu.map_or(0, |pdu| ours.receiver.receive(pdu));
        let delivered: Vec<Payload> = ours.sender.delivered(count).collect();
        for payload in delivered {
            match payload {
                Payload::Packet { token } => self.deliver(ue, direction, token, now),
                Payload::Control(control) => self.handle_control(ue, control),
            }
        }
        if checked.is_err() {
            self.fail(ue, LossCause::RadioLinkFailure, now);
        }
    }

    fn deliver(&mut self, ue: UeId, direction: Direction, token: u64, now: Subframe) {
        if let Some(device) = self.ues.get_mut(ue) {
            device.is_release_due |= direction == Direction::Down && device.release_after_downlink;
        }
        let at = now.instant();
        self.outbox.push(AirEvent::Delivered {
            ue,
            direction,
            token,
            at,
        });
    }

    fn handle_control(&mut self, ue: UeId, control: Control) {
        let rrc = self.config.rrc;
        let (overheads, grant) = (self.overheads, self.config.mac.ul_grant_bytes);
        match control {
            Control::Msg5 if rrc.flow == Flow::Setup => {
                self.send_control(ue, Direction::Down, Control::SecurityDown)
            }
            Control::SecurityDown => self.send_control(ue, Direction::Up, Control::SecurityUp),
            Control::Msg5 | Control::SecurityUp | Control::Release => {}
        }
        let Some(device) = self.ues.get_mut(ue) else {
            return;
        };
        match control {
            Control::Msg5 => device.down.is_open = rrc.flow != Flow::Setup,
            Control::SecurityUp => device.down.is_open = true,
            Control::SecurityDown => {
                device.up.is_open = true;
                // The cell knows how long the answer is.
                device.granted = device.needed_bytes(Direction::Up, &overheads);
            }
            Control::Release => {
                device.is_releasing = true;
                device.granted = if rrc.status_after_release { grant } else { 0 };
            }
        }
    }

    /// Goes on with a device after a block: whatever is left gets a DCI, or the device asks for one.
    pub(super) fn settle(&mut self, ue: UeId, now: Subframe) {
        let Some(device) = self.ues.get(ue) else {
            return;
        };
        let eligible = device.eligible;
        self.make_ready(ue, eligible);
        self.request_uplink(ue, now);
    }

    /// Starts the poll timer of one direction after a block that polls.
    pub(super) fn start_poll_timer(&mut self, ue: UeId, direction: Direction, end: Subframe) {
        let Some(device) = self.ues.get(ue) else {
            return;
        };
        let sender = match direction {
            Direction::Up => &device.up.sender,
            Direction::Down => &device.down.sender,
        };
        if !sender.is_polling() {
            return;
        }
        let poll = sender.poll_number();
        let length = u64::from(self.levels[device.level].config.t_poll_retransmit_ms);
        self.events
            .push(end + length, Event::PollTimer { ue, direction, poll });
    }

    /// A poll timer has ended.
    pub(super) fn handle_poll_timer(&mut self, ue: UeId, direction: Direction, poll: u32, now: Subframe) {
        let overheads = self.overheads;
        let Some(device) = self.ues.get_mut(ue) else {
            return;
        };
        if device.rrc != RrcState::Connected {
            return;
        }
        let sender = match direction {
            Direction::Up => &mut device.up.sender,
            Direction::Down => &mut device.down.sender,
        };
        if sender.handle_poll_timer(poll, &overheads).is_err() {
            return self.fail(ue, LossCause::RadioLinkFailure, now);
        }
        self.make_ready(ue, now);
        self.request_uplink(ue, now);
    }

    /// The inactivity timer: the cell releases a device without traffic.
    pub(super) fn handle_inactivity(&mut self, ue: UeId, connection: u32, now: Subframe) {
        let inactivity = u64::from(self.config.rrc.inactivity_ms);
        let Some(device) = self.ues.get(ue) else {
            return;
        };
        if device.rrc != RrcState::Connected
            || device.counters.connections != connection
            || device.is_release_sent
        {
            return;
        }
        let due = device.last_activity + inactivity;
        let is_busy =
            device.block.is_some() || device.granted > 0 || device.access.is_some() || device.has_downlink();
        if due <= now && !is_busy {
            self.send_release(ue);
            return self.make_ready(ue, now);
        }
        let next = due.max(now + inactivity.min(INACTIVITY_LOOK));
        self.events.push(next, Event::Inactivity { ue, connection });
    }

    /// The cell releases the connection.
    pub(super) fn send_release(&mut self, ue: UeId) {
        let Some(device) = self.ues.get_mut(ue) else {
            return;
        };
        if device.rrc == RrcState::Connected && !std::mem::replace(&mut device.is_release_sent, true) {
            self.send_control(ue, Direction::Down, Control::Release);
        }
    }

    /// The cell answers early or preconfigured data: with what has come for the device, or with a connection where that does not fit.
    /// Preconfigured data without an answer is acknowledged by a DCI alone.
    pub(super) fn answer_early_data(&mut self, ue: UeId, serial: u32, now: Subframe) {
        let room = u32::from(NPDSCH_MAX_BITS / 8).saturating_sub(self.config.rrc.msg4_resume_bytes);
        let overheads = self.overheads;
        let Some(device) = self.ues.get_mut(ue) else {
            return;
        };
        let Some(purpose) = device.access_with(serial).map(|access| access.purpose) else {
            return;
        };
        device.down.is_open = true;
        let needed = device.needed_bytes(Direction::Down, &overheads);
        let fits = needed <= room && !device.up.sender.has_packets();
        let is_empty = !device.down.sender.has_packets();
        device.msg4 = Some(match (fits, purpose) {
            (true, Purpose::Preconfigured) if is_empty => Msg4::Acknowledge,
            (true, _) => Msg4::Complete,
            (false, _) => Msg4::Connect,
        });
        device.down.is_open = fits;
        self.make_ready(ue, now);
    }

    /// The device has no connection any more. What is still queued makes it ask for the next one.
    pub(super) fn become_idle(&mut self, ue: UeId, now: Subframe) {
        let slept = self.ues.get(ue).map_or(0, |device| self.slept(device, now));
        let Some(device) = self.ues.get_mut(ue) else {
            return;
        };
        device.counters.asleep += slept;
        device.rrc = RrcState::Idle;
        device.idle_since = now;
        device.counters.active += now.since(device.active_since);
        device.access = None;
        device.msg4 = None;
        device.block = None;
        device.granted = 0;
        device.is_release_sent = false;
        device.is_releasing = false;
        device.release_after_downlink = false;
        device.is_release_due = false;
        device.level = device.first_level;
        device.up.reset();
        device.down.reset();
        if std::mem::take(&mut device.is_admitted) {
            self.cells[device.serving()].connections -= 1;
        }
        let (has_uplink, has_downlink) = (device.up.sender.has_packets(), device.down.sender.has_packets());
        let at = now.instant();
        self.outbox.push(AirEvent::Released { ue, at });
        if has_uplink {
            self.request_uplink(ue, now);
        } else if has_downlink {
            self.request_downlink(ue, now);
        }
    }
}
