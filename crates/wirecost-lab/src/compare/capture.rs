//! The capture file, and the packets of ladders.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use wirecost_live::Clock;
use wirecost_live::capture::{flush, way, writer_about};
use wirecost_proto::record::RecordedPacket;
use wirecost_proto::units::counted;
use wirecost_proto::{Cause, Instant, Phase};
use wirecost_scenario::plan::{Plan, PlannedCell};
use wirecost_security::Start;
use wirecost_stack::label::Labeller;
use wirecost_wire::pcapng::Writer;

use super::analysis::{Attributed, PacketSink, Shares};
use super::ladder::{DrawnPacket, DrawnPackets};
use crate::air::PacketOnAir;

/// Writes every packet to the capture with a comment, and keeps the packets of ladders.
pub struct CaptureFile<'a> {
    writer: Writer<BufWriter<File>>,
    plan: &'a Plan,
    clock: Clock,
    /// Whether a device's packets are written, by host. Packets of no device are always written.
    recorded: Vec<bool>,
    /// The cell whose ladder shows the device, by host.
    drawn: Vec<Option<usize>>,
    /// The packets of each cell's ladder.
    ladders: Vec<DrawnPackets>,
    /// Names for the packets of each cell's ladder.
    labellers: Vec<Labeller>,
    comment: String,
    /// Why nothing more is written.
    error: Option<io::Error>,
}

impl<'a> CaptureFile<'a> {
    /// Creates a capture at `path` of the devices that are `recorded`. `drawn` gives the cell whose ladder shows a
    /// device. `keys` are the secrets of its connections, and `about` says what the packets are. Only its owner may read it.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn create(
        path: &Path,
        plan: &'a Plan,
        clock: Clock,
        recorded: Vec<bool>,
        drawn: Vec<Option<usize>>,
        keys: &str,
        about: &str,
    ) -> io::Result<Self> {
        let writer = writer_about(path, keys, about)?;
        let labellers = plan.cells.iter().map(|cell| Labeller::new(cell.stack));
        Ok(Self {
            writer,
            plan,
            clock,
            recorded,
            drawn,
            ladders: vec![Vec::new(); plan.cells.len()],
            labellers: labellers.collect(),
            comment: String::new(),
            error: None,
        })
    }

    /// Flushes the capture. Returns the ladders' packets by cell, and why the capture is cut short, if it is.
    pub fn finish(self) -> (Vec<DrawnPackets>, Option<io::Error>) {
        let error = match self.error {
            Some(error) => Some(error),
            None => flush(self.writer).err(),
        };
        (self.ladders, error)
    }

    /// Writes a packet. After a failed write nothing more is written: the figures do not need the capture.
    fn write(&mut self, packet: &RecordedPacket) {
        let at = self.clock.utc_nanos(packet.entered);
        let written = self
            .writer
            .packet(way(packet.direction), at, &packet.bytes, Some(&self.comment));
        self.error = written.map_err(io::Error::other).err();
    }

    fn is_recorded(&self, packet: &RecordedPacket) -> bool {
        let recorded = packet.host.and_then(|host| self.recorded.get(host as usize));
        recorded.copied().unwrap_or(true)
    }
}

/// What a comment says of a packet of a device.
#[derive(Clone, Copy)]
pub(super) struct Described<'a> {
    pub(super) planned: &'a PlannedCell,
    pub(super) counted: &'a Shares,
    pub(super) cause: Cause,
    /// When the packet was on the air of a modelled cell.
    pub(super) air: Option<PacketOnAir>,
}

/// Writes a description of the packet into `comment`: cell, what it counts in, cause, fate, and
/// the bytes that count in something else.
pub(super) fn describe(
    comment: &mut String,
    packet: &RecordedPacket,
    delivered: Option<Instant>,
    device: Option<Described<'_>>,
) {
    use std::fmt::Write as _;
    comment.clear();
    // Writing to a String cannot fail.
    let _ = match device {
        Some(Described {
            planned,
            counted,
            cause,
            ..
        }) => {
            let size = planned.payload.len();
            let (counted, cause) = (counted.packet.name(), cause.name());
            let start = match planned.start {
                Start::Cold => "",
                Start::Resumed => " resumed",
                Start::ZeroRtt => " 0rtt",
                Start::Edhoc => " edhoc",
                Start::EdhocByValue => " edhoc-by-value",
            };
            write!(
                comment,
                "{}{start} {size} B{} | {counted} | {cause} | {}",
                planned.stack,
                planned.conditions,
                packet.fate.name()
            )
        }
        // A host without a device is the echo by which a link was checked.
        None if packet.host.is_some() => write!(comment, "link check | {}", packet.fate.name()),
        None => write!(comment, "no cell | {}", packet.fate.name()),
    };
    if let Some(at) = delivered {
        let after = at.saturating_since(packet.entered);
        let _ = write!(comment, " after {:.3} ms", after.as_secs_f64() * 1e3);
    }
    if let Some(air) = device.and_then(|device| device.air) {
        comment.push_str(&air_times(&air, packet.entered));
    }
    let others = device.iter().flat_map(|device| &device.counted.others);
    for (index, (counted, bytes)) in others.enumerate() {
        let before = if index == 0 { " | of which " } else { ", " };
        let _ = write!(comment, "{before}{bytes} B {}", counted.name());
    }
}

/// When a packet was on the air of a modelled cell, counted from when it entered: ` | air 213 to 250 ms in 2 blocks`.
pub(crate) fn air_times(air: &PacketOnAir, entered: Instant) -> String {
    let (Some(began), Some(ended)) = (air.began, air.ended) else {
        return " | never on the air".into();
    };
    let ms = |at: Instant| at.saturating_since(entered).as_secs_f64() * 1e3;
    let blocks = counted(air.transmissions.into(), "block");
    format!(" | air {:.3} to {:.3} ms in {blocks}", ms(began), ms(ended))
}

impl PacketSink for CaptureFile<'_> {
    fn packet(
        &mut self,
        packet: &RecordedPacket,
        delivered: Option<Instant>,
        device: Option<&Attributed<'_>>,
    ) -> io::Result<()> {
        // After an error the capture stays as it is; the figures do not need it and are finished.
        if self.error.is_none() && self.is_recorded(packet) {
            let planned = device.map(|device| Described {
                planned: &self.plan.cells[device.cell],
                counted: &device.counted,
                cause: device.verdict.cause,
                air: None,
            });
            describe(&mut self.comment, packet, delivered, planned);
            self.write(packet);
        }
        let drawn = packet
            .host
            .and_then(|host| self.drawn.get(host as usize).copied().flatten());
        if let (Some(cell), Some(Attributed { verdict, spans, .. })) = (drawn, device)
            // A ladder shows connect and first message; keep-alive and close would only lengthen it.
            && matches!(verdict.phase, Phase::Connect | Phase::Message)
        {
            let label = self.labellers[cell].label(packet.direction, &packet.bytes, spans);
            self.ladders[cell].push(DrawnPacket::new(packet, delivered, verdict, spans, label));
        }
        Ok(())
    }
}
