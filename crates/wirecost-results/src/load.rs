//! `summary.json` of a load: one entry per load, one section per phase. What is seen second by second is in
//! `intervals.csv` and `latency/*.hlog`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::environment::Emulator;
use super::folder::{ResultsError, RunFolder};
use super::summary::{Link, Outcomes, Times};
use super::usage::UsageRow;
use crate::figures::{Connects, Deliveries, Interval};
use crate::link_use::LinkUse;
use crate::threshold::Threshold;
use crate::warning::{Warning, WarningKind};

/// The contents of `summary.json` after `wirecost load`, or `wirecost run` with phases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadSummary {
    /// Version of this format: [`super::summary::SCHEMA`].
    pub schema: u32,
    /// `load`: what tells it from a comparison's.
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
    /// One entry per combination asked for.
    pub loads: Vec<Load>,
    /// What was demanded of the figures, and whether they hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<Threshold>,
}

/// One combination of stack, start, payload, clients and rate against one target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// What tells it from every other one: the same for the same resolved load, engine, version and seed.
    pub key: String,
    /// When it began, RFC 3339, UTC; empty where it could not be run.
    #[serde(default)]
    pub started_at: String,
    /// Name of the stack.
    pub stack: String,
    /// How connections start: `cold`, `resumed` or `0rtt`.
    pub start: String,
    /// Payload of a message in bytes; null where messages differ in it, as those of a template may.
    pub payload_bytes: Option<u64>,
    /// `builtin`, the name of a real server, or a URL.
    pub target: String,
    /// `live`, or `sim` where everything is modelled in virtual time.
    pub engine: String,
    /// Devices, subscribers not counted.
    pub clients: u64,
    /// Devices that subscribe.
    pub subscribers: u64,
    /// The most messages of a device that wait for their answers at a time; null where nothing limits it.
    pub inflight: Option<u64>,
    /// How messages follow one another.
    pub loop_kind: LoopKind,
    /// `constant` or `poisson`; null in a closed loop.
    pub arrivals: Option<String>,
    /// Whether devices share sockets, told apart by token: no 5-tuple of their own then.
    pub shared_socket: bool,
    /// Whether devices and a target that wirecost started spoke IPv6; of a URL, its address says it.
    #[serde(default)]
    pub ipv6: bool,
    /// Processes that generated.
    pub processes: u32,
    /// Loops that generated, over all processes.
    pub loops: u32,
    /// `awake` where idle CPUs were kept awake, `asleep` where only root may ask for that: then the generator is late by
    /// what they take to wake.
    #[serde(default)]
    pub idle_cpus: String,
    /// Whether the figures of all phases may be used; `warnings`, here and in the phases, say why not.
    pub valid: bool,
    /// Reasons to look before trusting the figures of any phase.
    pub warnings: Vec<Warning>,
    /// Why it could not be run; there are no phases then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<String>,
    /// What was asked for, where no phase has begun; absent where one has, and says it.
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
    /// CPU and memory of the generator: all processes of it.
    pub generator: Option<ProcessUse>,
    /// CPU and memory of the target, where it runs on this machine.
    pub target_use: Option<ProcessUse>,
    /// The server of a simulated load, where it takes time for messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceFigures>,
    /// The emulated link that all devices shared; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Box<LinkFigures>>,
    /// Who could give no more.
    pub bottleneck: Option<Bottleneck>,
    /// The folded stacks of the target's CPU profile, below the results folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The packets on the link, below the results folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<String>,
}

/// How messages follow one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoopKind {
    /// No messages are offered.
    #[default]
    None,
    /// At their times, whatever becomes of those before.
    Open,
    /// Each when the one before is answered.
    Closed,
    /// A closed loop with several messages of a device on their way: as fast as it goes.
    Saturation,
}

impl LoopKind {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Saturation => "saturation",
        }
    }
}

impl Load {
    /// Whether it ran in virtual time, so that everything in it is modelled.
    pub fn is_modelled(&self) -> bool {
        self.engine == "sim"
    }
}

impl Load {
    /// Whether the generator ended before its time, by itself.
    pub fn has_failed(&self) -> bool {
        let mut warnings = self.phases.iter().flat_map(|phase| &phase.warnings);
        warnings.any(|warning| warning.kind == WarningKind::EndedEarly)
    }
}

/// What tells a load without phases from the others of its run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// `asked_rate` of each phase that would have one, in their order.
    pub rates: Vec<f64>,
    /// The emulated link; null where there would be none.
    pub link: Option<Link>,
}

/// The emulated link of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkFigures {
    /// What was asked for and achieved, over the whole load.
    #[serde(flatten)]
    pub link: Link,
    /// How packets left the namespaces: `tun` or `veth`; `virtual` where there are none, in virtual time.
    pub packet_path: String,
    /// How the link kept its deadlines, over the whole load; absent in virtual time, which keeps all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulator: Option<Emulator>,
    /// Packets that an interface dropped or refused: any makes the load invalid.
    pub dropped_packets: u64,
}

/// The figures of one phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseFigures {
    /// `connect`, `publish`, `request`, `handshakes`, `hold`, `drop`, `reconnect`, `replay`, `close`.
    pub name: String,
    /// From the start of the load, in seconds.
    pub begin_s: f64,
    /// How long it took, drain included, in seconds.
    pub duration_s: f64,
    /// Time at its beginning that is in no figure, in seconds.
    #[serde(default)]
    pub warm_up_s: f64,
    /// How much of its duration was measured: neither warm-up nor drain, in seconds.
    pub measured_s: f64,
    /// Whether its figures may be used; its `warnings`, and those of the load, say why not.
    pub valid: bool,
    /// Reasons to look before trusting its figures.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// Messages per second that were asked for; null in a closed loop and where there are none.
    #[serde(default)]
    pub asked_rate: Option<f64>,
    /// Messages that were offered per second of the measured time: fewer than were asked for in a ramp, and about as many where
    /// they arrive at random. Null in a closed loop and where there are none.
    pub offered_rate: Option<f64>,
    /// Messages acknowledged, or delivered where nothing answers, per second of the measured time. What was so only when
    /// nothing was offered any more is not among them.
    pub carried_rate: Option<f64>,
    /// How the messages ended; the parts sum to `offered`.
    pub outcomes: Outcomes,
    /// Messages whose last byte the kernel has taken.
    pub sent: u64,
    /// How connections came about.
    pub connects: Connects,
    /// What arrived at subscribers or at the sink; null where that is not known.
    pub deliveries: Option<Deliveries>,
    /// Of the deliveries that were expected, those that have not come, in a later phase either; absent where it is not known
    /// what was expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<u64>,
    /// How often each reason was given.
    pub reasons: BTreeMap<String, u64>,
    /// Bytes given to sockets.
    pub socket_bytes_up: u64,
    /// Bytes taken from sockets.
    pub socket_bytes_down: u64,
    /// What ends the response time: `to_ack`, `to_reply`; null where nothing answers.
    pub response_kind: Option<String>,
    /// From the intended send to the answer.
    pub response_time_ns: Option<Times>,
    /// From the actual send to the answer.
    pub service_time_ns: Option<Times>,
    /// How late the generator was.
    pub schedule_lag_ns: Option<Times>,
    /// From the start of a connect until the client may send.
    pub connect_time_ns: Option<Times>,
    /// From the intended send to the arrival at a subscriber or sink.
    pub one_way_delay_ns: Option<Times>,
    /// What the emulated link has done meanwhile; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkUse>,
}

/// CPU and memory of one side over the phases that tell, their warm-up included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessUse {
    /// CPU time in user mode, in seconds.
    pub user_s: f64,
    /// CPU time in the kernel, in seconds.
    pub system_s: f64,
    /// Time in which that was used, in seconds.
    #[serde(default)]
    pub wall_s: f64,
    /// CPU time by wall time in the busiest phase: 1 is one CPU. Null where the phases were too short to tell.
    pub cpu_share: Option<f64>,
    /// CPU time of the busiest thread by wall time; what a loop of the generator has waited awake is left out. Null where
    /// threads are not told apart, or the phases were too short to tell.
    pub busiest_thread_share: Option<f64>,
    /// Largest sum of the processes' resident memory, in bytes.
    pub resident_bytes: u64,
    /// Processes at the end.
    pub processes: u32,
    /// CPU time of the phases that offer something per million messages that were sent in them, warm-up included, in seconds;
    /// null where none were.
    pub cpu_s_per_million: Option<f64>,
}

/// A simulated server that takes time for messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServiceFigures {
    /// How long it works on a message, e.g. `1ms` or `exponential:1ms`.
    pub service_time: String,
    /// Its workers, with one queue in front of them.
    pub workers: u32,
    /// The share of the workers' time that was in use in the busiest phase; null where the phases were too short to tell.
    pub utilisation: Option<f64>,
}

/// Who could give no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bottleneck {
    /// `generator`, `target`, `link` or `none`.
    pub who: String,
    /// The figures that say so, in one sentence.
    pub why: String,
}

/// `cells/<key>.json` after a load: what it has come to, and all that it was made from. Loads of the same key add up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadFile {
    /// Its figures.
    pub load: Load,
    /// What was counted, one interval for each phase and second, in their order.
    pub intervals: Vec<Interval>,
    /// What both sides used meanwhile.
    #[serde(default)]
    pub usage: Vec<UsageRow>,
    /// The folded stacks of the target's CPU profile, where one was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Addresses that its devices came from.
    #[serde(default)]
    pub source_addresses: Vec<String>,
    /// Program and version of the real server that was started for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

impl LoadFile {
    /// Whether it need not be run again.
    pub const fn is_complete(&self) -> bool {
        !self.load.interrupted && self.load.aborted.is_none()
    }

    /// Messages and handshakes that were sent, those of warm-ups among them.
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

    /// The file of the load with a key; `None` where there is none.
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
    /// Whether messages or handshakes were offered in it.
    pub fn has_offer(&self) -> bool {
        matches!(self.name.as_str(), "publish" | "request" | "handshakes")
    }

    /// Whether every message of it was carried, as far as anybody knows.
    pub fn is_carried(&self) -> bool {
        self.not_carried().is_empty()
    }

    /// How messages ended that are known not to have been carried, and how many did so; none is zero.
    pub fn not_carried(&self) -> Vec<(&'static str, u64)> {
        let outcomes = &self.outcomes;
        // Where nothing answers, unknown is what can be known.
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

    /// The same phase with the figures of `intervals`, whatever it had before; warm-up is in none of them. What is not
    /// counted (name, times, rate asked for, kind of response) stays, and deliveries stay null where they were.
    #[must_use]
    pub fn counted<'a>(self, intervals: impl IntoIterator<Item = &'a Interval>) -> Self {
        let mut sum = Interval::default();
        let measured = intervals.into_iter().filter(|interval| !interval.warm_up);
        measured.for_each(|interval| sum.add(interval));
        let arrived = sum.outcomes.acknowledged + sum.outcomes.delivered;
        let per_second = |count: u64| (self.measured_s > 0.0).then(|| count as f64 / self.measured_s);
        let carried = per_second(arrived.saturating_sub(sum.worked_off));
        let times = |histogram: &Option<_>| histogram.as_ref().and_then(Times::of_histogram);
        Self {
            offered_rate: self.asked_rate.and_then(|_| per_second(sum.outcomes.offered)),
            carried_rate: carried.filter(|_| sum.outcomes.offered > 0),
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
