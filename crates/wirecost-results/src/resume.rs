//! What an earlier run has measured, and how its scenario differs.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::{Map, Value};

use super::cells;
use super::folder::{ResultsError, RunFolder};
use super::journal::{self, Entry};
use crate::link_text::LinkText;

/// The results of an earlier run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Earlier {
    /// Keys of the cells, or loads, that are finished.
    pub finished: BTreeSet<String>,
}

/// Why a run cannot resume an earlier one.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// The folder holds no run, or cannot be read.
    #[error("nothing to resume: {0}")]
    Nothing(#[source] ResultsError),
    /// The earlier run had another scenario.
    #[error("{folder} holds another run: {differences}")]
    Changed {
        /// The folder.
        folder: PathBuf,
        /// The differences as text.
        differences: String,
        /// The command of the run that last wrote to the folder.
        command: Option<String>,
    },
    /// The folder cannot be written to.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

impl Earlier {
    /// What an earlier run of `scenario`, which is YAML, has measured. With `may_differ` the earlier run may have had another
    /// scenario: its cells are taken where their keys are the same.
    ///
    /// # Errors
    /// There is no earlier run, or it had another scenario.
    pub fn open(folder: &RunFolder, scenario: &str, may_differ: bool) -> Result<Self, ResumeError> {
        let text = folder
            .read_text("scenario.resolved.yaml")
            .map_err(ResumeError::Nothing)?;
        let entries = journal::read(folder).map_err(ResumeError::Nothing)?;
        let mut differences = scenario_differences(&text, scenario);
        let last = entries.iter().rev().find_map(Entry::opened_by);
        // Cells of two versions in one table would differ for a reason that nobody sees.
        differences.extend(last.and_then(|(version, _)| version_difference(version)));
        if !differences.is_empty() && !may_differ {
            return Err(ResumeError::Changed {
                folder: folder.path().to_owned(),
                differences: in_words(&differences),
                command: last.map(|(_, command)| command.to_owned()),
            });
        }
        let keys = entries.iter().filter_map(Entry::finished_key);
        // The journal may have a line whose file was deleted, or that is cut: such a cell runs again.
        let is_there = |key: &&str| folder.read_json::<Value>(&cells::name(key)).is_ok();
        Ok(Self {
            finished: keys.filter(is_there).map(str::to_owned).collect(),
        })
    }
}

/// The first differences in one sentence.
fn in_words(differences: &[String]) -> String {
    const MOST: usize = 5;
    let mut text = differences
        .iter()
        .take(MOST)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join("; ");
    if let Some(more) = differences.len().checked_sub(MOST).filter(|more| *more > 0) {
        text += &format!("; and {more} more");
    }
    text
}

fn version_difference(version: &str) -> Option<String> {
    const NOW: &str = env!("CARGO_PKG_VERSION");
    (version != NOW).then(|| format!("version was {version}, is {NOW}"))
}

/// How two scenarios, which are YAML, differ field by field.
pub fn scenario_differences(earlier: &str, now: &str) -> Vec<String> {
    let read = serde_saphyr::from_str::<Value>;
    match (read(earlier), read(now)) {
        (Ok(earlier), Ok(now)) => differences_of(earlier, now),
        (Err(error), _) | (_, Err(error)) => vec![format!("scenario.resolved.yaml cannot be read: {error}")],
    }
}

/// How one scenario differs from another, field by field.
pub(super) fn differences_of(earlier: Value, now: Value) -> Vec<String> {
    let (earlier, now) = (fields(earlier), fields(now));
    let names: BTreeSet<&String> = earlier.keys().chain(now.keys()).collect();
    names
        .into_iter()
        .filter_map(|name| difference(name, earlier.get(name), now.get(name)))
        .collect()
}

/// The fields of a scenario and of its loads. A link is one text; a parameter of an NB-IoT network is a field.
fn fields(scenario: Value) -> Map<String, Value> {
    let mut fields = match scenario {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    if let Some(links) = fields.get_mut("links").and_then(Value::as_array_mut) {
        // As one text a difference in a link is one line, and not one for each of its keys.
        links.iter_mut().for_each(say_link);
    }
    for key in ["nbiot", "vary"] {
        if let Some(value) = fields.remove(key) {
            spread(key, value, &mut fields);
        }
    }
    if let Some(Value::Array(loads)) = fields.remove("loads") {
        let is_alone = loads.len() == 1;
        for (number, load) in (1..).zip(loads) {
            let Value::Object(own) = load else { continue };
            let named = own.into_iter().map(|(name, value)| match is_alone {
                true => (name, value),
                false => (format!("load {number}: {name}"), value),
            });
            fields.extend(named);
        }
    }
    fields
}

/// Adds each value of nested tables under its path.
fn spread(path: &str, value: Value, fields: &mut Map<String, Value>) {
    match value {
        Value::Object(table) => {
            for (name, value) in table {
                spread(&format!("{path}.{name}"), value, fields);
            }
        }
        value => drop(fields.insert(path.to_owned(), value)),
    }
}

fn say_link(link: &mut Value) {
    if let Ok(resolved) = serde_json::from_value::<LinkText>(link.take()) {
        *link = Value::String(resolved.to_string());
    }
}

/// How a field differs, as text. For a list: the added and the removed items.
fn difference(name: &str, was: Option<&Value>, is: Option<&Value>) -> Option<String> {
    if was == is {
        return None;
    }
    if let (Some(Value::Array(was)), Some(Value::Array(is))) = (was, is) {
        let beyond = |list: &[Value], other: &[Value]| {
            let items = list.iter().filter(|item| !other.contains(item));
            items.map(words).collect::<Vec<_>>().join(", ")
        };
        return Some(match (beyond(is, was), beyond(was, is)) {
            // The order decides which cell has which number, so that it is a difference too.
            (come, gone) if gone.is_empty() && come.is_empty() => format!("{name} has another order"),
            (come, gone) if gone.is_empty() => format!("{name} now has {come}"),
            (come, gone) if come.is_empty() => format!("{name} no longer has {gone}"),
            (come, gone) => format!("{name} now has {come} and no longer {gone}"),
        });
    }
    let text = |value: Option<&Value>| value.map_or("not given".into(), words);
    Some(format!("{name} was {}, is {}", text(was), text(is)))
}

fn words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_differ_field_by_field() {
        let one = |clients: u32| serde_json::json!({"loads": [{"stack": "tcp", "clients": clients}]});
        let difference = differences_of(one(4), one(5));
        assert_eq!(difference, ["clients was 4, is 5"]);
        let two = |clients: u32| {
            let loads = [10, clients].map(|clients| serde_json::json!({"clients": clients}));
            serde_json::json!({"loads": loads})
        };
        assert_eq!(differences_of(two(1), two(2)), ["load 2: clients was 1, is 2"]);
        let many: Vec<String> = (0..7).map(|number| number.to_string()).collect();
        assert_eq!(in_words(&many), "0; 1; 2; 3; 4; and 2 more");
        assert_eq!(in_words(&many[..5]), "0; 1; 2; 3; 4");
    }
}
