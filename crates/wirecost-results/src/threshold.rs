//! A demand of a figure, judged.

use serde::{Deserialize, Serialize};

/// What was demanded of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// The figure's name, and of which loads: as the scenario has it.
    pub metric: String,
    /// What was demanded, e.g. `p(99)<150ms`.
    pub expression: String,
    /// The figure, in the metric's base unit; null where there was none, or only times that may not be used.
    pub actual: Option<f64>,
    /// Whether it holds.
    pub pass: bool,
}
