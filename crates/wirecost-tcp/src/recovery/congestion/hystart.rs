//! HyStart: slow start ends when a train of acknowledgments lasts half a round trip, or when delays grow (S. Ha, I. Rhee,
//! "Taming the Elephants", 2011; RFC 9406 descends from it). With the constants of Linux: `hystart_update`.

use crate::packed::packs;

use super::AckSample;
use super::window::{Window, ends_round};

/// The smallest window for which HyStart may end slow start, in segments.
const LOW_WINDOW: u32 = 16;
/// The largest gap between acknowledgments of a train, in microseconds.
const TRAIN_GAP_MICROS: u64 = 2_000;
/// The number of round trips before their minimum counts.
const MIN_SAMPLES: u8 = 8;
/// The lower limit of the delay threshold, in microseconds.
const DELAY_MIN_MICROS: u64 = 4_000;
/// The upper limit of the delay threshold, in microseconds.
const DELAY_MAX_MICROS: u64 = 16_000;

/// The state of HyStart in the current round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HyStart {
    /// Whether HyStart has ended slow start.
    found: bool,
    round_start_micros: u64,
    round_end: u32,
    last_ack_micros: u64,
    least_rtt_micros: u64,
    samples: u8,
}

packs!(HyStart {
    found,
    round_start_micros,
    round_end,
    last_ack_micros,
    least_rtt_micros,
    samples
});

impl HyStart {
    /// Before the first round trip.
    pub(crate) const fn idle() -> Self {
        Self {
            found: false,
            round_start_micros: 0,
            round_end: 0,
            last_ack_micros: 0,
            least_rtt_micros: u64::MAX,
            samples: 0,
        }
    }

    /// Starts a round trip.
    pub(crate) const fn start_round(&mut self, next: u32, now_micros: u64) {
        self.round_start_micros = now_micros;
        self.last_ack_micros = now_micros;
        self.round_end = next;
        self.least_rtt_micros = u64::MAX;
        self.samples = 0;
    }

    /// Starts over after a time-out.
    pub(crate) const fn reset(&mut self, next: u32, now_micros: u64) {
        self.found = false;
        self.start_round(next, now_micros);
    }

    /// Handles an acknowledgment with the round trip `rtt_micros`; the smallest one is `delay_min_micros`.
    pub(crate) fn measure(
        &mut self,
        sample: &AckSample,
        rtt_micros: u64,
        delay_min_micros: u64,
        window: &mut Window,
    ) {
        if self.found || !window.in_slow_start() {
            return;
        }
        if ends_round(sample, self.round_end) {
            self.start_round(sample.next, sample.now_micros);
        }
        if window.cwnd() < LOW_WINDOW {
            return;
        }
        let is_train = self.is_long_train(sample, delay_min_micros);
        let is_delayed = self.is_delayed(rtt_micros, delay_min_micros);
        if is_train || is_delayed {
            self.found = true;
            window.leave_slow_start();
        }
    }

    /// Whether acknowledgments have followed one another for half a round trip.
    fn is_long_train(&mut self, sample: &AckSample, delay_min_micros: u64) -> bool {
        if sample.now_micros.saturating_sub(self.last_ack_micros) > TRAIN_GAP_MICROS {
            return false;
        }
        self.last_ack_micros = sample.now_micros;
        let threshold = (delay_min_micros + sample.pacing.train_micros()) / 2;
        sample.now_micros.saturating_sub(self.round_start_micros) > threshold
    }

    /// Whether the minimum of several round trips exceeds the smallest one by an eighth.
    fn is_delayed(&mut self, rtt_micros: u64, delay_min_micros: u64) -> bool {
        self.least_rtt_micros = self.least_rtt_micros.min(rtt_micros);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        let growth = (delay_min_micros / 8).clamp(DELAY_MIN_MICROS, DELAY_MAX_MICROS);
        self.least_rtt_micros > delay_min_micros + growth
    }
}

#[cfg(test)]
mod tests;
