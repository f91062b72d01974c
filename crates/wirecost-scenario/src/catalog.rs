//! The files with names that the program contains (links, devices, tariffs), and how a name is found among them.

use std::fmt;

use serde::Serialize;
use wirecost_stack::name::nearest_of;

use crate::error::ScenarioError;
use crate::figure::{ASSUMED, Figures};
use crate::node::{Node, Value};

/// Files of a folder of the repository, which the program contains: name and text of each. `files` has links to the folders, so that they
/// are in the crate when it is packed.
macro_rules! built_in {
    ($folder:literal, $($name:literal),+ $(,)?) => {
        [$((
            $name,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/files/", $folder, "/", $name, ".yaml")),
        )),+]
    };
}
pub(crate) use built_in;

/// The files of one kind that the program contains.
#[derive(Debug)]
pub struct Catalog {
    /// What one of them is: `link`.
    pub kind: &'static str,
    /// Their names and texts.
    pub files: &'static [(&'static str, &'static str)],
    /// Names that people look for and that are not there, in small letters without separators, and what is there instead.
    pub absent: &'static [(&'static str, &'static str)],
}

/// Why no file has a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct UnknownName {
    /// What was looked for.
    kind: &'static str,
    name: String,
    near: Vec<&'static str>,
    instead: Option<&'static str>,
    names: String,
}

impl Catalog {
    /// The file of a name. The case of letters does not matter, and neither do hyphens, where one name alone is the same without
    /// them: `NB-IoT`, `ltem`. `None` for a text with a slash or a full stop that is no name: it is a path.
    ///
    /// # Errors
    /// There is no such name.
    pub fn find(&self, name: &str) -> Result<Option<(&'static str, &'static str)>, UnknownName> {
        let lower = name.to_lowercase();
        let bare = bare(&lower);
        let exact = self.files.iter().find(|(known, _)| *known == lower);
        let mut alike = self.files.iter().filter(|(known, _)| self::bare(known) == bare);
        // Two names that differ in hyphens alone are both right: taking the first would be a guess.
        let only = alike.next().filter(|_| alike.next().is_none());
        if let Some(found) = exact {
            return Ok(Some(*found));
        }
        if name.contains(['/', '.']) {
            return Ok(None);
        }
        match only.filter(|_| !bare.is_empty()) {
            Some(found) => Ok(Some(*found)),
            None => Err(self.unknown(name, &bare)),
        }
    }

    fn unknown(&self, name: &str, bare: &str) -> UnknownName {
        let names = || self.files.iter().map(|(known, _)| *known);
        let absent = self.absent.iter().find(|(other, _)| *other == bare);
        let begins = |known: &&str| !bare.is_empty() && self::bare(known).starts_with(bare);
        let mut near: Vec<&str> = names().filter(begins).collect();
        if near.is_empty() {
            near.extend(nearest_of(&name.to_lowercase(), names()));
        }
        UnknownName {
            kind: self.kind,
            name: name.to_owned(),
            near,
            instead: absent.map(|(_, instead)| *instead),
            names: names().collect::<Vec<_>>().join(", "),
        }
    }
}

/// A name without its separators.
fn bare(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).collect()
}

impl UnknownName {
    /// The sentence without the names that there are.
    pub fn sentence(&self) -> String {
        let Self { kind, name, .. } = self;
        match self.instead {
            Some(instead) => format!("unknown {kind} {name:?}: {instead}"),
            None => format!("unknown {kind} {name:?}"),
        }
    }

    /// What is meant, or what there is.
    pub fn hint(&self) -> String {
        let Self { kind, names, .. } = self;
        match (self.instead, self.near.is_empty()) {
            (None, false) => format!("did you mean {}? The {kind}s are {names}", self.near.join(" or ")),
            _ => format!("the {kind}s are {names}; a name with a dot or a slash is a file"),
        }
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind, name, names, ..
        } = self;
        f.write_str(&self.sentence())?;
        if self.instead.is_none() && !self.near.is_empty() {
            write!(f, " (did you mean {}?)", self.near.join(" or "))?;
        }
        write!(f, "; the {kind}s are {names}, or write a file: ./{name}.yaml")
    }
}

/// A figure of a file, with its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourcedValue {
    /// Its key; the keys of the tables around it precede it: `up.rate`, `states.sleep`.
    pub key: String,
    /// The value with its unit.
    pub value: String,
    /// Where it is from; a text that begins with "assumed" if it has no source.
    pub source: Option<String>,
    /// The date of the source; `None` where its text has the year.
    pub date: Option<String>,
}

/// The figures of a device or tariff file that has been read without an error, in the order of the file.
///
/// # Errors
/// It is not YAML, or its sources are no table of texts.
pub fn figures(file: &str) -> Result<Vec<SourcedValue>, ScenarioError> {
    let root = Node::parse(file)?;
    let sources = Figures::new(&root)?;
    let mut values = Vec::new();
    for (key, node) in root.entries().unwrap_or_default() {
        let is_about_the_file = key.name.starts_with("wirecost_")
            || ["title", "sources", "examples"].contains(&key.name.as_str());
        if !is_about_the_file {
            add(&key.name, node, &sources, &mut values);
        }
    }
    Ok(values)
}

fn add(key: &str, node: &Node, sources: &Figures, values: &mut Vec<SourcedValue>) {
    let inner = |name: &str| format!("{key}.{name}");
    match (&node.value, node.get("value").and_then(Node::scalar)) {
        (Value::Table(_), Some(value)) => {
            let name = node.get("source").and_then(Node::scalar);
            // A figure without a source is one that nobody measured (docs/models/energy.md).
            let source = name.and_then(|name| sources.text(&name)).unwrap_or(ASSUMED);
            values.push(SourcedValue {
                key: key.to_owned(),
                value,
                source: Some(source.to_owned()),
                date: None,
            });
        }
        (Value::Table(entries), None) => {
            for (name, node) in entries {
                add(&inner(&name.name), node, sources, values);
            }
        }
        (Value::List(nodes), _) => {
            for (place, node) in nodes.iter().enumerate() {
                add(&inner(&(place + 1).to_string()), node, sources, values);
            }
        }
        _ => values.extend(node.scalar().map(|value| SourcedValue {
            key: key.to_owned(),
            value,
            source: None,
            date: None,
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: Catalog = Catalog {
        kind: "link",
        files: &[("lte", ""), ("lte-m", ""), ("nb-iot", ""), ("nbiot", "")],
        absent: &[("lora", "LoRaWAN is not modelled")],
    };

    fn found(name: &str) -> Result<Option<&'static str>, String> {
        let found = SOME.find(name).map_err(|error| error.to_string())?;
        Ok(found.map(|(name, _)| name))
    }

    #[test]
    fn neither_case_nor_separators_tell_names_apart() {
        for (given, name) in [
            ("LTE", "lte"),
            ("ltem", "lte-m"),
            ("LTE_M", "lte-m"),
            ("NB-IoT", "nb-iot"),
            ("NBIoT", "nbiot"),
        ] {
            assert_eq!(found(given), Ok(Some(name)), "{given}");
        }
        assert_eq!(found("./lte"), Ok(None));
        assert_eq!(found("lte.yaml"), Ok(None));
    }

    #[test]
    fn a_name_that_two_files_could_mean_is_answered_with_both() {
        let said = found("nb_iot").expect_err("two names");
        assert!(said.contains("did you mean nb-iot or nbiot?"), "{said}");
        let said = found("nb").expect_err("two names");
        assert!(said.contains("did you mean nb-iot or nbiot?"), "{said}");
    }

    #[test]
    fn what_is_not_modelled_is_said() {
        let said = found("LoRa").expect_err("absent");
        assert_eq!(
            said,
            "unknown link \"LoRa\": LoRaWAN is not modelled; the links are lte, lte-m, nb-iot, nbiot, or write a file: ./LoRa.yaml"
        );
        for name in ["", "-", "pigeon"] {
            let said = found(name).expect_err("unknown");
            assert!(!said.contains("did you mean"), "{said}");
        }
    }

    #[test]
    fn figures_have_their_keys_values_and_sources() {
        let file = "wirecost_device: 1\ntitle: mine\nsources: {sheet: \"Maker, 2024\"}\nstates:\n  sleep: {value: 3uA, source: sheet}\n  \
                    idle: {value: 1mA, source: assumed}\nrest: sleep\ntails:\n  - {state: idle, time: {value: 5s}}\n";
        let read: Vec<(String, String, Option<String>)> = figures(file)
            .expect("figures")
            .into_iter()
            .map(|figure| (figure.key, figure.value, figure.source))
            .collect();
        let expected = [
            ("states.sleep", "3uA", Some("Maker, 2024")),
            ("states.idle", "1mA", Some("assumed")),
            ("rest", "sleep", None),
            ("tails.1.state", "idle", None),
            ("tails.1.time", "5s", Some("assumed")),
        ];
        let expected = expected
            .map(|(key, value, source)| (key.to_owned(), value.to_owned(), source.map(str::to_owned)));
        assert_eq!(read, expected);
    }
}
