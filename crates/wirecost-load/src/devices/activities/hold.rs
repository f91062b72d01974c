//! Keeps connections open and sends nothing on them: the cost of keep-alive.

use std::time::Duration;

use wirecost_proto::Instant;

use wirecost_scenario::options::load::Backoff;

use crate::devices::activity::{Activity, Part};

/// Keeps connections open for a while.
#[derive(Debug)]
pub struct Hold {
    duration: Duration,
    ends: Instant,
    backoff: Backoff,
    has_begun: bool,
}

impl Hold {
    /// Keeps connections open for `duration`. Lost connections are made again.
    pub const fn new(duration: Duration, backoff: Backoff) -> Self {
        Self {
            duration,
            ends: Instant::START,
            backoff,
            has_begun: false,
        }
    }
}

impl Activity for Hold {
    fn begin(&mut self, _: &mut Part, at: Instant) {
        self.ends = at + self.duration;
    }

    fn due(&mut self, part: &mut Part, now: Instant) -> Option<Instant> {
        if !std::mem::replace(&mut self.has_begun, true) {
            part.bring_back(&self.backoff, now);
        }
        Some(self.ends)
    }

    fn is_done(&self, _: &Part, now: Instant) -> bool {
        now >= self.ends
    }

    fn stop(&mut self, _: &mut Part, now: Instant, _: Instant) {
        self.ends = self.ends.min(now);
    }

    fn keeps_up(&self) -> Option<Backoff> {
        Some(self.backoff)
    }
}
