//! Merges results folders, and judges the thresholds of their scenarios on the merged figures.

use std::time::SystemTime;

use serde_json::Value;
use wirecost_results::folder::{ResultsError, RunFolder};
use wirecost_results::load::LoadSummary;
use wirecost_results::merge::{MergeError, Merged, Scenarios, Sources, scenario_texts};
use wirecost_results::summary::Summary;
use wirecost_results::threshold::Threshold;

use crate::load::ScenarioInputs;
use crate::{Edits, Scenario, ScenarioError, Work, identity, plan};

/// Merged folders.
#[derive(Clone, Debug, PartialEq)]
pub struct Whole {
    /// The merged results.
    pub merged: Merged,
    /// Why some thresholds are not judged; `None` if all are.
    pub unjudged: Option<String>,
}

/// Merges results folders into a new one; `command` is the command of the merge, `ended` the time of its end.
///
/// # Errors
/// [`MergeError`] where they cannot be put together.
pub fn merge(
    sources: &[RunFolder],
    into: &RunFolder,
    command: String,
    ended: SystemTime,
) -> Result<Whole, MergeError> {
    let checked = Sources::from_folders(sources)?;
    let demands = Demands::from_sources(sources)?;
    let merged = checked.merge(into, command, &demands, ended)?;
    Ok(Whole {
        merged,
        unjudged: demands.unread.map(|error| error.to_string()),
    })
}

/// The scenarios of all folders, without duplicates.
struct Demands {
    scenarios: Vec<Scenario>,
    unread: Option<ScenarioError>,
}

impl Demands {
    /// Reads the scenarios of all folders.
    ///
    /// # Errors
    /// A folder has none.
    fn from_sources(sources: &[RunFolder]) -> Result<Self, ResultsError> {
        let (mut scenarios, mut unread) = (Vec::new(), None);
        for text in scenario_texts(sources)? {
            match read(&text) {
                Ok(scenario) => scenarios.push(scenario),
                Err(error) if demands_anything(&text) => unread = Some(error),
                Err(_) => {}
            }
        }
        Ok(Self { scenarios, unread })
    }
}

impl Scenarios for Demands {
    fn keys(&self, scenario: &str) -> Vec<String> {
        match read(scenario).map(|scenario| scenario.work) {
            Ok(Work::Comparison(options)) => plan::labels(&options).into_iter().map(|(key, _)| key).collect(),
            Ok(Work::Loads(loads)) => identity::runs(&loads).into_iter().map(|run| run.key).collect(),
            Ok(Work::Program(options)) => vec![options.key()],
            Ok(Work::Nbiot(_)) | Err(_) => Vec::new(),
        }
    }

    fn judge_comparison(&self, summary: &Summary, folder: &RunFolder) -> Vec<Threshold> {
        let of_one = |scenario: &Scenario| match &scenario.work {
            Work::Comparison(options) => scenario.thresholds.of_comparison(options, summary, folder),
            Work::Loads(_) | Work::Nbiot(_) | Work::Program(_) => Vec::new(),
        };
        each_once(self.scenarios.iter().flat_map(of_one))
    }

    /// The thresholds of a scenario apply to its own loads.
    fn judge_loads(&self, summary: &LoadSummary) -> Vec<Threshold> {
        let of_one = |scenario: &Scenario| match &scenario.work {
            Work::Loads(loads) => scenario.thresholds.of_loads(loads, summary),
            Work::Comparison(_) | Work::Nbiot(_) | Work::Program(_) => Vec::new(),
        };
        each_once(self.scenarios.iter().flat_map(of_one))
    }
}

/// A scenario of a results folder.
///
/// # Errors
/// It is not one of this version.
pub fn read(text: &str) -> Result<Scenario, ScenarioError> {
    // A resolved scenario includes its files. It names the variable of its password, which no figure depends on.
    let inputs = ScenarioInputs {
        folder: None,
        variable: &|_| Some("-".into()),
    };
    Scenario::read(text, Edits::default(), inputs)
}

/// Whether a scenario has thresholds.
fn demands_anything(text: &str) -> bool {
    let table: Option<Value> = serde_saphyr::from_str(text).ok();
    table.is_none_or(|table| table.get("thresholds").is_some_and(|demands| !demands.is_null()))
}

/// Removes duplicates: scenarios may have the same threshold on the same load.
fn each_once(thresholds: impl Iterator<Item = Threshold>) -> Vec<Threshold> {
    let mut once: Vec<Threshold> = Vec::new();
    for threshold in thresholds {
        if !once.contains(&threshold) {
            once.push(threshold);
        }
    }
    once
}
