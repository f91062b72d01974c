//! The machines that generated a load, where they were agents.

use serde::{Deserialize, Serialize};

/// The agents of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadAgents {
    /// Agents at the beginning of the load.
    pub asked: u32,
    /// Agents that were there to its end.
    pub to_the_end: u32,
    /// How far apart the beginnings of a phase on two agents were at most, in seconds: an upper bound that covers the errors of
    /// their clocks. Null with one agent.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub begun_within_s: Option<f64>,
    /// The bound of the error of a delay between two agents, in seconds. Null with one agent.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub delay_error_s: Option<f64>,
    /// The agents, in order.
    pub each: Vec<AgentFigures>,
}

/// An agent of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentFigures {
    /// Its number, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub number: u32,
    /// The name that its user gave it; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The address from which it dialled the coordinator.
    pub address: String,
    /// The CPUs that it could use.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub cpus: u32,
    /// Its loops.
    pub loops: u32,
    /// Its devices that send, or only connect.
    pub clients: u64,
    /// Its devices that subscribe.
    pub subscribers: u64,
    /// What its monotonic clock showed more than the coordinator's at the beginning of the load, in seconds.
    pub clock_offset_s: f64,
    /// The bound of the error of that offset over the whole load, in seconds.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub clock_error_s: f64,
    /// The drift of its clock against the coordinator's, in parts per million; null where it is not known.
    pub clock_drift_ppm: Option<f64>,
    /// The bound of the error of the drift, in parts per million; null where it is not known.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub clock_drift_error_ppm: Option<f64>,
    /// The exchanges of messages that this was measured over.
    pub clock_exchanges: u64,
    /// How it was lost; absent where it was there to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<AgentLoss>,
}

/// The loss of an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentLoss {
    /// When it was last heard, in seconds since the beginning of the load.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub last_heard_s: f64,
    /// When it was given up, in seconds since the beginning of the load. Until then it may have sent what its schedule named.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub lost_s: f64,
    /// Why it counts as lost.
    pub reason: String,
    /// Messages that its schedule named until it was given up and that it had not reported. They count as offered and
    /// `unknown`.
    pub unreported: u64,
    /// Messages that its schedule named after that. They count nowhere else. Null in a closed loop, which has no schedule.
    pub missing: Option<u64>,
}

impl LoadAgents {
    /// Whether all agents were there to the end.
    pub const fn are_whole(&self) -> bool {
        self.to_the_end == self.asked
    }

    /// Adds the agents of a load that ran at the same time under another coordinator.
    pub fn add(&mut self, other: Self) {
        self.asked += other.asked;
        self.to_the_end += other.to_the_end;
        // The clocks of two coordinators were not compared.
        self.begun_within_s = None;
        self.delay_error_s = None;
        self.each.extend(other.each);
    }
}
