//! The options of a comparison.

mod engine;
mod running;
mod valid;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

pub use wirecost_link::{
    DelayVariation, DirectionConfig, GilbertElliott, LinkConfig, Loss, Medium, QueueLimit, Reorder,
};
use wirecost_proto::ByteSize;
use wirecost_proto::units::DisplayDuration;
use wirecost_results::link_text::LinkText;
use wirecost_results::resolved::{ResolvedPayload, ResolvedRecord, ResolvedScenario, ResolvedSchedule};
use wirecost_results::shard::Shard;
use wirecost_security::Start;
use wirecost_stack::Stack;
pub use wirecost_stack::target::Target;

use super::content::{Contents, ReadingsLists};
use crate::options::sending::Sending;
use crate::selector::Selector;
pub use engine::{Engine, UnknownEngine};
pub use running::{Running, ServerPath};
pub use valid::MAX_DEVICES;

/// The options of a comparison, every default filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The engine.
    pub engine: Engine,
    /// The stacks, in the order of the table.
    pub stacks: Vec<Stack>,
    /// How connections start.
    pub starts: Vec<Start>,
    /// What messages carry.
    pub contents: Contents,
    /// Links.
    pub links: Vec<LinkConfig>,
    /// Samples (devices) per cell.
    pub samples: u32,
    /// Quiet time that ends a step.
    pub settle: Duration,
    /// The time-out of an acknowledgement.
    pub timeout: Duration,
    /// The servers.
    pub target: Target,
    /// The server that runs already, if `target` is [`Target::Running`].
    pub running: Option<Running>,
    /// Whether devices speak IPv6.
    pub ipv6: bool,
    /// The packet path; `None` takes TUN if it is available.
    pub medium: Option<Medium>,
    /// Seed of every random decision.
    pub seed: u64,
    /// Topic, or path without its leading slash.
    pub resource: String,
    /// MQTT keep-alive in seconds.
    pub keep_alive: u16,
    /// How devices send.
    pub schedules: Vec<Schedule>,
    /// What a device does when its connection has ended before its last message.
    pub reconnect: Reconnect,
    /// Whether the capture holds the secrets of its connections.
    pub keys: bool,
    /// Whether servers demand a certificate of devices.
    pub client_certificates: bool,
    /// Whether DTLS servers ask for a cookie before they answer.
    pub dtls_cookie: bool,
    /// Recorded devices per cell, in a run that is too long to record all.
    pub record_hosts: u32,
    /// Whether link and hosts share one CPU, so that the kernel sends the same packets in every run; live only.
    pub one_cpu: bool,
    /// How devices hand their messages to the network.
    pub sending: Sending,
    /// The shared link of all devices of a cell; `None` if each device has its own link.
    pub shared_link: Option<SharedLink>,
    /// Excluded cells.
    pub exclude: Vec<Selector>,
    /// The shard that is run; `None` runs all cells.
    pub shard: Option<Shard>,
}

/// Devices that share a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedLink {
    /// The time over which the starts of devices are evenly spread; `None` spreads them over the interval.
    pub spread: Option<Duration>,
}

/// What a device does when its connection has ended before its last message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reconnect {
    /// It connects again when its next message is due.
    #[default]
    AsNeeded,
    /// It does not send the remaining messages.
    Never,
}

impl Reconnect {
    /// Its name in files and flags.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AsNeeded => "as-needed",
            Self::Never => "never",
        }
    }
}

impl fmt::Display for Reconnect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Reconnect {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = [Self::AsNeeded, Self::Never];
        let found = known.into_iter().find(|known| known.name() == text);
        found.ok_or_else(|| format!("unknown value {text:?}, expected as-needed or never"))
    }
}

/// The messages of one connection and their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Measured messages.
    pub messages: u64,
    /// Whether a warm-up message precedes the measured ones.
    pub warm_up: bool,
    /// Time between the intended sends of measured messages; `None` if each one settles.
    pub interval: Option<Duration>,
    /// Seconds between keep-alives, where they are not those of the run. Only stacks that send keep-alives have such cells.
    pub keep_alive: Option<u16>,
}

impl Default for Schedule {
    /// A warm-up message, then one measured message that settles.
    fn default() -> Self {
        Self {
            messages: 1,
            warm_up: true,
            interval: None,
            keep_alive: None,
        }
    }
}

/// Why IPv6 cannot cross a link with this MTU in bytes.
pub fn below_ipv6(mtu: u16) -> String {
    format!("IPv6 needs an MTU of at least 1280 B (RFC 8200, section 5), got {mtu} B")
}

impl Options {
    /// Every combination of stack and start.
    pub(crate) fn ways(&self) -> impl Iterator<Item = (Stack, Start)> {
        let of_stack = |stack: &Stack| {
            let stack = *stack;
            self.starts.iter().map(move |start| (stack, *start))
        };
        self.stacks.iter().flat_map(of_stack)
    }

    /// Seconds between the keep-alives of a device with this schedule.
    pub fn keep_alive_of(&self, schedule: &Schedule) -> u16 {
        schedule.keep_alive.unwrap_or(self.keep_alive)
    }

    /// Whether a link is a modelled NB-IoT cell.
    pub fn has_cell(&self) -> bool {
        self.cell().is_some()
    }

    /// The first link that is a modelled NB-IoT cell.
    fn cell(&self) -> Option<&LinkConfig> {
        self.links.iter().find(|link| link.cell.is_some())
    }

    /// The modelled NB-IoT cell that is asked for on kernel sockets, which cannot run it.
    pub fn live_cell(&self) -> Option<&LinkConfig> {
        self.cell().filter(|_| self.engine.goes_live())
    }

    /// Takes the only possible engine where it is left open: sim on a modelled link, live with offload.
    pub fn settle_engine(&mut self) {
        if self.engine == Engine::Auto && self.has_cell() {
            self.engine = Engine::Sim;
        }
        // Virtual time has no interfaces.
        if self.engine == Engine::Auto && self.sending.offload {
            self.engine = Engine::Live;
        }
    }

    /// An upper bound of the life of a device.
    pub fn longest_life(&self) -> Duration {
        let messages = self.schedules.iter().map(|schedule| schedule.messages).max();
        let messages = u32::try_from(messages.unwrap_or(1)).unwrap_or(u32::MAX);
        let rtt = self.links.iter().map(LinkConfig::rtt).max().unwrap_or_default();
        // Connect, warm-up and close settle too, and so does the connection for a ticket. On a lossy link each step may
        // take twice the time-out.
        let steps = messages.saturating_add(if self.starts == [Start::Cold] { 3 } else { 5 });
        let lossless = self.links.iter().all(LinkConfig::is_lossless);
        let waiting = if lossless { rtt * 4 } else { self.timeout * 2 };
        let intervals = self.schedules.iter().filter_map(|schedule| schedule.interval);
        let pace = intervals.max().unwrap_or_default();
        (self.settle + waiting + pace).saturating_mul(steps)
    }

    /// The scenario in its resolved form.
    pub fn to_scenario(&self) -> ResolvedScenario {
        let duration = |duration: Duration| DisplayDuration(duration).to_string();
        let no_lists = ReadingsLists::default();
        let (sizes, lists) = match &self.contents {
            Contents::Sizes(sizes) => (sizes.as_slice(), &no_lists),
            Contents::Readings(lists) => ([].as_slice(), lists),
        };
        let schedules: Vec<ResolvedSchedule> = self.schedules.iter().map(resolved_schedule).collect();
        let first = schedules.first().cloned().unwrap_or_default();
        ResolvedScenario {
            engine: self.engine.to_string(),
            target: self.target_name(),
            path: self.path().map(|path| path.name().to_owned()),
            ca: self
                .running
                .as_ref()
                .and_then(|running| Some(running.ca.as_ref()?.display().to_string())),
            insecure: self.running.as_ref().is_some_and(|running| running.insecure),
            stacks: self.stacks.iter().map(Stack::to_string).collect(),
            start: self.starts.iter().map(Start::to_string).collect(),
            size: sizes.iter().map(ByteSize::to_string).collect(),
            readings: lists.readings.clone(),
            encoding: lists.encodings.iter().map(ToString::to_string).collect(),
            compression: lists.compressions.iter().map(ToString::to_string).collect(),
            links: self.links.iter().copied().map(LinkText).collect(),
            samples: u64::from(self.samples),
            settle: duration(self.settle),
            timeout: duration(self.timeout),
            ipv6: self.ipv6,
            seed: self.seed,
            resource: self.resource.clone(),
            keep_alive: duration(Duration::from_secs(self.keep_alive.into())),
            reconnect: self.reconnect.to_string(),
            messages_per_connection: first.messages_per_connection,
            warm_up: first.warm_up,
            client_certificates: self.client_certificates,
            dtls_cookie: self.dtls_cookie,
            interval: first.interval,
            schedules: if schedules.len() > 1 {
                schedules
            } else {
                Vec::new()
            },
            shared_link: self.shared_link.is_some(),
            spread: self.shared_link.and_then(|shared| shared.spread).map(duration),
            packet_path: self.medium.map(|medium| medium_name(medium).to_owned()),
            one_cpu: self.one_cpu,
            payload: self.sending.payload.as_deref().map(ResolvedPayload::of),
            chunk: self.sending.chunk.map(|chunk| chunk.to_string()),
            nagle: self.sending.nagle,
            offload: self.sending.offload,
            request_headers: self.sending.http.request_headers.map(|size| size.to_string()),
            response_body: self.sending.http.response_body.map(|size| size.to_string()),
            record: ResolvedRecord {
                keys: self.keys,
                hosts: self.record_hosts,
            },
            exclude: self.exclude.iter().map(Selector::to_table).collect(),
        }
    }
}

/// The name of a packet path in files and flags.
pub const fn medium_name(medium: Medium) -> &'static str {
    match medium {
        Medium::Tun => "tun",
        Medium::Veth => "veth",
    }
}

impl Schedule {
    /// Every combination of intervals and numbers of messages. Neither a single message nor a device's life, whose messages have an
    /// interval, has a warm-up message before it, unless `warm_up` says otherwise.
    pub fn every(intervals: &[Duration], messages: &[u64], warm_up: Option<bool>) -> Vec<Self> {
        let intervals: Vec<Option<Duration>> = match intervals {
            [] => vec![None],
            intervals => intervals.iter().copied().map(Some).collect(),
        };
        // One message by default has a warm-up message before it; one that was asked for has none.
        let messages: Vec<(u64, bool)> = match messages {
            [] => vec![(1, true)],
            messages => messages
                .iter()
                .map(|messages| (*messages, *messages != 1))
                .collect(),
        };
        let of_interval = |interval: &Option<Duration>| {
            let interval = *interval;
            messages.iter().map(move |(messages, warms_up)| Self {
                messages: *messages,
                warm_up: warm_up.unwrap_or(*warms_up && interval.is_none()),
                interval,
                keep_alive: None,
            })
        };
        intervals.iter().flat_map(of_interval).collect()
    }
}

pub(crate) fn resolved_schedule(schedule: &Schedule) -> ResolvedSchedule {
    ResolvedSchedule {
        messages_per_connection: schedule.messages,
        warm_up: schedule.warm_up,
        interval: schedule
            .interval
            .map(|interval| DisplayDuration(interval).to_string()),
        keep_alive: schedule
            .keep_alive
            .map(|seconds| DisplayDuration(Duration::from_secs(seconds.into())).to_string()),
    }
}

#[cfg(test)]
pub(crate) mod tests;
