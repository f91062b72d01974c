//! Judged thresholds as text.

use crate::catalogue::{Aggregation, Metric, Quantity};
use crate::threshold::Threshold;

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
    let metric = Metric::named(name);
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
        Some(Quantity::Number | Quantity::Money) | None => digits(figure),
    }
}

/// A number with up to three decimals.
fn digits(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
