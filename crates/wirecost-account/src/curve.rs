//! The current of one reading over time, as the model has it.

use std::time::Duration;

use wirecost_cost::{ObservedPacket, Observer};
use wirecost_energy::{Device, Meter, Part, Segment, State};
use wirecost_proto::{Cause, Direction, Instant, Phase, Span};
use wirecost_results::traffic::CellTraffic;

use crate::replay;

/// What a device does for one reading, from its wake-up to the end of its tails.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Its states in their order.
    pub segments: Vec<Segment>,
    /// Its packets.
    pub packets: Vec<Sent>,
    /// Volts at which its powers are currents.
    pub volts: f64,
}

/// A packet of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When, from the beginning of the curve.
    pub at: Duration,
    /// Its direction.
    pub direction: Direction,
    /// Bytes of its IP packet.
    pub bytes: u64,
}

impl Curve {
    /// The second reading of a device's life, so that a kept connection is there, or the only one. Readings are `interval` apart:
    /// packets with half of it between them belong to two. `None` without packets.
    pub fn of_reading(traffic: &CellTraffic, device: &Device, interval: Duration) -> Option<Self> {
        let shapes = replay::shapes(traffic)?;
        let mut all = Packets::default();
        replay::tell_life(traffic.devices.first()?, &shapes, &mut all);
        let readings = all.apart(interval / 2);
        let reading = readings.get(1).or_else(|| readings.first())?;
        let first = reading.first()?.at;
        let mut meter = Meter::in_order(device);
        for packet in *reading {
            packet.tell(&mut meter);
        }
        let wake = device.wake.map_or(Duration::ZERO, |wake| wake.time);
        let sent = |packet: &Packet| Sent {
            at: wake + packet.at.saturating_since(first),
            direction: packet.direction,
            bytes: packet.spans.iter().map(|span| u64::from(span.len)).sum(),
        };
        Some(Self {
            segments: meter.into_segments(),
            packets: reading.iter().map(sent).collect(),
            volts: device.volts,
        })
    }

    /// Charge of the reading in coulombs.
    pub fn coulombs(&self) -> f64 {
        let joules = self.segments.iter().map(|one| one.watts * one.nanos as f64 / 1e9);
        joules.sum::<f64>() / self.volts
    }

    /// How long it takes.
    pub fn duration(&self) -> Duration {
        Duration::from_nanos(self.segments.iter().map(|one| one.nanos).sum())
    }
}

/// What a segment is called.
pub const fn name(segment: &Segment) -> &'static str {
    match (segment.part, segment.state) {
        (Part::Wake, _) => "wake-up",
        (Part::Rest, _) => "rest",
        (Part::Tail, State::Idle) => "reachable",
        (Part::Tail, _) => "connected",
        (Part::Layer(_) | Part::Link | Part::Compute, state) => state.name(),
    }
}

/// A packet that was seen.
struct Packet {
    at: Instant,
    direction: Direction,
    phase: Phase,
    cause: Cause,
    spans: Vec<Span>,
}

impl Packet {
    fn tell(&self, observer: &mut dyn Observer) {
        observer.packet(&ObservedPacket {
            at: self.at,
            direction: self.direction,
            phase: self.phase,
            cause: self.cause,
            spans: &self.spans,
        });
    }
}

#[derive(Default)]
struct Packets(Vec<Packet>);

impl Packets {
    /// The packets in groups that are at least `pause` apart.
    fn apart(&self, pause: Duration) -> Vec<&[Packet]> {
        let near = |one: &Packet, next: &Packet| next.at.saturating_since(one.at) < pause;
        self.0.chunk_by(near).collect()
    }
}

impl Observer for Packets {
    fn packet(&mut self, packet: &ObservedPacket<'_>) {
        self.0.push(Packet {
            at: packet.at,
            direction: packet.direction,
            phase: packet.phase,
            cause: packet.cause,
            spans: packet.spans.to_vec(),
        });
    }
}
