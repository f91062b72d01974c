//! Budget files: what the figures of scenarios, and of a capture, may be.
//!
//! A limit has the words of a threshold (`mean<=166B`; `= 166 B` is short for `mean==166B`), or says how far a figure may be above that
//! of an earlier run (`<= 2% above`).

pub mod limit;

use std::net::IpAddr;
use std::time::Duration;

use wirecost_results::catalogue::{Metric, Of};

use crate::Work;
use crate::error::{Place, ScenarioError};
use crate::figure::versioned;
use crate::key::Holds::{self, ByName, Either, List, Scalar, Text};
use crate::key::{TIME, defined, keys, names};
use crate::node::{Key, Node};
use crate::selector::{DEVICE, Selector, TARIFF};
use crate::table::{Table, parsed, text, time};
use crate::thresholds::nature::modelled_by;
use crate::thresholds::{named, of_key, unnamed_file};

pub use limit::BudgetLimit;

/// The names of scenarios, which folders have too.
const NAME: &str = "^[A-Za-z0-9][A-Za-z0-9_.-]*$";

/// A value of a scenario: one, a list, or a table.
const VALUE: Holds = Either(&[
    Scalar,
    List(0, &Either(&[Scalar, ByName("", &INNER)])),
    ByName("", &INNER),
]);
const INNER: Holds = Either(&[Scalar, List(0, &Scalar)]);

keys! {
    /// A budget.
    pub FILE {
        must wirecost_budget Holds::Version => "Version of this format.";
        may name Text => "What a person calls it.";
        may scenarios ByName(NAME, &Holds::Table(SCENARIO)) => "Scenarios by name, which are simulated, each with its limits.";
        may capture Holds::Table(CAPTURE) => "Limits of the capture of --capture.";
    }
    /// A scenario of a budget.
    pub SCENARIO {
        either file Text => "The file of a comparison, beside the budget.";
        either run ByName("", &VALUE) => "The keys of a comparison, as a scenario file has them.";
        must limits Holds::Of(&LIMITS) => "What its figures may be.";
    }
    /// What a capture may hold.
    pub CAPTURE {
        may client Text => "The address of the device, where the capture has several.";
        may interval Holds::Of(&TIME) => "The time from one reading to the next, where it is not that of the capture.";
        must limits Holds::Of(&LIMITS) => "What its figures may be.";
    }
}

defined! {
    LIMITS "limits" ByName("", &Either(&[Text, List(1, &Text)]))
        => "Limits by metric{selector}: = 166 B, mean<=300mJ, or <= 2% above the figure of the earlier run.";
}

/// A budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// Its name.
    pub name: Option<String>,
    /// Its scenarios, in the order of the file.
    pub scenarios: Vec<Budgeted>,
    /// What it says of a capture.
    pub capture: Option<OfCapture>,
}

/// A scenario with its limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Budgeted {
    /// Its name.
    pub name: String,
    /// Its place in the budget.
    pub place: Place,
    /// What is run.
    pub source: ScenarioIn,
    limits: Node,
}

/// Where a scenario is written.
#[derive(Clone, Debug, PartialEq)]
pub enum ScenarioIn {
    /// In a file, whose path is from the folder of the budget.
    File(String),
    /// In the budget.
    Inline(Node),
}

/// The limits of a capture.
#[derive(Clone, Debug, PartialEq)]
pub struct OfCapture {
    /// Their place in the budget.
    pub place: Place,
    /// The device.
    pub client: Option<IpAddr>,
    /// The time from one reading to the next.
    pub interval: Option<Duration>,
    /// The limits.
    pub limits: Vec<BudgetLimit>,
}

impl Budget {
    /// Reads a budget. The limits of a scenario are read when it is known what it runs.
    ///
    /// # Errors
    /// It is not a budget; the error has the line.
    pub fn read(file: &str) -> Result<Self, ScenarioError> {
        let file = Node::parse(file)?;
        let table = versioned(&file, "budget", "wirecost_budget", &names(FILE))?;
        let scenarios = match table.get("scenarios") {
            None => Vec::new(),
            Some(node) => scenarios(node)?,
        };
        let capture = table.get("capture").map(capture).transpose()?;
        if scenarios.is_empty() && capture.is_none() {
            return Err(ScenarioError::new(&file.place, "the budget limits nothing")
                .with_hint("give it scenarios or a capture: docs/budget.md begins with one"));
        }
        Ok(Self {
            name: table.one("name", text)?,
            scenarios,
            capture,
        })
    }
}

impl Budgeted {
    /// The limits of the scenario, each of a figure that it has.
    ///
    /// # Errors
    /// A metric or a dimension is unknown, nothing of the scenario is what a limit selects, or the limit cannot be read.
    pub fn limits(&self, work: &Work) -> Result<Vec<BudgetLimit>, ScenarioError> {
        let prefix = format!("{}: limits", self.name);
        limits(&self.limits, |key| of_key(&prefix, key, work))
    }
}

fn scenarios(node: &Node) -> Result<Vec<Budgeted>, ScenarioError> {
    let Some(entries) = node.entries() else {
        let message = format!("scenarios: a table of names is expected, this is {}", node.kind());
        return Err(ScenarioError::new(&node.place, message));
    };
    entries.iter().map(|(key, node)| scenario(key, node)).collect()
}

fn scenario(key: &Key, node: &Node) -> Result<Budgeted, ScenarioError> {
    let name = &key.name;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    if !name.bytes().all(is_plain) || !name.starts_with(|first: char| first.is_ascii_alphanumeric()) {
        let message = format!("scenarios: {name:?} is no name of a folder");
        return Err(ScenarioError::new(&key.place, message)
            .with_hint("a name has letters, digits, full stops, hyphens and underscores"));
    }
    // The command writes these beside the folders of the scenarios, or calls a part of its results so.
    if ["capture", "capture.json", "budget.json"].contains(&name.as_str()) {
        let message = format!("scenarios: {name:?} is a name of the command's own results");
        return Err(ScenarioError::new(&key.place, message).with_hint("give the scenario another name"));
    }
    let prefix = format!("scenarios.{name}.");
    let table = Table::new(node, &prefix, &names(SCENARIO))?;
    let source = match (table.one("file", text)?, table.get("run")) {
        (Some(file), None) => ScenarioIn::File(file),
        (None, Some(run)) => ScenarioIn::Inline(run.clone()),
        (Some(_), Some(_)) | (None, None) => {
            let message = format!("scenarios.{name}: one of file and run is expected");
            return Err(ScenarioError::new(&key.place, message)
                .with_hint("write file: meter.yaml, or run: {stack: coap-con, size: 64B}"));
        }
    };
    Ok(Budgeted {
        name: name.clone(),
        place: key.place.clone(),
        source,
        limits: limited(&table, &key.place)?.clone(),
    })
}

fn capture(node: &Node) -> Result<OfCapture, ScenarioError> {
    let table = Table::new(node, "capture.", &names(CAPTURE))?;
    let interval = table.one("interval", time)?;
    if interval.is_some_and(|interval| interval.is_zero()) {
        return Err(table.error("interval", "it must be more than 0 s"));
    }
    let of_cells = Metric::all(Of::Cells);
    let of = |key: &Key| -> Result<(Metric, Selector), ScenarioError> {
        let found = named(&key.name, &of_cells, &[DEVICE, TARIFF]);
        let (metric, selector) =
            found.map_err(|why| ScenarioError::new(&key.place, format!("capture.limits: {why}")))?;
        match modelled_by(metric).filter(|file| !selector.names(file)) {
            Some(file) => Err(unnamed_file("capture.limits", key, metric, file)),
            None => Ok((metric, selector)),
        }
    };
    Ok(OfCapture {
        place: node.place.clone(),
        client: table.one("client", parsed)?,
        interval,
        limits: limits(limited(&table, &node.place)?, of)?,
    })
}

fn limited<'a>(table: &Table<'a>, place: &Place) -> Result<&'a Node, ScenarioError> {
    let missing = || {
        ScenarioError::new(place, "limits is missing").with_hint("for example limits: {all_in: \"<= 170 B\"}")
    };
    table.get("limits").ok_or_else(missing)
}

/// The limits of a table, in which `of` finds the figure of a key.
fn limits(
    node: &Node,
    of: impl Fn(&Key) -> Result<(Metric, Selector), ScenarioError>,
) -> Result<Vec<BudgetLimit>, ScenarioError> {
    let entries = node
        .entries()
        .filter(|entries| !entries.is_empty())
        .ok_or_else(|| {
            let message = format!("limits: a table of metrics is expected, this is {}", node.kind());
            ScenarioError::new(&node.place, message).with_hint("for example all_in: \"<= 170 B\"")
        })?;
    let mut all = Vec::new();
    for (key, node) in entries {
        let (metric, selector) = of(key)?;
        for node in crate::thresholds::listed(node) {
            all.push(BudgetLimit::read(&key.name, (metric, &selector), node)?);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Edits, Scenario, load::ScenarioInputs};

    const HEAD: &str = "wirecost_budget: 1\nscenarios:\n  meter:\n    run: {stack: [coap-con, mqtt-qos1], size: 64B}\n    limits:\n";

    fn read(text: &str) -> Result<Vec<BudgetLimit>, ScenarioError> {
        let budget = Budget::read(text)?;
        let one = &budget.scenarios[0];
        let ScenarioIn::Inline(node) = &one.source else {
            panic!("the scenario is in the budget");
        };
        let edits = Edits {
            set: &["engine=sim".to_owned()],
            vary: &[],
        };
        let scenario = Scenario::of_node(node.clone(), edits, ScenarioInputs::NONE)?;
        one.limits(&scenario.work)
    }

    #[test]
    fn a_limit_is_exact_or_has_a_tolerance_above_an_earlier_figure() {
        let limits = read(&format!(
            "{HEAD}      bytes_per_msg{{stack=coap-con}}: = 241 B\n      all_in: ['<= 2 % above', 'mean<=300B']\n"
        ))
        .expect("limits");
        let [exact, above, most] = limits.as_slice() else {
            panic!("three limits: {limits:?}");
        };
        assert_eq!(
            [240.0, 241.0, 242.0].map(|after| exact.holds(after, None, None)),
            [Some(false), Some(true), Some(false)]
        );
        assert_eq!(above.holds(1e9, None, None), None, "nothing to compare with");
        let judged = [101.9, 102.0, 102.1].map(|after| above.holds(after, Some(100.0), None));
        assert_eq!(judged, [Some(true), Some(true), Some(false)]);
        assert_eq!(most.holds(300.0, Some(1.0), None), Some(true));
    }

    #[test]
    fn what_is_no_budget_is_refused_with_its_line() {
        for (limit, line, expected) in [
            ("all_in: <= 3mJ", 6, "all_in"),
            ("all_in: <= 3 above", 6, "write 2% or 10B"),
            ("all_inn: <= 3B", 6, "did you mean \"all_in\"?"),
            (
                "all_in{stack=coap-non}: <= 3B",
                6,
                "nothing of this run is {stack=coap-non}",
            ),
            ("all_in{stack=coapp}: <= 3B", 6, "unknown stack"),
            ("energy: <= 3mJ", 6, "names no device"),
            ("month_price{tariff=1nce}: <= 3 EUR", 6, "1nce charges USD"),
            ("month_price{tariff=1nce}: <= 3", 6, "write 0.12 USD"),
        ] {
            let error = read(&format!("{HEAD}      {limit}\n")).expect_err(limit);
            let said = format!("{error} {}", error.hint().unwrap_or_default());
            assert!(said.contains(expected), "{limit}: {said}");
            assert_eq!(error.line(), Some(line), "{limit}: {said}");
        }
        let both = "wirecost_budget: 1\nscenarios:\n  a:\n    file: a.yaml\n    run: {stack: tcp}\n    limits: {all_in: = 1B}\n";
        assert!(
            Budget::read(both)
                .expect_err("both")
                .to_string()
                .contains("one of file and run")
        );
        let own = Budget::read(
            "wirecost_budget: 1\nscenarios:\n  budget.json: {file: a.yaml, limits: {all_in: = 1B}}\n",
        );
        let own = own.expect_err("a name of the command's own");
        assert!(
            own.to_string().contains("own results") && own.line() == Some(3),
            "{own}"
        );
        let zero = Budget::read("wirecost_budget: 1\ncapture: {interval: 0s, limits: {all_in: = 1B}}\n");
        let zero = zero.expect_err("no time between readings").to_string();
        assert!(
            zero.contains("interval") && zero.contains("more than 0 s"),
            "{zero}"
        );
        let nothing = Budget::read("wirecost_budget: 1\n").expect_err("nothing");
        assert!(nothing.to_string().contains("limits nothing"), "{nothing}");
    }
}
