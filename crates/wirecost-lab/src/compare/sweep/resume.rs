//! What an earlier run has left in a results folder, and whether it was the same question.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;

use crate::results::journal::{self, Entry};
use crate::results::{CellFile, ResultsError, RunFolder};
use crate::scenario::ResolvedScenario;

/// What an earlier run has left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Earlier {
    /// Keys of the cells that need not be run again.
    pub finished: BTreeSet<String>,
}

/// Why a run cannot go on where an earlier one ended.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// The folder holds no run, or cannot be read.
    #[error("there is no run to go on with: {0}")]
    Nothing(#[source] ResultsError),
    /// The earlier run was asked something else.
    #[error("{folder} holds another run: {differences}")]
    Changed {
        /// The folder.
        folder: PathBuf,
        /// What differs, in words.
        differences: String,
    },
}

impl Earlier {
    /// What an earlier run of `scenario` has left in a folder. With `may_differ`, an earlier run of another scenario
    /// will do: its cells are taken where their keys are the same.
    ///
    /// # Errors
    /// There is no earlier run, or it was asked something else.
    pub fn open(
        folder: &RunFolder,
        scenario: &ResolvedScenario,
        may_differ: bool,
    ) -> Result<Self, ResumeError> {
        let text = folder
            .read_text("scenario.resolved.yaml")
            .map_err(ResumeError::Nothing)?;
        let entries = journal::read(folder).map_err(ResumeError::Nothing)?;
        let mut differences = scenario_differences(&text, scenario);
        differences.extend(version_difference(&entries));
        if !differences.is_empty() && !may_differ {
            return Err(ResumeError::Changed {
                folder: folder.path().to_owned(),
                differences: differences.join("; "),
            });
        }
        let keys = entries.iter().filter_map(Entry::finished_key);
        let is_there = |key: &&str| CellFile::read(folder, key).is_ok_and(|file| file.is_some());
        Ok(Self {
            finished: keys.filter(is_there).map(str::to_owned).collect(),
        })
    }
}

fn version_difference(entries: &[Entry]) -> Option<String> {
    let version = entries.iter().rev().find_map(|entry| match entry {
        Entry::Started { version, .. } | Entry::Resumed { version, .. } => Some(version),
        _ => None,
    })?;
    const NOW: &str = env!("CARGO_PKG_VERSION");
    (version != NOW).then(|| format!("version was {version}, is {NOW}"))
}

/// What was asked for then and now, field by field.
fn scenario_differences(earlier: &str, now: &ResolvedScenario) -> Vec<String> {
    let earlier: Value = match serde_saphyr::from_str::<ResolvedScenario>(earlier) {
        Ok(earlier) => serde_json::json!(earlier),
        Err(error) => return vec![format!("scenario.resolved.yaml cannot be read: {error}")],
    };
    let now = serde_json::json!(now);
    let (Some(earlier), Some(now)) = (earlier.as_object(), now.as_object()) else {
        return Vec::new();
    };
    let names: BTreeSet<&String> = earlier.keys().chain(now.keys()).collect();
    let words = |value: Option<&Value>| value.map_or("not given".to_owned(), Value::to_string);
    names
        .into_iter()
        .filter(|name| earlier.get(*name) != now.get(*name))
        .map(|name| {
            let (was, is) = (words(earlier.get(name)), words(now.get(name)));
            format!("{name} was {was}, is {is}")
        })
        .collect()
}
