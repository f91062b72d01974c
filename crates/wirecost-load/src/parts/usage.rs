//! The usage and the arrivals of the target while a load runs.

use serde::{Deserialize, Serialize};
use wirecost_live::emulation::Meter;
use wirecost_results::figures::Deliveries;
use wirecost_results::metrics::Usage;
use wirecost_stats::Histogram;

/// A target that the coordinator watches.
pub trait Watched {
    /// CPU time and memory so far; `None` if it runs on another machine, or if wirecost did not start it.
    fn used(&mut self) -> Option<Used>;

    /// The meter of the emulated link to it; `None` without a link.
    fn meter(&self) -> Option<&Meter>;

    /// Begins a phase: later delay figures leave out earlier messages.
    fn begin(&mut self, phase: &Measured);

    /// The arrivals since its start; `None` if it does not count, or does not answer in time. After an interruption the
    /// time is short.
    fn arrived(&mut self, interrupted: &dyn Fn() -> bool) -> Option<Arrived>;
}

/// The resources that a side has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// CPU time in user mode, in nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// CPU time of the busiest working thread, in nanoseconds; `None` if threads are not measured separately.
    pub busiest_ns: Option<u64>,
    /// Resident memory in bytes.
    pub resident_bytes: u64,
    /// Number of processes.
    pub processes: u32,
}

impl Used {
    /// CPU time, in nanoseconds.
    pub const fn cpu_ns(&self) -> u64 {
        self.user_ns + self.system_ns
    }

    /// The usage since `earlier`, over `span_ns` nanoseconds.
    pub fn since(&self, earlier: &Self, span_ns: u64) -> Usage {
        let share = |now: u64, then: u64| now.saturating_sub(then) as f64 / span_ns.max(1) as f64;
        Usage {
            cpu_share: share(self.cpu_ns(), earlier.cpu_ns()),
            busiest_thread_share: self
                .busiest_ns
                .zip(earlier.busiest_ns)
                .map(|(now, then)| share(now, then)),
            resident_bytes: self.resident_bytes,
            processes: self.processes,
        }
    }
}

/// The measured time of a phase, in nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// The beginning of the phase, or the end of its warm-up.
    pub from_ns: u64,
    /// Whether messages intended before that are warm-up. Without a warm-up, messages left over from an earlier phase
    /// count in the figures.
    pub has_warm_up: bool,
    /// The end of the offer; `None` if the count of a closed loop ends it, or if nothing is offered.
    pub offer_ends_ns: Option<u64>,
}

/// The arrivals at a target.
#[derive(Clone, Debug, Default)]
pub struct Arrived {
    /// Messages.
    pub deliveries: Deliveries,
    /// Of these, messages of a phase's warm-up.
    pub warm_up: Deliveries,
    /// Of the others that carry their intended time, messages that arrived after the end of the offer.
    pub worked_off: u64,
    /// The delays since the phase began, without its warm-up, of messages that carry their intended time.
    pub one_way_delay: Option<Histogram>,
}
