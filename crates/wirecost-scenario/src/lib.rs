//! Scenario files: the description of a run, as a person writes it and as a results folder keeps it.
//!
//! ```text
//! text -> Node (every value with its line) -> vary, --set -> Options, or one LoadOptions per combination
//! Options, LoadOptions -> text that reads back as the same: scenario.resolved.yaml
//! ```
//!
//! - [`node`]: YAML with lines, within limits of size and depth
//! - [`key`]: what tables may hold, for readers and schemas
//! - `shape`: the nested tables of scenarios
//! - [`table`]: the keys of a table, without unknown or repeated ones, and values with their units
//! - [`edit`]: `vary`, and the flags `--set` and `--vary`
//! - [`selector`]: conditions on cells or loads; [`labels`]: the values that they are checked against
//! - [`consent`]: whether a load may harm a server on another machine
//! - [`comparison`]: comparisons; `sending`: how their messages are handed to the network; [`link`]: the emulated link, from
//!   a file or from flags
//! - [`load`]: loads: phases, payload, target
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
use crate::options::load::{LoadOptions, Phase, Who};
use crate::options::nbiot::NbiotOptions;
use crate::options::row;
pub use error::{Place, ScenarioError};
use find_max::FindMax;
use key::{Holds, keys, names};
use load::ScenarioInputs;
pub use node::Node;
use node::Value;
use options::load::print::{Resolved, Secrets};
use program::ProgramOptions;
use table::{Table, meant, text};
use thresholds::{THRESHOLDS, Thresholds};

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

keys! {
    /// Keys of every scenario, beside those of comparisons and loads.
    pub KEYS {
        must wirecost Holds::Version => "Version of this format.";
        may name Holds::Text => "What a person calls it.";
        may vary Holds::Lists => "Lists: every combination is run.";
        may exclude Holds::Conditions => "What is left out: an entry's conditions must all hold.";
        may thresholds Holds::Of(&THRESHOLDS) => "What must hold.";
        may find_max Holds::Text
            => "Find the highest rate at which this condition holds for response or delivery times, such as p(99)<50ms.";
        may loads Holds::Loads => "Loads one after the other, in the resolved form.";
    }
}
/// Keys that every scenario has.
const OF_ALL: [&str; 2] = ["wirecost", "name"];
/// Keys that only loads have.
const OF_LOADS: [&str; 2] = ["find_max", "loads"];
/// Keys that reports in NB-IoT cells do not have.
const NOT_OF_NBIOT: [&str; 1] = ["exclude"];

/// Keys of later versions, with a hint for this version.
const LATER: [(&str, &str); 6] = [
    (
        "agents",
        "run a shard on each machine: wirecost run --shard 1/2, then wirecost merge",
    ),
    (
        "device",
        "leave it out, and give the results folder to wirecost cost --device",
    ),
    (
        "tariff",
        "leave it out, and give the results folder to wirecost cost --tariff",
    ),
    ("stats", "leave it out: intervals are those of 95 %"),
    ("repeat", "count says how many samples a cell has"),
    ("order", "leave it out: samples are shuffled by the seed"),
];
/// Keys of other tools, with their names here.
const OTHERWISE: [(&str, &str); 9] = [
    ("topic", "resource"),
    ("path", "resource"),
    ("auth", "login"),
    ("fanout", "subscribers"),
    ("every", "interval"),
    ("rtt", "link.rtt"),
    ("loss", "link.loss"),
    ("mtu", "link.mtu"),
    ("qos", "stack, e.g. mqtt-qos1"),
];

impl Scenario {
    /// A comparison without thresholds.
    pub fn comparison(options: Options) -> Self {
        Self {
            name: None,
            work: Work::Comparison(Box::new(options)),
            thresholds: Thresholds::default(),
            find_max: None,
        }
    }

    /// Loads without thresholds.
    pub fn loads(loads: Vec<LoadOptions>) -> Self {
        Self {
            name: None,
            work: Work::Loads(loads),
            thresholds: Thresholds::default(),
            find_max: None,
        }
    }

    /// Reports in NB-IoT cells without thresholds.
    pub fn nbiot(options: NbiotOptions) -> Self {
        Self {
            name: None,
            work: Work::Nbiot(Box::new(options)),
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
            Kind::Loads => Work::Loads(loads(root, inputs)?),
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

fn check_version(root: &Node) -> Result<(), ScenarioError> {
    if root.entries().is_none() {
        let message = format!(
            "a scenario must be a table of keys and values, this is {}",
            root.kind()
        );
        return Err(
            ScenarioError::new(&root.place, message).with_hint("wirecost new writes one to begin with")
        );
    }
    let Some(node) = root.get("wirecost") else {
        let error = ScenarioError::new(&root.place, "the version of the format is missing");
        return Err(error.with_hint("begin the file with: wirecost: 1"));
    };
    if node.scalar().as_deref() != Some("1") {
        let what = node.scalar().unwrap_or_else(|| node.kind().to_owned());
        let message = format!("wirecost: this version reads scenarios of version {VERSION}, not {what}");
        return Err(ScenarioError::new(&node.place, message));
    }
    Ok(())
}

/// The keys of a kind of scenario at the top of a file.
pub fn all_keys(kind: Kind) -> Vec<&'static str> {
    let own = match kind {
        Kind::Comparison => comparison::keys(),
        Kind::Loads => row::keys::<LoadOptions>(),
        Kind::Nbiot => row::keys::<NbiotOptions>(),
        Kind::Program => names(program::KEYS),
    };
    let is_common = |key: &&str| match kind {
        Kind::Loads => true,
        Kind::Comparison => !OF_LOADS.contains(key),
        Kind::Program => OF_ALL.contains(key),
        Kind::Nbiot => !OF_LOADS.contains(key) && !NOT_OF_NBIOT.contains(key),
    };
    let common = names(KEYS);
    let mut keys: Vec<&'static str> = common.iter().copied().filter(is_common).collect();
    keys.extend(own.iter().filter(|key| !common.contains(key)));
    keys
}

/// Refuses unknown keys, with the right name or a reason as the hint.
fn check_keys(root: &Node, kind: Kind) -> Result<(), ScenarioError> {
    let keys = all_keys(kind);
    for (key, _) in root.entries().unwrap_or_default() {
        let name = key.name.as_str();
        if keys.contains(&name) {
            continue;
        }
        // Before the guess at a misspelt key: such a name is right, and only its time has not come.
        if let Some((_, instead)) = LATER.iter().find(|(later, _)| *later == name) {
            return Err(
                ScenarioError::new(&key.place, format!("{name} is not in this version")).with_hint(*instead),
            );
        }
        let has = |other: Kind| other != kind && all_keys(other).contains(&name);
        let hint = match OTHERWISE.iter().find(|(other, _)| *other == name) {
            Some((_, own)) => format!("did you mean {own}?"),
            None if kind == Kind::Nbiot && (has(Kind::Comparison) || has(Kind::Loads)) => {
                "comparisons or loads have it, reports in NB-IoT cells (with nbiot) do not".into()
            }
            None if kind == Kind::Loads && has(Kind::Comparison) => {
                "comparisons have it, loads (with phases) do not".into()
            }
            None if kind == Kind::Program && (has(Kind::Comparison) || has(Kind::Loads)) => {
                "comparisons or loads have it, a program does not".into()
            }
            None if has(Kind::Loads) => "loads have it: add phases, or leave it out".into(),
            None => meant(name, &keys),
        };
        return Err(ScenarioError::new(&key.place, format!("unknown key {name:?}")).with_hint(hint));
    }
    Ok(())
}

/// Every load of a file: each combination of its lists, without the excluded ones.
fn loads(mut root: Node, inputs: ScenarioInputs<'_>) -> Result<Vec<LoadOptions>, ScenarioError> {
    let exclude = edit::remove(&mut root, "exclude");
    let exclude = exclude.map(|node| comparison::selectors(&node, &edit::OF_LOADS).map(|list| (node, list)));
    let (place, exclude) = exclude.transpose()?.unzip();
    let exclude = exclude.unwrap_or_default();
    let mut loads = combined(root, inputs)?;
    let labels: Vec<_> = loads
        .iter()
        .map(|written| labels::labels_of_load(&written.load))
        .collect();
    if let Some(idle) = exclude
        .iter()
        .find(|one| !labels.iter().any(|labels| one.matches(labels)))
    {
        let place = place.map(|node| node.place).unwrap_or_default();
        return Err(ScenarioError::new(&place, format!("exclude: nothing is {idle}")));
    }
    let mut labels = labels.iter();
    loads.retain(|_| {
        labels
            .next()
            .is_some_and(|labels| !exclude.iter().any(|one| one.matches(labels)))
    });
    // After the exclusion: a combination that cannot be run, but is excluded, is no error.
    let loads = loads.into_iter().map(Written::complete);
    let loads = loads.collect::<Result<Vec<LoadOptions>, ScenarioError>>()?;
    check_loads(&loads)?;
    Ok(loads)
}

/// A load before its defaults are filled in.
struct Written {
    node: Node,
    load: LoadOptions,
    /// Whether it is in the resolved form.
    is_resolved: bool,
}

impl Written {
    /// The validated load with its implied phases.
    fn complete(self) -> Result<LoadOptions, ScenarioError> {
        let Self {
            node,
            mut load,
            is_resolved,
        } = self;
        load::check(&node, &load)?;
        if !is_resolved {
            complete(&mut load.phases);
        }
        Ok(load)
    }
}

/// Every combination of the lists.
fn combined(root: Node, inputs: ScenarioInputs<'_>) -> Result<Vec<Written>, ScenarioError> {
    let mut loads = Vec::new();
    for (node, is_resolved) in spelled_out(root)? {
        // `combinations` limits each entry by itself: a list of entries with lists would pass it.
        if loads.len() > edit::MAX_COMBINATIONS {
            return Err(ScenarioError::new(
                &node.place,
                "loads: they are more than one scenario can have",
            ));
        }
        for node in edit::combinations(&node, &edit::varied(&edit::OF_LOADS))? {
            let load = load::read(&node, inputs)?;
            loads.push(Written {
                node,
                load,
                is_resolved,
            });
        }
    }
    Ok(loads)
}

/// Checks that there is at least one load, and no load twice.
fn check_loads(loads: &[LoadOptions]) -> Result<(), ScenarioError> {
    if loads.is_empty() {
        return Err(ScenarioError::new(
            &Place::File,
            "nothing is left to run: exclude leaves out every load",
        ));
    }
    if let Some(double) = (1..loads.len()).find(|at| loads[..*at].contains(&loads[*at])) {
        let message = format!(
            "load {} of {} is the same as an earlier one: give each value once, and do not vary a key that each phase sets itself",
            double + 1,
            loads.len()
        );
        return Err(ScenarioError::new(&Place::File, message));
    }
    Ok(())
}

/// The tables of loads: the file itself, or each entry of `loads` merged into the file. Entries of `loads` are
/// resolved.
fn spelled_out(mut root: Node) -> Result<Vec<(Node, bool)>, ScenarioError> {
    let Some(node) = edit::remove(&mut root, "loads") else {
        return Ok(vec![(root, false)]);
    };
    let Value::List(list) = node.value else {
        let message = format!("loads: a list is expected, this is {}", node.kind());
        return Err(ScenarioError::new(&node.place, message));
    };
    if list.len() > edit::MAX_COMBINATIONS || list.len() * root.weight() > edit::MAX_WEIGHT {
        let message = format!("loads: {} are more than one scenario can have", list.len());
        return Err(ScenarioError::new(&node.place, message));
    }
    let mut all = Vec::with_capacity(list.len());
    for entry in list {
        let mut one = root.clone();
        let kind = entry.kind();
        let Value::Table(entries) = entry.value else {
            return Err(ScenarioError::new(
                &entry.place,
                format!("loads: a table is expected, this is {kind}"),
            ));
        };
        // An error is told at the line of the entry, not at the top of the file.
        one.place = entry.place;
        for (key, node) in entries {
            edit::set(&mut one, &key.name, node)?;
        }
        all.push((one, true));
    }
    Ok(all)
}

/// Adds the implied phases: devices connect first, and close last.
fn complete(phases: &mut Vec<Phase>) {
    let connects = |phase: &Phase| matches!(phase, Phase::Connect { .. } | Phase::Handshakes { .. });
    // Devices that were never connected would send nothing, without an error.
    if !phases.iter().any(connects) {
        phases.insert(
            0,
            Phase::Connect {
                who: Who::All,
                rate: None,
            },
        );
    }
    let ends = |phase: &Phase| matches!(phase, Phase::Close { .. } | Phase::Handshakes { .. });
    if !phases.last().is_some_and(ends) {
        phases.push(Phase::Close { rate: None });
    }
}

#[cfg(test)]
mod tests;
