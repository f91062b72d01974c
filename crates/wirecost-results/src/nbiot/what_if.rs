//! Changes beside their base, kept connections, and what could not be run.

use serde::{Deserialize, Serialize};

use wirecost_stats::Judgement;
use wirecost_stats::estimate::MARGIN;

use super::{DeviceMeans, Estimate};

/// A change beside its base at the same load: the change less the base, a mean over pairs of replications with the same reports and
/// places.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// The base, as its point names its stack.
    pub base: String,
    /// DCIs per report, those of keep-alives included.
    pub dci: Estimate,
    /// Bytes of IP packets per report that devices send, without keep-alives.
    pub bytes_up: Estimate,
    /// Bytes of IP packets per report that servers send, without keep-alives.
    pub bytes_down: Estimate,
    /// Energy per report in mJ, that of the keep-alives between two reports included. Modelled from state times.
    pub energy_mj: Estimate,
    /// Share of reports that arrived within the deadline.
    pub served: Estimate,
}

impl Estimate {
    /// What a difference of pairs says, beside the figure of the change: one within the margin of the smaller figure is not of note,
    /// unless every pair has it.
    pub fn judged_beside(&self, changed: f64) -> Judgement {
        let difference = wirecost_stats::Estimate {
            value: self.mean,
            interval: self.low.zip(self.high).map(|(low, high)| [low, high]),
        };
        let base = changed - self.mean;
        let margin = match difference.is_exact() {
            true => 0.0,
            false => MARGIN * changed.abs().min(base.abs()),
        };
        difference.as_difference(margin)
    }
}

/// The keep-alives of a replication: each has a device of its own in the cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeepAlives {
    /// Keep-alives that were due in the window.
    pub sent: u64,
    /// Those that were answered before their device left.
    pub answered: u64,
    /// Bytes of IP packets per keep-alive, up and down.
    pub bytes: [f64; 2],
    /// Means of a device and its keep-alive.
    pub device: DeviceMeans,
}

/// Kept connections at one load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeptConnections {
    /// The time without traffic after which a connection is kept alive, in seconds.
    pub keep_alive_s: f64,
    /// Devices per cell that keep a connection: the load times the interval between two reports of a device.
    pub devices: f64,
    /// Keep-alives between two reports of a device.
    pub per_report: f64,
    /// Keep-alives that were measured, over all replications.
    pub sent: u64,
    /// Those that were answered.
    pub answered: u64,
    /// Energy of a keep-alive in mJ, modelled from state times; `null` where none was measured.
    pub energy_mj: Option<f64>,
}

/// A curve that could not be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NotRun {
    /// The stack, with its change in parentheses.
    pub stack: String,
    /// Bytes of the report.
    pub size_bytes: usize,
    /// Why, as a sentence.
    pub reason: String,
}
