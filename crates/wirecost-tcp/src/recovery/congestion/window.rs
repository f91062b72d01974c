//! The congestion window and its use.

use super::AckSample;
use crate::packed::packs;
use crate::sequence::{is_after, is_before};

/// The congestion window, in segments.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    cwnd: u32,
    ssthresh: u32,
    cap: u32,
    /// Segments acknowledged since the window last grew, in congestion avoidance.
    acknowledged: u32,
    usage: Usage,
}

packs!(Window {
    cwnd,
    ssthresh,
    cap,
    acknowledged,
    usage
});

/// The use of the window. (Linux: `tcp_cwnd_validate`)
#[derive(Clone, Debug)]
struct Usage {
    /// Whether the window limited the sender in this round trip.
    is_limiting: bool,
    /// The largest number of outstanding segments in this round trip, while the window did not limit the sender.
    most_outstanding: u32,
    /// The sequence number at which the round trip ends.
    round_end: u32,
    /// The largest number of outstanding segments since `since_tick`.
    used: u32,
    /// When the window last limited the sender, grew or was validated.
    since_tick: u64,
}

packs!(Usage {
    is_limiting,
    most_outstanding,
    round_end,
    used,
    since_tick
});

/// The outstanding data of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outstanding {
    /// Segments sent and not acknowledged.
    pub(crate) segments: u32,
    /// Segments in the network.
    pub(crate) in_flight: u32,
    /// The first sequence number not acknowledged.
    pub(crate) una: u32,
    /// The next sequence number to be sent.
    pub(crate) next: u32,
}

/// A threshold that never ends slow start.
pub(crate) const NO_THRESHOLD: u32 = 0x7fff_ffff;

impl Window {
    pub(crate) const fn new(initial: u32, cap: u32, first_sequence: u32) -> Self {
        Self {
            cwnd: initial,
            ssthresh: NO_THRESHOLD,
            cap,
            acknowledged: 0,
            usage: Usage {
                is_limiting: false,
                most_outstanding: 0,
                round_end: first_sequence,
                used: 0,
                since_tick: 0,
            },
        }
    }

    /// The window, in segments.
    pub(crate) const fn cwnd(&self) -> u32 {
        self.cwnd
    }

    /// The slow start threshold, in segments.
    pub(crate) const fn ssthresh(&self) -> u32 {
        self.ssthresh
    }

    pub(crate) const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    pub(crate) fn set_cwnd(&mut self, cwnd: u32) {
        self.cwnd = cwnd.max(1).min(self.cap.max(1));
    }

    pub(crate) const fn set_ssthresh(&mut self, ssthresh: u32) {
        self.ssthresh = ssthresh;
    }

    /// Resets the count towards the next growth.
    pub(crate) const fn restart_count(&mut self) {
        self.acknowledged = 0;
    }

    /// Notes that the window was set or limited the sender at `tick`.
    pub(crate) const fn stamp(&mut self, tick: u64) {
        self.usage.since_tick = tick;
    }

    /// Whether the window limits the sender: it grows only then. (Linux: `tcp_is_cwnd_limited`)
    pub(crate) const fn is_limiting(&self) -> bool {
        // RFC 9438, section 4.2, and RFC 7661: an unused window is no information about the network. In slow start, a window
        // that is half used may grow, so that it can reach twice the acknowledged segments.
        let half_used = self.in_slow_start() && self.cwnd < 2 * self.usage.most_outstanding;
        self.usage.is_limiting || half_used
    }

    /// Grows by the delivered segments, up to the threshold (RFC 5681, section 3.1, with L unlimited as in RFC 9406); returns
    /// the rest of `delivered`.
    pub(crate) fn slow_start(&mut self, delivered: u32) -> u32 {
        let cwnd = self.cwnd.saturating_add(delivered).min(self.ssthresh);
        let rest = delivered - (cwnd - self.cwnd);
        self.set_cwnd(cwnd);
        rest
    }

    /// Grows by one segment for every `acks_per_segment` delivered. (Linux: `tcp_cong_avoid_ai`)
    pub(crate) fn grow_linearly(&mut self, acks_per_segment: u32, delivered: u32) {
        let acks_per_segment = acks_per_segment.max(1);
        if self.acknowledged >= acks_per_segment {
            self.acknowledged = 0;
            self.set_cwnd(self.cwnd + 1);
        }
        self.acknowledged += delivered;
        let grown = self.acknowledged / acks_per_segment;
        self.acknowledged %= acks_per_segment;
        self.set_cwnd(self.cwnd.saturating_add(grown));
    }

    /// Validates the window after a transmission; `is_limiting`: the window limits the sender. Returns `true` if only the
    /// application limited the sender for `idle_ticks`; then call [`Window::decay`].
    pub(crate) fn validate(
        &mut self,
        outstanding: &Outstanding,
        is_limiting: bool,
        tick: u64,
        idle_ticks: u64,
    ) -> bool {
        let usage = &mut self.usage;
        let is_new_round = !is_before(outstanding.una, usage.round_end);
        let is_more = !usage.is_limiting && outstanding.segments > usage.most_outstanding;
        if is_new_round || is_limiting || is_more {
            usage.is_limiting = is_limiting;
            usage.most_outstanding = outstanding.segments;
            usage.round_end = outstanding.next;
        }
        if self.is_limiting() {
            self.usage.used = 0;
            self.usage.since_tick = tick;
            return false;
        }
        self.usage.used = self.usage.used.max(outstanding.segments);
        tick.saturating_sub(self.usage.since_tick) >= idle_ticks
    }

    /// Shrinks half way to the used window (RFC 2861, section 3.2). (Linux: `tcp_cwnd_application_limited`)
    pub(crate) fn decay(&mut self, initial_window: u32, tick: u64) {
        let used = self.usage.used.max(initial_window);
        if used < self.cwnd {
            self.ssthresh = self.threshold_of_past();
            self.set_cwnd(self.cwnd.midpoint(used));
        }
        self.usage.used = 0;
        self.usage.since_tick = tick;
    }

    /// Halves for every time-out of a pause, down to the initial window (RFC 5681, section 4.1; RFC 2861, section 3.1). (Linux:
    /// `tcp_cwnd_restart`)
    pub(crate) fn restart(&mut self, initial_window: u32, idle_ticks: u64, rto_ticks: u64, tick: u64) {
        let floor = initial_window.min(self.cwnd);
        self.ssthresh = self.threshold_of_past();
        let halvings = idle_ticks.saturating_sub(1) / rto_ticks.max(1);
        let halved = self.cwnd >> halvings.min(31);
        self.set_cwnd(halved.max(floor));
        self.usage.used = 0;
        self.usage.since_tick = tick;
    }

    /// The threshold that remembers this window: three quarters of it. (Linux: `tcp_current_ssthresh`)
    pub(crate) const fn threshold_of_past(&self) -> u32 {
        let past = self.cwnd / 2 + self.cwnd / 4;
        if past > self.ssthresh { past } else { self.ssthresh }
    }

    /// Ends slow start here.
    pub(super) const fn leave_slow_start(&mut self) {
        self.ssthresh = self.cwnd;
    }
}

/// Whether an acknowledgment ends the round trip that was to end at `round_end`.
pub(super) const fn ends_round(sample: &AckSample, round_end: u32) -> bool {
    is_after(sample.una, round_end)
}

#[cfg(test)]
mod tests;
