//! What is known of the target while a load runs, and what it says of what arrived.

use serde::{Deserialize, Serialize};
use wirecost_live::emulation::Meter;
use wirecost_results::figures::Deliveries;
use wirecost_results::metrics::Usage;
use wirecost_stats::Histogram;

/// A target, as far as it can be watched.
pub trait Watched {
    /// CPU time and memory so far; `None` where it is not on this machine, or not ours.
    fn used(&mut self) -> Option<Used>;

    /// What shows what the emulated link to it does; `None` without one.
    fn meter(&self) -> Option<&Meter>;

    /// A phase begins: the delays of what arrived before are not its.
    fn begin(&mut self, phase: &Measured);

    /// What has arrived since it started; `None` where it does not count, or does not say so in time: soon, where the run is
    /// `interrupted`.
    fn arrived(&mut self, interrupted: &dyn Fn() -> bool) -> Option<Arrived>;
}

/// What a side has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// CPU time in user mode, in nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// CPU time of the busiest thread that works, in nanoseconds; `None` where threads are not told apart.
    pub busiest_ns: Option<u64>,
    /// Resident memory in bytes.
    pub resident_bytes: u64,
    /// Its processes.
    pub processes: u32,
}

impl Used {
    /// CPU time, in nanoseconds.
    pub const fn cpu_ns(&self) -> u64 {
        self.user_ns + self.system_ns
    }

    /// What was used since `earlier`, over `span_ns` nanoseconds.
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

/// What of a phase is measured, in nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// Its beginning, or the end of its warm-up.
    pub from_ns: u64,
    /// Whether what is intended before that is its warm-up: where it has none, what a phase before has left over is in its
    /// figures.
    pub has_warm_up: bool,
    /// When nothing is offered any more; `None` where a count of a closed loop ends that, or nothing is offered.
    pub offer_ends_ns: Option<u64>,
}

/// What has arrived at a target.
#[derive(Clone, Debug, Default)]
pub struct Arrived {
    /// Messages.
    pub deliveries: Deliveries,
    /// Of those, what belongs to the warm-up of a phase.
    pub warm_up: Deliveries,
    /// Of those that do not, and that say when they were intended, how many came only when nothing was offered any more.
    pub worked_off: u64,
    /// How long they took since the phase began, without its warm-up, where they say when they were intended.
    pub one_way_delay: Option<Histogram>,
}
