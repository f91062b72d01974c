//! Writes the packets of a link to a file, without those of the link's checks.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use wirecost_proto::Instant;
use wirecost_proto::hosts::HostIndex;
use wirecost_proto::record::{Record, RecordedPacket};
use wirecost_wire::pcapng::Writer;

use super::{EmulationError, Left};
use crate::capture::{flush, way, writer};
use crate::recorder::{Recording, deliveries};

/// What a packet that enters the link at a time belongs to, for its comment; `None` without a word about it.
pub type Label<'a> = dyn Fn(Instant) -> Option<String> + 'a;

/// The report of a capture.
#[derive(Clone, Debug)]
pub struct Written {
    /// The number of packets by fate.
    pub fates: BTreeMap<&'static str, u64>,
    /// Packets that an interface dropped or refused.
    pub dropped: u64,
    /// Why the capture is incomplete, if it is.
    pub cut_short: Option<String>,
}

/// Writes the recorded packets to a new file, with the secrets in `keys`. A full disk cuts the capture short, which is
/// not an error.
///
/// # Errors
/// The recording cannot be read back, or the capture cannot be created.
pub fn write(path: &Path, left: &mut Left, keys: &str, label: &Label<'_>) -> Result<Written, EmulationError> {
    let reading = "read the recorded packets back";
    let dropped = left
        .forwarder
        .dropped()
        .map_err(EmulationError::doing("read the interfaces' counters"))?;
    // Echoes of the check are in the capture, but count in no fate.
    let first_check = left.forwarder.links.first_check();
    let recording = &mut left.forwarder.recording;
    let (delivered, _) = deliveries(recording).map_err(EmulationError::doing(reading))?;
    let file = writer(path, keys).map_err(EmulationError::doing("write the capture"))?;
    let mut sink = Sink::new(file, left.clock.utc_nanos(Instant::START), label, first_check);
    let packets = recording.records().map_err(EmulationError::doing(reading))?;
    let packets = packets.filter_map(|record| match record {
        Ok(Record::Packet(packet)) => Some(Ok(packet)),
        Ok(Record::Delivery(_)) => None,
        Err(error) => Some(Err(error)),
    });
    for (packet, delivered) in packets.zip(delivered) {
        sink.take(&packet.map_err(EmulationError::doing(reading))?, delivered);
    }
    let (fates, failure) = sink.finish();
    let unrecorded = recording.error.as_ref().map(ToString::to_string);
    let reason = failure.map(|error| error.to_string()).or(unrecorded);
    recording
        .discard()
        .map_err(EmulationError::doing("discard the recorded packets"))?;
    Ok(Written {
        fates,
        dropped,
        cut_short: reason.map(|reason| format!("the capture is cut short: {reason}")),
    })
}

/// Writes packets recorded in virtual time, which begins at `utc_ns` nanoseconds since 1970 UTC, to a new file, with
/// the secrets in `keys`. Each packet is followed by its deliveries. Returns the warning about a full disk.
///
/// # Errors
/// The recording cannot be read back, or the capture cannot be created.
pub fn write_simulated(
    path: &Path,
    recording: &mut Recording,
    utc_ns: u64,
    keys: &str,
    label: &Label<'_>,
) -> Result<Option<String>, EmulationError> {
    let reading = "read the recorded packets back";
    let file = writer(path, keys).map_err(EmulationError::doing("write the capture"))?;
    let mut sink = Sink::new(file, utc_ns, label, HostIndex::MAX);
    let mut records = recording.records().map_err(EmulationError::doing(reading))?;
    let mut next = records.next().transpose();
    while let Some(record) = next.map_err(EmulationError::doing(reading))? {
        next = records.next().transpose();
        let Record::Packet(packet) = record else {
            continue;
        };
        let mut delivered = None;
        while let Ok(Some(Record::Delivery(delivery))) = &next {
            // A damaged copy is dropped by its receiver's checksum; of several intact ones the first counts.
            delivered = delivered.or(delivery.intact.then_some(delivery.actual));
            next = records.next().transpose();
        }
        sink.take(&packet, delivered);
    }
    let (_, failure) = sink.finish();
    let reason = failure.as_ref().or(recording.error.as_ref());
    Ok(reason.map(|error| format!("the capture is cut short: {error}")))
}

/// Counts packets, and writes them as long as the disk has room.
struct Sink<'a> {
    file: Writer<BufWriter<File>>,
    /// The start of the packets' clock, in nanoseconds since 1970 UTC.
    utc_ns: u64,
    label: &'a Label<'a>,
    /// The first of the hosts of checks, which are the highest.
    first_check: HostIndex,
    fates: BTreeMap<&'static str, u64>,
    error: Option<io::Error>,
}

impl<'a> Sink<'a> {
    const fn new(
        file: Writer<BufWriter<File>>,
        utc_ns: u64,
        label: &'a Label<'a>,
        first_check: HostIndex,
    ) -> Self {
        Self {
            file,
            utc_ns,
            label,
            first_check,
            fates: BTreeMap::new(),
            error: None,
        }
    }

    fn take(&mut self, packet: &RecordedPacket, delivered: Option<Instant>) {
        if packet.host.is_some_and(|host| host >= self.first_check) {
            return;
        }
        *self.fates.entry(packet.fate.name()).or_default() += 1;
        if self.error.is_none() {
            let at = self.utc_ns.saturating_add(packet.entered.as_nanos());
            let label = (self.label)(packet.entered);
            self.error = write_packet(&mut self.file, packet, at, delivered, label).err();
        }
    }

    /// The packets by fate, and why the capture is cut short, if it is.
    fn finish(self) -> (BTreeMap<&'static str, u64>, Option<io::Error>) {
        let error = match self.error {
            Some(error) => Some(error),
            None => flush(self.file).err(),
        };
        (self.fates, error)
    }
}

fn write_packet(
    file: &mut Writer<BufWriter<File>>,
    packet: &RecordedPacket,
    at: u64,
    delivered: Option<Instant>,
    label: Option<String>,
) -> io::Result<()> {
    let mut comment = label.map_or(String::new(), |label| label + " | ");
    comment += packet.fate.name();
    if let Some(delivered) = delivered {
        let after = delivered.saturating_since(packet.entered).as_secs_f64() * 1e3;
        // Writing to a String cannot fail.
        let _ = write!(comment, " after {after:.3} ms");
    }
    file.packet(way(packet.direction), at, &packet.bytes, Some(&comment))
        .map_err(io::Error::other)
}
