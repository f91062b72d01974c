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
    fn judge_comparison(&self, summary: &Summary, folder: &RunFolder) -> Vec<Threshold>;

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
    /// Folders hold results of different kinds.
    #[error("{one} holds {} and {other} {}: they cannot be put together", one_kind.words(), other_kind.words())]
    Mixed {
        /// A folder.
        one: PathBuf,
        /// What it holds.
        one_kind: Kind,
        /// A folder of another kind.
        other: PathBuf,
        /// What that holds.
        other_kind: Kind,
    },
    /// A scenario of reports in NB-IoT cells cannot be read or run.
    #[error("the scenario of {folder} cannot be run: {why}")]
    Scenario {
        /// The folder.
        folder: PathBuf,
        /// Why.
        why: String,
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

/// What a results folder holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A comparison.
    Comparison,
    /// Loads.
    Loads,
    /// Reports in NB-IoT cells.
    Nbiot,
}

impl Kind {
    /// The kind of a folder, by its summary.
    ///
    /// # Errors
    /// The summary cannot be read.
    pub fn from_folder(folder: &RunFolder) -> Result<Self, ResultsError> {
        let summary: Value = folder.read_json("summary.json")?;
        Ok(match summary.get("kind").and_then(Value::as_str) {
            Some(crate::store::KIND) => Self::Loads,
            Some(crate::nbiot::KIND) => Self::Nbiot,
            _ => Self::Comparison,
        })
    }

    /// Its name in a sentence.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Comparison => "a comparison",
            Self::Loads => "loads",
            Self::Nbiot => "reports in NB-IoT cells",
        }
    }
}

/// Results folders that can be merged: they differ and are of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    folders: &'a [RunFolder],
    kind: Kind,
}

impl<'a> Sources<'a> {
    /// Checks that the folders differ and are of one kind.
    ///
    /// # Errors
    /// [`MergeError`] where they cannot be put together.
    pub fn from_folders(folders: &'a [RunFolder]) -> Result<Self, MergeError> {
        if folders.len() < 2 {
            return Err(MergeError::TooFew);
        }
        let mut paths = BTreeSet::new();
        for source in folders {
            let path = source.path();
            // Two names of one folder, as by a symbolic link, would count everything twice.
            let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            if !paths.insert(real) {
                return Err(MergeError::Twice(path.to_owned()));
            }
        }
        let [first, others @ ..] = folders else {
            return Err(MergeError::TooFew);
        };
        let kind = Kind::from_folder(first)?;
        for other in others {
            let other_kind = Kind::from_folder(other)?;
            if other_kind != kind {
                return Err(MergeError::Mixed {
                    one: other.path().to_owned(),
                    one_kind: other_kind,
                    other: first.path().to_owned(),
                    other_kind: kind,
                });
            }
        }
        Ok(Self { folders, kind })
    }

    /// What the folders hold.
    pub const fn kind(&self) -> Kind {
        self.kind
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
        match self.kind {
            Kind::Loads => Ok(Merged::Loads(loads::merge(order)?)),
            // The experiment itself merges reports in NB-IoT cells: their figures follow from those of the runs alone.
            Kind::Comparison | Kind::Nbiot => {
                let merged = comparisons::merge(order)?;
                Ok(Merged::Comparison(Box::new(merged)))
            }
        }
    }
}

/// Copies the scenarios, and the machine of each folder: `env.json` of the first folder, `env-2.json` of the second,
/// and so on.
///
/// # Errors
/// A file cannot be read or written.
pub fn copy_facts(sources: &[RunFolder], into: &RunFolder) -> Result<(), ResultsError> {
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
///
/// # Errors
/// [`MergeError::Different`] where it has not.
pub fn check_same(first: &Value, other: &Value, folder: &RunFolder) -> Result<(), MergeError> {
    let differences = differences_of(first.clone(), other.clone());
    if differences.is_empty() {
        return Ok(());
    }
    Err(MergeError::Different {
        folder: folder.path().to_owned(),
        differences: differences.join("; "),
    })
}
