//! Closes connections with the protocol's own close, as fast as possible or one after the other.

use std::time::Duration;

use wirecost_proto::Instant;

use crate::devices::activity::{Activity, Part};
use crate::devices::connections::{NextStep, State};

/// The fewest connections of a part that close at once when no rate is given. A part of very many closes them in `rounds` groups: a
/// connection that closes has packets on their way, and takes as much memory as two that rest.
const AT_ONCE: usize = 1_024;

/// Closes open connections and leaves the others alone.
#[derive(Debug)]
pub struct Close {
    /// The time between two devices.
    gap: Duration,
    /// The most groups that close one after the other without a gap.
    rounds: u32,
    begins: Option<Instant>,
    /// The next device to close.
    next: usize,
    /// Connections that are still to be closed, as far as they last until then.
    left: usize,
    /// How many may close at once.
    at_once: usize,
}

impl Close {
    /// Closes one device after each `gap`; where the gap is zero, all devices in at most `rounds` groups.
    pub const fn new(gap: Duration, rounds: u32) -> Self {
        Self {
            gap,
            rounds,
            begins: None,
            next: 0,
            left: 0,
            at_once: usize::MAX,
        }
    }

    /// Whether as many connections as may are being closed.
    fn is_full(&self, part: &Part) -> bool {
        open(part).saturating_sub(self.left) >= self.at_once
    }

    /// Closes the devices whose time has come. Returns the time of the next device.
    fn close_due(&mut self, part: &mut Part, now: Instant) -> Option<Instant> {
        let begins = self.begins?;
        while self.next < part.connections.len() {
            let number = u32::try_from(self.next).unwrap_or(u32::MAX);
            let at = begins + self.gap.saturating_mul(number);
            if now < at {
                return Some(at);
            }
            // The end of a close calls again.
            if self.is_full(part) {
                return None;
            }
            let is_open = part.connections.state(self.next) != State::Down;
            self.left = self.left.saturating_sub(usize::from(is_open));
            close(part, self.next);
            self.next += 1;
        }
        None
    }
}

/// Connections that are open, being made or being closed.
fn open(part: &Part) -> usize {
    part.connections.len() - part.connections.count(State::Down)
}

fn close(part: &mut Part, device: usize) {
    match part.connections.state(device) {
        State::Up => part.connections.request(device, NextStep::Close),
        State::Connecting => part.connections.abort(device, false),
        State::Down => part.connections.stay_down(device),
        State::Closing => {}
    }
}

impl Activity for Close {
    fn begin(&mut self, part: &mut Part, at: Instant) {
        self.begins = Some(at);
        self.left = open(part);
        if self.gap.is_zero() {
            self.at_once = AT_ONCE.max(part.connections.len() / self.rounds as usize);
        }
        self.close_due(part, at);
    }

    fn due(&mut self, part: &mut Part, now: Instant) -> Option<Instant> {
        self.close_due(part, now)
    }

    fn is_done(&self, part: &Part, _: Instant) -> bool {
        let count = part.connections.len();
        self.begins.is_some() && self.next == count && part.connections.count(State::Down) == count
    }

    // A close has a time limit of its own, so the remaining connections close now.
    fn stop(&mut self, part: &mut Part, now: Instant, _: Instant) {
        (self.gap, self.at_once) = (Duration::ZERO, usize::MAX);
        self.close_due(part, now);
    }
}
