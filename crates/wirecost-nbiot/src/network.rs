//! The network: cells, devices, and the events between them.
//!
//! The exchange of one report with the flow `resume`, as events:
//!
//! ```text
//! device                                  cell
//!   preamble at an occasion          ->          network/access.rs
//!   <- DCI, random access response               network/responses.rs
//!   Msg3                             ->          network/uplink.rs
//!   <- DCI, Msg4; HARQ-ACK           ->          network/downlink.rs
//!   <- DCI; Msg5 and data            ->          network/scheduler.rs decides
//!   <- DCI, RLC status; HARQ-ACK     ->
//!   <- DCI, release; HARQ-ACK        ->          network/connection.rs
//!   <- DCI; RLC status               ->
//! ```
//!
//! `network/preconfigured.rs` has the flow without a preamble, `network/paging.rs` what wakes an idle device,
//! `network/discontinuous.rs` when a connected one listens.

mod access;
pub mod alone;
mod connection;
mod discontinuous;
mod downlink;
mod paging;
mod placement;
mod preconfigured;
mod recording;
mod responses;
mod scheduler;
mod sinr;
mod uplink;

use wirecost_proto::{BothWays, Direction, Instant, Rng};

use crate::adaptation::Adaptation;
use crate::cell::Cell;
use crate::config::{Config, ConfigError, DownlinkFrameConfig, Flow, LevelConfig};
use crate::downlink::FrameBudget;
use crate::events::EventQueue;
use crate::facts::{CellFacts, UeFacts};
use crate::fading::Fading;
use crate::gains::Gains;
use crate::geometry::Geometry;
use crate::npdcch::SearchSpace;
use crate::nprach::Nprach;
use crate::radio::{BINS, Radio, coverage_level};
use crate::rlc::{Overheads, Payload};
use crate::subframe::{Interval, Subframe, duration};
use crate::timing::Timing;
use crate::ue::{RrcState, Ue, UeId, Ues};
use paging::PageBlock;
use preconfigured::Resource;
use recording::OnAir;
pub use recording::{Channel, Message, Transmission};
use responses::ResponseBlock;

const FADING: u64 = 3;
const EVENTS: u64 = 4;
const CARRIER: u64 = 5;

/// An IP packet for the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The caller's name for it, returned when it is delivered or lost.
    pub token: u64,
    /// Its length with all headers from IP on, in bytes.
    pub bytes: u32,
}

/// What [`Network::advance`] tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AirEvent {
    /// A packet has crossed the air.
    Delivered {
        /// The device.
        ue: UeId,
        /// Which way.
        direction: Direction,
        /// The packet's name.
        token: u64,
        /// When its last block ended.
        at: Instant,
    },
    /// A packet will not cross the air.
    Lost {
        /// The device.
        ue: UeId,
        /// Which way it should have gone.
        direction: Direction,
        /// The packet's name.
        token: u64,
        /// When that was known.
        at: Instant,
        /// Why.
        cause: LossCause,
    },
    /// A device has a connection: it has decoded Msg4.
    Connected {
        /// The device.
        ue: UeId,
        /// When.
        at: Instant,
    },
    /// A transmission of a recorded device; told in the order in which outcomes are known.
    Transmission(Transmission),
    /// A device has none any more: it was released, rejected, or its link failed.
    Released {
        /// The device.
        ue: UeId,
        /// When.
        at: Instant,
    },
}

/// Why a packet is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LossCause {
    /// RLC sent a packet data unit too often.
    RadioLinkFailure,
    /// The cell rejected the connection.
    Rejected,
    /// The device got no connection, or no grant, within the time to give up.
    NoAccess,
}

/// What happens next.
#[derive(Debug)]
enum Event {
    AccessStart {
        ue: UeId,
        serial: u32,
    },
    Occasion {
        cell: u16,
        level: u8,
    },
    PreambleEnd {
        cell: u16,
        level: u8,
    },
    AccessTimer {
        ue: UeId,
        serial: u32,
    },
    SearchSpace {
        cell: u16,
        level: u8,
    },
    ResponseEnd(Box<ResponseBlock>),
    DciEnd {
        ue: UeId,
        serial: u32,
    },
    NpuschEnd {
        ue: UeId,
        serial: u32,
    },
    NpdschEnd {
        ue: UeId,
        serial: u32,
    },
    AckEnd {
        ue: UeId,
        serial: u32,
    },
    PollTimer {
        ue: UeId,
        direction: Direction,
        poll: u32,
    },
    Inactivity {
        ue: UeId,
        connection: u32,
    },
    ConnectionTimer {
        ue: UeId,
        since: Subframe,
    },
    Paging {
        ue: UeId,
    },
    PageEnd(Box<PageBlock>),
    EarlyAnswer {
        ue: UeId,
        serial: u32,
    },
    Preconfigured {
        ue: UeId,
        serial: u32,
        resource: Box<Resource>,
    },
    AcknowledgementEnd {
        ue: UeId,
        serial: u32,
        dci: Interval,
        repetitions: u64,
    },
}

/// The channels of one coverage level.
#[derive(Clone, Copy, Debug)]
struct Level {
    nprach: Nprach,
    space: SearchSpace,
    config: LevelConfig,
}

/// NB-IoT cells and their devices, in virtual time.
///
/// A driver makes devices arrive, offers packets, and lets time go on; the network holds each packet until it is delivered or lost.
/// The same configuration, seed and calls give the same events.
///
/// ```
/// use wirecost_nbiot::{AirEvent, Config, Network, Packet};
/// use wirecost_proto::{Direction, Instant};
///
/// let mut network = Network::new(&Config::default(), 1).unwrap();
/// let ue = network.arrive(0, Instant::START);
/// network.offer(ue, Direction::Up, Packet { token: 7, bytes: 58 }, Instant::START);
/// let mut delivered = None;
/// while let Some(next) = network.next_event() {
///     network.advance(next, &mut |event| {
///         if let AirEvent::Delivered { token: 7, at, .. } = event {
///             delivered = Some(at);
///         }
///     });
/// }
/// assert!(delivered.unwrap() < Instant::from_millis(20_000));
/// ```
#[derive(Debug)]
pub struct Network {
    config: Config,
    seed: Rng,
    geometry: Geometry,
    radio: Radio,
    /// Of the anchor, and of carriers without broadcast.
    budgets: [FrameBudget; 2],
    adaptation: Adaptation,
    overheads: Overheads,
    timing: Timing,
    levels: [Level; 3],
    /// All cells on their anchor, then all on each further carrier.
    cells: Vec<Cell>,
    ues: Ues,
    events: EventQueue<Event>,
    outbox: Vec<AirEvent>,
    /// The longest bookings of any cell so far, of the downlink in usable subframes.
    longest: BothWays<u64>,
    /// Smoothed share of time in which a neighbour interferes with the downlink of each carrier, as link adaptation knows it.
    activity: Vec<f64>,
}

impl Network {
    /// A network without devices.
    ///
    /// # Errors
    /// The configuration has a value that is not allowed.
    pub fn new(config: &Config, seed: u64) -> Result<Self, ConfigError> {
        config.validate()?;
        let levels = config.levels.all().map(|level| Level {
            nprach: Nprach::new(&level, config.random_access.preamble_format),
            space: SearchSpace::new(&level),
            config: level,
        });
        let carriers = usize::from(config.scenario.carriers);
        Ok(Self {
            seed: Rng::new(seed),
            geometry: Geometry::new(&config.scenario),
            radio: Radio::new(config),
            budgets: [config.downlink, DownlinkFrameConfig::without_broadcast()]
                .map(|frame| FrameBudget::new(&frame)),
            adaptation: Adaptation::new(config),
            overheads: Overheads::new(config),
            timing: Timing::new(&config.mac),
            levels,
            cells: std::iter::repeat_with(Cell::default)
                .take(config.scenario.cells() * carriers)
                .collect(),
            ues: Ues::default(),
            events: EventQueue::default(),
            outbox: Vec::new(),
            longest: BothWays::default(),
            activity: (0..carriers)
                .map(|carrier| broadcast_share(config, carrier))
                .collect(),
            config: config.clone(),
        })
    }

    /// A device arrives, idle. Its place, its gains and everything that chance does to it come from the stream of `device`, a number
    /// of the caller's; it attaches to the cell with the largest gain, on any of its carriers alike.
    pub fn arrive(&mut self, device: u64, now: Instant) -> UeId {
        let gains = Gains::draw(&self.config, &self.geometry, self.seed.host(device));
        self.arrive_with(device, gains, now)
    }

    /// As [`Network::arrive`], with given gains.
    pub fn arrive_with(&mut self, device: u64, gains: Gains, now: Instant) -> UeId {
        let stream = self.seed.host(device);
        let level = coverage_level(&self.config, gains.serving_db());
        let fading = Fading::new(&self.config.radio, stream.purpose(FADING));
        let mut ue = Ue::new(gains, level, fading, stream.purpose(EVENTS));
        ue.carrier = stream
            .purpose(CARRIER)
            .next_below(self.config.scenario.carriers.into()) as usize;
        ue.drx_start = self.draw_drx_start(stream);
        ue.eligible = Subframe::at_or_after(now);
        ue.idle_since = ue.eligible;
        self.ues.insert(ue)
    }

    /// Takes a packet for the device (`Down`) or from it (`Up`). It waits until the network delivers it or gives it up. A packet of a
    /// device that is not in the network is dropped.
    pub fn offer(&mut self, ue: UeId, direction: Direction, packet: Packet, now: Instant) {
        let header = match self.config.rrc.flow {
            Flow::ControlPlane => self.config.rrc.nas_header_bytes,
            Flow::Resume | Flow::Setup | Flow::EarlyData | Flow::Preconfigured => {
                self.config.pdcp.drb_header_bytes
            }
        };
        let Some(device) = self.ues.get_mut(ue) else {
            return;
        };
        let payload = Payload::Packet { token: packet.token };
        let at = Subframe::at_or_after(now);
        match direction {
            Direction::Up => {
                device.up.sender.push(payload, packet.bytes + header);
                self.request_uplink(ue, at);
            }
            Direction::Down => {
                device.down.sender.push(payload, packet.bytes + header);
                self.request_downlink(ue, at);
            }
        }
    }

    /// When something happens next, without further calls; `None` where nothing does.
    pub fn next_event(&self) -> Option<Instant> {
        self.events.next_at().map(Subframe::instant)
    }

    /// Lets time go on until `now` and tells `listener` what happens, in order.
    pub fn advance(&mut self, now: Instant, listener: &mut impl FnMut(AirEvent)) {
        let until = Subframe::at_or_before(now);
        while let Some((at, event)) = self.events.pop_until(until) {
            self.handle(at, event);
            self.outbox.drain(..).for_each(&mut *listener);
        }
    }

    fn handle(&mut self, now: Subframe, event: Event) {
        match event {
            Event::AccessStart { ue, serial } => self.start_access(ue, serial, now),
            Event::Occasion { cell, level } => self.send_preambles(cell.into(), level.into(), now),
            Event::PreambleEnd { cell, level } => self.detect_preambles(cell.into(), level.into(), now),
            Event::AccessTimer { ue, serial } => self.handle_access_timer(ue, serial, now),
            Event::SearchSpace { cell, level } => self.schedule(cell.into(), level.into(), now),
            Event::ResponseEnd(block) => self.receive_responses(*block),
            Event::DciEnd { ue, serial } => self.receive_grant(ue, serial, now),
            Event::NpuschEnd { ue, serial } => self.receive_npusch(ue, serial, now),
            Event::NpdschEnd { ue, serial } => self.receive_npdsch(ue, serial, now),
            Event::AckEnd { ue, serial } => self.receive_ack(ue, serial, now),
            Event::PollTimer { ue, direction, poll } => self.handle_poll_timer(ue, direction, poll, now),
            Event::Inactivity { ue, connection } => self.handle_inactivity(ue, connection, now),
            Event::ConnectionTimer { ue, since } => self.handle_connection_timer(ue, since, now),
            Event::Paging { ue } => self.handle_paging(ue, now),
            Event::PageEnd(block) => self.receive_pages(&block, now),
            Event::EarlyAnswer { ue, serial } => self.answer_early_data(ue, serial, now),
            Event::Preconfigured { ue, serial, resource } => self.send_preconfigured(ue, serial, &resource),
            Event::AcknowledgementEnd {
                ue,
                serial,
                dci,
                repetitions,
            } => self.receive_acknowledgement(ue, serial, dci, repetitions),
        }
    }

    /// Takes a device out of the network, with the packets that it holds. Returns what it did.
    pub fn remove(&mut self, ue: UeId, now: Instant) -> Option<UeFacts> {
        let facts = self.ue_facts(ue, now);
        if let Some(device) = self.ues.remove(ue) {
            let cell = &mut self.cells[device.serving()];
            cell.connections -= u32::from(device.is_admitted);
        }
        facts
    }

    /// The state of the device's connection (TS 36.331); `None` where it is not in the network.
    pub fn rrc_state(&self, ue: UeId) -> Option<RrcState> {
        self.ues.get(ue).map(|device| device.rrc)
    }

    /// The tokens of the packets that the network holds for a device in one direction, the oldest first.
    pub fn held(&self, ue: UeId, direction: Direction) -> Vec<u64> {
        let sender = self.ues.get(ue).map(|device| match direction {
            Direction::Up => &device.up.sender,
            Direction::Down => &device.down.sender,
        });
        sender.map_or_else(Vec::new, |sender| sender.held().collect())
    }

    /// The devices in the network.
    pub fn devices(&self) -> usize {
        self.ues.len()
    }

    /// Events scheduled so far.
    pub const fn events(&self) -> u64 {
        self.events.count()
    }

    /// Where a device is and its gains to all cells.
    pub fn gains(&self, ue: UeId) -> Option<&Gains> {
        self.ues.get(ue).map(|device| &device.gains)
    }

    /// What a device did until `now`; `None` where it is not in the network.
    pub fn ue_facts(&self, ue: UeId, now: Instant) -> Option<UeFacts> {
        let device = self.ues.get(ue)?;
        let duty = self.duty(device.cell(), device.level);
        let open = match device.rrc {
            RrcState::Idle => 0,
            RrcState::Connecting | RrcState::Connected => {
                Subframe::at_or_before(now).since(device.active_since)
            }
        };
        let mut counters = device.counters;
        counters.asleep += self.slept(device, Subframe::at_or_before(now));
        Some(UeFacts {
            cell: device.serving(),
            coverage_level: device.first_level,
            path_gain_db: device.gains.serving_db(),
            airtime: counters.airtime(),
            states: counters.states(counters.active + open, duty),
            preambles: counters.preambles,
            collisions: counters.collisions,
            connections: counters.connections,
            harq_retransmissions: counters.harq_retransmissions,
            rlc_retransmissions: device.up.sender.retransmissions() + device.down.sender.retransmissions(),
        })
    }

    /// The share of time that the search spaces of a level take.
    fn duty(&self, cell: usize, level: usize) -> f64 {
        let space = &self.levels[level].space;
        (space.rmax as f64 / self.budget(cell).share() / space.period as f64).min(1.0)
    }

    /// The usable subframes of an entry of `cells`: those beside the anchors have no broadcast.
    fn budget(&self, cell: usize) -> &FrameBudget {
        &self.budgets[usize::from(cell >= self.cells())]
    }

    /// The entries of `cells` on one carrier, in the order of cells.
    fn on_carrier(&self, carrier: usize) -> &[Cell] {
        &self.cells[carrier * self.cells()..][..self.cells()]
    }

    /// What a cell did until `now`, on all of its carriers.
    ///
    /// # Panics
    /// There is no cell with this index.
    pub fn cell_facts(&self, cell: usize, now: Instant) -> CellFacts {
        let until = Subframe::at_or_before(now);
        let per_space = u64::from(self.config.mac.dci_per_npdcch_period);
        let nprach = |level: &Level| level.nprach.share() * level.nprach.subcarriers as f64 / BINS as f64;
        let nprach_share: f64 = self.levels.iter().map(nprach).sum();
        let of_each = (cell..self.cells.len()).step_by(self.cells()).map(|cell| {
            let counters = &self.cells[cell].counters;
            CellFacts {
                dci_used: counters.dci,
                dci_available: self
                    .levels
                    .map(|level| level.space.starts_before(until) * per_space),
                npdcch: duration(counters.npdcch),
                npdsch: duration(counters.npdsch),
                downlink_available: duration(self.budget(cell).usable_before(until)),
                npusch: duration(counters.npusch_bins / BINS),
                uplink_available: duration((until.index() as f64 * (1.0 - nprach_share)) as u64),
                responses: counters.responses,
            }
        });
        of_each.fold(CellFacts::default(), CellFacts::plus)
    }

    /// The number of cells.
    pub fn cells(&self) -> usize {
        self.config.scenario.cells()
    }
}

/// Share of time in which a neighbour without data interferes on a carrier: broadcast is on the anchor alone.
fn broadcast_share(config: &Config, carrier: usize) -> f64 {
    match carrier {
        0 => config.radio.broadcast_share,
        _ => 0.0,
    }
}
