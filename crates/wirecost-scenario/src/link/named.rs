//! Links with names: those that the program contains, and files of the same form.
//!
//! A file is a table with the keys of a link. Each value is either itself, or a table of `value`, `source` and `date`.

use std::fmt;
use std::path::Path;

use serde::Serialize;
use wirecost_files::Input;
use wirecost_link::LinkConfig;
use wirecost_results::link_text::LinkText;

use super::shape::{DIRECTION, LINK, NAT as NAT_KEYS};
use super::{LinkLists, lists};
use crate::catalog::{Catalog, SourcedValue, UnknownName, built_in};
use crate::error::ScenarioError;
use crate::key::names;
use crate::node::{Key, Node, Value};
use crate::table::{Table, text, time};

/// The files of the links that the program contains.
pub const CATALOG: Catalog = Catalog {
    kind: "link",
    files: &FILES,
    absent: &[
        ("lora", LORA),
        ("lorawan", LORA),
        (
            "sigfox",
            "Sigfox is not modelled: its messages of 12 bytes carry no IP packets",
        ),
    ],
};
const LORA: &str = "LoRaWAN is not modelled: its frames carry no IP packets, and no link here has its duty cycle and its air times";

const FILES: [(&str, &str); 10] = built_in!(
    "links",
    "ethernet",
    "wifi",
    "lte",
    "lte-m",
    "nb-iot",
    "nbiot",
    "3g",
    "satellite-geo",
    "satellite-leo",
    "lossy",
);
/// The key of the times after which an address translator forgets a flow.
const NAT: &str = "nat_timeout";
/// The keys of a value with its source.
const VALUE_KEYS: [&str; 3] = ["value", "source", "date"];

/// A link with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedLink {
    /// Its name, or the name of its file.
    pub name: String,
    /// What it is, in a few words; empty where its file does not say.
    pub about: String,
    /// Its values, in the order of the file.
    pub values: Vec<SourcedValue>,
    /// The text of its file.
    pub text: String,
    /// Its settings.
    pub(super) settings: Box<LinkLists>,
    link: LinkConfig,
}

/// Why there is no such link.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NamedLinkError {
    /// No link has this name.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// The file cannot be read.
    #[error("cannot read {file}: {reason}")]
    Unreadable {
        /// The file.
        file: String,
        /// The reason of the machine.
        reason: String,
    },
    /// The file is not a link.
    #[error(transparent)]
    Invalid(#[from] ScenarioError),
}

impl NamedLink {
    /// The links that the program contains.
    ///
    /// # Errors
    /// A file of the program is not a link, which a test excludes.
    pub fn all() -> Result<Vec<Self>, ScenarioError> {
        FILES.iter().map(|(name, text)| Self::read(name, text)).collect()
    }

    /// The link of that name, or in that file; names of files are relative to `folder`, and refused without one. A text with
    /// a slash or a full stop is a file.
    ///
    /// # Errors
    /// There is no such name, or no such file, or the file is not a link.
    pub fn find(name: &str, folder: Option<&Path>) -> Result<Self, NamedLinkError> {
        if let Some((name, text)) = CATALOG.find(name)? {
            return Ok(Self::read(name, text)?);
        }
        let unreadable = |reason: String| NamedLinkError::Unreadable {
            file: name.to_owned(),
            reason,
        };
        let folder = folder.ok_or_else(|| unreadable("no files can be read here".to_owned()))?;
        let read = Input::Link.text(&folder.join(name));
        let text = read.map_err(|error| unreadable(error.to_string()))?;
        Self::read(name, &text).map_err(|error| error.in_file(name).into())
    }

    fn read(name: &str, file: &str) -> Result<Self, ScenarioError> {
        let node = Node::parse(file)?;
        let mut keys = vec!["about"];
        // A named link is not named itself: files that name one another could go in a circle.
        keys.extend(names(LINK).into_iter().filter(|key| *key != "name"));
        let about = Table::new(&node, "", &keys)?.one("about", text)?;
        let mut values = Vec::new();
        let settings = lists(&without_sources(&node, "", &mut values)?, "")?;
        let links = settings.links().map_err(|error| whole(&node, error))?;
        // A list in the file would make several links out of one name.
        let &[link] = links.as_slice() else {
            return Err(whole(&node, "a named link has one value of each key"));
        };
        link.validate().map_err(|error| whole(&node, error))?;
        Ok(Self {
            name: name.to_owned(),
            about: about.unwrap_or_default(),
            values,
            text: file.to_owned(),
            settings: Box::new(settings),
            link,
        })
    }

    /// The configuration of the link.
    pub const fn link(&self) -> &LinkConfig {
        &self.link
    }
}

/// An error about a file as a whole.
fn whole(node: &Node, error: impl fmt::Display) -> ScenarioError {
    ScenarioError::new(&node.place, error.to_string())
}

impl Serialize for NamedLink {
    /// Name, description, values with their sources, and the configuration of both directions.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown<'a> {
            name: &'a str,
            about: &'a str,
            values: &'a [SourcedValue],
            link: LinkText,
        }
        let shown = Shown {
            name: &self.name,
            about: &self.about,
            values: &self.values,
            link: LinkText(self.link),
        };
        shown.serialize(serializer)
    }
}

/// The table with values alone. Adds each value with its source to `values`.
fn without_sources(node: &Node, prefix: &str, values: &mut Vec<SourcedValue>) -> Result<Node, ScenarioError> {
    let mut plain: Vec<(Key, Node)> = Vec::new();
    for (key, node) in node.entries().unwrap_or_default() {
        let name = format!("{prefix}{}", key.name);
        let value = match key.name.as_str() {
            "about" => continue,
            NAT => {
                let sourced = nat_timeouts(node)?;
                let plain = nat_node(node, &sourced);
                values.extend(sourced);
                plain
            }
            "up" | "down" if prefix.is_empty() => {
                let within = format!("{name}.");
                Table::new(node, &within, &names(DIRECTION))?;
                without_sources(node, &within, values)?
            }
            _ => {
                let sourced = sourced(&name, node)?;
                let plain = Node::at(&node.place, Value::Text(sourced.value.clone()));
                values.push(sourced);
                plain
            }
        };
        plain.push((key.clone(), value));
    }
    Ok(Node::at(&node.place, Value::Table(plain)))
}

/// The times after which an address translator forgets a flow, with their sources.
fn nat_timeouts(node: &Node) -> Result<Vec<SourcedValue>, ScenarioError> {
    let within = format!("{NAT}.");
    let table = Table::new(node, &within, &names(NAT_KEYS))?;
    let entries = node.entries().unwrap_or_default().iter();
    entries
        .map(|(key, node)| {
            let value = sourced(&format!("{within}{}", key.name), node)?;
            time(&value.value).map_err(|error| table.error(&key.name, error))?;
            Ok(value)
        })
        .collect()
}

/// The same times without their sources.
fn nat_node(node: &Node, sourced: &[SourcedValue]) -> Node {
    let entries = node.entries().unwrap_or_default().iter().zip(sourced);
    let plain = entries.map(|((key, node), sourced)| {
        let value = Value::Text(sourced.value.clone());
        (key.clone(), Node::at(&node.place, value))
    });
    Node::at(&node.place, Value::Table(plain.collect()))
}

/// A value with its source, from a table, or a value by itself.
fn sourced(key: &str, node: &Node) -> Result<SourcedValue, ScenarioError> {
    if let Some(value) = node.scalar() {
        return Ok(SourcedValue {
            key: key.to_owned(),
            value,
            source: None,
            date: None,
        });
    }
    let within = format!("{key}.");
    let table = Table::new(node, &within, &VALUE_KEYS)?;
    Ok(SourcedValue {
        key: key.to_owned(),
        value: table.required("value", text)?,
        source: table.one("source", text)?,
        date: table.one("date", text)?,
    })
}

#[cfg(test)]
mod tests;
