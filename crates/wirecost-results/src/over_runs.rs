//! The figures of repeated loads over their runs.

use wirecost_stats::MeanInterval;

use crate::catalogue::Aggregation;
use crate::catalogue::{Metric, Of};
use crate::load::{Load, PhaseFigures};
use crate::repeat::{OverRuns, Repeated, RepeatedPhase, RunOf};
use crate::standing::Standing;
use crate::thresholds::in_unit;

impl OverRuns {
    /// A figure over the same phase of each run; `None` if a run does not have it.
    pub fn from_phases(metric: Metric, aggregation: Aggregation, phases: &[&PhaseFigures]) -> Option<Self> {
        let values = phases.iter().map(|phase| metric.of_phase(phase, aggregation));
        let runs = values.collect::<Option<Vec<f64>>>()?;
        let (mean, interval) = mean_over_runs(&runs)?;
        Some(Self {
            metric: metric.name().to_owned(),
            aggregation: Aggregation::names(&[aggregation]),
            mean,
            interval,
            runs,
        })
    }

    /// The mean with its unit, and its interval.
    pub fn texts(&self) -> [String; 2] {
        let metric = Metric::named(&self.metric);
        let aggregation = Aggregation::named(&self.aggregation);
        let quantity = metric.zip(aggregation).map(|(metric, of)| metric.quantity_of(of));
        let text = |value| in_unit(quantity, value);
        let interval = self
            .interval
            .map(|[low, high]| format!("{} to {}", text(low), text(high)));
        [text(self.mean), interval.unwrap_or_else(|| "no interval".into())]
    }
}

/// The mean of runs with its 95 % interval; `None` without a run.
pub fn mean_over_runs(runs: &[f64]) -> Option<(f64, Option<[f64; 2]>)> {
    let mean = MeanInterval::of_runs(runs)?;
    Some((mean.mean, mean.low.zip(mean.high).map(|(low, high)| [low, high])))
}

/// The runs of each repeated load, in the order of their first runs.
pub fn runs_of(loads: &[Load]) -> Vec<(&RunOf, Vec<&Load>)> {
    let mut all: Vec<(&RunOf, Vec<&Load>)> = Vec::new();
    for load in loads.iter().filter(|load| load.not_run.is_none()) {
        let Some(run) = &load.run_of else {
            continue;
        };
        match all.iter_mut().find(|(known, _)| known.load == run.load) {
            Some((_, runs)) => runs.push(load),
            None => all.push((run, vec![load])),
        }
    }
    all
}

/// The figures of every repeated load.
pub fn all(loads: &[Load]) -> Vec<Repeated> {
    let of_one = |(run, loads): (&RunOf, Vec<&Load>)| Repeated {
        key: run.load.clone(),
        runs: loads.iter().map(|load| load.key.clone()).collect(),
        asked: run.runs,
        phases: phases(&loads),
    };
    runs_of(loads).into_iter().map(of_one).collect()
}

/// The same phase of each run, phase by phase.
pub fn phases_of<'a>(runs: &[&'a Load]) -> Vec<Vec<&'a PhaseFigures>> {
    let count = runs.iter().map(|load| load.phases.len()).min().unwrap_or(0);
    let of_index = |index: usize| runs.iter().map(|load| &load.phases[index]).collect();
    (0..count).map(of_index).collect()
}

fn phases(runs: &[&Load]) -> Vec<RepeatedPhase> {
    let of_phase = |phases: Vec<&PhaseFigures>| {
        let valid = phases.iter().all(|phase| phase.valid);
        let is_usable = |metric: &Metric| {
            let mut standings = runs
                .iter()
                .zip(&phases)
                .map(|(load, phase)| load.standing(phase, metric.subject()));
            // A bound of one run and the figures of others have no mean.
            standings.all(|standing| standing == Standing::Exact)
        };
        let figures = Metric::all(Of::Loads)
            .into_iter()
            .filter(is_usable)
            .flat_map(|metric| {
                let each = metric.aggregations().iter();
                each.filter_map(|aggregation| OverRuns::from_phases(metric, *aggregation, &phases))
                    .collect::<Vec<_>>()
            });
        RepeatedPhase {
            name: phases[0].name.clone(),
            valid,
            figures: figures.collect(),
        }
    };
    phases_of(runs).into_iter().map(of_phase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(run: u32, carried: f64) -> Load {
        Load {
            key: format!("k{run}"),
            run_of: Some(RunOf {
                load: "k".into(),
                run,
                runs: 3,
            }),
            phases: vec![PhaseFigures {
                name: "publish".into(),
                valid: true,
                carried_rate: Some(carried),
                ..PhaseFigures::default()
            }],
            ..Load::default()
        }
    }

    #[test]
    fn figures_over_runs_have_the_interval_of_student() {
        let loads = [run(1, 98.0), run(2, 100.0), run(3, 102.0)];
        let all = all(&loads);
        let figures = &all[0].phases[0].figures;
        let carried = figures.iter().find(|figure| figure.metric == "carried_rate");
        let carried = carried.expect("a rate");
        let [low, high] = carried.interval.expect("an interval");
        // t(2) = 4.3027, s / sqrt(3) = 1.1547.
        assert_eq!((carried.mean, all[0].runs.len()), (100.0, 3));
        assert!((low - 95.0317).abs() < 1e-3 && (high - 104.9683).abs() < 1e-3);
    }

    #[test]
    fn a_single_run_has_no_interval() {
        let all = all(&[run(1, 98.0)]);
        assert!(
            all[0].phases[0]
                .figures
                .iter()
                .all(|figure| figure.interval.is_none())
        );
    }
}
