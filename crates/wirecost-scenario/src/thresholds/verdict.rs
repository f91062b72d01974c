//! Judges demands in each cell, or each phase of each load, that they apply to.

use std::collections::BTreeMap;

use wirecost_results::RunFolder;
use wirecost_results::catalogue::{Metric, Quantity};
use wirecost_results::load::{Load, LoadSummary, PhaseFigures};
use wirecost_results::nbiot::{NbiotSummary, Point};
use wirecost_results::over_runs::mean_over_runs;
use wirecost_results::standing::Standing;
use wirecost_results::summary::{Cell, Summary};
use wirecost_results::threshold::Threshold;

use super::nature::{of_hops, of_model, unavailable_in_cell, unavailable_in_phase};
use super::{Demand, Thresholds};
use crate::labels;
use crate::options::compare::Options;
use crate::options::load::LoadOptions;
use crate::options::nbiot::labels_of_point;
use crate::plan::LabelledCell;
use crate::selector::Labels;
use crate::{identity, month, plan};

/// A cell or a phase with its figure.
struct Instance {
    /// How far its figure can be used.
    standing: Standing,
    /// Round-trip time of its link in seconds.
    rtt: Option<f64>,
    figure: Option<f64>,
    /// The 95 % interval of the figure over runs.
    interval: Option<[f64; 2]>,
}

impl Instance {
    /// The sum of two counts.
    fn and(self, other: Self) -> Self {
        Self {
            standing: self.standing.and(other.standing),
            rtt: self.rtt,
            figure: self.figure.zip(other.figure).map(|(one, other)| one + other),
            interval: None,
        }
    }
}

impl Thresholds {
    /// Judges each demand on a comparison; energy is modelled from the packets of the cells' files in `folder`.
    pub fn of_comparison(&self, options: &Options, summary: &Summary, folder: &RunFolder) -> Vec<Threshold> {
        let planned: BTreeMap<String, LabelledCell> = plan::labelled(options)
            .into_iter()
            .map(|planned| (planned.key.clone(), planned))
            .collect();
        let cells = summary.cells.iter().filter(|cell| cell.not_run.is_none());
        let cells: Vec<(&LabelledCell, &Cell)> = cells
            .filter_map(|cell| Some((planned.get(&cell.key)?, cell)))
            .collect();
        let verdict = |demand: &Demand| {
            let each = cells
                .iter()
                .flat_map(|(planned, cell)| demand.of_cell(planned, cell, folder));
            demand.judge(each)
        };
        let is_asked = |demand: &&Demand| {
            planned
                .values()
                .any(|planned| demand.models(planned).next().is_some())
        };
        self.0.iter().filter(is_asked).map(verdict).collect()
    }

    /// Judges each demand on the points of NB-IoT cells that the summary holds; demands on other shards are left out.
    pub fn of_points(&self, summary: &NbiotSummary) -> Vec<Threshold> {
        let points: Vec<(Labels, &Point)> = summary
            .points
            .iter()
            .map(|point| (labels_of_point(point), point))
            .collect();
        let verdict = |demand: &Demand| {
            let matching = points
                .iter()
                .filter(|(labels, _)| demand.selector.matches(labels));
            let instances: Vec<Instance> = matching
                .map(|(_, point)| Instance {
                    standing: Standing::Exact,
                    rtt: None,
                    figure: demand.metric.of_point(point, demand.expression.aggregation),
                    interval: None,
                })
                .collect();
            (!instances.is_empty()).then(|| demand.judge(instances.into_iter()))
        };
        self.0.iter().filter_map(verdict).collect()
    }

    /// Judges each demand that applies to one of `options`; demands on other shards are left out. Loads that the
    /// summary does not hold are not judged. A demand that ended a load has failed, whatever came after.
    pub fn of_loads(&self, options: &[LoadOptions], summary: &LoadSummary) -> Vec<Threshold> {
        let runs = identity::runs(options);
        let keyed: BTreeMap<&str, &LoadOptions> =
            runs.iter().map(|run| (run.key.as_str(), &run.options)).collect();
        let loads = || {
            let ran = summary.loads.iter().filter(|load| load.not_run.is_none());
            ran.filter_map(|load| Some((*keyed.get(load.key.as_str())?, load)))
        };
        let verdict = |demand: &Demand| {
            let mut aborts = loads().filter_map(|(_, load)| load.aborted.as_ref());
            let unmet = demand.unmet();
            let is_own =
                |abort: &&Threshold| (&abort.metric, &abort.expression) == (&unmet.metric, &unmet.expression);
            aborts
                .find(is_own)
                // The phase went on for a moment after it was ended, and its final figure may pass.
                .cloned()
                .unwrap_or_else(|| demand.judge(demand.of_repeated(loads()).into_iter()))
        };
        let is_asked = |demand: &&Demand| {
            let mut phases = options
                .iter()
                .flat_map(|options| (0..options.phases.len()).map(move |index| (options, index)));
            phases.any(|(options, index)| demand.is_about_phase(options, index))
        };
        self.0.iter().filter(is_asked).map(verdict).collect()
    }
}

impl Demand {
    /// The cell, once for each device or tariff file that the demand names if its figure is modelled by one.
    fn of_cell<'a>(
        &'a self,
        planned: &LabelledCell,
        cell: &'a Cell,
        folder: &'a RunFolder,
    ) -> impl Iterator<Item = Instance> + 'a {
        let aggregation = self.expression.aggregation;
        self.models(planned)
            .collect::<Vec<_>>()
            .into_iter()
            .map(move |by| Instance {
                standing: match cell.valid || self.metric == Metric::Valid {
                    true => Standing::Exact,
                    false => Standing::Refused,
                },
                rtt: Some((cell.link.up.delay_ns + cell.link.down.delay_ns) as f64 / 1e9),
                figure: month::figure(folder, cell, (self.metric, aggregation), by).ok(),
                interval: None,
            })
    }

    /// The files by which the demand asks for a figure of a cell: `None` alone where it needs none, and
    /// nothing where the demand does not apply to the cell.
    fn models(&self, planned: &LabelledCell) -> impl Iterator<Item = Option<&'static str>> {
        let is_there = unavailable_in_cell(self.metric, Some(planned.stack), planned.framing).is_none();
        of_model(self.metric, &planned.labels)
            .into_iter()
            .filter(move |(labels, _)| is_there && self.selector.matches(labels))
            .map(|(_, by)| by)
    }

    /// Whether the demand applies to the phase with this index.
    fn is_about_phase(&self, options: &LoadOptions, index: usize) -> bool {
        !self.hops(options, index).is_empty() && unavailable_in_phase(self.metric, options, index).is_none()
    }

    /// The hops of a phase whose figures the demand is about: `None` alone where it is about the phase itself.
    pub(super) fn hops(&self, options: &LoadOptions, index: usize) -> Vec<Option<String>> {
        let labels = options
            .phases
            .get(index)
            .map(|phase| labels::labels_of_phase(options, phase));
        let of_hops = |labels: Labels| of_hops(self.metric.is_by_hop(), options, &labels);
        let all = labels.map(of_hops).unwrap_or_default().into_iter();
        all.filter(|(labels, _)| self.selector.matches(labels))
            .map(|(_, hop)| hop)
            .collect()
    }

    /// The phases that the demand applies to. Those of a repeated load have the mean over its runs.
    fn of_repeated<'a>(&self, loads: impl Iterator<Item = (&'a LoadOptions, &'a Load)>) -> Vec<Instance> {
        let mut repeated: Vec<(&str, Vec<Vec<Instance>>)> = Vec::new();
        let mut all = Vec::new();
        for (options, load) in loads {
            let instances = self.in_phases(options, load);
            let Some(run) = &load.run_of else {
                all.extend(instances);
                continue;
            };
            match repeated.iter_mut().find(|(known, _)| *known == run.load) {
                Some((_, runs)) => runs.push(instances),
                None => repeated.push((&run.load, vec![instances])),
            }
        }
        all.extend(repeated.into_iter().flat_map(|(_, runs)| over_runs(&runs)));
        all
    }

    /// The phases of a load that the demand applies to, or their sum if their figures add up.
    fn in_phases(&self, options: &LoadOptions, load: &Load) -> Vec<Instance> {
        let is_meant = |(index, _): &(usize, &PhaseFigures)| self.is_about_phase(options, *index);
        let rtt = options.link.as_ref().map(|link| link.rtt().as_secs_f64());
        // The subscribers are ours: if none has received a message, the count is zero.
        let nothing = (self.metric.adds_up() && options.subscribers.is_some()).then_some(0.0);
        let instance = |phase: &PhaseFigures| Instance {
            standing: load.standing(phase, self.metric.subject()),
            rtt,
            figure: self
                .metric
                .of_phase(phase, self.expression.aggregation)
                .or(nothing),
            interval: None,
        };
        let phases = load.phases.iter().enumerate().filter(is_meant);
        let instances = phases.flat_map(|(index, phase)| {
            let hops = self.hops(options, index).into_iter();
            hops.map(|hop| instance(&phase.at_hop(hop.as_deref())))
        });
        match self.metric.adds_up() {
            true => instances.reduce(Instance::and).into_iter().collect(),
            false => instances.collect(),
        }
    }

    /// The demand holds if the figure of every instance fulfils the condition, and can be used for it.
    fn judge(&self, instances: impl Iterator<Item = Instance>) -> Threshold {
        let (mut all, mut some) = (true, false);
        let mut worst: Option<(bool, f64, Option<[f64; 2]>)> = None;
        for instance in instances {
            let holds = |figure| {
                self.expression
                    .holds_within(figure, instance.standing, instance.rtt)
            };
            let passes = instance.figure.is_some_and(holds);
            // A time that is not what was measured is shown only where it decides.
            let is_shown =
                passes || instance.standing == Standing::Exact || self.metric.quantity() != Quantity::Time;
            let figure = instance.figure.filter(|_| is_shown);
            let figure = figure.map(|figure| (passes, figure, instance.interval));
            worst = match (worst, figure) {
                (None, figure) => figure,
                (worst, None) => worst,
                (Some((true, ..)), Some((false, figure, interval))) => Some((false, figure, interval)),
                (worst @ Some((false, ..)), Some((true, ..))) => worst,
                (Some(one), Some(other)) if self.expression.worse(one.1, other.1) == one.1 => Some(one),
                (Some(_), other) => other,
            };
            some = true;
            all &= passes;
        }
        Threshold {
            actual: worst.map(|(_, figure, _)| figure),
            interval: worst.and_then(|(.., interval)| interval),
            pass: all && some,
            ..self.unmet()
        }
    }
}

/// The same phases over the runs of a load, with the mean of their figures.
fn over_runs(runs: &[Vec<Instance>]) -> Vec<Instance> {
    let count = runs.iter().map(Vec::len).min().unwrap_or(0);
    let of_phase = |index: usize| {
        let phases = || runs.iter().map(|instances| &instances[index]);
        let figures: Option<Vec<f64>> = phases().map(|phase| phase.figure).collect();
        let (figure, interval) = figures.and_then(|figures| mean_over_runs(&figures)).unzip();
        Instance {
            standing: phases().fold(Standing::Exact, |standing, phase| standing.and(phase.standing)),
            rtt: phases().find_map(|phase| phase.rtt),
            figure,
            interval: interval.flatten(),
        }
    };
    (0..count).map(of_phase).collect()
}

#[cfg(test)]
mod tests;
