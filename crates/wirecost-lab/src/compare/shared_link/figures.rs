//! From sums and histograms to a cell. A sum has no smallest and no largest sample: those are 0.

use std::time::Duration;

use wirecost_cost::Totals;
use wirecost_link::Counters;
use wirecost_load::parts::outcome::LoadOutcome;
use wirecost_proto::{BothWays, Direction, Phase, units};
use wirecost_results::figures::Interval;
use wirecost_results::link::achieved;
use wirecost_results::summary::{Count, Cpu, Section, Times};
use wirecost_results::warning::{Warning, WarningKind};
use wirecost_results::{AllIn, Cell, CellTimes};
use wirecost_scenario::options::compare::Options;
use wirecost_scenario::plan::PlannedCell;
use wirecost_stack::target::Target;
use wirecost_stats::Histogram;

use super::delays::Delays;
use crate::compare::cells::{self, Source};
use crate::compare::sections::{Figures, SectionBytes, untimed};
use crate::compare::simulated::NO_CPU_TIME;
use crate::compare::verdict;

/// A larger share of late and unanswered messages causes a warning.
const MANY_TIMEOUTS: f64 = 0.01;

/// The raw results of a cell.
pub(super) struct Played {
    pub(super) outcome: LoadOutcome,
    pub(super) totals: Totals,
    pub(super) delays: Delays,
    /// The decisions of the link, up and down.
    pub(super) counters: BothWays<Counters>,
}

/// The sum over all seconds of all phases.
fn counted(outcome: &LoadOutcome) -> Interval {
    let mut sum = Interval::default();
    outcome.intervals.iter().for_each(|interval| sum.add(interval));
    sum
}

/// A cell that cannot be run.
pub(super) fn not_run(options: &Options, planned: &PlannedCell) -> Cell {
    frame(options, planned, BothWays::default())
}

/// A cell's figures, and the times that they are of.
pub(super) fn cell(options: &Options, planned: &PlannedCell, played: &Played) -> (Cell, CellTimes) {
    let mut cell = frame(options, planned, played.counters);
    let (counted, totals) = (counted(&played.outcome), &played.totals);
    let connects = counted.connect_time.as_ref();
    let link = &options.links[planned.link];
    // No echoes: the link is the model itself, and its counters say what it did.
    cell.link.achieved = Some(achieved(&[], link, &played.counters));
    cell.warnings = warnings(&counted, played);
    cell.valid = cell.warnings.iter().all(|warning| !warning.invalidates);
    cell.connect = planned.stack.has_connect(planned.start).then(|| {
        let figures = Figures {
            response_kind: "to_reply",
            response_time: connects.and_then(Times::of_histogram),
            service_time: connects.and_then(Times::of_histogram),
            one_way_delay: None,
            round_trips: None,
            goodput_bps: None,
            payload_bytes: 0,
        };
        figures.section(bytes(totals, Phase::Connect, counted.connects.established))
    });
    cell.message = Some(message(planned, &counted, played));
    cell.keep_alive = untimed(bytes(totals, Phase::KeepAlive, u64::from(options.samples)));
    // A connection that was lost was never closed.
    let closed = counted.connects.established - counted.connects.lost;
    cell.close = untimed(bytes(totals, Phase::Close, closed));
    cell.all_in = AllIn::from_cell(&cell);
    cell.outcomes = counted.outcomes;
    let some = |times: Option<&Histogram>| times.filter(|times| !times.is_empty()).cloned();
    let times = CellTimes {
        response: some(counted.response_time.as_ref()),
        service: some(counted.service_time.as_ref()),
        connect: some(connects.filter(|_| planned.stack.has_connect(planned.start))),
        delay: some(Some(&played.delays.up)),
    };
    (cell, times)
}

/// A cell without figures.
fn frame(options: &Options, planned: &PlannedCell, counters: BothWays<Counters>) -> Cell {
    let source = Source {
        options,
        planned,
        engine: "sim",
        target: Target::Builtin.to_string(),
        counters,
        round_trips: &[],
        // The simulated link drops what its configuration says, and nothing for want of a buffer.
        dropped_packets: 0,
        lateness: Duration::ZERO,
        cpu: &|_| Cpu {
            // The reason is said: an empty column would look like a fault of the run.
            reason: Some(NO_CPU_TIME.into()),
            ..Cpu::default()
        },
    };
    cells::cell(&source, &[])
}

fn message(planned: &PlannedCell, counted: &Interval, played: &Played) -> Section {
    let figures = Figures {
        response_kind: planned.stack.response_kind(),
        response_time: counted.response_time.as_ref().and_then(Times::of_histogram),
        service_time: counted.service_time.as_ref().and_then(Times::of_histogram),
        one_way_delay: Times::of_histogram(&played.delays.up),
        // The flights of a message cannot be told apart from those of other devices.
        round_trips: None,
        // This figure needs the delay of each message, and only the distribution is kept.
        goodput_bps: None,
        payload_bytes: planned.payload.len() as u64 * counted.sent,
    };
    figures.section(bytes(&played.totals, Phase::Message, counted.sent))
}

fn warnings(counted: &Interval, played: &Played) -> Vec<Warning> {
    let outcomes = &counted.outcomes;
    let warning = |kind: WarningKind, text: String, invalidates| Warning {
        kind,
        text,
        invalidates,
    };
    let mut warnings: Vec<Warning> = verdict::no_times(outcomes).into_iter().collect();
    if let Some(failure) = &played.outcome.failure {
        warnings.push(warning(WarningKind::ServerFailed, failure.to_string(), true));
    }
    let unattributed: u64 = Direction::ALL
        .iter()
        .map(|way| played.totals.unattributed_bytes(*way))
        .sum();
    if unattributed > 0 {
        let text = format!("no endpoint described {}", units::counted(unattributed, "byte"));
        // Bytes that no endpoint described are in no layer, so that the sum over the layers would be too small.
        warnings.push(warning(WarningKind::UnattributedBytes, text, true));
    }
    let failed = counted.connects.failed + counted.connects.timed_out + counted.connects.lost;
    let most = counted.reasons.iter().max_by_key(|(_, times)| **times);
    if let (1.., Some((why, _))) = (failed, most) {
        let text = format!(
            "{} failed; most often: {why}",
            units::counted(failed, "connection")
        );
        // On a shared link that is too narrow some fail as they should: that is the answer, no fault.
        warnings.push(warning(WarningKind::DevicesFailed, text, false));
    }
    let missed = outcomes.late + outcomes.unknown;
    if missed as f64 > outcomes.offered as f64 * MANY_TIMEOUTS {
        let offered = units::counted(outcomes.offered, "message");
        let text = format!("{missed} of {offered} not answered in time");
        warnings.push(warning(WarningKind::Timeouts, text, false));
    }
    warnings
}

fn bytes(totals: &Totals, phase: Phase, samples: u64) -> SectionBytes {
    SectionBytes::new(samples, |way, of| {
        let sum = of(totals.traffic(phase, way));
        Count {
            mean: sum as f64 / samples.max(1) as f64,
            sum,
            min: 0,
            max: 0,
        }
    })
}
