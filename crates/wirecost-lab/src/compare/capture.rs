//! The capture as a file, and the packets that ladders are drawn from.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use wirecost_cost::PacketVerdict;
use wirecost_live::Clock;
use wirecost_proto::record::RecordedPacket;
use wirecost_proto::{Instant, Phase, Span};
use wirecost_security::Start;
use wirecost_wire::pcapng::{Capture, Writer};

use super::analysis::PacketSink;
use super::ladder::{DrawnPacket, DrawnPackets};
use super::plan::{Plan, PlannedCell};
use crate::stack::label::Labeller;

/// The interfaces of a capture, by `Direction as usize`.
pub const INTERFACES: [&str; 2] = ["up (device to server)", "down (server to device)"];

/// Writes every packet to the capture, commented, and keeps the packets that ladders may show.
pub struct CaptureFile<'a> {
    writer: Writer<BufWriter<File>>,
    plan: &'a Plan,
    clock: Clock,
    /// Whether a device's packets are written, by host; what belongs to no device always is.
    recorded: Vec<bool>,
    /// Which device is drawn for each cell, by host.
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
    /// A capture at `path` of the devices that are `recorded`. `drawn` gives the cell for whose ladder a device's
    /// packets are kept. `keys` are the secrets of its connections. Only its owner may read it.
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
}

/// Writes into `comment` what a packet is: cell, phase, cause, fate.
pub(super) fn describe(
    comment: &mut String,
    packet: &RecordedPacket,
    delivered: Option<Instant>,
    device: Option<(&PlannedCell, &PacketVerdict)>,
) {
    use std::fmt::Write as _;
    comment.clear();
    // Writing to a String cannot fail.
    let _ = match device {
        Some((planned, verdict)) => {
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

impl PacketSink for CaptureFile<'_> {
    fn packet(
        &mut self,
        packet: &RecordedPacket,
        delivered: Option<Instant>,
        device: Option<(usize, &PacketVerdict, &[Span])>,
    ) -> io::Result<()> {
        if self.error.is_none() && self.is_recorded(packet) {
            let planned = device.map(|(cell, verdict, _)| (&self.plan.cells[cell], verdict));
            describe(&mut self.comment, packet, delivered, planned);
            self.write(packet);
        }
        let drawn = packet
            .host
            .and_then(|host| self.drawn.get(host as usize).copied().flatten());
        if let (Some(cell), Some((_, verdict, spans))) = (drawn, device)
            && matches!(verdict.phase, Phase::Connect | Phase::Message)
        {
            let label = self.labellers[cell].label(packet.direction, &packet.bytes, spans);
            self.ladders[cell].push(DrawnPacket::new(packet, delivered, verdict, spans, label));
        }
        Ok(())
    }
}

/// A capture at `path` to write packets to, with `keys`, the secrets of connections. Only its owner may read it: packets
/// hold what was said, passwords among it.
pub(crate) fn writer(path: &Path, keys: &str) -> io::Result<Writer<BufWriter<File>>> {
    if path.exists() {
        // A file that is there keeps its mode, and whoever has it open reads on.
        fs::remove_file(path)?;
    }
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_capture_takes_no_mode_over_from_a_file_that_was_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("all.pcapng");
        for keys in ["", "CLIENT_RANDOM 00 00\n"] {
            fs::write(&path, "old").expect("a file");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("its mode");
            flush(writer(&path, keys).expect("a capture")).expect("written");
            let metadata = path.metadata().expect("a file");
            assert_eq!(metadata.permissions().mode() & 0o777, 0o600, "{keys:?}");
        }
    }
}
