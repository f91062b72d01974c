//! The options of a load, every default filled in.

mod content;
mod derived;
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
use std::time::Duration;

use serde::Serialize;
use wirecost_link::LinkConfig;
use wirecost_proto::ByteSize;
use wirecost_proto::service_time::ServiceTime;
use wirecost_results::link_text::LinkText;
use wirecost_results::resolved::Tree;
use wirecost_results::shard::Shard;
use wirecost_security::Start;
use wirecost_stack::target::Target;
use wirecost_stack::url::Url;
use wirecost_stack::{Application, Stack};

pub use self::content::{BatchBytes, Payload, Subscribers, Will};
pub use self::phase::{Arrivals, Backoff, Offer, Phase, Who, close_rounds, connects_at_once};
use self::print::Secrets;
use self::roster::Roster;
use self::settings::Settings;
use self::sites::Sites;
use self::trace::Trace;
use crate::key::Holds::{ByName, Few, List, Of, Scalar, Several, Table, Text};
use crate::key::{COMPRESSION, ENCODING, RATE, READINGS, SIZE, STACK};
use crate::link::shape::LINKS;
use crate::options::common::{
    AmqpFrameSize, ChainOf, Chunk, CipherOfRecords, CongestionControl, Group, Ipv6, KeepAlive, LeafKey,
    Nagle, PipelinedConnect, ReadingInQuery, RequestHeaders, ResponseBody, Seed, ServerGroup, Timeout,
};
use crate::options::handshake::Handshake;
use crate::options::row::{Kind, Named, Names, Parsed, Scaled, SharedRow, Spec, forms, options};
use crate::options::sending::{Connection, HttpSizes};
use crate::shape::{LOGIN, PAYLOAD, PHASE, PLACES, RECORD, SETTINGS, SITE_LINKS, SITES, SUBSCRIBERS, WILL};
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
        /// The stack; a URL's scheme names one by itself.
        keys stack: Of(&STACK), by |load| Some(Tree::text(load.stack)) => Spec::FILE;
        /// How devices start connections: cold, resumed or 0rtt; those of coap-con+oscore also by edhoc or edhoc-by-value.
        option start: Start as Named<Start> = Start::Cold => Spec::FILE.always_written();
        /// The target.
        field target: LoadTarget = target, in ["target"];
        /// A server that wirecost starts, or a URL. Default: builtin.
        keys target: Text, by |load| Some(Tree::text(&load.target)) => Spec::FILE;
        /// The settings of a target that wirecost starts, where they differ from those that it gives it.
        field settings: Settings = Settings::default(), in ["settings"];
        /// Settings of the server that wirecost starts, by their names.
        keys settings: Of(&SETTINGS), by |load| some(!load.settings.is_empty(), &load.settings) => Spec::FILE;
        /// Devices that send, or only connect.
        option clients: u32 as DeviceCount = DEFAULT_CLIENTS => Spec::FILE.always_written();
        /// Devices that receive.
        field subscribers: Option<Subscribers> = None, in ["subscribers"];
        /// Devices that receive.
        keys subscribers: Table(SUBSCRIBERS), by |load| load.subscribers.as_ref().map(Tree::from_value) => Spec::FILE;
        /// The payload of a message.
        field payload: Payload = Payload::Size(DEFAULT_SIZE), in ["payload", "size", "readings", "encoding", "compression"];
        /// What a message carries: one of these.
        keys payload: Few(1, 2, PAYLOAD), by |load| Some(Tree::from_value(&load.payload)) => Spec::FILE;
        /// Payload of a message. Default: 128B.
        keys size: Of(&SIZE), by |_| None => Spec::FILE;
        /// Readings of a sensor in each message, instead of size. Default with encoding or compression: 1.
        keys readings: Of(&READINGS), by |_| None => Spec::FILE;
        /// Encoding of the readings. Default: json.
        keys encoding: Of(&ENCODING), by |_| None => Spec::FILE;
        /// Compression of the encoded readings. Default: none.
        keys compression: Of(&COMPRESSION), by |_| None => Spec::FILE;
        /// The values that the first device sends, each at its own time, in place of messages with `payload`.
        field trace: Option<Trace> = None, in ["trace"];
        /// The text of a trace, in the resolved form.
        keys trace: Text, by |load| load.trace.as_ref().map(Tree::from_value) => Spec::FILE;
        common chunk: Chunk => Chunk::SPEC.below(MESSAGES).further();
        common nagle: Nagle => Nagle::SPEC.below(CONNECTIONS).further();
        common congestion: CongestionControl => CongestionControl::SPEC.below(CONNECTIONS).further();
        common pipelined_connect: PipelinedConnect => PipelinedConnect::SPEC.below(CONNECTIONS).further();
        /// The certificates and groups of TLS.
        field handshake: Handshake = Handshake::default(), in ["certificate", "chain", "group", "server_group", "cipher"];
        common certificate at handshake.certificate: LeafKey => LeafKey::SPEC.below(CONNECTIONS).further();
        common chain at handshake.chain: ChainOf => ChainOf::SPEC.below(CONNECTIONS).further();
        common group at handshake.group: Group => Group::SPEC.below(CONNECTIONS).further();
        common server_group at handshake.server_group: ServerGroup => ServerGroup::SPEC.below(CONNECTIONS).further();
        common cipher at handshake.cipher: CipherOfRecords => CipherOfRecords::SPEC.below(CONNECTIONS).further();
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
        /// User properties of each message, by name (MQTT 5).
        keys user_properties: ByName("", &Scalar),
            by |load| some(!load.user_properties.is_empty(), &load.user_properties) => Spec::FILE;
        /// The will of each device (MQTT).
        field will: Option<Will> = None, in ["will"];
        /// What each device leaves behind for when it is lost (MQTT).
        keys will: Table(WILL), by |load| load.will.as_ref().map(Tree::from_value) => Spec::FILE;
        /// Client identifiers; %d is the device's number, %x three characters of this run at a server that runs already.
        option client_id: String as String = CLIENT_ID.to_owned()
            => Spec::under(CONNECTIONS).further().takes("TEXT").always_written().changes_nothing();
        common keep_alive: KeepAlive => KeepAlive::SPEC.below(CONNECTIONS).further();
        /// How long sessions outlive their connections (MQTT; without a limit in 3.1.1) [default: clean starts].
        option session_expiry: Option<Duration> as Option<Duration> = None => Spec::under(CONNECTIONS).further();
        /// The phases, in order.
        field phases: Vec<Phase> = Vec::new(), in ["phases", "rate"];
        /// What happens, in order.
        keys phases: List(0, &Of(&PHASE)), by |load| Some(Tree::from_value(&load.phases)) => Spec::FILE;
        /// Rate of the phases that say none.
        keys rate: Of(&RATE), by |_| None => Spec::FILE;
        /// Messages of a device that may wait for an answer at the same time; the protocol's limit if it is left out.
        option inflight: Option<u32> as Option<Scaled> = None => Spec::FILE;
        common timeout: Timeout => Timeout::SPEC.below(MESSAGES).further();
        /// Time after which a connect has failed.
        option connect_timeout: Duration as Duration = CONNECT_TIMEOUT => Spec::under(CONNECTIONS).further().always_written();
        /// The devices of a loop share sockets, and tokens tell them apart, for more devices than ports (CoAP without DTLS).
        option shared_socket: bool as bool = false => Spec::under(GENERATOR).further().always_written();
        /// Source addresses; if empty, addresses of 127.0.0.0/8 as needed for a target on loopback.
        field sources: Vec<IpAddr> = Vec::new(), in ["sources"];
        /// Source addresses.
        keys sources: Several(&Text), by |load| some(!load.sources.is_empty(), &load.sources) => Spec::FILE.changes_nothing();
        /// Number of loops [default: one per free CPU, if there are enough devices].
        option threads: Option<u32> as Option<Scaled> = None => Spec::under(GENERATOR).further().changes_nothing();
        /// Number of processes [default: as many as the limit of open files requires].
        option processes: Option<u32> as Option<Scaled> = None => Spec::under(GENERATOR).further().changes_nothing();
        common ipv6: Ipv6 => Ipv6::SPEC.below(GENERATOR).further();
        /// The emulated link that all devices share. A relay at its end stands for a target that runs already.
        field link: Option<LinkConfig> = None, in ["link"];
        /// The emulated link that all devices share, to a server that wirecost starts, or to a relay to a URL. Default: none.
        keys link: Of(&LINKS), by |load| Some(Tree::from_value(&LinkText(load.link?))) => Spec::FILE;
        /// The sites of the load; `link` and `target` are those of the devices that send, and follow from them.
        field sites: Option<Sites> = None, in ["sites", "links", "at"];
        /// Places with servers or devices.
        keys sites: Of(&SITES), by |load| of_sites(load, "sites") => Spec::FILE;
        /// The links between the sites.
        keys links: Of(&SITE_LINKS), by |load| of_sites(load, "links") => Spec::FILE;
        /// The sites of the devices.
        keys at: Of(&PLACES), by |load| of_sites(load, "at") => Spec::FILE;
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
        /// What the capture holds.
        keys record: Table(RECORD), by |load| some(!load.keys, &BTreeMap::from([("keys", load.keys)])) => Spec::FILE;
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
        /// Who devices say that they are.
        keys login: Table(LOGIN), by |load| load.login_as(Secrets::Hidden) => Spec::FILE;
        /// The devices one by one, from a file: their logins, and perhaps their identifiers and topics.
        field roster: Option<Roster> = None, in ["credentials"];
        /// A CSV file beside the scenario with a line for each device, below a header with its columns: user, password and perhaps
        /// client_id and topic.
        keys credentials: Text, by |load| Some(Tree::text(&load.roster.as_ref()?.path)) => Spec::FILE;
    }
}

/// A value that is written where `is_there`.
fn some(is_there: bool, value: &impl Serialize) -> Option<Tree> {
    is_there.then(|| Tree::from_value(value))
}

/// What a key says of the sites, if there are any.
fn of_sites(load: &LoadOptions, key: &str) -> Option<Tree> {
    Tree::from_value(load.sites.as_ref()?).get(key).cloned()
}

wirecost_proto::named! {
    /// The engine of a load.
    ///
    /// Named as on the command line, in scenarios and in results.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum LoadEngine {
        /// Kernel sockets.
        #[default]
        Live => "live",
        /// Virtual time.
        Sim => "sim",
    }
}

impl Names for LoadEngine {
    const NAMES: &'static [&'static str] = &Self::NAMES;
}

impl Names for Start {
    const NAMES: &'static [&'static str] = &Self::NAMES;
}

impl Names for Connection {
    const NAMES: &'static [&'static str] = &["kept", "per_message", "per-message"];
}

forms! {
    /// The number of devices.
    struct DeviceCount: u32, Kind::Scaled, table::clients, |clients| Tree::number(u64::from(*clients));
    /// How many times a load is run.
    struct Runs: u32, Kind::Count, runs, |runs| Tree::number(u64::from(*runs));
}

fn runs(text: &str) -> Result<u32, ValueError> {
    let runs = text.parse().ok().filter(|runs| (1..=MAX_RUNS).contains(runs));
    runs.ok_or_else(|| ValueError::form(text, "a number of runs from 1 to 1000"))
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

/// The default time-out of a connect.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
