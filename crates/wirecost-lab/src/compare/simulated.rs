//! Runs a plan in virtual time, without privileges and with the same result on every machine.
//!
//! Each sample is a separate world: one device, one server, one link. So the result of a cell depends only on the
//! scenario, the seed and the cell's identity, not on other cells or on the number of threads.
//!
//! - `sample`: the world of one device
//! - `sink`: the packets to keep
//! - `check`: the link's round-trip time, from a link object of its kind
//! - `threads`: cells in parallel

mod check;
mod sample;
mod sink;
mod threads;

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use wirecost_link::Counters;
use wirecost_load::devices::part::PartError;
use wirecost_nbiot::ConfigError;
use wirecost_proto::random::key_of;
use wirecost_proto::record::RecordedPacket;
use wirecost_proto::{BothWays, Cause, Direction, Instant};
use wirecost_results::link_text::LinkText;
use wirecost_results::summary::{Cell, Cpu};
use wirecost_results::traffic::CellTraffic;
use wirecost_results::{CellTimes, Ladder, SampleRow};
use wirecost_scenario::options::compare::Options;
use wirecost_scenario::plan::{Plan, PlannedCell};
use wirecost_security::{KeyLog, certificate};
use wirecost_stack::error::{ClientError, StackError};
use wirecost_stack::target::Target;
use wirecost_stack::{Credentials, Message};

use super::analysis::{DeviceMeasurement, Shares};
use super::cells::{self, Source};
use super::ladder::ladder;
use super::traffic;
use crate::air::{AirRecorder, PacketOnAir};
use sink::Kept;
pub(crate) use threads::side_by_side;
pub use threads::{simulate, simulate_here};

/// Why the CPU sections of a simulated cell are null.
pub const NO_CPU_TIME: &str = "virtual time has no CPU time";

/// The result of a simulated cell.
#[derive(Debug)]
pub struct CellResult {
    /// The index of the cell in the plan.
    pub index: usize,
    /// Its figures.
    pub cell: Cell,
    /// One row per finished device.
    pub rows: Vec<SampleRow>,
    /// The times that it counts.
    pub times: CellTimes,
    /// The packets of the first finished device, by flights.
    pub ladder: Option<Ladder>,
    /// The packets of the first devices, in cells with an interval.
    pub traffic: Option<CellTraffic>,
    /// The packets of the recorded devices, device by device in the order of entry.
    pub packets: Vec<SimulatedPacket>,
    /// The secrets of their connections in the NSS key log format; empty if there are none or if they are not kept.
    pub keys: String,
}

/// A packet of a simulated device, for a capture.
#[derive(Clone, Debug)]
pub struct SimulatedPacket {
    /// Its bytes, and when it entered the link.
    pub packet: RecordedPacket,
    /// When it, or its first intact copy, left the link.
    pub delivered: Option<Instant>,
    /// The figures of its cell that it counts in.
    pub counted: Shares,
    /// Why it was sent.
    pub cause: Cause,
    /// When it was on the air of a modelled cell; `None` on an emulated link.
    pub air: Option<PacketOnAir>,
}

/// Why a cell cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub enum SimulationError {
    /// A client could not be made.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A server could not be made.
    #[error("cannot make the server: {0}")]
    Server(StackError),
    /// Certificates and keys cannot be made.
    #[error("cannot make certificates and keys: {0}")]
    Credentials(#[from] certificate::Error),
    /// A load in virtual time cannot begin.
    #[error(transparent)]
    Load(#[from] PartError),
    /// The network of a modelled cell cannot be made.
    #[error(transparent)]
    Cell(#[from] ConfigError),
    /// The packets cannot be analysed.
    #[error("cannot analyse the packets: {0}")]
    Analysis(#[from] io::Error),
    /// The user stopped it before the end of the cell.
    #[error("the simulation was stopped")]
    Stopped,
}

/// The certificates and keys of all cells.
fn credentials_of(options: &Options) -> Result<Credentials, certificate::Error> {
    let credentials = Credentials::simulated_of_kind(options.handshake.kind(), options.seed)?;
    match options.handshake.has_dtls_leaf() {
        true => Ok(credentials.with_dtls_of(&Credentials::simulated(options.seed)?)),
        false => Ok(credentials),
    }
}

/// Simulates cell `index` of a plan, with the same result for the same scenario, seed and cell on any machine.
///
/// # Errors
/// A protocol cannot carry the devices' messages.
pub fn simulate_cell(options: &Options, plan: &Plan, index: usize) -> Result<CellResult, SimulationError> {
    let (prepared, stopped) = (Prepared::default(), AtomicBool::new(false));
    Simulation::new(options, plan, &prepared, &stopped).cell(index)
}

/// Certificates and keys of all cells of the same options. The first cell that needs them makes them; they depend only on the seed.
#[derive(Default)]
pub struct Prepared {
    credentials: OnceLock<Result<Credentials, certificate::Error>>,
}

/// The data that the cells of a plan share.
struct Simulation<'a> {
    options: &'a Options,
    plan: &'a Plan,
    prepared: &'a Prepared,
    /// Whether running cells must end.
    stopped: &'a AtomicBool,
}

impl<'a> Simulation<'a> {
    const fn new(
        options: &'a Options,
        plan: &'a Plan,
        prepared: &'a Prepared,
        stopped: &'a AtomicBool,
    ) -> Self {
        Self {
            options,
            plan,
            prepared,
            stopped,
        }
    }

    fn cell(&self, index: usize) -> Result<CellResult, SimulationError> {
        let planned = &self.plan.cells[index];
        let mut played = Played::default();
        if planned.not_run.is_none() {
            self.play(index, planned, &mut played)?;
        }
        Ok(self.result(index, planned, played))
    }

    fn play(&self, index: usize, planned: &PlannedCell, played: &mut Played) -> Result<(), SimulationError> {
        let rng = planned.rng.purpose(key_of("object"));
        let message = Message::simulated(planned.stack, &self.options.resource, &planned.payload, rng)?
            .in_form(self.options.sending.http.requests());
        let credentials = self
            .prepared
            .credentials
            .get_or_init(|| credentials_of(self.options));
        // Secrets of samples that are not captured would only fill the memory.
        let credentials = credentials.clone()?.with_key_log(KeyLog::disabled());
        let recorded = credentials.clone().with_key_log(self.key_log());
        for sample in 0..self.options.samples {
            let is_recorded = self.plan.is_sample_recorded(sample, self.options);
            let world = sample::World {
                options: self.options,
                index,
                planned,
                sample,
                message: &message,
                credentials: if is_recorded { &recorded } else { &credentials },
                stopped: self.stopped,
            };
            let outcome = world.play(played.kept.sink(planned, sample, is_recorded))?;
            for way in Direction::ALL {
                played.counters[way] += outcome.counters[way];
            }
            played.kept.traffic.air(sample.into(), outcome.connections);
            // The ladder draws the first device that finished: the air must be the same device's.
            if outcome.device.report.finished && played.air.is_none() {
                played.air = outcome.air;
            }
            played.devices.push(outcome.device);
        }
        played.keys = recorded.key_log.text();
        Ok(())
    }

    fn key_log(&self) -> KeyLog {
        if self.options.keys {
            KeyLog::new()
        } else {
            KeyLog::disabled()
        }
    }

    fn result(&self, index: usize, planned: &PlannedCell, played: Played) -> CellResult {
        let Played {
            devices,
            counters,
            kept,
            keys,
            air,
        } = played;
        let finished: Vec<&DeviceMeasurement> =
            devices.iter().filter(|device| device.report.finished).collect();
        let source = Source {
            options: self.options,
            planned,
            engine: "sim",
            target: Target::Builtin.to_string(),
            counters,
            round_trips: &check::round_trips(self.options, planned),
            dropped_packets: 0,
            lateness: Duration::ZERO,
            cpu: &|_| Cpu {
                reason: Some(NO_CPU_TIME.into()),
                ..Cpu::default()
            },
        };
        let row = |device: &&DeviceMeasurement| SampleRow {
            // What this program took to simulate is not what a client would take.
            client_cpu_ns: None,
            ..cells::row(index, planned, device, self.options.timeout)
        };
        let link = LinkText(self.options.links[planned.link]).to_string();
        let drawn = finished.first();
        CellResult {
            index,
            cell: cells::cell(&source, &finished),
            times: cells::times(planned, &finished, self.options.timeout),
            rows: finished.iter().map(row).collect(),
            ladder: drawn.and_then(|device| ladder(planned, link, device, kept.ladder, air.as_ref())),
            traffic: traffic::finish(kept.traffic, devices.iter()),
            packets: kept.packets,
            keys,
        }
    }
}

/// The results of a cell's devices.
#[derive(Default)]
struct Played {
    devices: Vec<DeviceMeasurement>,
    /// The decisions of their links, up and down.
    counters: BothWays<Counters>,
    kept: Kept,
    keys: String,
    /// What was on the air for the first finished device, in a modelled cell.
    air: Option<AirRecorder>,
}

#[cfg(test)]
mod tests;
