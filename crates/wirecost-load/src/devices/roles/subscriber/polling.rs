//! Subscribers that ask for messages at an interval (HTTP).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use wirecost_proto::Instant;

/// Where a subscriber is in the server's messages. It has one request in flight at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Poll {
    interval: Duration,
    /// The key to ask for next; `None` before the first answer.
    key: Option<u64>,
    /// When the next request is due.
    due: Instant,
    /// Whether a request has no answer yet.
    is_open: bool,
}

impl Poll {
    /// A subscriber that asks every `interval`.
    pub(super) const fn new(interval: Duration) -> Self {
        Self {
            interval,
            key: None,
            due: Instant::START,
            is_open: false,
        }
    }

    /// A connection is up: the answer to a request on an earlier one will not come. Whether there was an answer before.
    pub(super) const fn came_up(&mut self) -> bool {
        self.is_open = false;
        self.key.is_some()
    }

    /// Whether the next request is due.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        !self.is_open && now >= self.due
    }

    /// Begins a request. Returns the key that it asks for.
    pub(super) fn begin(&mut self, now: Instant) -> u64 {
        self.is_open = true;
        self.due = now + self.interval;
        self.key.unwrap_or(0)
    }

    /// A request is answered. Returns when the next one is due: at once where the answer took longer than the interval.
    pub(super) fn answered(&mut self, next_key: u64, now: Instant) -> Instant {
        self.is_open = false;
        self.key = Some(next_key);
        self.due.max(now)
    }
}

/// When the requests of a part's subscribers are due.
#[derive(Debug, Default)]
pub(super) struct Timers(BinaryHeap<Reverse<(Instant, usize)>>);

impl Timers {
    /// Wakes the devices whose time has come. Returns the next time.
    pub(super) fn wake_due(&mut self, now: Instant, mut wake: impl FnMut(usize)) -> Option<Instant> {
        while let Some(Reverse((at, device))) = self.0.peek().copied() {
            if now < at {
                return Some(at);
            }
            self.0.pop();
            wake(device);
        }
        None
    }
}

impl Extend<(Instant, usize)> for Timers {
    fn extend<I: IntoIterator<Item = (Instant, usize)>>(&mut self, timers: I) {
        self.0.extend(timers.into_iter().map(Reverse));
    }
}
