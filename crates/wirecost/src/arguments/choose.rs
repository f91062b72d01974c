//! The arguments of `wirecost choose`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use wirecost_proto::ByteSize;
use wirecost_proto::units::parse_duration;
use wirecost_scenario::link::LinkLists;
use wirecost_scenario::options::content::Contents;
use wirecost_scenario::options::handshake::Handshake;
use wirecost_scenario::table::{count, whole};
use wirecost_security::Start;
use wirecost_stack::Stack;

use super::rows::Typed;
use super::{BatchArguments, BatteryArguments, FleetArguments, NetworkArguments};

/// `wirecost choose`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Every stack is simulated on the link in each way that it can be used: with a connection for each reading and with a \
    persistent one for a day, at most 288 messages; started cold, resumed and with early data; for MQTT with keep-alives of 60s \
    and with the longest that the NAT of the link allows. TLS has the certificates of a public broker (--chain letsencrypt-ecdsa) \
    unless --certificate or --chain says otherwise. What meets the requirements comes first; the last column says \
    what does not, and why. Energy, battery life and money are modelled: wirecost devices and wirecost tariffs list the names.\n\n\
    wirecost choose --size 48B --every 5min --link lte-m --loss 1% --device nrf9160-lte-m --battery 2400mAh@3.6V --tariff per-mb\n\
    wirecost choose --size 1kB --every 10s --within 500ms --delivery exactly-once --rtt 100ms\n\
    wirecost choose --file needs.yaml      # the same options as KEY: VALUE, one per line; several use cases make a decision matrix\n\n\
    Exit codes: 0 ok, 1 output could not be written, 2 usage, 13 no stack meets the requirements, 130 interrupted."
)]
pub struct ChooseArguments {
    /// Stacks to choose from [default: each protocol with its usual security]
    #[arg(value_name = "STACK", value_delimiter = ',')]
    pub stacks: Vec<Stack>,

    /// Payload of a reading
    #[arg(
        short,
        long,
        value_name = "SIZE",
        default_value = "48B",
        allow_hyphen_values = true,
        help_heading = "Readings"
    )]
    pub size: ByteSize,

    #[command(flatten, next_help_heading = "Readings")]
    pub readings: BatchArguments,

    /// Time from one reading to the next; a message with several --readings leaves when its last one is there
    #[arg(long, value_name = "TIME", value_parser = parse_duration, required_unless_present = "file", help_heading = "Readings")]
    pub every: Option<Duration>,

    /// Security of handshakes: today (--certificate, --chain, --group), or 2030 (X25519MLKEM768 and certificates with ML-DSA-65, which a
    /// quantum computer does not break; a table says what they add to today's)
    #[arg(
        long,
        value_enum,
        value_name = "YEAR",
        default_value = "today",
        help_heading = "Security",
        hide_short_help = true
    )]
    pub security: Security,

    /// Requirements as a YAML file: each key is an option of this command without its dashes; use_cases is a list of such tables, each
    /// with a name
    #[arg(long, value_name = "FILE", help_heading = "Readings")]
    pub file: Option<PathBuf>,

    #[command(flatten, next_help_heading = "Link")]
    pub link: LinkLists,

    #[command(flatten)]
    pub handshake: Typed<Handshake>,

    /// A reading must have arrived, or be acknowledged where the stack does that, within this time (95th percentile): with its
    /// wait for others in its message, the wake-up of --device, and the connect
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Requirements")]
    pub within: Option<Duration>,

    /// What the stack must guarantee
    #[arg(
        long,
        value_enum,
        value_name = "GUARANTEE",
        default_value = "at-least-once",
        help_heading = "Requirements"
    )]
    pub delivery: Delivery,

    /// Protocol that the other side speaks; may be given several times
    #[arg(
        long,
        value_enum,
        value_name = "PROTOCOL",
        value_delimiter = ',',
        help_heading = "Requirements"
    )]
    pub reach: Vec<Reach>,

    /// Class of the device by RFC 7228: 1 has about 10 KiB of RAM, 2 about 50 KiB
    #[arg(long, value_name = "CLASS", value_parser = clap::value_parser!(u8).range(1..=2), help_heading = "Requirements", hide_short_help = true)]
    pub device_class: Option<u8>,

    /// Device whose energy is modelled: a name, or a file
    #[arg(long, value_name = "NAME|FILE", help_heading = "Energy and money")]
    pub device: Option<String>,

    #[command(flatten, next_help_heading = "Energy and money")]
    pub network: NetworkArguments,

    #[command(flatten, next_help_heading = "Energy and money")]
    pub battery: BatteryArguments,

    /// Years that the battery must last
    #[arg(
        long,
        value_name = "YEARS",
        requires = "battery",
        help_heading = "Requirements"
    )]
    pub battery_years: Option<f64>,

    /// Data plan or broker whose price is computed: a name, or a file
    #[arg(long, value_name = "NAME|FILE", help_heading = "Energy and money")]
    pub tariff: Option<String>,

    /// The most bytes of IP packets in a month of one device
    #[arg(long, value_name = "SIZE", help_heading = "Requirements")]
    pub monthly_bytes: Option<ByteSize>,

    #[command(flatten, next_help_heading = "Energy and money")]
    pub fleet: FleetArguments,

    /// How connections start: cold, resumed, 0rtt, edhoc or edhoc-by-value; only these are compared. With 0rtt a message can be replayed [default: each
    /// that a stack can]
    #[arg(
        long,
        value_name = "START",
        value_delimiter = ',',
        help_heading = "Readings",
        hide_short_help = true
    )]
    pub start: Vec<Start>,

    /// Send behind the request to connect without waiting for its answer (MQTT, AMQP), as compare does
    #[arg(long, help_heading = "Readings", hide_short_help = true)]
    pub pipelined_connect: bool,

    /// What the best stack has least of
    #[arg(
        long,
        value_enum,
        value_name = "FIGURE",
        default_value = "bytes",
        help_heading = "Measurement"
    )]
    pub by: By,

    /// Also measure the first three live on this link, and compare bytes
    #[arg(long, help_heading = "Measurement")]
    pub verify: bool,

    /// Also simulate which input, changed by at most 10 %, changes the order of the first two, and what persistent connections cost at
    /// other intervals
    #[arg(long, help_heading = "Measurement")]
    pub sensitivity: bool,

    /// Devices to simulate for each way, at least 20 where packets are lost; bytes, energy and money are means over the first 20
    #[arg(short = 'n', long, value_name = "N", default_value_t = 5, value_parser = count::<u32>, allow_hyphen_values = true, help_heading = "Measurement", hide_short_help = true)]
    pub count: u32,

    /// Seed of all random decisions
    #[arg(long, value_name = "SEED", default_value_t = 42, value_parser = whole::<u64>, allow_hyphen_values = true, help_heading = "Measurement", hide_short_help = true)]
    pub seed: u64,

    /// Time between keep-alives of MQTT connections, 0s for none; only these are compared [default: 60s, and the longest that
    /// the link's address translator allows]
    #[arg(long, value_name = "TIME", value_delimiter = ',', value_parser = parse_duration, allow_hyphen_values = true, help_heading = "Readings", hide_short_help = true)]
    pub keep_alive: Vec<Duration>,

    /// Print the account of one row instead of the ranking, by its number: each packet with its bytes, milliseconds, millijoules
    /// and share of the bill
    #[arg(long, value_name = "ROW", value_parser = count::<u32>, help_heading = "Results")]
    pub explain: Option<u32>,

    /// Results folder [default: runs/choose-TIME]
    #[arg(short, long, value_name = "DIR", help_heading = "Results")]
    pub out: Option<PathBuf>,

    /// Also write the choice as JSON to FILE; - prints it instead of the table
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub json: Option<PathBuf>,

    /// Print only errors and the table
    #[arg(short, long, help_heading = "Results")]
    pub quiet: bool,
}

/// A delivery guarantee.
#[expect(clippy::enum_variant_names, reason = "the terms of MQTT 5, section 4.3")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Delivery {
    /// A reading may be lost
    AtMostOnce,
    /// A reading is sent again until it is acknowledged
    AtLeastOnce,
    /// The receiver gets each reading once
    ExactlyOnce,
}

/// A protocol of the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Reach {
    /// An MQTT broker
    Mqtt,
    /// A CoAP server
    Coap,
    /// An HTTP server
    Http,
    /// An AMQP 1.0 broker
    Amqp,
}

/// The security of handshakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Security {
    /// As asked for
    Today,
    /// Post-quantum
    #[value(name = "2030")]
    Y2030,
}

/// What stacks are ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Bytes per reading
    Bytes,
    /// Mean power, which decides battery life; needs --device
    Energy,
    /// Money per month; needs --tariff
    Money,
    /// 95th percentile of the time
    Time,
}

impl ChooseArguments {
    /// What messages carry.
    pub fn contents(&self) -> Contents {
        Contents::from_lists(&[self.size], &self.readings.lists())
    }
}
