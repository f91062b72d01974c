//! Which parameters of the network a fit may set, and within which bounds.

use wirecost_nbiot::Config;

use crate::error::{Place, ScenarioError};
use crate::node::{Node, Value};
use crate::parameter;
use crate::table::Table;

/// The most parameters that can be free at once.
const MOST_FREE: usize = 64;

/// The values of a free parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum FreeValues {
    /// One of these.
    Listed(Vec<String>),
    /// Every number between two.
    Range {
        /// The smallest.
        from: f64,
        /// The largest.
        to: f64,
        /// Whether equal factors are equally likely, not equal distances.
        is_log: bool,
        /// Whether it is a whole number.
        is_whole: bool,
    },
}

/// A parameter of the network that is free.
#[derive(Clone, Debug, PartialEq)]
pub struct FreeParameter {
    /// Where it is in the network's parameters, e.g. `rrc.flow`.
    pub path: &'static str,
    /// What it may be: a range, or a list of words.
    pub values: FreeValues,
    /// Where it is given.
    pub place: Place,
}

impl FreeParameter {
    /// The value at a place between 0 and 1, as `--set` takes it.
    pub fn at(&self, place: f64) -> String {
        let place = place.clamp(0.0, 1.0);
        match &self.values {
            FreeValues::Listed(values) => {
                // Each value has an equal part of the range. The place 1 belongs to the last one.
                let index = (place * values.len() as f64) as usize;
                values[index.min(values.len() - 1)].clone()
            }
            FreeValues::Range {
                from,
                to,
                is_log,
                is_whole,
            } => {
                let value = match is_log {
                    // Equal steps are equal factors: of 0.01 to 10 half of the settings are below 0.3.
                    true => from * (to / from).powf(place),
                    false => from + (to - from) * place,
                };
                match is_whole {
                    true => format!("{value:.0}"),
                    false => significant(value),
                }
            }
        }
    }
}

/// Significant digits of a number between two bounds.
const DIGITS: i32 = 6;

/// A number with six significant digits, so that a small probability does not become 0.
fn significant(value: f64) -> String {
    let magnitude = match value == 0.0 {
        true => 0,
        false => value.abs().log10().floor() as i32,
    };
    let decimals = (DIGITS - 1 - magnitude).clamp(0, 18) as usize;
    parameter::plain(&format!("{value:.decimals$}"))
}

/// The parameters of a file that are free.
#[derive(Clone, Debug, PartialEq)]
pub struct FreeParameters {
    /// Those of which every setting has other values.
    pub free: Vec<FreeParameter>,
    /// The one that is solved in every setting.
    pub solved: Option<FreeParameter>,
}

impl FreeParameters {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// The first error in it, with its line.
    pub fn read(text: &str) -> Result<Self, ScenarioError> {
        let root = Node::parse(text)?;
        let table = Table::new(&root, "", &["wirecost", "solved", "free"])?;
        if root.get("wirecost").and_then(Node::scalar).as_deref() != Some("1") {
            return Err(table
                .error("wirecost", "the version of the format is missing")
                .with_hint("begin the file with: wirecost: 1"));
        }
        let solved = parameters(&root, "solved")?;
        let free = parameters(&root, "free")?;
        // Halving finds one value for one point; two parameters would meet it along a line.
        if let [_, second, ..] = solved.as_slice() {
            return Err(ScenarioError::new(
                &second.place,
                "solved: one parameter can be solved for one point",
            ));
        }
        // A list has no middle by which to halve.
        let range = |one: &&FreeParameter| matches!(one.values, FreeValues::Range { .. });
        if let Some(listed) = solved.iter().find(|one| !range(one)) {
            let message = format!("solved.{}: from and to are expected, not a list", listed.path);
            return Err(ScenarioError::new(&listed.place, message));
        }
        if let Some(twice) = free
            .iter()
            .find(|one| solved.iter().any(|other| other.path == one.path))
        {
            let message = format!("{} is given twice: under solved and under free", twice.path);
            return Err(ScenarioError::new(&twice.place, message));
        }
        if free.is_empty() && solved.is_empty() {
            return Err(table.error("free", "it has no parameter"));
        }
        Ok(Self {
            free,
            solved: solved.into_iter().next(),
        })
    }
}

fn parameters(root: &Node, key: &'static str) -> Result<Vec<FreeParameter>, ScenarioError> {
    let Some(node) = root.get(key) else {
        return Ok(Vec::new());
    };
    let entries = node.entries().ok_or_else(|| {
        ScenarioError::new(
            &node.place,
            format!("{key}: a table of parameters with their bounds is expected"),
        )
    })?;
    if entries.len() > MOST_FREE {
        return Err(ScenarioError::new(
            &node.place,
            format!("{key}: more than {MOST_FREE} parameters"),
        ));
    }
    entries.iter().map(|(name, node)| free(key, name, node)).collect()
}

fn free(key: &str, name: &crate::node::Key, node: &Node) -> Result<FreeParameter, ScenarioError> {
    let path = parameter::path(name.name.trim_start_matches("nbiot.")).map_err(|error| {
        ScenarioError::new(&name.place, error.to_string())
            .with_hint("docs/models/nbiot.md lists the parameters of the network with their units")
    })?;
    let unbounded = || {
        ScenarioError::new(
            &node.place,
            format!("{key}.{path}: a free parameter has bounds: {{from: 1, to: 5}}, or a list of values"),
        )
    };
    let values = match &node.value {
        Value::List(nodes) if !nodes.is_empty() => FreeValues::Listed(
            nodes
                .iter()
                .map(|node| text_of(node).ok_or_else(unbounded))
                .collect::<Result<_, _>>()?,
        ),
        Value::Table(_) => range(path, node)?,
        _ => return Err(unbounded()),
    };
    let one = FreeParameter {
        path,
        values,
        place: node.place.clone(),
    };
    // Tried here, with the line at hand: in the middle of a fit of hours it would be too late.
    let tried = match &one.values {
        FreeValues::Listed(values) => values.clone(),
        FreeValues::Range { .. } => [0.0, 1.0].map(|end| one.at(end)).to_vec(),
    };
    for value in tried {
        let set = parameter::set(&Config::default(), path, &value);
        set.map_err(|error| ScenarioError::new(&node.place, format!("{key}.{path}: {error}")))?;
    }
    Ok(one)
}

fn text_of(node: &Node) -> Option<String> {
    match node.value {
        Value::Null => Some("null".to_owned()),
        _ => node.scalar(),
    }
}

fn range(path: &'static str, node: &Node) -> Result<FreeValues, ScenarioError> {
    let prefix = format!("{path}.");
    let table = Table::new(node, &prefix, &["from", "to", "scale"])?;
    let number = |text: &str| {
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| crate::table::ValueError::form(text, "a number"))
    };
    let from = table.required("from", number)?;
    let to = table.required("to", number)?;
    let scale = table.one("scale", crate::table::text)?;
    let is_log = match scale.as_deref() {
        None | Some("linear") => false,
        Some("log") => true,
        Some(other) => {
            return Err(table.error("scale", format_args!("linear or log is expected, got {other}")));
        }
    };
    // A logarithmic range has no zero in it.
    if from >= to || (is_log && from <= 0.0) {
        let least = if is_log {
            "from must be above 0 and below to"
        } else {
            "from must be below to"
        };
        return Err(table.error("from", format_args!("{least} ({to}), got {from}")));
    }
    // The network's own type says whether a parameter is a whole number: no list of them has to be kept.
    let is_whole = parameter::set(&Config::default(), path, "0.5").is_err();
    Ok(FreeValues::Range {
        from,
        to,
        is_log,
        is_whole,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_number_of_a_range_keeps_its_digits() {
        let text = "wirecost: 1\nfree: {npdcch.failure: {from: 0.00001, to: 0.001, scale: log}}";
        let read = FreeParameters::read(text).expect("a file");
        assert_eq!(
            [0.0, 0.5, 1.0].map(|place| read.free[0].at(place)),
            ["0.00001", "0.0001", "0.001"]
        );
    }

    #[test]
    fn free_parameters_have_bounds_and_a_scale() {
        let text = "wirecost: 1\nsolved: {scenario.isd_m: {from: 1500, to: 5000}}\nfree:\n  levels.ce0.npdcch_g: [1.5, 2]\n  \
            random_access.give_up_ms: {from: 1000, to: 64000, scale: log}\n  rrc.removal_ms: [null, 40]\n";
        let read = FreeParameters::read(text).expect("a file");
        assert_eq!(read.solved.map(|one| one.at(0.5)), Some("3250".to_owned()));
        let ends = |index: usize| [0.0, 0.5, 0.999].map(|place| read.free[index].at(place));
        assert_eq!(ends(0), ["1.5", "2", "2"]);
        assert_eq!(ends(1), ["1000", "8000", "63734"]);
        assert_eq!(ends(2), ["null", "40", "40"]);
    }

    #[test]
    fn a_file_that_frees_nothing_for_certain_is_refused_with_its_line() {
        for (text, expected) in [
            (
                "free: {rlc.max_retransmissions: [1, 2]}",
                "the version of the format is missing",
            ),
            (
                "wirecost: 1\nfree: {rlc.max_retransmissions: 4}",
                "line 2: free.rlc.max_retransmissions: a free parameter has bounds",
            ),
            (
                "wirecost: 1\nfree: {rlc.max_retransmissions: {from: 1}}",
                "line 2: ",
            ),
            (
                "wirecost: 1\nfree: {rlc.max_retransmissions: {from: 8, to: 1}}",
                "line 2: rlc.max_retransmissions.from: from must be below to",
            ),
            (
                "wirecost: 1\nfree: {rlc.retransmissions: [1]}",
                "line 2: no parameter is called rlc.retransmissions",
            ),
            (
                "wirecost: 1\nfree: {rlc.max_retransmissions: {from: 1, to: nan}}",
                "line 2: ",
            ),
            (
                "wirecost: 1\nfree: {rrc.flow: [setup, sett, resume]}",
                "line 2: free.rrc.flow: rrc.flow must be",
            ),
            (
                "wirecost: 1\nsolved: {scenario.isd_m: [1, 2]}",
                "line 2: solved.scenario.isd_m: from and to are expected",
            ),
            ("wirecost: 1\nfree: {}", "it has no parameter"),
        ] {
            let error = FreeParameters::read(text).expect_err(text).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
