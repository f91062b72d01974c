//! CUBIC (RFC 9438), in the kernel's integers: windows in segments, time in 1/1024 s, beta 717/1024, C 0.4 for a round trip
//! of 100 ms. (Linux: `bictcp_update`)

use super::AckSample;
use super::hystart::HyStart;
use super::window::Window;
use crate::packed::packs;
use crate::recovery::TickClock;

/// Beta and the fractions below are of this.
const SCALE: u32 = 1_024;
/// The multiplicative decrease factor: 0.7 (RFC 9438, section 4.6).
const BETA: u32 = 717;
/// Time is counted in 2^-10 s.
const TIME_SHIFT: u32 = 10;
/// 1,024 times C over a round trip of 100 ms: C is 0.4 (RFC 9438, section 5).
const CUBE_RTT_SCALE: u64 = 410;
/// 2^40 over that: what K cubed is per segment of the window.
const CUBE_FACTOR: u64 = (1 << 40) / CUBE_RTT_SCALE;
/// Eight times the segments that Reno needs acknowledged to grow by one, per segment of the window (RFC 9438, section 4.3).
const RENO_SCALE: u32 = 8 * (SCALE + BETA) / 3 / (SCALE - BETA);
/// Before the first loss, the window grows by at least a twentieth per round trip.
const SLOWEST_BEFORE_LOSS: u32 = 20;
/// The window grows by at most a half per round trip.
const FASTEST: u32 = 2;

/// The state of CUBIC.
#[derive(Clone, Debug)]
pub(crate) struct Cubic {
    hystart: Option<HyStart>,
    /// The window before the last reduction, or less after fast convergence; 0 before the first reduction.
    w_max: u32,
    /// The smallest round trip, in microseconds; 0 before the first.
    delay_min_micros: u64,
    /// The number of delivered segments for which the window grows by one.
    acks_per_segment: u32,
    last_cwnd: u32,
    last_tick: u64,
    epoch: Option<Epoch>,
}

packs!(Cubic {
    hystart,
    w_max,
    delay_min_micros,
    acks_per_segment,
    last_cwnd,
    last_tick,
    epoch
});

/// The epoch since a reduction.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start_tick: u64,
    /// The time to the plateau, in 1/1024 s.
    k: u64,
    /// The window at the plateau.
    origin: u32,
    /// Delivered segments for which Reno's window has not grown yet.
    delivered: u32,
    /// Reno's window (W_est).
    reno_cwnd: u32,
}

packs!(Epoch {
    start_tick,
    k,
    origin,
    delivered,
    reno_cwnd
});

impl Cubic {
    pub(super) const fn new(hystart: bool) -> Self {
        Self {
            hystart: if hystart { Some(HyStart::idle()) } else { None },
            w_max: 0,
            delay_min_micros: 0,
            acks_per_segment: 0,
            last_cwnd: 0,
            last_tick: 0,
            epoch: None,
        }
    }

    pub(super) const fn start(&mut self, next: u32, now_micros: u64) {
        if let Some(hystart) = &mut self.hystart {
            hystart.start_round(next, now_micros);
        }
    }

    /// Resets the state: after a time-out the path may be another one. (Linux: `cubictcp_state`)
    pub(super) const fn reset(&mut self, next: u32, now_micros: u64) {
        let mut hystart = self.hystart;
        if let Some(hystart) = &mut hystart {
            hystart.reset(next, now_micros);
        }
        *self = Self::new(false);
        self.hystart = hystart;
    }

    pub(super) const fn threshold_after_loss(&mut self, cwnd: u32) -> u32 {
        self.epoch = None;
        // RFC 9438, section 4.7: fast convergence.
        self.w_max = if cwnd < self.w_max {
            cwnd * (SCALE + BETA) / (2 * SCALE)
        } else {
            cwnd
        };
        let reduced = cwnd * BETA / SCALE;
        if reduced < 2 { 2 } else { reduced }
    }

    pub(super) fn measure(&mut self, sample: &AckSample, window: &mut Window, clock: &TickClock) {
        let Some(rtt_micros) = sample.rtt_micros else {
            return;
        };
        // Round trips shortly after a reduction include the queue that caused it.
        if self.epoch.is_some_and(|epoch| {
            clock.ticks_at(sample.now_micros).saturating_sub(epoch.start_tick) < clock.second()
        }) {
            return;
        }
        let rtt_micros = rtt_micros.max(1);
        if self.delay_min_micros == 0 || rtt_micros < self.delay_min_micros {
            self.delay_min_micros = rtt_micros;
        }
        if let Some(hystart) = &mut self.hystart {
            hystart.measure(sample, rtt_micros, self.delay_min_micros, window);
        }
    }

    /// The number of delivered segments for which the window grows by one, after `delivered` more segments.
    pub(super) fn acks_per_segment(
        &mut self,
        cwnd: u32,
        delivered: u32,
        tick: u64,
        clock: &TickClock,
    ) -> u32 {
        if let Some(epoch) = &mut self.epoch {
            epoch.delivered = epoch.delivered.saturating_add(delivered);
        }
        let since = tick.saturating_sub(self.last_tick);
        if self.last_cwnd == cwnd && since <= clock.second() / 32 {
            return self.acks_per_segment;
        }
        // The cube is computed once a tick; Reno's window always.
        if self.epoch.is_none() || tick != self.last_tick {
            self.last_cwnd = cwnd;
            self.last_tick = tick;
            self.acks_per_segment = self.cubic_acks(cwnd, delivered, tick, clock);
        }
        self.acks_per_segment = self.reno_friendly(cwnd, self.acks_per_segment).max(FASTEST);
        self.acks_per_segment
    }

    /// RFC 9438, section 4.2: the window follows W(t) = C (t - K)^3 + W_max.
    fn cubic_acks(&mut self, cwnd: u32, delivered: u32, tick: u64, clock: &TickClock) -> u32 {
        let epoch = *self
            .epoch
            .get_or_insert_with(|| Epoch::new(self.w_max, cwnd, delivered, tick));
        let ticks = tick.saturating_sub(epoch.start_tick) + clock.ticks_lasting(self.delay_min_micros);
        let time = (ticks << TIME_SHIFT) / clock.second();
        let distance = u128::from(time.abs_diff(epoch.k));
        let delta = (u128::from(CUBE_RTT_SCALE) * distance.pow(3)) >> (10 + 3 * TIME_SHIFT);
        let delta = u32::try_from(delta).unwrap_or(u32::MAX);
        let target = if time < epoch.k {
            epoch.origin.saturating_sub(delta)
        } else {
            epoch.origin.saturating_add(delta)
        };
        let acks = if target > cwnd {
            cwnd / (target - cwnd)
        } else {
            cwnd.saturating_mul(100)
        };
        if self.w_max == 0 {
            acks.min(SLOWEST_BEFORE_LOSS)
        } else {
            acks
        }
    }

    /// RFC 9438, section 4.3: not slower than Reno would be.
    fn reno_friendly(&mut self, cwnd: u32, acks: u32) -> u32 {
        let Some(epoch) = &mut self.epoch else { return acks };
        let acks_of_reno = (cwnd.saturating_mul(RENO_SCALE) >> 3).max(1);
        // The kernel's comparison leaves one segment uncounted.
        let growth = epoch.delivered.saturating_sub(1) / acks_of_reno;
        epoch.delivered -= growth * acks_of_reno;
        epoch.reno_cwnd = epoch.reno_cwnd.saturating_add(growth);
        if epoch.reno_cwnd > cwnd {
            acks.min(cwnd / (epoch.reno_cwnd - cwnd))
        } else {
            acks
        }
    }

    /// RFC 9438, section 4.2: excludes a pause from the epoch. (Linux: `cubictcp_cwnd_event`)
    pub(super) const fn resume(&mut self, last_sent_tick: u64, tick: u64) {
        if let Some(epoch) = &mut self.epoch {
            let start = epoch.start_tick + tick.saturating_sub(last_sent_tick);
            epoch.start_tick = if start > tick { tick } else { start };
        }
    }
}

impl Epoch {
    fn new(w_max: u32, cwnd: u32, delivered: u32, tick: u64) -> Self {
        let missing = w_max.saturating_sub(cwnd);
        Self {
            start_tick: tick,
            // RFC 9438, equation 2.
            k: u64::from(cubic_root(CUBE_FACTOR * u64::from(missing))),
            origin: w_max.max(cwnd),
            delivered,
            reno_cwnd: cwnd,
        }
    }
}

/// The cube root of `cube`, rounded down.
///
/// The kernel's is a table and one step of Newton's method, off by 0.2 % on average; K differs by as much.
const fn cubic_root(cube: u64) -> u32 {
    let mut root: u64 = 0;
    let mut bit: u64 = 1 << 21;
    while bit > 0 {
        let tried = root | bit;
        // 2^22 cubed is above 64 bits.
        if tried as u128 * tried as u128 * tried as u128 <= cube as u128 {
            root = tried;
        }
        bit >>= 1;
    }
    root as u32
}

#[cfg(test)]
mod tests;
