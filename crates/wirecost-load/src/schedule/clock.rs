//! The clock of a load: the machine's clock, or virtual time.

use std::cell::Cell;
use std::rc::Rc;

use wirecost_live::Clock;
use wirecost_proto::Instant;
use wirecost_stack::credentials::virtual_epoch;

/// The clock of a coordinator.
#[derive(Clone, Debug)]
pub enum LoadClock {
    /// The machine's clock.
    Live(Clock),
    /// Virtual time, which the simulation advances.
    Virtual(Rc<Cell<Instant>>),
}

/// The start of a part's clock on the clocks that its messages and payloads use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// On `CLOCK_MONOTONIC`, in nanoseconds.
    pub monotonic_ns: u64,
    /// Since 1970 UTC, in nanoseconds.
    pub utc_ns: u64,
}

impl Origin {
    /// The start of virtual time, the same in each run.
    pub fn simulated() -> Self {
        Self {
            monotonic_ns: 0,
            utc_ns: crate::nanos(virtual_epoch().unix),
        }
    }

    /// The same moment on a monotonic clock that shows `offset_ns` less.
    #[must_use]
    pub const fn on_a_clock_behind(self, offset_ns: i64) -> Self {
        Self {
            monotonic_ns: self
                .monotonic_ns
                .saturating_add_signed(offset_ns.saturating_neg()),
            ..self
        }
    }
}

impl From<Clock> for Origin {
    fn from(clock: Clock) -> Self {
        Self {
            monotonic_ns: clock.monotonic_nanos(Instant::START),
            utc_ns: clock.utc_nanos(Instant::START),
        }
    }
}

impl LoadClock {
    /// The time since the start of the run.
    pub fn now(&self) -> Instant {
        match self {
            Self::Live(clock) => clock.now(),
            Self::Virtual(now) => now.get(),
        }
    }

    /// Whether this is the machine's clock.
    pub const fn is_live(&self) -> bool {
        matches!(self, Self::Live(_))
    }

    /// `at` on the clock that all parts share, in nanoseconds.
    pub fn monotonic_nanos(&self, at: Instant) -> u64 {
        match self {
            Self::Live(clock) => clock.monotonic_nanos(at),
            Self::Virtual(_) => at.as_nanos(),
        }
    }

    /// How far the time of day has moved against this clock, in nanoseconds.
    pub fn realtime_drift_nanos(&self) -> i64 {
        match self {
            Self::Live(clock) => clock.realtime_drift_nanos(),
            Self::Virtual(_) => 0,
        }
    }
}
