//! The command line as it is typed. Quantities carry their units; lists are separated by commas.

mod link;
mod load;
mod object;
mod probe;
mod run;
mod serve;
mod shape;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use wirecost_lab::compare::options::Medium;
use wirecost_lab::compare::{Engine, Target};
use wirecost_lab::stack::Stack;
use wirecost_proto::units::parse_duration;
use wirecost_proto::{BitRate, ByteSize, Probability};

pub use link::LinkRunArguments;
pub use load::{LoadArguments, LoadOutputArguments};
pub use object::{
    Grant, InspectArguments, KeyKind, KeygenArguments, ObjectArguments, ObjectCommand, OpenArguments,
    SealArguments,
};
pub use probe::{MqttVersion, ProbeArguments, TlsVersion};
pub use run::{NewArguments, NewKind, RunArguments};
pub use serve::{Protocol, ServeArguments};
pub use shape::ShapeArguments;
use wirecost_security::Start;

/// What one IoT message costs, in bytes, time and CPU, over any protocol, on any link, with the capture to prove it
#[derive(Debug, Parser)]
#[command(
    name = "wirecost",
    version,
    arg_required_else_help = true,
    max_term_width = 100
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

impl Arguments {
    /// The arguments of a command line, its first word the program's name.
    ///
    /// # Errors
    /// It cannot be followed, or asks for help or the version.
    pub fn typed(words: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Result<Self, clap::Error> {
        let matches = Self::command().try_get_matches_from(words)?;
        let mut arguments = Self::from_arg_matches(&matches)?;
        if let (Command::Compare(compare), Some((_, matches))) =
            (&mut arguments.command, matches.subcommand())
        {
            compare.given = given(matches);
        }
        Ok(arguments)
    }
}

/// The names of the arguments that were typed, and are not defaults.
fn given(matches: &ArgMatches) -> Vec<String> {
    let ids = matches.ids().map(clap::Id::as_str);
    ids.filter(|id| matches.value_source(id) == Some(ValueSource::CommandLine))
        .map(str::to_owned)
        .collect()
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run protocol stacks side by side on one emulated, recorded link
    Compare(Box<CompareArguments>),
    /// Run scenario files: matrices of stacks and links, or phases of a load, with thresholds
    Run(Box<RunArguments>),
    /// Write a commented scenario to begin with
    New(NewArguments),
    /// Print the JSON Schema of scenarios, for editors
    Schema,
    /// Run any program behind an emulated, recorded link, with its server on the other side
    Link(Box<LinkRunArguments>),
    /// Load one target with many devices, at intended times, and say honestly how it went
    Load(Box<LoadArguments>),
    /// Send one message to a real server: every step timed, its bytes by layer, and what the server said
    Probe(Box<ProbeArguments>),
    /// Attribute the bytes of a capture that was made elsewhere
    Pcap(PcapArguments),
    /// Rebuild the report of a results folder
    Report(ReportArguments),
    /// Run one of the built-in servers by itself, for foreign clients or from a second machine
    Serve(Box<ServeArguments>),
    /// Be the counting target of a load
    #[command(hide = true)]
    LoadTarget,
    /// Run some parts of a load
    #[command(hide = true)]
    LoadWorker,
    /// Put the results of several runs together: shards, or machines that loaded one target
    Merge(MergeArguments),
    /// Seal payloads into objects that carry their own protection, open them, look at them
    Object(ObjectArguments),
    /// Show what this machine allows, found out by trying, and what to do about what is missing
    Doctor(DoctorArguments),
}

/// `wirecost compare`.
#[derive(Debug, Args)]
#[command(
    after_help = "Quantities are written with their unit: 128B, 10kB, 25ms, 5%, 50kbit.\n\
    Lists (--size 16B,128B --rtt 5ms,100ms) make a matrix.\n\n\
    Exit codes: 0 ok, 2 usage, 10 missing privilege, 11 target unreachable, 13 some cells failed, \
    14 measurement invalid, 130 interrupted."
)]
pub struct CompareArguments {
    /// Stacks to compare: APPLICATION, then +cose and +CHANNEL where wanted
    ///
    /// Applications: tcp, udp, mqtt-qos0 to 2, mqtt5-qos0 to 2, coap-non, coap-con, amqp-settled, amqp-unsettled, http1,
    /// http3. Channels: +tls1.3 and +tls1.2 on tcp, mqtt, amqp and http1; +dtls1.3, +dtls1.2 and +dtls1.2-psk on udp and
    /// coap; +oscore on coap; http3 brings TLS 1.3 along.
    #[arg(
        value_name = "STACK",
        value_delimiter = ',',
        default_values = wirecost_lab::stack::name::DEFAULT
    )]
    pub stacks: Vec<Stack>,

    /// Payload of a message
    #[arg(
        short,
        long,
        value_name = "SIZE",
        value_delimiter = ',',
        default_value = "128B",
        allow_hyphen_values = true
    )]
    pub size: Vec<ByteSize>,

    /// Samples per cell: each is a device that connects, sends and closes
    #[arg(
        short = 'n',
        long = "count",
        value_name = "N",
        default_value_t = 150,
        allow_hyphen_values = true
    )]
    pub count: u32,

    /// Seed of every random decision
    #[arg(long, value_name = "SEED", default_value_t = 42, allow_hyphen_values = true)]
    pub seed: u64,

    /// Quiet time after each step of a sample, so that late acknowledgements belong to their message
    #[arg(
        long,
        value_name = "TIME",
        default_value = "1s",
        value_parser = parse_duration,
        allow_hyphen_values = true
    )]
    pub settle: Duration,

    /// After this an acknowledgement is late; after twice this it is not waited for
    #[arg(
        long,
        value_name = "TIME",
        default_value = "30s",
        value_parser = parse_duration,
        allow_hyphen_values = true
    )]
    pub timeout: Duration,

    /// How connections start: cold, resumed, 0rtt; 0rtt is the consent that a message may be replayed
    #[arg(long, value_name = "START", value_delimiter = ',', default_value = "cold")]
    pub start: Vec<Start>,

    /// Measured messages per connection, after one warm-up message; 1 asked for is a connection per message, without
    /// warm-up [default: 1, after a warm-up]
    #[arg(long, value_name = "N", value_delimiter = ',', allow_hyphen_values = true)]
    pub messages_per_connection: Vec<u64>,

    /// Leave the secrets of the connections out of the capture
    #[arg(long)]
    pub no_keys: bool,

    /// Servers demand a certificate of devices: TLS, DTLS without a key, HTTP/3
    #[arg(long)]
    pub client_certificates: bool,

    /// DTLS servers ask for a cookie first: one more round trip
    #[arg(long)]
    pub dtls_cookie: bool,

    /// Send the measured messages at this interval instead of letting each one settle
    #[arg(
        long,
        value_name = "TIME",
        value_delimiter = ',',
        value_parser = parse_duration,
        allow_hyphen_values = true
    )]
    pub interval: Vec<Duration>,

    /// Devices per cell in the capture of a run of more than 10,000 messages; a shorter run's holds all
    #[arg(long, value_name = "N", default_value_t = 1, allow_hyphen_values = true)]
    pub record_hosts: u32,

    /// Keep link and hosts on one CPU: the kernel's TCP then repeats itself packet by packet, also in bursts
    #[arg(long)]
    pub one_cpu: bool,

    /// How to run: sim in virtual time, live on kernel sockets over the emulated link, auto first the one and then the
    /// other where the machine allows it
    #[arg(long, value_name = "ENGINE", default_value_t = Engine::Auto)]
    pub engine: Engine,

    /// Values of one dimension of the matrix, instead of its flag: size=16B,1kB rtt=5ms,100ms loss= rate= mtu= stack= start=
    /// interval= messages-per-connection=; may be given several times
    #[arg(long, value_name = "KEY=VALUE,...")]
    pub vary: Vec<String>,

    /// The names of the arguments that were typed.
    #[arg(skip)]
    pub given: Vec<String>,

    /// All devices of a cell share one link and one server (engine sim)
    #[arg(long)]
    pub shared_link: bool,

    /// Devices of a cell that share a link: what -n says otherwise
    #[arg(long, value_name = "N", requires = "shared_link", allow_hyphen_values = true)]
    pub clients: Option<u32>,

    /// Spread the starts of devices that share a link over this time [default: the interval]
    #[arg(
        long,
        value_name = "TIME",
        requires = "shared_link",
        value_parser = parse_duration,
        allow_hyphen_values = true
    )]
    pub spread: Option<Duration>,

    /// Server: builtin, mosquitto, rabbitmq, caddy, libcoap, libcoap-gnutls
    #[arg(long, value_name = "TARGET", default_value = "builtin")]
    pub target: Target,

    /// Devices and server speak IPv6
    #[arg(long)]
    pub ipv6: bool,

    /// How packets leave the namespaces: TUN devices, or veth pairs where /dev/net/tun is closed
    #[arg(long, value_enum, default_value_t = PacketPath::Auto)]
    pub packet_path: PacketPath,

    /// MQTT topic and CoAP path
    #[arg(long, value_name = "NAME", default_value = "test")]
    pub resource: String,

    /// MQTT keep-alive
    #[arg(
        long,
        value_name = "TIME",
        default_value = "60s",
        value_parser = parse_duration,
        allow_hyphen_values = true
    )]
    pub keep_alive: Duration,

    /// Where results go and how they are shown.
    #[command(flatten)]
    pub output: OutputArguments,

    // Last, because its heading holds for everything after it.
    #[command(flatten)]
    pub link: LinkArguments,
}

/// Where results go and how they are shown: of comparisons and of scenarios.
#[derive(Debug, Args)]
pub struct OutputArguments {
    /// Cells that are simulated side by side [default: as many as there are CPUs]
    #[arg(short, long, value_name = "N", allow_hyphen_values = true)]
    pub jobs: Option<std::num::NonZeroUsize>,

    /// Go on where an earlier run has ended: DIR, or the folder of --out
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    pub resume: Option<Option<PathBuf>>,

    /// Go on although something else was asked for: only cells that are not there are run
    #[arg(long, requires = "resume")]
    pub resume_changed: bool,

    /// Results folder [default: runs/TIME]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Write summary.json to FILE as well; - prints it instead of the table
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Say nothing but errors and the table
    #[arg(short, long)]
    pub quiet: bool,

    /// Print without colour (NO_COLOR does the same)
    #[arg(long)]
    pub no_color: bool,
}

/// The link of a comparison.
#[derive(Debug, Args)]
#[command(next_help_heading = "Link")]
pub struct LinkArguments {
    /// Round-trip time, half of it each way
    #[arg(
        long,
        value_name = "TIME",
        value_delimiter = ',',
        default_value = "25ms",
        value_parser = parse_duration,
        allow_hyphen_values = true
    )]
    pub rtt: Vec<Duration>,

    /// Packet loss per direction
    #[arg(
        long,
        value_name = "P",
        value_delimiter = ',',
        default_value = "0%",
        allow_hyphen_values = true
    )]
    pub loss: Vec<Probability>,

    /// Mean length of a burst of losses in packets: Gilbert-Elliott instead of independent loss
    #[arg(long, value_name = "PACKETS", allow_hyphen_values = true)]
    pub loss_burst: Option<f64>,

    /// Rate per direction, of IP packets
    #[arg(long, value_name = "RATE", value_delimiter = ',', allow_hyphen_values = true)]
    pub rate: Vec<BitRate>,

    /// Queue in front of the rate: packets (64packets) or bytes (32kB) [default: 1 BDP or 64 packets]
    #[arg(
        long,
        value_name = "LIMIT",
        value_parser = crate::commands::link_flags::parse_queue,
        allow_hyphen_values = true
    )]
    pub queue: Option<wirecost_lab::compare::options::QueueLimit>,

    /// Delay variation per direction, uniform in plus or minus TIME
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub delay_variation: Option<Duration>,

    /// Probability that a packet is held back behind later ones
    #[arg(long, value_name = "P", default_value = "0%", allow_hyphen_values = true)]
    pub reorder: Probability,

    /// Probability that a packet arrives twice
    #[arg(long, value_name = "P", default_value = "0%", allow_hyphen_values = true)]
    pub duplicate: Probability,

    /// Probability that a packet arrives with a flipped bit
    #[arg(long, value_name = "P", default_value = "0%", allow_hyphen_values = true)]
    pub corrupt: Probability,

    /// Largest IP packet
    #[arg(
        long,
        value_name = "SIZE",
        value_delimiter = ',',
        default_value = "1500B",
        allow_hyphen_values = true
    )]
    pub mtu: Vec<ByteSize>,

    /// What differs from device to server: delay=5ms,loss=1%,rate=50kbit,queue=10packets,...
    #[arg(long, value_name = "KEY=VALUE,...")]
    pub up: Option<String>,

    /// What differs from server to device
    #[arg(long, value_name = "KEY=VALUE,...")]
    pub down: Option<String>,
}

/// How packets leave the namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PacketPath {
    /// TUN where it can be used, else veth
    Auto,
    /// TUN devices
    Tun,
    /// veth pairs
    Veth,
}

impl PacketPath {
    /// The medium that is asked for.
    pub const fn medium(self) -> Option<Medium> {
        match self {
            Self::Auto => None,
            Self::Tun => Some(Medium::Tun),
            Self::Veth => Some(Medium::Veth),
        }
    }
}

/// `wirecost pcap`.
#[derive(Debug, Args)]
#[command(
    after_help = "Reads pcap and pcapng: MQTT, CoAP, HTTP/1.1, HTTP/3, AMQP 1.0 and bare messages, in the clear or inside \
    TLS, DTLS 1.2 or QUIC. What cannot be attributed is named. Secrets are read from the capture too, where it carries them.\n\n\
    Exit codes: 0 ok, 2 not a capture or usage, 14 the capture ends inside a packet: what was read is reported."
)]
pub struct PcapArguments {
    /// Capture in pcap or pcapng
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Secrets of its TLS, DTLS and QUIC connections, as SSLKEYLOGFILE makes them
    #[arg(long, value_name = "FILE")]
    pub keylog: Option<PathBuf>,

    /// Write the report as JSON to FILE, or instead of the table to stdout where FILE is -
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// `wirecost report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Results folder
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
}

/// `wirecost doctor`.
#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// Print an AppArmor profile that allows user namespaces to wirecost, instead of examining
    #[arg(long)]
    pub apparmor: bool,
}

/// `wirecost merge`.
#[derive(Debug, Args)]
#[command(
    after_help = "Comparisons must be of one scenario; their cells are put side by side. Loads of one key ran at the same \
    time and add up: counts and histograms do, and quantiles are computed again from the sums. Loads of different keys are \
    put side by side."
)]
pub struct MergeArguments {
    /// Results folders of the runs
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,

    /// Results folder of the whole [default: runs/TIME]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
