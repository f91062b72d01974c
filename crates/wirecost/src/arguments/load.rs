//! The arguments of `wirecost load`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use wirecost_proto::ByteSize;
use wirecost_proto::service_time::ServiceTime;
use wirecost_proto::units::parse_duration;
use wirecost_scenario::find_max::FindMax;
use wirecost_scenario::link::LinkLists;
use wirecost_scenario::load::MAX_RUNS;
use wirecost_scenario::options::load::LoadEngine;
use wirecost_scenario::table::{clients, rate, whole};
use wirecost_security::Start;
use wirecost_stack::target::Target;

use super::count::at_least_one;
use super::{AgentsArguments, ReadingsArguments, ShapeArguments};

/// `wirecost load`.
#[derive(Debug, Args)]
#[command(
    after_help = "Lists (--clients 10,100 --rate 100/s,1000/s --rtt 5ms,100ms) make a matrix: its loads run one after the \
    other, and the report draws curves over the options that differ.\n\n\
    URL is SCHEME://HOST/TOPIC (or path, or address); SCHEME is one of mqtt mqtts mqttsn mqttsns coap coaps \
    coap+tcp coaps+tcp amqp amqps http https h3 tcp udp postgres mariadb mongodb. STACK is a stack as in compare (mqtt-qos1, coap-con+dtls1.3): wirecost starts its server \
    in a separate process.\n\n\
    Each message has an intended time that does not depend on earlier messages, so a stall shows in the response times. \
    Only --closed-loop waits for answers.\n\n\
    Exit codes: 0 ok, 1 output could not be written, 2 usage, 10 a limit of this machine, 11 target unreachable, 12 refused, \
    13 some messages were not acknowledged, 14 measurement invalid, 99 --find-max found no rate that holds, 130 interrupted."
)]
pub struct LoadArguments {
    /// URL of a server, or stacks whose built-in server wirecost starts
    #[arg(value_name = "URL|STACK")]
    pub target: String,

    /// Number of devices that send, or only connect: 1500, 50k
    #[arg(short, long, value_name = "N", value_delimiter = ',', default_value = "10", value_parser = clients, allow_hyphen_values = true)]
    pub clients: Vec<u32>,

    /// Messages per second over all devices: 5000/s, 30/min, 2/h
    #[arg(short, long, value_name = "RATE", value_delimiter = ',', default_value = "1000/s", value_parser = rate, allow_hyphen_values = true, conflicts_with = "closed_loop")]
    pub rate: Vec<f64>,

    /// --rate is the rate of each device, not of all devices together
    #[arg(long, conflicts_with = "closed_loop")]
    pub per_client: bool,

    /// Random (exponential) gaps between messages instead of equal ones, as from independent devices
    #[arg(long, conflicts_with = "closed_loop")]
    pub poisson: bool,

    /// Find the highest rate at which the response times (delivery times, where nothing answers) fulfil this condition,
    /// such as p(99)<50ms; the first load has --rate
    #[arg(long, value_name = "CONDITION", value_parser = FindMax::read, conflicts_with_all = ["closed_loop", "count", "ramp",
        "spread", "connect_only", "reconnect_storm"])]
    pub find_max: Option<FindMax>,

    /// How long to send messages [default: 10s, or as long as --count takes]
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub duration: Option<Duration>,

    /// Number of messages over all devices; the load ends when this or --duration is reached
    #[arg(short = 'n', long = "count", value_name = "MESSAGES", value_parser = at_least_one::<u64>, allow_hyphen_values = true)]
    pub count: Option<u64>,

    /// Time at the beginning that counts in no figure
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub warmup: Duration,

    /// Time over which the rate rises from 0 to --rate
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_duration, allow_hyphen_values = true, conflicts_with = "closed_loop")]
    pub ramp: Duration,

    /// Spread each round of messages (one from each device) over this time, for devices that report together [default:
    /// evenly over the round]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true, conflicts_with_all = ["closed_loop", "poisson", "ramp"])]
    pub spread: Option<Duration>,

    /// Send a message when the previous one is answered, instead of at a rate; a slow target then receives fewer
    /// messages, which hides its stalls
    #[arg(long)]
    pub closed_loop: bool,

    /// Messages of a device that may wait for an answer at the same time [default: the protocol's limit; 1 in a closed
    /// loop]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = at_least_one::<u32>, allow_hyphen_values = true)]
    pub inflight: Vec<u32>,

    /// New connections per second [default: as fast as possible]
    #[arg(long, value_name = "RATE", value_parser = rate, allow_hyphen_values = true)]
    pub connect_rate: Option<f64>,

    /// QoS of MQTT and MQTT-SN at a URL, -1 of MQTT-SN alone; 0 also sends settled AMQP messages and non-confirmable CoAP messages. A stack has its own in its
    /// name [default: 1]
    #[arg(long, value_name = "QOS", value_parser = clap::value_parser!(i8).range(-1..=2), allow_negative_numbers = true)]
    pub qos: Option<i8>,

    /// Payload size of each message; from 16B on, a payload contains its number and its intended time
    #[arg(
        short,
        long,
        value_name = "SIZE",
        value_delimiter = ',',
        default_value = "128B",
        allow_hyphen_values = true
    )]
    pub size: Vec<ByteSize>,

    #[command(flatten)]
    pub readings: ReadingsArguments,

    /// Topic, path or address; %d is the device's number, %n the message's number [default: the URL's, or test; obs for
    /// CoAP observers]
    #[arg(long, value_name = "NAME")]
    pub resource: Option<String>,

    /// Time after which an answer counts as late; after twice this time the device gives up
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub timeout: Duration,

    /// Time after which a connect has failed
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub connect_timeout: Duration,

    /// MQTT keep-alive interval
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub keep_alive: Duration,

    /// How devices start repeated connections (--connect-only, --reconnect-storm): cold, resumed or 0rtt. With 0rtt you
    /// accept that a message can be replayed
    #[arg(long, value_name = "START", value_delimiter = ',', default_value = "cold")]
    pub start: Vec<Start>,

    /// Engine: live (kernel sockets), or sim (virtual time: everything is modelled, and the same seed gives the same
    /// figures)
    #[arg(long, value_name = "ENGINE", default_value = "live")]
    pub engine: LoadEngine,

    /// Time that the server of --engine sim needs for a message: 1ms, or exponential:1ms for random times with this
    /// mean [default: 0s]
    #[arg(long, value_name = "TIME")]
    pub service_time: Option<ServiceTime>,

    /// Number of workers of the server of --engine sim, which share one queue
    #[arg(long, value_name = "N", default_value = "1", requires = "service_time", value_parser = at_least_one::<u32>)]
    pub workers: u32,

    /// Server to start for the load: builtin, mosquitto, rabbitmq, caddy, apache, libcoap, libcoap-gnutls, postgresql or mariadb
    #[arg(long = "target", value_name = "TARGET", default_value = "builtin")]
    pub server: Target,

    /// The devices of a loop share sockets, and tokens tell them apart, for more devices than ports (CoAP without DTLS)
    #[arg(long)]
    pub shared_socket: bool,

    /// Use IPv6 for devices and for a target that wirecost starts
    #[arg(long)]
    pub ipv6: bool,

    /// Source addresses of the devices [default: the kernel's choice, or enough addresses of 127.0.0.0/8]
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',')]
    pub source: Vec<IpAddr>,

    /// Number of loops [default: one per free CPU, if there are enough devices]
    #[arg(long, value_name = "N", value_parser = at_least_one::<u32>)]
    pub threads: Option<u32>,

    /// Number of processes [default: as many as the limit of open files requires]
    #[arg(long, value_name = "N", value_parser = at_least_one::<u32>)]
    pub processes: Option<u32>,

    /// File with the CA certificates to trust, in PEM [default: those of the system]
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,

    /// Accept any certificate of the server, for tests only
    #[arg(long, conflicts_with = "cacert")]
    pub insecure: bool,

    /// What devices do apart from sending messages
    #[command(flatten)]
    pub shape: ShapeArguments,

    /// Seed of all random decisions: the same seed repeats a simulated load exactly
    #[arg(long, value_name = "SEED", default_value_t = 42, value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub seed: u64,

    /// Run each load N times, each time with another seed: its figures have 95 % intervals over the runs
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_RUNS)), conflicts_with = "find_max")]
    pub repeat: u32,

    /// Confirm that you own the target or are permitted to load it; required for more than 100 messages (including
    /// those to subscribers) or connects per second to another machine
    #[arg(long)]
    pub i_own_this_target: bool,

    #[command(flatten)]
    pub agents: AgentsArguments,

    /// The output options.
    #[command(flatten)]
    pub output: LoadOutputArguments,

    #[command(flatten)]
    pub link: LinkLists,
}

/// The output options of loads.
#[derive(Debug, Default, Args)]
pub struct LoadOutputArguments {
    /// Continue an earlier run in its folder
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    pub resume: Option<PathBuf>,

    /// Continue even if the options differ, and run only the missing loads
    #[arg(long, requires = "resume")]
    pub resume_changed: bool,

    /// Results folder [default: runs/TIME]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Write summary.json to FILE; - prints it instead of the table
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Take a CPU profile of a target that wirecost starts, with perf; the report shows it as a flame graph
    #[arg(long)]
    pub profile: bool,

    /// Record every packet of the emulated link, or of virtual time, with the secrets that decrypt it, in capture/ of
    /// the results folder
    #[arg(long)]
    pub capture: bool,

    /// Leave the secrets of the connections out of the capture, for a capture that you share
    #[arg(long, requires = "capture")]
    pub no_keys: bool,

    /// Write the results of loads and thresholds as JUnit XML to FILE, for CI; - prints them instead of the table
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,

    /// Serve GET /metrics for Prometheus on this address while the load runs; a port alone means loopback
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = crate::http::address)]
    pub prometheus: Option<std::net::SocketAddr>,

    /// Print only errors and the table
    #[arg(short, long)]
    pub quiet: bool,

    /// Print without colour (NO_COLOR does the same)
    #[arg(long)]
    pub no_color: bool,
}
