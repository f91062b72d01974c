//! What devices did on their links, for energy models and tariffs: packets at the device's end, from connect to close.

use std::io;

use wirecost_proto::record::RecordedPacket;
use wirecost_proto::{Direction, Instant};
use wirecost_results::traffic::{CellTraffic, Collector, Shape};
use wirecost_scenario::plan::{Plan, PlannedCell};

use super::analysis::{Attributed, Counted, DeviceMeasurement, PacketSink};

/// Whether the traffic of a cell's devices is their whole life: they send at intervals, which nothing else interrupts.
pub(super) fn is_kept(planned: &PlannedCell) -> bool {
    planned.schedule.interval.is_some()
}

/// Adds a packet of the device with this sample, if it counts in a figure. The device sends a packet up whatever becomes of it, and
/// knows of one down when it arrives; the link carried one that does not arrive too.
pub(super) fn add(
    collector: &mut Collector,
    sample: u32,
    packet: &RecordedPacket,
    delivered: Option<Instant>,
    device: &Attributed<'_>,
) {
    let is_figure = !matches!(
        device.counted.packet,
        // What no figure counts must not be priced either.
        Counted::Ticket(_) | Counted::WarmUp | Counted::Nothing
    );
    if !is_figure {
        return;
    }
    let verdict = device.verdict;
    let shape = Shape::from_spans(packet.direction, verdict.phase, verdict.cause, device.spans);
    match (packet.direction, delivered) {
        (Direction::Up, _) => collector.packet(sample.into(), packet.entered, shape),
        (Direction::Down, Some(at)) => collector.packet(sample.into(), at, shape),
        (Direction::Down, None) => collector.lost(sample.into(), packet.entered, shape),
    }
}

/// The traffic of a cell's devices, with the starts of their connections.
pub(super) fn finish<'a>(
    collector: Collector,
    devices: impl Iterator<Item = &'a DeviceMeasurement> + Clone,
) -> Option<CellTraffic> {
    collector.finish(|sample| {
        let device = devices
            .clone()
            // A life that was cut short is cheaper than one that was lived.
            .find(|device| u64::from(device.sample) == sample && device.report.finished)?;
        let notes = device.report.script.notes();
        let first = notes.connect_started.map(|(_, started)| started);
        let again = notes.reconnects.iter().map(|again| again.started);
        Some(first.into_iter().chain(again).collect())
    })
}

/// Collects the traffic of the cells of a live run.
pub(super) struct TrafficSink<'a> {
    plan: &'a Plan,
    /// One for each cell of the plan, in its order.
    cells: Vec<Collector>,
}

impl<'a> TrafficSink<'a> {
    /// A sink for the cells of a plan.
    pub(super) fn new(plan: &'a Plan) -> Self {
        let cells = plan.cells.iter().map(|_| Collector::default());
        Self {
            plan,
            cells: cells.collect(),
        }
    }

    /// The traffic by cell.
    pub(super) fn finish(self, devices: &[DeviceMeasurement]) -> Vec<Option<CellTraffic>> {
        let cells = self.cells.into_iter().enumerate();
        cells
            .map(|(index, collector)| {
                finish(
                    collector,
                    devices.iter().filter(move |device| device.cell == index),
                )
            })
            .collect()
    }
}

impl PacketSink for TrafficSink<'_> {
    fn packet(
        &mut self,
        packet: &RecordedPacket,
        delivered: Option<Instant>,
        device: Option<&Attributed<'_>>,
    ) -> io::Result<()> {
        let Some((device, host)) = device.zip(packet.host) else {
            return Ok(());
        };
        let sample = self.plan.devices[host as usize].sample;
        if is_kept(&self.plan.cells[device.cell]) && self.cells[device.cell].has_room_for(sample.into()) {
            add(&mut self.cells[device.cell], sample, packet, delivered, device);
        }
        Ok(())
    }
}
