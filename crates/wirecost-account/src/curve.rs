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
    /// The second reading of a device's life, so that a kept connection is there, or the only one, until the next one begins. Readings
    /// are `interval` apart: packets with half of it between them belong to two. `None` without packets.
    pub fn of_reading(traffic: &CellTraffic, device: &Device, interval: Duration) -> Option<Self> {
        let shapes = replay::shapes(traffic)?;
        let mut all = Packets::default();
        replay::tell_life(traffic.devices.first()?, &shapes, &mut all);
        Self::of(&all.apart(interval / 2), device)
    }

    /// The second one of some readings, or the only one.
    fn of(readings: &[&[Packet]], device: &Device) -> Option<Self> {
        let index = usize::from(readings.len() > 1);
        let (reading, next) = (readings.get(index)?, readings.get(index + 1));
        let life = readings.first()?.first()?.at;
        let wake = device.wake.map_or(Duration::ZERO, |wake| wake.time);
        let in_life = |at: Instant| wake + at.saturating_since(life);
        let mut meter = Meter::in_order(device);
        for packet in readings[..=index].iter().copied().flatten() {
            packet.tell(&mut meter);
        }
        let all = meter.into_segments();
        let first = in_life(reading.first()?.at);
        // A device whose tails reach into the reading does not wake up for it.
        let wakes = at(&all, first.saturating_sub(Duration::from_nanos(1)));
        let begin = match wakes.is_some_and(|segment| segment.part == Part::Wake) {
            true => first.saturating_sub(wake),
            false => first,
        };
        let end = next
            .and_then(|next| next.first())
            .map_or(Duration::MAX, |packet| in_life(packet.at));
        let sent = |packet: &Packet| Sent {
            at: in_life(packet.at).saturating_sub(begin),
            direction: packet.direction,
            bytes: packet.spans.iter().map(|span| u64::from(span.len)).sum(),
        };
        Some(Self {
            segments: cut(&all, begin, end),
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

/// The segments from one time to another, from the begin of the first one.
fn cut(segments: &[Segment], from: Duration, to: Duration) -> Vec<Segment> {
    let [from, to] = [from, to].map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    let mut at = 0_u64;
    let inside = segments.iter().map(|segment| {
        let begin = at;
        at = at.saturating_add(segment.nanos);
        Segment {
            nanos: at.min(to).saturating_sub(begin.max(from)),
            ..*segment
        }
    });
    inside.filter(|segment| segment.nanos > 0).collect()
}

/// The segment of a time.
fn at(segments: &[Segment], time: Duration) -> Option<&Segment> {
    let mut left = time.as_nanos();
    segments.iter().find(|segment| {
        let is_in = left < u128::from(segment.nanos);
        left = left.saturating_sub(segment.nanos.into());
        is_in
    })
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

#[cfg(test)]
mod tests;
