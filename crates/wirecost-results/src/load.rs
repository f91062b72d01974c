//! `summary.json` of loads: one entry per load, one section per phase. `intervals.csv` and `latency/*.hlog` hold each
//! second.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::agents::LoadAgents;
use super::environment::Emulator;
use super::folder::{ResultsError, RunFolder};
use super::summary::{Link, Outcomes, Times};
use super::traffic::LoadTraffic;
use super::usage::UsageRow;
use crate::figures::{Connects, Deliveries, Interval};
use crate::link_use::{HopUse, LinkUse};
use crate::rate_search::RateSearch;
use crate::repeat::{Repeated, RunOf};
use crate::setting::Settings;
use crate::standing::Standing;
use crate::threshold::Threshold;
use crate::warning::{Warning, WarningKind};

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

/// The emulated link of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkFigures {
    /// The link as configured and as achieved, over the whole load.
    #[serde(flatten)]
    pub link: Link,
    /// The packet path: `tun` or `veth`; `virtual` in virtual time.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::LoadPacketPath"))]
    pub packet_path: String,
    /// The lateness of the link over the whole load; absent in virtual time, which is never late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulator: Option<Emulator>,
    /// Packets that an interface dropped or refused. Any such packet makes the load invalid.
    pub dropped_packets: u64,
    /// The address of the target to which a relay at the end of the link passed everything on; absent where the target was
    /// started at the end of the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relay: Option<String>,
}

/// A hop of a load with sites: the link between two of them, and what crossed it over the whole load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HopFigures {
    /// The two sites, joined by `-`. Up is from devices to their server, and between two servers from the first site to the second.
    pub hop: String,
    /// Its packets and bytes, warm-up included.
    pub used: WireUse,
    /// The link as configured and as achieved.
    pub link: Link,
}

/// The figures of one phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseFigures {
    /// `connect`, `publish`, `request`, `handshakes`, `hold`, `drop`, `reconnect`, `replay`, `close`.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::PhaseName"))]
    pub name: String,
    /// From the start of the load, in seconds.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub begin_s: f64,
    /// How long it took, drain included, in seconds.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub duration_s: f64,
    /// Warm-up, which no figure includes, in seconds.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub warm_up_s: f64,
    /// The measured part of its duration, without warm-up and drain, in seconds.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub measured_s: f64,
    /// Whether all its figures may be used as they are; its `warnings`, and those of the load, hold the reasons, and
    /// `limited` the figures.
    pub valid: bool,
    /// Reasons to look before trusting its figures.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// The metrics whose figures are limited or refused by a reason in `warnings`, by their names; every other figure stands as it is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, crate::words::Limit>"))]
    pub limited: BTreeMap<String, Standing>,
    /// Requested messages per second; null in a closed loop and without messages.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub asked_rate: Option<f64>,
    /// Messages offered per second of the measured time: fewer than requested in a ramp, about as many with random
    /// arrivals. Null in a closed loop and without messages.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub offered_rate: Option<f64>,
    /// The acknowledged rate: messages acknowledged, or delivered if nothing answers, per second of the measured time, without
    /// the backlog.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub carried_rate: Option<f64>,
    /// How the messages ended; the parts sum to `offered`.
    pub outcomes: Outcomes,
    /// Messages whose last byte the kernel has taken.
    pub sent: u64,
    /// How connections came about.
    pub connects: Connects,
    /// Deliveries at subscribers or at the sink; null if unknown.
    pub deliveries: Option<Deliveries>,
    /// Expected deliveries that did not arrive in this or a later phase; absent if the expected number is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<u64>,
    /// The number of occurrences of each reason.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "BTreeMap<String, core::num::NonZeroU64>")
    )]
    pub reasons: BTreeMap<String, u64>,
    /// Bytes given to sockets.
    pub socket_bytes_up: u64,
    /// Bytes taken from sockets.
    pub socket_bytes_down: u64,
    /// The event that ends the response time: `to_ack`, `to_reply`; null if nothing answers.
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::words::LoadResponseKind>"))]
    pub response_kind: Option<String>,
    /// From the intended send to the answer.
    pub response_time_ns: Option<Times>,
    /// From the actual send to the answer.
    pub service_time_ns: Option<Times>,
    /// Delay of the generator behind its schedule.
    pub schedule_lag_ns: Option<Times>,
    /// From the start of a connect until the client may send.
    pub connect_time_ns: Option<Times>,
    /// From the intended send to the arrival at a subscriber or sink.
    pub one_way_delay_ns: Option<Times>,
    /// Use of the emulated link; absent without a link. With sites, the sum over the links of devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkUse>,
    /// Use of the link of each hop between sites; absent without sites.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hops: Vec<HopUse>,
    /// IP packets between this machine and a target that ran already, without an emulated link; absent where they were not
    /// counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<WireUse>,
    /// CPU time of the target divided by wall time, warm-up included: 1 is one CPU. Absent where it is unknown, in phases of
    /// less than 100 ms, and in merged results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub target_cpu_share: Option<f64>,
}

impl PhaseFigures {
    /// The phase with the link of one hop between sites as its link; as it is without a hop.
    pub fn at_hop(&self, hop: Option<&str>) -> Cow<'_, Self> {
        let Some(hop) = hop else {
            return Cow::Borrowed(self);
        };
        Cow::Owned(Self {
            link: self
                .hops
                .iter()
                .find(|known| known.hop == hop)
                .map(|found| found.used),
            ..self.clone()
        })
    }
}

/// IP packets on the real path in a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WireUse {
    /// To the target, as they leave this machine.
    pub up: WireWay,
    /// From the target, as they arrive.
    pub down: WireWay,
}

impl WireUse {
    /// Adds the packets of another generator.
    pub const fn add(&mut self, other: &Self) {
        let Self { up, down } = other;
        self.up.add(up);
        self.down.add(down);
    }
}

impl WireWay {
    const fn add(&mut self, other: &Self) {
        let Self { packets, bytes } = other;
        self.packets += *packets;
        self.bytes += *bytes;
    }
}

/// One direction of the real path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WireWay {
    /// IP packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

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

/// `cells/<key>.json` of a load: its figures, and all data that they were computed from. Loads with the same key can be
/// added.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadFile {
    /// Its figures.
    pub load: Load,
    /// The counts, one interval for each phase and second, in order.
    pub intervals: Vec<Interval>,
    /// CPU and memory of both sides.
    #[serde(default)]
    pub usage: Vec<UsageRow>,
    /// The folded stacks of the target's CPU profile, if one was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Addresses that its devices came from.
    #[serde(default)]
    pub source_addresses: Vec<String>,
    /// Program and version of the real server that was started, if one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What its first devices did, packet by packet; absent where no packet could be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<LoadTraffic>,
}

impl LoadFile {
    /// Whether the load is complete.
    pub const fn is_complete(&self) -> bool {
        !self.load.interrupted && self.load.aborted.is_none()
    }

    /// Messages and handshakes that were sent, warm-up included.
    pub fn sent_in_all(&self) -> u64 {
        let offers = |phase: u32| {
            self.load
                .phases
                .get(phase as usize)
                .is_some_and(PhaseFigures::has_offer)
        };
        let offered = self.intervals.iter().filter(|interval| offers(interval.phase));
        offered.map(|interval| interval.sent).sum()
    }

    /// The intervals of the phase with this index.
    pub fn phase(&self, phase: u32) -> impl Iterator<Item = &Interval> {
        self.intervals
            .iter()
            .filter(move |interval| interval.phase == phase)
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn write(&self, folder: &RunFolder) -> Result<(), ResultsError> {
        folder.write_json(&super::cells::name(&self.load.key), self)
    }

    /// Reads the load with this key; `None` if the folder does not hold it.
    ///
    /// # Errors
    /// It cannot be read, or is not of this version.
    pub fn read(folder: &RunFolder, key: &str) -> Result<Option<Self>, ResultsError> {
        let name = super::cells::name(key);
        if !folder.file(&name).exists() {
            return Ok(None);
        }
        folder.read_json(&name).map(Some)
    }
}

impl PhaseFigures {
    /// Whether the phase offered messages or handshakes.
    pub fn has_offer(&self) -> bool {
        matches!(self.name.as_str(), "publish" | "request" | "handshakes")
    }

    /// Whether every message was acknowledged or delivered, as far as is known.
    pub fn is_acknowledged(&self) -> bool {
        self.not_acknowledged().is_empty()
    }

    /// The outcomes of messages that were neither acknowledged nor delivered, with their numbers; empty if there are none.
    pub fn not_acknowledged(&self) -> Vec<(&'static str, u64)> {
        let outcomes = &self.outcomes;
        // Without answers, unknown is the usual outcome.
        let is_answered = self.response_kind.is_some();
        let ends = [
            ("refused", outcomes.refused),
            ("failed", outcomes.failed),
            ("late", outcomes.late),
            ("lost", outcomes.lost),
            ("unknown", outcomes.unknown * u64::from(is_answered)),
        ];
        ends.into_iter().filter(|(_, messages)| *messages > 0).collect()
    }

    /// Replaces the figures of the phase by those of `intervals`, without warm-up. Fields that are not counts (name,
    /// times, requested rate, kind of response) stay, and `deliveries` stays null if it was null.
    #[must_use]
    pub fn counted<'a>(self, intervals: impl IntoIterator<Item = &'a Interval>) -> Self {
        let mut sum = Interval::default();
        let measured = intervals.into_iter().filter(|interval| !interval.warm_up);
        measured.for_each(|interval| sum.add(interval));
        let arrived = sum.outcomes.acknowledged + sum.outcomes.delivered;
        let per_second = |count: u64| (self.measured_s > 0.0).then(|| count as f64 / self.measured_s);
        // What arrives only when nothing is offered any more was carried by the pause behind the phase.
        let rate = per_second(arrived.saturating_sub(sum.worked_off));
        let times = |histogram: &Option<_>| histogram.as_ref().and_then(Times::of_histogram);
        Self {
            // A closed loop offers what the target answers: its rate says nothing about what was asked.
            offered_rate: self.asked_rate.and_then(|_| per_second(sum.outcomes.offered)),
            // A phase that offers nothing carries nothing, which is not a rate of zero.
            carried_rate: rate.filter(|_| sum.outcomes.offered > 0),
            outcomes: sum.outcomes,
            sent: sum.sent,
            connects: sum.connects,
            deliveries: self.deliveries.map(|_| sum.deliveries),
            socket_bytes_up: sum.socket_bytes[0],
            socket_bytes_down: sum.socket_bytes[1],
            response_time_ns: times(&sum.response_time),
            service_time_ns: times(&sum.service_time),
            schedule_lag_ns: times(&sum.schedule_lag),
            connect_time_ns: times(&sum.connect_time),
            one_way_delay_ns: times(&sum.one_way_delay),
            reasons: sum.reasons,
            ..self
        }
    }
}

#[cfg(test)]
mod tests;
