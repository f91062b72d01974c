//! The arguments of `wirecost load`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use wirecost_proto::ByteSize;
use wirecost_proto::service_time::ServiceTime;
use wirecost_proto::units::parse_duration;
use wirecost_scenario::options::load::LoadEngine;
use wirecost_scenario::table::clients;
use wirecost_scenario::table::rate;
use wirecost_security::Start;
use wirecost_stack::target::Target;

use super::{LoadLinkArguments, ShapeArguments};

/// `wirecost load`.
#[derive(Debug, Args)]
#[command(
    after_help = "Lists (--clients 10,100 --rate 100/s,1000/s --rtt 5ms,100ms) make a matrix: its loads run one after the \
    other, and the report draws curves over what differs.\n\n\
    URL is mqtt:// mqtts:// coap:// coaps:// amqp:// amqps:// http:// https:// or h3://, with the topic, path or \
    address behind the host. STACK is a stack as compare takes it (mqtt-qos1, coap-con+dtls1.3): its server is started \
    beside the load, in a process of its own.\n\n\
    Messages are intended at their times whatever becomes of those before: a stall shows in the response times. Only \
    --closed-loop waits.\n\n\
    Exit codes: 0 ok, 1 output could not be written, 2 usage, 10 a limit of this machine, 11 target unreachable, 12 refused, \
    13 some messages were not carried, 14 measurement invalid, 99 a threshold failed, 130 interrupted."
)]
pub struct LoadArguments {
    /// A URL, or the names of stacks, whose built-in server is started
    #[arg(value_name = "URL|STACK")]
    pub target: String,

    /// Devices that send, or only connect: 1500, 50k
    #[arg(short, long, value_name = "N", value_delimiter = ',', default_value = "10", value_parser = clients, allow_hyphen_values = true)]
    pub clients: Vec<u32>,

    /// Messages per second over all devices: 5000/s, 30/min, 2/h
    #[arg(short, long, value_name = "RATE", value_delimiter = ',', default_value = "1000/s", value_parser = rate, allow_hyphen_values = true, conflicts_with = "closed_loop")]
    pub rate: Vec<f64>,

    /// The rate is that of each device
    #[arg(long, conflicts_with = "closed_loop")]
    pub per_client: bool,

    /// Exponential gaps between messages instead of equal ones
    #[arg(long, conflicts_with = "closed_loop")]
    pub poisson: bool,

    /// How long to offer messages [default: 10s, or as long as --count takes]
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub duration: Option<Duration>,

    /// How many messages to offer over all devices; the load ends at the first of this and --duration
    #[arg(short = 'n', long = "count", value_name = "N", allow_hyphen_values = true)]
    pub count: Option<u64>,

    /// Time at the beginning that no figure includes
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub warmup: Duration,

    /// Time over which the rate rises from 0
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_duration, allow_hyphen_values = true, conflicts_with = "closed_loop")]
    pub ramp: Duration,

    /// Spread each round of messages, one of each device, over this time: devices that report together [default: evenly over
    /// the round]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true, conflicts_with_all = ["closed_loop", "poisson", "ramp"])]
    pub spread: Option<Duration>,

    /// Send a message when the one before is answered, instead of at a rate: a slow target then gets fewer messages,
    /// which hides its stalls
    #[arg(long)]
    pub closed_loop: bool,

    /// Messages of a device that may wait for an answer at the same time [default: as many as the protocol allows; 1
    /// in a closed
    /// loop]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..), allow_hyphen_values = true)]
    pub inflight: Vec<u32>,

    /// Connections per second [default: as fast as they come]
    #[arg(long, value_name = "RATE", value_parser = rate, allow_hyphen_values = true)]
    pub connect_rate: Option<f64>,

    /// QoS of MQTT; 0 also settles AMQP messages before they are sent and makes CoAP's non-confirmable [default: 1, or
    /// the stack's]
    #[arg(short, long, value_name = "QOS", value_parser = clap::value_parser!(u8).range(0..=2))]
    pub qos: Option<u8>,

    /// Payload of a message; from 16B it carries its number and its intended time
    #[arg(
        short,
        long,
        value_name = "SIZE",
        value_delimiter = ',',
        default_value = "128B",
        allow_hyphen_values = true
    )]
    pub size: Vec<ByteSize>,

    /// Topic, path or address; %d is the device's number, %n the message's [default: the URL's, or test; obs for
    /// CoAP's observers]
    #[arg(short, long, value_name = "NAME")]
    pub topic: Option<String>,

    /// An answer after this time is late; after twice this time the device stops waiting
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub timeout: Duration,

    /// A connection that takes longer than this has failed
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub connect_timeout: Duration,

    /// MQTT keep-alive
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub keep_alive: Duration,

    /// How devices start repeated connections (--connect-only, --reconnect-storm): cold, resumed, 0rtt; with 0rtt you
    /// accept that a message may be replayed
    #[arg(long, value_name = "START", value_delimiter = ',', default_value = "cold")]
    pub start: Vec<Start>,

    /// What the load runs on: live (kernel sockets) or sim (virtual time: everything is modelled, and the same seed
    /// gives the same figures)
    #[arg(long, value_name = "ENGINE", default_value = "live")]
    pub engine: LoadEngine,

    /// How long the server of --engine sim works on a message: 1ms, or exponential:1ms for one with that mean [default: it
    /// answers at once]
    #[arg(long, value_name = "TIME")]
    pub service_time: Option<ServiceTime>,

    /// Workers of the server of --engine sim, with one queue in front of them
    #[arg(long, value_name = "N", default_value = "1", requires = "service_time", value_parser = clap::value_parser!(u32).range(1..))]
    pub workers: u32,

    /// Server to start for the load: mosquitto, rabbitmq, caddy, libcoap
    #[arg(long = "target", value_name = "TARGET", default_value = "builtin")]
    pub server: Target,

    /// CoAP without DTLS: the devices of a loop share sockets and are told apart by their tokens
    #[arg(long)]
    pub shared_socket: bool,

    /// Devices and a target that wirecost starts speak IPv6
    #[arg(long)]
    pub ipv6: bool,

    /// Source addresses of the devices [default: the kernel's choice, or as many of 127.0.0.0/8 as are needed]
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',')]
    pub source: Vec<IpAddr>,

    /// Loops [default: one for each CPU that is free, as far as there are devices for them]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: Option<u32>,

    /// Processes [default: as many as the limit on open files demands]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub processes: Option<u32>,

    /// Authorities to trust, in PEM [default: those of the system]
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,

    /// Accept any certificate of the server
    #[arg(long, conflicts_with = "cacert")]
    pub insecure: bool,

    /// What devices are and do beside sending messages
    #[command(flatten)]
    pub shape: ShapeArguments,

    /// Seed of every random decision
    #[arg(long, value_name = "SEED", default_value_t = 42, allow_hyphen_values = true)]
    pub seed: u64,

    /// Confirm that you own the target or may load it: needed for more than 100 messages a second (those to
    /// subscribers count) or connects a second to another machine
    #[arg(long)]
    pub i_own_this_target: bool,

    /// Where the results go.
    #[command(flatten)]
    pub output: LoadOutputArguments,

    // Last, because its heading holds for everything after it.
    #[command(flatten)]
    pub link: LoadLinkArguments,
}

/// Where the results of loads go.
#[derive(Debug, Default, Args)]
pub struct LoadOutputArguments {
    /// Continue an earlier run in its folder
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    pub resume: Option<PathBuf>,

    /// Continue although the options differ: run only the loads that are missing
    #[arg(long, requires = "resume")]
    pub resume_changed: bool,

    /// Results folder [default: runs/TIME]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Write summary.json to FILE; - prints it instead of the table
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Take a CPU profile of the target that wirecost starts, by perf: a flame graph in the report
    #[arg(long)]
    pub profile: bool,

    /// Record every packet on the emulated link, or in virtual time, in capture/ of the results folder, with the secrets that open them
    #[arg(long)]
    pub capture: bool,

    /// Leave the secrets of the connections out of the capture
    #[arg(long, requires = "capture")]
    pub no_keys: bool,

    /// Write the verdict of loads and thresholds as JUnit XML to FILE; - prints it instead of the table
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,

    /// Answer GET /metrics for Prometheus there while the load runs; a port alone is one of the loopback address
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = crate::prometheus::address)]
    pub prometheus: Option<std::net::SocketAddr>,

    /// Print only errors and the table
    #[arg(long)]
    pub quiet: bool,

    /// Print without colour (NO_COLOR does the same)
    #[arg(long)]
    pub no_color: bool,
}
