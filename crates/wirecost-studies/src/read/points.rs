//! The points of a claim: one for each combination of the values in `for`, whose names stand for values as `$name`.

use std::fmt::Display;

use wirecost_scenario::error::ScenarioError;
use wirecost_scenario::node::{Node, Value};
use wirecost_scenario::table::{Table, meant, text};

use super::{at, bounds, list};
use crate::amount::{Dimension, Published};
use crate::arithmetic::compute;
use crate::bound::Bound;
use crate::claims::{Curves, Explored, Limit, Point, Position, Question, Shape, Suspect, TextReading, Trend};
use crate::model::Model;
use crate::reference::Reference;

/// The most points of a claim.
const MAX_POINTS: usize = 1_000;
/// The key of what the text can mean.
const READINGS: &str = "readings";
/// The keys of which a claim, or a reading, has one.
const QUESTIONS: [&str; 8] = [
    "value",
    "ratio",
    "order",
    "trend",
    "limit",
    "curves",
    "model",
    "arithmetic",
];

/// The values of one dimension of `for`, or of one point: names with values.
type Named = Vec<(String, String)>;

/// The points of a claim.
///
/// # Errors
/// A value cannot be read, or the published numbers are not as many as the points.
pub(super) fn points(claim: &Node) -> Result<Vec<Point>, ScenarioError> {
    let combinations = combinations(claim)?;
    let published = published(claim, combinations.len())?;
    let point = |(values, published): (Named, Option<Published>)| {
        let node = substituted(claim, &values);
        Ok(Point {
            at: values,
            readings: readings(&node, published.as_ref())?,
            published,
            beside: beside(&node)?,
        })
    };
    combinations.into_iter().zip(published).map(point).collect()
}

/// What the text of a claim can mean: its readings, or the claim itself where it names none.
fn readings(claim: &Node, published: Option<&Published>) -> Result<Vec<TextReading>, ScenarioError> {
    let Some(node) = claim.get(READINGS) else {
        return Ok(vec![TextReading {
            name: String::new(),
            question: asked(claim, claim, published)?,
            bound: bound(claim, published)?,
        }]);
    };
    let nodes = list(node).filter(|nodes| !nodes.is_empty());
    let nodes = nodes.ok_or_else(|| {
        at(node, "readings: a list of what the text can mean is expected")
            .with_hint("for example readings: [{name: twenty messages in flight, value: ...}]")
    })?;
    if let Some(key) = QUESTIONS
        .iter()
        .chain(&["bound"])
        .find(|key| claim.get(key).is_some())
    {
        let message = format!("{key}: the claim has readings, and each reading has its own");
        return Err(at(claim, message).with_hint(format!("write {key} in the readings that it holds for")));
    }
    nodes.iter().map(|node| reading(claim, node, published)).collect()
}

fn reading(claim: &Node, node: &Node, published: Option<&Published>) -> Result<TextReading, ScenarioError> {
    let keys: Vec<&str> = ["name", "bound"].into_iter().chain(QUESTIONS).collect();
    let table = Table::new(node, "readings.", &keys)?;
    let has_question = QUESTIONS.iter().any(|key| node.get(key).is_some());
    Ok(TextReading {
        name: table.required("name", text)?,
        question: match has_question {
            true => asked(claim, node, published)?,
            false => Question::Unmeasured,
        },
        bound: bound(node, published)?,
    })
}

/// The bound of a claim or of one of its readings, in the unit of the published number.
fn bound(node: &Node, published: Option<&Published>) -> Result<Option<Bound>, ScenarioError> {
    let bound = bounds::bound(node)?;
    if let (Some(bound), Some(published)) = (&bound, published)
        && bound.amount.dimension != published.amount.dimension
    {
        let message = format!(
            "bound: {} has another unit than the published {published}",
            bound.amount
        );
        let hint = "a bound has the unit of the number that it is a bound of";
        return Err(at(node.get("bound").unwrap_or(node), message).with_hint(hint));
    }
    Ok(bound)
}

/// The figures that are shown beside the result.
fn beside(claim: &Node) -> Result<Vec<Reference>, ScenarioError> {
    let Some(node) = claim.get("beside") else {
        return Ok(Vec::new());
    };
    let nodes = list(node).ok_or_else(|| at(node, "beside: a list of figures is expected"))?;
    nodes.iter().map(reference).collect()
}

/// Every combination of the values in `for`; one without values if there is none.
fn combinations(claim: &Node) -> Result<Vec<Named>, ScenarioError> {
    let mut all: Vec<Named> = vec![Vec::new()];
    let Some(node) = claim.get("for") else {
        return Ok(all);
    };
    let expected = || {
        at(
            node,
            "for: a table of names and lists is expected, e.g. {link.rtt: [5ms, 25ms]}",
        )
    };
    for (key, values) in node.entries().ok_or_else(expected)? {
        let values = list(values)
            .filter(|values| !values.is_empty())
            .ok_or_else(expected)?;
        let values: Vec<String> = values.iter().filter_map(Node::scalar).collect();
        all = all
            .iter()
            .flat_map(|one| {
                values.iter().map(move |value| {
                    let mut one = one.clone();
                    one.push((key.name.clone(), value.clone()));
                    one
                })
            })
            .collect();
        // Within the loop, before the next list multiplies them again.
        if all.len() > MAX_POINTS {
            return Err(at(node, format!("for: more than {MAX_POINTS} points")));
        }
    }
    Ok(all)
}

/// The published number of each point.
fn published(claim: &Node, points: usize) -> Result<Vec<Option<Published>>, ScenarioError> {
    let Some(node) = claim.get("published") else {
        return Ok(vec![None; points]);
    };
    let read = |node: &Node| {
        let text = node
            .scalar()
            .ok_or_else(|| at(node, "published: a number is expected"))?;
        Published::read(&text).map_err(|error| {
            at(node, format!("published: {error}"))
                .with_hint("write the number with its unit, e.g. published: 0.17mAh")
        })
    };
    let Some(nodes) = list(node) else {
        return Ok(vec![Some(read(node)?); points]);
    };
    // Numbers would belong to other points than the reader of the file thinks.
    if nodes.len() != points {
        let message = format!("published: {} numbers for {points} points", nodes.len());
        return Err(at(node, message).with_hint("for has a value for each number"));
    }
    nodes.iter().map(|node| read(node).map(Some)).collect()
}

/// The claim with `$name` replaced by the value of the point.
fn substituted(node: &Node, values: &[(String, String)]) -> Node {
    let replace = |text: &str| {
        // Of names that begin alike, the longer one is meant.
        let mut values: Vec<&(String, String)> = values.iter().collect();
        values.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        let replaced = values.iter().fold(text.to_owned(), |text, (name, value)| {
            text.replace(&format!("${name}"), value)
        });
        Value::Text(replaced)
    };
    let value = match &node.value {
        Value::Text(text) if text.contains('$') => replace(text),
        Value::List(nodes) => Value::List(nodes.iter().map(|node| substituted(node, values)).collect()),
        Value::Table(entries) => {
            let entry =
                |(key, node): &(wirecost_scenario::node::Key, Node)| (key.clone(), substituted(node, values));
            Value::Table(entries.iter().map(entry).collect())
        }
        other => other.clone(),
    };
    Node::at(&node.place, value)
}

/// What is measured by `node`, which is the claim or one of its readings, in the unit of the published number.
fn asked(claim: &Node, node: &Node, published: Option<&Published>) -> Result<Question, ScenarioError> {
    let question = question(claim, node)?;
    check_unit(node, &question, published)?;
    Ok(question)
}

/// What is measured by `node`.
fn question(claim: &Node, node: &Node) -> Result<Question, ScenarioError> {
    let mut asked = QUESTIONS.iter().filter_map(|key| Some((*key, node.get(key)?)));
    let question = match asked.next() {
        None if claim.get("bound").is_some() || claim.get("needs").is_some() => {
            // A bound alone can exclude a number. What needs something that is absent here may be measured elsewhere.
            return Ok(Question::Unmeasured);
        }
        None => {
            let message = "the claim measures nothing";
            return Err(at(claim, message).with_hint(format!("give one of {}", QUESTIONS.join(", "))));
        }
        Some(("value", node)) => Question::Value(reference(node)?),
        Some(("ratio", node)) => ratio(node)?,
        Some(("order", node)) => order(node)?,
        Some(("trend", node)) => trend(node)?,
        Some(("limit", node)) => limit(node)?,
        Some(("curves", node)) => curves(node)?,
        Some(("model", node)) => model(node)?,
        Some((_, node)) => {
            let text = node
                .scalar()
                .ok_or_else(|| at(node, "arithmetic: an expression is expected"))?;
            let result = compute(&text).map_err(|error| {
                at(node, format!("arithmetic: {error}"))
                    .with_hint("for example arithmetic: \"2000 mAh / 9243\"")
            })?;
            Question::Arithmetic { text, result }
        }
    };
    // The verdict would be of one of them, and the reader would not know which.
    if let Some((key, node)) = asked.next() {
        let message = format!("{key}: a claim measures one thing, and this one has another already");
        return Err(at(node, message).with_hint("make a claim of its own of it"));
    }
    let needs_number = matches!(
        question,
        Question::Value(_) | Question::Ratio(_) | Question::Model(_) | Question::Arithmetic { .. }
    );
    if needs_number && claim.get("published").is_none() {
        return Err(at(claim, "published: the published number is missing"));
    }
    Ok(question)
}

/// The published number has the unit of what is measured for it.
fn check_unit(claim: &Node, question: &Question, published: Option<&Published>) -> Result<(), ScenarioError> {
    let (key, unit) = match question {
        Question::Ratio(_) => ("ratio", Dimension::NONE),
        Question::Arithmetic { result, .. } => ("arithmetic", result.dimension),
        Question::Model(model) => ("model", model.dimension),
        Question::Value(of) => (
            "value",
            Dimension::from_quantity(of.metric.quantity_of(of.aggregation)),
        ),
        Question::Order(_)
        | Question::Trend(_)
        | Question::Limit(_)
        | Question::Curves(_)
        | Question::Unmeasured => {
            return Ok(());
        }
    };
    match published.filter(|published| published.amount.dimension != unit) {
        None => Ok(()),
        Some(published) => {
            let message = format!("{key}: it has another unit than the published {published}");
            let hint = match question {
                Question::Model(_) => "[energy] / V is a charge, and [energy] / time a power",
                _ => "a published number has the unit of what is measured for it",
            };
            Err(at(claim, message).with_hint(hint))
        }
    }
}

/// An expression of figures and powers.
fn model(node: &Node) -> Result<Question, ScenarioError> {
    let text = node
        .scalar()
        .ok_or_else(|| at(node, "model: an expression is expected"))?;
    let model = Model::read(&text).map_err(|error| {
        at(node, format!("model: {error}"))
            .with_hint("for example model: \"2 Ah * 5 V / [idle of raspberry-pi-2b-3g]\"")
    })?;
    Ok(Question::Model(Box::new(model)))
}

pub(super) fn reference(node: &Node) -> Result<Reference, ScenarioError> {
    let text = node
        .scalar()
        .ok_or_else(|| at(node, "a figure is expected, e.g. publish/response_time p(50)"))?;
    Reference::read(&text).map_err(|error| at(node, error))
}

fn ratio(node: &Node) -> Result<Question, ScenarioError> {
    match list(node) {
        Some([one, other]) => {
            let both = [reference(one)?, reference(other)?];
            of_one_unit(node, "ratio", &both)?;
            Ok(Question::Ratio(Box::new(both)))
        }
        _ => Err(at(node, "ratio: two figures are expected")),
    }
}

fn order(node: &Node) -> Result<Question, ScenarioError> {
    let nodes = list(node).filter(|nodes| nodes.len() >= 2);
    let nodes = nodes.ok_or_else(|| at(node, "order: at least two figures are expected, the least first"))?;
    let all = nodes.iter().map(reference).collect::<Result<Vec<_>, _>>()?;
    of_one_unit(node, "order", &all)?;
    Ok(Question::Order(all))
}

/// Figures that are compared with one another are in one unit.
fn of_one_unit(node: &Node, key: &str, all: &[Reference]) -> Result<(), ScenarioError> {
    let unit = |of: &Reference| Dimension::from_quantity(of.metric.quantity_of(of.aggregation));
    match all.iter().find(|other| unit(other) != unit(&all[0])) {
        None => Ok(()),
        Some(other) => {
            let message = format!("{key}: {} and {other} have different units", all[0]);
            Err(at(node, message).with_hint("figures of one unit can be compared"))
        }
    }
}

fn trend(node: &Node) -> Result<Question, ScenarioError> {
    let table = Table::new(node, "trend.", &["of", "over", "is", "slope"])?;
    let of = table
        .get("of")
        .ok_or_else(|| at(node, "trend.of: the figure is missing"))?;
    let name = table.required("is", text)?;
    let slope = table.one("slope", |text| {
        Published::read(text)
            .map(|slope| slope.amount.value)
            .map_err(|error| wirecost_scenario::table::ValueError::Refused(error.to_string()))
    })?;
    let shape = match name.as_str() {
        "constant" => Shape::Constant,
        "grows" => Shape::Grows,
        "falls" => Shape::Falls,
        "linear" => Shape::Linear {
            slope: slope.unwrap_or(1.0),
        },
        other => {
            let shapes = ["constant", "grows", "falls", "linear"];
            let error = table.error("is", format!("{other:?} is not a shape"));
            return Err(error.with_hint(meant(other, &shapes)));
        }
    };
    let (of, by) = match references(of)?.as_slice() {
        [of] => (of.clone(), None),
        [one, by] => {
            of_one_unit(of, "trend.of", &[one.clone(), by.clone()])?;
            (one.clone(), Some(by.clone()))
        }
        _ => {
            return Err(at(
                of,
                "trend.of: a figure is expected, or two of which the first is divided by the second",
            ));
        }
    };
    Ok(Question::Trend(Box::new(Trend {
        of,
        by,
        over: table.required("over", text)?,
        shape,
    })))
}

fn limit(node: &Node) -> Result<Question, ScenarioError> {
    let table = Table::new(node, "limit.", &["of", "below", "above"])?;
    let of = table
        .get("of")
        .ok_or_else(|| at(node, "limit.of: the figure is missing"))?;
    let (key, is_above) = match (table.get("below"), table.get("above")) {
        (Some(_), None) => ("below", false),
        (None, Some(_)) => ("above", true),
        _ => return Err(at(node, "limit: either below or above is expected")),
    };
    let limit = table.required(key, text)?;
    Ok(Question::Limit(Box::new(Limit {
        of: references(of)?,
        at: Published::read(&limit).map_err(|error| table.error(key, error))?,
        is_above,
    })))
}

/// One figure, or a list of them.
fn references(node: &Node) -> Result<Vec<Reference>, ScenarioError> {
    match list(node) {
        Some([]) => Err(at(node, "at least one figure is expected")),
        Some(nodes) => nodes.iter().map(reference).collect(),
        None => Ok(vec![reference(node)?]),
    }
}

/// `{of: [FIGURE, FIGURE], over: DIMENSION, at: peak, mean or the value that they fall below}`
fn curves(node: &Node) -> Result<Question, ScenarioError> {
    let table = Table::new(node, "curves.", &["of", "over", "at"])?;
    let nodes = table.get("of").and_then(list).filter(|nodes| nodes.len() >= 2);
    let nodes = nodes.ok_or_else(|| {
        at(
            node,
            "curves.of: at least two figures are expected, the least position first",
        )
    })?;
    let position = table.required("at", text)?;
    let position = match position.as_str() {
        "peak" => Position::Peak,
        "mean" => Position::Mean,
        limit => Position::Below(Published::read(limit).map_err(|error| {
            table
                .error("at", error)
                .with_hint("write peak, mean, or the value that the curves fall below: at: 95%")
        })?),
    };
    let of = nodes.iter().map(reference).collect::<Result<Vec<_>, _>>()?;
    of_one_unit(node, "curves", &of)?;
    if let Position::Below(limit) = &position {
        let unit = Dimension::from_quantity(of[0].metric.quantity_of(of[0].aggregation));
        if limit.amount.dimension != unit {
            return Err(table.error("at", format!("{limit} has another unit than {}", of[0])));
        }
    }
    Ok(Question::Curves(Box::new(Curves {
        of,
        over: table.required("over", text)?,
        at: position,
    })))
}

/// The dimension that is tried for what the publication leaves out.
pub(super) fn explored(table: &Table<'_>) -> Result<Option<Explored>, ScenarioError> {
    let Some(node) = table.get("explored") else {
        return Ok(None);
    };
    let expected = || {
        at(
            node,
            "explored: one dimension with its values is expected, e.g. {link.rtt: [1ms, 5ms]}",
        )
    };
    let [(key, values)] = node.entries().ok_or_else(expected)? else {
        return Err(expected());
    };
    let values = list(values)
        .filter(|values| !values.is_empty())
        .ok_or_else(expected)?;
    Ok(Some(Explored {
        dimension: key.name.clone(),
        values: values.iter().filter_map(Node::scalar).collect(),
    }))
}

/// The suspects of a claim.
pub(super) fn suspects(claim: &Node) -> Result<Vec<Suspect>, ScenarioError> {
    let Some(node) = claim.get("suspects") else {
        return Ok(Vec::new());
    };
    let nodes = list(node).ok_or_else(|| at(node, "suspects: a list is expected"))?;
    nodes.iter().map(suspect).collect()
}

fn suspect(node: &Node) -> Result<Suspect, ScenarioError> {
    let table = Table::new(node, "suspects.", &["name", "run", "set", "of"])?;
    let set = match table.get("set") {
        None => Vec::new(),
        Some(set) => {
            let wrong = |why: &dyn Display| at(set, format!("suspects.set: {why}"));
            let entries = set
                .entries()
                .ok_or_else(|| wrong(&"a table of keys and values is expected"))?;
            let change = |(key, value): &(wirecost_scenario::node::Key, Node)| {
                let value = value.scalar().ok_or_else(|| wrong(&"each key has one value"))?;
                Ok(format!("{}={value}", key.name))
            };
            entries
                .iter()
                .map(change)
                .collect::<Result<Vec<String>, ScenarioError>>()?
        }
    };
    Ok(Suspect {
        name: table.required("name", text)?,
        run: table.one("run", text)?,
        set,
        of: table.one("of", text)?,
    })
}
