//! The resources that both sides have used at a moment, and between two moments.

use std::time::Duration;

use wirecost_proto::Instant;
use wirecost_results::metrics::Usage;
use wirecost_results::usage::UsageRow;
use wirecost_scenario::options::load::Phase;

use super::{Coordinator, PartState};
use crate::nanos;
use crate::parts::usage::Used;

/// The resources that both sides have used so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Reading {
    /// The times of the first and the last reading.
    looked: [Instant; 2],
    pub(super) generator: Used,
    pub(super) target: Option<Used>,
    /// CPU time of each loop of the generator, in nanoseconds.
    loops: Vec<u64>,
}

/// The target's own usage report.
#[derive(Clone, Copy, Debug)]
pub(super) struct TargetReading {
    used: Used,
    at: Instant,
}

impl Reading {
    /// Usage of generator and target since `earlier`, over `span`.
    pub(super) fn since(&self, earlier: &Self, span: Duration) -> (Usage, Option<Usage>) {
        let span_ns = nanos(span);
        let mut generator = self.generator.since(&earlier.generator, span_ns);
        let busiest = self.busiest_loop_since(earlier);
        generator.busiest_thread_share = busiest.map(|nanos| nanos as f64 / span_ns.max(1) as f64);
        let target = self
            .target
            .map(|used| used.since(&earlier.target.unwrap_or(used), span_ns));
        (generator, target)
    }

    /// The usage row since `earlier`, over `span`. The caller sets its time.
    pub(super) fn row_since(&self, earlier: &Self, span: Duration) -> UsageRow {
        let cpu_ns = |now: &Used, then: &Used| now.cpu_ns().saturating_sub(then.cpu_ns());
        let targets = self.target.zip(earlier.target);
        UsageRow {
            span_ns: nanos(span),
            generator_cpu_ns: cpu_ns(&self.generator, &earlier.generator),
            generator_busiest_ns: self.busiest_loop_since(earlier),
            generator_resident_bytes: self.generator.resident_bytes,
            target_cpu_ns: targets.map(|(now, then)| cpu_ns(&now, &then)),
            target_busiest_ns: targets.and_then(|(now, then)| busiest_since(&now, &then)),
            target_resident_bytes: self.target.map(|used| used.resident_bytes),
            ..UsageRow::default()
        }
    }

    fn busiest_loop_since(&self, earlier: &Self) -> Option<u64> {
        let loops = self.loops.iter().zip(&earlier.loops);
        loops.map(|(now, then)| now.saturating_sub(*then)).max()
    }
}

impl Coordinator<'_> {
    /// Reads the usage of both sides.
    pub(super) fn read_both(&mut self) -> Reading {
        let began = self.now();
        let (generator, target) = ((self.context.used)(), self.context.target.used());
        let reading = Reading {
            // Reading /proc of many processes takes a while: the CPU time lies between both.
            looked: [began, self.now()],
            generator,
            target,
            loops: self
                .part_states
                .iter()
                .map(|state: &PartState| state.cpu_ns)
                .collect(),
        };
        self.outcome.generator.note(&reading.generator);
        if let Some(used) = reading.target {
            self.outcome.target.get_or_insert_default().note(&used);
            self.last_target = Some(TargetReading {
                used,
                at: reading.looked[1],
            });
        }
        reading
    }

    /// Adds the usage of both sides in a phase since the reading `before` it. If the target has ended, its last report
    /// counts.
    pub(super) fn note_spent(&mut self, before: &Reading, phase: &Phase) {
        let after = self.read_both();
        let (thread_ns, cpus) = (after.busiest_loop_since(before), cpus());
        let own_cpus = self.context.cpus;
        // Everything used between the two readings of a side was used between the first and the last reading of all.
        let span = after.looked[1].saturating_since(before.looked[0]);
        let looks = [&before.generator, &after.generator];
        let generator = &mut self.outcome.generator;
        generator.add_phase(looks, thread_ns, span, own_cpus);
        if phase.offer().is_some() {
            generator.add_offer(looks);
        }
        // A target that ended before this phase has left no newer reading, and nothing of it is known in this phase.
        if let (Some(used), Some(last)) = (&before.target, &self.last_target)
            && last.at > before.looked[1]
        {
            let (looks, thread_ns) = ([used, &last.used], busiest_since(&last.used, used));
            let spent = self.outcome.target.get_or_insert_default();
            let share = spent.add_phase(looks, thread_ns, last.at.saturating_since(before.looked[0]), cpus);
            if phase.offer().is_some() {
                spent.add_offer(looks);
            }
            if let Some(times) = self.outcome.phases.last_mut() {
                times.target_cpu_share = share;
            }
        }
    }
}

/// The number of CPUs of this machine that may be used.
pub(crate) fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// CPU time of the busiest thread between two moments.
fn busiest_since(now: &Used, then: &Used) -> Option<u64> {
    let threads = now.busiest_ns.zip(then.busiest_ns);
    threads.map(|(now, then)| now.saturating_sub(then))
}
