//! The devices of a cell with an interval, whose whole lives were kept: from the connect to the close.

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

/// The life of each device, from one connect to the next.
pub fn lives(traffic: &CellTraffic, cell: &Cell, device: Option<&Device>) -> Result<Vec<Cycle>, Failure> {
    let shapes = shapes(traffic, &cell.stack)?;
    let interval = cell.interval_ns.map_or(Duration::ZERO, Duration::from_nanos);
    let readings = cell.messages_per_connection as f64;
    let every = interval.as_secs_f64() * readings;
    let lives = traffic.devices.iter().map(|seen| {
        let (mut life, _) = cycle(device, Some(every), |observer| {
            replay::tell_life(seen, &shapes, observer)
        });
        // A reading of several packets is one message.
        life.usage.messages = readings;
        life.usage.payload_bytes = cell.payload_bytes as f64;
        Cycle { readings, ..life }
    });
    Ok(lives.collect())
}

/// The shapes of the packets of a stack's devices.
pub fn shapes(traffic: &CellTraffic, stack: &str) -> Result<Vec<replay::Shape>, Failure> {
    replay::shapes(traffic).ok_or_else(|| {
        Failure::usage(format!(
            "the packets of {stack} have names that this version does not know"
        ))
        .with_hint("run it again with this version")
    })
}
