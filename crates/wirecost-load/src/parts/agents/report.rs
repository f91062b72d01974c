//! What the results of a load say about its agents.

use std::cmp::Reverse;

use wirecost_proto::PeerText;
use wirecost_results::agents::{AgentFigures, AgentLoss, LoadAgents};
use wirecost_results::figures::Interval;
use wirecost_results::warning::{Warning, WarningKind};
use wirecost_stats::Histogram;

use super::gathering::micros;
use super::hub::Task;
use crate::parts::outcome::{LoadOutcome, LostPart};

/// The highest share of a median delay that the error of the clocks may be.
const ERROR_SHARE: f64 = 0.1;

/// The agents of a load, and the warnings about them.
#[derive(Debug, Default)]
pub struct AgentsReport {
    /// The figures.
    pub figures: LoadAgents,
    /// The warnings.
    pub warnings: Vec<Warning>,
}

/// What the tasks of a load say. Takes delays that are not known well enough out of the outcome.
pub fn collect(tasks: &[Task], outcome: &mut LoadOutcome) -> AgentsReport {
    let each: Vec<AgentFigures> = tasks.iter().map(|task| figures(task, outcome)).collect();
    let delay_error_ns = delay_error_ns(tasks);
    let mut warnings: Vec<Warning> = each.iter().filter_map(lost).collect();
    warnings.extend(tasks.iter().filter_map(contradicted));
    warnings.extend(delay_error_ns.and_then(|error_ns| without_delays(outcome, error_ns)));
    let phases = 0..u32::try_from(outcome.phases.len()).unwrap_or(u32::MAX);
    let seconds = |ns: u64| ns as f64 / 1e9;
    AgentsReport {
        figures: LoadAgents {
            asked: u32::try_from(each.len()).unwrap_or(u32::MAX),
            to_the_end: u32::try_from(each.iter().filter(|agent| agent.lost.is_none()).count())
                .unwrap_or(u32::MAX),
            begun_within_s: phases
                .filter_map(|phase| begun_within_ns(tasks, phase))
                .max()
                .map(seconds),
            delay_error_s: delay_error_ns.map(seconds),
            each,
        },
        warnings,
    }
}

fn figures(task: &Task, outcome: &LoadOutcome) -> AgentFigures {
    let (member, shares) = (&task.member, &task.shares);
    let offsets = member.offsets();
    let drift = offsets.drift();
    let count =
        |of: fn(&crate::devices::share::Share) -> usize| shares.iter().map(|share| of(share) as u64).sum();
    let own = |lost: &&LostPart| shares.iter().any(|share| share.number == lost.part);
    let lost: Vec<&LostPart> = outcome.lost.iter().filter(own).collect();
    AgentFigures {
        number: member.number,
        name: member
            .name
            .as_ref()
            .map(|name| PeerText::new(name).as_str().to_owned()),
        address: member.address.to_string(),
        cpus: member.cpus,
        loops: u32::try_from(shares.len()).unwrap_or(u32::MAX),
        clients: count(|share| share.devices.len()),
        subscribers: count(|share| share.subscribers.len()),
        clock_offset_s: task.use_.offset_ns as f64 / 1e9,
        clock_error_s: task.error_ns() as f64 / 1e9,
        clock_drift_ppm: drift.map(|drift| drift.ppm),
        clock_drift_error_ppm: drift.map(|drift| drift.error_ppm),
        clock_exchanges: offsets.exchanges(),
        // All parts of an agent are lost with it, at one moment.
        lost: lost.first().map(|first| AgentLoss {
            last_heard_s: first.heard.as_secs_f64(),
            lost_s: first.at.as_secs_f64(),
            reason: first.reason.clone(),
            unreported: lost.iter().map(|part| part.unknown).sum(),
            missing: lost.iter().map(|part| part.missing).sum(),
        }),
    }
}

/// How far apart the beginnings of a phase were at most; `None` with one agent.
fn begun_within_ns(tasks: &[Task], phase: u32) -> Option<u64> {
    let began: Vec<[i64; 2]> = tasks.iter().filter_map(|task| task.began(phase)).collect();
    let first = began.iter().map(|[earliest, _]| *earliest).min()?;
    let last = began.iter().map(|[_, latest]| *latest).max()?;
    (began.len() > 1).then(|| last.abs_diff(first))
}

/// The error of a delay between the two agents whose clocks are known worst; `None` with one agent.
fn delay_error_ns(tasks: &[Task]) -> Option<u64> {
    let mut errors: Vec<u64> = tasks.iter().map(Task::error_ns).collect();
    errors.sort_unstable_by_key(|error| Reverse(*error));
    match errors.as_slice() {
        [one, other, ..] => Some(one.saturating_add(*other)),
        _ => None,
    }
}

fn lost(agent: &AgentFigures) -> Option<Warning> {
    let loss = agent.lost.as_ref()?;
    let missing = loss.missing.map_or_else(
        || "what it no longer offered is not known in a closed loop".to_owned(),
        |missing| format!("{missing} that it was to offer after that are missing"),
    );
    Some(Warning::note(
        WarningKind::AgentLost,
        format!(
            "{}, in second {:.1}: {} messages that it had not reported are unknown, and {missing}",
            loss.reason, loss.last_heard_s, loss.unreported
        ),
    ))
}

fn contradicted(task: &Task) -> Option<Warning> {
    task.member.offsets().is_contradicted().then(|| {
        Warning::invalid(
            WarningKind::ClockStepped,
            format!(
                "the monotonic clock of {} jumped while it ran",
                task.member.title()
            ),
        )
    })
}

/// Takes the delays of phases out whose median is not ten times as long as the error of the clocks.
fn without_delays(outcome: &mut LoadOutcome, error_ns: u64) -> Option<Warning> {
    let mut shortest: Option<u64> = None;
    for phase in 0..u32::try_from(outcome.phases.len()).unwrap_or(u32::MAX) {
        let own = |interval: &&mut Interval| interval.phase == phase;
        let mut delays = Histogram::default();
        let intervals = outcome.intervals.iter_mut().filter(own);
        let mut intervals: Vec<&mut Interval> = intervals.collect();
        let measured = intervals.iter().filter(|interval| !interval.warm_up);
        measured
            .filter_map(|interval| interval.one_way_delay.as_ref())
            .for_each(|own| delays.merge(own));
        let median = delays.quantile(0.5);
        // The error of the clocks shifts every delay by the same amount: against a short median it decides the figure.
        if !delays.is_empty() && error_ns as f64 > median as f64 * ERROR_SHARE {
            intervals
                .iter_mut()
                .for_each(|interval| interval.one_way_delay = None);
            shortest = Some(shortest.map_or(median, |other| other.min(median)));
        }
    }
    let median = shortest?;
    Some(Warning::note(
        WarningKind::DelaysNotKnown,
        format!(
            "delays between agents are left out: their clocks are known within {}, which is more than 10 % of the median of {}",
            micros(error_ns),
            micros(median)
        ),
    ))
}
