//! Loads that are run several times with other seeds (`repeat: 5`) in `summary.json`.

use serde::{Deserialize, Serialize};

/// Which run of a repeated load a load is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunOf {
    /// The key of the repeated load.
    pub load: String,
    /// The number of the run, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub run: u32,
    /// The number of runs that were asked for.
    #[cfg_attr(feature = "schema", schemars(range(min = 2)))]
    pub runs: u32,
}

/// A repeated load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Repeated {
    /// Its key.
    pub key: String,
    /// The keys of its runs that are there.
    pub runs: Vec<String>,
    /// The number of runs that were asked for.
    #[cfg_attr(feature = "schema", schemars(range(min = 2)))]
    pub asked: u32,
    /// The phases that have a figure in every run.
    pub phases: Vec<RepeatedPhase>,
}

/// The figures of a phase over its runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RepeatedPhase {
    /// The name of the phase.
    pub name: String,
    /// Whether its figures may be used in every run.
    pub valid: bool,
    /// Every figure that each run has, as thresholds name them.
    pub figures: Vec<OverRuns>,
}

/// One figure over the runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OverRuns {
    /// The metric.
    pub metric: String,
    /// Which figure of the metric, e.g. `p(99)`.
    pub aggregation: String,
    /// The mean of the runs, in the metric's base unit.
    pub mean: f64,
    /// The 95 % interval of the mean, whose samples are the runs; null with a single run.
    pub interval: Option<[f64; 2]>,
    /// The figure of each run.
    pub runs: Vec<f64>,
}
