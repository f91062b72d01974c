//! Progress notifications, about once a second and at the end of a phase that has more to report.
//!
//! ```text
//! every part has reported, or a live part is late -> tick: what they have counted, over the time that they counted it in
//! ```

use std::time::Duration;

use wirecost_proto::Instant;
use wirecost_results::figures::{Connects, Deliveries, Interval};
use wirecost_results::summary::Outcomes;
use wirecost_results::usage::UsageRow;
use wirecost_results::warning::Warning;

use super::Coordinator;
use crate::nanos;
use crate::verdict::{self, entry};
use crate::watch::Tick;

/// The least time between two ticks of a phase: parts report once a second.
const LEAST: Duration = Duration::from_millis(500);
/// How long a tick waits for the slowest part.
const PATIENCE: Duration = Duration::from_millis(1_250);
/// How far the time of day may move against the monotonic clock within a second. Slewing moves it less.
const CLOCK_STEP_NS: u64 = 10_000_000;

impl Coordinator<'_> {
    /// Whether a tick is due.
    pub(super) fn is_tick_due(&self, now: Instant) -> bool {
        let waited = now.saturating_since(self.last_tick);
        let have_reported = self
            .part_states
            .iter()
            .all(|state| state.has_ended || state.counted_until > self.counted_until);
        // In virtual time there is one part, which is never slow.
        let is_late = self.context.clock.is_live() && waited >= PATIENCE;
        is_late || waited >= LEAST && have_reported
    }

    /// Notifies the watcher of the counts since the last tick, in the phase that began at `at`.
    pub(super) fn tick(&mut self, index: usize, at: Instant, now: Instant) {
        let reading = self.read_both();
        let since_last = now.saturating_since(self.last_tick);
        let (generator, target) = reading.since(&self.last_read, since_last);
        let phase = self.options.phases.get(index);
        let elapsed_phase = now.saturating_since(at);
        let is_live = self.context.clock.is_live();
        let limits = self.limits_so_far(index, at);
        self.context.watcher.second(&Tick {
            elapsed: now.saturating_since(self.began),
            remaining: self.remaining(index, elapsed_phase),
            phase: index,
            warm_up: phase.is_some_and(|phase| elapsed_phase < phase.warm_up()),
            asked_rate: phase.and_then(|phase| self.options.own_rate(phase)),
            span: self.counted_span(now),
            counted: &self.fresh,
            connected: self.part_states.iter().map(|state| state.connected).sum(),
            generator: is_live.then_some(generator),
            target: target.filter(|_| is_live),
            limits: &limits,
        });
        // The CPU time that a simulation takes is not measured by its virtual seconds.
        if is_live {
            let elapsed_ns = nanos(now.saturating_since(self.began));
            let row = reading.row_since(&self.last_read, since_last);
            self.outcome.usage.push(UsageRow {
                phase: index as u64,
                elapsed_ns,
                ..row
            });
        }
        self.fresh = Interval::default();
        self.counted_until = self.reported_until();
        self.last_tick = now;
        self.last_read = reading;
        self.look_at_clock();
    }

    /// Why figures of the phase would be INVALID if it ended now. A generator in virtual time is never late.
    fn limits_so_far(&self, index: usize, at: Instant) -> Vec<Warning> {
        let phase = self.options.phases.get(index);
        let Some(phase) = phase.filter(|_| self.context.clock.is_live()) else {
            return Vec::new();
        };
        let times = self.times_so_far(phase, at);
        let figures = entry::phase_figures(self.options, phase, &times, [&self.so_far]);
        verdict::so_far(self.options, index, figures, &times, &self.outcome)
    }

    /// The time that the reports since the last tick cover; without reports, the time since the last tick.
    fn counted_span(&self, now: Instant) -> Duration {
        match self.reported_until().saturating_since(self.counted_until) {
            Duration::ZERO => now.saturating_since(self.last_tick),
            span => span,
        }
    }

    /// The latest time that a part's report covers.
    fn reported_until(&self) -> Instant {
        let reported = self.part_states.iter().map(|state| state.counted_until);
        reported.fold(self.counted_until, Instant::max)
    }

    /// Whether anything was counted since the last tick.
    pub(super) fn has_news(&self) -> bool {
        let Interval {
            outcomes,
            connects,
            deliveries,
            ..
        } = &self.fresh;
        *outcomes != Outcomes::default()
            || *connects != Connects::default()
            || *deliveries != Deliveries::default()
    }

    /// Notes whether the clock was set since the last check.
    pub(super) fn look_at_clock(&mut self) {
        let drift_ns = self.context.clock.realtime_drift_nanos();
        self.clock_stepped |= drift_ns.abs_diff(self.drift_ns) > CLOCK_STEP_NS;
        self.drift_ns = drift_ns;
    }

    /// The remaining time of the phases that have known lengths.
    fn remaining(&self, index: usize, elapsed: Duration) -> Option<Duration> {
        let phases = self.options.phases.get(index..)?.iter();
        let all: Option<Duration> = phases.map(|phase| phase.length(self.options.emulated())).sum();
        Some(all?.saturating_sub(elapsed))
    }
}
