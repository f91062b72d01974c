//! Round-trip times and the retransmission time-out (RFC 6298).

use super::clock::TickClock;
use super::config::{RecoveryConfig, RttFilter};
use crate::packed::packs;
use crate::sequence::is_after;

/// One measured round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RttSample {
    /// The round trip, in microseconds.
    pub(super) micros: u64,
    /// The first sequence number not acknowledged.
    pub(super) una: u32,
    /// The next sequence number to be sent.
    pub(super) next: u32,
}

/// The smoothed round trip and its deviation, in the unit of its filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RttEstimator {
    filter: RttFilter,
    minimum_rto_micros: u64,
    maximum_rto_ticks: u64,
    /// Eight times the smoothed round trip; 0 before the first measurement.
    srtt: i64,
    /// Four times the smoothed mean deviation.
    mdev: i64,
    /// The largest deviation in this round trip; of the kernel's filter.
    mdev_max: i64,
    /// Four times the deviation that counts; of the kernel's filter.
    rttvar: i64,
    /// The end of the round trip whose maximum is `mdev_max`.
    round_end: u32,
    rto_ticks: u64,
}

packs!(RttEstimator {
    filter,
    minimum_rto_micros,
    maximum_rto_ticks,
    srtt,
    mdev,
    mdev_max,
    rttvar,
    round_end,
    rto_ticks
});

impl RttEstimator {
    pub(super) fn new(config: &RecoveryConfig, clock: &TickClock) -> Self {
        let initial = clock.ticks_in(config.initial_rto);
        Self {
            filter: config.rtt_filter,
            minimum_rto_micros: clock.micros(clock.ticks_in(config.minimum_rto)),
            maximum_rto_ticks: clock.ticks_in(config.maximum_rto),
            srtt: 0,
            mdev: 0,
            mdev_max: 0,
            rttvar: 0,
            round_end: 0,
            rto_ticks: initial,
        }
    }

    /// The time-out, in ticks, without backing off.
    pub(super) const fn rto_ticks(&self) -> u64 {
        self.rto_ticks
    }

    /// Eight times the smoothed round trip, in microseconds; `None` before the first measurement, and with a filter
    /// that does not count microseconds.
    pub(super) const fn srtt_eighths(&self) -> Option<u64> {
        match self.filter {
            RttFilter::Linux if self.srtt > 0 => Some(self.srtt as u64),
            _ => None,
        }
    }

    /// RFC 6298, section 5.7: sets a larger time-out after a handshake without a measurement.
    pub(super) fn fall_back(&mut self, rto_ticks: u64, clock: &TickClock) {
        if self.srtt != 0 {
            return;
        }
        self.rttvar = clock.micros(rto_ticks) as i64;
        self.mdev = self.rttvar;
        self.mdev_max = self.rttvar;
        self.rto_ticks = rto_ticks;
    }

    /// Handles the round trip of a segment that was not retransmitted (RFC 6298, section 3).
    pub(super) fn measure(&mut self, sample: &RttSample, clock: &TickClock) {
        let rto_ticks = match self.filter {
            RttFilter::Linux => self.measure_linux(sample, clock),
            RttFilter::Standard => self.measure_standard(sample, clock),
        };
        self.rto_ticks = rto_ticks.min(self.maximum_rto_ticks);
    }

    /// Linux: `tcp_rtt_estimator`, `tcp_set_rto`.
    fn measure_linux(&mut self, sample: &RttSample, clock: &TickClock) -> u64 {
        // A real host adds its own time to that of the path, so that it never measures a whole number of ticks. Without the
        // extra microsecond, the time-out could be a tick shorter than any live one.
        let rtt = sample.micros as i64 + 1;
        let floor = self.minimum_rto_micros as i64;
        if self.srtt == 0 {
            self.srtt = rtt << 3;
            self.mdev = rtt << 1;
            self.rttvar = self.mdev.max(floor);
            self.mdev_max = self.rttvar;
            self.round_end = sample.next;
        } else {
            self.smooth(rtt, true);
            self.mdev_max = self.mdev_max.max(self.mdev);
            self.rttvar = self.rttvar.max(self.mdev_max);
            self.end_round(sample, floor);
        }
        self.srtt = self.srtt.max(1);
        clock.ticks_lasting(((self.srtt >> 3) + self.rttvar).max(0) as u64)
    }

    /// RFC 6298, section 4, advises against gains that count each of many samples of one round trip: the kernel reduces the
    /// deviation once a round trip.
    fn end_round(&mut self, sample: &RttSample, floor: i64) {
        if !is_after(sample.una, self.round_end) {
            return;
        }
        if self.mdev_max < self.rttvar {
            self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
        }
        self.round_end = sample.next;
        self.mdev_max = floor;
    }

    fn measure_standard(&mut self, sample: &RttSample, clock: &TickClock) -> u64 {
        let rtt = sample.micros.max(1) as i64;
        if self.srtt == 0 {
            // RFC 6298, section 2.2: SRTT = R, RTTVAR = R/2.
            self.srtt = rtt << 3;
            self.mdev = rtt << 1;
        } else {
            self.smooth(rtt, false);
        }
        // RFC 6298, sections 2.3 and 2.4.
        let deviation = (self.mdev as u64).max(clock.micros(1));
        let rto = (self.srtt >> 3) as u64 + deviation;
        clock.ticks_lasting(rto.max(self.minimum_rto_micros))
    }

    /// RFC 6298, section 2.3, in Jacobson's integers: gains of an eighth and a quarter. `slow_fall`: a deviation that grows
    /// because the round trip falls counts only an eighth.
    fn smooth(&mut self, rtt: i64, slow_fall: bool) {
        let error = rtt - (self.srtt >> 3);
        self.srtt += error;
        let mut growth = error.abs() - (self.mdev >> 2);
        if slow_fall && error < 0 && growth > 0 {
            growth >>= 3;
        }
        self.mdev += growth;
    }
}

/// The smallest round trip of the last five minutes, by three samples. (Linux: `minmax_running_min`)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MinRtt {
    best: [MinSample; 3],
}

packs!(MinRtt { best });

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MinSample {
    tick: u64,
    micros: u64,
}

packs!(MinSample { tick, micros });

impl Default for MinSample {
    fn default() -> Self {
        Self {
            tick: 0,
            micros: u64::MAX,
        }
    }
}

impl MinRtt {
    /// net.ipv4.tcp_min_rtt_wlen.
    const WINDOW_SECONDS: u64 = 300;

    /// The least round trip, in microseconds; `u64::MAX` before the first.
    pub(super) const fn micros(&self) -> u64 {
        let [best, ..] = self.best;
        best.micros
    }

    /// Adds a round trip measured at `tick`.
    pub(super) fn measure(&mut self, micros: u64, tick: u64, clock: &TickClock) {
        let sample = MinSample { tick, micros };
        let [first, second, third] = self.best;
        if micros <= first.micros {
            self.best = [sample; 3];
            return;
        }
        let window = Self::WINDOW_SECONDS * clock.second();
        if tick.saturating_sub(third.tick) > window {
            self.best = [sample; 3];
            return;
        }
        if micros <= second.micros {
            self.best = [first, sample, sample];
        } else if micros <= third.micros {
            self.best = [first, second, sample];
        }
        self.expire(sample, window);
    }

    /// Drops the best sample when it is older than the window, and keeps the others spread over the window.
    fn expire(&mut self, sample: MinSample, window: u64) {
        let [first, second, third] = self.best;
        let age = sample.tick.saturating_sub(first.tick);
        if age > window {
            self.best = if sample.tick.saturating_sub(second.tick) > window {
                [third, sample, sample]
            } else {
                [second, third, sample]
            };
        } else if second.tick == first.tick && age > window / 4 {
            self.best = [first, sample, sample];
        } else if third.tick == second.tick && age > window / 2 {
            self.best = [first, second, sample];
        }
    }
}

#[cfg(test)]
mod tests;
