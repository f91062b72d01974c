//! The figures of results folders, by reference.

mod cells;
mod phases;
mod points;
mod rates;

use std::collections::BTreeMap;
use std::path::PathBuf;

use wirecost_results::Results;
use wirecost_results::catalogue::{Aggregation, Metric, Quantity};
use wirecost_results::folder::{ResultsError, RunFolder};
use wirecost_results::load::{self, Load, LoadSummary};
use wirecost_results::nbiot::{self, NbiotSummary};
use wirecost_results::summary::{Cell, Times};
use wirecost_results::warning::Warning;
use wirecost_scenario::options::nbiot::labels_of_point;
use wirecost_scenario::selector::{Labels, from_stored};
use wirecost_scenario::thresholds::nature;
use wirecost_stats::{Estimate, MeanInterval};

use crate::amount::Amount;
use crate::model::Modelled;
use crate::reference::Reference;
use cells::of_cells;
use phases::{each_load, of_phases, refused_phases};
use points::of_points;

/// The dimension of the phases of a load.
const PHASE: &str = "phase";
/// What figures that cannot be used begin with.
const INVALID: &str = "INVALID";
/// The engine of points of NB-IoT cells.
pub(crate) const SIM: &str = "sim";

/// A measured figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its value.
    pub amount: Amount,
    /// Its 95 % interval in base units; `None` if the run has none, e.g. a load that was run once.
    pub interval: Option<[f64; 2]>,
    /// Whether every sample has this value.
    pub is_exact: bool,
    /// Whether it is a median.
    pub is_median: bool,
    /// `live` or `sim`.
    pub engine: String,
    /// Samples.
    pub n: u64,
    /// The measurements that the figure is of, in base units; empty if they are not kept.
    pub samples: Vec<f64>,
    /// The text that refers to it.
    pub reference: String,
    /// The run that it is of.
    pub run: String,
    /// The device file by which it is modelled; the interval is then that of the file's spread.
    pub model: Option<Modelled>,
    /// Whether `samples` are replications with the same devices and arrivals as those of other figures of the run.
    pub is_replicated: bool,
}

impl Figure {
    /// Whether both are of the same devices, replication by replication.
    pub fn pairs_with(&self, other: &Self) -> bool {
        let are_both = self.is_replicated && other.is_replicated;
        are_both && self.run == other.run && self.samples.len() == other.samples.len()
    }

    /// The figure with the interval of Student over its replications, unless it has one.
    #[must_use]
    pub fn over_replications(self) -> Self {
        let of_runs = || MeanInterval::of_runs(&self.samples).and_then(|mean| Some([mean.low?, mean.high?]));
        Self {
            interval: self.interval.or_else(of_runs),
            ..self
        }
    }

    /// Its value with its unit, marked if it is modelled.
    pub fn shown(&self) -> String {
        let mark = if self.model.is_some() { "*" } else { "" };
        format!("{}{mark}", self.amount)
    }

    /// Whether the other one is modelled by the same device file: then both move together within its spread.
    pub fn shares_model(&self, other: &Self) -> bool {
        let devices = self.model.zip(other.model);
        devices.is_some_and(|(one, other)| one.device == other.device)
    }

    /// The figure with its interval. One that every sample has is exact.
    pub fn estimate(&self) -> Estimate {
        let value = self.amount.value;
        match self.is_exact {
            true => Estimate::exact(value),
            false => Estimate {
                value,
                interval: self.interval,
            },
        }
    }

    /// The interval, or the value itself if there is none.
    pub fn ends(&self) -> [f64; 2] {
        self.interval.unwrap_or([self.amount.value; 2])
    }
}

/// Why there is no figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It was not measured, with the reason.
    NotRun(String),
    /// The reference fits no cell, or several.
    Wrong(String),
}

/// Why a cell or phase of a run has no figures that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It was not run.
    NotRun(String),
    /// Its figures are invalid.
    Invalid(String),
}

/// Why a folder is no evidence.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// The folder cannot be read.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// An earlier version wrote it, whose results do not say what their cells are.
    #[error(
        "{path} holds results of wirecost {version} that lack the dimensions of their cells, by which cells are matched"
    )]
    Unlabelled {
        /// The folder.
        path: PathBuf,
        /// The version that wrote it.
        version: String,
    },
}

/// Results folders by the names of their runs.
#[derive(Debug, Default)]
pub struct Evidence {
    runs: BTreeMap<String, Run>,
}

#[derive(Debug)]
enum Run {
    Absent(String),
    Comparison {
        /// Of each cell.
        labels: Vec<Labels>,
        results: Box<Results>,
        folder: RunFolder,
    },
    Loads {
        summary: Box<LoadSummary>,
    },
    Points {
        summary: Box<NbiotSummary>,
    },
}

/// One cell or phase that a reference fits.
struct Candidate<'a> {
    labels: Labels,
    engine: &'a str,
    found: Result<Figure, String>,
    /// Whether a live cell has the bytes and packets of the simulated one.
    agrees: bool,
}

impl Evidence {
    /// Adds the folder of a run.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn add(&mut self, run: &str, folder: &RunFolder) -> Result<(), EvidenceError> {
        let read = if nbiot::is_nbiot(folder) {
            let summary = Box::new(folder.read_json("summary.json")?);
            Run::Points { summary }
        } else if load::is_load(folder) {
            let summary: Box<LoadSummary> = Box::new(folder.read_json("summary.json")?);
            let lacks = summary.loads.iter().any(|load| load.phase_labels.is_empty());
            // Folders of versions before labels would fit no reference, which looks like a wrong claim.
            labelled(folder, &summary.version, lacks)?;
            Run::Loads { summary }
        } else {
            let results = Box::new(folder.read()?);
            let cells = &results.summary.cells;
            let lacks = cells.iter().any(|cell| cell.labels.is_empty());
            labelled(folder, &results.summary.version, lacks)?;
            Run::Comparison {
                labels: cells.iter().map(|cell| from_stored(&cell.labels)).collect(),
                results,
                folder: folder.clone(),
            }
        };
        self.runs.insert(run.to_owned(), read);
        Ok(())
    }

    /// Says why a run is not there.
    pub fn absent(&mut self, run: &str, why: &str) {
        self.runs.insert(run.to_owned(), Run::Absent(why.to_owned()));
    }

    /// The figure that a reference names. Bytes and packets are those of the simulation if the live cell agrees; times
    /// are live where they were measured live.
    ///
    /// # Errors
    /// It was not measured, or the reference fits no cell or several.
    pub fn figure(&self, reference: &Reference) -> Result<Figure, Missing> {
        let candidates = self.candidates(reference)?;
        let first = &candidates.first().ok_or_else(|| nothing(reference))?.labels;
        // Taking one of several would be a choice that the claim has not made.
        if let Some(other) = candidates.iter().find(|one| !same_cell(&one.labels, first)) {
            let differing = first
                .iter()
                .find(|(key, value)| other.labels.get(*key) != Some(*value))
                .map_or("phase", |(key, _)| *key);
            return Err(Missing::Wrong(format!(
                "{reference}: it fits several cells: say which {differing}"
            )));
        }
        chosen(reference, candidates)
    }

    /// The figures over all values of a dimension, in the order of the scenario.
    ///
    /// # Errors
    /// One was not measured, or the reference fits no cell.
    pub fn series(&self, reference: &Reference, over: &str) -> Result<Vec<(String, Figure)>, Missing> {
        let mut by_value: Vec<(String, Vec<Candidate<'_>>)> = Vec::new();
        for candidate in self.candidates(reference)? {
            let Some(value) = candidate.labels.get(over).cloned() else {
                return Err(Missing::Wrong(format!("{reference}: its cells have no {over}")));
            };
            match by_value.iter_mut().find(|(known, _)| *known == value) {
                Some((_, candidates)) => candidates.push(candidate),
                None => by_value.push((value, vec![candidate])),
            }
        }
        // One value has no trend.
        if by_value.len() < 2 {
            return Err(Missing::Wrong(format!(
                "{reference}: the run has fewer than two values of {over}"
            )));
        }
        let figures = by_value.into_iter();
        figures
            .map(|(value, candidates)| Ok((value, chosen(reference, candidates)?)))
            .collect()
    }

    /// Whether a run has recorded the packets of its cells under their names.
    pub fn has_packets(&self, run: &str) -> bool {
        match self.runs.get(run) {
            // The packets of a program are in a folder for each of its runs.
            Some(Run::Comparison { results, .. }) => {
                results.summary.cells.iter().all(|cell| cell.program.is_none())
            }
            Some(Run::Absent(_) | Run::Loads { .. } | Run::Points { .. }) | None => false,
        }
    }

    /// Every cell or phase of a run, in the order of its summary, with its engine.
    pub fn subjects(&self, run: &str) -> Vec<(Labels, String)> {
        match self.runs.get(run) {
            None | Some(Run::Absent(_)) => Vec::new(),
            Some(Run::Comparison { labels, results, .. }) => {
                let cells = labels.iter().zip(&results.summary.cells);
                cells
                    .map(|(labels, cell)| (labels.clone(), cell.engine.clone()))
                    .collect()
            }
            Some(Run::Loads { summary }) => {
                let of_load = |load: &Load| {
                    let phases = load.phase_labels.iter();
                    let subject = |labels| (from_stored(labels), load.engine.clone());
                    phases.map(subject).collect::<Vec<_>>()
                };
                // All runs of a load have the same labels.
                let each = each_load(summary).into_iter().map(|runs| runs[0]);
                each.flat_map(of_load).collect()
            }
            Some(Run::Points { summary }) => summary
                .points
                .iter()
                .map(|point| (labels_of_point(point), SIM.to_owned()))
                .collect(),
        }
    }

    /// The seed of a run.
    pub fn seed(&self, run: &str) -> Option<u64> {
        match self.runs.get(run)? {
            Run::Absent(_) => None,
            Run::Comparison { results, .. } => Some(results.summary.seed),
            Run::Loads { summary } => Some(summary.seed),
            Run::Points { summary } => Some(summary.setting.seed),
        }
    }

    /// The replications of each point of a run in NB-IoT cells.
    pub fn replications(&self, run: &str) -> Option<u64> {
        match self.runs.get(run)? {
            Run::Points { summary } => Some(summary.setting.seeds.into()),
            Run::Absent(_) | Run::Comparison { .. } | Run::Loads { .. } => None,
        }
    }

    /// The cells and phases of a run that have no figures that can be used.
    pub fn refusals(&self, run: &str) -> Vec<((Labels, String), Refused)> {
        match self.runs.get(run) {
            None | Some(Run::Absent(_) | Run::Points { .. }) => Vec::new(),
            Some(Run::Comparison { labels, results, .. }) => {
                let cells = labels.iter().zip(&results.summary.cells);
                let refused = |(labels, cell): (&Labels, &Cell)| {
                    let why = refused(cell.not_run.as_ref(), cell.valid, cell.warnings.iter())?;
                    Some(((labels.clone(), cell.engine.clone()), why))
                };
                cells.filter_map(refused).collect()
            }
            Some(Run::Loads { summary }) => each_load(summary)
                .into_iter()
                .flat_map(|runs| refused_phases(&runs))
                .collect(),
        }
    }

    /// The figure of every cell or phase that a reference fits, by each engine.
    pub fn all(&self, reference: &Reference) -> Vec<((Labels, String), Figure)> {
        let candidates = self.candidates(reference).unwrap_or_default();
        let found = candidates
            .into_iter()
            .filter_map(|one| Some(((one.labels, one.engine.to_owned()), one.found.ok()?)));
        found.collect()
    }

    fn candidates(&self, reference: &Reference) -> Result<Vec<Candidate<'_>>, Missing> {
        let run = self.runs.get(&reference.run);
        if let (Some(Run::Comparison { .. }), Some(file)) = (run, reference.lacks()) {
            return Err(Missing::Wrong(format!(
                "{reference}: the figure of a cell is modelled by a {file} file: write {} in the braces",
                nature::example(file)
            )));
        }
        let all = match run {
            None => {
                return Err(Missing::NotRun(format!(
                    "no results of the run {:?}",
                    reference.run
                )));
            }
            Some(Run::Absent(why)) => return Err(Missing::NotRun(why.clone())),
            Some(Run::Comparison {
                labels,
                results,
                folder,
            }) => of_cells(reference, labels, results, folder),
            Some(Run::Loads { summary }) => of_phases(reference, summary),
            Some(Run::Points { summary }) => of_points(reference, summary),
        };
        let is_meant = |one: &Candidate<'_>| reference.engine.is_none_or(|engine| engine == one.engine);
        let meant: Vec<Candidate<'_>> = all.into_iter().filter(is_meant).collect();
        if meant.is_empty() {
            return Err(nothing(reference));
        }
        Ok(meant)
    }
}

fn nothing(reference: &Reference) -> Missing {
    Missing::Wrong(format!(
        "{reference}: nothing of the run is {}",
        reference.selector
    ))
}

/// Whether labels are of one cell, by whichever engine.
fn same_cell(one: &Labels, other: &Labels) -> bool {
    let without_engine = |labels: &Labels| {
        let mut labels = labels.clone();
        labels.remove("engine");
        labels
    };
    without_engine(one) == without_engine(other)
}

/// One of the engines' figures of a cell.
fn chosen(reference: &Reference, candidates: Vec<Candidate<'_>>) -> Result<Figure, Missing> {
    let disagrees = candidates.iter().any(|one| one.engine == "live" && !one.agrees);
    let prefers_sim = reference.metric.quantity() != Quantity::Time && !disagrees;
    let preferred = if prefers_sim { "sim" } else { "live" };
    let rank = |one: &Candidate<'_>| (one.found.is_err(), one.engine != preferred);
    let best = candidates.into_iter().min_by_key(rank);
    let best = best.ok_or_else(|| nothing(reference))?;
    best.found.map_err(Missing::NotRun)
}

/// Refuses results whose cells or phases do not say what they are.
fn labelled(folder: &RunFolder, version: &str, lacks: bool) -> Result<(), EvidenceError> {
    match lacks {
        false => Ok(()),
        true => Err(EvidenceError::Unlabelled {
            path: folder.path().to_owned(),
            version: version.to_owned(),
        }),
    }
}

fn refused<'a>(
    not_run: Option<&String>,
    is_valid: bool,
    mut warnings: impl Iterator<Item = &'a Warning>,
) -> Option<Refused> {
    if let Some(why) = not_run {
        return Some(Refused::NotRun(why.clone()));
    }
    let why = warnings.find(|warning| warning.invalidates);
    (!is_valid).then(|| Refused::Invalid(why.map_or_else(String::new, |why| why.text.clone())))
}

/// Refuses figures that must not be used, with the first reason.
fn usable<'a>(
    reference: &Reference,
    is_valid: bool,
    mut warnings: impl Iterator<Item = &'a Warning>,
) -> Result<(), String> {
    if is_valid || reference.metric == Metric::Valid {
        return Ok(());
    }
    Err(invalid(warnings.find(|warning| warning.invalidates)))
}

/// `INVALID`, with the reason.
fn invalid(why: Option<&Warning>) -> String {
    why.map_or_else(
        || INVALID.to_owned(),
        |warning| format!("{INVALID}: {}", warning.text),
    )
}

fn no_figure(reference: &Reference) -> String {
    format!("the run has no figure of {}", reference.metric.name())
}

fn figure(
    reference: &Reference,
    value: f64,
    interval: Option<[f64; 2]>,
    n: u64,
    engine: &str,
    samples: Vec<f64>,
) -> Figure {
    let quantity = reference.metric.quantity_of(reference.aggregation);
    let in_base = |value: f64| Amount::of_figure(value, quantity).value;
    // Exactly equal, not nearly: bytes of a run without loss are the same number in each sample.
    let is_exact = !samples.is_empty() && samples.iter().all(|sample| *sample == samples[0]);
    Figure {
        amount: Amount::of_figure(value, quantity),
        interval: interval.map(|ends| ends.map(in_base)),
        is_exact,
        is_median: reference.aggregation == Aggregation::P50,
        engine: engine.to_owned(),
        n,
        samples: samples.into_iter().map(in_base).collect(),
        reference: reference.to_string(),
        run: reference.run.clone(),
        model: None,
        is_replicated: false,
    }
}

/// The interval of a quantity of time, in seconds.
fn of_times(times: &Times, aggregation: Aggregation) -> Option<[f64; 2]> {
    let of_quantile = |name: &str| {
        let ends = times.quantile_ci95.get(name).copied().flatten();
        ends.map(|ends| ends.map(|nanos| nanos as f64 / 1e9))
    };
    match aggregation {
        Aggregation::Mean => times.ci95.map(|ends| ends.map(|nanos| nanos / 1e9)),
        Aggregation::P50 => of_quantile("p50"),
        Aggregation::P90 => of_quantile("p90"),
        Aggregation::P95 => of_quantile("p95"),
        Aggregation::P99 => of_quantile("p99"),
        Aggregation::P999 => of_quantile("p999"),
        _ => None,
    }
}

fn of_mean(samples: &[f64]) -> Option<[f64; 2]> {
    let mean = MeanInterval::from_values(samples)?;
    Some([mean.low?, mean.high?])
}
