//! Whether a load's figures may be used, what to look at before trusting them, and the bottleneck.
//!
//! A reason is about one phase or about the whole load; what invalidates a phase replaces that phase's figures and no
//! others'. An open loop is INVALID where the generator's own lag is a part of the response time, or where it did not send
//! what was offered. A closed loop has no schedule to be late for, and one that offers more than its target carries
//! (saturation) measures how long it went on: both are labelled and exempt from those rules.

mod bottleneck;
mod link;
mod modelled;
mod phase;

use wirecost_results::load::{Bottleneck, LoopKind, PhaseFigures};
use wirecost_results::warning::{Warning, WarningKind};
use wirecost_scenario::options::load::{Arrivals, LoadEngine, LoadOptions, Phase};

use super::link::LinkReport;
use crate::outcome::{LoadOutcome, PhaseTimes, Spent};

/// The share of what was offered that must be sent, or the generator is the bottleneck; and that must be carried, where there is
/// no bottleneck.
const SENT_SHARE: f64 = 0.99;
/// A thread that uses more of its CPU than this has little left.
const BUSY: f64 = 0.8;
/// Processor time that others were given, above which it is mentioned.
const STEAL: f64 = 0.01;

/// What a load is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// What was asked for.
    pub options: &'a LoadOptions,
    /// The figures of the phases, in order.
    pub phases: &'a [PhaseFigures],
    /// What the run has left.
    pub outcome: &'a LoadOutcome,
    /// The share of processor time that the hypervisor gave to others.
    pub steal: f64,
    /// The emulated link, where there was one.
    pub link: Option<&'a LinkReport>,
}

/// What is to be said of a load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// The bottleneck; `None` where no phase has begun.
    pub bottleneck: Option<Bottleneck>,
    /// Reasons to look before trusting any figure.
    pub warnings: Vec<Warning>,
    /// Of each phase, reasons to look before trusting its figures.
    pub phases: Vec<Vec<Warning>>,
}

/// A phase with messages or handshakes, and what was asked of it.
#[derive(Clone, Copy)]
struct Offered<'a> {
    figures: &'a PhaseFigures,
    /// Whether what is offered keeps to a schedule.
    open: bool,
    /// Whether several messages of a device are on their way in a closed loop: as fast as it goes.
    saturating: bool,
    is_answered: bool,
}

impl<'a> Evidence<'a> {
    fn offered(&self) -> impl Iterator<Item = Offered<'a>> + use<'a> {
        let options = self.options;
        let phases = options.phases.iter().zip(self.phases);
        phases.filter_map(|(phase, figures)| offered(options, phase, figures))
    }
}

fn offered<'a>(options: &LoadOptions, phase: &Phase, figures: &'a PhaseFigures) -> Option<Offered<'a>> {
    let open = matches!(phase.offer()?.arrivals, Arrivals::Open { .. });
    let is_message = matches!(phase, Phase::Publish(_));
    Some(Offered {
        figures,
        open,
        saturating: options.loop_kind() == LoopKind::Saturation,
        is_answered: !is_message || options.is_answered(),
    })
}

/// Judges a load.
pub fn of(evidence: &Evidence<'_>) -> Verdict {
    let bottleneck = match evidence.options.engine {
        LoadEngine::Live => bottleneck::of(evidence),
        LoadEngine::Sim => modelled::bottleneck(evidence),
    };
    let by_generator = bottleneck.as_ref().is_some_and(|found| found.who == "generator");
    let phases = evidence.options.phases.iter().zip(evidence.phases);
    let phases = phases.zip(&evidence.outcome.phases).enumerate();
    Verdict {
        phases: phases
            .map(|(index, ((phase, figures), times))| {
                let offered = offered(evidence.options, phase, figures);
                let mut warnings = offered.map_or_else(Vec::new, |offered| phase::of(&offered, by_generator));
                warnings.extend(phase::unsubscribed(evidence, index));
                warnings.extend(phase::not_lasting(evidence, index));
                warnings.extend(phase::dropped(evidence, index));
                warnings.extend(clock(times));
                warnings.extend(ended_early(evidence, index));
                warnings
            })
            .collect(),
        warnings: of_load(evidence),
        bottleneck,
    }
}

fn of_load(evidence: &Evidence<'_>) -> Vec<Warning> {
    let outcome = evidence.outcome;
    if evidence.options.engine == LoadEngine::Sim {
        // What is modelled has no machine that could be short of anything.
        return evidence.link.into_iter().flat_map(link::warnings).collect();
    }
    let target = outcome.target.as_ref();
    [
        socketless(outcome),
        steal(evidence.steal),
        busy(WarningKind::GeneratorCpu, "generator", &outcome.generator),
        target.and_then(|spent| busy(WarningKind::TargetCpu, "target", spent)),
    ]
    .into_iter()
    .flatten()
    .chain(evidence.link.into_iter().flat_map(link::warnings))
    .collect()
}

fn clock(times: &PhaseTimes) -> Option<Warning> {
    times.clock_stepped.then(|| {
        Warning::invalid(
            WarningKind::ClockStepped,
            "the clock of the machine was set while it ran".to_owned(),
        )
    })
}

/// A load that fails does so in its last phase.
fn ended_early(evidence: &Evidence<'_>, index: usize) -> Option<Warning> {
    let is_last = index + 1 == evidence.outcome.phases.len();
    let failure = evidence.outcome.failure.as_ref().filter(|_| is_last)?;
    Some(Warning::invalid(WarningKind::EndedEarly, failure.to_string()))
}

fn socketless(outcome: &LoadOutcome) -> Option<Warning> {
    let reason = outcome.socket_error.as_ref()?;
    Some(Warning::note(
        WarningKind::NoSocket,
        format!("a device could not have a socket: {reason}"),
    ))
}

fn steal(share: f64) -> Option<Warning> {
    (share > STEAL).then(|| {
        Warning::note(
            WarningKind::Steal,
            format!(
                "the hypervisor gave {} of the processor time to others: times are longer for it",
                percent(share)
            ),
        )
    })
}

fn busy(kind: WarningKind, who: &str, spent: &Spent) -> Option<Warning> {
    let share = spent.telling_share?;
    let threads = match spent.busiest_share {
        Some(_) => "the busiest thread",
        None => "all threads",
    };
    (share > BUSY).then(|| {
        Warning::note(
            kind,
            format!("{threads} of the {who} used {} of a CPU", percent(share)),
        )
    })
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

#[cfg(test)]
mod tests;
