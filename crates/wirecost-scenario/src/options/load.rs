//! The options of a load, every default filled in.

mod phase;
pub mod print;
pub mod resources;
pub mod settings;
pub mod shared;
pub mod sites;
pub mod trace;
pub mod valid;

use std::fmt;
use std::ops::Not;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use wirecost_link::LinkConfig;
use wirecost_proto::driver::Writing;
use wirecost_proto::service_time::ServiceTime;
use wirecost_proto::{ByteSize, Stamp};
use wirecost_readings::Batch;
use wirecost_results::load::LoopKind;
use wirecost_results::setting;
use wirecost_security::Start;
use wirecost_stack::target::Target;
use wirecost_stack::url::Url;
use wirecost_stack::{Application, Pattern, Stack};
use wirecost_wire::ipv6;

use self::settings::Settings;
use self::sites::Sites;
use self::trace::Trace;
use crate::options::compare::below_ipv6;
use crate::options::sending::{self, Connection, HttpSizes};
use crate::table::ValueError;

/// A load: devices, a target, and phases one after the other.
///
/// It serializes as in a scenario, without `login`, which [`print::Resolved`] adds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadOptions {
    /// The stack, with the QoS of its messages.
    #[serde(serialize_with = "print::text")]
    pub stack: Stack,
    /// How connections start.
    #[serde(serialize_with = "print::text")]
    pub start: Start,
    /// The target.
    #[serde(serialize_with = "print::text")]
    pub target: LoadTarget,
    /// The settings of a target that wirecost starts, where they differ from those that it gives it.
    #[serde(skip_serializing_if = "Settings::is_empty")]
    pub settings: Settings,
    /// Devices without subscribers.
    pub clients: u32,
    /// Devices that receive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscribers: Option<Subscribers>,
    /// The payload of a message.
    pub payload: Payload,
    /// The values that the first device sends, each at its own time, in place of messages with `payload`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    /// The most bytes that a device gives to TCP at once; `None`: a message and its headers are one write.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "print::optional_text"
    )]
    pub chunk: Option<ByteSize>,
    /// Whether sockets leave Nagle's algorithm on: they do not set `TCP_NODELAY`.
    #[serde(skip_serializing_if = "Not::not")]
    pub nagle: bool,
    /// How long the connections of devices that send last.
    #[serde(skip_serializing_if = "Connection::is_kept", serialize_with = "print::text")]
    pub connection: Connection,
    /// What HTTP requests and answers carry beyond the least.
    #[serde(flatten)]
    pub http: HttpSizes,
    /// Topic, path or address; `%d` is the device's number, `%n` the message's.
    pub resource: String,
    /// Whether the server retains messages (MQTT).
    pub retain: bool,
    /// The will of each device (MQTT).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub will: Option<Will>,
    /// User name and password; `%d` is the device's number.
    #[serde(skip)]
    pub login: Option<(String, String)>,
    /// Client identifiers; `%d` is the device's number.
    pub client_id: String,
    /// MQTT keep-alive in seconds; 0 turns it off.
    #[serde(serialize_with = "print::seconds")]
    pub keep_alive: u16,
    /// How long sessions outlive connections; `None` starts clean.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "print::optional_time"
    )]
    pub session_expiry: Option<Duration>,
    /// The phases, in order.
    pub phases: Vec<Phase>,
    /// The limit of unanswered messages of a device; `None` is the limit of the protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inflight: Option<u32>,
    /// An answer after this time is late. After twice this time the device stops waiting.
    #[serde(serialize_with = "print::time")]
    pub timeout: Duration,
    /// A connection that takes longer than this has failed.
    #[serde(serialize_with = "print::time")]
    pub connect_timeout: Duration,
    /// Whether datagram devices share sockets. Tokens tell them apart.
    pub shared_socket: bool,
    /// Source addresses; if empty, addresses of 127.0.0.0/8 as needed for a target on loopback.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<std::net::IpAddr>,
    /// Loops per process; `None` is one per CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Processes; `None` is the number that the limit on open files requires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// Whether devices and a target that wirecost starts speak IPv6.
    #[serde(skip_serializing_if = "Not::not")]
    pub ipv6: bool,
    /// The emulated link that all devices share. A relay at its end stands for a target that runs already.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "print::link")]
    pub link: Option<LinkConfig>,
    /// The sites of the load; `link` and `target` are those of the devices that send, and follow from them.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub sites: Option<Sites>,
    /// Certificate authorities of the target, in addition to those of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// Whether the target's certificate is not checked.
    pub insecure: bool,
    /// Whether the user has consented to load any target. It is not part of the scenario.
    #[serde(skip)]
    pub is_permitted: bool,
    /// Whether a CPU profile of the target is taken.
    pub profile: bool,
    /// Whether every packet on the emulated link is recorded.
    #[serde(skip_serializing_if = "Not::not")]
    pub capture: bool,
    /// Whether the capture holds the secrets of its connections.
    #[serde(
        rename = "record",
        skip_serializing_if = "print::is_true",
        serialize_with = "print::record"
    )]
    pub keys: bool,
    /// Seed of every random decision.
    pub seed: u64,
    /// How many times the load is run, each time with another seed.
    #[serde(skip_serializing_if = "print::is_one")]
    pub repeat: u32,
    /// The engine.
    #[serde(skip_serializing_if = "LoadEngine::is_live", serialize_with = "print::text")]
    pub engine: LoadEngine,
    /// The service time of the simulated server; `None` answers at once.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "print::optional_text"
    )]
    pub service_time: Option<ServiceTime>,
    /// The workers of the simulated server, which share one queue.
    #[serde(skip_serializing_if = "print::is_one")]
    pub workers: u32,
}

impl LoadOptions {
    /// The runs of the load: itself, or as many as `repeat` says, which differ in their seeds.
    pub fn runs(&self) -> Vec<Self> {
        /// Searches for the highest rate repeat loads with the next seeds.
        const SEEDS_APART: u64 = 1_000_003;
        let run = |index: u32| Self {
            repeat: 1,
            seed: self.seed.wrapping_add(u64::from(index) * SEEDS_APART),
            ..self.clone()
        };
        (0..self.repeat).map(run).collect()
    }

    /// Whether it creates namespaces: network namespaces for a link, or the PID namespace of a real server.
    pub fn makes_namespaces(&self) -> bool {
        self.engine == LoadEngine::Live && (self.link.is_some() || self.is_beside_real_server())
    }

    /// Why the load cannot run over its link; `None` if it can, or has no link.
    pub fn cannot_cross(&self) -> Option<String> {
        let link = self.link.as_ref()?;
        if !self.sources.is_empty() {
            return Some(
                "devices on an emulated link have its addresses: leave out the source addresses".into(),
            );
        }
        if let Err(fault) = link.validate() {
            return Some(fault.to_string());
        }
        let mtu = link.up.mtu.min(link.down.mtu);
        if self.ipv6 && mtu < ipv6::MIN_MTU {
            return Some(below_ipv6(mtu));
        }
        self.stack.cannot_cross(mtu, self.ipv6)
    }

    /// Why the URL seems to contain a placeholder.
    pub fn has_placeholder_in_url(&self) -> Option<String> {
        let LoadTarget::Url(url) = &self.target else {
            return None;
        };
        let stray = url.stray_percent()?;
        Some(format!(
            "{url} has {stray:?}, which is no encoded character: write placeholders in the topic (resource), and a \
             percent sign of a URL as %25"
        ))
    }

    /// Why its devices cannot be made to speak IPv6, if that is asked for.
    pub fn cannot_choose_family(&self) -> Option<String> {
        let LoadTarget::Url(url) = &self.target else {
            return None;
        };
        let is_named = url.host.parse::<std::net::Ipv6Addr>().is_ok();
        let why = format!("{url} says where the target is: name an IPv6 address in it, like mqtt://[::1]");
        (self.ipv6 && !is_named).then_some(why)
    }

    /// Why its packets cannot be recorded, if that is asked for.
    pub fn cannot_record(&self) -> Option<String> {
        let why = "packets are recorded where they enter the emulated link, and there is none: give it a link, or run wirecost \
                   link -- wirecost load";
        (self.capture && !self.has_link()).then(|| why.to_owned())
    }

    /// Why no CPU profile can be taken, if one is asked for.
    pub fn cannot_profile(&self) -> Option<String> {
        let url = match &self.target {
            LoadTarget::Url(url) if self.profile => url,
            _ => return None,
        };
        Some(format!(
            "wirecost can profile only a target that it starts, and {url} runs already: name a stack, whose server is \
             started (builtin, mosquitto, rabbitmq, caddy, apache, libcoap), or leave out the profile"
        ))
    }

    /// The settings that its target runs with; none of a target that runs already.
    pub fn target_settings(&self) -> setting::Settings {
        match &self.target {
            LoadTarget::Started(target) => self.settings.of_target(*target),
            LoadTarget::Url(_) => setting::Settings::new(),
        }
    }

    /// Whether a real server that wirecost starts shares the CPUs of the generator.
    pub const fn is_beside_real_server(&self) -> bool {
        matches!(&self.target, LoadTarget::Started(target) if !target.is_builtin())
    }

    /// Whether packets cross an emulated link. In virtual time they always do.
    const fn has_link(&self) -> bool {
        self.link.is_some() || matches!(self.engine, LoadEngine::Sim)
    }

    /// Whether devices keep the secrets of their connections, which only a reader of the capture needs.
    pub const fn keeps_keys(&self) -> bool {
        self.capture && self.keys && self.has_link()
    }

    /// How messages follow one another.
    pub fn loop_kind(&self) -> LoopKind {
        let offers = || self.phases.iter().filter_map(Phase::offer);
        let is_open = |offer: &Offer| matches!(offer.arrivals, Arrivals::Open { .. });
        let inflight = self.inflight.unwrap_or(1);
        if offers().next().is_none() {
            LoopKind::None
        } else if offers().any(is_open) {
            LoopKind::Open
        } else if inflight.min(most_in_flight(self.stack.application)) > 1 {
            LoopKind::Saturation
        } else {
            LoopKind::Closed
        }
    }

    /// How a driver writes to the streams of the devices.
    pub fn writing(&self) -> Writing {
        sending::writing(self.chunk, self.nagle)
    }

    /// Whether messages are answered.
    pub fn is_answered(&self) -> bool {
        let bytes = usize::try_from(self.payload.bytes()).unwrap_or(usize::MAX);
        self.stack.awaits_answer(bytes)
    }

    /// Whether payloads are long enough for a stamp, which identifies the message.
    pub fn is_stamped(&self) -> bool {
        let is_long = matches!(&self.payload, Payload::Size(size) if size.bytes() >= Stamp::BYTES as u64);
        is_long && !self.stack.object
    }

    /// Why its devices cannot share sockets, if that is asked for.
    pub fn cannot_share(&self) -> Option<String> {
        self.shared_socket.then(|| shared::refusal(self)).flatten()
    }

    /// After this time without an arrival no more messages are expected. On an emulated link a lost packet is
    /// retransmitted after about one round trip, and again after two more (RFC 6298, section 5.5); at its rate packets
    /// leave one after the other. A subscriber that polls has to ask first.
    pub fn stillness(&self) -> Duration {
        const STILL: Duration = Duration::from_secs(1);
        let crossing = |link: &LinkConfig| {
            let packets = [&link.up, &link.down].map(|way| {
                let bits = f64::from(way.mtu) * 8.0;
                way.rate.map_or(Duration::ZERO, |rate| {
                    Duration::from_secs_f64(bits / rate.bits_per_second() as f64)
                })
            });
            link.rtt() * 4 + packets.iter().sum::<Duration>()
        };
        let poll = self.poll().unwrap_or_default();
        STILL + poll + self.link.as_ref().map_or(Duration::ZERO, crossing)
    }

    /// How often subscribers ask for messages; `None` if there are none, or their server pushes messages.
    pub fn poll(&self) -> Option<Duration> {
        self.subscribers.as_ref()?.poll
    }

    /// Devices that send messages with `payload`: all that send but the one with a trace.
    pub fn emulated(&self) -> u32 {
        self.clients.saturating_sub(u32::from(self.trace.is_some()))
    }

    /// Devices that receive.
    pub fn receivers(&self) -> u32 {
        self.subscribers.as_ref().map_or(0, |some| some.devices)
    }
}

/// The engine of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadEngine {
    /// Kernel sockets.
    #[default]
    Live,
    /// Virtual time.
    Sim,
}

impl LoadEngine {
    /// Every engine there is.
    pub const ALL: [Self; 2] = [Self::Live, Self::Sim];

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
    fn is_live(&self) -> bool {
        *self == Self::Live
    }

    /// Its name on the command line, in scenarios and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Sim => "sim",
        }
    }
}

impl fmt::Display for LoadEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for LoadEngine {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let found = Self::ALL.into_iter().find(|engine| engine.name() == text);
        found.ok_or_else(|| ValueError::form(text, "an engine of loads: a load runs on sim or live"))
    }
}

/// What answers.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadTarget {
    /// A server that wirecost starts in its own process: `Target::Builtin` is the counting sink.
    Started(Target),
    /// A running server.
    Url(Url),
}

/// The name in scenarios and results, without user and password.
impl fmt::Display for LoadTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started(target) => target.fmt(f),
            Self::Url(url) => url.fmt(f),
        }
    }
}

/// Devices that receive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Subscribers {
    /// How many.
    pub devices: u32,
    /// Topic filter or path; `%d` is the subscriber's number.
    pub filter: String,
    /// How often each of them asks for the messages since its last question (HTTP); `None` if its server pushes them.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "print::optional_time"
    )]
    pub poll: Option<Duration>,
    /// The group of a shared subscription (MQTT 5).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<String>,
    /// The requested QoS.
    pub qos: u8,
}

/// What a message carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Payload {
    /// Pseudo-random bytes of this length.
    #[serde(serialize_with = "print::text")]
    Size(ByteSize),
    /// The same bytes in each message.
    #[serde(rename = "hex", serialize_with = "print::hex")]
    File(Arc<[u8]>),
    /// Readings of a sensor, the same in each message.
    #[serde(serialize_with = "print::batch")]
    Readings(BatchBytes),
    /// A text with placeholders: `%d` the device's number, `%n` the message's, `%t` the intended time in
    /// milliseconds of the epoch, `%r` eight random hexadecimal digits.
    #[serde(serialize_with = "print::text")]
    Template(Arc<str>),
}

impl Payload {
    /// The length of the payload with `devices` devices; `None` if messages differ in it.
    pub fn message_bytes(&self, devices: u32) -> Option<u64> {
        match self {
            Self::Template(text) => text.parse::<Pattern>().ok()?.length(devices),
            Self::Size(_) | Self::File(_) | Self::Readings(_) => Some(self.bytes()),
        }
    }

    /// The length; for a template, before its placeholders are replaced.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Size(size) => size.bytes(),
            Self::File(bytes) => bytes.len() as u64,
            Self::Readings(readings) => readings.bytes.len() as u64,
            Self::Template(text) => text.len() as u64,
        }
    }
}

/// Readings, and the bytes that follow from them and the seed of the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchBytes {
    /// The readings.
    pub batch: Batch,
    /// The payload.
    pub bytes: Arc<[u8]>,
}

impl BatchBytes {
    /// The bytes of `batch` in a load with this seed.
    pub fn new(batch: Batch, seed: u64) -> Self {
        Self {
            batch,
            bytes: batch.payload(seed).into(),
        }
    }
}

/// A will (MQTT).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Will {
    /// Topic; `%d` is the device's number.
    pub topic: String,
    /// Payload.
    pub payload: String,
}

/// A phase: all devices do the same.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Phase {
    /// Connect; subscribers first, and they subscribe.
    Connect {
        /// Which devices.
        who: Who,
        /// Connections per second over all devices; `None` is as fast as possible.
        #[serde(
            skip_serializing_if = "Option::is_none",
            serialize_with = "print::optional_rate"
        )]
        rate: Option<f64>,
    },
    /// Send messages.
    Publish(Offer),
    /// Send requests and wait for responses that carry content (CoAP, HTTP: GET).
    Request(Offer),
    /// Connect, close and connect again: handshakes.
    Handshakes {
        /// How.
        #[serde(serialize_with = "print::text")]
        start: Start,
        /// When.
        #[serde(flatten)]
        offer: Offer,
    },
    /// Keep connections open and do nothing.
    Hold {
        /// For how long.
        #[serde(serialize_with = "print::time")]
        duration: Duration,
    },
    /// Lose all connections at once.
    DropAll {
        /// Which devices.
        who: Who,
        /// By RST instead of a close.
        reset: bool,
    },
    /// Connect lost devices again.
    Reconnect {
        /// Which devices.
        who: Who,
        /// How long to wait after the first, second, ... failure.
        backoff: Backoff,
        /// When to give up.
        #[serde(serialize_with = "print::time")]
        timeout: Duration,
    },
    /// Wait until queued messages have arrived.
    AwaitReplay {
        /// When to give up.
        #[serde(serialize_with = "print::time")]
        timeout: Duration,
    },
    /// Close as the protocol specifies.
    Close {
        /// Connections closed in a second; `None` closes all at once.
        #[serde(
            skip_serializing_if = "Option::is_none",
            serialize_with = "print::optional_rate"
        )]
        rate: Option<f64>,
    },
}

/// Some of the devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Who {
    /// All of them; subscribers first, where it matters.
    #[default]
    All,
    /// Those that send.
    Senders,
    /// Those that receive.
    Subscribers,
}

/// Messages and their intended times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Offer {
    /// When one message follows another.
    #[serde(flatten)]
    pub arrivals: Arrivals,
    /// When the offer ends. `duration` or `count` is required; the earlier one ends the offer.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "print::optional_time"
    )]
    pub duration: Option<Duration>,
    /// The number of messages over all devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Warm-up, which no figure includes.
    #[serde(serialize_with = "print::time")]
    pub warm_up: Duration,
    /// Time over which the rate rises from 0.
    #[serde(skip_serializing_if = "Duration::is_zero", serialize_with = "print::time")]
    pub ramp: Duration,
    /// The time over which each round of messages, one per device, is spread: devices that report together. `None`
    /// spreads it evenly.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "print::optional_time"
    )]
    pub spread: Option<Duration>,
}

/// When one message follows another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Arrivals {
    /// An open loop: messages have scheduled times, whether or not earlier ones are answered.
    Open {
        /// Messages per second: above 0, also below 1.
        #[serde(serialize_with = "print::rate")]
        rate: f64,
        /// Whether the rate is that of each device, or of all devices together.
        per_client: bool,
        /// Whether gaps are exponential, or equal.
        #[serde(rename = "arrivals", serialize_with = "print::arrivals")]
        poisson: bool,
    },
    /// A closed loop: the next message after the answer to the one before, with up to `inflight` unanswered messages.
    #[serde(serialize_with = "print::closed_loop")]
    Closed,
}

/// The wait before a reconnect: `first`, doubled after each failure up to `max`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Backoff {
    /// After the first loss.
    #[serde(serialize_with = "print::time")]
    pub first: Duration,
    /// At most.
    #[serde(serialize_with = "print::time")]
    pub max: Duration,
    /// Whether each wait is uniformly random between 0 and that time.
    #[serde(rename = "jitter", serialize_with = "print::jitter")]
    pub full_jitter: bool,
}

/// The default time-out of an answer.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// The default time-out of a connect.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The largest number of unanswered messages that a protocol allows.
pub const fn most_in_flight(application: Application) -> u32 {
    match application {
        // RFC 9112, section 9.3.2: requests that change something are not pipelined. RFC 7252, section 4.7: NSTART.
        // MQTT-SN 1.2, section 6.6: one message of QoS 1 or 2.
        Application::Http1 | Application::MqttSn(1..) | Application::CoapCon => 1,
        // MQTT 5, section 4.9: as many as there are packet identifiers, or fewer where the server says so.
        Application::Mqtt311(1..) | Application::Mqtt5(1..) => 65_535,
        // RFC 8323, section 3.3: tokens tell requests apart, and wirecost's have 2 B.
        Application::CoapTcp => 65_535,
        Application::Http3 => 100,
        // There are no answers, or the AMQP window limits the unanswered messages. A database takes any number of commands and
        // answers in their order.
        Application::Tcp
        | Application::Udp
        | Application::Mqtt311(0)
        | Application::Mqtt5(0)
        | Application::MqttSn(..=0)
        | Application::CoapNon
        | Application::AmqpSettled
        | Application::AmqpUnsettled
        | Application::Store(_) => u32::MAX,
    }
}
