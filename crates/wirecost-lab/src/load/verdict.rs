//! Whether a load's figures may be used, what to look at before trusting them, and who could give no more.

use std::time::Duration;

use super::coordinator::{Outcome, Spent};
use super::options::{Arrivals, LoadOptions, Phase};
use crate::results::load::{Bottleneck, PhaseFigures};
use crate::results::summary::{Times, Warning};

/// The generator's lag is above suspicion below this.
const LAG_FLOOR_NS: u64 = 1_000_000;
/// The most that the lag may be of the response time.
const LAG_SHARE: f64 = 0.1;
/// What must be sent, of what was offered, where the generator is the bottleneck.
const SENT_SHARE: f64 = 0.99;
/// A thread that uses more of its CPU than this has little left.
const BUSY: f64 = 0.8;
/// Processor time that others were given, above which it is mentioned.
const STEAL: f64 = 0.01;
/// Messages below which quantiles say little.
const FEW_MESSAGES: u64 = 100;

/// What a load is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// What was asked for.
    pub options: &'a LoadOptions,
    /// The figures of the phases, in order.
    pub phases: &'a [PhaseFigures],
    /// What the run has left.
    pub outcome: &'a Outcome,
    /// The share of processor time that the hypervisor gave to others.
    pub steal: f64,
}

/// A phase with messages, and what was asked of it.
struct Offered<'a> {
    index: usize,
    figures: &'a PhaseFigures,
    open: bool,
}

impl<'a> Evidence<'a> {
    fn offered(&self) -> impl Iterator<Item = Offered<'a>> + use<'a> {
        let phases = self.options.phases.iter().zip(self.phases).enumerate();
        phases.filter_map(|(index, (phase, figures))| {
            let offer = phase
                .offer()
                .filter(|_| !matches!(phase, Phase::Handshakes { .. }))?;
            let open = matches!(offer.arrivals, Arrivals::Open { .. });
            Some(Offered { index, figures, open })
        })
    }
}

/// Who could give no more; `None` where nothing was offered.
pub fn bottleneck(evidence: &Evidence<'_>) -> Option<Bottleneck> {
    evidence.offered().next()?;
    let generator = busiest(&evidence.outcome.generator);
    let target = evidence.outcome.target.as_ref().map(busiest);
    let cpu = match target {
        Some(target) => format!(
            "the busiest thread of the generator used {} of a CPU, the target's {}",
            percent(generator),
            percent(target)
        ),
        None => format!(
            "the busiest thread of the generator used {} of a CPU, the target's is not known",
            percent(generator)
        ),
    };
    let short = evidence
        .offered()
        .find(|phase| phase.open && falls_short(phase.figures));
    let late = evidence.offered().find_map(|phase| lag_beyond(&phase));
    let is_closed = evidence.offered().any(|phase| !phase.open);
    let target = target.unwrap_or(0.0);
    let (who, why) = if let Some(lag) = late.filter(|_| generator >= target) {
        ("generator", format!("it was late by {lag}; {cpu}"))
    } else if generator > BUSY && generator > target {
        ("generator", cpu)
    } else if target > BUSY {
        ("target", cpu)
    } else if let Some(short) = short {
        let who = if evidence.options.link.is_some() {
            "link"
        } else {
            "target"
        };
        (
            who,
            format!("it carried {} of what was offered; {cpu}", carried(short.figures)),
        )
    } else if is_closed {
        ("none", format!("each message waited for the one before; {cpu}"))
    } else {
        ("none", format!("all that was offered was carried; {cpu}"))
    };
    Some(Bottleneck { who: who.into(), why })
}

/// Every reason to look before trusting the figures.
pub fn warnings(evidence: &Evidence<'_>, bottleneck: Option<&Bottleneck>) -> Vec<Warning> {
    let by_generator = bottleneck.is_some_and(|found| found.who == "generator");
    let mut warnings = Vec::new();
    for phase in evidence.offered() {
        warnings.extend(lag(&phase));
        warnings.extend(unsent(&phase, by_generator));
        warnings.extend(saturated(&phase, by_generator));
        warnings.extend(closed(&phase));
        warnings.extend(few(&phase));
    }
    warnings.extend(clock(evidence));
    warnings.extend(dropped(evidence));
    warnings.extend(socketless(evidence));
    warnings.extend(steal(evidence));
    warnings.extend(busy("generator", &evidence.outcome.generator));
    warnings.extend(
        evidence
            .outcome
            .target
            .as_ref()
            .and_then(|spent| busy("target", spent)),
    );
    warnings.extend(ended_early(evidence));
    warnings
}

/// The generator's lag must not be a part of the response time.
fn lag(phase: &Offered<'_>) -> Option<Warning> {
    let lag = lag_beyond(phase)?;
    let limit = nanos(lag_limit(phase.figures));
    Some(invalid(
        "schedule-lag",
        format!(
            "phase {}: the generator was late by {lag} (p99), more than {limit}: the response times are partly its own",
            phase.index
        ),
    ))
}

/// The lag, where an open loop's is beyond its limit.
fn lag_beyond(phase: &Offered<'_>) -> Option<String> {
    let p99 = phase.figures.schedule_lag_ns.as_ref()?.p99?;
    (phase.open && p99 > lag_limit(phase.figures)).then(|| nanos(p99))
}

fn lag_limit(figures: &PhaseFigures) -> u64 {
    let median = figures
        .response_time_ns
        .as_ref()
        .and_then(|times: &Times| times.p50);
    let share = median.map_or(0.0, |median| median as f64 * LAG_SHARE);
    LAG_FLOOR_NS.max(share as u64)
}

fn unsent(phase: &Offered<'_>, by_generator: bool) -> Option<Warning> {
    let (sent, offered) = (phase.figures.sent, phase.figures.outcomes.offered);
    let is_short = (sent as f64) < offered as f64 * SENT_SHARE;
    (phase.open && by_generator && is_short).then(|| {
        invalid(
            "generator-saturated",
            format!(
                "phase {}: the generator sent {sent} of {offered} messages: lower the rate, or give it more CPUs",
                phase.index
            ),
        )
    })
}

fn saturated(phase: &Offered<'_>, by_generator: bool) -> Option<Warning> {
    (phase.open && !by_generator && falls_short(phase.figures)).then(|| {
        warning(
            "saturation",
            format!(
                "phase {}: {} of what was offered was carried: response times grow with the length of such a run",
                phase.index,
                carried(phase.figures)
            ),
        )
    })
}

fn closed(phase: &Offered<'_>) -> Option<Warning> {
    (!phase.open).then(|| {
        warning(
            "closed-loop",
            format!(
                "phase {}: a closed loop: a target that stalls is asked less, and its stall is hardly seen",
                phase.index
            ),
        )
    })
}

fn few(phase: &Offered<'_>) -> Option<Warning> {
    let offered = phase.figures.outcomes.offered;
    (offered < FEW_MESSAGES).then(|| {
        warning(
            "few-messages",
            format!("phase {}: {offered} messages: quantiles say little", phase.index),
        )
    })
}

fn clock(evidence: &Evidence<'_>) -> Option<Warning> {
    evidence.outcome.clock_stepped.then(|| {
        invalid(
            "clock-stepped",
            "the clock of the machine was set during the run".to_owned(),
        )
    })
}

fn steal(evidence: &Evidence<'_>) -> Option<Warning> {
    (evidence.steal > STEAL).then(|| {
        warning(
            "steal",
            format!(
                "the hypervisor gave {} of the processor time to others: times are longer for it",
                percent(evidence.steal)
            ),
        )
    })
}

fn busy(who: &str, spent: &Spent) -> Option<Warning> {
    let share = busiest(spent);
    (share > BUSY).then(|| {
        warning(
            &format!("{who}-cpu"),
            format!("the busiest thread of the {who} used {} of a CPU", percent(share)),
        )
    })
}

fn ended_early(evidence: &Evidence<'_>) -> Option<Warning> {
    let failure = evidence.outcome.failure.as_ref()?;
    Some(invalid("ended-early", failure.clone()))
}

/// Whether less than nearly all was carried.
fn falls_short(figures: &PhaseFigures) -> bool {
    let outcomes = &figures.outcomes;
    let carried = outcomes.acknowledged + outcomes.delivered;
    // Where nothing answers and nobody counts, nothing is known to be missing.
    let known = outcomes.offered - outcomes.refused;
    let is_known = figures.response_kind.is_some() || outcomes.delivered + outcomes.lost > 0;
    is_known && (carried as f64) < known as f64 * SENT_SHARE
}

fn carried(figures: &PhaseFigures) -> String {
    let outcomes = &figures.outcomes;
    let carried = outcomes.acknowledged + outcomes.delivered;
    percent(carried as f64 / outcomes.offered.max(1) as f64)
}

/// What the thread used that has least left; where threads are not told apart, all of them together.
fn busiest(spent: &Spent) -> f64 {
    spent.busiest_share.unwrap_or(spent.share)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn nanos(nanos: u64) -> String {
    format!("{:.2} ms", Duration::from_nanos(nanos).as_secs_f64() * 1e3)
}

/// What the generator dropped itself was never offered to the target.
fn dropped(evidence: &Evidence<'_>) -> Option<Warning> {
    let datagrams = evidence.outcome.dropped_datagrams;
    (datagrams > 0).then(|| {
        invalid(
            "generator-dropped",
            format!("the generator's kernel had no room for {datagrams} datagrams: they count as sent and never left"),
        )
    })
}

fn socketless(evidence: &Evidence<'_>) -> Option<Warning> {
    let reason = evidence.outcome.socket_error.as_ref()?;
    Some(warning(
        "no-socket",
        format!("a device could not have a socket: {reason}"),
    ))
}

fn warning(kind: &str, text: String) -> Warning {
    Warning {
        kind: kind.into(),
        text,
        invalidates: false,
    }
}

fn invalid(kind: &str, text: String) -> Warning {
    Warning {
        invalidates: true,
        ..warning(kind, text)
    }
}
