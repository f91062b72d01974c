//! Limits how fast devices reconnect to one server.

use std::collections::VecDeque;
use std::time::Duration;

use wirecost_proto::Instant;

/// When devices reconnect: one in each gap, or one second's worth at once. Without a gap there is no limit.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Zero means no limit.
    pub(super) gap: Duration,
    /// When all turns taken so far would be over, one after the other.
    taken_until: Instant,
    /// Waiting devices in order. A device that no longer waits is skipped.
    pub(super) waiting: VecDeque<u32>,
}

impl Turns {
    const AT_ONCE: Duration = Duration::from_secs(1);

    /// Whether a device may reconnect at once, if no device waits.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        self.waiting.is_empty() && self.take_next(now)
    }

    /// Whether the first waiting device may connect.
    pub(super) fn take_next(&mut self, now: Instant) -> bool {
        let is_free = self.gap.is_zero() || self.taken_until < now + Self::AT_ONCE;
        if is_free {
            self.taken_until = self.taken_until.max(now) + self.gap;
        }
        is_free
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let from = Duration::from_nanos(self.taken_until.as_nanos()).saturating_sub(Self::AT_ONCE);
        let at = Instant::START + from + Duration::from_nanos(1);
        (!self.waiting.is_empty()).then_some(at)
    }
}
