//! The meter: observes a device and moves it through its power states.
//!
//! ```text
//! rest -> wake -> [wait, frame, acknowledgement] -> tails -> rest
//!                  ^ a packet during the tails or right after another needs no wake-up
//! ```
//!
//! A packet is on the air from its time on, or from the end of the packet before it. The wake-up ends when the first packet
//! begins and has its phase and cause. A tail has those of the packet that it follows, or, where that acknowledges another one, of
//! the last packet that does not.

use core::time::Duration;

use wirecost_cost::{DeviceEvent, ObservedPacket, Observer};
use wirecost_proto::{Cause, Direction, Instant, Phase};

use crate::account::{Account, Part, Purpose};
use crate::device::{Device, Level, State, Tail};
use crate::radio::Airtime;
use wirecost_proto::time::nanos;

/// A time that a device spends in one state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// The state.
    pub state: State,
    /// Its power in watts.
    pub watts: f64,
    /// How long, in nanoseconds.
    pub nanos: u64,
    /// What it is for.
    pub part: Part,
}

/// Adds up what one device spends.
#[derive(Clone, Debug)]
pub struct Meter<'a> {
    device: &'a Device,
    account: Account,
    /// What is accounted, in its order; `None` for a meter that keeps sums alone.
    segments: Option<Vec<Segment>>,
    /// Until when everything is accounted; `None` before the first packet.
    until: Option<Instant>,
    /// When the first packet began.
    since: Option<Instant>,
    /// Phase and cause of the last packet.
    last: (Phase, Cause),
    /// The same of the last packet that is no acknowledgement.
    asked: (Phase, Cause),
}

impl<'a> Meter<'a> {
    /// A meter of a device that rests.
    pub fn new(device: &'a Device) -> Self {
        Self {
            device,
            account: Account::default(),
            segments: None,
            until: None,
            since: None,
            last: (Phase::Connect, Cause::Original),
            asked: (Phase::Connect, Cause::Original),
        }
    }

    /// A meter that keeps what it accounts in its order.
    pub fn in_order(device: &'a Device) -> Self {
        Self {
            segments: Some(Vec::new()),
            ..Self::new(device)
        }
    }

    /// What was accounted from the first wake-up to the end of the tails after the last packet, in its order; empty where it was not
    /// kept.
    pub fn into_segments(mut self) -> Vec<Segment> {
        if let Some(until) = self.until {
            self.end(until + self.device.tail_time());
        }
        self.segments.unwrap_or_default()
    }

    /// What was spent so far.
    pub const fn account(&self) -> &Account {
        &self.account
    }

    /// The time accounted: from the first wake-up to the end of the last packet, or to the end.
    pub fn run_time(&self) -> Duration {
        let Some((since, until)) = self.since.zip(self.until) else {
            return Duration::ZERO;
        };
        until.saturating_since(since) + self.device.wake.map_or(Duration::ZERO, |wake| wake.time)
    }

    /// What was spent, with the tails after the last packet in full. Nothing was spent if there was no packet.
    pub fn finish(mut self) -> Account {
        if let Some(until) = self.until {
            self.end(until + self.device.tail_time());
        }
        self.account
    }

    fn spend(&mut self, state: State, level: Level, time: Duration, part: Part) {
        let purpose = Purpose {
            part,
            packet: (part != Part::Rest).then_some(self.last),
        };
        let nanos = nanos(time);
        // A segment without length draws a line for nothing.
        if let Some(segments) = self.segments.as_mut().filter(|_| nanos > 0) {
            segments.push(Segment {
                state,
                watts: level.watts,
                nanos,
                part,
            });
        }
        self.account.spend(state, level, nanos, purpose);
    }

    fn spend_in(&mut self, state: State, time: Duration, part: Part) {
        self.spend(state, self.device.level(state), time, part);
    }

    /// Accounts the time from the last packet to the next one: tails, rest, and the wake-up, whose packet has `next`. Returns when
    /// the next packet begins.
    fn pass(&mut self, at: Instant, next: (Phase, Cause)) -> Instant {
        let Some(until) = self.until else {
            self.since = Some(at);
            self.last = next;
            self.wake_up(self.device.wake.map_or(Duration::ZERO, |wake| wake.time));
            return at;
        };
        let rest = self.tails(at.saturating_since(until));
        let Some(rest) = rest else {
            return at.max(until);
        };
        let wake = self.device.wake.map_or(Duration::ZERO, |wake| wake.time);
        self.rest(rest.saturating_sub(wake));
        self.last = next;
        self.wake_up(wake);
        // A gap that is too short for the wake-up delays the packet.
        at + wake.saturating_sub(rest)
    }

    /// Accounts tails in a gap. Returns how much of the gap is rest, `None` if the gap ends before the tails do.
    fn tails(&mut self, gap: Duration) -> Option<Duration> {
        let mut left = gap;
        self.last = self.asked;
        for tail in 0..self.device.tails.len() {
            let Tail { state, level, time } = self.device.tails[tail];
            self.spend(state, level, time.min(left), Part::Tail);
            left = left.checked_sub(time)?;
        }
        (!left.is_zero() || self.device.tails.is_empty() && !gap.is_zero()).then_some(left)
    }

    fn wake_up(&mut self, time: Duration) {
        if let Some(wake) = self.device.wake {
            self.spend(State::Listen, wake.level, time, Part::Wake);
        }
    }

    /// Accounts rest with the tracking area updates that come in it.
    fn rest(&mut self, mut time: Duration) {
        let updates = self.device.updates_in(time);
        for (state, level, each) in self.device.update().filter(|_| updates > 0) {
            let updating = each.saturating_mul(updates).min(time);
            self.spend(state, level, updating, Part::Rest);
            time -= updating;
        }
        let listening = self.device.paging.map_or(0, |paging| {
            let part = paging.listen.as_secs_f64() / paging.every.as_secs_f64();
            (nanos(time) as f64 * part).round() as u64
        });
        let listening = Duration::from_nanos(listening.min(nanos(time)));
        self.spend_in(self.device.rest, time - listening, Part::Rest);
        self.spend_in(State::Listen, listening, Part::Rest);
    }

    /// Accounts a frame. The time of its bytes is shared among the spans; what the division leaves over is the link's.
    fn frame(&mut self, packet: &ObservedPacket<'_>, airtime: &Airtime) {
        let (state, reply) = match packet.direction {
            Direction::Up => (State::Transmit, State::Receive),
            Direction::Down => (State::Receive, State::Transmit),
        };
        self.spend_in(State::Listen, airtime.wait, Part::Link);
        let bytes = packet.wire_bytes() + airtime.link_bytes;
        let mut left = nanos(airtime.data);
        for span in packet.spans {
            let share = u128::from(nanos(airtime.data)) * u128::from(span.len) / u128::from(bytes.max(1));
            let share = (share as u64).min(left);
            left -= share;
            self.last = (span.phase, span.cause);
            self.spend_in(state, Duration::from_nanos(share), Part::Layer(span.layer));
        }
        self.last = (packet.phase, packet.cause);
        self.spend_in(state, airtime.preamble + Duration::from_nanos(left), Part::Link);
        self.spend_in(reply, airtime.reply, Part::Link);
    }

    /// Accounts the processor's work. Returns its time.
    fn compute(&mut self, cycles: f64) -> Duration {
        let Some(processor) = self.device.processor else {
            return Duration::ZERO;
        };
        let time = Duration::from_nanos((cycles / processor.hertz * 1e9).round() as u64);
        self.spend_in(State::Compute, time, Part::Compute);
        time
    }
}

impl Observer for Meter<'_> {
    fn packet(&mut self, packet: &ObservedPacket<'_>) {
        let next = (packet.phase, packet.cause);
        let begins = self.pass(packet.at, next);
        self.last = next;
        // The tail behind an acknowledgement is owed to what was acknowledged.
        if packet.cause != Cause::Acknowledgement {
            self.asked = next;
        }
        let bytes = packet.wire_bytes();
        let airtime = self.device.radio.airtime(packet.direction, bytes);
        self.frame(packet, &airtime);
        let cycles = self.device.processor.map_or(0.0, |processor| {
            processor.cycles_per_packet + processor.cycles_per_byte * bytes as f64
        });
        let computing = self.compute(cycles);
        self.until = Some(begins + airtime.total() + computing);
    }

    fn event(&mut self, at: Instant, event: DeviceEvent) {
        let DeviceEvent::Computed { cycles } = event else {
            return;
        };
        let begins = self.pass(at, self.last);
        let computing = self.compute(cycles as f64);
        self.until = Some(begins + computing);
    }

    fn end(&mut self, at: Instant) {
        let Some(until) = self.until else {
            return;
        };
        if let Some(rest) = self.tails(at.saturating_since(until)) {
            self.rest(rest);
        }
        self.until = Some(at.max(until));
    }
}

#[cfg(test)]
mod tests;
