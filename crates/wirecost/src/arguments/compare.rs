//! The arguments of `wirecost compare`, and the output options of comparisons.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use wirecost_proto::ByteSize;
use wirecost_proto::units::parse_duration;
use wirecost_scenario::link::{CellProfile, LinkLists, cell_load, coupling_loss};
use wirecost_scenario::load;
use wirecost_scenario::options::compare::Options;
use wirecost_scenario::options::load::LoadTarget;
use wirecost_scenario::table::{clients, count};
use wirecost_security::Start;
use wirecost_stack::Stack;

use super::rows::{Given, Typed};
use super::{ReadingsArguments, TableArguments};

/// `wirecost compare`.
#[derive(Debug, Args)]
#[command(
    after_help = "Write quantities with their unit: 128B, 10kB, 25ms, 5%, 50kbit.\n\
    Lists (--size 16B,128B --rtt 5ms,100ms) make a matrix of cells.\n\n\
    Exit codes: 0 ok, 1 output could not be written, 2 usage, 10 missing privilege, 11 target unreachable, \
    13 some cells failed or none could be run, 14 measurement invalid, 99 threshold failed, 130 interrupted."
)]
pub struct CompareArguments {
    /// The names of the arguments that the user typed. clap takes the arguments of a field out of what was typed, so that this
    /// one is the first.
    #[command(flatten)]
    pub given: Given,

    /// Stacks to compare: an application, then +cose and +CHANNEL if you want them. Applications: tcp, udp, mqtt-qos0 to 2, mqtt5-qos0 to 2, mqttsn-qos-1 to 2, coap-non, coap-con, coap-tcp, amqp-settled, amqp-unsettled,
    /// http1, http3, postgres, mariadb, mongodb. Channels: +tls1.3 and +tls1.2 on tcp, mqtt, coap-tcp, amqp and http1; +dtls1.3, +dtls1.2, +dtls1.2-psk and
    /// +dtls1.2-cid on udp, mqttsn, coap-non and coap-con; +oscore on coap-non and coap-con; http3 includes TLS 1.3.
    #[arg(
        value_name = "STACK",
        value_delimiter = ',',
        default_values = wirecost_stack::name::DEFAULT
    )]
    pub stacks: Vec<Stack>,

    /// Payload size of each message
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

    /// File whose bytes are the payload of each message
    #[arg(long, alias = "payload", value_name = "FILE", conflicts_with_all = ["size", "readings", "encoding", "compression"], help_heading = "Messages", hide_short_help = true)]
    pub payload_file: Option<PathBuf>,

    /// The options of rows.
    #[command(flatten)]
    pub typed: Typed<Options>,

    /// How connections start: cold, resumed or 0rtt; coap-con+oscore also by a handshake of EDHOC, edhoc or edhoc-by-value. With
    /// 0rtt you accept that a message can be replayed
    #[arg(
        long,
        value_name = "START",
        value_delimiter = ',',
        default_value = "cold",
        help_heading = "Connections and server"
    )]
    pub start: Vec<Start>,

    /// Measured messages per connection, after one warm-up message; with an explicit 1, each message opens its own
    /// connection, and then, as with --interval, nothing warms up [default: 1, after a warm-up]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = count::<u64>, allow_hyphen_values = true, help_heading = "Messages")]
    pub messages_per_connection: Vec<u64>,

    /// Leave the secrets of the connections out of the capture, for a capture that you share
    #[arg(long, help_heading = "Results", hide_short_help = true)]
    pub no_keys: bool,

    /// Send the measured messages at this interval: the life of a device, in which nothing warms up or settles
    #[arg(
        long,
        value_name = "TIME",
        value_delimiter = ',',
        value_parser = parse_duration,
        allow_hyphen_values = true, help_heading = "Messages")]
    pub interval: Vec<Duration>,

    /// Devices per cell in the capture if the run has more than 10,000 messages; shorter runs record all devices
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count::<u32>, allow_hyphen_values = true, help_heading = "Results", hide_short_help = true)]
    pub record_hosts: u32,

    /// Values of one dimension of the matrix, instead of its option: size=16B,1kB link=wifi,lte rtt=5ms,100ms loss=
    /// readings= encoding= compression= link-rate= mtu= stack= start= interval= messages-per-connection=; you can repeat this option
    #[arg(long, value_name = "KEY=VALUE,...", help_heading = "Measurement")]
    pub vary: Vec<String>,

    /// Demand on a figure of the cells, as in scenarios: p(95)<50ms (response time), or METRIC{KEY=VALUE}: EXPRESSION such as
    /// 'bytes_per_msg{stack=coap-con}: mean<150B'; you can repeat this option. A demand that fails is exit code 99
    #[arg(long, value_name = "THRESHOLD", help_heading = "Results")]
    pub threshold: Vec<String>,

    /// All devices of a cell share one link and one server, to see how they compete (engine sim)
    #[arg(long, help_heading = "Devices that share a link", hide_short_help = true)]
    pub shared_link: bool,

    /// Number of devices that share the link of a cell, instead of -n
    #[arg(long, value_name = "N", requires = "shared_link", value_parser = clients, allow_hyphen_values = true, help_heading = "Devices that share a link", hide_short_help = true)]
    pub clients: Option<u32>,

    /// Spread the starts of the devices on a shared link over this time [default: the interval]
    #[arg(
        long,
        value_name = "TIME",
        requires = "shared_link",
        value_parser = parse_duration,
        allow_hyphen_values = true, help_heading = "Devices that share a link", hide_short_help = true)]
    pub spread: Option<Duration>,

    /// Server: builtin, mosquitto, rabbitmq, caddy, apache, libcoap, libcoap-gnutls, postgresql or mariadb; or the URL of one that runs
    /// already, on the real path, or with --rtt and other link options behind a relay on the emulated link
    #[arg(long, value_name = "TARGET", default_value = "builtin", value_parser = load::target, help_heading = "Connections and server")]
    pub target: LoadTarget,

    /// File with the certificate authorities that the server of a URL may have, in PEM [default: those of the system]
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Connections and server",
        hide_short_help = true
    )]
    pub cacert: Option<PathBuf>,

    /// Accept any certificate of the server of a URL, for tests only
    #[arg(
        long,
        conflicts_with = "cacert",
        help_heading = "Connections and server",
        hide_short_help = true
    )]
    pub insecure: bool,

    /// Confirm that you own the target of a URL or are permitted to load it; required for more than 100 messages or connects
    /// per second to another machine
    #[arg(long, help_heading = "Connections and server", hide_short_help = true)]
    pub i_own_this_target: bool,

    /// Load of the cell of --link nbiot by other devices: 1/s, 30/min, in reports per second and cell [default: unloaded]
    #[arg(long, value_name = "RATE", value_parser = cell_load, allow_hyphen_values = true, help_heading = "Modelled NB-IoT cell (--link nbiot)")]
    pub cell_load: Option<f64>,

    /// Coupling loss between the device and the cell of --link nbiot: 144dB is the edge of normal coverage, 164dB the limit of
    /// NB-IoT [default: 123dB]
    #[arg(long, value_name = "DB", value_parser = coupling_loss, allow_hyphen_values = true, help_heading = "Modelled NB-IoT cell (--link nbiot)")]
    pub coupling_loss: Option<f64>,

    /// Parameters of the cell of --link nbiot: vodafone or study [default: vodafone]
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Modelled NB-IoT cell (--link nbiot)",
        hide_short_help = true
    )]
    pub cell_profile: Option<CellProfile>,

    /// Print what was on the air of the cell for the first device of each stack, from its connect to the end of its first message
    #[arg(
        long,
        help_heading = "Modelled NB-IoT cell (--link nbiot)",
        hide_short_help = true
    )]
    pub sequence: bool,

    /// The output options.
    #[command(flatten)]
    pub output: OutputArguments,

    #[command(flatten, next_help_heading = "Link")]
    pub link: LinkLists,
}

/// The output options of comparisons and scenarios.
#[derive(Debug, Args)]
pub struct OutputArguments {
    /// Number of cells to simulate at the same time [default: the number of CPUs]
    #[arg(short, long, value_name = "N", value_parser = count::<usize>, allow_hyphen_values = true, help_heading = "Measurement", hide_short_help = true)]
    pub jobs: Option<usize>,

    /// Continue an earlier run in DIR, or in the folder of --out
    #[arg(long, value_name = "DIR", num_args = 0..=1, help_heading = "Results")]
    pub resume: Option<Option<PathBuf>>,

    /// Continue even if the options differ, and run only the missing cells
    #[arg(long, requires = "resume", help_heading = "Results", hide_short_help = true)]
    pub resume_changed: bool,

    /// Results folder [default: runs/TIME]
    #[arg(short, long, value_name = "DIR", help_heading = "Results")]
    pub out: Option<PathBuf>,

    /// Also write summary.json to FILE; - prints it instead of the table
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub json: Option<PathBuf>,

    /// What the table shows.
    #[command(flatten, next_help_heading = "Results")]
    pub table: TableArguments,

    /// Print only errors and the table
    #[arg(short, long, help_heading = "Results")]
    pub quiet: bool,

    /// Print without colour (NO_COLOR does the same)
    #[arg(long, help_heading = "Results", hide_short_help = true)]
    pub no_color: bool,
}
