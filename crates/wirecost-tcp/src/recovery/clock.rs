//! Units of time: microseconds for segments, ticks for timers.

use core::time::Duration;

use wirecost_proto::Instant;

use crate::packed::packs;
use crate::timers::{Granularity, wheel_deadline};

/// Whole microseconds since the start of the run.
pub(crate) const fn micros(instant: Instant) -> u64 {
    instant.as_nanos() / 1_000
}

/// The ticks of an implementation's time-outs: jiffies, or ticks of another length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TickClock {
    timers: Timers,
    tick_micros: u64,
}

packs!(TickClock { timers, tick_micros });

/// When timers fire, with a tick of its own ([`Granularity`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timers {
    Exact,
    Wheel,
    Ticks,
}

packs!(enum Timers {
    0 => Exact {},
    1 => Wheel {},
    2 => Ticks {},
});

impl TickClock {
    /// The ticks of a host with these timers; microseconds where they are exact.
    pub(crate) fn new(granularity: Granularity) -> Self {
        let (timers, tick) = match granularity {
            Granularity::Exact => (Timers::Exact, Duration::from_micros(1)),
            Granularity::Wheel(tick) => (Timers::Wheel, tick),
            Granularity::Ticks(tick) => (Timers::Ticks, tick),
        };
        let tick_micros = u64::try_from(tick.as_micros()).unwrap_or(u64::MAX).max(1);
        Self { timers, tick_micros }
    }

    /// Ticks since the start of the run.
    pub(crate) const fn ticks(&self, now: Instant) -> u64 {
        self.ticks_at(micros(now))
    }

    /// Ticks since the start of the run, at a time in microseconds.
    pub(crate) const fn ticks_at(&self, micros: u64) -> u64 {
        micros / self.tick_micros
    }

    /// The fewest ticks that last `micros` microseconds. (Linux: `usecs_to_jiffies`)
    pub(crate) const fn ticks_lasting(&self, micros: u64) -> u64 {
        micros.div_ceil(self.tick_micros)
    }

    /// The smallest number of ticks that last a second.
    pub(crate) const fn second(&self) -> u64 {
        1_000_000_u64.div_ceil(self.tick_micros)
    }

    /// The fewest ticks that last `time`.
    pub(crate) fn ticks_in(&self, time: Duration) -> u64 {
        self.ticks_lasting(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
    }

    /// How long `ticks` last, in microseconds.
    pub(crate) const fn micros(&self, ticks: u64) -> u64 {
        ticks.saturating_mul(self.tick_micros)
    }

    /// How long `ticks` last.
    pub(crate) const fn duration(&self, ticks: u64) -> Duration {
        Duration::from_micros(self.micros(ticks))
    }

    /// When a timer set `now` to `ticks` fires.
    pub(crate) fn deadline(&self, now: Instant, ticks: u64) -> Instant {
        match self.timers {
            // A jiffy lasts whole microseconds.
            Timers::Wheel => wheel_deadline(self.tick_micros * 1_000, now, ticks),
            Timers::Exact => Granularity::Exact.deadline(now, self.duration(ticks)),
            Timers::Ticks => Granularity::Ticks(self.duration(1)).deadline(now, self.duration(ticks)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_in_jiffies_and_rounds_waits_up() {
        let jiffies = TickClock::new(Granularity::Wheel(Duration::from_millis(4)));
        assert_eq!(jiffies.ticks(Instant::from_nanos(7_999_999)), 1);
        assert_eq!(
            [0, 1, 4_000, 4_001].map(|micros| jiffies.ticks_lasting(micros)),
            [0, 1, 1, 2]
        );
        assert_eq!(jiffies.duration(51), Duration::from_millis(204));
    }

    #[test]
    fn an_exact_clock_counts_microseconds() {
        let exact = TickClock::new(Granularity::Exact);
        assert_eq!(exact.ticks(Instant::from_millis(2)), 2_000);
        assert_eq!(
            exact.deadline(Instant::START, 1_500),
            Instant::from_nanos(1_500_000)
        );
    }
}
