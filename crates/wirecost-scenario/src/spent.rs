//! The energy of a cell: modelled from its packets by a device file.
//!
//! - `energy`: of a message on a connection that is there, with its wake-up and its tails; in a cell with an interval, of a
//!   reading: the mean power of the device's life for the time of an interval, with its share of the connection and all of its rest
//! - `energy_above_rest`: the same above what the device draws without traffic
//! - `session_energy`: of connect, messages and close. Its least is that of a session that follows the one before at once:
//!   without wake-up and tails

use wirecost_energy::{Device, Energy, Meter, Part, Purposes, mean_power};
use wirecost_results::catalogue::Aggregation;
use wirecost_results::catalogue::Metric;
use wirecost_results::ladder::Ladder;
use wirecost_results::summary::Bytes;
use wirecost_results::traffic::CellTraffic;
use wirecost_results::{Cell, CellFile, RunFolder, Section};

use wirecost_account::{life, replay};

use crate::device;

/// How far the bytes of the device whose packets are kept may be from the mean of all devices, as a part of it.
const MAX_DISTANCE: f64 = 0.05;

/// Why a cell has no energy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoEnergy {
    /// Its packets are not there.
    #[error("the folder has no packets of the cell")]
    NoPackets,
    /// The packets that are kept are not those of the mean device.
    #[error("its devices send different packets, and those of one alone are kept: give the cell an interval")]
    NotTheMean,
    /// The packets of the first message alone are kept.
    #[error("of several messages on a connection the first alone is kept: give the cell an interval")]
    OneOfMany,
    /// Without an interval the packets alone are kept, not what was on the air of the NB-IoT cell.
    #[error(
        "its packets alone are kept, not its times in the states of the NB-IoT cell: give the cell an interval"
    )]
    InCell,
    /// A session of a cell with an interval rests between its readings.
    #[error("a session with an interval rests between its messages, so it has a mean alone")]
    NoLeast,
    /// The device file cannot be read, or the packets are those of another version.
    #[error("{0}")]
    Unreadable(String),
}

/// What the energy of a cell is spent on.
#[derive(Clone, Debug, Default)]
pub struct Spent {
    purposes: Purposes,
}

impl Spent {
    /// All of it.
    pub fn energy(&self) -> Energy {
        self.purposes.total()
    }

    /// The largest of its shares, with its name: idle draw, tails, wake-up, processor, or time on the air.
    pub fn largest(&self) -> (&'static str, f64) {
        let total = self.energy().joules;
        let share = |name: &'static str| {
            let of_name = self.purposes.sum_of(|purpose| group(purpose.part) == name);
            (name, of_name.joules / total)
        };
        let shares = GROUPS.map(share).into_iter();
        shares
            .max_by(|one, other| one.1.total_cmp(&other.1))
            .unwrap_or(("", 0.0))
    }
}

/// The names of [`Spent::largest`].
const GROUPS: [&str; 5] = [IDLE_DRAW, TAILS, "wake-up", "processor", "time on the air"];
/// The energy of a device without traffic.
pub const IDLE_DRAW: &str = "idle draw";
/// The energy of waiting after packets.
pub const TAILS: &str = "tails";

const fn group(part: Part) -> &'static str {
    match part {
        Part::Rest => IDLE_DRAW,
        Part::Tail => TAILS,
        Part::Wake | Part::Attach => "wake-up",
        Part::Compute => "processor",
        Part::Layer(_) | Part::Link => "time on the air",
    }
}

/// The energy of a cell on a device that is part of the program.
///
/// # Errors
/// The cell's packets are not there, or they say nothing about the mean.
pub fn of_cell(
    folder: &RunFolder,
    cell: &Cell,
    metric: Metric,
    aggregation: Aggregation,
    name: &str,
) -> Result<Spent, NoEnergy> {
    let device = match metric {
        Metric::EnergyAboveRest => built_in(name)?.above_rest(),
        _ => built_in(name)?,
    };
    let file = CellFile::read(folder, &cell.key).map_err(|_| NoEnergy::NoPackets)?;
    let is_session = metric == Metric::SessionEnergy;
    let is_least = aggregation == Aggregation::Min;
    match (file.traffic, file.ladder) {
        (Some(_), _) if is_least => Err(NoEnergy::NoLeast),
        (Some(lives), _) => of_lives(&lives, cell, &device, is_session),
        (None, Some(ladder)) => of_ladder(&ladder, cell, &device, (is_session, is_least)),
        (None, None) => Err(NoEnergy::NoPackets),
    }
}

/// A device that is part of the program.
///
/// # Errors
/// There is none of this name.
pub fn built_in(name: &str) -> Result<Device, NoEnergy> {
    let found = device::BUILT_IN.iter().find(|(known, _)| *known == name);
    let (name, text) = found.ok_or_else(|| NoEnergy::Unreadable(format!("unknown device {name:?}")))?;
    device::read(name, text).map_err(|error| NoEnergy::Unreadable(error.to_string()))
}

/// The mean over the devices whose whole life is kept: of a life, from its first packet to the end of its tails, or of each of its
/// readings.
fn of_lives(lives: &CellTraffic, cell: &Cell, device: &Device, is_session: bool) -> Result<Spent, NoEnergy> {
    let lives = match is_session {
        true => life::sessions(lives, cell, Some(device)),
        false => life::lives(lives, cell, Some(device)),
    };
    let lives = lives.map_err(|why| NoEnergy::Unreadable(why.to_string()))?;
    let mut sum = Purposes::default();
    for life in &lives {
        let Some(repeated) = life.repeated() else { continue };
        match is_session {
            true => sum.add_all(repeated.account.purposes(), 1.0),
            // A reading's share of a life with the rest in it, as in `wirecost cost`: power times the time of a reading.
            false => sum.add_all(&mean_power(device, &[repeated]), life.every / life.readings),
        }
    }
    if lives.is_empty() {
        return Err(NoEnergy::NoPackets);
    }
    let mut purposes = Purposes::default();
    purposes.add_all(&sum, 1.0 / lives.len() as f64);
    Ok(Spent { purposes })
}

/// The energy of the one device whose packets are kept, where the others send the same.
fn of_ladder(
    ladder: &Ladder,
    cell: &Cell,
    device: &Device,
    (is_session, is_least): (bool, bool),
) -> Result<Spent, NoEnergy> {
    if cell.link.nbiot_cell.is_some() {
        return Err(NoEnergy::InCell);
    }
    // The ladder has the packets of the first message alone.
    if is_session && cell.messages_per_connection > 1 {
        return Err(NoEnergy::OneOfMany);
    }
    if !is_the_mean(ladder, cell) {
        return Err(NoEnergy::NotTheMean);
    }
    let mut meter = Meter::new(device);
    replay::tell(ladder, cell, !is_session, &mut meter);
    let account = match is_least {
        true => meter.account().clone(),
        false => meter.finish(),
    };
    let mut purposes = account.purposes().clone();
    if is_least {
        // The least that any device takes: it is awake already, and the network releases it at once.
        purposes.remove(Part::Wake);
    }
    Ok(Spent { purposes })
}

/// Whether the packets of the ladder have the mean bytes of the cell's connect and message.
fn is_the_mean(ladder: &Ladder, cell: &Cell) -> bool {
    let kept = |phase: &str| -> f64 {
        let packets = ladder.packets.iter().filter(|packet| packet.phase == phase);
        packets
            .map(|packet| {
                packet.ip + packet.transport + packet.security + packet.application + packet.payload
            })
            .sum::<u64>() as f64
    };
    let wire = |bytes: &Bytes| bytes.wire.mean;
    let is_near = |section: Option<&Section>, phase: &str| {
        section.is_none_or(|section| {
            let mean = wire(&section.up) + wire(&section.down);
            // The ladder is one device: with losses it may be far from the mean, and its energy too.
            (kept(phase) - mean).abs() <= MAX_DISTANCE * mean
        })
    };
    is_near(cell.message.as_ref(), "message") && is_near(cell.connect.as_ref(), "connect")
}
