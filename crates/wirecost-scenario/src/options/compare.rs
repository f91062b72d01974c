//! The options of a comparison.

mod engine;
mod running;
mod valid;

use std::fmt;
use std::time::Duration;

use serde::Serialize;
pub use wirecost_link::{
    DelayVariation, DirectionConfig, GilbertElliott, LinkConfig, Loss, Medium, QueueLimit, Reorder,
};
use wirecost_proto::units::DisplayDuration;
use wirecost_proto::{ByteSize, Framing};
use wirecost_results::link_text::LinkText;
use wirecost_results::resolved::Tree;
use wirecost_results::shard::Shard;
use wirecost_results::value::ValueError;
use wirecost_security::Start;
use wirecost_stack::Stack;
pub use wirecost_stack::target::Target;

use super::content::Contents;
use crate::key::Holds::{Conditions, Few, Flag, List, Of, Table, Text, Word};
use crate::key::{COMPRESSION, COUNT, ENCODING, READINGS, SIZE, STACK, TIME};
use crate::link::shape::LINKS;
use crate::options::common::{
    AmqpFrameSize, ChainOf, Chunk, CipherOfRecords, CongestionControl, DtlsLeaf, Group, Ipv6, KeepAlive,
    LeafKey, Nagle, PipelinedConnect, ReadingInQuery, RequestHeaders, Resource, ResponseBody, Seed,
    ServerGroup, Timeout,
};
pub use crate::options::handshake::Handshake;
use crate::options::row::{Form, Kind, Named, Names, SharedRow, Spec, options};
use crate::options::sending::Sending;
use crate::selector::Selector;
use crate::shape::{BYTES, RECORD_OF_CELLS, SENT};
pub use engine::Engine;
pub use running::{Running, ServerPath};
pub use valid::MAX_DEVICES;

const MESSAGES: &str = "Messages";
const CONNECTIONS: &str = "Connections and server";
const MEASUREMENT: &str = "Measurement";

options! {
    /// The options of a comparison, every default filled in.
    #[derive(Clone, Debug, PartialEq)]
    Options by new(stacks: Vec<Stack> = Vec::new()) {
        /// Engine: sim (virtual time), live (kernel sockets over the emulated link), or auto (sim, then live if the machine
        /// allows it).
        option engine: Engine as Named<Engine> = Engine::Auto
            => Spec::under(MEASUREMENT).takes("ENGINE").always_written().dimension();
        /// The server, or the URL of one that runs already. Default: builtin.
        keys target: Text, by |options| Some(Tree::text(options.target_name())) => Spec::FILE.dimension();
        /// How devices reach a server that runs already. Default: relay where there is a link, and otherwise real.
        keys path: Word(&ServerPath::NAMES),
            by |options| Some(Tree::text(options.path()?.name())) => Spec::FILE.dimension();
        /// Authorities that the certificate of a server that runs already is checked against.
        keys ca: Text, by |options| Some(Tree::text(options.running.as_ref()?.ca.as_ref()?.display())) => Spec::FILE.dimension();
        /// Whether the certificate of a server that runs already is not checked.
        keys insecure: Flag, by |options| is_true(options.running.as_ref().is_some_and(|running| running.insecure))
            => Spec::FILE.dimension();
        /// The servers.
        field target: Target = Target::Builtin, in ["target"];
        /// The server that runs already, if `target` is [`Target::Running`].
        field running: Option<Running> = None, in ["target", "path", "ca", "insecure"];
        /// The stacks, in the order of the table.
        field stacks: Vec<Stack> = stacks, in ["stacks"];
        /// The stacks to compare.
        keys stacks: Of(&STACK), by |options| Some(texts(&options.stacks)) => Spec::FILE.also("stack").dimension();
        /// How connections start.
        field starts: Vec<Start> = vec![Start::Cold], in ["start"];
        /// How connections start. Default: cold.
        keys start: Word(&Start::NAMES), by |options| Some(texts(&options.starts)) => Spec::FILE.dimension();
        /// What messages carry.
        field contents: Contents = Contents::Sizes(vec![ByteSize::from_bytes(128)]),
            in ["size", "readings", "encoding", "compression"];
        /// Payload of a message. Default: 128B.
        keys size: Of(&SIZE), by |options| some(texts(options.contents.sizes())) => Spec::FILE.dimension();
        /// Readings of a sensor in each message, instead of size. Default with encoding or compression: 1.
        keys readings: Of(&READINGS), by |options| some(Tree::from_value(&options.contents.lists()?.readings)) => Spec::FILE.dimension();
        /// Encoding of the readings. Default: json.
        keys encoding: Of(&ENCODING), by |options| some(texts(&options.contents.lists()?.encodings)) => Spec::FILE.dimension();
        /// Compression of the encoded readings. Default: none.
        keys compression: Of(&COMPRESSION),
            by |options| some(texts(&options.contents.lists()?.compressions)) => Spec::FILE.dimension();
        /// Links.
        field links: Vec<LinkConfig> = vec![LinkConfig::symmetric(crate::link::DEFAULT_RTT)], in ["links"];
        /// The emulated links.
        keys links: Of(&LINKS), by |options| Some(Tree::from_value(&options.links.iter().copied().map(LinkText).collect::<Vec<_>>()))
            => Spec::FILE.also("link").dimension();
        /// Number of samples per cell; each sample is a device that connects, sends and closes.
        option samples: u32 as u32 = 150
            => Spec::under(MEASUREMENT).flag("count", Some('n')).takes("SAMPLES").also("count").always_written();
        /// Quiet time after each step of a sample, so that late acknowledgements count for their message; raise it on links
        /// with a long RTT.
        option settle: Duration as Duration = Duration::from_secs(1)
            => Spec::under(MEASUREMENT).further().always_written();
        common timeout: Timeout => Timeout::SPEC.below(MEASUREMENT).further();
        common ipv6: Ipv6 => Ipv6::SPEC.below(CONNECTIONS).further().always_written();
        common seed: Seed => Seed::SPEC.below(MEASUREMENT);
        common resource: Resource => Resource::SPEC.below(MESSAGES).further();
        common keep_alive: KeepAlive => KeepAlive::SPEC.below(MESSAGES).further();
        /// What a device does when its connection has ended before its last message: as-needed (it connects again, by its start,
        /// when the next message is due) or never (the remaining messages are not sent).
        option reconnect: Reconnect as Named<Reconnect> = Reconnect::AsNeeded
            => Spec::under(CONNECTIONS).takes("WHEN").always_written();
        /// How devices send.
        field schedules: Vec<Schedule> = vec![Schedule::default()],
            in ["messages_per_connection", "warm_up", "interval", "schedules"];
        /// Measured messages per connection.
        keys messages_per_connection: Of(&COUNT),
            by |options| Some(Tree::number(options.schedules.first().map_or(0, |one| one.messages)))
            => Spec::FILE.dimension();
        /// Whether a message goes before the measured ones. Default: true, but where one message per connection is asked for.
        keys warm_up: Flag, by |options| Some(Tree::Bool(options.schedules.first().is_some_and(|one| one.warm_up)))
            => Spec::FILE.dimension();
        /// Servers require a certificate from each device (TLS, HTTP/3, and DTLS without a pre-shared key).
        option client_certificates: bool as bool = false => Spec::under(CONNECTIONS).further().always_written();
        /// DTLS servers request a cookie first, which costs one more round trip.
        option dtls_cookie: bool as bool = false => Spec::under(CONNECTIONS).further().always_written();
        /// The certificates and groups of TLS.
        field handshake: Handshake = Handshake::default(), in ["certificate", "chain", "group", "server_group", "cipher", "dtls_leaf"];
        common certificate at handshake.certificate: LeafKey => LeafKey::SPEC.below(CONNECTIONS).further();
        common chain at handshake.chain: ChainOf => ChainOf::SPEC.below(CONNECTIONS).further();
        common group at handshake.group: Group => Group::SPEC.below(CONNECTIONS).further();
        common server_group at handshake.server_group: ServerGroup => ServerGroup::SPEC.below(CONNECTIONS).further();
        common cipher at handshake.cipher: CipherOfRecords => CipherOfRecords::SPEC.below(CONNECTIONS).further();
        common dtls_leaf at handshake.dtls_leaf: DtlsLeaf => DtlsLeaf::SPEC.below(CONNECTIONS).further();
        /// Send the measured messages at this interval instead of letting each one settle.
        keys interval: Of(&TIME), by |options| Some(Tree::text(DisplayDuration(options.schedules.first()?.interval?)))
            => Spec::FILE.dimension();
        /// Pairs of the two, in the resolved form.
        keys schedules: List(1, &Of(&SENT)), by |options| (options.schedules.len() > 1).then(|| {
            Tree::from_value(&options.schedules.iter().map(resolved_schedule).collect::<Vec<_>>())
        }) => Spec::FILE.dimension();
        /// The shared link of all devices of a cell; `None` if each device has its own link.
        field shared_link: Option<SharedLink> = None, in ["shared_link", "spread"];
        /// Whether all devices of a cell share one link and one server (engine sim).
        keys shared_link: Flag, by |options| is_true(options.shared_link.is_some()) => Spec::FILE.dimension();
        /// Time over which the starts of devices that share a link are spread.
        keys spread: Of(&TIME), by |options| Some(Tree::text(DisplayDuration(options.shared_link?.spread?))) => Spec::FILE;
        /// The packet path; `None` takes TUN if it is available.
        field medium: Option<Medium> = None, in ["packet_path"];
        /// How packets leave the network namespaces: auto (TUN where it can), tun (TUN devices), or veth (veth pairs, if /dev/net/tun
        /// is closed to you).
        option packet_path at medium: PacketPath
            => Spec::under(MEASUREMENT).further().takes("PATH").changes_nothing();
        /// Also count the bytes of a session as a sniffer does, each packet with the header of its link layer: none, ethernet (14 B), or
        /// wifi (50 B).
        option framing: Framing as Named<Framing> = Framing::None
            => Spec::under(MEASUREMENT).further().takes("LAYER").changes_nothing();
        /// Keep link and hosts on one CPU, so that the kernel's TCP sends the same packets in every run, even in bursts.
        option one_cpu: bool as bool = false => Spec::under(MEASUREMENT).further();
        /// How devices hand their messages to the network.
        field sending: Sending = Sending::default(),
            in [
                "payload", "chunk", "nagle", "congestion", "pipelined_connect", "amqp_frame_size", "offload", "request_headers", "response_body",
                "reading_in_query",
            ];
        /// The bytes of each message, instead of size: one of these.
        keys payload: Few(1, 1, BYTES), by |options| Some(Tree::from_value(&Hex::from_bytes(options.sending.payload.as_deref()?))) => Spec::FILE;
        common chunk at sending.chunk: Chunk => Chunk::SPEC.below(MESSAGES).further();
        common nagle at sending.nagle: Nagle => Nagle::SPEC.below(CONNECTIONS).further();
        common congestion at sending.congestion: CongestionControl => CongestionControl::SPEC.below(CONNECTIONS).further();
        common pipelined_connect at sending.pipelined_connect: PipelinedConnect
            => PipelinedConnect::SPEC.below(CONNECTIONS).further();
        common amqp_frame_size at sending.amqp_frame_size: AmqpFrameSize
            => AmqpFrameSize::SPEC.below(CONNECTIONS).further();
        /// Keep segmentation offload on and record packets before they are cut to the MTU, as a capture on a host with offload
        /// does (engine live).
        option offload at sending.offload: bool => Spec::under(MEASUREMENT).further();
        common request_headers at sending.http.request_headers: RequestHeaders
            => RequestHeaders::SPEC.below(MESSAGES).further();
        common response_body at sending.http.response_body: ResponseBody => ResponseBody::SPEC.below(MESSAGES).further();
        common reading_in_query at sending.http.reading_in_query: ReadingInQuery
            => ReadingInQuery::SPEC.below(MESSAGES).further();
        /// Whether the capture holds the secrets of its connections.
        field keys: bool = true, in ["record"];
        /// Recorded devices per cell, in a run that is too long to record all.
        field record_hosts: u32 = 1, in ["record"];
        /// What the capture holds.
        keys record: Table(RECORD_OF_CELLS), by record => Spec::FILE.changes_nothing();
        /// Excluded cells.
        field exclude: Vec<Selector> = Vec::new(), in ["exclude"];
        /// What is left out: an entry's conditions must all hold.
        keys exclude: Conditions, by |options| {
            some(Tree::from_value(&options.exclude.iter().map(Selector::to_table).collect::<Vec<_>>()))
        } => Spec::FILE.changes_nothing();
        /// The shard that is run; `None` runs all cells.
        field shard: Option<Shard> = None, in [];
    }
}

fn is_true(flag: bool) -> Option<Tree> {
    flag.then_some(Tree::Bool(true))
}

/// A list that is not empty.
fn some(list: Tree) -> Option<Tree> {
    (list != Tree::List(Vec::new())).then_some(list)
}

fn texts<T: fmt::Display>(list: &[T]) -> Tree {
    Tree::List(list.iter().map(Tree::text).collect())
}

fn record(options: &Options) -> Option<Tree> {
    let entries = [
        ("keys", Tree::Bool(options.keys)),
        ("hosts", Tree::number(options.record_hosts.into())),
    ];
    let is_default = options.keys && options.record_hosts == 1;
    (!is_default).then(|| Tree::Table(entries.map(|(key, value)| (key.to_owned(), value)).into()))
}

/// The name of a packet path in files and flags.
pub const fn medium_name(medium: Medium) -> &'static str {
    match medium {
        Medium::Tun => "tun",
        Medium::Veth => "veth",
    }
}

/// `auto`, or the medium that packets take.
#[derive(Debug)]
pub struct PacketPath;

impl Form for PacketPath {
    type Value = Option<Medium>;
    const KIND: Kind = Kind::Name(&["auto", "tun", "veth"]);

    fn read(text: &str) -> Result<Option<Medium>, ValueError> {
        match text {
            "auto" => Ok(None),
            "tun" => Ok(Some(Medium::Tun)),
            "veth" => Ok(Some(Medium::Veth)),
            _ => Err(ValueError::form(text, "one of auto, tun, veth")),
        }
    }

    fn write(medium: &Option<Medium>) -> Option<Tree> {
        medium.map(medium_name).map(Tree::text)
    }
}

impl Names for Engine {
    const NAMES: &'static [&'static str] = &Self::NAMES;
}

impl Names for Framing {
    const NAMES: &'static [&'static str] = &Self::NAMES;
}

impl Names for Reconnect {
    const NAMES: &'static [&'static str] = &Self::NAMES;
}

/// Devices that share a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedLink {
    /// The time over which the starts of devices are evenly spread; `None` spreads them over the interval.
    pub spread: Option<Duration>,
}

wirecost_proto::named! {
    /// What a device does when its connection has ended before its last message.
    ///
    /// Named as in files and flags.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Reconnect {
        /// It connects again when its next message is due.
        #[default]
        AsNeeded => "as-needed",
        /// It does not send the remaining messages.
        Never => "never",
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

/// The bytes of each message as a file has them.
#[derive(Debug, Serialize)]
pub(crate) struct Hex {
    /// Pairs of hexadecimal digits.
    pub(crate) hex: String,
}

impl Hex {
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        Self {
            hex: bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }
}

/// A schedule as a file has it, with units.
#[derive(Debug, Serialize)]
pub(crate) struct ResolvedSchedule {
    messages_per_connection: u64,
    warm_up: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keep_alive: Option<String>,
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
