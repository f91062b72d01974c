//! What generator and target took, and who could give no more.

use serde::{Deserialize, Serialize};

/// CPU and memory of one side over the phases with work, warm-up included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessUse {
    /// CPU time in user mode, in seconds.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub user_s: f64,
    /// CPU time in the kernel, in seconds.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub system_s: f64,
    /// Wall time of these phases, in seconds.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub wall_s: f64,
    /// CPU time divided by wall time in the busiest phase: 1 is one CPU. Null if the phases were too short.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub cpu_share: Option<f64>,
    /// CPU time of the busiest thread divided by wall time, without the busy waiting of the generator. Null if threads
    /// are not told apart, or the phases were too short.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub busiest_thread_share: Option<f64>,
    /// Largest sum of the processes' resident memory, in bytes.
    pub resident_bytes: u64,
    /// Processes at the end.
    pub processes: u32,
    /// CPU time per million sent messages in the phases that offer messages, warm-up included, in seconds; null without
    /// messages.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub cpu_s_per_million: Option<f64>,
}

/// A simulated server with a service time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServiceFigures {
    /// Its service time, e.g. `1ms` or `exponential:1ms`.
    pub service_time: String,
    /// Its workers, with one queue in front of them.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub workers: u32,
    /// Utilisation of the workers in the busiest phase; null if the phases were too short.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub utilisation: Option<f64>,
}

/// The worlds that the devices of a load in virtual time are in: what is in one world cannot reach another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Worlds {
    /// How many.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub count: u32,
    /// What all devices share, so that they are one world, e.g. `a broker`; absent if nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<String>,
}

/// Who could give no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bottleneck {
    /// `generator`, `target`, `link`, `devices` or `none`.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::Who"))]
    pub who: String,
    /// The reason, in one sentence.
    pub why: String,
}
