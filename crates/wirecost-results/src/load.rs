//! `summary.json` of loads: one entry per load, one section per phase. `intervals.csv` and `latency/*.hlog` hold each
//! second.
//!
//! - `phase`: the figures of a phase
//! - `path`: the links and hops that the packets crossed
//! - `sides`: what generator and target took, and who could give no more
//! - `file`: a load with all data that its figures were computed from

mod file;
mod path;
mod phase;
mod sides;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::agents::LoadAgents;
use super::folder::{ResultsError, RunFolder};
use super::summary::Link;
use crate::rate_search::RateSearch;
use crate::repeat::{Repeated, RunOf};
use crate::setting::Settings;
use crate::threshold::Threshold;
use crate::warning::{Warning, WarningKind};
pub use file::LoadFile;
pub use path::{HopFigures, LinkFigures, WireUse, WireWay};
pub use phase::PhaseFigures;
pub use sides::{Bottleneck, ProcessUse, ServiceFigures, Worlds};

/// The contents of `summary.json` after `wirecost load`, or `wirecost run` with phases: one entry per load, one section per
/// phase. Times are in nanoseconds where a name ends in `_ns`, sizes in bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(title = "summary.json of a load by wirecost, schema 1", extend("$id" = "urn:wirecost:load-summary:1")))]
pub struct LoadSummary {
    /// Version of this format: 1.
    #[cfg_attr(feature = "schema", schemars(extend("const" = super::summary::SCHEMA)))]
    pub schema: u32,
    /// `load`. The summary of a comparison has no kind.
    #[cfg_attr(feature = "schema", schemars(extend("const" = KIND)))]
    pub kind: String,
    /// Version of wirecost.
    pub version: String,
    /// The command that repeats the run.
    pub command: String,
    /// The scenario's name; of a command line, the command's.
    pub name: String,
    /// Seed of every random decision.
    pub seed: u64,
    /// Whether the run was interrupted before it was complete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// One entry per load.
    pub loads: Vec<Load>,
    /// The judged thresholds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<Threshold>,
    /// The searches for the highest rate (`--find-max`); `loads` are those of the searches, in the order in which they ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub searches: Vec<RateSearch>,
    /// The figures of repeated loads (`repeat`) over their runs; `loads` has the runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<Repeated>,
}

/// The kind of a summary of loads. The summary of a comparison has none.
pub const KIND: &str = "load";

/// Whether the folder is one of loads, by the kind that its summary names.
pub fn is_load(folder: &RunFolder) -> bool {
    let summary: Result<serde_json::Value, ResultsError> = folder.read_json("summary.json");
    summary.is_ok_and(|summary| summary.get("kind").and_then(|kind| kind.as_str()) == Some(KIND))
}

/// One combination of stack, start, payload, clients and rate against one target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Load {
    /// The key of the load: equal for the same resolved load, engine, version and seed.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = "^[0-9a-f]{16}$")))]
    pub key: String,
    /// Which run of a repeated load it is; absent without `repeat`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_of: Option<RunOf>,
    /// The dimensions of each of its phases with their values, as selectors name them, of phases that did not run too: the same in
    /// every version, while the key is of one. Empty in results that were written before loads had them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phase_labels: Vec<BTreeMap<String, String>>,
    /// When it began, RFC 3339, UTC; empty if it was not run.
    #[serde(default)]
    pub started_at: String,
    /// Name of the stack.
    pub stack: String,
    /// How connections start: `cold`, `resumed`, `0rtt`, `edhoc` or `edhoc-by-value`.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::Start"))]
    pub start: String,
    /// Payload of a message in bytes; null if messages differ in it, as those of a template may.
    pub payload_bytes: Option<u64>,
    /// `builtin`, the name of a real server, or a URL.
    pub target: String,
    /// `live`, or `sim` in virtual time.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::Engine"))]
    pub engine: String,
    /// Devices without subscribers.
    pub clients: u64,
    /// Devices that subscribe.
    pub subscribers: u64,
    /// The limit of unanswered messages of a device; null without a limit.
    pub inflight: Option<u64>,
    /// How messages follow one another.
    pub loop_kind: LoopKind,
    /// `constant` or `poisson`; null in a closed loop.
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::words::Arrivals>"))]
    pub arrivals: Option<String>,
    /// Whether devices share sockets. Tokens tell them apart, not 5-tuples.
    pub shared_socket: bool,
    /// Whether devices and the started target spoke IPv6. The address of a URL decides by itself.
    #[serde(default)]
    pub ipv6: bool,
    /// The characters of this run in the names of its devices (`%x`), at a server that wirecost did not start; absent
    /// elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_tag: Option<String>,
    /// Processes that generated.
    pub processes: u32,
    /// Loops that generated, over all processes.
    pub loops: u32,
    /// `awake` if idle CPUs were kept awake; `asleep` without that permission: the generator is late by the time that a
    /// CPU takes to wake.
    #[serde(default)]
    pub idle_cpus: String,
    /// The priority of the generator's loops: `nice -20` beside a real server that wirecost has started, which shares their CPUs, if the
    /// machine grants it; else `nice 0`. Empty without a generator.
    #[serde(default)]
    pub priority: String,
    /// Whether the figures of all phases may be used; `warnings`, here and in the phases, hold the reasons.
    pub valid: bool,
    /// Reasons to look before trusting the figures of any phase.
    pub warnings: Vec<Warning>,
    /// Why it could not be run. There are no phases in this case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<String>,
    /// The requested rates and link, for a load without phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Box<Asked>>,
    /// Whether it ended before it was complete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// The threshold that ended it early, with the figure that it failed by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted: Option<Threshold>,
    /// In the order in which they ran.
    pub phases: Vec<PhaseFigures>,
    /// CPU and memory of the generator: all processes of it; null in virtual time.
    pub generator: Option<ProcessUse>,
    /// CPU and memory of the target, where it runs on this machine.
    pub target_use: Option<ProcessUse>,
    /// The simulated server, if it has a service time; absent elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceFigures>,
    /// The worlds of a load in virtual time of more than 50,000 devices; absent elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worlds: Option<Worlds>,
    /// The emulated link that all devices shared; absent without a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Box<LinkFigures>>,
    /// The link of each hop between sites, and what crossed it over the whole load, warm-up included; absent without sites.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hops: Vec<HopFigures>,
    /// The settings of a target that wirecost starts: those of the load, and otherwise those that wirecost gives it; absent without
    /// any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: Settings,
    /// The agents that generated; absent where this machine did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<Box<LoadAgents>>,
    /// The bottleneck.
    pub bottleneck: Option<Bottleneck>,
    /// The folded stacks of the target's CPU profile, below the results folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Why the packets to a target that ran already were not counted; absent where they were, and for other targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire_not_counted: Option<String>,
    /// Whether `wire` of its phases counts the packets of every program that used the target: worker processes sent those of the load.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(extend("const" = true)))]
    pub wire_of_all: bool,
    /// The packets on the link, below the results folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<String>,
}

wirecost_proto::named! {
    /// How messages follow one another.
    ///
    /// Named as in results.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "lowercase")]
    pub enum LoopKind {
        /// The load offers no messages.
        #[default]
        None => "none",
        /// Each message at its scheduled time.
        Open => "open",
        /// Each message after the answer to the one before.
        Closed => "closed",
        /// A closed loop with several unanswered messages per device.
        Saturation => "saturation",
    }
}

impl Load {
    /// Adds the agents that generated it, and the warnings about them. [`Load::note_standings`] notes what these limit.
    pub fn take_agents(&mut self, agents: LoadAgents, warnings: Vec<Warning>) {
        if warnings.iter().any(|warning| warning.invalidates) {
            self.valid = false;
            self.phases.iter_mut().for_each(|phase| phase.valid = false);
        }
        self.warnings.extend(warnings);
        self.agents = Some(Box::new(agents));
    }

    /// Whether it ran in virtual time.
    pub fn is_modelled(&self) -> bool {
        self.engine == "sim"
    }
}

impl Load {
    /// Whether the generator failed.
    pub fn has_failed(&self) -> bool {
        let mut warnings = self.phases.iter().flat_map(|phase| &phase.warnings);
        warnings.any(|warning| warning.kind == WarningKind::EndedEarly)
    }
}

/// The requested rates and link of a load without phases.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Asked {
    /// `asked_rate` of each phase that has one, in order.
    pub rates: Vec<f64>,
    /// The emulated link; null without a link.
    pub link: Option<Link>,
}

#[cfg(test)]
mod tests;
