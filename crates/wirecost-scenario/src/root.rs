//! The keys at the top of a scenario, by its kind, and the version of its format.

use crate::key::{Holds, keys, names};
use crate::node::Node;
use crate::options::load::LoadOptions;
use crate::options::nbiot::NbiotOptions;
use crate::options::row;
use crate::table::meant;
use crate::thresholds::THRESHOLDS;
use crate::{Kind, ScenarioError, VERSION, comparison, program};

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

pub(crate) fn check_version(root: &Node) -> Result<(), ScenarioError> {
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
pub(crate) fn check_keys(root: &Node, kind: Kind) -> Result<(), ScenarioError> {
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
