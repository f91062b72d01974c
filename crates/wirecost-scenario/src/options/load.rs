//! The options of a load, every default filled in.

mod divided;
mod phase;
pub mod print;
pub mod resources;
pub mod roster;
pub mod settings;
pub mod shared;
pub mod sites;
pub mod trace;
pub mod valid;

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
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
use wirecost_results::link_text::LinkText;
use wirecost_results::load::LoopKind;
use wirecost_results::resolved::Tree;
use wirecost_results::setting;
use wirecost_results::shard::Shard;
use wirecost_security::Start;
use wirecost_stack::target::Target;
use wirecost_stack::url::Url;
use wirecost_stack::{Application, Pattern, Stack};
use wirecost_wire::ipv6;

pub use self::phase::CLOSE_ROUNDS;
use self::print::Secrets;
use self::roster::Roster;
use self::settings::Settings;
use self::sites::Sites;
use self::trace::Trace;
use crate::options::common::{
    AmqpFrameSize, ChainOf, Chunk, CongestionControl, Group, Ipv6, KeepAlive, LeafKey, Nagle,
    PipelinedConnect, ReadingInQuery, RequestHeaders, ResponseBody, Seed, ServerGroup, Timeout,
};
use crate::options::compare::below_ipv6;
use crate::options::handshake::Handshake;
use crate::options::row::{Form, Kind, Named, Names, Parsed, Scaled, SharedRow, Spec, options};
use crate::options::sending::{self, Connection, HttpSizes};
use crate::table::{self, ValueError};

/// The largest number of runs of a load.
pub const MAX_RUNS: u32 = 1_000;
/// The default number of devices.
pub const DEFAULT_CLIENTS: u32 = 10;
/// The default payload.
pub const DEFAULT_SIZE: ByteSize = ByteSize::from_bytes(128);
/// The default client identifiers: eight characters up to 99,999 devices, of which the first three are the run's own.
pub const CLIENT_ID: &str = "%x%05d";

const MESSAGES: &str = "Messages";
const CONNECTIONS: &str = "Connections";
const GENERATOR: &str = "Target and generator";
const RESULTS: &str = "Results";

options! {
    /// A load: devices, a target, and phases one after the other.
    ///
    /// It serializes as in a scenario, without the password of `login`, which [`print::Resolved`] can show.
    #[derive(Clone, Debug, PartialEq)]
    LoadOptions by new(
        stack: Stack = Stack::plain(Application::Mqtt311(1)),
        target: LoadTarget = LoadTarget::Started(Target::Builtin)
    ) {
        /// The stack, with the QoS of its messages.
        field stack: Stack = stack, in ["stack"];
        /// The stack of the devices.
        keys stack by |load| Some(Tree::text(load.stack)) => Spec::FILE;
        /// How devices start connections: cold, resumed or 0rtt.
        option start: Start as Named<Start> = Start::Cold => Spec::FILE.always_written();
        /// The target.
        field target: LoadTarget = target, in ["target"];
        /// A server that wirecost starts, or the URL of one that runs already.
        keys target by |load| Some(Tree::text(&load.target)) => Spec::FILE;
        /// The settings of a target that wirecost starts, where they differ from those that it gives it.
        field settings: Settings = Settings::default(), in ["settings"];
        /// Settings of the server that wirecost starts, by their names.
        keys settings by |load| some(!load.settings.is_empty(), &load.settings) => Spec::FILE;
        /// Devices that send, or only connect.
        option clients: u32 as DeviceCount = DEFAULT_CLIENTS => Spec::FILE.always_written();
        /// Devices that receive.
        field subscribers: Option<Subscribers> = None, in ["subscribers"];
        /// Devices that receive.
        keys subscribers by |load| load.subscribers.as_ref().map(Tree::of) => Spec::FILE;
        /// The payload of a message.
        field payload: Payload = Payload::Size(DEFAULT_SIZE), in ["payload", "size", "readings", "encoding", "compression"];
        /// What each message carries.
        keys payload by |load| Some(Tree::of(&load.payload)) => Spec::FILE;
        /// The bytes of each message, written as its payload.
        keys size by |_| None => Spec::FILE;
        /// The readings in each message, written as its payload.
        keys readings by |_| None => Spec::FILE;
        /// The encoding of the readings, written as the payload.
        keys encoding by |_| None => Spec::FILE;
        /// The compression of the readings, written as the payload.
        keys compression by |_| None => Spec::FILE;
        /// The values that the first device sends, each at its own time, in place of messages with `payload`.
        field trace: Option<Trace> = None, in ["trace"];
        /// The lines of the trace that the first device sends.
        keys trace by |load| load.trace.as_ref().map(Tree::of) => Spec::FILE;
        common chunk: Chunk => Chunk::SPEC.below(MESSAGES).further();
        common nagle: Nagle => Nagle::SPEC.below(CONNECTIONS).further();
        common congestion: CongestionControl => CongestionControl::SPEC.below(CONNECTIONS).further();
        common pipelined_connect: PipelinedConnect => PipelinedConnect::SPEC.below(CONNECTIONS).further();
        /// The certificates and groups of TLS.
        field handshake: Handshake = Handshake::default(), in ["certificate", "chain", "group", "server_group"];
        common certificate at handshake.certificate: LeafKey => LeafKey::SPEC.below(CONNECTIONS).further();
        common chain at handshake.chain: ChainOf => ChainOf::SPEC.below(CONNECTIONS).further();
        common group at handshake.group: Group => Group::SPEC.below(CONNECTIONS).further();
        common server_group at handshake.server_group: ServerGroup => ServerGroup::SPEC.below(CONNECTIONS).further();
        common amqp_frame_size: AmqpFrameSize => AmqpFrameSize::SPEC.below(CONNECTIONS).further();
        /// How long connections last: kept (one carries all messages of its device) or per-message (each message has its own, and
        /// its time contains the connect).
        option connection: Connection as Named<Connection> = Connection::Kept => Spec::under(CONNECTIONS).takes("WHAT");
        /// What HTTP requests and answers carry beyond the least.
        field http: HttpSizes = HttpSizes::default(), in ["request_headers", "response_body", "reading_in_query"];
        common request_headers at http.request_headers: RequestHeaders => RequestHeaders::SPEC.below(MESSAGES).further();
        common response_body at http.response_body: ResponseBody => ResponseBody::SPEC.below(MESSAGES).further();
        common reading_in_query at http.reading_in_query: ReadingInQuery => ReadingInQuery::SPEC.below(MESSAGES).further();
        /// Topic, path or address; {device} and {n} are the numbers of device and message [default: the URL's, or test; obs for
        /// CoAP observers].
        option resource: String as String = Self::unnamed_resource(stack, false).to_owned()
            => Spec::under(MESSAGES).default_said().always_written();
        /// Send retained messages (MQTT).
        option retain: bool as bool = false => Spec::under(MESSAGES).further().always_written();
        /// User properties of each message (MQTT 5).
        field user_properties: BTreeMap<String, String> = BTreeMap::new(), in ["user_properties"];
        /// User properties of each message (MQTT 5).
        keys user_properties by |load| some(!load.user_properties.is_empty(), &load.user_properties) => Spec::FILE;
        /// The will of each device (MQTT).
        field will: Option<Will> = None, in ["will"];
        /// The will of each device (MQTT).
        keys will by |load| load.will.as_ref().map(Tree::of) => Spec::FILE;
        /// Client identifiers; %d is the device's number, %x three characters of this run at a server that runs already.
        option client_id: String as String = CLIENT_ID.to_owned()
            => Spec::under(CONNECTIONS).further().takes("TEXT").always_written().changes_nothing();
        common keep_alive: KeepAlive => KeepAlive::SPEC.below(CONNECTIONS).further();
        /// How long sessions outlive their connections (MQTT; without a limit in 3.1.1) [default: clean starts].
        option session_expiry: Option<Duration> as Option<Duration> = None => Spec::under(CONNECTIONS).further();
        /// The phases, in order.
        field phases: Vec<Phase> = Vec::new(), in ["phases", "rate"];
        /// What all devices do, one after the other.
        keys phases by |load| Some(Tree::of(&load.phases)) => Spec::FILE;
        /// The rate of the phases that name none, written with them.
        keys rate by |_| None => Spec::FILE;
        /// Messages of a device that may wait for an answer at the same time; the protocol's limit if it is left out.
        option inflight: Option<u32> as Option<Scaled> = None => Spec::FILE;
        common timeout: Timeout => Timeout::SPEC.below(MESSAGES).further();
        /// Time after which a connect has failed.
        option connect_timeout: Duration as Duration = CONNECT_TIMEOUT => Spec::under(CONNECTIONS).further().always_written();
        /// The devices of a loop share sockets, and tokens tell them apart, for more devices than ports (CoAP without DTLS).
        option shared_socket: bool as bool = false => Spec::under(GENERATOR).further().always_written();
        /// Source addresses; if empty, addresses of 127.0.0.0/8 as needed for a target on loopback.
        field sources: Vec<IpAddr> = Vec::new(), in ["sources"];
        /// Source addresses of the devices.
        keys sources by |load| some(!load.sources.is_empty(), &load.sources) => Spec::FILE.changes_nothing();
        /// Number of loops [default: one per free CPU, if there are enough devices].
        option threads: Option<u32> as Option<Scaled> = None => Spec::under(GENERATOR).further().changes_nothing();
        /// Number of processes [default: as many as the limit of open files requires].
        option processes: Option<u32> as Option<Scaled> = None => Spec::under(GENERATOR).further().changes_nothing();
        common ipv6: Ipv6 => Ipv6::SPEC.below(GENERATOR).further();
        /// The emulated link that all devices share. A relay at its end stands for a target that runs already.
        field link: Option<LinkConfig> = None, in ["link"];
        /// The emulated link that all devices share.
        keys link by |load| Some(Tree::of(&LinkText(load.link?))) => Spec::FILE;
        /// The sites of the load; `link` and `target` are those of the devices that send, and follow from them.
        field sites: Option<Sites> = None, in ["sites", "links", "at"];
        /// Places with servers or devices.
        keys sites by |load| of_sites(load, "sites") => Spec::FILE;
        /// The links between the sites.
        keys links by |load| of_sites(load, "links") => Spec::FILE;
        /// The sites of the devices.
        keys at by |load| of_sites(load, "at") => Spec::FILE;
        /// File with the CA certificates to trust, in PEM [default: those of the system].
        option ca: Option<PathBuf> as Option<PathBuf> = None => Spec::under(CONNECTIONS).further().flag("cacert", None);
        /// Accept any certificate of the server, for tests only.
        option insecure: bool as bool = false => Spec::under(CONNECTIONS).further().excludes(&["ca"]).always_written();
        /// Certificate of the devices in PEM, with --key; or a folder with one for each device: NAME.crt (or .pem) and NAME.key.
        option cert: Option<PathBuf> as Option<PathBuf> = None => Spec::under(CONNECTIONS).further().takes("FILE|DIR");
        /// Private key to the certificate of the devices in PEM.
        option key: Option<PathBuf> as Option<PathBuf> = None
            => Spec::under(CONNECTIONS).further().requires("cert").changes_nothing();
        /// The part of the devices that is run; `None` runs all. It is not part of the scenario: the loads of all parts are one.
        field shard: Option<Shard> = None, in [];
        /// Whether the user has consented to load any target. It is not part of the scenario.
        field is_permitted: bool = false, in [];
        /// Take a CPU profile of a target that wirecost starts, with perf; the report shows it as a flame graph.
        option profile: bool as bool = false => Spec::under(RESULTS).further().always_written();
        /// Record every packet of the emulated link, or of virtual time, with the secrets that decrypt it, in capture/ of the
        /// results folder.
        option capture: bool as bool = false => Spec::under(RESULTS);
        /// Whether the capture holds the secrets of its connections.
        field keys: bool = true, in ["record"];
        /// Contents of the capture.
        keys record by |load| some(!load.keys, &BTreeMap::from([("keys", load.keys)])) => Spec::FILE;
        common seed: Seed => Seed::SPEC.below(GENERATOR).further();
        /// Run each load N times, each time with another seed: its figures have 95 % intervals over the runs; with --find-max, search
        /// N times.
        option repeat: u32 as Runs = 1 => Spec::under(GENERATOR).further();
        /// Engine: live (kernel sockets), or sim (virtual time: everything is modelled, and the same seed gives the same figures).
        option engine: LoadEngine as Named<LoadEngine> = LoadEngine::Live => Spec::under(GENERATOR).takes("ENGINE");
        /// Time that the server of --engine sim needs for a message: 1ms, or exponential:1ms for random times with this mean
        /// [default: 0s].
        option service_time: Option<ServiceTime> as Option<Parsed<ServiceTime>> = None
            => Spec::under(GENERATOR).further().takes("TIME");
        /// Number of workers of the server of --engine sim, which share one queue.
        option workers: u32 as Scaled = 1 => Spec::under(GENERATOR).further().requires("service_time");
        /// User name and password; `%d` is the device's number.
        field login: Option<(String, String)> = None, in ["login"];
        /// The user of all devices, and the environment variable of the password.
        keys login by |load| load.login_as(Secrets::Hidden) => Spec::FILE;
        /// The devices one by one, from a file: their logins, and perhaps their identifiers and topics.
        field roster: Option<Roster> = None, in ["credentials"];
        /// A file with a line for each device: its user, its password and, if you want them, its identifier and its topic.
        keys credentials by |load| Some(Tree::text(&load.roster.as_ref()?.path)) => Spec::FILE;
    }
}

/// A value that is written where `is_there`.
fn some(is_there: bool, value: &impl Serialize) -> Option<Tree> {
    is_there.then(|| Tree::of(value))
}

/// What a key says of the sites, if there are any.
fn of_sites(load: &LoadOptions, key: &str) -> Option<Tree> {
    Tree::of(load.sites.as_ref()?).get(key).cloned()
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

    /// The user properties of its messages, in the order of their names.
    pub fn user_properties(&self) -> Arc<[(String, String)]> {
        let pairs = self.user_properties.iter();
        pairs.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// How a driver writes to the streams of the devices.
    pub fn writing(&self) -> Writing {
        sending::writing(self.chunk, self.nagle, self.congestion)
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

    /// Its name on the command line, in scenarios and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Sim => "sim",
        }
    }
}

impl Names for LoadEngine {
    const NAMES: &'static [&'static str] = &["live", "sim"];
}

impl Names for Start {
    const NAMES: &'static [&'static str] = &["cold", "resumed", "0rtt"];
}

impl Names for Connection {
    const NAMES: &'static [&'static str] = &["kept", "per_message", "per-message"];
}

/// The number of devices.
#[derive(Debug)]
pub struct DeviceCount;

impl Form for DeviceCount {
    type Value = u32;
    const KIND: Kind = Kind::Scaled;

    fn read(text: &str) -> Result<u32, ValueError> {
        table::clients(text)
    }

    fn write(clients: &u32) -> Option<Tree> {
        u32::write(clients)
    }
}

/// How many times a load is run.
#[derive(Debug)]
pub struct Runs;

impl Form for Runs {
    type Value = u32;
    const KIND: Kind = Kind::Count;

    fn read(text: &str) -> Result<u32, ValueError> {
        let runs = text.parse().ok().filter(|runs| (1..=MAX_RUNS).contains(runs));
        runs.ok_or_else(|| ValueError::form(text, "a number of runs from 1 to 1000"))
    }

    fn write(runs: &u32) -> Option<Tree> {
        u32::write(runs)
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
