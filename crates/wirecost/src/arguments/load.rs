//! The arguments of `wirecost load`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use wirecost_proto::ByteSize;
use wirecost_proto::units::parse_duration;
use wirecost_results::shard::Shard;
use wirecost_scenario::find_max::FindMax;
use wirecost_scenario::link::LinkLists;
use wirecost_scenario::options::load::LoadOptions;
use wirecost_scenario::table::{ValueError, clients, count, rate};
use wirecost_security::Start;
use wirecost_stack::target::Target;

use super::rows::Typed;
use super::{AgentsArguments, MqttVersion, ReadingsArguments, ShapeArguments};

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
    13 some messages were not acknowledged, 14 measurement invalid, 99 a threshold failed or --find-max found no rate that holds, 130 interrupted."
)]
pub struct LoadArguments {
    /// URL of a server, or stacks whose built-in server wirecost starts
    #[arg(value_name = "URL|STACK")]
    pub target: String,

    /// Number of devices that send, or only connect: 50k, 10M
    #[arg(short, long, value_name = "N", value_delimiter = ',', default_value = "10", value_parser = clients, allow_hyphen_values = true, help_heading = "Messages")]
    pub clients: Vec<u32>,

    /// Messages per second over all devices: 5000/s, 30/min, 2/h
    #[arg(short, long, value_name = "RATE", value_delimiter = ',', default_value = "1000/s", value_parser = rate, allow_hyphen_values = true, conflicts_with = "closed_loop", help_heading = "Messages")]
    pub rate: Vec<f64>,

    /// --rate is the rate of each device, not of all devices together
    #[arg(
        long,
        conflicts_with = "closed_loop",
        help_heading = "Messages",
        hide_short_help = true
    )]
    pub per_client: bool,

    /// Random (exponential) gaps between messages instead of equal ones, as from independent devices
    #[arg(
        long,
        conflicts_with = "closed_loop",
        help_heading = "Messages",
        hide_short_help = true
    )]
    pub poisson: bool,

    /// Find the highest rate at which this condition holds for response or delivery times, such as p(99)<50ms; the first
    /// load has --rate
    #[arg(long, value_name = "CONDITION", value_parser = FindMax::read, conflicts_with_all = ["closed_loop", "count", "ramp",
        "spread", "connect_only", "reconnect_storm"], help_heading = "Messages")]
    pub find_max: Option<FindMax>,

    /// Demand like p(99)<50ms (response time) or 'acknowledged: rate>=99%'; exit code 99 if it fails; you can repeat this option
    #[arg(
        long,
        value_name = "THRESHOLD",
        conflicts_with = "find_max",
        help_heading = "Messages"
    )]
    pub threshold: Vec<String>,

    /// How long to send messages [default: 10s, or as long as --count takes]
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true, help_heading = "Messages")]
    pub duration: Option<Duration>,

    /// Number of messages over all devices; the load ends when this or --duration is reached
    #[arg(short = 'n', long = "count", value_name = "MESSAGES", value_parser = count::<u64>, allow_hyphen_values = true, help_heading = "Messages")]
    pub count: Option<u64>,

    /// Time at the beginning that counts in no figure
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_duration, allow_hyphen_values = true, help_heading = "Messages", hide_short_help = true)]
    pub warmup: Duration,

    /// Time over which the rate rises from 0 to --rate
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_duration, allow_hyphen_values = true, conflicts_with = "closed_loop", help_heading = "Messages", hide_short_help = true)]
    pub ramp: Duration,

    /// Spread each round of messages (one from each device) over this time, for devices that report together [default:
    /// evenly over the round]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true, conflicts_with_all = ["closed_loop", "poisson", "ramp"], help_heading = "Messages", hide_short_help = true)]
    pub spread: Option<Duration>,

    /// Send a message when the previous one is answered, instead of at a rate; a slow target then receives fewer
    /// messages, which hides its stalls
    #[arg(long, help_heading = "Messages", hide_short_help = true)]
    pub closed_loop: bool,

    /// Messages of a device that may wait for an answer at the same time [default: the protocol's limit; 1 in a closed
    /// loop]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = count::<u32>, allow_hyphen_values = true, help_heading = "Messages", hide_short_help = true)]
    pub inflight: Vec<u32>,

    /// New connections per second [default: as fast as possible]
    #[arg(long, value_name = "RATE", value_parser = rate, allow_hyphen_values = true, help_heading = "Connections")]
    pub connect_rate: Option<f64>,

    /// QoS of MQTT and MQTT-SN at a URL, -1 of MQTT-SN alone; 0 also sends settled AMQP and non-confirmable CoAP messages. A
    /// stack has its own [default: 1]
    #[arg(long, value_name = "QOS", value_parser = clap::value_parser!(i8).range(-1..=2), allow_negative_numbers = true, help_heading = "Messages")]
    pub qos: Option<i8>,

    /// Version of MQTT at a URL; a stack has its own in its name (mqtt5-qos1) [default: 3.1.1]
    #[arg(
        long,
        value_enum,
        value_name = "VERSION",
        help_heading = "Messages",
        hide_short_help = true
    )]
    pub mqtt: Option<MqttVersion>,

    /// User property of each message (MQTT 5); you can repeat this option
    #[arg(long = "user-property", value_name = "NAME=VALUE", value_parser = user_property, conflicts_with_all = ["connect_only", "reconnect_storm", "get"], help_heading = "Messages", hide_short_help = true)]
    pub user_properties: Vec<(String, String)>,

    /// Payload size of each message; from 16B on, a payload contains its number and its intended time
    #[arg(
        short,
        long,
        value_name = "SIZE",
        value_delimiter = ',',
        default_value = "128B",
        allow_hyphen_values = true,
        help_heading = "Messages"
    )]
    pub size: Vec<ByteSize>,

    #[command(flatten, next_help_heading = "Messages")]
    pub readings: ReadingsArguments,

    /// The options of rows.
    #[command(flatten)]
    pub typed: Typed<LoadOptions>,

    /// How devices start repeated connections (--connect-only, --reconnect-storm): cold, resumed, 0rtt, edhoc or
    /// edhoc-by-value. With 0rtt you accept that a message can be replayed
    #[arg(
        long,
        value_name = "START",
        value_delimiter = ',',
        default_value = "cold",
        help_heading = "Connections"
    )]
    pub start: Vec<Start>,

    /// Server to start for the load: builtin, mosquitto, rabbitmq, caddy, apache, libcoap, libcoap-gnutls, postgresql or mariadb
    #[arg(
        long = "target",
        value_name = "TARGET",
        default_value = "builtin",
        help_heading = "Target and generator"
    )]
    pub server: Target,

    /// Source addresses of the devices [default: the kernel's choice, or enough addresses of 127.0.0.0/8]
    #[arg(
        long,
        value_name = "ADDRESS",
        value_delimiter = ',',
        help_heading = "Target and generator",
        hide_short_help = true
    )]
    pub source: Vec<IpAddr>,

    /// Run only this part of the devices of a load in virtual time: 2/8 is the second of eight; wirecost merge adds the parts up
    #[arg(
        long,
        value_name = "I/N",
        conflicts_with = "find_max",
        help_heading = "Target and generator",
        hide_short_help = true
    )]
    pub shard: Option<Shard>,

    /// What devices do apart from sending messages
    #[command(flatten)]
    pub shape: ShapeArguments,

    /// Confirm that you own the target or are permitted to load it; required for more than 100 messages (including
    /// those to subscribers) or connects per second to another machine
    #[arg(long, help_heading = "Target and generator")]
    pub i_own_this_target: bool,

    #[command(flatten, next_help_heading = "Target and generator")]
    pub agents: AgentsArguments,

    /// The output options.
    #[command(flatten)]
    pub output: LoadOutputArguments,

    #[command(
        flatten,
        next_help_heading = "Link between devices and target; each of these options adds it"
    )]
    pub link: LinkLists,
}

/// The output options of loads.
#[derive(Debug, Default, Args)]
pub struct LoadOutputArguments {
    /// Continue an earlier run in its folder
    #[arg(long, value_name = "DIR", conflicts_with = "out", help_heading = "Results")]
    pub resume: Option<PathBuf>,

    /// Continue even if the options differ, and run only the missing loads
    #[arg(long, requires = "resume", help_heading = "Results", hide_short_help = true)]
    pub resume_changed: bool,

    /// Results folder [default: runs/TIME]
    #[arg(short, long, value_name = "DIR", help_heading = "Results")]
    pub out: Option<PathBuf>,

    /// Write summary.json to FILE; - prints it instead of the table
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub json: Option<PathBuf>,

    /// Leave the secrets of the connections out of the capture, for a capture that you share
    #[arg(long, requires = "capture", help_heading = "Results", hide_short_help = true)]
    pub no_keys: bool,

    /// Write the results of loads and thresholds as JUnit XML to FILE, for CI; - prints them instead of the table
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub junit: Option<PathBuf>,

    /// Serve GET /metrics for Prometheus on this address while the load runs; a port alone means loopback
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = crate::http::address, help_heading = "Results", hide_short_help = true)]
    pub prometheus: Option<std::net::SocketAddr>,

    /// Print only errors and the table
    #[arg(short, long, help_heading = "Results")]
    pub quiet: bool,

    /// Print without colour (NO_COLOR does the same)
    #[arg(long, help_heading = "Results", hide_short_help = true)]
    pub no_color: bool,
}

/// `NAME=VALUE`.
fn user_property(text: &str) -> Result<(String, String), ValueError> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) =
        pair.ok_or_else(|| ValueError::form(text, "a user property: write NAME=VALUE, as in site=north"))?;
    Ok((name.to_owned(), value.to_owned()))
}
