//! The arguments of `wirecost cost` and `wirecost schema`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, ValueEnum};
use wirecost_proto::units::parse_duration;
use wirecost_scenario::electric;
use wirecost_scenario::link::Translator;

use super::{BatteryArguments, FleetArguments, NetworkArguments};

/// `wirecost cost`.
#[derive(Debug, Args)]
#[command(
    after_help = "Energy, battery life and money are modelled from packets, by the figures of the device and tariff files, which \
    name the source of each. A capture repeats as it is, or once every --interval. A comparison with an interval is priced as it ran; \
    of another one the lives of its devices are simulated, with a reading every --interval: for stacks with a connection a new one for \
    each reading, and a persistent one for a day.\n\n\
    wirecost devices and wirecost tariffs list the names, and write one to start from. A name with a dot or a slash is a file.\n\n\
    cost --fit TRACE --capture CAPTURE --device BASE > mine.yaml makes a device file from a power meter.\n\n\
    --meter and --fit read .ppk2, .jls (version 2), and CSV of Nordic PPK2, Otii Arc, Joulescope and others whose first line names columns \
    and units: Timestamp(ms),Current(uA),Voltage(V).\n\n\
    Exit codes: 0 ok, 1 output could not be written, 2 usage, a wrong file, or nothing to price, \
    14 the capture ends inside a packet (the figures cover the packets before it), or most of it cannot be read."
)]
pub struct CostArguments {
    /// Capture file (pcap or pcapng; - reads standard input), or results folder of a comparison, a load or NB-IoT cells; with --check a file of claims or a folder of measurements
    #[arg(
        value_name = "CAPTURE|RUN|CLAIMS",
        default_value = "",
        hide_default_value = true,
        value_parser = OsStringValueParser::new().map(PathBuf::from)
    )]
    pub source: PathBuf,

    /// Device whose energy is modelled: a name, or a file
    #[arg(long, value_name = "NAME|FILE", required_unless_present_any = ["tariff", "check"])]
    pub device: Option<String>,

    #[command(flatten)]
    pub network: NetworkArguments,

    #[command(flatten)]
    pub battery: BatteryArguments,

    /// Data plan or broker whose price is computed: a name, or a file
    #[arg(long, value_name = "NAME|FILE")]
    pub tariff: Option<String>,

    /// Time from one reading to the next [default: a capture repeats as it is; the interval of the run, or 15min]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub interval: Option<Duration>,

    /// Time between keep-alives of persistent MQTT connections; 0s for none [default: that of the run]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub keep_alive: Option<Duration>,

    /// How long a session is kept or resumed: then a full handshake follows [default: as long as the connection]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub session_lifetime: Option<Duration>,

    #[command(flatten)]
    pub translator: Translator,

    #[command(flatten)]
    pub fleet: FleetArguments,

    /// Only this device of a capture, by its address
    #[arg(long, value_name = "ADDRESS")]
    pub client: Option<IpAddr>,

    /// Secrets of the capture's connections, in the format of SSLKEYLOGFILE
    #[arg(long, value_name = "FILE")]
    pub keylog: Option<PathBuf>,

    /// Power meter's file of the same time as the capture: measured energy beside the model
    #[arg(long, value_name = "FILE", requires = "device")]
    pub meter: Option<PathBuf>,

    /// Voltage of the supply, for a meter's file without one, e.g. 3.3V
    #[arg(long, value_name = "VOLTS", value_parser = volts)]
    pub volts: Option<f64>,

    /// Time of the meter's file at which the capture's first packet up is sent [default: --marker-rise]
    #[arg(long, value_name = "TIME", requires = "meter", conflicts_with = "marker_rise", value_parser = parse_duration)]
    pub marker: Option<Duration>,

    /// The device's first wake-up begins where the measured current first rises this much above the rest
    #[arg(long, value_name = "CURRENT", default_value = "20mA", requires = "meter", value_parser = amperes)]
    pub marker_rise: f64,

    /// Power meter's file of the same time as --capture: print the file of --device with the powers and times of the trace in place of its
    /// own. Reads what --meter reads, with gaps
    #[arg(long, value_name = "TRACE", requires_all = ["device", "capture"], conflicts_with_all = ["meter", "check", "battery", "tariff", "interval", "json"])]
    pub fit: Option<PathBuf>,

    /// Capture of the device's packets while the meter measured, for --fit
    #[arg(long, value_name = "CAPTURE", requires = "fit")]
    pub capture: Option<PathBuf>,

    /// Digital channel of the meter that the device raises when it sends the first packet of a burst, e.g. D0 [default: the bursts' pattern
    /// aligns trace and capture]
    #[arg(long, value_name = "NAME", requires = "fit")]
    pub marker_channel: Option<String>,

    /// Also draw the mean burst, measured and fitted, and their difference into an SVG file
    #[arg(long, value_name = "FILE", requires = "fit")]
    pub residual: Option<PathBuf>,

    /// Draw the modelled current of a reading of the first row as SVG
    #[arg(long, value_name = "FILE", requires = "device", conflicts_with_all = ["fit", "check"])]
    pub curve: Option<PathBuf>,

    /// Draw the modelled current of its day as SVG: means of 5 minutes
    #[arg(long, value_name = "FILE", requires = "device", conflicts_with_all = ["fit", "check"])]
    pub day_curve: Option<PathBuf>,

    /// Recompute published figures of energy, battery life and bytes: beside each its bound, ours, and why they differ; of a folder of
    /// measurements predict each point by a fit that has not seen it
    #[arg(long, conflicts_with_all = ["device", "battery", "tariff", "interval", "session_lifetime", "nat_timeout", "nat", "client", "keylog", "meter"])]
    pub check: bool,

    /// Also write the figures as JSON to FILE; - prints them instead of the table
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

fn volts(text: &str) -> Result<f64, String> {
    electric::voltage(text).map_err(|error| format!("{error}"))
}

fn amperes(text: &str) -> Result<f64, String> {
    electric::current(text).map_err(|error| format!("{error}"))
}

/// `wirecost schema`.
#[derive(Debug, Args)]
pub struct SchemaArguments {
    /// Kind of file
    #[arg(value_name = "KIND", value_enum, default_value_t = SchemaKind::Scenario)]
    pub kind: SchemaKind,

    /// Print the columns of every CSV file of a results folder instead, with types, units and meanings
    #[arg(long, conflicts_with = "kind")]
    pub tables: bool,
}

/// The kinds of files that have a schema.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SchemaKind {
    /// Scenarios, for wirecost run
    Scenario,
    /// Devices, for wirecost cost --device
    Device,
    /// Tariffs, for wirecost cost --tariff
    Tariff,
    /// Budgets, for wirecost budget
    Budget,
    /// summary.json of reports in NB-IoT cells
    NbiotSummary,
}
