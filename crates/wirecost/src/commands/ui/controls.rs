//! The controls of the page: the options of `wirecost choose`, as its command line declares them.

use std::sync::OnceLock;

use clap::{Arg, ArgAction};
use serde::Serialize;
use wirecost_link::nat::NatPort;
use wirecost_readings::{Compression, Encoding};
use wirecost_scenario::battery;
use wirecost_security::Start;
use wirecost_security::certificate::KeyKind;
use wirecost_security::provider::Cipher;

use crate::arguments::{headings, program};
use crate::commands::completions::names_of;

/// The command whose options they are.
const COMMAND: &str = "choose";
/// The key of the arguments without a flag.
const STACKS: &str = "stacks";
/// Options that have no place on a page: a file of use cases, and a live measurement.
const ELSEWHERE: [&str; 2] = ["file", "verify"];

/// A control.
#[derive(Debug, Serialize)]
pub(super) struct Control {
    /// The key of its value in a link: the flag without its dashes.
    pub(super) key: String,
    heading: &'static str,
    help: String,
    kind: Kind,
    /// The values that it can have; empty where there are others.
    values: Vec<Value>,
    /// Names that its value may have several of, among others.
    names: Vec<String>,
    /// What a value is: `TIME`.
    value: String,
    /// The value that it has where none is given; empty where the help says what there is instead.
    default: String,
    /// Whether it takes several values, with a comma between two.
    is_many: bool,
    /// Whether only `--help-all` shows it.
    is_further: bool,
    /// Whether a file may take the place of a name on the command line.
    #[serde(skip)]
    pub(super) takes_file: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Flag,
    Choice,
    Text,
}

/// A value of a choice.
#[derive(Debug, Serialize)]
struct Value {
    name: String,
    help: String,
}

impl Control {
    /// Whether it is on or off.
    pub(super) fn is_flag(&self) -> bool {
        self.kind == Kind::Flag
    }

    /// Whether it has no flag on the command line.
    pub(super) fn is_positional(&self) -> bool {
        self.key == STACKS
    }

    fn from_argument(argument: &Arg) -> Option<Self> {
        let key = argument.get_long().unwrap_or(STACKS);
        let wanted = argument.get_help_heading();
        // Results and help have no controls: the page shows the results.
        let shown = headings(COMMAND).iter().filter(|heading| **heading != "Results");
        let heading = match argument.get_long() {
            None => "Stacks",
            Some(_) => shown.copied().find(|heading| Some(*heading) == wanted)?,
        };
        if ELSEWHERE.contains(&key) {
            return None;
        }
        let is_flag = matches!(argument.get_action(), ArgAction::SetTrue);
        let value = argument.get_value_names().and_then(<[_]>::first);
        let default = argument.get_default_values().first();
        let names = names_of(COMMAND, argument).unwrap_or_default();
        // A page takes no file and one link: what has names is one of them. Only of stacks there are several.
        let is_one_name = key != STACKS && !names.is_empty();
        let (names, only) = match is_one_name {
            true => (Vec::new(), names),
            false => (names, words(key).into_iter().map(str::to_owned).collect()),
        };
        let values = values(argument, only);
        Some(Self {
            key: key.to_owned(),
            heading,
            help: text(argument.get_help()),
            kind: match (is_flag, values.is_empty()) {
                (true, _) => Kind::Flag,
                (false, false) => Kind::Choice,
                (false, true) => Kind::Text,
            },
            values: if is_flag { Vec::new() } else { values },
            names,
            takes_file: value.is_some_and(|name| name.contains("FILE")),
            value: value.map_or_else(String::new, ToString::to_string),
            default: default
                .filter(|_| !is_flag)
                .map_or_else(String::new, |value| value.to_string_lossy().into_owned()),
            is_many: argument.get_value_delimiter().is_some() && !is_one_name,
            is_further: argument.is_hide_short_help_set(),
        })
    }
}

/// The words of an option that takes no others, where its declaration does not list them.
fn words(key: &str) -> Vec<&'static str> {
    match key {
        "encoding" => Encoding::NAMES.to_vec(),
        "compression" => Compression::NAMES.to_vec(),
        "start" => Start::NAMES.to_vec(),
        "nat" => NatPort::NAMES.to_vec(),
        "certificate" => KeyKind::NAMES.to_vec(),
        "cipher" => Cipher::NAMES.to_vec(),
        "chemistry" => battery::BUILT_IN.map(|(name, _)| name).to_vec(),
        _ => Vec::new(),
    }
}

/// The values that an option declares, and names.
fn values(argument: &Arg, names: Vec<String>) -> Vec<Value> {
    let declared = argument.get_possible_values().into_iter().map(|value| Value {
        name: value.get_name().to_owned(),
        help: text(value.get_help()),
    });
    let names = names.into_iter().map(|name| Value {
        name,
        help: String::new(),
    });
    declared.chain(names).collect()
}

fn text(help: Option<&clap::builder::StyledStr>) -> String {
    help.map_or_else(String::new, ToString::to_string)
}

/// All controls, by their headings and in the order of the help; the stacks are the last.
pub(super) fn all() -> &'static [Control] {
    static ALL: OnceLock<Vec<Control>> = OnceLock::new();
    ALL.get_or_init(declared)
}

fn declared() -> Vec<Control> {
    let program = program();
    let arguments = program.find_subcommand(COMMAND).into_iter();
    let arguments = arguments.flat_map(clap::Command::get_arguments);
    let mut all: Vec<Control> = arguments.filter_map(Control::from_argument).collect();
    let place = |control: &Control| {
        let mut headings = headings(COMMAND).iter();
        headings.position(|heading| *heading == control.heading)
    };
    // Those of a heading stay in the order in which they are declared.
    all.sort_by_key(|control| (control.is_positional(), place(control)));
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::state::{State, pairs};
    use super::*;

    #[test]
    fn each_option_of_choose_is_a_control_or_has_no_place_on_a_page() {
        let program = program();
        let choose = program.find_subcommand(COMMAND).expect("the command");
        let options: BTreeSet<&str> = choose.get_arguments().filter_map(Arg::get_long).collect();
        let controls = all();
        let keys: BTreeSet<&str> = controls.iter().map(|control| control.key.as_str()).collect();
        let without: Vec<&str> = options.difference(&keys).copied().collect();
        let expected = ["explain", "file", "json", "out", "quiet", "verify"];
        let without: Vec<&str> = without
            .into_iter()
            .filter(|key| !key.starts_with("help"))
            .collect();
        assert_eq!(without, expected);
        let others: Vec<&str> = keys.difference(&options).copied().collect();
        assert_eq!(others, [STACKS]);
    }

    #[test]
    fn a_control_has_the_values_and_the_default_of_its_option() {
        let controls = all();
        let find = |key: &str| {
            controls
                .iter()
                .find(|control| control.key == key)
                .expect("a control")
        };
        let delivery = find("delivery");
        let values: Vec<&str> = delivery.values.iter().map(|value| value.name.as_str()).collect();
        assert_eq!(values, ["at-most-once", "at-least-once", "exactly-once"]);
        assert_eq!(
            (delivery.default.as_str(), delivery.kind),
            ("at-least-once", Kind::Choice)
        );
        let link = find("link");
        assert!(find("rai").is_flag() && link.values.iter().any(|value| value.name == "lte-m"));
        assert!(link.kind == Kind::Choice && !link.is_many);
        for key in [
            "encoding",
            "compression",
            "start",
            "nat",
            "certificate",
            "cipher",
            "chemistry",
        ] {
            let control = find(key);
            assert_eq!(control.kind, Kind::Choice, "{key}");
            for value in &control.values {
                let query = format!(
                    "v=1&every=1h&device=nrf9160-lte-m&battery=1Ah@3V&{key}={}",
                    value.name
                );
                let state = State::read(&pairs(&query)).and_then(|state| state.arguments());
                assert!(state.is_ok(), "{query}");
            }
        }
        for key in ["link", "device", "tariff", "chemistry", "chain"] {
            assert!(find(key).takes_file, "{key}");
        }
        assert!(!find("stacks").takes_file && find("stacks").is_many);
    }
}
