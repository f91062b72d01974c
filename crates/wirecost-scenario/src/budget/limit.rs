//! A limit on a figure: in the words of a threshold, or by how far it may be above that of an earlier run.

use wirecost_results::catalogue::{Aggregation, Metric, Quantity};
use wirecost_results::thresholds::in_unit;
use wirecost_results::value::ValueError;

use crate::error::{Place, ScenarioError};
use crate::node::Node;
use crate::selector::{Selector, TARIFF};
use crate::tariff;
use crate::thresholds::check_currency;
use crate::thresholds::expression::{Expression, amount};

/// What ends a limit that is relative to an earlier figure.
const ABOVE: &str = "above";
/// Figures that differ by a rounding error are equal.
const ROUNDING: f64 = 1e-9;

/// A limit.
#[derive(Clone, Debug, PartialEq)]
pub struct BudgetLimit {
    /// Its place in the budget.
    pub place: Place,
    /// Metric and selector as in the file.
    pub name: String,
    /// The limit as in the file.
    pub text: String,
    /// The figure.
    pub metric: Metric,
    /// The cells.
    pub selector: Selector,
    /// Which of the metric's figures.
    pub aggregation: Aggregation,
    demand: Demand,
}

/// What is demanded of a figure.
#[derive(Clone, Debug, PartialEq)]
enum Demand {
    /// A threshold.
    Fixed(Expression),
    /// At most this part of the earlier figure above it.
    PartAbove(f64),
    /// At most this much above the earlier figure, in base units.
    AmountAbove(f64),
}

impl BudgetLimit {
    /// Reads the limit of a figure.
    ///
    /// # Errors
    /// It is no limit, has another unit than the figure, or the metric does not have the figure.
    pub fn read(
        name: &str,
        (metric, selector): (Metric, &Selector),
        node: &Node,
    ) -> Result<Self, ScenarioError> {
        let at =
            |why: &dyn std::fmt::Display| ScenarioError::new(&node.place, format!("limits: {name}: {why}"));
        let text = node
            .scalar()
            .ok_or_else(|| at(&"a limit is expected, e.g. \"<= 170 B\""))?;
        let (aggregation, demand) = match text.trim().strip_suffix(ABOVE) {
            Some(above) => relative(above, metric).map_err(|why| at(&why))?,
            None => {
                let read = Expression::read(&spelled_out(&text, metric), metric);
                let expression = read.map_err(|why| at(&why))?;
                check_currency(&expression, selector).map_err(|why| at(&why))?;
                (expression.aggregation, Demand::Fixed(expression))
            }
        };
        Ok(Self {
            place: node.place.clone(),
            name: name.to_owned(),
            text: text.trim().to_owned(),
            metric,
            selector: selector.clone(),
            aggregation,
            demand,
        })
    }

    /// Whether the figure is within the limit, on a link of this round-trip time in seconds; `None` where there is no earlier figure to
    /// be above of.
    pub fn holds(&self, after: f64, before: Option<f64>, rtt: Option<f64>) -> Option<bool> {
        let within = |before: f64, more: f64| after <= before + more + ROUNDING * before.abs().max(1.0);
        match &self.demand {
            Demand::Fixed(expression) => Some(expression.holds(after, rtt)),
            Demand::PartAbove(part) => before.map(|before| within(before, part * before.abs())),
            Demand::AmountAbove(amount) => before.map(|before| within(before, *amount)),
        }
    }

    /// The name of the metric and its figure: `bytes_per_msg mean`; of a metric with one figure the name alone.
    pub fn figure_name(&self) -> String {
        match self.aggregation {
            Aggregation::Value => self.metric.name().to_owned(),
            aggregation => format!("{} {}", self.metric.name(), aggregation.name()),
        }
    }

    /// A figure with its unit.
    pub fn shown(&self, figure: f64) -> String {
        let quantity = self.metric.quantity_of(self.aggregation);
        let shown = in_unit(Some(quantity), figure);
        match quantity {
            Quantity::Money => format!("{shown} {}", self.currency()),
            _ => shown,
        }
    }

    /// The currency of the tariff.
    fn currency(&self) -> String {
        let mut named = tariff::BUILT_IN
            .iter()
            .filter(|(name, _)| self.selector.allows(TARIFF, name));
        let tariff = named.find_map(|(name, _)| tariff::built_in(name));
        tariff.map(|tariff| tariff.currency).unwrap_or_default()
    }
}

/// `mean<=2%` before the word `above`.
fn relative(text: &str, metric: Metric) -> Result<(Aggregation, Demand), String> {
    let wrong = || {
        format!(
            "{:?} says nothing that a figure can be above: write <= 2% above or <= 10B above",
            text.trim()
        )
    };
    let (figure, most) = text.split_once("<=").ok_or_else(wrong)?;
    let aggregation = match figure.trim() {
        "" => Some(metric.shown()),
        figure => Aggregation::named(figure).filter(|known| metric.aggregations().contains(known)),
    };
    let aggregation = aggregation.ok_or_else(|| {
        let names = Aggregation::names(metric.aggregations());
        format!(
            "{:?} is not a figure of {}: it has {names}",
            figure.trim(),
            metric.name()
        )
    })?;
    let most = most.trim();
    let demand = match most.strip_suffix('%') {
        Some(_) => amount(most, Quantity::Share).map(Demand::PartAbove),
        None => amount(most, metric.quantity_of(aggregation)).map(Demand::AmountAbove),
    };
    let demand = demand.map_err(|why: ValueError| format!("{why}: write 2% or 10B"))?;
    Ok((aggregation, demand))
}

/// The words of a threshold: a limit without a figure is of the one that tables show, and `=` is `==`.
fn spelled_out(text: &str, metric: Metric) -> String {
    let Some(at) = text.find(['<', '>', '=', '!']) else {
        return text.to_owned();
    };
    let (figure, rest) = text.split_at(at);
    let figure = match figure.trim() {
        "" => metric.shown().name(),
        figure => figure,
    };
    match rest.strip_prefix('=').filter(|bound| !bound.starts_with('=')) {
        Some(bound) => format!("{figure}=={bound}"),
        None => format!("{figure}{rest}"),
    }
}
