//! Closes connections with the protocol's own close, all at once or one after the other.

use std::time::Duration;

use wirecost_proto::Instant;

use crate::devices::activity::{Activity, Part};
use crate::devices::connections::{NextStep, State};

/// Closes open connections and leaves the others alone.
#[derive(Debug)]
pub struct Close {
    /// The time between two devices.
    gap: Duration,
    begins: Option<Instant>,
    /// The next device to close.
    next: usize,
}

impl Close {
    /// Closes one device after each `gap`.
    pub const fn new(gap: Duration) -> Self {
        Self {
            gap,
            begins: None,
            next: 0,
        }
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
            close(part, self.next);
            self.next += 1;
        }
        None
    }
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
        self.gap = Duration::ZERO;
        self.close_due(part, now);
    }
}
