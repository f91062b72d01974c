//! Thresholds on figures, in the syntax of k6: `metric{selector}: ["p(99)<150ms", "count==0"]`.
//!
//! - [`expression`] reads e.g. `p(99)<3*link.rtt`
//! - [`nature`]: which cells and phases have a figure, and why others do not
//! - [`verdict`]: judges demands; `early`: demands that end a load
//!
//! A demand must hold in each cell, or each phase of each load, that its selector matches. An invalid cell or phase
//! never passes.

mod early;
pub mod expression;
pub mod nature;
pub mod verdict;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use serde::{Serialize, Serializer};
use wirecost_proto::units::DisplayDuration;
use wirecost_results::catalogue::{Metric, Of};

use super::Work;
use super::error::{Place, ScenarioError};
use super::key::Holds::{self, ByName, Either, Flag, List, Table as Keys, Text};
use super::key::{TIME, defined, keys, names};
use super::node::{Key, Node, Value};
use super::options::load::{LoadOptions, Phase};
use super::selector::{self, DEVICE, Selector, SelectorError, TARIFF};
use super::table::{Table, flag, meant, text, time};
use super::tariff;
use expression::Expression;
use nature::{Subject, modelled_by};

/// All demands, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thresholds(pub Vec<Demand>);

/// One demand.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// The figure.
    pub metric: Metric,
    /// The cells or loads.
    pub selector: Selector,
    /// The expression.
    pub expression: Expression,
    /// Metric and selector as in the file.
    pub name: String,
    /// Whether a failure ends the run.
    pub abort_on_fail: bool,
    /// The time at the start of a phase in which the demand may fail.
    pub after: Duration,
}

defined! {
    pub(crate) THRESHOLDS "thresholds" ByName("", &Either(&[Holds::Of(&DEMANDED), List(0, &Holds::Of(&DEMANDED))]))
        => "What must hold: expressions by metric{selector}, in the words of k6.";
    DEMANDED "demand" Either(&[Text, Keys(DEMAND)]) => "An expression such as p(99)<150ms, or a table with more.";
}

keys! {
    /// An expression, and when the run ends because of it.
    DEMAND {
        must expr Text => "e.g. p(99)<3*link.rtt";
        may abort_on_fail Flag => "Whether a failure ends the run. In a comparison it ends nothing, and a warning says so.";
        may after Holds::Of(&TIME) => "The time at the beginning in which it need not hold.";
    }
}

impl Thresholds {
    /// Reads the thresholds of a scenario, and checks that each one applies to a cell or a phase.
    ///
    /// # Errors
    /// A metric or a dimension is unknown, an expression cannot be read, a selector matches nothing, the matching cells
    /// or phases do not have the metric, or a bound is in round-trip times without a link.
    pub fn read(node: &Node, work: &Work) -> Result<Self, ScenarioError> {
        let Some(entries) = node.entries() else {
            let message = format!(
                "thresholds: a table of metrics is expected, this is {}",
                node.kind()
            );
            return Err(ScenarioError::new(&node.place, message)
                .with_hint("for example response_time: [\"p(99)<150ms\"]"));
        };
        let mut demands = Vec::new();
        for (key, node) in entries {
            let (metric, selector) = of_key("thresholds", key, work)?;
            for node in listed(node) {
                let demand = demand(node, metric, &selector, &key.name)?;
                demand.check_link(node, work)?;
                demands.push(demand);
            }
        }
        Ok(Self(demands))
    }

    /// Reads the thresholds of a command line, each `METRIC{KEY=VALUE}: EXPRESSION`, or an expression alone about the times
    /// that the work has first of all.
    ///
    /// # Errors
    /// As [`Thresholds::read`]; the place is the flag.
    pub fn of_flags(flags: &[String], work: &Work) -> Result<Self, ScenarioError> {
        let mut all = Self::default();
        for flag in flags {
            let place = Place::Flag(format!("--threshold {flag:?}").into());
            // Values in the selector may have colons, as URLs have.
            let after_selector = flag.find('}').unwrap_or_default();
            let colon = flag[after_selector..]
                .find(':')
                .map(|colon| after_selector + colon);
            let unnamed = || unnamed_times(work).map(|metric| (metric.name(), flag.as_str()));
            let named = |colon: usize| (flag[..colon].trim(), &flag[colon + 1..]);
            let Some((name, text)) = colon.map(named).or_else(unnamed) else {
                let example = match work {
                    Work::Nbiot(_) => "for example --threshold \"served{load=1/s}: rate>=95%\"",
                    Work::Loads(_) | Work::Comparison(_) | Work::Program(_) => {
                        "for example --threshold \"response_time: p(99)<50ms\""
                    }
                };
                return Err(ScenarioError::new(&place, "METRIC: EXPRESSION is expected").with_hint(example));
            };
            let name = Key {
                place: place.clone(),
                name: name.to_owned(),
            };
            let text = Value::Text(text.trim().to_owned());
            let table = Value::Table(vec![(name, Node::at(&place, text))]);
            all.0.extend(Self::read(&Node::at(&place, table), work)?.0);
        }
        Ok(all)
    }

    /// Whether any demand ends the run when it fails.
    pub fn want_abort(&self) -> bool {
        self.0.iter().any(|demand| demand.abort_on_fail)
    }

    /// Whether nothing is demanded.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The times of a load that a person asks for first: the response times, or the delivery times where nothing answers.
pub fn times_of(options: &LoadOptions) -> Metric {
    let requests = |phase: &Phase| matches!(phase, Phase::Request(_));
    match options.is_answered() || options.phases.iter().any(requests) {
        true => Metric::ResponseTime,
        false => Metric::OneWayDelay,
    }
}

/// The times that a demand without a metric is about; `None` where the loads differ in them, or there are none.
fn unnamed_times(work: &Work) -> Option<Metric> {
    match work {
        Work::Comparison(_) => Some(Metric::ResponseTime),
        Work::Loads(loads) => {
            let mut metrics = loads.iter().map(times_of);
            let first = metrics.next()?;
            metrics.all(|metric| metric == first).then_some(first)
        }
        Work::Nbiot(_) | Work::Program(_) => None,
    }
}

/// The figure and the selector of a key of `table`, which some cells or phases of the work must have.
///
/// # Errors
/// A metric or a dimension is unknown, the file that models the figure is not named, the selector matches nothing, or what it matches
/// does not have the metric.
pub(crate) fn of_key(table: &str, key: &Key, work: &Work) -> Result<(Metric, Selector), ScenarioError> {
    let at = |why: &dyn Display| ScenarioError::new(&key.place, format!("{table}: {why}"));
    let (metric, selector) = of_work(&key.name, work).map_err(|why| at(&why))?;
    let file = modelled_by(metric).filter(|_| matches!(work, Work::Comparison(_)));
    if let Some(file) = file.filter(|file| !selector.names(file)) {
        return Err(unnamed_file(table, key, metric, file));
    }
    let subjects = nature::subjects(work, metric);
    let meant = meant_by(&key.name, metric, &selector, &subjects);
    meant.map_err(|(why, hint)| at(&why).with_hint(hint))?;
    Ok((metric, selector))
}

/// The error of a figure without the file by which it is modelled.
pub(crate) fn unnamed_file(table: &str, key: &Key, metric: Metric, file: &str) -> ScenarioError {
    let why = format!("{table}: {} names no {file} by which it is modelled", key.name);
    ScenarioError::new(&key.place, why).with_hint(format!(
        "write {}{{{}}}; wirecost cost --help has the {file}s",
        metric.name(),
        nature::example(file)
    ))
}

/// The matching cells or phases that have the metric; otherwise the reason and the hint.
fn meant_by<'a>(
    name: &str,
    metric: Metric,
    selector: &Selector,
    subjects: &'a [Subject<'a>],
) -> Result<Vec<&'a Subject<'a>>, (String, &'static str)> {
    let named = || {
        subjects
            .iter()
            .filter(|subject| selector.matches(&subject.labels))
    };
    let having: Vec<&Subject<'_>> = named()
        .filter(|subject| subject.unavailable(metric).is_none())
        .collect();
    if !having.is_empty() {
        return Ok(having);
    }
    let Some(lack) = named().filter_map(|subject| subject.unavailable(metric)).max() else {
        let hint = "a selector names values that the scenario has";
        return Err((format!("{name}: nothing of this run is {selector}"), hint));
    };
    let why = format!("{name}: what it names has no such metric: {}", lack.why);
    Err((why, lack.hint))
}

/// Why a text does not name a metric of some cells or loads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The brace is not closed.
    #[error("{0:?} has no closing brace")]
    NoBrace(String),
    /// The metric is unknown.
    #[error("unknown metric {metric:?} ({hint})")]
    NoMetric {
        /// The metric.
        metric: String,
        /// What it may have meant.
        hint: String,
    },
    /// A condition is not of the form `key=value`.
    #[error("{0:?} is not a condition: write stack=tcp")]
    NoCondition(String),
    /// A condition cannot be fulfilled.
    #[error(transparent)]
    Selector(#[from] SelectorError),
}

fn of_work(name: &str, work: &Work) -> Result<(Metric, Selector), NameError> {
    let (of, dimensions) = match work {
        Work::Comparison(_) | Work::Program(_) => {
            (Of::Cells, [selector::of_cells(), vec![DEVICE, TARIFF]].concat())
        }
        Work::Loads(_) => (Of::Loads, selector::of_phases()),
        Work::Nbiot(_) => (Of::Points, crate::nbiot::dimensions()),
    };
    let metrics = Metric::all(of);
    named(name, &metrics, &dimensions)
}

/// The metric and the selector of `metric{key=value,key=value}`.
///
/// # Errors
/// The metric is none of `metrics`, a key none of `dimensions`, or a dimension cannot have the value.
pub fn named(
    name: &str,
    metrics: &[Metric],
    dimensions: &[&'static str],
) -> Result<(Metric, Selector), NameError> {
    let (metric, conditions) = match name.split_once('{') {
        None => (name, ""),
        Some((metric, rest)) => {
            let inner = rest.trim_end().strip_suffix('}');
            (metric, inner.ok_or_else(|| NameError::NoBrace(name.to_owned()))?)
        }
    };
    let metric = metric.trim();
    let found = metrics.iter().find(|known| known.name() == metric);
    let found = found.copied().ok_or_else(|| {
        let names: Vec<&'static str> = metrics.iter().map(|metric| metric.name()).collect();
        NameError::NoMetric {
            metric: metric.to_owned(),
            hint: meant(metric, &names),
        }
    })?;
    let mut selector = Selector::default();
    for condition in conditions
        .split(',')
        // `metric{}` and a comma at the end are harmless.
        .filter(|condition| !condition.trim().is_empty())
    {
        let (key, value) = condition
            .split_once('=')
            .ok_or_else(|| NameError::NoCondition(condition.to_owned()))?;
        let values: Vec<String> = value.split('|').map(str::to_owned).collect();
        selector.require(key.trim(), &values, dimensions)?;
    }
    Ok((found, selector))
}

/// The values of a list, or the one value.
pub(crate) fn listed(node: &Node) -> &[Node] {
    match &node.value {
        Value::List(list) => list,
        _ => std::slice::from_ref(node),
    }
}

fn demand(node: &Node, metric: Metric, selector: &Selector, name: &str) -> Result<Demand, ScenarioError> {
    let at = |why: &dyn Display| ScenarioError::new(&node.place, format!("thresholds: {name}: {why}"));
    let (expression, abort_on_fail, after) = match &node.value {
        Value::Table(_) => {
            let table = Table::new(node, "thresholds.", &names(DEMAND))?;
            let abort = table.one("abort_on_fail", flag)?.unwrap_or_default();
            (
                table.required("expr", text)?,
                abort,
                table.one("after", time)?.unwrap_or_default(),
            )
        }
        _ => {
            let expression = node
                .scalar()
                .ok_or_else(|| at(&"an expression is expected, e.g. \"p(99)<150ms\""))?;
            (expression, false, Duration::ZERO)
        }
    };
    let expression = Expression::read(&expression, metric).map_err(|why| at(&why))?;
    check_currency(&expression, selector).map_err(|why| at(&why))?;
    Ok(Demand {
        metric,
        selector: selector.clone(),
        expression,
        name: name.to_owned(),
        abort_on_fail,
        after,
    })
}

/// Refuses a bound in another currency than that of the tariffs that the selector names.
///
/// # Errors
/// Both currencies.
pub(crate) fn check_currency(expression: &Expression, selector: &Selector) -> Result<(), String> {
    let Some(currency) = expression.currency() else {
        return Ok(());
    };
    let named = tariff::BUILT_IN
        .iter()
        .filter(|(name, _)| selector.allows(TARIFF, name));
    let mut tariffs = named.filter_map(|(name, _)| tariff::built_in(name));
    match tariffs.find(|tariff| tariff.currency != currency) {
        Some(tariff) => Err(format!(
            "{:?} is in {currency}, and {} charges {}",
            expression.text, tariff.name, tariff.currency
        )),
        None => Ok(()),
    }
}

impl Demand {
    /// Refuses a bound in round-trip times if no matching cell or phase has a link.
    fn check_link(&self, node: &Node, work: &Work) -> Result<(), ScenarioError> {
        if !self.expression.needs_link() {
            return Ok(());
        }
        let subjects = nature::subjects(work, self.metric);
        let meant = meant_by(&self.name, self.metric, &self.selector, &subjects).unwrap_or_default();
        if meant.iter().any(|subject| subject.has_link()) {
            return Ok(());
        }
        let why = format!(
            "thresholds: {}: {:?} needs a round-trip time, and there is no link",
            self.name, self.expression.text
        );
        Err(ScenarioError::new(&node.place, why)
            .with_hint("give the load a link, as in link: {rtt: 40ms}, or write a time, as in p(99)<150ms"))
    }
}

impl Serialize for Thresholds {
    /// The form of a scenario: expressions by metric; a table if a demand has more keys.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(untagged)]
        enum Written<'a> {
            Expression(&'a str),
            Table {
                expr: &'a str,
                abort_on_fail: bool,
                after: String,
            },
        }
        let mut by_name: BTreeMap<&str, Vec<Written<'_>>> = BTreeMap::new();
        for demand in &self.0 {
            let expr = demand.expression.text.as_str();
            // The short form where it says everything: the resolved file is read by people.
            let written = if demand.abort_on_fail || !demand.after.is_zero() {
                let after = DisplayDuration(demand.after).to_string();
                Written::Table {
                    expr,
                    abort_on_fail: demand.abort_on_fail,
                    after,
                }
            } else {
                Written::Expression(expr)
            };
            by_name.entry(&demand.name).or_default().push(written);
        }
        by_name.serialize(serializer)
    }
}
