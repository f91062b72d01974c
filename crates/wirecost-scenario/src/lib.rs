//! Scenario files: the description of a run, as a person writes it and as a results folder keeps it.
//!
//! ```text
//! text -> Node (every value with its line) -> vary, --set -> Options, or one LoadOptions per combination
//! Options, LoadOptions -> text that reads back as the same: scenario.resolved.yaml
//! ```
//!
//! - [`node`]: YAML with lines, within limits of size and depth
//! - [`key`]: what tables may hold, for readers and schemas
//! - `root`: the keys at the top of a scenario; `shape`: its nested tables
//! - [`table`]: the keys of a table, without unknown or repeated ones, and values with their units
//! - [`edit`]: `vary`, and the flags `--set` and `--vary`
//! - [`selector`]: conditions on cells or loads; [`labels`]: the values that they are checked against
//! - [`consent`]: whether a load may harm a server on another machine
//! - [`comparison`]: comparisons; `sending`: how their messages are handed to the network; [`link`]: the emulated link, from
//!   a file or from flags
//! - [`load`]: loads: phases, payload, target; `combined`: every load of a file
//! - [`fit`]: points that a cell must meet, and its free parameters
//! - [`nbiot`]: reports in NB-IoT cells; [`parameter`]: the parameters of the network by their paths
//! - [`thresholds`]: thresholds on figures; [`find_max`]: the condition of a search for the highest rate
//! - [`program`]: a program of another maker in place of a stack
//! - [`options`]: the options of comparisons and loads, and their validation
//! - [`plan`]: the cells and devices of a comparison; [`identity`]: what tells loads apart; [`expected`]: what subscribers are
//!   to receive
//! - [`device`] and [`tariff`]: files of devices and data plans; [`figure`]: their figures with sources; [`electric`]: units;
//!   [`catalog`]: how their names and those of links are found
//! - [`certificates`]: the chains of public servers, by name or from a file
//! - [`budget`]: what figures may be, for a pull request; [`month`]: figures of a month
//! - [`measurement`]: files of published measurements, which models are judged by
//! - [`battery`]: files of kinds of cells
//! - [`spent`]: the energy of a cell, modelled from them
//! - [`merge`](mod@merge): several results folders as one
//!
//! A file is strict: an unknown key, a quantity without its unit and an unknown name are errors, with the line.

pub mod battery;
pub mod budget;
pub mod catalog;
pub mod certificates;
mod combined;
pub mod comparison;
pub mod consent;
pub mod device;
pub mod edit;
pub mod electric;
pub mod error;
pub mod expected;
pub mod figure;
pub mod find_max;
pub mod fit;
pub mod identity;
pub mod key;
pub mod labels;
pub mod link;
pub mod load;
pub mod measurement;
pub mod merge;
pub mod month;
pub mod nbiot;
pub mod node;
pub mod options;
pub mod parameter;
pub mod plan;
pub mod program;
mod root;
pub mod selector;
mod sending;
mod shape;
pub mod spent;
pub mod table;
pub mod tariff;
pub mod thresholds;

use std::fmt::Display;

use serde::{Serialize, Serializer};

use crate::options::compare::Options;
use crate::options::load::LoadOptions;
use crate::options::nbiot::NbiotOptions;
pub use error::{Place, ScenarioError};
use find_max::FindMax;
use load::ScenarioInputs;
pub use node::Node;
use options::load::print::{Resolved, Secrets};
use program::ProgramOptions;
pub use root::{KEYS, all_keys};
use root::{check_keys, check_version};
use table::{Table, text};
use thresholds::Thresholds;

/// The version of the format of scenarios.
pub const VERSION: u64 = 1;

/// A scenario with every default filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Its name.
    pub name: Option<String>,
    /// What is run.
    pub work: Work,
    /// What is demanded of the figures.
    pub thresholds: Thresholds,
    /// The condition at which the highest rate of each load is searched.
    pub find_max: Option<FindMax>,
}

/// What is run.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Stacks side by side.
    Comparison(Box<Options>),
    /// Many devices against one target: every combination, one after the other.
    Loads(Vec<LoadOptions>),
    /// Reports of devices in NB-IoT cells.
    Nbiot(Box<NbiotOptions>),
    /// A program of another maker.
    Program(Box<ProgramOptions>),
}

/// The kinds of scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Stacks side by side.
    Comparison,
    /// Many devices against one target.
    Loads,
    /// Reports of devices in NB-IoT cells.
    Nbiot,
    /// A program of another maker.
    Program,
}

impl Kind {
    /// The kind of a file, by its keys.
    fn from_root(root: &Node) -> Self {
        match root {
            _ if root.get("nbiot").is_some() => Self::Nbiot,
            _ if root.get(selector::PROGRAM).is_some() => Self::Program,
            _ if ["phases", "loads"].into_iter().any(|key| root.get(key).is_some()) => Self::Loads,
            _ => Self::Comparison,
        }
    }

    /// The keys that can have several values.
    const fn dimensions(self) -> &'static [&'static str] {
        match self {
            Self::Comparison => &edit::OF_COMPARISONS,
            Self::Loads => &edit::OF_LOADS,
            Self::Nbiot => &nbiot::DIMENSIONS,
            Self::Program => &[],
        }
    }
}

/// Changes that the command line makes to a scenario.
#[derive(Clone, Copy, Debug, Default)]
pub struct Edits<'a> {
    /// `KEY=VALUE`: replaces the value of the file.
    pub set: &'a [String],
    /// `KEY=V1,V2`: replaces it by several values.
    pub vary: &'a [String],
}

impl Scenario {
    /// A comparison without thresholds.
    pub fn comparison(options: Options) -> Self {
        Self::without_thresholds(Work::Comparison(Box::new(options)))
    }

    /// Loads without thresholds.
    pub fn loads(loads: Vec<LoadOptions>) -> Self {
        Self::without_thresholds(Work::Loads(loads))
    }

    fn without_thresholds(work: Work) -> Self {
        Self {
            name: None,
            work,
            thresholds: Thresholds::default(),
            find_max: None,
        }
    }

    /// Reads a scenario.
    ///
    /// # Errors
    /// The first error in the scenario, with its line or flag.
    pub fn read(text: &str, edits: Edits<'_>, inputs: ScenarioInputs<'_>) -> Result<Self, ScenarioError> {
        let root = Node::parse(text)?;
        check_version(&root)?;
        Self::of_node(root, edits, inputs)
    }

    /// Reads a scenario that is a table of another file, without a version of its own.
    ///
    /// # Errors
    /// As of [`Scenario::read`].
    pub fn of_node(
        mut root: Node,
        edits: Edits<'_>,
        inputs: ScenarioInputs<'_>,
    ) -> Result<Self, ScenarioError> {
        let kind = Kind::from_root(&root);
        let dimensions = kind.dimensions();
        if let Some(link) = root.get_mut("link") {
            // `link: nb-iot` becomes `link: {name: nb-iot}` first, so that a flag such as --set link.rtt finds a table.
            link::spelled_out(link);
        }
        let of_cells = kind == Kind::Nbiot;
        for set in edits.set {
            let set = if of_cells { &nbiot::spelled_out(set) } else { set };
            edit::set_flag(&mut root, set)?;
        }
        let mut flags = edits.vary.to_vec();
        // Parameters of the network are taken out first: the list of dimensions does not have them.
        let varied = match of_cells {
            true => nbiot::take_varied(&mut root, &mut flags)?,
            false => Vec::new(),
        };
        for vary in &flags {
            edit::vary_flag(&mut root, vary, dimensions)?;
        }
        // After the flags, which may give keys as well, and before any value: a misspelt key is the likelier cause of what follows.
        check_keys(&root, kind)?;
        edit::vary(&mut root, dimensions)?;
        let name = Table::new(&root, "", &all_keys(kind))?.one("name", self::text)?;
        for key in ["wirecost", "name"] {
            drop(edit::remove(&mut root, key));
        }
        let demands = edit::remove(&mut root, "thresholds");
        let find_max = edit::remove(&mut root, "find_max");
        let work = match kind {
            Kind::Loads => Work::Loads(combined::loads(root, inputs)?),
            Kind::Comparison => Work::Comparison(Box::new(comparison::read(&root, inputs)?)),
            Kind::Nbiot => Work::Nbiot(Box::new(nbiot::read(&root, varied)?)),
            Kind::Program => Work::Program(Box::new(program::read(&root, inputs.folder)?)),
        };
        // Last: a threshold is refused if no load or cell has its figure, so these must be known.
        let thresholds = demands.map(|node| Thresholds::read(&node, &work)).transpose()?;
        let find_max = find_max.map(|node| searched(&node, &work, thresholds.as_ref()));
        Ok(Self {
            name,
            work,
            thresholds: thresholds.unwrap_or_default(),
            find_max: find_max.transpose()?,
        })
    }

    /// The scenario as YAML without passwords. It reads back as the same scenario.
    pub fn to_yaml(&self) -> String {
        // Texts, numbers and lists: there is nothing that YAML cannot hold.
        serde_saphyr::to_string(self).unwrap_or_else(|error| format!("# not writable as YAML: {error}\n"))
    }
}

impl Serialize for Scenario {
    /// The form of the file, without passwords.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let work = match &self.work {
            Work::Comparison(options) => FileWork::Comparison(options),
            Work::Nbiot(options) => FileWork::Nbiot(options),
            Work::Program(options) => FileWork::Program(options),
            Work::Loads(loads) => FileWork::Loads {
                loads: loads
                    .iter()
                    .map(|load| Resolved::new(load, Secrets::Hidden))
                    .collect(),
            },
        };
        let file = File {
            wirecost: VERSION,
            name: self.name.as_deref(),
            work,
            thresholds: &self.thresholds,
            find_max: self.find_max.as_ref().map(FindMax::text),
        };
        file.serialize(serializer)
    }
}

/// The form of a scenario in a file.
#[derive(Serialize)]
struct File<'a> {
    wirecost: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(flatten)]
    work: FileWork<'a>,
    #[serde(skip_serializing_if = "Thresholds::is_empty")]
    thresholds: &'a Thresholds,
    #[serde(skip_serializing_if = "Option::is_none")]
    find_max: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum FileWork<'a> {
    Comparison(&'a Options),
    Nbiot(&'a NbiotOptions),
    Program(&'a ProgramOptions),
    Loads { loads: Vec<Resolved<'a>> },
}

/// Reads `find_max`, and checks that the highest rate of each load can be found.
fn searched(node: &Node, work: &Work, thresholds: Option<&Thresholds>) -> Result<FindMax, ScenarioError> {
    let at = |why: &dyn Display| ScenarioError::new(&node.place, format!("find_max: {why}"));
    let text = node
        .scalar()
        .ok_or_else(|| at(&"a condition is expected, e.g. \"p(99)<50ms\""))?;
    let find_max = FindMax::read(&text).map_err(|error| at(&error))?;
    // A threshold would judge trials that the search needs to fail.
    if thresholds.is_some() {
        return Err(at(&"a search has one condition: leave out the thresholds"));
    }
    let Work::Loads(loads) = work else {
        return Err(at(&"only loads have rates"));
    };
    match loads.iter().find_map(|load| find_max.cannot_search(load)) {
        Some(why) => Err(at(&why)),
        None => Ok(find_max),
    }
}

#[cfg(test)]
mod tests;
