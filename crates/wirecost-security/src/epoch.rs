//! Maps the run's clock to the clocks of the libraries below.

use std::time::Duration;

use wirecost_proto::Instant;

/// The start of the run on the two clocks that security libraries use.
///
/// The owner of a clock supplies the monotonic instant. In simulation any instant does, because only differences
/// count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// The start of the run on the monotonic clock.
    pub monotonic: std::time::Instant,
    /// The start of the run since 1970-01-01 00:00 UTC, for the validity of certificates and tickets.
    pub unix: Duration,
}

impl Epoch {
    /// `now` on the monotonic clock.
    pub fn monotonic_at(&self, now: Instant) -> std::time::Instant {
        self.monotonic + Duration::from_nanos(now.as_nanos())
    }

    /// `now` since 1970-01-01 00:00 UTC.
    pub(crate) fn unix_at(&self, now: Instant) -> Duration {
        self.unix + Duration::from_nanos(now.as_nanos())
    }

    /// An instant of the monotonic clock as time of the run. Earlier instants map to the start.
    pub fn instant_of(&self, at: std::time::Instant) -> Instant {
        let nanos = at.saturating_duration_since(self.monotonic).as_nanos();
        Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}
