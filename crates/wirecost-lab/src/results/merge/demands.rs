//! What the scenarios of merged folders demand, judged over what their runs have come to together.

use serde_json::Value;

use super::scenario_texts;
use crate::results::folder::{ResultsError, RunFolder};
use crate::results::load::{LoadSummary, Threshold};
use crate::results::summary::Summary;
use crate::scenario::load::Surroundings;
use crate::scenario::{Edits, Scenario, ScenarioError, Work};

/// The scenarios of all folders, each one once.
pub(super) struct Demands {
    scenarios: Vec<Scenario>,
    unread: Option<ScenarioError>,
}

impl Demands {
    /// Reads the scenarios of all folders.
    ///
    /// # Errors
    /// A folder has none.
    pub(super) fn of(sources: &[RunFolder]) -> Result<Self, ResultsError> {
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

    /// What has become of each demand of a comparison.
    pub(super) fn of_comparison(&self, summary: &Summary) -> Vec<Threshold> {
        let of_one = |scenario: &Scenario| match &scenario.work {
            Work::Comparison(options) => scenario.thresholds.of_comparison(options, summary),
            Work::Loads(_) => Vec::new(),
        };
        each_once(self.scenarios.iter().flat_map(of_one))
    }

    /// What has become of each demand of loads: each scenario's is about the loads that it asks for.
    pub(super) fn of_loads(&self, summary: &LoadSummary) -> Vec<Threshold> {
        let of_one = |scenario: &Scenario| match &scenario.work {
            Work::Loads(loads) => scenario.thresholds.of_loads(loads, summary),
            Work::Comparison(_) => Vec::new(),
        };
        each_once(self.scenarios.iter().flat_map(of_one))
    }

    /// Why some demands are not judged; `None` where all are.
    pub(super) fn unjudged(self) -> Option<String> {
        self.unread.map(|error| error.to_string())
    }
}

/// A scenario of a results folder.
///
/// # Errors
/// It is not one of this version.
pub(super) fn read(text: &str) -> Result<Scenario, ScenarioError> {
    // A resolved scenario holds its files and names the variable of its password, on which no figure depends.
    let surroundings = Surroundings {
        folder: None,
        variable: &|_| Some("-".into()),
    };
    Scenario::read(text, Edits::default(), surroundings)
}

/// Whether a scenario has thresholds, as far as it is a table at all.
fn demands_anything(text: &str) -> bool {
    let table: Option<Value> = serde_saphyr::from_str(text).ok();
    table.is_none_or(|table| table.get("thresholds").is_some_and(|demands| !demands.is_null()))
}

/// Scenarios that differ in what is not about a load may demand the same of it.
fn each_once(thresholds: impl Iterator<Item = Threshold>) -> Vec<Threshold> {
    let mut once: Vec<Threshold> = Vec::new();
    for threshold in thresholds {
        if !once.contains(&threshold) {
            once.push(threshold);
        }
    }
    once
}
