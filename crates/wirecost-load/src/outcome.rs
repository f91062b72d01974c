//! What a load has left when it is over.

use std::time::Duration;

use wirecost_live::emulation::Readings;
use wirecost_results::figures::Interval;
use wirecost_results::link_use::LinkUse;
use wirecost_results::threshold::Threshold;
use wirecost_results::usage::UsageRow;

use crate::error::GeneratorError;
use crate::keys::KeyLines;
use crate::nanos;

use crate::target::Used;

/// The result of a load.
#[derive(Debug, Default)]
pub struct LoadOutcome {
    /// What was counted, by phase, second and whether it is warm-up.
    pub intervals: Vec<Interval>,
    /// The phases that have begun, in order.
    pub phases: Vec<PhaseTimes>,
    /// What the emulated link had done when it was last counted; what it has done since belongs to the last phase.
    pub link_counted: Option<Readings>,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// Why it ended early, other than by the user or a threshold.
    pub failure: Option<GeneratorError>,
    /// The demand that ended it early.
    pub aborted: Option<Threshold>,
    /// Why there is no connection at all, where there is none.
    pub no_connection: Option<NoConnection>,
    /// Why a socket could not be had, the first time that one could not.
    pub socket_error: Option<String>,
    /// What both sides used, tick by tick.
    pub usage: Vec<UsageRow>,
    /// What the generator has used in the phases.
    pub generator: Spent,
    /// What the target has used in the phases; `None` where that is not known.
    pub target: Option<Spent>,
    /// The secrets of the connections of all parts that have said theirs.
    pub keys: KeyLines,
    /// Parts that have not said all of theirs, where connections have any that are kept.
    pub parts_without_keys: usize,
}

impl LoadOutcome {
    /// Whether it was interrupted before anything had begun.
    pub(crate) const fn has_not_begun(&self) -> bool {
        self.interrupted && self.phases.is_empty()
    }

    /// Whether something has come about that ends a load.
    pub(crate) const fn ends_it(&self) -> bool {
        self.interrupted || self.failure.is_some() || self.aborted.is_some() || self.no_connection.is_some()
    }
}

/// Why devices are not connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoConnection {
    /// Whether the server has said no.
    pub refused: bool,
    /// What most of them heard.
    pub reason: String,
    /// The way out, where the reason has one of its own.
    pub hint: Option<String>,
}

/// When a phase was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PhaseTimes {
    /// From the start of the load.
    pub begin: Duration,
    /// How long it took.
    pub took: Duration,
    /// How much of that was measured: neither warm-up nor drain.
    pub measured: Duration,
    /// Whether the clock of the machine was set meanwhile.
    pub clock_stepped: bool,
    /// What the emulated link has done meanwhile, where there is one.
    pub link: Option<LinkUse>,
}

/// In a shorter phase most of what is used is used once, to begin and to end it.
const TELLING: Duration = Duration::from_millis(100);

/// What a side has used over the phases in which it had work.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// CPU time in user mode, in nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// CPU time in the phases in which messages or handshakes are offered, in nanoseconds.
    pub offer_ns: u64,
    /// CPU time of the busiest thread in its busiest phase by its wall time, what it waited awake left out; `None` where
    /// threads are not told apart, or no phase was long enough to tell.
    pub busiest_share: Option<f64>,
    /// CPU time by wall time in the busiest phase; `None` where no phase was long enough to tell.
    pub share: Option<f64>,
    /// What its busiest thread used of a CPU in the busiest phase, or all threads where they are not told apart; `None` where no
    /// phase was long enough to tell.
    pub telling_share: Option<f64>,
    /// All phases together: short ones may tell what each of them does not.
    pub phases: Window,
    /// Largest resident memory, in bytes.
    pub resident_bytes: u64,
    /// Processes.
    pub processes: u32,
}

/// What was used in some time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    /// How long it was.
    pub span: Duration,
    /// CPU time, in nanoseconds.
    pub cpu_ns: u64,
    /// CPU time of the busiest thread, in nanoseconds; `None` where threads are not told apart.
    pub thread_ns: Option<u64>,
}

impl Spent {
    /// Adds what was used in a phase between two looks that were so far apart, with the CPU time of its busiest thread, on a
    /// machine of `cpus` CPUs.
    pub(crate) fn add_phase(
        &mut self,
        [before, after]: [&Used; 2],
        thread_ns: Option<u64>,
        span: Duration,
        cpus: usize,
    ) {
        self.user_ns += after.user_ns.saturating_sub(before.user_ns);
        self.system_ns += after.system_ns.saturating_sub(before.system_ns);
        let phase = Window {
            span,
            cpu_ns: after.cpu_ns().saturating_sub(before.cpu_ns()),
            thread_ns,
        };
        let is_first = self.phases.span.is_zero();
        self.phases = if is_first { phase } else { self.phases.and(&phase) };
        if phase.span >= TELLING {
            self.tell(phase, cpus);
        } else if self.share.is_none() && self.phases.span >= TELLING {
            self.tell(self.phases, cpus);
        }
    }

    /// Adds what was used in a phase in which something was offered.
    pub(crate) const fn add_offer(&mut self, [before, after]: [&Used; 2]) {
        self.offer_ns += after.cpu_ns().saturating_sub(before.cpu_ns());
    }

    fn tell(&mut self, window: Window, cpus: usize) {
        // The kernel counts in ticks: they may come to more than the time that they are looked at.
        let share = |used_ns: u64, most: f64| (used_ns as f64 / nanos(window.span) as f64).min(most);
        let all = share(window.cpu_ns, cpus as f64);
        let busiest = window.thread_ns.map(|thread_ns| share(thread_ns, 1.0));
        self.share = larger(self.share, Some(all));
        self.busiest_share = larger(self.busiest_share, busiest);
        self.telling_share = larger(self.telling_share, busiest.or(Some(all)));
    }

    /// Notes how much memory and how many processes there are now.
    pub(crate) fn note(&mut self, used: &Used) {
        self.resident_bytes = self.resident_bytes.max(used.resident_bytes);
        self.processes = self.processes.max(used.processes);
    }
}

impl Window {
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
    fn a_phase_of_milliseconds_does_not_tell_what_a_side_uses() {
        let used = |user_ns| Used {
            user_ns,
            ..Used::default()
        };
        let mut spent = Spent::default();
        let short = Duration::from_millis(6);
        spent.add_phase([&used(0), &used(5_000_000)], Some(4_500_000), short, 2);
        assert_eq!(
            (spent.share, spent.busiest_share, spent.telling_share),
            (None, None, None)
        );
        let long = Duration::from_millis(500);
        spent.add_phase([&used(5_000_000), &used(105_000_000)], Some(50_000_000), long, 2);
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
    fn short_phases_tell_together_what_none_tells_alone() {
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
    fn nobody_uses_more_cpus_than_there_are() {
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
