//! Figures with their sources, as device and tariff files write them: `{value: 283mA, source: datasheet, spread: 10%}`.

use std::cell::RefCell;
use std::collections::BTreeMap;

use wirecost_energy::device::Provenance;
use wirecost_proto::Probability;

use crate::error::{Place, ScenarioError};
use crate::key::{Holds, PROBABILITY, keys, names};
use crate::node::{Node, Value};
use crate::table::{Read, Table, meant, parsed, text};

/// What the key `sources` of a file holds.
pub(crate) const SOURCES: Holds = Holds::ByName("", &Holds::Pattern("(19|20)[0-9]{2}"));

keys! {
    /// A figure that does not stand alone. What its value is depends on its key.
    pub FIGURE {
        must value Holds::Scalar => "";
        may source Holds::Text => "A name of sources, or assumed, which a figure without one is.";
        may spread Holds::Of(&PROBABILITY)
            => "How far the true value may be from it. Without it, 10% for a figure with a source and 30% for an assumed one.";
    }
}

/// The source of a figure that nobody measured.
pub const ASSUMED: &str = "assumed";

/// The spread of a figure whose file names none: of one with a source, and of an assumed one.
const SPREADS: [f64; 2] = [0.1, 0.3];

/// The sources of a file, and where its figures come from.
#[derive(Debug, Default)]
pub struct Figures {
    sources: BTreeMap<String, String>,
    provenance: RefCell<Vec<Provenance>>,
}

/// A value of a device, tariff or battery file, and how sure it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure<T> {
    /// The value in the unit of its type, whatever unit the file has.
    pub value: T,
    /// How far the true value may be from it, as a part of it.
    pub spread: f64,
    /// Whether it has a source.
    pub is_sourced: bool,
}

impl Figures {
    /// Reads the table `sources` of a file.
    ///
    /// # Errors
    /// It is not a table of texts, or a source has no year.
    pub fn new(file: &Node) -> Result<Self, ScenarioError> {
        let mut sources = BTreeMap::new();
        let Some(node) = file.get("sources") else {
            return Ok(Self::default());
        };
        let entries = node.entries().ok_or_else(|| {
            ScenarioError::new(&node.place, "sources must be a table of names and texts")
                .with_hint("write sources: {datasheet: \"Maker, title, table, 2024\"}")
        })?;
        for (key, node) in entries {
            let said = Table::at(node_of(file, "sources"), "sources.").required(&key.name, text)?;
            // A data sheet changes from edition to edition: without a date nobody can look the figure up again.
            if !has_year(&said) {
                let message = format!("sources.{}: a source needs a date", key.name);
                return Err(ScenarioError::new(&node.place, message)
                    .with_hint("end the text with the year of the source, e.g. 2024"));
            }
            sources.insert(key.name.clone(), said);
        }
        Ok(Self {
            sources,
            ..Self::default()
        })
    }

    /// The figure of a key, if there is one: `{value: 3uA, source: sheet}`, or `3uA`, which is assumed. `prefix` is before its name
    /// in errors.
    ///
    /// # Errors
    /// It has no value, its source is not listed, or the value cannot be read.
    pub fn one<T>(
        &self,
        table: &Table<'_>,
        (prefix, key): (&str, &str),
        read: Read<T>,
    ) -> Result<Option<Figure<T>>, ScenarioError> {
        let Some(node) = table.get(key) else {
            return Ok(None);
        };
        let name = format!("{prefix}{key}.");
        let is_alone = matches!(node.value, Value::Number(_) | Value::Text(_) | Value::Bool(_));
        let (value, source, spread) = if is_alone {
            (table.required(key, read)?, None, None)
        } else {
            let inner = Table::new(node, &name, &names(FIGURE))?;
            let spread = inner.one("spread", parsed::<Probability>)?;
            (inner.required("value", read)?, self.source(&inner)?, spread)
        };
        let is_sourced = source.is_some();
        // An assumed figure is less sure than one with a source, also where nobody says by how much.
        let spread = spread.map_or(SPREADS[usize::from(!is_sourced)], Probability::value);
        self.provenance.borrow_mut().push(Provenance {
            key: format!("{prefix}{key}"),
            line: line(&node.place),
            source,
        });
        Ok(Some(Figure {
            value,
            spread,
            is_sourced,
        }))
    }

    /// The figure of a key that must be there.
    ///
    /// # Errors
    /// As [`Figures::one`], or it is not there.
    pub fn required<T>(
        &self,
        table: &Table<'_>,
        (prefix, key): (&str, &str),
        read: Read<T>,
    ) -> Result<Figure<T>, ScenarioError> {
        let missing = || {
            table.error(key, "the figure is missing").with_hint(format!(
                "write {key}: VALUE, or {key}: {{value: VALUE, source: NAME}}"
            ))
        };
        self.one(table, (prefix, key), read)?.ok_or_else(missing)
    }

    fn source(&self, inner: &Table<'_>) -> Result<Option<String>, ScenarioError> {
        let Some(name) = inner.one("source", text)?.filter(|name| name != ASSUMED) else {
            return Ok(None);
        };
        self.sources.get(&name).cloned().map(Some).ok_or_else(|| {
            let known: Vec<&str> = self.sources.keys().map(String::as_str).collect();
            inner
                .error("source", format!("{name:?} is not among the sources of the file"))
                .with_hint(format!("the sources are {}, and {ASSUMED}", known.join(", ")))
        })
    }

    /// The text of a source of the file.
    pub fn text(&self, source: &str) -> Option<&str> {
        self.sources.get(source).map(String::as_str)
    }

    /// Where the figures come from that were read so far.
    pub fn into_provenance(self) -> Vec<Provenance> {
        self.provenance.into_inner()
    }
}

/// Checks the version of a file and its keys.
///
/// # Errors
/// It is not a table, has an unknown key, or another version.
pub fn versioned<'a>(
    file: &'a Node,
    what: &str,
    version_key: &'static str,
    keys: &[&'static str],
) -> Result<Table<'a>, ScenarioError> {
    let Some(entries) = file.entries() else {
        let message = format!(
            "a {what} file must be a table of keys and values, this is {}",
            file.kind()
        );
        return Err(ScenarioError::new(&file.place, message).with_hint(format!(
            "begin the file with {version_key}: 1; its keys are {}",
            keys.join(", ")
        )));
    };
    // Before the version: a scenario given by mistake in place of a device file is told by its keys.
    let unknown = entries.iter().find(|(key, _)| !keys.contains(&key.name.as_str()));
    if let Some((key, _)) = unknown {
        let message = format!("unknown key {:?}", key.name);
        return Err(ScenarioError::new(&key.place, message).with_hint(meant(&key.name, keys)));
    }
    let table = Table::at(file, "");
    let version = table.required(version_key, text)?;
    // Read as text, so that a version like "2-draft" is refused by its own name and not as "no number".
    if version != "1" {
        let message = format!("this version reads version 1, not {version}");
        return Err(table.error(version_key, message));
    }
    Ok(table)
}

fn node_of<'a>(file: &'a Node, key: &str) -> &'a Node {
    file.get(key).unwrap_or(file)
}

/// Whether a text has four digits that are a year.
fn has_year(text: &str) -> bool {
    let words = text.split(|letter: char| !letter.is_ascii_digit());
    words
        .into_iter()
        .any(|word| word.len() == 4 && (word.starts_with("19") || word.starts_with("20")))
}

const fn line(place: &Place) -> u64 {
    match place {
        Place::Line(line) => *line,
        Place::Flag(_) | Place::File => 0,
    }
}
