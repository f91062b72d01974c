//! What both sides have used at one moment, and between two.

use std::time::Duration;

use super::{Coordinator, Stand};
use crate::load::target::Used;
use crate::load::watch::Usage;

/// What both sides have used so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Reading {
    pub(super) generator: Used,
    pub(super) target: Option<Used>,
    /// CPU time of each loop of the generator, in nanoseconds.
    loops: Vec<u64>,
}

impl Reading {
    /// Usage of generator and target since `earlier`, over so long.
    pub(super) fn since(&self, earlier: &Self, span: Duration) -> (Usage, Option<Usage>) {
        let span_ns = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let mut generator = self.generator.since(&earlier.generator, span_ns);
        let busiest = self.busiest_loop_since(earlier);
        generator.busiest_thread_share = busiest.map(|nanos| nanos as f64 / span_ns.max(1) as f64);
        let target = self
            .target
            .map(|used| used.since(&earlier.target.unwrap_or(used), span_ns));
        (generator, target)
    }

    fn busiest_loop_since(&self, earlier: &Self) -> Option<u64> {
        let loops = self.loops.iter().zip(&earlier.loops);
        loops.map(|(now, then)| now.saturating_sub(*then)).max()
    }
}

impl Coordinator<'_> {
    /// Looks at both sides.
    pub(super) fn read_both(&mut self) -> Reading {
        let reading = Reading {
            generator: (self.around.used)(),
            target: self.around.target.used(),
            loops: self.stands.iter().map(|stand: &Stand| stand.cpu_ns).collect(),
        };
        self.outcome.generator.note(&reading.generator);
        if let Some(used) = &reading.target {
            self.outcome.target.get_or_insert_default().note(used);
        }
        reading
    }

    /// Notes what both sides have used in a phase that took so long.
    pub(super) fn note_spent(&mut self, before: &Reading, took: Duration) {
        let after = self.read_both();
        let thread_ns = after.busiest_loop_since(before);
        self.outcome
            .generator
            .add_phase(&before.generator, &after.generator, thread_ns, took);
        if let (Some(before), Some(after)) = (&before.target, &after.target) {
            let thread = after.busiest_ns.zip(before.busiest_ns);
            let thread_ns = thread.map(|(after, before)| after.saturating_sub(before));
            let spent = self.outcome.target.get_or_insert_default();
            spent.add_phase(before, after, thread_ns, took);
        }
    }
}
