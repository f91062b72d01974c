//! One load from its first phase to its last: starts each phase for all parts at one instant, adds up what they count,
//! tells whoever watches, and ends in bounded time whatever the target does.
//!
//! ```text
//! Ready of all -> Begin{phase, at} -> intervals ... -> PhaseDone of all -> next phase -> Quit -> Finished of all
//!                     interrupted: Stop -> PhaseDone of all -> Quit
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use wirecost_live::Clock;
use wirecost_proto::Instant;
use wirecost_stats::Histogram;

use super::figures::Interval;
use super::options::{Arrivals, LoadOptions, Offer, Phase};
use super::part::{FromPart, ToPart};
use super::parts::{Gone, Parts};
use super::target::{Arrived, Used, Watched};
use super::watch::{Tick, Usage, Watcher};

/// How long parts may take to be there: 100,000 devices take seconds.
const READY_PATIENCE: Duration = Duration::from_secs(120);
/// From the word to the beginning of a phase: every part has heard it by then.
const LEAD: Duration = Duration::from_millis(20);
/// What a part may take beyond the end of its phase before it counts as dead.
const GRACE: Duration = Duration::from_secs(10);
/// How often whoever watches is told.
const TICK: Duration = Duration::from_secs(1);
/// How often interruptions are looked for.
const LOOK: Duration = Duration::from_millis(50);
/// How far the time of day may move against the monotonic clock within a second: slewing moves it less.
const CLOCK_STEP_NS: u64 = 10_000_000;

/// What belongs to a load beside its parts.
pub struct Surroundings<'a> {
    /// The clock of the run.
    pub clock: Clock,
    /// The target, as far as it can be watched.
    pub target: &'a mut dyn Watched,
    /// Whoever watches.
    pub watcher: &'a mut dyn Watcher,
    /// Whether the run is to end.
    pub interrupted: &'a dyn Fn() -> bool,
    /// What the generator has used so far, all its processes together.
    pub used: &'a mut dyn FnMut() -> Used,
}

/// What a load has left.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What was counted, by phase, second and whether it is warm-up.
    pub intervals: Vec<Interval>,
    /// The phases that have begun, in order.
    pub phases: Vec<PhaseTimes>,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// Why it ended early, other than by the user.
    pub failure: Option<String>,
    /// Why there is no connection at all, where there is none.
    pub no_connection: Option<NoConnection>,
    /// Datagrams that the kernel of the generator had no room for: they count as sent and never left.
    pub dropped_datagrams: u64,
    /// Why a socket could not be had, the first time that one could not.
    pub socket_error: Option<String>,
    /// Whether the clock was set while it ran.
    pub clock_stepped: bool,
    /// What the generator has used in the phases.
    pub generator: Spent,
    /// What the target has used in the phases; `None` where nobody knows.
    pub target: Option<Spent>,
}

/// Why devices are not connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoConnection {
    /// Whether the server has said no.
    pub refused: bool,
    /// What most of them heard.
    pub reason: String,
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
}

/// What a side has used over the phases in which messages or handshakes are offered.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// CPU time in user mode, in nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// CPU time of the busiest thread in its busiest phase by its wall time; `None` where threads are not told apart.
    pub busiest_share: Option<f64>,
    /// CPU time by wall time in the busiest phase.
    pub share: f64,
    /// Largest resident memory, in bytes.
    pub resident_bytes: u64,
    /// Processes.
    pub processes: u32,
}

/// One load at work.
pub struct Coordinator<'a> {
    options: &'a LoadOptions,
    parts: Parts,
    around: Surroundings<'a>,
    counted: BTreeMap<(u32, u32, bool), Interval>,
    fresh: Interval,
    /// Of each part: whether the phase is over for it, connections that are up, CPU time of its loop.
    stands: Vec<Stand>,
    outcome: Outcome,
    began: Instant,
    last_tick: Instant,
    last_used: [Option<Used>; 2],
    last_loops: Vec<u64>,
    drift_ns: i64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Stand {
    is_ready: bool,
    is_done: bool,
    has_ended: bool,
    connected: u64,
    cpu_ns: u64,
}

impl<'a> Coordinator<'a> {
    /// A load over parts that are starting.
    pub fn new(options: &'a LoadOptions, parts: Parts, around: Surroundings<'a>) -> Self {
        let stands = vec![Stand::default(); parts.len()];
        let now = around.clock.now();
        Self {
            options,
            last_loops: vec![0; parts.len()],
            parts,
            counted: BTreeMap::new(),
            fresh: Interval::default(),
            stands,
            outcome: Outcome::default(),
            began: now,
            last_tick: now,
            last_used: [None; 2],
            drift_ns: around.clock.realtime_drift_nanos(),
            around,
        }
    }

    /// Runs it to its end.
    pub fn run(mut self) -> Outcome {
        self.wait_for(READY_PATIENCE, |stand| stand.is_ready);
        self.began = self.now();
        self.last_tick = self.began;
        self.look_at_both();
        for index in 0..self.options.phases.len() {
            let outcome = &self.outcome;
            if outcome.failure.is_some() || outcome.interrupted || outcome.no_connection.is_some() {
                break;
            }
            self.run_phase(index);
        }
        self.parts.tell_all(ToPart::Quit);
        self.wait_for(GRACE, |stand| stand.has_ended);
        self.settle_accounts();
        let Self {
            parts,
            mut outcome,
            counted,
            ..
        } = self;
        // A part that does not end would be waited for forever.
        if self.stands.iter().all(|stand| stand.has_ended) {
            parts.join();
        }
        outcome.intervals = counted.into_values().collect();
        outcome
    }

    fn now(&self) -> Instant {
        self.around.clock.now()
    }

    fn run_phase(&mut self, index: usize) {
        let Some(phase) = self.options.phases.get(index) else {
            return;
        };
        self.stands.iter_mut().for_each(|stand| stand.is_done = false);
        self.around.target.begin();
        let arrived = self.around.target.arrived();
        let used = self.look_at_both();
        let loops: Vec<u64> = self.stands.iter().map(|stand| stand.cpu_ns).collect();
        let at = self.now() + LEAD;
        let at_ns = self.around.clock.monotonic_nanos(at);
        let number = index as u32;
        self.parts.tell_all(ToPart::Begin { phase: number, at_ns });
        let stopped = self.await_phase(index, at, bound_of(phase, self.options));
        let took = self.now().saturating_since(at);
        self.outcome.phases.push(PhaseTimes {
            begin: at.saturating_since(self.began),
            took,
            measured: measured(
                phase,
                self.options.clients,
                stopped.map_or(took, |stop| stop.saturating_since(at)),
                stopped.is_some(),
            ),
        });
        if offer_of(phase).is_some() {
            self.note_spent(used, &loops, took);
            self.take_arrivals(number, arrived);
        }
        if matches!(phase, Phase::Connect { .. }) {
            self.look_for_connections(number);
        }
    }

    /// Without a single connection there is nothing to go on with.
    fn look_for_connections(&mut self, phase: u32) {
        let mut sum = Interval::default();
        self.of_phase(phase).for_each(|interval| sum.add(interval));
        if sum.connects.attempted > 0 && sum.connects.established == 0 && !self.outcome.interrupted {
            let reason = sum.reasons.into_iter().max_by_key(|(_, times)| *times);
            self.outcome.no_connection = Some(NoConnection {
                refused: sum.connects.refused > 0,
                reason: reason.map_or_else(|| "no answer".into(), |(reason, _)| reason),
            });
        }
    }

    /// Waits until the phase is over for all parts; returns when it was stopped, if it was.
    fn await_phase(&mut self, index: usize, at: Instant, bound: Duration) -> Option<Instant> {
        let mut until = at + bound + GRACE;
        let mut stopped = None;
        while self.is_awaited(|stand| stand.is_done) {
            let now = self.now();
            if stopped.is_none() && ((self.around.interrupted)() || self.outcome.failure.is_some()) {
                self.outcome.interrupted |= (self.around.interrupted)();
                self.parts.tell_all(ToPart::Stop);
                stopped = Some(now);
                until = until.min(now + GRACE);
            }
            if now >= until {
                self.outcome
                    .failure
                    .get_or_insert_with(|| "a part of the generator did not end its phase".into());
                break;
            }
            if now.saturating_since(self.last_tick) >= TICK {
                self.tick(index, at, now);
            }
            self.hear(LOOK);
        }
        stopped
    }

    /// Waits until `is_so` holds for all parts that live, but no longer than `patience`.
    fn wait_for(&mut self, patience: Duration, is_so: fn(&Stand) -> bool) {
        let until = self.now() + patience;
        while self.is_awaited(is_so) && self.now() < until {
            self.hear(LOOK);
        }
    }

    fn is_awaited(&self, is_so: fn(&Stand) -> bool) -> bool {
        self.stands.iter().any(|stand| !stand.has_ended && !is_so(stand))
    }

    fn hear(&mut self, patience: Duration) {
        let (part, message) = match self.parts.hear(patience) {
            Ok(Some(heard)) => heard,
            Ok(None) => return,
            Err(Gone) => {
                self.stands.iter_mut().for_each(|stand| stand.has_ended = true);
                self.outcome.failure.get_or_insert_with(|| Gone.to_string());
                return;
            }
        };
        let Some(stand) = self.stands.get_mut(part as usize) else {
            return;
        };
        match message {
            FromPart::Ready => stand.is_ready = true,
            FromPart::Alive { connected, cpu_ns } => {
                stand.connected = connected;
                stand.cpu_ns = cpu_ns;
            }
            FromPart::PhaseDone { .. } => stand.is_done = true,
            FromPart::Finished {
                dropped_datagrams,
                socket_error,
                ..
            } => {
                stand.has_ended = true;
                self.outcome.dropped_datagrams += dropped_datagrams;
                self.outcome.socket_error = self.outcome.socket_error.take().or(socket_error);
            }
            FromPart::Failed { reason } => {
                stand.has_ended = true;
                self.outcome.failure.get_or_insert(reason);
            }
            FromPart::Interval(interval) => {
                self.fresh.add(&interval);
                let key = (interval.phase, interval.second, interval.warm_up);
                match self.counted.get_mut(&key) {
                    Some(sum) => sum.add(&interval),
                    None => drop(self.counted.insert(key, *interval)),
                }
            }
        }
    }

    /// What both sides have used so far: generator, target.
    fn look_at_both(&mut self) -> [Option<Used>; 2] {
        [Some((self.around.used)()), self.around.target.used()]
    }

    fn tick(&mut self, index: usize, at: Instant, now: Instant) {
        let span = now.saturating_since(self.last_tick);
        let used = self.look_at_both();
        let span_ns = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let usage = |side: usize| -> Option<Usage> {
            let used = used[side]?;
            Some(used.since(&self.last_used[side].unwrap_or(used), span_ns))
        };
        let (mut generator, target) = (usage(0).unwrap_or_default(), usage(1));
        let loops = self.stands.iter().zip(&self.last_loops);
        let busiest = loops
            .map(|(stand, last)| stand.cpu_ns.saturating_sub(*last))
            .max();
        generator.busiest_thread_share = busiest.map(|nanos| nanos as f64 / span_ns.max(1) as f64);
        self.note_memory(&used);
        let offer = self.options.phases.get(index).and_then(offer_of);
        let elapsed_phase = now.saturating_since(at);
        self.around.watcher.second(&Tick {
            elapsed: now.saturating_since(self.began),
            remaining: self.remaining(index, elapsed_phase),
            phase: index,
            warm_up: offer.is_some_and(|offer| elapsed_phase < offer.warm_up),
            asked_rate: offer.and_then(|offer| rate_of(offer, self.options.clients)),
            span,
            counted: &self.fresh,
            connected: self.stands.iter().map(|stand| stand.connected).sum(),
            generator,
            target,
        });
        self.fresh = Interval::default();
        self.last_tick = now;
        self.last_used = used;
        self.last_loops = self.stands.iter().map(|stand| stand.cpu_ns).collect();
        let drift_ns = self.around.clock.realtime_drift_nanos();
        self.outcome.clock_stepped |= drift_ns.abs_diff(self.drift_ns) > CLOCK_STEP_NS;
        self.drift_ns = drift_ns;
    }

    fn note_memory(&mut self, used: &[Option<Used>; 2]) {
        let [generator, target] = used;
        let note = |spent: &mut Spent, used: &Used| {
            spent.resident_bytes = spent.resident_bytes.max(used.resident_bytes);
            spent.processes = spent.processes.max(used.processes);
        };
        if let Some(used) = generator {
            note(&mut self.outcome.generator, used);
        }
        if let Some(used) = target {
            note(self.outcome.target.get_or_insert_default(), used);
        }
    }

    /// How long the phases that have known lengths take from here.
    fn remaining(&self, index: usize, elapsed: Duration) -> Option<Duration> {
        let length = |phase: &Phase| match phase {
            Phase::Hold { duration } => Some(*duration),
            phase => offer_of(phase).map_or(Some(Duration::ZERO), |offer| {
                length_of(offer, self.options.clients)
            }),
        };
        let phases = self.options.phases.get(index..)?.iter();
        let all: Option<Duration> = phases.map(length).sum();
        Some(all?.saturating_sub(elapsed))
    }

    /// Notes what both sides have used in a phase.
    fn note_spent(&mut self, before: [Option<Used>; 2], loops: &[u64], took: Duration) {
        let after = self.look_at_both();
        self.note_memory(&after);
        let span_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX).max(1);
        let busiest = |used: u64| used as f64 / span_ns as f64;
        let of_loops = self.stands.iter().zip(loops);
        let of_loops = of_loops
            .map(|(stand, before)| stand.cpu_ns.saturating_sub(*before))
            .max();
        let spend = |spent: &mut Spent, before: Used, after: Used, thread: Option<u64>| {
            spent.user_ns += after.user_ns.saturating_sub(before.user_ns);
            spent.system_ns += after.system_ns.saturating_sub(before.system_ns);
            let cpu = after.cpu_ns().saturating_sub(before.cpu_ns());
            spent.share = spent.share.max(busiest(cpu));
            let thread = thread.map(busiest);
            spent.busiest_share = match (spent.busiest_share, thread) {
                (Some(one), Some(other)) => Some(one.max(other)),
                (one, other) => one.or(other),
            };
        };
        if let (Some(before), Some(after)) = (before[0], after[0]) {
            spend(&mut self.outcome.generator, before, after, of_loops);
        }
        if let (Some(before), Some(after)) = (before[1], after[1]) {
            let thread = after.busiest_ns.zip(before.busiest_ns);
            let thread = thread.map(|(after, before)| after.saturating_sub(before));
            spend(self.outcome.target.get_or_insert_default(), before, after, thread);
        }
    }

    /// Adds what has arrived at the target in a phase, as far as it can tell: where nothing answers, that is how the
    /// messages ended. Which of them were lost nobody knows: they count at the end.
    fn take_arrivals(&mut self, phase: u32, before: Option<Arrived>) {
        let Some(before) = before else {
            return;
        };
        let sent: u64 = self.of_phase(phase).map(|interval| interval.sent).sum();
        let Some(arrived) = self.await_arrivals(&before, sent) else {
            return;
        };
        let is_answered = self.options.stack.is_answered();
        let count = arrived
            .deliveries
            .arrived
            .saturating_sub(before.deliveries.arrived);
        let duplicates = arrived
            .deliveries
            .duplicates
            .saturating_sub(before.deliveries.duplicates);
        let mut unique = count.saturating_sub(duplicates);
        let out_of_order = arrived
            .deliveries
            .out_of_order
            .saturating_sub(before.deliveries.out_of_order);
        for interval in self.of_phase(phase) {
            if !is_answered {
                let delivered = interval.outcomes.unknown.min(unique);
                unique -= delivered;
                interval.outcomes.delivered += delivered;
                interval.outcomes.lost += interval.outcomes.unknown - delivered;
                interval.outcomes.unknown = 0;
            }
        }
        // Where devices subscribe, deliveries are theirs, and what the broker has is on its way to them.
        if self.options.subscribers.is_some() {
            return;
        }
        if let Some(last) = self.of_phase(phase).last() {
            last.deliveries.arrived += count;
            last.deliveries.duplicates += duplicates;
            last.deliveries.out_of_order += out_of_order;
            merge(&mut last.one_way_delay, arrived.one_way_delay);
        }
    }

    /// Asks the target until everything that was sent has arrived, or for as long as an answer would be waited for.
    fn await_arrivals(&mut self, before: &Arrived, sent: u64) -> Option<Arrived> {
        const STILL: Duration = Duration::from_secs(1);
        let until = self.now() + self.options.timeout;
        let mut last = self.around.target.arrived()?;
        let mut moved = self.now();
        loop {
            let count = last.deliveries.arrived.saturating_sub(before.deliveries.arrived);
            let now = self.now();
            // What has not moved for a second does not come any more: nothing is sent.
            if count >= sent || now >= until || now.saturating_since(moved) >= STILL {
                return Some(last);
            }
            std::thread::sleep(LOOK);
            let next = self.around.target.arrived()?;
            if next.deliveries.arrived != last.deliveries.arrived {
                moved = self.now();
            }
            last = next;
        }
    }

    fn of_phase(&mut self, phase: u32) -> impl DoubleEndedIterator<Item = &mut Interval> {
        let range = (phase, 0, false)..(phase + 1, 0, false);
        self.counted.range_mut(range).map(|(_, interval)| interval)
    }

    /// Messages of parts that have died ended in no way that anybody knows.
    fn settle_accounts(&mut self) {
        if self.outcome.failure.is_none() {
            return;
        }
        for interval in self.counted.values_mut() {
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

fn merge(into: &mut Option<Histogram>, from: Option<Histogram>) {
    match (into, from) {
        (Some(into), Some(from)) => into.merge(&from),
        (into @ None, from) => *into = from,
        (Some(_), None) => {}
    }
}

/// What a phase offers, if it offers anything.
pub fn offer_of(phase: &Phase) -> Option<&Offer> {
    match phase {
        Phase::Publish(offer) | Phase::Request(offer) | Phase::Handshakes { offer, .. } => Some(offer),
        _ => None,
    }
}

/// Messages per second over all devices; `None` in a closed loop.
pub fn rate_of(offer: &Offer, clients: u32) -> Option<f64> {
    match offer.arrivals {
        Arrivals::Open { rate, per_client, .. } => Some(if per_client {
            rate * f64::from(clients)
        } else {
            rate
        }),
        Arrivals::Closed => None,
    }
}

/// How long something is offered; `None` where a closed loop's count ends it.
fn length_of(offer: &Offer, clients: u32) -> Option<Duration> {
    let by_count = offer.count.zip(rate_of(offer, clients)).map(|(count, rate)| {
        let seconds = count as f64 / rate + offer.ramp.as_secs_f64() / 2.0;
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    });
    match (offer.duration, by_count) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// How much of a phase was measured; `lasted` is how long it took, or until it was stopped.
fn measured(phase: &Phase, clients: u32, lasted: Duration, was_stopped: bool) -> Duration {
    let Some(offer) = offer_of(phase) else {
        return lasted;
    };
    let length = match length_of(offer, clients) {
        Some(length) if was_stopped => length.min(lasted),
        Some(length) => length,
        None => lasted,
    };
    length.saturating_sub(offer.warm_up)
}

/// After this a phase must be over, whatever the target does.
fn bound_of(phase: &Phase, options: &LoadOptions) -> Duration {
    const DAY: Duration = Duration::from_secs(86_400);
    let devices = options.clients + options.subscribers.as_ref().map_or(0, |some| some.devices);
    match phase {
        Phase::Connect { rate, .. } => {
            // As many as 64 at a time take the time-out where nothing answers.
            let begun = rate.map_or(
                options.connect_timeout.mul_f64(f64::from(devices / 64 + 1)),
                |rate| Duration::try_from_secs_f64(f64::from(devices) / rate).unwrap_or(DAY),
            );
            begun + options.connect_timeout + options.timeout
        }
        Phase::Hold { duration } => *duration,
        Phase::DropAll { .. } | Phase::Close => options.timeout,
        Phase::Reconnect { timeout, .. } | Phase::AwaitReplay { timeout } => {
            *timeout + options.connect_timeout
        }
        Phase::Publish(offer) | Phase::Request(offer) | Phase::Handshakes { offer, .. } => {
            length_of(offer, options.clients).unwrap_or(DAY * 365) + options.timeout * 2
        }
    }
}
