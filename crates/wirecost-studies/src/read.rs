//! Reads `claims.yaml`. Every error has the line of the value that causes it.

use std::fmt::Display;

use wirecost_scenario::error::ScenarioError;
use wirecost_scenario::node::{Node, Value};
use wirecost_scenario::table::{Table, meant, text, time};
use wirecost_stats::estimate::MARGIN;

use crate::claims::{Claim, Claims, Difference, List, NeededRun, Note, Point, Run, VERSION};
use crate::verdict::Verdict;

mod bounds;
mod plots;
mod points;
mod rule;

const KEYS: [&str; 11] = [
    "wirecost",
    "study",
    "source",
    "setup",
    "runs",
    "claims",
    "recomputed",
    "further",
    "plots",
    "tables",
    "notes",
];
const CLAIM_KEYS: [&str; 26] = [
    "id",
    "again",
    "says",
    "where",
    "for",
    "published",
    "value",
    "ratio",
    "order",
    "trend",
    "limit",
    "arithmetic",
    "model",
    "curves",
    "beside",
    "within",
    "apart",
    "measured",
    "bound",
    "readings",
    "no_other_reading",
    "lacks",
    "explored",
    "needs",
    "suspects",
    "expect",
];

impl Claims {
    /// Reads the text of a claims file.
    ///
    /// # Errors
    /// The first error in it, with its line.
    pub fn read(text: &str) -> Result<Self, ScenarioError> {
        let root = Node::parse(text)?;
        check_version(&root)?;
        let table = Table::new(&root, "", &KEYS)?;
        let runs = runs(&table)?;
        let mut claims = Vec::new();
        for list in List::ALL {
            for node in listed(&root, list.key(), "a list of claims is expected")? {
                claims.push(claim(node, list, &runs)?);
            }
        }
        let notes = listed(&root, "notes", "a list of notes is expected")?
            .iter()
            .map(note)
            .collect::<Result<Vec<_>, _>>()?;
        let claims = Self {
            study: table.required("study", self::text)?,
            source: source(&table)?,
            setup: listed(&root, "setup", "a list of differences is expected")?
                .iter()
                .map(difference)
                .collect::<Result<_, _>>()?,
            plots: plots::plots(&root, &runs)?,
            tables: plots::tables(&root, &runs)?,
            runs,
            claims,
            notes,
        };
        check_names(&root, &claims)?;
        // After all are read: a claim may name one that follows it.
        for claim in &claims.claims {
            check_again(claim, &claims.claims)?;
        }
        Ok(claims)
    }
}

fn check_version(root: &Node) -> Result<(), ScenarioError> {
    let version = root.get("wirecost").and_then(Node::scalar);
    if version.as_deref() == Some("1") {
        return Ok(());
    }
    let place = &root.get("wirecost").unwrap_or(root).place;
    let message = match version {
        None => "the version of the format is missing".to_owned(),
        Some(other) => format!("wirecost: this version reads claims of version {VERSION}, not {other}"),
    };
    Err(ScenarioError::new(place, message).with_hint("begin the file with: wirecost: 1"))
}

fn source(table: &Table<'_>) -> Result<String, ScenarioError> {
    let Some(node) = table.get("source") else {
        return Err(table.error("source", "the publication is missing"));
    };
    match node.scalar() {
        Some(text) => Ok(text),
        None => Table::new(node, "source.", &["text", "file"])?.required("text", text),
    }
}

/// The names and files of the runs.
fn runs(table: &Table<'_>) -> Result<Vec<Run>, ScenarioError> {
    let Some(node) = table.get("runs") else {
        return Ok(Vec::new());
    };
    let Some(entries) = node.entries() else {
        return Err(table
            .error("runs", "a table of names and scenarios is expected")
            .with_hint("for example runs: {publish: publish.yaml}"));
    };
    let run = |(key, node): &(wirecost_scenario::node::Key, Node)| {
        let name = key.name.clone();
        if let Some(scenario) = node.scalar() {
            return Ok(Run {
                name,
                scenario,
                takes: None,
                takes_quick: None,
            });
        }
        if node.entries().is_none() {
            return Err(at(node, format!("runs.{name}: a file is expected")));
        }
        let table = Table::new(node, "runs.", &["file", "takes", "quick"])?;
        Ok(Run {
            name,
            scenario: table.required("file", text)?,
            takes: table.one("takes", time)?,
            takes_quick: table.one("quick", time)?,
        })
    };
    entries.iter().map(run).collect()
}

fn difference(node: &Node) -> Result<Difference, ScenarioError> {
    let table = Table::new(node, "setup.", &["differs", "source", "ours", "touches"])?;
    Ok(Difference {
        differs: table.required("differs", text)?,
        source: table.required("source", text)?,
        ours: table.required("ours", text)?,
        touches: table.many("touches", text)?,
    })
}

fn note(node: &Node) -> Result<Note, ScenarioError> {
    let table = Table::new(node, "notes.", &["id", "says", "where", "why"])?;
    Ok(Note {
        id: table.required("id", text)?,
        says: table.required("says", text)?,
        place: table.one("where", text)?.unwrap_or_default(),
        why: table.required("why", text)?,
    })
}

fn claim(node: &Node, list: List, runs: &[Run]) -> Result<Claim, ScenarioError> {
    let table = Table::new(node, "", &CLAIM_KEYS)?;
    let within = table.one("within", share)?;
    let claim = Claim {
        id: table.required("id", text)?,
        at: node.place.clone(),
        list,
        rule: rule::rule(node, list),
        again: table.many("again", text)?,
        says: table.required("says", text)?,
        place: table.one("where", text)?.unwrap_or_default(),
        points: points::points(node)?,
        within,
        apart: table.one("apart", share)?.unwrap_or(MARGIN),
        measured: table.one("measured", text)?,
        lacks: table.many("lacks", text)?,
        no_other_reading: table.one("no_other_reading", text)?,
        explored: points::explored(&table)?,
        needs: table.many("needs", text)?,
        suspects: points::suspects(node)?,
        expect: expected(&table)?,
    };
    check_runs(node, &claim, runs)?;
    Ok(claim)
}

/// A tolerance: a share that is not below 0.
fn share(text: &str) -> Result<f64, wirecost_scenario::table::ValueError> {
    let number = text
        .strip_suffix('%')
        .and_then(|number| number.trim().parse::<f64>().ok());
    number
        .filter(|number| *number >= 0.0)
        .map(|number| number / 100.0)
        .ok_or_else(|| wirecost_scenario::table::ValueError::form(text, "a tolerance: write 5%"))
}

fn expected(table: &Table<'_>) -> Result<Option<Verdict>, ScenarioError> {
    let Some(name) = table.one("expect", text)? else {
        return Ok(None);
    };
    let names: Vec<&'static str> = Verdict::ALL.iter().map(|verdict| verdict.name()).collect();
    Verdict::by_name(&name).map(Some).ok_or_else(|| {
        table
            .error("expect", format!("{name:?} is not a verdict"))
            .with_hint(meant(&name, &names))
    })
}

/// Every run of a figure must be in `runs`.
fn check_runs(node: &Node, claim: &Claim, runs: &[Run]) -> Result<(), ScenarioError> {
    let is_known = |needed: &NeededRun| runs.iter().any(|run| run.name == needed.base);
    match claim.runs().into_iter().find(|needed| !is_known(needed)) {
        None => Ok(()),
        Some(needed) => {
            let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
            let message = format!("{}: {:?} is none of the runs", claim.id, needed.base);
            Err(at(node, message).with_hint(format!("runs has {}", names.join(", "))))
        }
    }
}

/// What a claim judges again are as many numbers as it has, and the same ones. What the publication leaves out is so in every row.
fn check_again(claim: &Claim, all: &[Claim]) -> Result<(), ScenarioError> {
    let wrong = |why: String| {
        Err(
            ScenarioError::new(&claim.at, format!("{}: again: {why}", claim.id))
                .with_hint("again names the claims that have the same published numbers, in their order"),
        )
    };
    let mut numbers: Vec<&Point> = Vec::new();
    for name in &claim.again {
        let is_it =
            // No chains: a number is counted at the row that has it first, and only there.
            |other: &&Claim| other.id == *name && other.again.is_empty() && other.list == List::Claims;
        let Some(first) = all.iter().find(is_it) else {
            return wrong(format!("{name:?} is no claim that has numbers of its own"));
        };
        if let Some(lacked) = first.lacks.iter().find(|lacked| !claim.lacks.contains(lacked)) {
            return wrong(format!(
                "{name} lacks {lacked:?}, and so does whoever judges it again"
            ));
        }
        numbers.extend(&first.points);
    }
    if claim.again.is_empty() {
        return Ok(());
    }
    let text = |point: &Point| point.published.as_ref().map(ToString::to_string);
    let published: Vec<Option<String>> = numbers.into_iter().map(text).collect();
    let own: Vec<Option<String>> = claim.points.iter().map(text).collect();
    match own == published {
        true => Ok(()),
        false => wrong(format!("{own:?} are not {published:?}")),
    }
}

/// Every id is there once.
fn check_names(root: &Node, claims: &Claims) -> Result<(), ScenarioError> {
    let ids = claims.claims.iter().map(|claim| &claim.id);
    let ids: Vec<&String> = ids.chain(claims.notes.iter().map(|note| &note.id)).collect();
    let twice = (1..ids.len()).find(|at| ids[..*at].contains(&ids[*at]));
    let Some(index) = twice else {
        return Ok(());
    };
    let nodes = |key: &str| root.get(key).and_then(list).unwrap_or_default();
    let lists = List::ALL.into_iter().map(List::key).chain(["notes"]);
    let all: Vec<&Node> = lists.flat_map(nodes).collect();
    let place = all.get(index).copied().unwrap_or(root);
    Err(at(place, format!("the id {:?} is there twice", ids[index])))
}

/// The entries of a list; none if the key is not there.
fn listed<'a>(node: &'a Node, key: &str, expected: &str) -> Result<&'a [Node], ScenarioError> {
    match node.get(key) {
        None => Ok(&[]),
        Some(inner) => list(inner).ok_or_else(|| at(inner, format!("{key}: {expected}"))),
    }
}

fn list(node: &Node) -> Option<&[Node]> {
    match &node.value {
        Value::List(nodes) => Some(nodes),
        _ => None,
    }
}

fn at(node: &Node, message: impl Display) -> ScenarioError {
    ScenarioError::new(&node.place, message.to_string())
}

#[cfg(test)]
mod tests;
