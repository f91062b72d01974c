//! The worked examples of a provider's page: what devices do, and the lines and the money that the page says.

use wirecost_cost::tariff::{Bill, Tariff};
use wirecost_cost::usage::SentMessage;
use wirecost_cost::{Usage, What};
use wirecost_results::value::ValueError;

use super::rule::Kilobyte;
use super::shape;
use crate::electric;
use crate::error::ScenarioError;
use crate::key::names;
use crate::node::{Node, Value};
use crate::table::{Table, flag, text, time, whole};

/// A worked example.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// Heading and row of the page, or who computed it.
    pub row: String,
    /// Equal devices.
    pub devices: u32,
    /// Days of the usage.
    pub days: f64,
    /// Whether free tiers are left out.
    pub is_without_free: bool,
    /// What one device does in these days.
    pub used: Usage,
    /// What the page says.
    pub expected: Vec<ExpectedFigure>,
}

/// A figure that the page says, of all devices.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedFigure {
    /// The rule of the line; `None` for the money.
    pub rule: Option<String>,
    /// The figure as written.
    pub written: String,
    /// The same: bytes or a number; money in the currency of the tariff.
    pub value: f64,
    /// What the page rounds each of its addends to; 0 for an exact figure.
    pub step: f64,
    /// How many equal addends it has rounded before it added them.
    pub addends: f64,
}

impl Example {
    /// The bill of all devices.
    pub fn bill(&self, tariff: &Tariff) -> Bill {
        let mut tariff = tariff.clone();
        if self.is_without_free {
            for rule in &mut tariff.rules {
                rule.price = rule.price.clone().without_free();
            }
        }
        let bill = tariff.bill_of_days(&self.used, self.devices, self.days);
        bill.scaled(f64::from(self.devices))
    }
}

impl ExpectedFigure {
    /// What is computed for the figure.
    pub fn computed(&self, bill: &Bill) -> f64 {
        match &self.rule {
            None => bill.amount,
            Some(rule) => {
                let lines = bill.lines.iter().filter(|line| line.rule == *rule);
                lines.map(|line| line.quantity).sum()
            }
        }
    }

    /// Whether it is what the page says, rounded as the page does.
    pub fn agrees(&self, computed: f64) -> bool {
        let near = |one: f64, other: f64| (one - other).abs() <= 1e-9 * one.abs().max(1.0);
        match self.step > 0.0 {
            true => near(
                (computed / self.addends / self.step).round() * self.step * self.addends,
                self.value,
            ),
            false => near(computed, self.value),
        }
    }
}

/// Reads the list `examples`.
pub(super) fn all(
    table: &Table<'_>,
    tariff: &Tariff,
    kilobyte: Kilobyte,
) -> Result<Vec<Example>, ScenarioError> {
    let nodes = match table.get("examples") {
        None => return Ok(Vec::new()),
        Some(Node {
            value: Value::List(nodes),
            ..
        }) => nodes,
        Some(_) => return Err(table.error("examples", "it must be a list")),
    };
    nodes.iter().map(|node| one(node, tariff, kilobyte)).collect()
}

fn one(node: &Node, tariff: &Tariff, kilobyte: Kilobyte) -> Result<Example, ScenarioError> {
    let table = Table::new(node, "examples.", &names(shape::EXAMPLE))?;
    let days = table.one("days", electric::count)?.unwrap_or(30.0);
    if days <= 0.0 {
        return Err(table.error("days", "it must be above 0"));
    }
    let day = table
        .get("day")
        .ok_or_else(|| table.error("day", "it is missing"))?;
    let day = usage(day, kilobyte)?;
    let addends = table.one("addends", whole::<u32>)?.unwrap_or(1).max(1);
    let mut expected = Vec::new();
    if let Some(node) = table.get("lines") {
        for (key, node) in node.entries().unwrap_or_default() {
            expected.extend(lines(tariff, (&key.name, node), (kilobyte, f64::from(addends)))?);
        }
    }
    if let Some((value, currency)) = table.one("money", electric::price)? {
        if currency != tariff.currency {
            let message = format!("it is in {currency}, and the prices in {}", tariff.currency);
            return Err(table.error("money", message));
        }
        expected.push(ExpectedFigure {
            rule: None,
            written: table.required("money", text)?,
            value,
            // Money is compared at the step of its currency, not by the digits of the page.
            step: 0.0,
            addends: 1.0,
        });
    }
    if expected.is_empty() {
        return Err(table
            .error("lines", "an example says lines or money")
            .with_hint("write lines: {messages: 450000}, money: 0.00 USD, or both"));
    }
    Ok(Example {
        row: table.required("row", text)?,
        devices: table.one("devices", whole::<u32>)?.unwrap_or(1).max(1),
        days,
        is_without_free: !table.one("free", flag)?.unwrap_or(true),
        used: day.scaled(days),
        expected,
    })
}

/// The figures of a rule: one, or a list of them. One with a decimal point is rounded to its last digit.
fn lines(
    tariff: &Tariff,
    (name, node): (&str, &Node),
    (kilobyte, addends): (Kilobyte, f64),
) -> Result<Vec<ExpectedFigure>, ScenarioError> {
    let at = |message: String| ScenarioError::new(&node.place, format!("examples.lines.{name}: {message}"));
    let Some(rule) = tariff.rules.iter().find(|rule| rule.name == name) else {
        return Err(at("the file has no such rule".to_owned()));
    };
    let texts = match &node.value {
        Value::List(nodes) => nodes.iter().map(Node::scalar).collect(),
        _ => Some(vec![node.scalar().unwrap_or_default()]),
    };
    let texts: Vec<String> = texts.ok_or_else(|| at("it must be a figure or a list of them".to_owned()))?;
    let one = |written: String| {
        let number = |text: &str| {
            kilobyte
                .number(text, rule.is_by_bytes())
                .map_err(|error| at(error.to_string()))
        };
        let value = number(&written)?;
        // A page that prints 1.5 GB has rounded it: a result may differ by half of the last digit.
        let step = match written.split_once('.') {
            None => 0.0,
            Some((_, behind)) => {
                let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
                number(&format!("1{}", &behind[digits..]))? / 10_f64.powi(digits as i32)
            }
        };
        Ok(ExpectedFigure {
            rule: Some(name.to_owned()),
            written,
            value,
            step,
            // A sum of several rounded numbers may be off by half a digit for each of them.
            addends: if step > 0.0 { addends } else { 1.0 },
        })
    };
    texts.into_iter().map(one).collect()
}

/// What a device does in a day: `{connected: 24h, publish: 300 x 1KB}`.
fn usage(node: &Node, kilobyte: Kilobyte) -> Result<Usage, ScenarioError> {
    let table = Table::new(node, "examples.day.", &names(shape::DAY))?;
    let mut used = Usage::default();
    for what in What::ALL.into_iter().filter(|what| what.is_message()) {
        for text in table.many(what.name(), text)? {
            let (count, bytes) = times(&text, kilobyte).map_err(|error| table.error(what.name(), error))?;
            let message = SentMessage {
                what,
                header_bytes: 0,
                payload_bytes: bytes,
            };
            used.add(message, count);
        }
    }
    if let Some(connected) = table.one("connected", time)? {
        used.sessions.insert(connected.as_secs().div_ceil(60).max(1), 1.0);
    }
    Ok(used)
}

/// Reads `300 x 1KB`.
fn times(text: &str, kilobyte: Kilobyte) -> Result<(f64, u64), ValueError> {
    let wrong = || ValueError::form(text, "a number of messages with their size: write 300 x 1KB");
    let (count, size) = text.split_once('x').ok_or_else(wrong)?;
    let bytes = kilobyte.size(size)?;
    let is_whole = bytes.fract() == 0.0 && bytes <= 1e15;
    Ok((
        electric::count(count.trim())?,
        is_whole.then_some(bytes as u64).ok_or_else(wrong)?,
    ))
}
