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
pub type Shape = (Direction, Phase, Cause, Vec<Span>);

/// The devices' traffic of a cell, if its file has it.
pub fn read(folder: &RunFolder, cell: &Cell) -> Option<CellTraffic> {
    CellFile::read(folder, &cell.key).ok()?.traffic
}

/// The life of the mean device, from one connect to the next.
pub fn cycles(traffic: &CellTraffic, cell: &Cell, device: Option<&Device>) -> Result<Vec<Cycle>, Failure> {
    let shapes = shapes(traffic, &cell.stack)?;
    let interval = cell.interval_ns.map_or(Duration::ZERO, Duration::from_nanos);
    let every = interval.as_secs_f64() * cell.messages_per_connection as f64;
    let lives = traffic.devices.iter().map(|seen| Cycle {
        readings: cell.messages_per_connection as f64,
        ..cycle(device, Some(every), |observer| tell(seen, &shapes, observer)).0
    });
    Ok(vec![Cycle::mean(
        &lives.collect::<Vec<_>>(),
        traffic.devices.len(),
    )])
}

/// The shapes of the packets of a stack's devices.
pub fn shapes(traffic: &CellTraffic, stack: &str) -> Result<Vec<Shape>, Failure> {
    let shapes: Option<Vec<Shape>> = traffic.shapes.iter().map(|shape| shape.read()).collect();
    shapes.ok_or_else(|| {
        Failure::usage(format!(
            "the packets of {stack} have names that this version does not know"
        ))
        .with_hint("run it again with this version")
    })
}

/// Tells an observer what a device did, in the order of time.
pub fn tell(device: &DeviceTraffic, shapes: &[Shape], observer: &mut dyn Observer) {
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
