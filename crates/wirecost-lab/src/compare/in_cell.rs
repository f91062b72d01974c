//! One device in a modelled NB-IoT cell in place of an emulated link, with the load of other devices.
//!
//! - `background`: the other devices
//! - `echoes`: what a round trip takes in the unloaded cell

mod background;
mod echoes;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use wirecost_link::{Counters, LinkConfig, NbiotCell};
use wirecost_nbiot::geometry::Geometry;
use wirecost_nbiot::{Config, ConfigError, Gains, Network, StateTimes, UeId};
use wirecost_proto::hosts::HostIndex;
use wirecost_proto::random::key_of;
use wirecost_proto::{BothWays, Delivery, Direction, Fate, Instant, Rng};
use wirecost_results::traffic::AirConnection;
use wirecost_sim::cells::CellEvent;
use wirecost_sim::{Carrier, Cells, Decision, Offered};

use crate::air::AirRecorder;
use background::Background;
pub use echoes::{EchoFigures, round_trips};

/// How long other devices load the cells before the device starts.
const WARM_UP: Duration = Duration::from_secs(10);
/// The number of the device. Those of other devices follow it.
const DEVICE: HostIndex = 0;

/// The longest period of what a cell repeats: NPRACH of coverage level 2. Steps of a device begin at random moments of it, because
/// a device that sends knows nothing of the cell's frames.
const LONGEST_PERIOD: Duration = Duration::from_millis(2_560);

/// How long the network may take to release the device after its end. It does so some seconds after the last packet.
const LONGEST_RELEASE: Duration = Duration::from_secs(600);

/// When the device may start: once the load of the others has built up, at a moment drawn from `rng`.
pub fn first_start(cell: &NbiotCell, rng: Rng) -> Duration {
    let built_up = if cell.is_unloaded() {
        Duration::ZERO
    } else {
        WARM_UP
    };
    built_up + moment(&mut rng.purpose(key_of("start in the cell")))
}

/// A moment within the longest period.
fn moment(rng: &mut Rng) -> Duration {
    LONGEST_PERIOD.mul_f64(rng.next_f64())
}

/// The network of a cell: that of its profile; without load one cell of it, without neighbours.
fn config(cell: &NbiotCell) -> Result<Config, ConfigError> {
    let mut config = Config::profile(cell.profile.name())?;
    // A device of a comparison stays: it is released, as by an operator, and not removed with its report.
    config.rrc.removal_ms = None;
    if cell.is_unloaded() {
        config.scenario.n_sites = 1;
        config.scenario.sectors_per_site = 1;
    }
    Ok(config)
}

/// The gains of a device with the coupling loss of `cell`. Among other cells, its place and what it hears of them are drawn as
/// for the other devices, then all gains are moved by the same number of decibels.
fn gains(config: &Config, cell: &NbiotCell, rng: Rng) -> Gains {
    if cell.is_unloaded() {
        return Gains::fixed(&[-cell.coupling_loss_db]);
    }
    let drawn = Gains::draw(config, &Geometry::new(&config.scenario), rng);
    let moved_db = -cell.coupling_loss_db - drawn.serving_db();
    let factor = wirecost_nbiot::decibel::linear(moved_db);
    Gains {
        linear: drawn.linear.iter().map(|gain| gain * factor).collect(),
        ..drawn
    }
}

/// The cells of `link`, and its device, which is idle.
fn cells_of(link: &LinkConfig, cell: &NbiotCell, rng: Rng) -> Result<(Cells, UeId), ConfigError> {
    let config = config(cell)?;
    let mut network = Network::new(&config, rng.purpose(key_of("cells")).next_u64())?;
    let gains = gains(&config, cell, rng.purpose(key_of("place")));
    let ue = network.arrive_with(DEVICE.into(), gains, Instant::START);
    let mut cells = Cells::with_delays(network, [link.up.delay, link.down.delay]);
    cells.attach(DEVICE, ue);
    Ok((cells, ue))
}

/// The way of one device through modelled cells. It is cut when the simulation must stop, so that the device soon gives up.
pub struct InCell<'a> {
    cells: Cells,
    background: Option<Background>,
    recorder: AirRecorder,
    ue: UeId,
    connections: Vec<AirConnection>,
    /// The times in each state until the end of the last connection.
    accounted: StateTimes,
    counters: BothWays<Counters>,
    /// When the device may begin its next step, after its last connection.
    free_at: Instant,
    moments: Rng,
    /// Direction and bytes of the packets on their way, with their numbers.
    on_their_way: Vec<Offered>,
    events: Vec<CellEvent>,
    stopped: &'a AtomicBool,
}

impl<'a> InCell<'a> {
    /// A device that is idle in the cell of `link`.
    ///
    /// # Errors
    /// The profile of the cell is not one of the model.
    pub fn new(
        link: &LinkConfig,
        cell: &NbiotCell,
        rng: Rng,
        stopped: &'a AtomicBool,
    ) -> Result<Self, ConfigError> {
        let (mut cells, ue) = cells_of(link, cell, rng)?;
        cells.network_mut().record(ue);
        // The load is given per cell, and devices choose among all cells.
        let rate = cell.load * cells.network().cells() as f64;
        let background = (rate > 0.0).then(|| Background::new(rate, rng.purpose(key_of("other devices"))));
        Ok(Self {
            cells,
            background,
            recorder: AirRecorder::default(),
            ue,
            connections: Vec::new(),
            accounted: StateTimes::default(),
            free_at: Instant::START,
            moments: rng.purpose(key_of("moments")),
            counters: BothWays::default(),
            on_their_way: Vec::new(),
            events: Vec::new(),
            stopped,
        })
    }

    /// The decisions about the device's packets, up and down.
    pub const fn counters(&self) -> BothWays<Counters> {
        self.counters
    }

    /// What was on the air for the device, and its connections. The last one ends when the network releases the device, after the
    /// device's own end: what is on the air until then is in the times of the connection alone.
    pub fn end(mut self) -> (AirRecorder, Vec<AirConnection>) {
        let recorder = std::mem::take(&mut self.recorder);
        // Bounded: a background that never rests keeps the cell busy without end.
        let latest = self.next_event().map(|at| at + LONGEST_RELEASE);
        let mut last = None;
        while !self.cells.is_idle(DEVICE)
            && let Some(at) = self.next_event().filter(|at| Some(*at) <= latest)
        {
            self.decide(at, &mut Vec::new());
            last = Some(at);
        }
        if let Some(at) = last.filter(|_| !self.cells.is_idle(DEVICE)) {
            self.connection_ends(at);
        }
        (recorder, self.connections)
    }

    /// Adds a connection: the times in each state since the end of the one before.
    fn connection_ends(&mut self, at: Instant) {
        let Some(facts) = self.cells.network().ue_facts(self.ue, at) else {
            return;
        };
        // The cell counts state times since the beginning; a connection has what was added since the last one ended.
        let (now, before) = (facts.states, self.accounted);
        let since = |now: Duration, before: Duration| {
            now.saturating_sub(before)
                .as_nanos()
                .try_into()
                .unwrap_or(u64::MAX)
        };
        self.connections.push(AirConnection {
            ended_ns: at.as_nanos(),
            transmit_ns: since(now.transmit, before.transmit),
            receive_ns: since(now.receive, before.receive),
            monitor_ns: since(now.monitor, before.monitor),
            wait_ns: since(now.idle_connected, before.idle_connected),
        });
        self.accounted = now;
    }

    /// Takes an event of the cells: those of other devices are the background's.
    fn take(&mut self, event: CellEvent, now: Instant, decisions: &mut Vec<Decision>) {
        let decision = match event {
            CellEvent::Delivered {
                host: DEVICE,
                number,
                arrives,
            } => Decision {
                number,
                arrives: Some(arrives),
            },
            CellEvent::Lost {
                host: DEVICE, number, ..
            } => Decision {
                number,
                arrives: None,
            },
            CellEvent::Released { host: DEVICE, at } => {
                self.connection_ends(at);
                // Without a random moment each step would meet the same phase of the cell's repeated channels, in every sample.
                self.free_at = at + moment(&mut self.moments);
                return;
            }
            CellEvent::Transmission(transmission) => return self.recorder.transmission(transmission),
            other => {
                if let Some(background) = &mut self.background {
                    background.take(other, &mut self.cells, now);
                }
                return;
            }
        };
        self.count(decision);
        self.recorder.decided(decision);
        decisions.push(decision);
    }

    fn count(&mut self, decision: Decision) {
        let is_it = |packet: &Offered| packet.number == decision.number;
        // Packets of the background are decided here too, and are no packets of the device.
        let Some(place) = self.on_their_way.iter().position(is_it) else {
            return;
        };
        let packet = self.on_their_way.swap_remove(place);
        let counters = &mut self.counters[packet.direction];
        match decision.arrives {
            Some(_) => {
                counters.delivered.packets += 1;
                counters.delivered.bytes += packet.wire_bytes as u64;
            }
            None => counters.lost += 1,
        }
    }

    fn next_event(&self) -> Option<Instant> {
        let others = self.background.as_ref().map(Background::next_event);
        self.cells.next_event().into_iter().chain(others).min()
    }
}

impl Carrier for InCell<'_> {
    const HOLDS: bool = true;

    fn offer(&mut self, packet: Offered, now: Instant, _: &mut Vec<Delivery>) -> Fate {
        if self.stopped.load(Ordering::Relaxed) {
            return Fate::Lost;
        }
        let offered = &mut self.counters[packet.direction].offered;
        offered.packets += 1;
        offered.bytes += packet.wire_bytes as u64;
        self.on_their_way.push(packet);
        self.recorder.offered(&packet);
        self.cells.offer(&packet, now);
        Fate::Held
    }

    fn busy_until(&self, host: HostIndex, now: Instant) -> Instant {
        match self.cells.is_idle(host) {
            true => self.free_at,
            false => now,
        }
    }

    fn next_decision(&self) -> Option<Instant> {
        self.next_event()
    }

    fn decide(&mut self, now: Instant, decisions: &mut Vec<Decision>) {
        while let Some(at) = self.next_event().filter(|at| *at <= now) {
            let mut events = std::mem::take(&mut self.events);
            self.cells.advance(at, &mut |event| events.push(event));
            for event in events.drain(..) {
                self.take(event, at, decisions);
            }
            self.events = events;
            if let Some(background) = &mut self.background {
                background.advance(at, &mut self.cells);
            }
        }
    }
}

/// A packet of a host in one direction.
const fn packet(host: HostIndex, direction: Direction, wire_bytes: usize) -> Offered {
    Offered {
        host,
        direction,
        wire_bytes,
        number: 0,
    }
}

#[cfg(test)]
mod tests;
