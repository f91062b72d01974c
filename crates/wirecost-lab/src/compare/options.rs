//! What a comparison is asked to do.

mod engine;

use std::time::Duration;

use wirecost_link::DelayDistribution;
pub use wirecost_link::{
    DelayVariation, DirectionConfig, GilbertElliott, LinkConfig, Loss, QueueLimit, Reorder,
};
pub use wirecost_live::Medium;
use wirecost_proto::units::DisplayDuration;
use wirecost_proto::{BitRate, ByteSize, Probability};
use wirecost_security::Start;

use crate::scenario::{ResolvedDirection, ResolvedLink, ResolvedScenario, ResolvedSchedule};
use crate::stack::{Application, Channel, Stack};
pub use crate::target::Target;
pub use engine::{Engine, UnknownEngine};

/// A comparison, every default filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// What cells are run by.
    pub engine: Engine,
    /// The stacks, in the order in which they are printed.
    pub stacks: Vec<Stack>,
    /// How connections start.
    pub starts: Vec<Start>,
    /// Payload sizes.
    pub sizes: Vec<ByteSize>,
    /// Links.
    pub links: Vec<LinkConfig>,
    /// Samples (devices) per cell.
    pub samples: u32,
    /// Quiet time that ends a step.
    pub settle: Duration,
    /// After this an acknowledgement is late.
    pub timeout: Duration,
    /// The servers.
    pub target: Target,
    /// Whether devices speak IPv6.
    pub ipv6: bool,
    /// How packets leave the namespaces; `None` takes TUN where it can be used.
    pub medium: Option<Medium>,
    /// Seed of every random decision.
    pub seed: u64,
    /// Topic, or path without its leading slash.
    pub resource: String,
    /// MQTT keep-alive in seconds.
    pub keep_alive: u16,
    /// How devices send.
    pub schedules: Vec<Schedule>,
    /// Whether the capture holds the secrets of its connections.
    pub keys: bool,
    /// Whether servers demand a certificate of devices.
    pub client_certificates: bool,
    /// Whether DTLS servers ask for a cookie before they answer.
    pub dtls_cookie: bool,
    /// Devices per cell whose packets the capture holds where a run is too long to hold all.
    pub record_hosts: u32,
    /// Whether link and hosts share one CPU, so that the kernel repeats itself packet by packet; live only.
    pub one_cpu: bool,
    /// Whether all devices of a cell share one link and one server; `None` where each one has its own link.
    pub fleet: Option<Fleet>,
}

/// Devices that share a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fleet {
    /// The time over which the starts of devices are spread evenly; `None` spreads them over the interval.
    pub spread: Option<Duration>,
}

/// What the devices of a cell send on one connection, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Measured messages.
    pub messages: u64,
    /// Whether a message goes before the measured ones.
    pub warm_up: bool,
    /// Time between the intended sends of measured messages; `None` where each one settles.
    pub interval: Option<Duration>,
}

impl Default for Schedule {
    /// One message that settles, after one that warms up.
    fn default() -> Self {
        Self {
            messages: 1,
            warm_up: true,
            interval: None,
        }
    }
}

/// Why a comparison cannot be run as asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OptionsError {
    /// The target cannot answer any of the stacks.
    #[error("{target} speaks none of the stacks asked for; it speaks {speaks}")]
    TargetSpeaksNone {
        /// The target.
        target: Target,
        /// The stacks that it speaks.
        speaks: &'static str,
    },
    /// A list is empty or a number absurd.
    #[error("{0}")]
    Absurd(String),
    /// The link cannot exist.
    #[error(transparent)]
    Link(#[from] wirecost_link::ConfigError),
    /// IPv6 on a link that cannot carry it.
    #[error("IPv6 needs an MTU of at least 1280 B (RFC 8200, section 5), got {0} B")]
    MtuBelowIpv6(u16),
}

/// Devices that one live run can hold: as many as the network has addresses, less those of the link checks.
pub const MAX_DEVICES: u64 = 60_000;
/// Devices of one cell in virtual time: as many as there are addresses for them.
const MAX_SIMULATED_DEVICES: u64 = 4_000_000;
/// The largest payload: it is held in memory, on both sides and on the link.
const MAX_SIZE: u64 = 1_000_000_000;
/// Payload bytes that one run may send: more than half a day at the pace at which devices start.
const MAX_PAYLOAD: u64 = 1_000_000_000_000;
/// Messages of one device.
const MAX_MESSAGES: u64 = 1_000_000;
/// Beside the RTTs, what a PINGREQ and its answer keep a link from quiet: a delayed acknowledgement (RFC 9293,
/// section 3.8.6.3, allows 500 ms; Linux takes 40 ms), generously.
const KEEP_ALIVE_MARGIN: Duration = Duration::from_millis(100);
/// The longest that a device may wait for anything.
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);
/// The smallest MTU over IPv6 (RFC 8200, section 5).
const MIN_IPV6_MTU: u16 = 1280;

impl Options {
    /// Checks that the comparison can be run.
    ///
    /// # Errors
    /// The first thing that cannot be.
    pub fn validate(&self) -> Result<(), OptionsError> {
        let absurd = |text: &str| Err(OptionsError::Absurd(text.to_owned()));
        if self.samples == 0 {
            return absurd("-n must be at least 1");
        }
        if self.schedules.iter().any(|schedule| schedule.messages == 0) {
            return absurd("--messages-per-connection must be at least 1");
        }
        self.validate_engine()?;
        let mut times = vec![("--settle", self.settle), ("--timeout", self.timeout)];
        let intervals = self.schedules.iter().filter_map(|schedule| schedule.interval);
        times.extend(intervals.map(|interval| ("--interval", interval)));
        if let Some((flag, time)) = times
            .into_iter()
            .find(|(_, time)| time.is_zero() || *time > LONGEST_WAIT)
        {
            let time = DisplayDuration(time);
            return absurd(&format!("{flag} must be above 0 ms and at most 1 h, got {time}"));
        }
        if self.client_certificates && !self.target.is_builtin() {
            return absurd(
                "--client-certificates works with the built-in servers: others are not told to ask for one",
            );
        }
        self.validate_amount()?;
        for link in &self.links {
            link.validate()?;
            let mtu = link.up.mtu.min(link.down.mtu);
            if self.ipv6 && mtu < MIN_IPV6_MTU {
                return Err(OptionsError::MtuBelowIpv6(mtu));
            }
        }
        self.validate_keep_alive()?;
        self.validate_starts()?;
        if !self.stacks.iter().any(|stack| self.target.speaks(*stack)) {
            return Err(OptionsError::TargetSpeaksNone {
                target: self.target,
                speaks: self.target.spoken(),
            });
        }
        Ok(())
    }

    /// What is asked for must be possible on the engine.
    fn validate_engine(&self) -> Result<(), OptionsError> {
        let absurd = |text: String| Err(OptionsError::Absurd(text));
        if self.engine == Engine::Sim && !self.target.is_builtin() {
            return absurd(format!(
                "--engine sim knows the built-in servers only: leave out --target {}, or take --engine live",
                self.target
            ));
        }
        let (samples, most) = (u64::from(self.samples), self.max_samples());
        if samples > most {
            let other = if self.engine.goes_live() {
                ", or take --engine sim"
            } else {
                ""
            };
            return absurd(format!(
                "a cell of {samples} samples is more than the {most} devices that one run holds: lower -n{other}"
            ));
        }
        match self.fleet {
            Some(_) if self.engine != Engine::Sim => {
                absurd("--shared-link works in virtual time only, so far: add --engine sim".into())
            }
            Some(_) if self.schedules.iter().any(|schedule| schedule.interval.is_none()) => {
                absurd("devices that share a link send at an interval: add --interval".into())
            }
            Some(_) if self.starts != [Start::Cold] => {
                absurd("devices that share a link start cold, so far: leave out --start".into())
            }
            Some(Fleet { spread: Some(spread) }) if spread > LONGEST_WAIT => {
                let spread = DisplayDuration(spread);
                absurd(format!("--spread must be at most 1 h, got {spread}"))
            }
            _ => Ok(()),
        }
    }

    const fn max_samples(&self) -> u64 {
        if self.engine.goes_live() {
            MAX_DEVICES
        } else {
            MAX_SIMULATED_DEVICES
        }
    }

    /// Some stack must be able to start in some way that is asked for.
    fn validate_starts(&self) -> Result<(), OptionsError> {
        let ways = self
            .stacks
            .iter()
            .flat_map(|stack| self.starts.iter().map(|start| (*stack, *start)));
        let mut refusals = Vec::new();
        for (stack, start) in ways {
            match stack.cannot_start(start).or_else(|| self.cannot_share(stack)) {
                None => return Ok(()),
                Some(reason) => refusals.push(reason),
            }
        }
        let reason = refusals
            .into_iter()
            .next()
            .unwrap_or_else(|| "no stack and no start is asked for".into());
        Err(OptionsError::Absurd(format!("nothing to run: {reason}")))
    }

    /// Why devices of a stack cannot share a link; `None` where they can, or have a link each.
    pub(super) fn cannot_share(&self, stack: Stack) -> Option<String> {
        self.fleet?;
        if !stack.is_answered() {
            return Some(format!(
                "nothing answers {stack}: on a shared link only answers are timed, so far"
            ));
        }
        (stack.channel != Channel::Plain || stack.application == Application::Http3)
            .then(|| format!("{stack} is protected: devices that share a link speak in the clear, so far"))
    }

    /// What is to be sent must fit into memory and into a day.
    fn validate_amount(&self) -> Result<(), OptionsError> {
        let absurd = |text: String| Err(OptionsError::Absurd(text));
        let messages = self.schedules.iter().map(|schedule| schedule.messages);
        if let Some(messages) = messages.clone().find(|messages| *messages > MAX_MESSAGES) {
            return absurd(format!(
                "--messages-per-connection must be at most {MAX_MESSAGES}, got {messages}"
            ));
        }
        if let Some(size) = self.sizes.iter().find(|size| size.bytes() > MAX_SIZE) {
            return absurd(format!("--size must be at most 1GB, got {size}"));
        }
        let sizes: u64 = self.sizes.iter().map(|size| size.bytes()).sum();
        let cells_per_size = (self.stacks.len() * self.starts.len() * self.links.len()) as u64;
        let per_device: u64 = messages.map(|messages| messages + 1).sum();
        let messages = cells_per_size
            .saturating_mul(u64::from(self.samples))
            .saturating_mul(per_device);
        let payload = sizes.saturating_mul(messages);
        if payload > MAX_PAYLOAD {
            let gigabytes = payload / 1_000_000_000;
            return absurd(format!(
                "this run would send {gigabytes} GB of payload, more than 1,000 GB: \
                 lower -n, --size or --messages-per-connection"
            ));
        }
        Ok(())
    }

    /// A step ends when the link is quiet, which it never is where PINGREQs follow one another faster.
    fn validate_keep_alive(&self) -> Result<(), OptionsError> {
        let keep_alive = Duration::from_secs(self.keep_alive.into());
        let rtt = self.links.iter().map(LinkConfig::rtt).max().unwrap_or_default();
        let quiet_after = self.settle + rtt * 2 + KEEP_ALIVE_MARGIN;
        if keep_alive.is_zero()
            || keep_alive > quiet_after
            || !self.stacks.iter().any(|stack| stack.is_mqtt())
        {
            return Ok(());
        }
        Err(OptionsError::Absurd(format!(
            "--keep-alive {} leaves the link no {} of quiet: raise it, set it to 0s, or lower --settle",
            DisplayDuration(keep_alive),
            DisplayDuration(self.settle)
        )))
    }

    /// The smallest MTU of all links, in bytes of an IP packet: the network has one.
    pub fn mtu(&self) -> u16 {
        self.links.iter().map(super::plan::mtu_of).min().unwrap_or(1_500)
    }

    /// How many cells there are.
    pub fn cells(&self) -> u64 {
        let ways = self.stacks.len() * self.starts.len() * self.schedules.len();
        (ways * self.sizes.len() * self.links.len()) as u64
    }

    /// The longest that a device may be at work.
    pub fn longest_life(&self) -> Duration {
        let messages = self.schedules.iter().map(|schedule| schedule.messages).max();
        let messages = u32::try_from(messages.unwrap_or(1)).unwrap_or(u32::MAX);
        let rtt = self.links.iter().map(LinkConfig::rtt).max().unwrap_or_default();
        // Connect, warm-up and close settle too, and the connection for a ticket. Where packets are lost, each step may take twice the time-out.
        let steps = messages.saturating_add(if self.starts == [Start::Cold] { 3 } else { 5 });
        let lossless = self.links.iter().all(super::verdict::is_lossless);
        let waiting = if lossless { rtt * 4 } else { self.timeout * 2 };
        let intervals = self.schedules.iter().filter_map(|schedule| schedule.interval);
        let pace = intervals.max().unwrap_or_default();
        (self.settle + waiting + pace).saturating_mul(steps)
    }

    /// The scenario as the results folder keeps it.
    pub fn to_scenario(&self) -> ResolvedScenario {
        let duration = |duration: Duration| DisplayDuration(duration).to_string();
        let schedules: Vec<ResolvedSchedule> = self.schedules.iter().map(resolved_schedule).collect();
        let first = schedules.first().cloned().unwrap_or_default();
        ResolvedScenario {
            engine: self.engine.to_string(),
            target: self.target.to_string(),
            stacks: self.stacks.iter().map(Stack::to_string).collect(),
            start: self.starts.iter().map(Start::to_string).collect(),
            size: self.sizes.iter().map(ByteSize::to_string).collect(),
            links: self.links.iter().map(resolved_link).collect(),
            samples: u64::from(self.samples),
            settle: duration(self.settle),
            timeout: duration(self.timeout),
            ipv6: self.ipv6,
            seed: self.seed,
            resource: self.resource.clone(),
            keep_alive: duration(Duration::from_secs(self.keep_alive.into())),
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
            shared_link: self.fleet.is_some(),
            spread: self.fleet.and_then(|fleet| fleet.spread).map(duration),
        }
    }
}

pub(crate) fn resolved_schedule(schedule: &Schedule) -> ResolvedSchedule {
    ResolvedSchedule {
        messages_per_connection: schedule.messages,
        warm_up: schedule.warm_up,
        interval: schedule
            .interval
            .map(|interval| DisplayDuration(interval).to_string()),
    }
}

pub(crate) fn resolved_link(link: &LinkConfig) -> ResolvedLink {
    ResolvedLink {
        up: resolved_direction(&link.up),
        down: resolved_direction(&link.down),
    }
}

fn resolved_direction(direction: &DirectionConfig) -> ResolvedDirection {
    let reorder = direction
        .reorder
        .map_or(Probability::ZERO, |reorder| reorder.probability);
    let variation = direction.delay_variation.map(|variation| variation.distribution);
    ResolvedDirection {
        delay: DisplayDuration(direction.delay).to_string(),
        delay_variation: match variation {
            None => "0ms".into(),
            Some(DelayDistribution::Uniform { plus_minus }) => DisplayDuration(plus_minus).to_string(),
            Some(DelayDistribution::Normal { standard_deviation }) => {
                format!("normal {}", DisplayDuration(standard_deviation))
            }
        },
        loss: loss_text(&direction.loss),
        reorder: reorder.to_string(),
        duplicate: direction.duplicate.to_string(),
        corrupt: direction.corrupt.to_string(),
        rate: direction
            .rate
            .map_or("unlimited".into(), |rate: BitRate| rate.to_string()),
        queue: match direction.queue {
            None => "auto".into(),
            Some(QueueLimit::Packets(packets)) => format!("{packets} packets"),
            Some(QueueLimit::Bytes(bytes)) => ByteSize::from_bytes(bytes).to_string(),
        },
        mtu: ByteSize::from_bytes(direction.mtu.into()).to_string(),
    }
}

fn loss_text(loss: &Loss) -> String {
    match loss {
        Loss::None => "0%".into(),
        Loss::Bernoulli(probability) => probability.to_string(),
        Loss::GilbertElliott(model) => format!(
            "gilbert-elliott {} {} {} {}",
            model.good_to_bad, model.bad_to_good, model.loss_in_good, model.loss_in_bad
        ),
    }
}

#[cfg(test)]
pub(crate) mod tests;
