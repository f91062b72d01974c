//! The figures of the phases of loads, over the runs of each.

use std::borrow::Cow;

use wirecost_results::link_use::HopUse;
use wirecost_results::load::{Load, LoadSummary, PhaseFigures};
use wirecost_results::over_runs;
use wirecost_results::standing::Standing;
use wirecost_scenario::selector::{HOP, Labels, from_stored};

use super::{Candidate, Figure, PHASE, Refused, figure, invalid, no_figure, of_times, rates, refused};
use crate::reference::Reference;

pub(super) fn of_phases<'a>(reference: &Reference, summary: &'a LoadSummary) -> Vec<Candidate<'a>> {
    let of_runs = |runs: Vec<&'a Load>| {
        let labels = &runs[0].phase_labels;
        let engine = &runs[0].engine;
        let phases = over_runs::phases_of(&runs).into_iter().enumerate();
        let candidates = move |(index, phases): (usize, Vec<&'a PhaseFigures>)| {
            let at = |(labels, hop): (Labels, Option<String>)| {
                let phases: Vec<Cow<'_, PhaseFigures>> =
                    phases.iter().map(|phase| phase.at_hop(hop.as_deref())).collect();
                let value = reference.metric.of_phase(&phases[0], reference.aggregation);
                // Where nothing was answered, the phase that the reference names has no figure, and says why.
                let is_named = reference.selector.names(PHASE) && !phases[0].valid;
                let is_meant = reference.selector.matches(&labels) && (value.is_some() || is_named);
                is_meant.then(|| Candidate {
                    labels,
                    engine,
                    found: match (&runs[..], &phases[..]) {
                        // A single run of several that were asked for is not a load without repeats: it has no spread yet.
                        ([load], [phase]) if load.run_of.is_none() => of_phase(reference, load, phase),
                        _ => of_repeated(reference, &runs, &phases),
                    },
                    agrees: true,
                })
            };
            let labels = labels.get(index).map(from_stored);
            let by_hop = labels.map(|labels| of_hops(reference.metric.is_by_hop(), phases[0], labels));
            let by_hop = by_hop.unwrap_or_default().into_iter();
            by_hop.filter_map(at).collect::<Vec<_>>()
        };
        phases.flat_map(candidates).collect::<Vec<_>>()
    };
    let all: Vec<Candidate<'a>> = each_load(summary).into_iter().flat_map(of_runs).collect();
    let valid = rates::valid(summary);
    let told = |one: Candidate<'a>| match one.found {
        Err(why) => Candidate {
            found: Err(rates::with_largest(why, &one.labels, &valid)),
            ..one
        },
        Ok(_) => one,
    };
    all.into_iter().map(told).collect()
}

/// The labels of a phase, with those of each hop where the figure is one of links and the load has sites.
fn of_hops(is_by_hop: bool, phase: &PhaseFigures, labels: Labels) -> Vec<(Labels, Option<String>)> {
    if !is_by_hop || phase.hops.is_empty() {
        return vec![(labels, None)];
    }
    let with = |used: &HopUse| {
        let mut labels = labels.clone();
        labels.insert(HOP, used.hop.clone());
        (labels, Some(used.hop.clone()))
    };
    phase.hops.iter().map(with).collect()
}

/// The runs of each load: one, or as many as a repeated load has.
pub(super) fn each_load(summary: &LoadSummary) -> Vec<Vec<&Load>> {
    let once = summary.loads.iter().filter(|load| load.run_of.is_none());
    let repeated = over_runs::runs_of(&summary.loads)
        .into_iter()
        .map(|(_, runs)| runs);
    once.map(|load| vec![load]).chain(repeated).collect()
}

/// The mean over the runs whose figures can be used, at least two. Its interval has these runs as its samples.
fn of_repeated(
    reference: &Reference,
    runs: &[&Load],
    phases: &[Cow<'_, PhaseFigures>],
) -> Result<Figure, String> {
    let each = runs.iter().zip(phases);
    let usable = |(load, phase): &(&&Load, &Cow<'_, PhaseFigures>)| usable_in_phase(reference, load, phase);
    let (used, refused): (Vec<_>, Vec<_>) = each.partition(|one| usable(one).is_ok());
    if let Some(first) = refused.first().filter(|_| used.len() < 2) {
        usable(first)?;
    }
    let (metric, aggregation) = (reference.metric, reference.aggregation);
    let values = used.iter().map(|(_, phase)| metric.of_phase(phase, aggregation));
    let values = values.collect::<Option<Vec<f64>>>();
    let values = values.ok_or_else(|| no_figure(reference))?;
    let (mean, interval) = over_runs::mean_over_runs(&values).ok_or_else(|| no_figure(reference))?;
    let n = values.len() as u64;
    Ok(figure(reference, mean, interval, n, &runs[0].engine, values))
}

fn of_phase(reference: &Reference, load: &Load, phase: &PhaseFigures) -> Result<Figure, String> {
    if let Some(why) = &load.not_run {
        return Err(why.clone());
    }
    usable_in_phase(reference, load, phase)?;
    let value = reference.metric.of_phase(phase, reference.aggregation);
    let value = value.ok_or_else(|| no_figure(reference))?;
    let times = reference.metric.times_of_phase(phase);
    let interval = times.and_then(|times| of_times(times, reference.aggregation));
    let n = times.map_or(phase.outcomes.offered, |times| times.n);
    Ok(figure(reference, value, interval, n, &load.engine, Vec::new()))
}

/// Refuses figures of a phase that are not what they say, with the first reason.
fn usable_in_phase(reference: &Reference, load: &Load, phase: &PhaseFigures) -> Result<(), String> {
    let subject = reference.metric.subject();
    match load.standing(phase, subject) {
        Standing::Exact => Ok(()),
        Standing::AtMost | Standing::AtLeast | Standing::Refused => {
            Err(invalid(load.limiting(phase, subject)))
        }
    }
}

/// The phases of a load that have no figures that can be used, with the reason of its first run. Of a repeated load, two runs with
/// figures are enough.
pub(super) fn refused_phases(runs: &[&Load]) -> Vec<((Labels, String), Refused)> {
    // Two runs have a spread between them; one alone is a single run.
    let enough = runs.len().min(2);
    let of_phase = |(index, labels)| {
        let each = runs.iter().map(|load| {
            let phase = load.phases.get(index);
            let warnings = load
                .warnings
                .iter()
                .chain(phase.into_iter().flat_map(|phase: &PhaseFigures| &phase.warnings));
            let ended = "it ended before this phase".to_owned();
            let not_run = load.not_run.as_ref().or(phase.is_none().then_some(&ended));
            refused(not_run, phase.is_some_and(|phase| phase.valid), warnings)
        });
        let each: Vec<Option<Refused>> = each.collect();
        let usable = each.iter().filter(|refused| refused.is_none()).count();
        let why = each.into_iter().flatten().next().filter(|_| usable < enough)?;
        Some(((from_stored(labels), runs[0].engine.clone()), why))
    };
    runs[0]
        .phase_labels
        .iter()
        .enumerate()
        .filter_map(of_phase)
        .collect()
}
