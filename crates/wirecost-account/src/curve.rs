//! The current of one reading and of a day over time, as the model has it.

use std::time::Duration;

use wirecost_cost::{ObservedPacket, Observer};
use wirecost_energy::{Device, Meter, Part, Segment, State};
use wirecost_proto::{Cause, Direction, Instant, Phase, Span};
use wirecost_results::traffic::CellTraffic;

use crate::replay;

/// A day.
const DAY: Duration = Duration::from_secs(86_400);

/// The most packets of a reading or a day that is drawn: a picture of more shows none of them.
const MOST_PACKETS: usize = 20_000;

/// What a device does for one reading, from its wake-up to the end of its tails, or on a day.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Its states in their order.
    pub segments: Vec<Segment>,
    /// Its packets; none on a day.
    pub packets: Vec<Sent>,
    /// Volts at which its powers are currents.
    pub volts: f64,
}

/// A packet of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When, from the beginning of the curve.
    pub at: Duration,
    /// Up from the device, or down to it.
    pub direction: Direction,
    /// Bytes of its IP packet.
    pub bytes: u64,
}

impl Curve {
    /// The second one of some readings, or the only one.
    fn from_readings(readings: &[&[Packet]], device: &Device) -> Option<Self> {
        // The first reading may have the way into a connection: the second one is what repeats.
        let index = usize::from(readings.len() > 1);
        let (reading, next) = (readings.get(index)?, readings.get(index + 1));
        let life = readings.first()?.first()?.at;
        let wake = device.wake.map_or(Duration::ZERO, |wake| wake.time);
        let in_life = |at: Instant| wake + at.saturating_since(life);
        let mut meter = Meter::in_order(device);
        // From the first one on, as its tails may reach into the second.
        for packet in readings[..=index].iter().copied().flatten() {
            packet.tell(Duration::ZERO, &mut meter);
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

    /// Its charge in coulombs.
    pub fn coulombs(&self) -> f64 {
        let joules = self.segments.iter().map(|one| one.watts * one.nanos as f64 / 1e9);
        joules.sum::<f64>() / self.volts
    }

    /// The mean current in amperes of each `slot` of time, the last one of what is left.
    pub fn means(&self, slot: Duration) -> Vec<f64> {
        let slot = u64::try_from(slot.as_nanos()).unwrap_or(u64::MAX).max(1);
        let mut means = Vec::new();
        let (mut joules, mut nanos) = (0.0, 0_u64);
        for segment in &self.segments {
            let mut left = segment.nanos;
            while left > 0 {
                let part = left.min(slot - nanos);
                joules += segment.watts * part as f64;
                (left, nanos) = (left - part, nanos + part);
                if nanos == slot {
                    means.push(joules / slot as f64 / self.volts);
                    (joules, nanos) = (0.0, 0);
                }
            }
        }
        if nanos > 0 {
            means.push(joules / nanos as f64 / self.volts);
        }
        means
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
        (Part::Attach, _) => "attach",
        (Part::Tail, State::Idle) => "reachable",
        (Part::Tail, _) => "connected",
        (Part::Layer(_) | Part::Link | Part::Compute, state) => state.name(),
    }
}

/// A packet that was seen.
#[derive(Clone, Debug)]
struct Packet {
    at: Instant,
    direction: Direction,
    phase: Phase,
    cause: Cause,
    spans: Vec<Span>,
}

impl Packet {
    fn tell(&self, after: Duration, observer: &mut dyn Observer) {
        observer.packet(&ObservedPacket {
            at: self.at + after,
            direction: self.direction,
            phase: self.phase,
            cause: self.cause,
            spans: &self.spans,
        });
    }
}

/// The packets of a device's life, in their order: an observer that keeps them.
#[derive(Clone, Debug, Default)]
pub struct Packets(Vec<Packet>);

impl Packets {
    /// Those of the first device of a cell; `None` without one.
    pub fn of_cell(traffic: &CellTraffic) -> Option<Self> {
        let shapes = replay::shapes(traffic)?;
        let mut all = Self::default();
        replay::tell_life(traffic.devices.first()?, &shapes, &mut all);
        Some(all)
    }

    /// The second reading, so that a kept connection is there, or the only one, until the next one begins. Readings are `interval`
    /// apart: a message half of it after the begin of a reading begins the next one. `None` without packets, or with more than can be
    /// drawn.
    pub fn reading(&self, device: &Device, interval: Duration) -> Option<Curve> {
        Curve::from_readings(&self.apart(interval / 2), device)
            .filter(|curve| curve.packets.len() <= MOST_PACKETS)
    }

    /// The first day of a device that lives so again `every` so often. `None` without packets, or with more than can be drawn.
    pub fn day(&self, device: &Device, every: Duration) -> Option<Curve> {
        // A longer rest than the day changes nothing in it.
        let every = every.min(DAY * 2);
        let lives = u32::try_from(DAY.as_nanos().checked_div(every.as_nanos())?).ok()?;
        // The life after the day is what ends the last rest.
        let lives = lives.saturating_add(2);
        if self.0.is_empty() || self.0.len().saturating_mul(lives as usize) > MOST_PACKETS {
            return None;
        }
        let mut meter = Meter::in_order(device);
        for nth in 0..lives {
            for packet in &self.0 {
                packet.tell(every.saturating_mul(nth), &mut meter);
            }
        }
        Some(Curve {
            segments: cut(&meter.into_segments(), Duration::ZERO, DAY),
            packets: Vec::new(),
            volts: device.volts,
        })
    }

    /// The packets of each reading. A connect or a message that comes `apart` or more after the first packet of a reading begins the
    /// next one; keep-alives between two belong to the first.
    fn apart(&self, apart: Duration) -> Vec<&[Packet]> {
        let mut first = self.0.first().map(|packet| packet.at);
        self.0
            .chunk_by(|_, next| {
                let begins = matches!(next.phase, Phase::Connect | Phase::Message);
                let is_next = begins && first.is_some_and(|first| next.at.saturating_since(first) >= apart);
                if is_next {
                    first = Some(next.at);
                }
                !is_next
            })
            .collect()
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
