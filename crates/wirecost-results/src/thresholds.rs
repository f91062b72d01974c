//! Figures that a threshold can be set on, and judged thresholds as text.

pub mod metric;

use crate::threshold::Threshold;
use metric::{Metric, Quantity};

/// Which figure of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregation {
    /// The median.
    P50,
    /// The 90th percentile.
    P90,
    /// The 95th percentile.
    P95,
    /// The 99th percentile.
    P99,
    /// The 99.9th percentile.
    P999,
    /// The arithmetic mean.
    Mean,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// The sum.
    Sum,
    /// The count.
    Count,
    /// The share of offered messages.
    Rate,
    /// The only figure.
    Value,
}

/// Aggregations by name. The first name of each is the usual one.
const AGGREGATIONS: [(&str, Aggregation); 14] = [
    ("p(50)", Aggregation::P50),
    ("p(90)", Aggregation::P90),
    ("p(95)", Aggregation::P95),
    ("p(99)", Aggregation::P99),
    ("p(99.9)", Aggregation::P999),
    ("mean", Aggregation::Mean),
    ("min", Aggregation::Min),
    ("max", Aggregation::Max),
    ("sum", Aggregation::Sum),
    ("count", Aggregation::Count),
    ("rate", Aggregation::Rate),
    ("value", Aggregation::Value),
    ("med", Aggregation::P50),
    ("avg", Aggregation::Mean),
];

impl Aggregation {
    /// The aggregation of a name.
    pub fn named(name: &str) -> Option<Self> {
        let found = AGGREGATIONS.iter().find(|(known, _)| *known == name);
        found.map(|(_, aggregation)| *aggregation)
    }

    /// The usual names of aggregations, in one text.
    pub fn names(aggregations: &[Self]) -> String {
        let name = |aggregation: &Self| AGGREGATIONS.iter().find(|(_, other)| other == aggregation);
        let names: Vec<&str> = aggregations
            .iter()
            .filter_map(name)
            .map(|(name, _)| *name)
            .collect();
        names.join(", ")
    }
}

impl Metric {
    /// The quantity of one of the figures.
    pub const fn quantity_of(&self, aggregation: Aggregation) -> Quantity {
        match aggregation {
            Aggregation::Rate => Quantity::Share,
            Aggregation::Count => Quantity::Number,
            _ => self.quantity,
        }
    }
}

/// A failed threshold as text: `response_time p(99)<5ms was demanded, it is 12 ms`.
pub fn failure_text(threshold: &Threshold) -> String {
    let actual = threshold.actual.map_or_else(
        || "there was no figure that may be used".to_owned(),
        |figure| format!("it is {}", figure_text(threshold, figure)),
    );
    format!(
        "{} {} was demanded, {actual}",
        threshold.metric, threshold.expression
    )
}

/// The figure of a threshold with its unit.
pub fn figure_text(threshold: &Threshold, figure: f64) -> String {
    let name = threshold.metric.split('{').next().unwrap_or_default().trim();
    let metric = metric::METRICS.iter().find(|metric| metric.name == name);
    let operator = threshold.expression.find(['<', '>', '=', '!']);
    let aggregation: String = threshold.expression[..operator.unwrap_or_default()]
        .split_whitespace()
        .collect();
    let quantity = metric
        .zip(Aggregation::named(&aggregation))
        .map(|(metric, aggregation)| metric.quantity_of(aggregation));
    in_unit(quantity, figure)
}

/// A figure with the unit of its quantity; `None` for a plain number.
pub fn in_unit(quantity: Option<Quantity>, figure: f64) -> String {
    match quantity {
        Some(Quantity::Time) if figure.abs() >= 1.0 => format!("{} s", digits(figure)),
        Some(Quantity::Time) if figure.abs() >= 1e-3 => format!("{} ms", digits(figure * 1e3)),
        Some(Quantity::Time) => format!("{} us", digits(figure * 1e6)),
        Some(Quantity::Bytes) => format!("{} B", digits(figure)),
        Some(Quantity::PerSecond) => format!("{}/s", digits(figure)),
        Some(Quantity::BitRate) => format!("{} bit/s", digits(figure)),
        Some(Quantity::Energy) => format!("{} mJ", digits(figure * 1e3)),
        Some(Quantity::Share) => format!("{} %", digits(figure * 100.0)),
        Some(Quantity::Number) | None => digits(figure),
    }
}

/// A number with up to three decimals.
fn digits(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
