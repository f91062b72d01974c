//! Whether a load's figures are valid, the warnings about them, and the bottleneck.
//!
//! A warning is about one phase or about the whole load. A reason that invalidates a phase replaces the figures of that
//! phase alone. An open loop is INVALID if the generator's own lag is part of the response time, or if it did not send
//! the offered messages. A closed loop has no schedule to be late for, and a closed loop that offers more than its
//! target carries (saturation) measures its own length: both are labelled and exempt from these rules.
//!
//! `checked` fails a load without connections; [`entry`] is a load with its verdict in the results' format.

mod bottleneck;
pub(crate) mod checked;
mod connections;
mod devices;
pub mod entry;
mod link;
mod modelled;
mod phase;

use wirecost_results::load::{Bottleneck, LoopKind, PhaseFigures};
use wirecost_results::warning::{Warning, WarningKind};
use wirecost_scenario::options::load::{Arrivals, LoadEngine, LoadOptions, Phase};

use self::connections::Away;
use super::link::LinkReport;
use crate::parts::outcome::{LoadOutcome, PhaseTimes, Spent};

/// The share of offered messages that the generator must send, or else it is the bottleneck. Also the share that must
/// be acknowledged or delivered for a load without a bottleneck.
const SENT_SHARE: f64 = 0.99;
/// A thread that uses more than this share of a CPU has little left.
const BUSY: f64 = 0.8;
/// The share of processor time given to others that causes a warning.
const STEAL: f64 = 0.01;
/// The share of processor time used by other programs that causes a warning.
const OTHERS: f64 = 0.1;

/// The input of a verdict.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The options.
    pub options: &'a LoadOptions,
    /// The figures of the phases, in order.
    pub phases: &'a [PhaseFigures],
    /// The raw result of the run.
    pub outcome: &'a LoadOutcome,
    /// The processor time that others had.
    pub taken: Taken,
    /// The report of the emulated link, if there was one.
    pub link: Option<&'a LinkReport>,
}

/// Shares of the machine's processor time that the load could not have, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Taken {
    /// What the hypervisor gave to others.
    pub by_hypervisor: f64,
    /// What other programs of the machine used.
    pub by_programs: f64,
}

/// The verdict on a load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// The bottleneck; `None` if no phase has begun.
    pub bottleneck: Option<Bottleneck>,
    /// Warnings about the whole load.
    pub warnings: Vec<Warning>,
    /// Warnings about each phase.
    pub phases: Vec<Vec<Warning>>,
}

/// A phase with messages or handshakes, and its options.
#[derive(Clone, Copy)]
struct Offered<'a> {
    figures: &'a PhaseFigures,
    /// Whether the offer follows a schedule.
    open: bool,
    /// Whether a closed loop has several messages of a device outstanding: it runs as fast as possible.
    saturating: bool,
    is_answered: bool,
    /// The target was away within the phase.
    away: Option<Away>,
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
        away: Away::from_options(options, figures),
    })
}

/// Judges a load.
pub fn judge(evidence: &Evidence<'_>) -> Verdict {
    let (bottleneck, by_generator) = bottleneck_of(evidence);
    let phases = evidence.options.phases.iter().zip(evidence.phases);
    let phases = phases.zip(&evidence.outcome.phases).enumerate();
    Verdict {
        phases: phases
            .map(|(index, ((phase, figures), times))| {
                let mut warnings = of_figures(evidence.options, phase, figures, by_generator);
                warnings.extend(phase::of_others(figures));
                warnings.extend(phase::unsubscribed(evidence, index));
                warnings.extend(connections::ended(evidence, index));
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

/// The reasons for which figures of the running phase `index` would be INVALID if it ended now, by the rules of [`judge`]. `figures` are
/// those of the phase so far, `outcome` is that of the phases before. A message that is still open tells nothing yet. What belongs to
/// the whole load (its link, the processor time that others had) and what datagrams were dropped is judged at the end only.
pub fn so_far(
    options: &LoadOptions,
    index: usize,
    mut figures: PhaseFigures,
    times: &PhaseTimes,
    outcome: &LoadOutcome,
) -> Vec<Warning> {
    let Some(phase) = options.phases.get(index) else {
        return Vec::new();
    };
    // Open messages would count as not sent, and each running phase would look INVALID.
    figures.outcomes.offered = figures.outcomes.ended();
    let mut phases = vec![PhaseFigures::default(); index];
    phases.push(figures);
    let (_, by_generator) = bottleneck_of(&Evidence {
        options,
        phases: &phases,
        outcome,
        taken: Taken::default(),
        link: None,
    });
    let mut warnings = of_figures(options, phase, &phases[index], by_generator);
    warnings.extend(clock(times));
    // What only explains a figure can wait for the end; what makes it worthless ends the search now.
    warnings.retain(|warning| warning.invalidates);
    warnings
}

/// The bottleneck, and whether it is the generator.
fn bottleneck_of(evidence: &Evidence<'_>) -> (Option<Bottleneck>, bool) {
    let bottleneck = match evidence.options.engine {
        LoadEngine::Live => bottleneck::find(evidence),
        LoadEngine::Sim => modelled::bottleneck(evidence),
    };
    let by_generator = bottleneck.as_ref().is_some_and(|found| found.who == "generator");
    (bottleneck, by_generator)
}

/// The warnings that follow from the figures of a phase alone.
fn of_figures(
    options: &LoadOptions,
    phase: &Phase,
    figures: &PhaseFigures,
    by_generator: bool,
) -> Vec<Warning> {
    let offered = offered(options, phase, figures);
    let mut warnings = offered.map_or_else(Vec::new, |offered| phase::warnings(&offered, by_generator));
    warnings.extend(phase::lack(figures));
    warnings
}

fn of_load(evidence: &Evidence<'_>) -> Vec<Warning> {
    let outcome = evidence.outcome;
    if evidence.options.engine == LoadEngine::Sim {
        // A modelled load has no machine that could be overloaded.
        return evidence.link.into_iter().flat_map(link::warnings).collect();
    }
    let target = outcome.target.as_ref();
    [
        socketless(evidence),
        steal(evidence.taken.by_hypervisor),
        other_programs(evidence.taken.by_programs),
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

/// The reason of a load that failed. It failed in its last phase.
fn ended_early(evidence: &Evidence<'_>, index: usize) -> Option<Warning> {
    let is_last = index + 1 == evidence.outcome.phases.len();
    let failure = evidence.outcome.failure.as_ref().filter(|_| is_last)?;
    Some(Warning::invalid(WarningKind::EndedEarly, failure.to_string()))
}

/// The note about devices without a socket, unless a phase says what its connections lacked.
fn socketless(evidence: &Evidence<'_>) -> Option<Warning> {
    let reason = evidence.outcome.socket_error.as_ref()?;
    if phase::lacking(evidence.phases).is_some() {
        return None;
    }
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

fn other_programs(share: f64) -> Option<Warning> {
    (share > OTHERS).then(|| {
        Warning::note(
            WarningKind::OtherPrograms,
            format!(
                "other programs used {} of the machine's processor time: rates may be lower and times longer for it",
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
