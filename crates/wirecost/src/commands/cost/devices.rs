//! The devices of a cell with an interval, whose whole life was kept: from the connect to the close.

use std::time::Duration;

use wirecost_energy::Device;
use wirecost_results::traffic::CellTraffic;
use wirecost_results::{Cell, CellFile, RunFolder};
use wirecost_scenario::replay;

use super::traffic::{Cycle, cycle};
use crate::exit::Failure;

/// The devices' traffic of a cell, if its file has it.
pub fn read(folder: &RunFolder, cell: &Cell) -> Option<CellTraffic> {
    CellFile::read(folder, &cell.key).ok()?.traffic
}

/// The life of each device, each repeated when all of them have had theirs: their mean.
pub fn cycles(traffic: &CellTraffic, cell: &Cell, device: Option<&Device>) -> Result<Vec<Cycle>, Failure> {
    let shapes = replay::shapes(traffic).ok_or_else(|| {
        Failure::usage(format!(
            "the packets of {} have names that this version does not know",
            cell.stack
        ))
        .with_hint("run the comparison again with this version")
    })?;
    let interval = cell.interval_ns.map_or(Duration::ZERO, Duration::from_nanos);
    let life = interval.as_secs_f64() * cell.messages_per_connection as f64;
    let every = life * traffic.devices.len() as f64;
    let cycles = traffic.devices.iter().map(|seen| Cycle {
        readings: cell.messages_per_connection as f64,
        ..cycle(device, Some(every), |observer| {
            replay::tell_life(seen, &shapes, observer)
        })
        .0
    });
    Ok(cycles.collect())
}
