//! Runs one load: starts each phase for all parts at one instant, adds up their counts, notifies the watcher, and ends
//! in bounded time whatever the target does.
//!
//! ```text
//! Ready of all -> Begin{phase, at} -> intervals ... -> PhaseDone of all -> next phase -> Quit -> Finished of all
//!     interrupted, or a threshold fails: Stop -> PhaseDone of all -> Quit
//!     interrupted before all are ready: nothing has begun, and the coordinator waits for no part
//! ```

mod delivered;
mod ending;
mod link;
mod lost;
mod received;
mod sides;
mod tick;
mod unreachable;

use std::collections::BTreeMap;
use std::time::Duration;

use wirecost_proto::Instant;
use wirecost_results::figures::{Interval, IntervalKey};
use wirecost_results::intervals::Intervals;
use wirecost_results::thresholds::failure_text;
use wirecost_scenario::options::load::{LoadOptions, Phase};

use super::watch::Watcher;
use crate::context::Demands;
use crate::devices::part::{FromPart, ToPart};
use crate::parts::outcome::GeneratorError;
use crate::parts::outcome::{LoadOutcome, PhaseTimes};
use crate::parts::running::{Gone, Parts};
use crate::parts::usage::{Measured, Used, Watched};
use crate::schedule::clock::LoadClock;
use crate::verdict::entry;
pub(crate) use sides::cpus;
use sides::{Reading, TargetReading};

/// How long parts may take to become ready: 100,000 devices take seconds.
const READY_PATIENCE: Duration = Duration::from_secs(120);
/// How long a part may exceed the end of its phase before it counts as dead.
const GRACE: Duration = Duration::from_secs(10);
/// How often the coordinator checks for an interruption.
const LOOK: Duration = Duration::from_millis(50);
/// The same in virtual time, where the part reports as often: nothing that matters here happens in between.
const VIRTUAL_LOOK: Duration = Duration::from_secs(1);

/// The environment of a coordinator, apart from its parts.
pub struct CoordinatorContext<'a> {
    /// The clock of the run.
    pub clock: LoadClock,
    /// The target.
    pub target: &'a mut dyn Watched,
    /// The watcher that receives progress notifications.
    pub watcher: &'a mut dyn Watcher,
    /// Whether the run is to end.
    pub interrupted: &'a dyn Fn() -> bool,
    /// Reads the resources that the generator has used so far, over all its processes.
    pub used: &'a mut dyn FnMut() -> Used,
    /// The number of CPUs of the generator.
    pub cpus: usize,
    /// The thresholds that end a load early.
    pub demands: Option<&'a Demands<'a>>,
}

/// A running load.
pub struct Coordinator<'a> {
    options: &'a LoadOptions,
    parts: Parts,
    context: CoordinatorContext<'a>,
    counted: Intervals,
    /// Counts since the last tick.
    fresh: Interval,
    /// Counts of the phase so far without its warm-up.
    so_far: Interval,
    /// What each part has said about itself so far.
    part_states: Vec<PartState>,
    outcome: LoadOutcome,
    began: Instant,
    last_tick: Instant,
    last_read: Reading,
    /// The target's last usage reading.
    last_target: Option<TargetReading>,
    /// The end of the time that the last tick covers.
    counted_until: Instant,
    drift_ns: i64,
    /// Whether the clock was set in this phase.
    clock_stepped: bool,
    /// What each part of an agent has offered in each interval.
    offered: BTreeMap<(u32, IntervalKey), u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct PartState {
    is_ready: bool,
    is_done: bool,
    has_ended: bool,
    has_said_keys: bool,
    connected: u64,
    cpu_ns: u64,
    counted_until: Instant,
    intended_until: Instant,
}

impl<'a> Coordinator<'a> {
    /// A load over parts that are starting.
    pub fn new(options: &'a LoadOptions, parts: Parts, context: CoordinatorContext<'a>) -> Self {
        let part_states = vec![PartState::default(); parts.len()];
        let now = context.clock.now();
        Self {
            options,
            parts,
            counted: Intervals::default(),
            fresh: Interval::default(),
            so_far: Interval::default(),
            part_states,
            outcome: LoadOutcome::default(),
            began: now,
            last_tick: now,
            last_read: Reading::default(),
            last_target: None,
            counted_until: now,
            clock_stepped: false,
            offered: BTreeMap::new(),
            drift_ns: context.clock.realtime_drift_nanos(),
            context,
        }
    }

    /// Runs the load to its end.
    pub fn run(mut self) -> LoadOutcome {
        self.gather();
        if self.outcome.interrupted {
            // The parts have counted nothing, and end with their input.
            self.parts.tell_all(ToPart::Quit);
            return self.outcome;
        }
        self.began = self.now();
        self.last_tick = self.began;
        self.last_read = self.read_both();
        for index in 0..self.options.phases.len() {
            if self.outcome.ends_it() {
                break;
            }
            self.run_phase(index);
        }
        self.await_last_deliveries();
        self.parts.tell_all(ToPart::Quit);
        self.wait_for_the_end();
        self.settle_deliveries();
        self.settle_losses();
        self.settle_accounts();
        let Self {
            parts,
            mut outcome,
            counted,
            ..
        } = self;
        // Joining a part that does not end would block forever.
        if self.part_states.iter().all(|state| state.has_ended) {
            parts.join();
        }
        outcome.intervals = counted.into_list();
        outcome
    }

    fn now(&self) -> Instant {
        self.context.clock.now()
    }

    /// How long to wait for a message before the next check for an interruption.
    const fn look(&self) -> Duration {
        if self.context.clock.is_live() {
            LOOK
        } else {
            VIRTUAL_LOOK
        }
    }

    /// Waits until all parts are ready.
    fn gather(&mut self) {
        let until = self.now() + READY_PATIENCE;
        while self.is_awaited(|state| state.is_ready) {
            if (self.context.interrupted)() {
                self.outcome.interrupted = true;
                return;
            }
            if self.now() >= until {
                let failure = GeneratorError::NotReady(READY_PATIENCE);
                // The first failure is the cause; what follows from it must not take its place.
                self.outcome.failure.get_or_insert(failure);
                return;
            }
            self.receive(self.look());
        }
    }

    fn run_phase(&mut self, index: usize) {
        let Some(phase) = self.options.phases.get(index) else {
            return;
        };
        self.part_states
            .iter_mut()
            .for_each(|state| state.is_done = false);
        self.so_far = Interval::new(index as u32, 0, false);
        self.clock_stepped = false;
        let arrived = self.context.target.arrived(self.context.interrupted);
        let used = self.read_both();
        let lead = self.parts.lead();
        let from = self.now();
        let link = self.read_link();
        let at = self.now() + lead;
        self.counted_until = at;
        // Parts in other processes have clocks with starts of their own. CLOCK_MONOTONIC is what they share.
        let at_ns = self.context.clock.monotonic_nanos(at);
        let number = index as u32;
        let has_warm_up = !phase.warm_up().is_zero();
        let measured_from = at + phase.warm_up();
        self.begin_at_target(at, phase);
        self.parts.tell_all(ToPart::Begin {
            phase: number,
            at_ns,
            shift_ns: 0,
        });
        let stopped = self.await_phase(index, at, phase);
        let over = self.now();
        let took = over.saturating_since(at);
        if self.has_news() {
            self.tick(index, at, over);
        }
        self.look_at_clock();
        let links = self.link_use(link, measured_from, has_warm_up, over);
        self.outcome.phases.push(PhaseTimes {
            links,
            from,
            measured_from: if has_warm_up { measured_from } else { from },
            begin: at.saturating_since(self.began),
            took,
            measured: phase.measured(
                self.options.emulated(),
                self.intended_until().saturating_since(at),
                stopped.map_or(took, |stop| stop.saturating_since(at)),
                stopped.is_some(),
            ),
            clock_stepped: self.clock_stepped,
            target_cpu_share: None,
        });
        if self.options.is_use_told(phase) {
            self.note_spent(&used, phase);
        }
        if phase.offer().is_some() {
            self.take_arrivals(number, arrived);
        }
        self.look_for_target(number, phase);
    }

    /// Tells the target which time of a phase that begins at `at` is measured, and returns when its link is measured.
    fn begin_at_target(&mut self, at: Instant, phase: &Phase) {
        let measured_from = at + phase.warm_up();
        let offered = phase
            .offer()
            .and_then(|offer| offer.length(self.options.emulated()));
        let clock = self.context.clock.clone();
        let target = &mut *self.context.target;
        target.begin(&Measured {
            from_ns: clock.monotonic_nanos(measured_from),
            has_warm_up: !phase.warm_up().is_zero(),
            offer_ends_ns: offered.map(|offered| clock.monotonic_nanos(at + offered)),
        });
        if let Some(meter) = target.meter() {
            meter.mark(measured_from);
        }
    }

    /// Waits until the phase is over for all parts. Returns when it was stopped, if it was.
    fn await_phase(&mut self, index: usize, at: Instant, phase: &Phase) -> Option<Instant> {
        let mut stopped: Option<Instant> = None;
        while self.is_awaited(|state| state.is_done) {
            let now = self.now();
            self.outcome.interrupted |= (self.context.interrupted)();
            if stopped.is_none() && self.outcome.ends_it() {
                self.parts.tell_all(ToPart::Stop);
                stopped = Some(now);
            }
            let intended = self.intended_until().saturating_since(at);
            let end = at + phase.bound(self.options, intended);
            // After a stop the parts wait only LAST_WAIT for open answers, so that the bound of the whole phase no longer applies.
            if now >= stopped.map_or(end, |stop| end.min(stop)) + GRACE {
                // A part that hangs ends the wait, not the load: what the others have reported so far is still written.
                self.outcome.failure.get_or_insert(GeneratorError::PhaseNotEnded);
                break;
            }
            if self.is_tick_due(now) {
                self.tick(index, at, now);
                self.judge(index, at);
                self.look_in_time(index as u32, phase, self.counted_until.saturating_since(at));
            }
            self.receive(self.look());
        }
        stopped
    }

    /// The intended time of the last message that a part has announced.
    fn intended_until(&self) -> Instant {
        let of_parts = self.part_states.iter().map(|state| state.intended_until);
        of_parts.max().unwrap_or(Instant::START)
    }

    fn is_awaited(&self, is_so: fn(&PartState) -> bool) -> bool {
        self.part_states
            .iter()
            .any(|state| !state.has_ended && !is_so(state))
    }

    fn receive(&mut self, patience: Duration) {
        let (part, message) = match self.parts.receive(patience) {
            Ok(Some(heard)) => heard,
            Ok(None) => return,
            Err(Gone) => {
                self.part_states
                    .iter_mut()
                    .for_each(|state| state.has_ended = true);
                self.outcome.failure.get_or_insert(Gone.into());
                return;
            }
        };
        let Some(state) = self.part_states.get_mut(part as usize) else {
            return;
        };
        match message {
            FromPart::Ready => state.is_ready = true,
            FromPart::Alive {
                at_ns,
                connected,
                cpu_ns,
                intended_ns,
            } => {
                // Parts report times of the machine's monotonic clock, as each counts its own `Instant` from another start.
                let start_ns = self.context.clock.monotonic_nanos(Instant::START);
                let instant = |ns: u64| Instant::from_nanos(ns.saturating_sub(start_ns));
                state.counted_until = instant(at_ns);
                state.intended_until = instant(intended_ns);
                state.connected = connected;
                state.cpu_ns = cpu_ns;
            }
            FromPart::PhaseDone { .. } => state.is_done = true,
            FromPart::Finished { socket_error } => {
                state.has_ended = true;
                // The first error is kept: those that follow, such as further devices without a port, mostly have the same cause.
                self.outcome.socket_error = self.outcome.socket_error.take().or(socket_error);
            }
            FromPart::Failed { reason } => {
                state.has_ended = true;
                self.outcome.failure.get_or_insert(GeneratorError::Part(reason));
            }
            FromPart::Lost {
                reason,
                heard_ns,
                at_ns,
            } => self.lose(part, reason, [heard_ns, at_ns]),
            FromPart::Interval(interval) => self.count(part, *interval),
            FromPart::Keys(lines) => self.outcome.keys.add(lines),
            FromPart::AllKeys => state.has_said_keys = true,
        }
    }

    fn count(&mut self, part: u32, interval: Interval) {
        self.fresh.add(&interval);
        // Only what is judged before the end of the phase needs its sum.
        let is_judged = self.context.demands.is_some() || self.context.clock.is_live();
        if is_judged && interval.phase == self.so_far.phase && !interval.warm_up {
            self.so_far.add(&interval);
        }
        let key = interval.key();
        if !self.parts.shares().is_empty() {
            *self.offered.entry((part, key)).or_default() += interval.outcomes.offered;
        }
        self.counted.add(interval);
    }

    /// Ends the load if the phase so far fails a threshold that ends it.
    fn judge(&mut self, index: usize, at: Instant) {
        let (Some(demands), Some(phase)) = (self.context.demands, self.options.phases.get(index)) else {
            return;
        };
        let times = self.times_so_far(phase, at);
        let lasted = times.took;
        let figures = entry::phase_figures(self.options, phase, &times, [&self.so_far]);
        if let (None, Some(failed)) = (&self.outcome.aborted, demands(index, &figures, lasted)) {
            let line = format!("ending the load: {}", failure_text(&failed));
            self.context.watcher.note(&line);
            self.outcome.aborted = Some(failed);
        }
    }

    /// The times of the running phase, which began at `at`, if it ended now.
    fn times_so_far(&self, phase: &Phase, at: Instant) -> PhaseTimes {
        let lasted = self.counted_until.saturating_since(at);
        PhaseTimes {
            from: at,
            measured_from: at + phase.warm_up(),
            begin: at.saturating_since(self.began),
            took: lasted,
            measured: phase.measured(
                self.options.emulated(),
                self.intended_until().saturating_since(at),
                lasted,
                true,
            ),
            clock_stepped: self.clock_stepped,
            links: Vec::new(),
            target_cpu_share: None,
        }
    }

    /// Settles the messages of parts that have died: their outcomes are unknown.
    fn settle_accounts(&mut self) {
        // While all parts live, a message without an end is a fault of the counting, and must show.
        if self.outcome.failure.is_none() && self.outcome.lost.is_empty() {
            return;
        }
        // Offered and not ended, for ever: without this the outcomes would not add up to what was offered.
        for interval in self.counted.all() {
            let known = interval.outcomes.ended();
            let missing = interval.outcomes.offered.saturating_sub(known);
            if missing > 0 {
                interval.outcomes.unknown += missing;
                *interval
                    .reasons
                    .entry("a part of the generator ended".into())
                    .or_default() += missing;
            }
        }
    }
}

#[cfg(test)]
mod tests;
