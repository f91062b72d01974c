//! What whoever watches is told, once a second.

use std::time::Duration;

use wirecost_proto::Instant;

use super::Coordinator;
use crate::load::figures::Interval;
use crate::load::watch::Tick;

/// How often whoever watches is told.
pub(super) const TICK: Duration = Duration::from_secs(1);
/// How far the time of day may move against the monotonic clock within a second: slewing moves it less.
const CLOCK_STEP_NS: u64 = 10_000_000;

impl Coordinator<'_> {
    pub(super) fn tick(&mut self, index: usize, at: Instant, now: Instant) {
        let span = now.saturating_since(self.last_tick);
        let reading = self.read_both();
        let (generator, target) = reading.since(&self.last_read, span);
        let (phase, clients) = (self.options.phases.get(index), self.options.clients);
        let elapsed_phase = now.saturating_since(at);
        self.around.watcher.second(&Tick {
            elapsed: now.saturating_since(self.began),
            remaining: self.remaining(index, elapsed_phase),
            phase: index,
            warm_up: phase.is_some_and(|phase| elapsed_phase < phase.warm_up()),
            asked_rate: phase.and_then(|phase| phase.rate(clients)),
            span,
            counted: &self.fresh,
            connected: self.stands.iter().map(|stand| stand.connected).sum(),
            generator,
            target,
        });
        self.fresh = Interval::default();
        self.last_tick = now;
        self.last_read = reading;
        let drift_ns = self.around.clock.realtime_drift_nanos();
        self.outcome.clock_stepped |= drift_ns.abs_diff(self.drift_ns) > CLOCK_STEP_NS;
        self.drift_ns = drift_ns;
    }

    /// How long the phases that have known lengths take from here.
    fn remaining(&self, index: usize, elapsed: Duration) -> Option<Duration> {
        let phases = self.options.phases.get(index..)?.iter();
        let all: Option<Duration> = phases.map(|phase| phase.length(self.options.clients)).sum();
        Some(all?.saturating_sub(elapsed))
    }
}
