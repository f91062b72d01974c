//! Subscribers wait until what is on its way to them has come: what a server has queued for their sessions, what it has
//! retained, or the last of what was published.

use std::time::Duration;

use wirecost_proto::Instant;

use wirecost_stack::Event;

use crate::activity::{Activity, Part};

/// Waits for deliveries.
#[derive(Debug)]
pub struct AwaitReplay {
    timeout: Duration,
    /// Nothing more comes after so long without anything.
    stillness: Duration,
    until: Instant,
    last: Instant,
}

impl AwaitReplay {
    /// Waits until nothing has come for as long as `stillness`, or `timeout` has passed.
    pub const fn new(timeout: Duration, stillness: Duration) -> Self {
        Self {
            timeout,
            stillness,
            until: Instant::START,
            last: Instant::START,
        }
    }

    fn ends(&self) -> Instant {
        self.until.min(self.last + self.stillness)
    }
}

impl Activity for AwaitReplay {
    fn begin(&mut self, _: &mut Part, at: Instant) {
        self.last = at;
        self.until = at + self.timeout;
    }

    fn due(&mut self, _: &mut Part, _: Instant) -> Option<Instant> {
        Some(self.ends())
    }

    fn event(&mut self, _: &mut Part, _: usize, event: &Event, now: Instant) {
        if let Event::Received(_) = event {
            self.last = self.last.max(now);
        }
    }

    fn is_done(&self, _: &Part, now: Instant) -> bool {
        now >= self.ends()
    }

    fn stop(&mut self, _: &mut Part, now: Instant, _: Instant) {
        self.until = self.until.min(now);
    }
}
