//! Devices that have lost their connections reconnect, each after its own waits.
//!
//! ```text
//! down -> wait -> connect -> up: the device is back
//!          ^         |
//!          `---------'  refused, reset, timed out: the wait is drawn from twice the range, up to the longest
//! ```
//!
//! Each return counts as a message: intended when the phase begins, acknowledged when the device may send again.

use std::time::Duration;

use wirecost_proto::Instant;

use wirecost_scenario::options::load::{Backoff, Who};

use crate::devices::activity::{Activity, Part};
use crate::devices::connections::State;
use crate::devices::roles::attempts::Attempts;

/// The reason of devices that have not reconnected at the end of the phase.
const NOT_BACK: &str = "not back in time";

/// Reconnects devices.
#[derive(Debug)]
pub struct Reconnect {
    who: Who,
    backoff: Backoff,
    timeout: Duration,
    retained: u32,
    attempts: Attempts,
    at: Instant,
    until: Instant,
    has_begun: bool,
}

impl Reconnect {
    /// Reconnects the devices `who` that are down, after waits by `backoff`, until `timeout` has passed. Each
    /// subscriber that has to subscribe again receives `retained` retained messages.
    pub fn new(who: Who, backoff: Backoff, timeout: Duration, retained: u32) -> Self {
        Self {
            who,
            backoff,
            timeout,
            retained,
            attempts: Attempts::new(0),
            at: Instant::START,
            until: Instant::START,
            has_begun: false,
        }
    }
}

impl Activity for Reconnect {
    fn begin(&mut self, part: &mut Part, at: Instant) {
        self.at = at;
        self.until = at + self.timeout;
        self.attempts = Attempts::new(part.connections.len());
        part.subscribers.expect_retained(self.retained);
    }

    fn due(&mut self, part: &mut Part, now: Instant) -> Option<Instant> {
        if now < self.at {
            return Some(self.at);
        }
        if !std::mem::replace(&mut self.has_begun, true) {
            for device in part.devices(self.who) {
                if part.connections.state(device) != State::Down {
                    continue;
                }
                // From the time at which all were to come back: a storm is measured from its begin.
                self.attempts.offer(device, self.at, now, true, &mut part.tracker);
                self.attempts.begin(device, now, &mut part.tracker);
                part.connections.was_lost(device);
                part.connections.connect_again(device, &self.backoff, now);
            }
        }
        if now >= self.until {
            // Each attempt needs an end, also those that would succeed a moment later.
            self.attempts.abandon_all(NOT_BACK, &mut part.tracker);
            return None;
        }
        Some(self.until)
    }

    fn came_up(&mut self, part: &mut Part, device: usize, now: Instant) {
        self.attempts.succeed(device, now, &mut part.tracker);
    }

    fn is_done(&self, part: &Part, now: Instant) -> bool {
        let is_back = self.attempts.outstanding() == 0 && !part.subscribers.are_asking();
        self.has_begun && (is_back || now >= self.until)
    }

    fn stop(&mut self, _: &mut Part, _: Instant, until: Instant) {
        self.until = self.until.min(until);
    }

    fn keeps_up(&self) -> Option<Backoff> {
        Some(self.backoff)
    }
}
