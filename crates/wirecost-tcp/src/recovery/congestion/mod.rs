//! The congestion window and the algorithms that change it (RFC 5681, RFC 9438).
//!
//! - [`cubic`]: CUBIC, with the kernel's arithmetic
//! - [`hystart`]: the end of slow start before the first loss
//! - [`window`]: the window and its use
//! - `new_reno`: RFC 5681

pub(crate) mod cubic;
pub(crate) mod hystart;
pub(crate) mod new_reno;
pub(crate) mod window;

use crate::packed::packs;
use crate::recovery::{CongestionControl, Pacing, TickClock};
use cubic::Cubic;
use window::Window;

/// An acknowledgment, as input of the algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AckSample {
    /// Now, in microseconds.
    pub(crate) now_micros: u64,
    /// The round trip of the segment last delivered, in microseconds.
    pub(crate) rtt_micros: Option<u64>,
    /// The first sequence number not acknowledged.
    pub(crate) una: u32,
    /// The next sequence number to be sent.
    pub(crate) next: u32,
    /// The sending rate of the end: acknowledgments may be late because segments travel in trains.
    pub(crate) pacing: Pacing,
}

/// The algorithm that changes the window.
#[derive(Debug)]
pub(crate) enum Algorithm {
    NewReno,
    Cubic(Cubic),
}

packs!(enum Algorithm {
    0 => NewReno {},
    1 => Cubic { 0: cubic },
});

impl Algorithm {
    pub(crate) const fn new(control: CongestionControl) -> Self {
        match control {
            CongestionControl::NewReno => Self::NewReno,
            CongestionControl::Cubic { hystart } => Self::Cubic(Cubic::new(hystart)),
        }
    }

    /// Starts at `now_micros`; `next` is the next sequence number.
    pub(crate) const fn start(&mut self, next: u32, now_micros: u64) {
        if let Self::Cubic(cubic) = self {
            cubic.start(next, now_micros);
        }
    }

    /// The slow start threshold after a loss with this window (RFC 5681, equation 4; RFC 9438, section 4.6).
    pub(crate) const fn threshold_after_loss(&mut self, cwnd: u32) -> u32 {
        match self {
            Self::NewReno => new_reno::threshold_after_loss(cwnd),
            Self::Cubic(cubic) => cubic.threshold_after_loss(cwnd),
        }
    }

    /// Handles a time-out that counts as a loss.
    pub(crate) const fn handle_timeout(&mut self, next: u32, now_micros: u64) {
        if let Self::Cubic(cubic) = self {
            cubic.reset(next, now_micros);
        }
    }

    /// Handles a round trip before the window changes; may end slow start.
    pub(crate) fn measure(&mut self, sample: &AckSample, window: &mut Window, clock: &TickClock) {
        if let Self::Cubic(cubic) = self {
            cubic.measure(sample, window, clock);
        }
    }

    /// Grows the window for `delivered` segments.
    pub(crate) fn grow(&mut self, window: &mut Window, delivered: u32, tick: u64, clock: &TickClock) {
        if !window.is_limiting() {
            return;
        }
        let delivered = if window.in_slow_start() {
            window.slow_start(delivered)
        } else {
            delivered
        };
        if delivered == 0 {
            return;
        }
        let acks_per_segment = match self {
            Self::NewReno => window.cwnd(),
            Self::Cubic(cubic) => cubic.acks_per_segment(window.cwnd(), delivered, tick, clock),
        };
        window.grow_linearly(acks_per_segment, delivered);
    }

    /// Sending starts again after a pause that began at `last_sent_tick`.
    pub(crate) const fn resume(&mut self, last_sent_tick: u64, tick: u64) {
        if let Self::Cubic(cubic) = self {
            cubic.resume(last_sent_tick, tick);
        }
    }
}
