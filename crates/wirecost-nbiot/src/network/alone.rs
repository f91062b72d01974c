//! A device that is alone in its cell where nothing fails: what an uplink report takes, and one that a server answers, step by step.
//!
//! No event queue and no draw: each step begins where the one before ends. Places on the carrier, transport formats and bytes are those
//! of the network, whose calendars are empty here.
//!
//! ```text
//! wait, preamble | Msg2, Msg3 | Msg4, HARQ-ACK | Msg5 and data ... | status, HARQ-ACK | inactivity | release, HARQ-ACK | status
//!                                             answered: | status | answer ..., HARQ-ACK | status |
//! ```
//!
//! An answer that is there when the status report is sent goes with it.

use std::time::Duration;

use super::access::window_gap;
use super::connection::INACTIVITY_LOOK;
use super::responses::MSG3_DELAYS;
use super::{Network, coverage_level};
use crate::config::{Config, ConfigError, Flow, ReleaseAssistance};
use crate::decibel::linear;
use crate::drx::Drx;
use crate::facts::{Airtime, StateTimes, UeCounters};
use crate::npusch::NpuschFormat;
use crate::rlc::{Control, Payload, Sender};
use crate::subframe::{Interval, PER_SFN_CYCLE, Subframe};
use crate::tables::NPUSCH_DELAYS;

/// Begins of a report that a mean is over, evenly spaced over a cycle of the system frame number, so that no period divides the step.
const BEGINS: u64 = 41;

/// What a step or all of them take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AloneTimes {
    /// Time in each state.
    pub states: StateTimes,
    /// Time on the air by channel.
    pub airtime: Airtime,
}

/// A cell with one device.
#[derive(Debug)]
pub struct Alone {
    /// Nothing is booked in it, and no device is in it.
    network: Network,
}

impl Alone {
    /// A cell of this configuration; `None` for flows other than `resume`, of which the steps here are.
    ///
    /// # Errors
    /// The configuration has a value that is not allowed.
    pub fn new(config: &Config) -> Result<Option<Self>, ConfigError> {
        let network = Network::new(config, 0)?;
        Ok((config.rrc.flow == Flow::Resume).then_some(Self { network }))
    }

    /// The coverage level at a coupling loss in dB: 0, 1 or 2.
    pub fn level(&self, loss_db: f64) -> usize {
        coverage_level(&self.network.config, -loss_db)
    }

    /// What a report of `bytes` of IP takes that begins at `from`, from the begin of random access to the return to idle.
    pub fn report(&mut self, loss_db: f64, bytes: u32, from: Subframe) -> AloneTimes {
        let mut steps = Steps::new(&mut self.network, loss_db, from);
        steps.access();
        steps.data(bytes);
        steps.taken(from)
    }

    /// What a report of `bytes` of IP takes that begins at `from` and is answered by a packet, from the begin of random access to the return
    /// to idle. `None` where the connection ends before the answer comes, or where the device asks for the grant of its status report.
    pub fn exchange(
        &mut self,
        loss_db: f64,
        bytes: u32,
        answer: DownlinkAnswer,
        from: Subframe,
    ) -> Option<AloneTimes> {
        let config = &self.network.config;
        let is_kept = config.rrc.release_assistance != ReleaseAssistance::NoFurtherData
            && answer.after < Duration::from_millis(config.rrc.inactivity_ms.into());
        if !is_kept || !config.mac.ul_grant_after_dl {
            return None;
        }
        let mut steps = Steps::new(&mut self.network, loss_db, from);
        steps.access();
        let connected = steps.now;
        steps.uplink(bytes);
        let active = steps.answer(answer);
        let asks_for_release = steps.network.config.rrc.release_assistance == ReleaseAssistance::OneDownlink;
        steps.end((!asks_for_release).then_some((connected, active)));
        Some(steps.taken(from))
    }

    /// What the way into a connection takes that begins at `from`: to the end of the HARQ-ACK of Msg4.
    pub fn access(&mut self, loss_db: f64, from: Subframe) -> AloneTimes {
        let mut steps = Steps::new(&mut self.network, loss_db, from);
        steps.access();
        steps.taken(from)
    }

    /// The mean over begins of [`Alone::report`].
    pub fn mean_report(&mut self, loss_db: f64, bytes: u32) -> AloneTimes {
        mean(|from| self.report(loss_db, bytes, from))
    }

    /// The mean over begins of [`Alone::access`].
    pub fn mean_access(&mut self, loss_db: f64) -> AloneTimes {
        mean(|from| self.access(loss_db, from))
    }
}

/// A packet that answers a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DownlinkAnswer {
    /// Bytes of IP.
    pub bytes: u32,
    /// The time from the end of the report's last block until the cell has it.
    pub after: Duration,
}

fn mean(mut of: impl FnMut(Subframe) -> AloneTimes) -> AloneTimes {
    let all: Vec<AloneTimes> = (0..BEGINS)
        .map(|nth| of(Subframe::new(nth * PER_SFN_CYCLE / BEGINS)))
        .collect();
    let mean = |time: fn(&AloneTimes) -> Duration| all.iter().map(time).sum::<Duration>() / BEGINS as u32;
    AloneTimes {
        states: StateTimes {
            transmit: mean(|taken| taken.states.transmit),
            receive: mean(|taken| taken.states.receive),
            monitor: mean(|taken| taken.states.monitor),
            idle_connected: mean(|taken| taken.states.idle_connected),
        },
        airtime: Airtime {
            nprach: mean(|taken| taken.airtime.nprach),
            npdcch: mean(|taken| taken.airtime.npdcch),
            npdsch: mean(|taken| taken.airtime.npdsch),
            npusch_data: mean(|taken| taken.airtime.npusch_data),
            npusch_ack: mean(|taken| taken.airtime.npusch_ack),
        },
    }
}

/// The steps of a report so far.
struct Steps<'a> {
    network: &'a mut Network,
    level: usize,
    /// What link adaptation expects, with its outer loop: downlink, and uplink with all power on one bin.
    down_db: f64,
    up_db: f64,
    /// The end of what was on the air last.
    now: Subframe,
    /// The device monitors NPDCCH from then on.
    monitors: Subframe,
    /// C-DRX of its connection, and the end of what was on the air last in it.
    drx: Option<Drx>,
    resting_since: Subframe,
    counters: UeCounters,
}

impl<'a> Steps<'a> {
    fn new(network: &'a mut Network, loss_db: f64, from: Subframe) -> Self {
        let level = coverage_level(&network.config, -loss_db);
        let gain = linear(-loss_db);
        Self {
            down_db: network.radio.downlink_sinr_db(&[gain], 0, 0.0),
            up_db: network.radio.bin_snr_db(gain, level),
            level,
            now: from,
            monitors: from,
            drx: None,
            resting_since: from,
            counters: UeCounters::default(),
            network,
        }
    }

    fn taken(&self, from: Subframe) -> AloneTimes {
        let active = self.now.since(from);
        AloneTimes {
            states: self.counters.states(active, self.network.duty(0, self.level)),
            airtime: self.counters.airtime(),
        }
    }

    /// Preamble, Msg2 to Msg4.
    fn access(&mut self) {
        let nprach = self.network.levels[self.level].nprach;
        let occasion = nprach.next(self.now);
        self.counters.occasion_wait += occasion.since(self.now);
        self.counters.nprach += nprach.length;
        self.now = occasion + nprach.length;
        self.monitors = self.now + window_gap(nprach.repetitions);
        let random_access = self.network.config.random_access;
        let dci = self.dci();
        self.now = self.block(dci, u32::from(random_access.response_bytes));
        let least = u64::from(random_access.msg3_delay_ms);
        let first = MSG3_DELAYS.iter().position(|delay| *delay >= least).unwrap_or(0);
        self.send(&MSG3_DELAYS[first..], random_access.msg3_bits.into());
        self.receive(self.network.config.rrc.msg4_bytes());
    }

    /// Msg5 with the packet, the status report, the release.
    fn data(&mut self, bytes: u32) {
        let connected = self.now;
        self.uplink(bytes);
        let status = self.network.overheads.status_bytes(0);
        match self.network.config.rrc.release_assistance {
            ReleaseAssistance::NoFurtherData => {
                let release = self.release_bytes();
                self.receive(status + release);
                self.released();
            }
            ReleaseAssistance::None | ReleaseAssistance::OneDownlink => {
                let active = self.receive(status);
                self.end(Some((connected, active)));
            }
        }
    }

    /// Msg5 with the packet, in as many blocks as they take.
    fn uplink(&mut self, bytes: u32) {
        // Begins of reports are spread over the cycle: where in it on durations begin makes no difference to their mean.
        let start = self.network.config.cdrx.start_offset.unwrap_or_default();
        self.drx = self.network.drx(self.level, start);
        let (rrc, overheads) = (self.network.config.rrc, self.network.overheads);
        let mut sender = Sender::default();
        self.push_packet(&mut sender, bytes);
        sender.push(
            Payload::Control(Control::Msg5),
            self.network.control_bytes(Control::Msg5),
        );
        let mut granted = sender.needed_bytes(&overheads, rrc.data_with_msg5);
        let bsr_bytes = self.network.config.mac.bsr_bytes;
        while granted > 0 {
            let format = self.grant(granted);
            let room = u32::from(format.bits / 8);
            let is_last = sender.needed_bytes(&overheads, true) <= room;
            sender.build(&overheads, room - if is_last { 0 } else { bsr_bytes }, true);
            granted = sender.needed_bytes(&overheads, true);
        }
    }

    /// Queues an IP packet.
    fn push_packet(&self, sender: &mut Sender, bytes: u32) {
        let header = self.network.config.pdcp.drb_header_bytes;
        sender.push(Payload::Packet { token: 0 }, bytes + header);
    }

    /// The status report for the packet that was sent, the answer, and the device's status report for it; when the last of them ends.
    fn answer(&mut self, answer: DownlinkAnswer) -> Subframe {
        let overheads = self.network.overheads;
        let mut status = overheads.status_bytes(0);
        let mut sender = Sender::default();
        self.push_packet(&mut sender, answer.bytes);
        let arrives = Subframe::at_or_after(self.now.instant() + answer.after);
        if self.search_space() < arrives {
            // The cell does not wait for the answer.
            self.receive(status);
            status = 0;
            self.monitors = self.monitors.max(arrives);
        }
        while sender.has_data(true) {
            let bytes = status + sender.needed_bytes(&overheads, true);
            let format = self.network.adaptation.npdsch(8 * bytes, self.down_db);
            let room = u32::from(format.bits / 8);
            self.receive(bytes);
            sender.build(&overheads, room.saturating_sub(status), true);
            status = 0;
        }
        let grant = self.network.config.mac.ul_grant_bytes;
        self.grant(grant);
        self.now
    }

    /// The release: at once, or after the inactivity time of a connection with its begin and its last block.
    fn end(&mut self, inactive: Option<(Subframe, Subframe)>) {
        if let Some((connected, active)) = inactive {
            self.wait(connected, active);
        }
        let release = self.release_bytes();
        self.receive(release);
        self.released();
    }

    /// Bytes of a block with the release.
    fn release_bytes(&self) -> u32 {
        let mut release = Sender::default();
        release.push(
            Payload::Control(Control::Release),
            self.network.control_bytes(Control::Release),
        );
        release.needed_bytes(&self.network.overheads, false)
    }

    /// What the device sends after its release.
    fn released(&mut self) {
        if self.network.config.rrc.status_after_release {
            let grant = self.network.config.mac.ul_grant_bytes;
            self.grant(grant);
        }
    }

    /// The cell looks at the connection until nothing was sent in it for the inactivity time.
    fn wait(&mut self, connected: Subframe, active: Subframe) {
        let inactivity = u64::from(self.network.config.rrc.inactivity_ms);
        let due = active + inactivity;
        let mut look = connected + inactivity;
        while look < due {
            look = due.max(look + inactivity.min(INACTIVITY_LOOK));
        }
        self.monitors = self.monitors.max(look);
    }

    /// The next search space that the device monitors.
    fn search_space(&self) -> Subframe {
        let space = self.network.levels[self.level].space;
        match self.drx {
            Some(drx) => drx.first_heard(&space, self.resting_since, self.monitors),
            None => space.next(self.monitors),
        }
    }

    /// A DCI in the next search space.
    fn dci(&mut self) -> Interval {
        let space = self.network.levels[self.level].space;
        let at = self.search_space();
        let asleep = self.drx.map(|drx| drx.asleep(self.resting_since, at));
        self.counters.asleep += asleep.unwrap_or_default();
        let repetitions = self.network.adaptation.npdcch(&space, self.down_db);
        let place = self.network.place_dci(0, self.level, at, repetitions);
        let interval = place.map_or(Interval::new(at, at), |place| place.interval);
        self.counters.npdcch += interval.len();
        interval
    }

    /// A downlink block after a DCI; when it ends.
    fn block(&mut self, dci: Interval, bytes: u32) -> Subframe {
        let format = self.network.adaptation.npdsch(8 * bytes, self.down_db);
        let mut places = self
            .network
            .places_of_npdsch(0, self.level, dci.end, format.length());
        let interval = places
            .next()
            .map_or(Interval::new(dci.end, dci.end), |place| place.interval);
        drop(places);
        self.counters.npdsch += interval.len();
        interval.end
    }

    /// A DCI, a downlink block and its HARQ-ACK; when the block ends.
    fn receive(&mut self, bytes: u32) -> Subframe {
        let dci = self.dci();
        let end = self.block(dci, bytes);
        let ack = self.network.place_ack(0, self.level, end);
        let ack = ack.map_or(Interval::new(end, end), |place| place.interval);
        self.counters.npusch_ack += ack.len();
        self.down_db += self.outer_loop_db();
        self.ended(ack.end);
        end
    }

    /// A DCI and the uplink block that it grants.
    fn grant(&mut self, bytes: u32) -> NpuschFormat {
        let mac = &self.network.config.mac;
        let bits = 8 * (bytes + mac.bsr_bytes);
        let least = u64::from(mac.npusch_after_dci_ms);
        let first = NPUSCH_DELAYS
            .iter()
            .position(|delay| *delay >= least)
            .unwrap_or(0);
        self.now = self.dci().end;
        self.send(&NPUSCH_DELAYS[first..], bits)
    }

    /// An uplink block after one of `delays` from now.
    fn send(&mut self, delays: &[u64], bits: u32) -> NpuschFormat {
        let formats = self.network.adaptation.npusch(bits, self.up_db);
        let placed = self.network.place_npusch(0, self.now, delays, &formats);
        let (format, end) = placed.map_or((formats[0], self.now), |(format, place)| {
            (format, place.interval.end)
        });
        self.counters.npusch_data += format.length();
        self.up_db += self.outer_loop_db();
        self.ended(end);
        format
    }

    fn ended(&mut self, at: Subframe) {
        self.now = at;
        self.monitors = self.network.timing.monitor(at);
        self.resting_since = self.monitors;
    }

    /// What the outer loop of link adaptation adds after a block that was decoded.
    fn outer_loop_db(&self) -> f64 {
        let link = &self.network.config.link;
        link.outer_loop_step_db * link.bler_target / (1.0 - link.bler_target)
    }
}
