//! Studies: folders of claims and scenarios, compiled in or on disk.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use wirecost_files::Input;
use wirecost_scenario::ScenarioError;
use wirecost_scenario::node::{Node, Value};

use crate::claims::{Claims, NeededRun};

/// A file with its text.
type File = (&'static str, &'static str);

/// Every study that is compiled in: its name and its files.
static STUDIES: &[(&str, &[File])] = include!(concat!(env!("OUT_DIR"), "/studies.rs"));

/// The file of the claims.
pub const CLAIMS: &str = "claims.yaml";
/// The file with the changes of a quick run.
const QUICK: &str = "quick.yaml";

/// A study: its claims, and the texts of its scenarios.
#[derive(Clone, Debug)]
pub struct Study {
    /// Its claims.
    pub claims: Claims,
    files: BTreeMap<String, String>,
    quick: BTreeMap<String, Vec<String>>,
}

/// Why a study cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// No study has this name.
    #[error("there is no study {0:?}")]
    Unknown(String),
    /// A file of it cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is wrong.
    #[error(transparent)]
    Wrong(#[from] ScenarioError),
}

/// The names of the studies that are compiled in.
pub fn names() -> Vec<&'static str> {
    STUDIES.iter().map(|(name, _)| *name).collect()
}

/// The files of a study that is compiled in.
///
/// # Errors
/// There is none of this name.
pub fn files(name: &str) -> Result<&'static [File], StudyError> {
    let found = STUDIES.iter().find(|(known, _)| *known == name);
    found
        .map(|(_, files)| *files)
        .ok_or_else(|| StudyError::Unknown(name.to_owned()))
}

impl Study {
    /// A study that is compiled in.
    ///
    /// # Errors
    /// There is none of this name, or a file of it is wrong.
    pub fn named(name: &str) -> Result<Self, StudyError> {
        let files = files(name)?.iter();
        Self::new(
            files
                .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
                .collect(),
        )
    }

    /// A study in a folder.
    ///
    /// # Errors
    /// The folder cannot be read, or a file of it is wrong.
    pub fn from_folder(folder: &Path) -> Result<Self, StudyError> {
        let unreadable = |path: &Path| {
            let path = path.to_owned();
            move |source| StudyError::Read { path, source }
        };
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(folder).map_err(unreadable(folder))?.flatten() {
            let path = entry.path();
            if path.extension().is_none_or(|extension| extension != "yaml") {
                continue;
            }
            let text = Input::Claims.text(&path).map_err(io::Error::from);
            let text = text.map_err(unreadable(&path))?;
            files.insert(entry.file_name().to_string_lossy().into_owned(), text);
        }
        Self::new(files)
    }

    /// The claims of a file of any name, with the scenarios beside it.
    ///
    /// # Errors
    /// The file or a scenario cannot be read, or the file is wrong.
    pub fn from_file(file: &Path) -> Result<Self, StudyError> {
        let read = |path: &Path| {
            Input::Claims.text(path).map_err(|fault| StudyError::Read {
                path: path.to_owned(),
                source: fault.into(),
            })
        };
        let claims = Claims::read(&read(file)?);
        let claims = claims.map_err(|error| error.in_file(&file.display().to_string()))?;
        let folder = file.parent().unwrap_or(Path::new(""));
        let mut files = BTreeMap::new();
        for run in &claims.runs {
            files.insert(run.scenario.clone(), read(&folder.join(&run.scenario))?);
        }
        Ok(Self {
            claims,
            files,
            quick: BTreeMap::new(),
        })
    }

    fn new(files: BTreeMap<String, String>) -> Result<Self, StudyError> {
        let text = |name: &str| files.get(name).map(String::as_str);
        let missing = || ScenarioError::new(&wirecost_scenario::Place::File, "the file is missing");
        let claims = text(CLAIMS).ok_or_else(missing).and_then(Claims::read);
        let claims = claims.map_err(|error| error.in_file(CLAIMS))?;
        if let Some(run) = claims.runs.iter().find(|run| !files.contains_key(&run.scenario)) {
            let message = format!("runs.{}: {} is not beside the claims", run.name, run.scenario);
            return Err(ScenarioError::new(&wirecost_scenario::Place::File, message)
                .in_file(CLAIMS)
                .into());
        }
        if let Some([one, other]) = claims.in_one_folder() {
            let message = format!(
                "{} and {} would have their results in one folder, {}",
                one.name, other.name, one.folder
            );
            return Err(ScenarioError::new(&wirecost_scenario::Place::File, message)
                .with_hint("give one of the suspects another name")
                .in_file(CLAIMS)
                .into());
        }
        let quick = match text(QUICK) {
            Some(text) => quick(text).map_err(|error| error.in_file(QUICK))?,
            None => BTreeMap::new(),
        };
        Ok(Self { claims, files, quick })
    }

    /// How long the runs of the claims took on the machine where the study was written; `None` if it is not said of one.
    pub fn takes(&self, is_quick: bool) -> Option<Duration> {
        let needed = self.claims.needed();
        let times = needed.iter().map(|needed| {
            let run = self.claims.runs.iter().find(|run| run.name == needed.base)?;
            if is_quick { run.takes_quick } else { run.takes }
        });
        times.sum()
    }

    /// The text of a run's scenario, and the changes to it: those of a quick run, then the run's own.
    pub fn scenario(&self, run: &NeededRun, is_quick: bool) -> Option<(&str, Vec<String>)> {
        let known = self.claims.runs.iter().find(|known| known.name == run.base)?;
        let text = self.files.get(&known.scenario)?;
        let quick = self.quick.get(&run.base).filter(|_| is_quick);
        let set = quick.into_iter().flatten().chain(&run.set);
        Some((text, set.cloned().collect()))
    }
}

/// `RUN: [KEY=VALUE, ...]`.
fn quick(text: &str) -> Result<BTreeMap<String, Vec<String>>, ScenarioError> {
    let root = Node::parse(text)?;
    let expected = |node: &Node| {
        let message = "a table of runs with lists of changes is expected";
        ScenarioError::new(&node.place, message).with_hint("for example publish: [count=10]")
    };
    let mut quick = BTreeMap::new();
    for (key, node) in root.entries().ok_or_else(|| expected(&root))? {
        let Value::List(changes) = &node.value else {
            return Err(expected(node));
        };
        quick.insert(
            key.name.clone(),
            changes.iter().filter_map(Node::scalar).collect(),
        );
    }
    Ok(quick)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_study_that_is_compiled_in_can_be_read() {
        for name in names() {
            let study = Study::named(name).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!study.claims.claims.is_empty(), "{name}");
            for claim in &study.claims.claims {
                for run in claim.runs() {
                    assert!(study.scenario(&run, true).is_some(), "{name} {}", run.name);
                }
            }
        }
    }

    #[test]
    fn the_quick_runs_of_all_studies_take_at_most_twenty_minutes() {
        let quick = |name: &&'static str| {
            let mut study = Study::named(name).expect(name);
            study.claims.leave_suspects();
            assert!(
                study.claims.needed().iter().all(|run| run.set.is_empty()),
                "{name}"
            );
            study.takes(true).expect(name)
        };
        let all: Duration = names().iter().map(quick).sum();
        assert!(all <= Duration::from_secs(20 * 60), "{all:?}");
    }

    #[test]
    fn the_five_studies_have_45_claims_and_35_rows_beside_them() {
        let studies: Vec<Study> = names()
            .iter()
            .map(|name| Study::named(name).expect(name))
            .collect();
        let mut claims: Vec<&str> = studies.iter().flat_map(|study| study.claims.names()).collect();
        let mut rows: Vec<&str> = studies
            .iter()
            .flat_map(|study| study.claims.recomputed())
            .collect();
        let numbered = |letter: char, last: u32| (1..=last).map(move |number| format!("{letter}{number}"));
        let mut expected: Vec<String> = [('T', 6), ('H', 7), ('N', 9), ('L', 15), ('F', 7)]
            .into_iter()
            .flat_map(|(letter, last)| numbered(letter, last))
            .collect();
        expected.push("T8".to_owned());
        // Rows that only repeated a claim's number, or held against it what the text does not say, are gone.
        let gone = ["R2", "R3", "R4", "R11", "R21", "R26"];
        let mut expected_rows: Vec<String> = numbered('R', 41)
            .filter(|row| !gone.contains(&row.as_str()))
            .collect();
        claims.sort_unstable();
        rows.sort_unstable();
        expected.sort_unstable();
        expected_rows.sort_unstable();
        assert!(claims.iter().eq(expected.iter()), "{claims:?}");
        assert!(rows.iter().eq(expected_rows.iter()), "{rows:?}");
        assert_eq!((claims.len(), rows.len()), (45, 35), "{claims:?} {rows:?}");
    }

    #[test]
    fn every_published_number_of_a_table_is_a_figure() {
        let figures = |prefix: &str| -> usize {
            let studies = names().into_iter().map(|name| Study::named(name).expect(name));
            let claims = studies.flat_map(|study| study.claims.claims);
            let meant = claims.filter(|claim| claim.id.starts_with(prefix));
            meant
                .map(|claim| {
                    claim
                        .points
                        .iter()
                        .filter(|point| point.published.is_some())
                        .count()
                })
                .sum()
        };
        for (prefix, expected) in [
            // Publish and connect latency, throughput, CPU and energy.
            ("L3-", 36),
            ("L4-", 28),
            ("L7-", 5),
            ("L9-", 12),
            // Bytes and packets of a session in six set-ups, with two ratios; a thousand messages; the battery.
            ("H2-", 20),
            ("H3", 3),
            ("H4", 5),
            ("H5-", 3),
            ("H6-", 12),
            // The delays of push and of polling, with their ratio.
            ("H1", 7),
            ("R24", 1),
            ("R28", 9),
            ("F", 11),
        ] {
            // The same number may stand against several servers.
            assert!(figures(prefix) >= expected, "{prefix}: {}", figures(prefix));
        }
    }

    #[test]
    fn the_documentation_has_the_counts_of_each_study() {
        let page = include_str!("../../../docs/studies.md");
        for name in names() {
            let claims = Study::named(name).expect(name).claims;
            let row = format!(
                "| `{name}` | {} | {} | {} | {} |",
                claims.names().len(),
                claims.numbers(),
                claims.recomputed().len(),
                claims.further().len()
            );
            assert!(
                page.contains(&row),
                "docs/studies.md has no row that begins with {row}"
            );
        }
    }

    #[test]
    fn a_study_that_is_not_there_is_named() {
        let error = Study::named("weather").expect_err("no such study");
        assert_eq!(error.to_string(), "there is no study \"weather\"");
    }
}
