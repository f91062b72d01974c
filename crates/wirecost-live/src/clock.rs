//! The clock of a run: CLOCK_MONOTONIC in nanoseconds since the run began, and its offset to UTC.

use std::time::Duration;

use wirecost_proto::Instant;
use wirecost_security::Epoch;

use crate::sys::time::{clock_resolution, read_clock};

/// The clock of one run. Copies agree, on every thread.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin_monotonic: u64,
    origin_realtime: u64,
}

impl Clock {
    /// A clock whose run begins now.
    pub fn start() -> Self {
        let (origin_monotonic, origin_realtime) = read_both();
        Self {
            origin_monotonic,
            origin_realtime,
        }
    }

    /// The time since the start of the run.
    pub fn now(&self) -> Instant {
        Instant::from_nanos(read_clock(libc::CLOCK_MONOTONIC).saturating_sub(self.origin_monotonic))
    }

    /// `at` on CLOCK_MONOTONIC, in nanoseconds, as timers need it.
    pub fn monotonic_nanos(&self, at: Instant) -> u64 {
        self.origin_monotonic.saturating_add(at.as_nanos())
    }

    /// `at` in nanoseconds since 1970 UTC by the clock at the start of the run, as captures store it. A later step of
    /// the machine's clock does not change it.
    pub fn utc_nanos(&self, at: Instant) -> u64 {
        self.origin_realtime.saturating_add(at.as_nanos())
    }

    /// The start of the run on the clocks of the security libraries.
    pub fn epoch(&self) -> Epoch {
        let since_start = Duration::from_nanos(self.now().as_nanos());
        let now = std::time::Instant::now();
        Epoch {
            monotonic: now.checked_sub(since_start).unwrap_or(now),
            unix: Duration::from_nanos(self.utc_nanos(Instant::START)),
        }
    }

    /// How far CLOCK_REALTIME has moved against CLOCK_MONOTONIC since the start of the run, in nanoseconds. NTP slews
    /// by some microseconds per second. A step moves it by any amount.
    pub fn realtime_drift_nanos(&self) -> i64 {
        let (monotonic, realtime) = read_both();
        let elapsed = monotonic.saturating_sub(self.origin_monotonic) as i64;
        (realtime as i64).wrapping_sub(self.origin_realtime as i64) - elapsed
    }
}

/// Monotonic and real time of one moment: of several pairs of readings, the closest pair.
fn read_both() -> (u64, u64) {
    let read = || {
        let before = read_clock(libc::CLOCK_MONOTONIC);
        let realtime = read_clock(libc::CLOCK_REALTIME);
        let gap = read_clock(libc::CLOCK_MONOTONIC).saturating_sub(before);
        (gap, before + gap / 2, realtime)
    };
    let mut best = read();
    for _ in 0..4 {
        best = best.min(read());
    }
    (best.1, best.2)
}

/// CPU time that the calling thread has used, in user and kernel.
pub fn thread_cpu_time() -> Duration {
    Duration::from_nanos(read_clock(libc::CLOCK_THREAD_CPUTIME_ID))
}

/// The resolution of a clock and the cost of reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockQuality {
    /// The clock's resolution, as the kernel reports it.
    pub resolution: Duration,
    /// The mean cost of one read.
    pub read_cost: Duration,
}

impl ClockQuality {
    /// The quality of CLOCK_MONOTONIC, which times packets and messages.
    pub(crate) fn of_monotonic() -> Self {
        Self::measure(libc::CLOCK_MONOTONIC)
    }

    /// The quality of CLOCK_THREAD_CPUTIME_ID, which measures CPU time.
    pub(crate) fn of_thread_cpu() -> Self {
        Self::measure(libc::CLOCK_THREAD_CPUTIME_ID)
    }

    fn measure(clock: libc::clockid_t) -> Self {
        const READS: u32 = 1_000;
        let before = read_clock(libc::CLOCK_MONOTONIC);
        for _ in 0..READS {
            std::hint::black_box(read_clock(clock));
        }
        let spent = Duration::from_nanos(read_clock(libc::CLOCK_MONOTONIC).saturating_sub(before));
        Self {
            resolution: clock_resolution(clock),
            read_cost: spent / READS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_shows_the_time_of_day() {
        let clock = Clock::start();
        let of_day = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
        assert!(clock.utc_nanos(clock.now()).abs_diff(of_day) < 1_000_000_000);
    }

    #[test]
    fn an_instant_and_its_monotonic_time_are_the_same_moment() {
        let clock = Clock::start();
        let before = read_clock(libc::CLOCK_MONOTONIC);
        let between = clock.monotonic_nanos(clock.now());
        assert!((before..=read_clock(libc::CLOCK_MONOTONIC)).contains(&between));
    }

    #[test]
    fn work_costs_cpu_time_and_sleep_does_not() {
        let start = thread_cpu_time();
        let mut sum = 0u64;
        while thread_cpu_time() - start < Duration::from_millis(2) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let worked = thread_cpu_time();
        std::thread::sleep(Duration::from_millis(20));
        assert!(thread_cpu_time() - worked < Duration::from_millis(10));
    }

    #[test]
    fn a_monotonic_clock_is_finer_than_a_microsecond() {
        assert!(ClockQuality::of_monotonic().resolution < Duration::from_micros(1));
        assert!(ClockQuality::of_thread_cpu().read_cost > Duration::ZERO);
    }
}
