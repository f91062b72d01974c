//! A judged threshold.

use serde::{Deserialize, Serialize};

/// A threshold on a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Threshold {
    /// The name of the metric with its selector, as the scenario has it.
    pub metric: String,
    /// The expression, e.g. `p(99)<150ms`.
    pub expression: String,
    /// The figure in the metric's base unit: seconds, bytes, bit/s, messages per second, a count or a share. Null if there is
    /// none, or if it is a time that must not be used.
    pub actual: Option<f64>,
    /// The 95 % interval of the figure over the runs of a repeated load; absent without `repeat`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// Whether the threshold holds.
    pub pass: bool,
}
