//! Time as an argument: nanoseconds since the run began.

use core::fmt;
use core::num::NonZeroU64;
use core::ops::{Add, AddAssign, Sub};
use core::time::Duration;

/// Nanoseconds since the start of the run, in live and in virtual time.
///
/// 64 bits hold 584 years. The driver maps its own clock onto it; a protocol machine only compares and adds.
///
/// `Option<Instant>` takes as many bytes: a sleeping device is mostly deadlines that it may have. The number kept is therefore one more
/// than that of the nanoseconds, and the last instant is that of `u64::MAX - 1` nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(NonZeroU64);

impl Instant {
    /// The start of the run.
    pub const START: Self = Self(NonZeroU64::MIN);

    /// The instant `nanos` nanoseconds after the start of the run.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(nanos))
    }

    /// The instant `millis` milliseconds after the start of the run.
    pub const fn from_millis(millis: u64) -> Self {
        Self::from_nanos(millis * 1_000_000)
    }

    /// Nanoseconds since the start of the run.
    pub const fn as_nanos(self) -> u64 {
        self.0.get() - 1
    }

    /// The time from `earlier` to `self`; zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.get().saturating_sub(earlier.0.get()))
    }
}

impl Default for Instant {
    fn default() -> Self {
        Self::START
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Instant").field(&self.as_nanos()).finish()
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanos(duration)))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        Self::from_nanos(self.as_nanos().saturating_sub(nanos(duration)))
    }
}

/// Nanoseconds of `duration`, saturated to 64 bits. [`Duration::as_nanos`] computes with 128 bits, which costs time with
/// every packet.
pub const fn nanos(duration: Duration) -> u64 {
    let seconds = duration.as_secs().saturating_mul(1_000_000_000);
    seconds.saturating_add(duration.subsec_nanos() as u64)
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.as_nanos();
        write!(f, "{}.{:09} s", nanos / 1_000_000_000, nanos % 1_000_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn saturates_at_both_ends() {
        assert_eq!(Instant::START - Duration::from_secs(1), Instant::START);
        assert_eq!(Instant::START + Duration::MAX, Instant::from_nanos(u64::MAX));
        assert_eq!(
            Instant::START.saturating_since(Instant::from_millis(1)),
            Duration::ZERO
        );
    }

    #[test]
    fn an_instant_that_may_be_missing_takes_no_more_bytes() {
        assert_eq!(size_of::<Option<Instant>>(), size_of::<u64>());
        let nanos = [0, 1, u64::MAX - 1];
        assert_eq!(nanos.map(|nanos| Instant::from_nanos(nanos).as_nanos()), nanos);
        assert_eq!(Instant::from_nanos(u64::MAX), Instant::from_nanos(u64::MAX - 1));
    }

    #[test]
    fn prints_seconds_with_nanoseconds() {
        assert_eq!(Instant::from_nanos(1_000_000_042).to_string(), "1.000000042 s");
    }
}
