//! The recorded device of a curve: its IP packets, and what was on the air for it.

use std::io;
use std::path::Path;
use std::time::Duration;

use wirecost_live::capture::{flush, way, writer};
use wirecost_nbiot::Transmission;
use wirecost_proto::Instant;
use wirecost_proto::hosts::HostIndex;
use wirecost_proto::record::{Record, RecordedPacket};
use wirecost_results::nbiot::sequence::AirTransmission;
use wirecost_sim::{Decision, Offered};
use wirecost_stack::credentials::VIRTUAL_EPOCH;

use crate::air::{AirRecorder, PacketOnAir};
use crate::compare::capture::air_times;

/// A recorded device after its life in the cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// What was on the air for it, from the generation of its report on.
    pub sequence: Vec<AirTransmission>,
    packets: Vec<CapturedPacket>,
}

/// An IP packet with its fate.
#[derive(Clone, Debug, PartialEq)]
struct CapturedPacket {
    packet: RecordedPacket,
    arrived: Option<Instant>,
    air: PacketOnAir,
}

impl Recorded {
    /// Writes the IP packets to a capture at `path`; a comment says what each is of (`what`), its fate, and when it was on the air.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn write_capture(&self, path: &Path, what: &str) -> io::Result<()> {
        let mut capture = writer(path, "")?;
        for CapturedPacket { packet, arrived, air } in &self.packets {
            let after = arrived.map(|at| at.saturating_since(packet.entered));
            let after = after
                .as_ref()
                .map(Duration::as_secs_f64)
                .map(|seconds| seconds * 1e3);
            let after = after.map_or_else(String::new, |ms| format!(" after {ms:.3} ms"));
            let (fate, air) = (packet.fate.name(), air_times(air, packet.entered));
            let comment = format!("{what} | {fate}{after}{air}");
            let at = (VIRTUAL_EPOCH.as_nanos() as u64).saturating_add(packet.entered.as_nanos());
            capture
                .packet(way(packet.direction), at, &packet.bytes, Some(&comment))
                .map_err(io::Error::other)?;
        }
        flush(capture)
    }
}

/// Records the first measured device of a run, where the run is asked to.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    is_waiting: bool,
    device: Option<(HostIndex, Instant)>,
    air: AirRecorder,
    recorded: Option<Recorded>,
}

impl Recorder {
    /// A recorder that waits for a measured device, or one that records nothing.
    pub(super) fn new(is_waiting: bool) -> Self {
        Self {
            is_waiting,
            ..Self::default()
        }
    }

    /// Whether a device whose report is generated at `now` is the one to record.
    pub(super) const fn begins(&mut self, host: HostIndex, is_measured: bool, now: Instant) -> bool {
        let begins = self.is_waiting && is_measured;
        if begins {
            self.is_waiting = false;
            self.device = Some((host, now));
        }
        begins
    }

    fn is(&self, host: HostIndex) -> bool {
        self.device.is_some_and(|(recorded, _)| recorded == host)
    }

    pub(super) fn offered(&mut self, packet: &Offered) {
        if self.is(packet.host) {
            self.air.offered(packet);
        }
    }

    pub(super) fn decided(&mut self, host: HostIndex, decision: Decision) {
        if self.is(host) {
            self.air.decided(decision);
        }
    }

    pub(super) fn transmission(&mut self, transmission: Transmission) {
        self.air.transmission(transmission);
    }

    /// A device leaves, with its recording if it has one.
    pub(super) fn leave(&mut self, host: HostIndex, records: Vec<Record>) {
        let Some((_, generated)) = self.device.filter(|(recorded, _)| *recorded == host) else {
            return;
        };
        let end = Instant::from_nanos(u64::MAX);
        self.recorded = Some(Recorded {
            sequence: self.air.sequence(generated, end),
            packets: packets(records, &self.air.packets()),
        });
    }

    /// The recorded device; `None` where none was to be recorded or none came.
    pub(super) fn into_recorded(self) -> Option<Recorded> {
        self.recorded
    }
}

/// Packets with their arrivals, which follow them in the recording, and their times on the air, which are in the same order.
fn packets(records: Vec<Record>, air: &[PacketOnAir]) -> Vec<CapturedPacket> {
    let mut packets: Vec<CapturedPacket> = Vec::new();
    for record in records {
        match record {
            Record::Packet(packet) => {
                let air = air.get(packets.len()).copied().unwrap_or_default();
                packets.push(CapturedPacket {
                    packet,
                    arrived: None,
                    air,
                });
            }
            Record::Delivery(delivery) => {
                if let Some(last) = packets.last_mut() {
                    last.arrived = Some(delivery.actual);
                }
            }
        }
    }
    packets
}
