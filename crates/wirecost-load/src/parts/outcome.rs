//! The raw result of a load.

use std::time::Duration;

use wirecost_live::emulation::Readings;
use wirecost_proto::Instant;
use wirecost_results::figures::Interval;
use wirecost_results::link_use::LinkUse;
use wirecost_results::threshold::Threshold;
use wirecost_results::usage::UsageRow;

use crate::devices::keys::KeyLines;
use crate::nanos;
use crate::parts::running::Gone;
use crate::parts::usage::Used;

/// The raw result of a load.
#[derive(Debug, Default)]
pub struct LoadOutcome {
    /// Counts by phase and second, with the warm-up apart.
    pub intervals: Vec<Interval>,
    /// The phases that have begun, in order.
    pub phases: Vec<PhaseTimes>,
    /// The readings of the link at its last count. Later packets belong to the last phase.
    pub link_counted: Option<Readings>,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// Why it ended early, other than by the user or a threshold.
    pub failure: Option<GeneratorError>,
    /// The threshold that ended it early.
    pub aborted: Option<Threshold>,
    /// Why no device could connect, if none could.
    pub no_connection: Option<NoConnection>,
    /// The first error of a device that could not open a socket.
    pub socket_error: Option<String>,
    /// The usage of both sides, tick by tick.
    pub usage: Vec<UsageRow>,
    /// The usage of the generator in the phases.
    pub generator: Spent,
    /// The usage of the target in the phases; `None` if unknown.
    pub target: Option<Spent>,
    /// The secrets of all parts' connections, as far as the parts have sent them.
    pub keys: KeyLines,
    /// How many parts have not sent all their secrets, if secrets are kept.
    pub parts_without_keys: usize,
    /// The parts that were lost with their agents.
    pub lost: Vec<LostPart>,
}

/// A part that was lost with its agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostPart {
    /// Its number.
    pub part: u32,
    /// When the agent was last heard, since the start of the load.
    pub heard: Duration,
    /// When it was given up.
    pub at: Duration,
    /// Why, in one sentence.
    pub reason: String,
    /// Messages that it was to offer until then and has not reported.
    pub unknown: u64,
    /// Messages that it was to offer after that; `None` in a closed loop.
    pub missing: Option<u64>,
}

impl LoadOutcome {
    /// Whether it was interrupted before anything had begun.
    pub(crate) const fn has_not_begun(&self) -> bool {
        self.interrupted && self.phases.is_empty()
    }

    /// When its first phase began and when its last one ended, on the clock of the load; `None` without a phase.
    pub(crate) fn times(&self) -> Option<[Instant; 2]> {
        let (first, last) = (self.phases.first()?, self.phases.last()?);
        Some([first.from, last.from + last.took])
    }

    /// Whether a failure, a failed threshold or a missing target ends the load.
    pub(crate) const fn ends_it(&self) -> bool {
        self.interrupted || self.failure.is_some() || self.aborted.is_some() || self.no_connection.is_some()
    }
}

/// Why a load ended early, other than by the user or a threshold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GeneratorError {
    /// A part did not become ready in time.
    #[error("a part of the generator was not there within {} s", .0.as_secs())]
    NotReady(Duration),
    /// A part went on after the end of its phase.
    #[error("a part of the generator did not end its phase")]
    PhaseNotEnded,
    /// No part is left.
    #[error(transparent)]
    Gone(#[from] Gone),
    /// All agents are lost.
    #[error("all agents of the load were lost")]
    NoAgent,
    /// A part failed, perhaps in another process: its own sentence.
    #[error("{0}")]
    Part(String),
    /// The simulated server failed.
    #[error("the server has ended: {0}")]
    Server(String),
}

/// What keeps devices from connecting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// No server answers.
    NoAnswer,
    /// The server refuses them.
    Server,
    /// The machine of the devices has no room for connections.
    Machine,
}

/// Why devices are not connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoConnection {
    /// What keeps them from it.
    pub obstacle: Obstacle,
    /// The most frequent reason.
    pub reason: String,
    /// The hint for this reason, if it has one.
    pub hint: Option<String>,
}

/// When a phase began, and how much of it counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseTimes {
    /// When its packets begin, on the clock of the load: just before the parts are told to begin.
    pub from: Instant,
    /// When its warm-up ends, on the clock of the load; `from` if it has none.
    pub measured_from: Instant,
    /// From the start of the load.
    pub begin: Duration,
    /// How long it took.
    pub took: Duration,
    /// The measured time: without warm-up and drain.
    pub measured: Duration,
    /// Whether the clock of the machine was set in the phase.
    pub clock_stepped: bool,
    /// The use of each emulated link in the phase, in the order of [`LoadOptions::hops`](wirecost_scenario::options::load::LoadOptions::hops); empty without a link.
    pub links: Vec<LinkUse>,
    /// CPU time of the target divided by wall time; `None` if unknown, or if the phase was too short.
    pub target_cpu_share: Option<f64>,
}

/// The least length of a phase whose CPU share is meaningful: in a shorter phase, most CPU time goes into its beginning
/// and its end.
const TELLING: Duration = Duration::from_millis(100);

/// The usage of a side over the phases in which it had work.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// CPU time in user mode, in nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// CPU time in the phases in which messages or handshakes are offered, in nanoseconds.
    pub offer_ns: u64,
    /// The busiest thread's CPU share in its busiest phase, without busy waiting; `None` if threads are not measured
    /// separately, or if no phase was long enough.
    pub busiest_share: Option<f64>,
    /// The CPU share in the busiest phase; `None` if no phase was long enough.
    pub share: Option<f64>,
    /// The busiest thread's CPU share in the busiest phase, or that of all threads if they are not measured separately;
    /// `None` if no phase was long enough.
    pub telling_share: Option<f64>,
    /// All phases together: their sum may be long enough if no single phase is.
    pub phases: Window,
    /// Largest resident memory, in bytes.
    pub resident_bytes: u64,
    /// How many processes spent it: memory and CPU time are sums over them.
    pub processes: u32,
}

/// The usage in a time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    /// The length of the time.
    pub span: Duration,
    /// CPU time, in nanoseconds.
    pub cpu_ns: u64,
    /// CPU time of the busiest thread, in nanoseconds; `None` if threads are not measured separately.
    pub thread_ns: Option<u64>,
}

impl Spent {
    /// Adds the usage in a phase between two readings that were `span` apart, with the CPU time of the busiest thread,
    /// on a machine with `cpus` CPUs. Returns the CPU share of the phase if it was long enough.
    pub(crate) fn add_phase(
        &mut self,
        [before, after]: [&Used; 2],
        thread_ns: Option<u64>,
        span: Duration,
        cpus: usize,
    ) -> Option<f64> {
        self.user_ns += after.user_ns.saturating_sub(before.user_ns);
        self.system_ns += after.system_ns.saturating_sub(before.system_ns);
        let phase = Window {
            span,
            cpu_ns: after.cpu_ns().saturating_sub(before.cpu_ns()),
            thread_ns,
        };
        // The empty window has no busiest thread, and would take away that of the first phase.
        let is_first = self.phases.span.is_zero();
        self.phases = if is_first { phase } else { self.phases.and(&phase) };
        if phase.span >= TELLING {
            self.tell(phase, cpus);
        } else if self.share.is_none() && self.phases.span >= TELLING {
            self.tell(self.phases, cpus);
        }
        (phase.span >= TELLING).then(|| phase.share(cpus))
    }

    /// Adds the usage in a phase that offers messages or handshakes.
    pub(crate) const fn add_offer(&mut self, [before, after]: [&Used; 2]) {
        self.offer_ns += after.cpu_ns().saturating_sub(before.cpu_ns());
    }

    fn tell(&mut self, window: Window, cpus: usize) {
        let all = window.share(cpus);
        let busiest = window.thread_ns.map(|thread_ns| window.share_of(thread_ns, 1.0));
        self.share = larger(self.share, Some(all));
        self.busiest_share = larger(self.busiest_share, busiest);
        self.telling_share = larger(self.telling_share, busiest.or(Some(all)));
    }

    /// Notes the memory and the number of processes.
    pub(crate) fn note(&mut self, used: &Used) {
        self.resident_bytes = self.resident_bytes.max(used.resident_bytes);
        self.processes = self.processes.max(used.processes);
    }
}

impl Window {
    /// CPU time divided by the length, on a machine with `cpus` CPUs.
    fn share(&self, cpus: usize) -> f64 {
        self.share_of(self.cpu_ns, cpus as f64)
    }

    /// A time divided by the length. The kernel counts in ticks, which may sum to more than the time between the readings.
    fn share_of(&self, used_ns: u64, most: f64) -> f64 {
        (used_ns as f64 / nanos(self.span) as f64).min(most)
    }

    fn and(&self, other: &Self) -> Self {
        let threads = self.thread_ns.zip(other.thread_ns);
        Self {
            span: self.span + other.span,
            cpu_ns: self.cpu_ns + other.cpu_ns,
            thread_ns: threads.map(|(one, other)| one + other),
        }
    }
}

fn larger(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_of_milliseconds_has_no_cpu_share() {
        let used = |user_ns| Used {
            user_ns,
            ..Used::default()
        };
        let mut spent = Spent::default();
        let short = Duration::from_millis(6);
        let share = spent.add_phase([&used(0), &used(5_000_000)], Some(4_500_000), short, 2);
        assert_eq!(share, None);
        assert_eq!(
            (spent.share, spent.busiest_share, spent.telling_share),
            (None, None, None)
        );
        let long = Duration::from_millis(500);
        let share = spent.add_phase([&used(5_000_000), &used(105_000_000)], Some(50_000_000), long, 2);
        assert_eq!(share, Some(0.2));
        assert_eq!(
            (spent.share, spent.busiest_share, spent.telling_share),
            (Some(0.2), Some(0.1), Some(0.1))
        );
        spent.add_phase([&used(105_000_000), &used(205_000_000)], None, long, 2);
        assert_eq!(spent.telling_share, Some(0.2), "threads are not told apart");
        assert_eq!(
            (spent.user_ns, spent.phases.span),
            (205_000_000, long * 2 + short)
        );
    }

    #[test]
    fn short_phases_together_have_a_cpu_share() {
        let used = |user_ns| Used {
            user_ns,
            ..Used::default()
        };
        let mut spent = Spent::default();
        let short = Duration::from_millis(60);
        spent.add_phase([&used(0), &used(30_000_000)], Some(12_000_000), short, 2);
        assert_eq!(spent.share, None);
        spent.add_phase([&used(30_000_000), &used(60_000_000)], Some(12_000_000), short, 2);
        assert_eq!((spent.share, spent.busiest_share), (Some(0.5), Some(0.2)));
    }

    #[test]
    fn a_share_never_exceeds_the_number_of_cpus() {
        let used = |user_ns| Used {
            user_ns,
            ..Used::default()
        };
        let mut spent = Spent::default();
        let tenth = Duration::from_millis(100);
        spent.add_phase([&used(0), &used(210_000_000)], Some(110_000_000), tenth, 2);
        assert_eq!((spent.share, spent.busiest_share), (Some(2.0), Some(1.0)));
    }
}
