//! The devices of a cell with an interval, whose whole life was kept: from the connect to the close.

use std::time::Duration;

use wirecost_cost::{DeviceEvent, ObservedPacket, Observer};
use wirecost_energy::Device;
use wirecost_proto::{Cause, Direction, Instant, Phase, Span};
use wirecost_results::traffic::{CellTraffic, DeviceTraffic};
use wirecost_results::{Cell, CellFile, RunFolder};

use super::traffic::{Cycle, cycle};
use crate::exit::Failure;

/// A packet's direction, phase, cause and spans.
type Shape = (Direction, Phase, Cause, Vec<Span>);

/// The devices' traffic of a cell, if its file has it.
pub fn read(folder: &RunFolder, cell: &Cell) -> Option<CellTraffic> {
    CellFile::read(folder, &cell.key).ok()?.traffic
}

/// The life of each device, each repeated when all of them have had theirs: their mean.
pub fn cycles(traffic: &CellTraffic, cell: &Cell, device: Option<&Device>) -> Result<Vec<Cycle>, Failure> {
    let shapes: Option<Vec<Shape>> = traffic.shapes.iter().map(|shape| shape.read()).collect();
    let shapes = shapes.ok_or_else(|| {
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
        ..cycle(device, Some(every), |observer| tell(seen, &shapes, observer)).0
    });
    Ok(cycles.collect())
}

/// Tells an observer what a device did, in the order of time.
fn tell(device: &DeviceTraffic, shapes: &[Shape], observer: &mut dyn Observer) {
    let mut connects = device.connects_ns.iter().peekable();
    for (at, shape) in &device.packets {
        while let Some(connect) = connects.next_if(|connect| *connect <= at) {
            observer.event(Instant::from_nanos(*connect), DeviceEvent::Connect);
        }
        let Some((direction, phase, cause, spans)) = shapes.get(*shape) else {
            continue;
        };
        observer.packet(&ObservedPacket {
            at: Instant::from_nanos(*at),
            direction: *direction,
            phase: *phase,
            cause: *cause,
            spans,
        });
    }
}
