//! The packets of a device to keep.

use std::io;

use wirecost_proto::record::{Record, RecordedPacket};
use wirecost_proto::{Cause, Instant, Phase};
use wirecost_results::traffic::Collector;
use wirecost_scenario::plan::PlannedCell;
use wirecost_stack::label::Labeller;

use super::SimulatedPacket;
use crate::air::PacketOnAir;
use crate::compare::analysis::{Attributed, PacketSink, Shares};
use crate::compare::ladder::{DrawnPacket, DrawnPackets};
use crate::compare::traffic;

/// The kept packets of a cell's devices.
#[derive(Default)]
pub(super) struct Kept {
    /// The packets of the recorded devices.
    pub(super) packets: Vec<SimulatedPacket>,
    /// The packets of the first finished device.
    pub(super) ladder: DrawnPackets,
    /// Whether there is a finished device.
    has_ladder: bool,
    /// The packets of the first devices, by their time at the device.
    pub(super) traffic: Collector,
}

impl Kept {
    /// A sink for the packets of the next device.
    pub(super) fn sink(&mut self, planned: &PlannedCell, sample: u32, is_recorded: bool) -> Sink<'_> {
        Sink {
            sample: traffic::is_kept(planned)
                .then_some(sample)
                .filter(|sample| self.traffic.has_room_for((*sample).into())),
            kept: self,
            is_recorded,
            labeller: Labeller::new(planned.stack),
            is_drawn: false,
            notes: Vec::new(),
        }
    }
}

/// A sink for the packets of one device.
pub(super) struct Sink<'a> {
    kept: &'a mut Kept,
    /// The device's sample, if its traffic is kept.
    sample: Option<u32>,
    is_recorded: bool,
    labeller: Labeller,
    is_drawn: bool,
    /// Of each packet, when it left the link, what it counts in and why it was sent; empty unless a capture holds the device.
    notes: Vec<(Option<Instant>, Shares, Cause)>,
}

impl Sink<'_> {
    /// Begins a device. The first finished one is drawn.
    pub(super) const fn begin(&mut self, has_finished: bool) {
        self.is_drawn = has_finished && !self.kept.has_ladder;
        self.kept.has_ladder |= has_finished;
    }

    /// Keeps the device's packets where a capture holds them. `air` says when each was on the air of a modelled cell. Every packet of the recording is the device's, so that the
    /// notes are in the order of the packets.
    pub(super) fn keep(self, records: Vec<Record>, air: &[PacketOnAir]) {
        let packets = records.into_iter().filter_map(|record| match record {
            Record::Packet(packet) => Some(packet),
            Record::Delivery(_) => None,
        });
        let noted = packets.zip(self.notes).enumerate();
        let noted = noted.map(
            |(position, (packet, (delivered, counted, cause)))| SimulatedPacket {
                packet,
                delivered,
                counted,
                cause,
                air: air.get(position).copied(),
            },
        );
        self.kept.packets.extend(noted);
    }
}

impl PacketSink for Sink<'_> {
    fn packet(
        &mut self,
        packet: &RecordedPacket,
        delivered: Option<Instant>,
        device: Option<&Attributed<'_>>,
    ) -> io::Result<()> {
        let Some(device) = device else {
            return Ok(());
        };
        if let Some(sample) = self.sample {
            traffic::add(&mut self.kept.traffic, sample, packet, delivered, device);
        }
        let Attributed {
            verdict,
            counted,
            spans,
            ..
        } = device;
        // The ladder shows what a message costs; keep-alives and the close follow after a wait that would stretch it.
        if self.is_drawn && matches!(verdict.phase, Phase::Connect | Phase::Message) {
            let label = self.labeller.label(packet.direction, &packet.bytes, spans);
            let drawn = DrawnPacket::new(packet, delivered, verdict, spans, label);
            self.kept.ladder.push(drawn);
        }
        if self.is_recorded {
            self.notes.push((delivered, counted.clone(), verdict.cause));
        }
        Ok(())
    }
}
