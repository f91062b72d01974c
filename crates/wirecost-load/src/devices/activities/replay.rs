//! Waits until subscribers have received the messages on their way: messages that a server has queued for their
//! sessions, retained messages, and the last published ones.

use std::time::Duration;

use wirecost_proto::Instant;

use wirecost_stack::Event;

use crate::devices::activity::{Activity, Part};

/// Waits for deliveries.
#[derive(Debug)]
pub struct AwaitReplay {
    timeout: Duration,
    /// The phase is over when nothing has arrived for this long.
    stillness: Duration,
    until: Instant,
    last: Instant,
}

impl AwaitReplay {
    /// Waits until nothing has arrived for `stillness`, or `timeout` has passed.
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
