//! The capture as a file, and the packets of its ladder.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use wirecost_cost::PacketVerdict;
use wirecost_live::Clock;
use wirecost_live::recorder::RecordedPacket;
use wirecost_proto::{Instant, Layer, Phase, Span};
use wirecost_security::Start;
use wirecost_wire::pcapng::{Capture, Writer};

use super::analysis::PacketSink;
use super::plan::Plan;
use crate::results::LadderPacket;
use crate::stack::Stack;
use crate::stack::label::label;

/// The interfaces of a capture, by `Direction as usize`.
pub const INTERFACES: [&str; 2] = ["up (device to server)", "down (server to device)"];

/// The packets of one cell's ladder: when each entered the link, when it left, and what it is.
pub type DrawnPackets = Vec<(Instant, Option<Instant>, LadderPacket)>;

/// Writes every packet to the capture, commented, and keeps the packets that ladders may show.
pub struct CaptureFile<'a> {
    writer: Writer<BufWriter<File>>,
    plan: &'a Plan,
    clock: Clock,
    /// Whether a device's packets are written, by host; what belongs to no device always is.
    recorded: Vec<bool>,
    /// Which device is drawn for each cell, by host.
    drawn: Vec<Option<usize>>,
    /// The ladder packets of each cell, with their times.
    pub ladders: Vec<DrawnPackets>,
    comment: String,
    /// Why nothing more is written.
    error: Option<io::Error>,
}

impl<'a> CaptureFile<'a> {
    /// A capture at `path` of the devices that are `recorded`. `drawn` gives the cell for whose ladder a device's
    /// packets are kept. With `keys`, the secrets of its connections, only its owner may read it.
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
    ) -> io::Result<Self> {
        let writer = writer(path, keys)?;
        let ladders = vec![Vec::new(); plan.cells.len()];
        Ok(Self {
            writer,
            plan,
            clock,
            recorded,
            drawn,
            ladders,
            comment: String::new(),
            error: None,
        })
    }

    /// Writes what is left; returns the ladders' packets by cell, and why the capture is cut short, if it is.
    pub fn finish(self) -> (Vec<DrawnPackets>, Option<io::Error>) {
        let error = match self.error {
            Some(error) => Some(error),
            None => flush(self.writer).err(),
        };
        (self.ladders, error)
    }

    /// Writes a packet. After a write that failed nothing more is written: figures do not need the capture.
    fn write(&mut self, packet: &RecordedPacket) {
        let at = self.clock.utc_nanos(packet.entered);
        let written = self
            .writer
            .packet(packet.direction as u32, at, &packet.bytes, Some(&self.comment));
        self.error = written.map_err(io::Error::other).err();
    }

    fn is_recorded(&self, packet: &RecordedPacket) -> bool {
        let recorded = packet.host.and_then(|host| self.recorded.get(host as usize));
        recorded.copied().unwrap_or(true)
    }

    fn describe(
        &mut self,
        packet: &RecordedPacket,
        delivered: Option<Instant>,
        device: Option<(usize, &PacketVerdict, &[Span])>,
    ) {
        use std::fmt::Write as _;
        self.comment.clear();
        let comment = &mut self.comment;
        // Writing to a String cannot fail.
        let _ = match device {
            Some((cell, verdict, _)) => {
                let planned = &self.plan.cells[cell];
                let size = planned.payload.len();
                let (phase, cause) = (verdict.phase.name(), verdict.cause.name());
                let start = match planned.start {
                    Start::Cold => "",
                    Start::Resumed => " resumed",
                    Start::ZeroRtt => " 0rtt",
                };
                write!(
                    comment,
                    "{}{start} {size} B | {phase} | {cause} | {}",
                    planned.stack,
                    packet.fate.name()
                )
            }
            None if packet.host.is_some() => write!(comment, "link check | {}", packet.fate.name()),
            None => write!(comment, "no cell | {}", packet.fate.name()),
        };
        if let Some(at) = delivered {
            let after = at.saturating_since(packet.entered);
            let _ = write!(comment, " after {:.3} ms", after.as_secs_f64() * 1e3);
        }
    }
}

impl PacketSink for CaptureFile<'_> {
    fn packet(
        &mut self,
        packet: &RecordedPacket,
        delivered: Option<Instant>,
        device: Option<(usize, &PacketVerdict, &[Span])>,
    ) -> io::Result<()> {
        if self.error.is_none() && self.is_recorded(packet) {
            self.describe(packet, delivered, device);
            self.write(packet);
        }
        let drawn = packet
            .host
            .and_then(|host| self.drawn.get(host as usize).copied().flatten());
        if let (Some(cell), Some((_, verdict, spans))) = (drawn, device)
            && matches!(verdict.phase, Phase::Connect | Phase::Message)
        {
            let step = ladder_packet(self.plan.cells[cell].stack, packet, verdict, spans);
            self.ladders[cell].push((packet.entered, delivered, step));
        }
        Ok(())
    }
}

/// A capture at `path` to write packets to. With `keys`, the secrets of connections, only its owner may read it.
pub(crate) fn writer(path: &Path, keys: &str) -> io::Result<Writer<BufWriter<File>>> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(if keys.is_empty() { 0o644 } else { 0o600 })
        .open(path)?;
    let capture = Capture {
        user_application: Some(concat!("wirecost ", env!("CARGO_PKG_VERSION"))),
        comment: Some("IP packets as they entered the link, before any impairment"),
        interfaces: &INTERFACES,
        tls_key_log: (!keys.is_empty()).then_some(keys.as_bytes()),
        ..Capture::default()
    };
    Writer::new(BufWriter::with_capacity(1 << 18, file), &capture).map_err(io::Error::other)
}

/// Writes what is left of a capture to the disk.
pub(crate) fn flush(writer: Writer<BufWriter<File>>) -> io::Result<()> {
    let file = writer.finish().map_err(io::Error::other)?;
    file.into_inner().map_err(|error| error.into_error())?.sync_data()
}

fn ladder_packet(
    stack: Stack,
    packet: &RecordedPacket,
    verdict: &PacketVerdict,
    spans: &[Span],
) -> LadderPacket {
    let bytes = |layer: Layer| {
        spans
            .iter()
            .filter(|span| span.layer == layer)
            .map(|span| u64::from(span.len))
            .sum::<u64>()
    };
    LadderPacket {
        direction: packet.direction.name().into(),
        phase: verdict.phase.name().into(),
        cause: verdict.cause.name().into(),
        fate: packet.fate.name().into(),
        label: label(stack, &packet.bytes, spans),
        ip: bytes(Layer::Ip),
        transport: bytes(Layer::Transport),
        security: bytes(Layer::Security),
        application: bytes(Layer::Application),
        payload: bytes(Layer::Payload),
        ..LadderPacket::default()
    }
}

/// The ladder of one cell: connect and first message, the settle between them cut out.
///
/// `message_start` is when the first (warm-up) message was sent and `end` when the next step began.
pub fn ladder_packets(packets: DrawnPackets, message_start: Instant, end: Instant) -> Vec<LadderPacket> {
    let Some(first) = packets.first().map(|(entered, ..)| *entered) else {
        return Vec::new();
    };
    let connect_end = packets
        .iter()
        .filter(|(entered, ..)| *entered < message_start)
        .map(|(entered, delivered, _)| delivered.unwrap_or(*entered))
        .max();
    // The message follows the connect at once; what lay between them was quiet.
    let cut = connect_end.map_or(message_start.saturating_since(first), |end| {
        message_start.saturating_since(end)
    });
    let shown = packets.into_iter().filter(|(entered, ..)| *entered < end);
    let placed = shown.map(|(entered, delivered, packet)| {
        let place = |at: Instant| {
            let at = if entered < message_start { at } else { at - cut };
            at.saturating_since(first).as_nanos() as u64
        };
        LadderPacket {
            sent_ns: place(entered),
            delivered_ns: delivered.map(place),
            ..packet
        }
    });
    placed.collect()
}
