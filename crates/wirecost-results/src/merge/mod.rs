//! Merges several results folders: shards of a run, or machines that generated at the same time.
//!
//! The cells of comparisons are collected; the scenarios must be equal. Loads with the same key ran at the same time:
//! their counts and histograms are added, and all figures are computed from the sums. Loads with different keys are
//! collected, in the order of the first folder. Thresholds are judged on the merged figures. Captures stay in their
//! folders.

mod comparisons;
mod loads;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::SystemTime;

use serde_json::Value;

use super::folder::{ResultsError, RunFolder};
use super::load::LoadSummary;
use super::resume::differences_of;
use super::summary::Summary;
use super::threshold::Threshold;

/// The merged results.
#[derive(Clone, Debug, PartialEq)]
pub enum Merged {
    /// A comparison.
    Comparison(Box<Summary>),
    /// Loads.
    Loads(LoadSummary),
}

/// Access to the scenarios of the folders.
pub trait Scenarios {
    /// The keys of the cells or loads of a scenario, in order; empty if the scenario cannot be read.
    fn keys(&self, scenario: &str) -> Vec<String>;

    /// Judges the thresholds of all scenarios on a comparison.
    fn judge_comparison(&self, summary: &Summary) -> Vec<Threshold>;

    /// Judges the thresholds of all scenarios on all loads.
    fn judge_loads(&self, summary: &LoadSummary) -> Vec<Threshold>;
}

/// The arguments of a merge.
pub(super) struct Order<'a> {
    sources: &'a [RunFolder],
    into: &'a RunFolder,
    /// The command of the merge.
    command: String,
    scenarios: &'a dyn Scenarios,
    ended: SystemTime,
}

/// Why folders cannot be merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A folder cannot be read, or the new folder cannot be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// There are fewer than two folders.
    #[error("a merge needs two results folders or more")]
    TooFew,
    /// A folder is named twice: its loads would count twice.
    #[error("{0} is named twice")]
    Twice(PathBuf),
    /// Some folders hold loads, others a comparison.
    #[error("{loads} holds loads and {comparison} a comparison: they cannot be put together")]
    Mixed {
        /// A folder of loads.
        loads: PathBuf,
        /// A folder of a comparison.
        comparison: PathBuf,
    },
    /// Comparisons of different scenarios.
    #[error("{folder} holds another scenario: {differences}")]
    Different {
        /// The folder.
        folder: PathBuf,
        /// The differences from the first folder, as text.
        differences: String,
    },
    /// Loads with the same key have different phases.
    #[error("load {key} of {folder} has other phases than the same load of another folder")]
    OtherPhases {
        /// The load's key.
        key: String,
        /// The folder.
        folder: PathBuf,
    },
    /// A load has figures in one folder and could not be run in another.
    #[error("load {key} was not run in one of the folders: {reason}")]
    NotRun {
        /// The load's key.
        key: String,
        /// Why it was not run.
        reason: String,
    },
}

/// Results folders that can be merged: all hold loads, or all hold comparisons.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    folders: &'a [RunFolder],
    are_loads: bool,
}

impl<'a> Sources<'a> {
    /// Checks that the folders differ and are of one kind.
    ///
    /// # Errors
    /// [`MergeError`] where they cannot be put together.
    pub fn of(folders: &'a [RunFolder]) -> Result<Self, MergeError> {
        if folders.len() < 2 {
            return Err(MergeError::TooFew);
        }
        let mut paths = BTreeSet::new();
        for source in folders {
            let path = source.path();
            let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            if !paths.insert(real) {
                return Err(MergeError::Twice(path.to_owned()));
            }
        }
        let (loads, comparisons) = folders.iter().try_fold((Vec::new(), Vec::new()), split)?;
        if let (Some(loads), Some(comparison)) = (loads.first(), comparisons.first()) {
            return Err(MergeError::Mixed {
                loads: loads.path().to_owned(),
                comparison: comparison.path().to_owned(),
            });
        }
        Ok(Self {
            folders,
            are_loads: comparisons.is_empty(),
        })
    }

    /// Merges the folders into a new one; `command` is the command of the merge, `ended` the time of its end.
    ///
    /// # Errors
    /// [`MergeError`] where they cannot be put together.
    pub fn merge(
        self,
        into: &RunFolder,
        command: String,
        scenarios: &dyn Scenarios,
        ended: SystemTime,
    ) -> Result<Merged, MergeError> {
        let order = Order {
            sources: self.folders,
            into,
            command,
            scenarios,
            ended,
        };
        if self.are_loads {
            return Ok(Merged::Loads(loads::merge(order)?));
        }
        let merged = comparisons::merge(order)?;
        Ok(Merged::Comparison(Box::new(merged)))
    }
}

type Kinds<'a> = (Vec<&'a RunFolder>, Vec<&'a RunFolder>);

fn split<'a>(
    (mut loads, mut comparisons): Kinds<'a>,
    source: &'a RunFolder,
) -> Result<Kinds<'a>, MergeError> {
    let summary: Value = source.read_json("summary.json")?;
    let is_load = summary.get("kind").and_then(Value::as_str) == Some(crate::store::KIND);
    if is_load { &mut loads } else { &mut comparisons }.push(source);
    Ok((loads, comparisons))
}

/// Copies the scenarios, and the machine of each folder: `env.json` of the first folder, `env-2.json` of the second,
/// and so on.
fn copy_facts(sources: &[RunFolder], into: &RunFolder) -> Result<(), ResultsError> {
    for (number, source) in (1..).zip(sources) {
        let machine = source.read_text("env.json")?;
        let name = if number == 1 {
            "env.json".to_owned()
        } else {
            format!("env-{number}.json")
        };
        into.write(&name, machine.as_bytes())?;
    }
    let scenarios = scenario_texts(sources)?.join(SEPARATOR);
    into.write("scenario.resolved.yaml", scenarios.as_bytes())
}

/// The separator of two scenarios in one file.
const SEPARATOR: &str = "---\n";

/// The scenarios of all folders, without duplicates.
///
/// # Errors
/// A folder has none.
pub fn scenario_texts(sources: &[RunFolder]) -> Result<Vec<String>, ResultsError> {
    let mut texts: Vec<String> = Vec::new();
    for source in sources {
        let all = source.read_text("scenario.resolved.yaml")?;
        for text in all.split(&format!("\n{SEPARATOR}")) {
            let text = format!("{}\n", text.trim_end_matches('\n'));
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
    }
    Ok(texts)
}

/// The position of each cell or load in the scenario, by key; empty if the scenario cannot be read.
fn places(source: &RunFolder, scenarios: &dyn Scenarios) -> Result<BTreeMap<String, usize>, ResultsError> {
    let texts = scenario_texts(std::slice::from_ref(source))?;
    let keys = texts.iter().flat_map(|text| scenarios.keys(text));
    Ok(keys.zip(0..).collect())
}

/// Checks that a folder has the same scenario as the first one.
fn check_same(first: &Value, other: &Value, folder: &RunFolder) -> Result<(), MergeError> {
    let differences = differences_of(first.clone(), other.clone());
    if differences.is_empty() {
        return Ok(());
    }
    Err(MergeError::Different {
        folder: folder.path().to_owned(),
        differences: differences.join("; "),
    })
}
