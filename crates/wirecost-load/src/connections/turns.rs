//! Whose turn it is to connect again, where a server is to see no more of that than so much.

use std::collections::VecDeque;
use std::time::Duration;

use wirecost_proto::Instant;

/// When devices connect again: one in each gap, or as many at once as a second has gaps. Without a gap each may at once.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Zero is no limit.
    pub(super) gap: Duration,
    /// When all turns that were taken would be over, one after the other.
    taken_until: Instant,
    /// Devices in their order; one that no longer waits is passed over.
    pub(super) waiting: VecDeque<u32>,
}

impl Turns {
    const AT_ONCE: Duration = Duration::from_secs(1);

    /// Whether a device may connect at once, where none waits.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        self.waiting.is_empty() && self.take_next(now)
    }

    /// Whether the first device that waits may connect.
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
