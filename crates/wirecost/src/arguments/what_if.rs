//! The arguments of `wirecost what-if`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use wirecost_proto::units::parse_duration;
use wirecost_scenario::link::LinkLists;
use wirecost_scenario::options::handshake::Handshake;
use wirecost_scenario::table::whole;
use wirecost_stack::Stack;

use super::rows::Typed;
use super::{BatteryArguments, FleetArguments, NetworkArguments};

/// `wirecost what-if`.
#[derive(Debug, Args)]
#[command(
    after_help = "A reading is payload that a device sends. Each stack is simulated with the sizes and the median interval of the \
    device's readings, with a connection for each reading and with one that is kept. Without the keys of an encrypted connection \
    its records are the readings; handshakes are none. The first line below the tables says how many readings were found, and how sure \
    that is.\n\n\
    wirecost what-if capture.pcapng --keylog keys.log coap-con+oscore mqtt-qos1+tls1.3\n\n\
    Exit codes: 0 ok, 1 output could not be written, 2 usage, or a capture without readings, \
    14 most of the capture cannot be read, 130 interrupted."
)]
pub struct WhatIfArguments {
    /// Capture file (pcap or pcapng); - reads standard input
    #[arg(value_name = "CAPTURE")]
    pub capture: PathBuf,

    /// Stacks to simulate
    #[arg(value_name = "STACK", value_delimiter = ',', required = true)]
    pub stacks: Vec<Stack>,

    /// Secrets of the capture's connections, in the format of SSLKEYLOGFILE
    #[arg(long, value_name = "FILE", help_heading = "Capture")]
    pub keylog: Option<PathBuf>,

    /// The device, by its address [default: the one with the most bytes]
    #[arg(long, value_name = "ADDRESS", help_heading = "Capture")]
    pub client: Option<IpAddr>,

    /// Time from one reading to the next [default: the median in the capture]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Capture")]
    pub every: Option<Duration>,

    #[command(flatten, next_help_heading = "Link")]
    pub link: LinkLists,

    #[command(flatten)]
    pub handshake: Typed<Handshake>,

    /// Device whose energy is modelled: a name, or a file
    #[arg(long, value_name = "NAME|FILE", help_heading = "Energy and money")]
    pub device: Option<String>,

    #[command(flatten, next_help_heading = "Energy and money")]
    pub network: NetworkArguments,

    #[command(flatten, next_help_heading = "Energy and money")]
    pub battery: BatteryArguments,

    /// Data plan or broker whose price is computed: a name, or a file
    #[arg(long, value_name = "NAME|FILE", help_heading = "Energy and money")]
    pub tariff: Option<String>,

    #[command(flatten, next_help_heading = "Energy and money")]
    pub fleet: FleetArguments,

    /// Time between keep-alives of MQTT connections; 0s for none
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration, allow_hyphen_values = true, help_heading = "Capture", hide_short_help = true)]
    pub keep_alive: Duration,

    /// Seed of all random decisions
    #[arg(long, value_name = "SEED", default_value_t = 42, value_parser = whole::<u64>, allow_hyphen_values = true, help_heading = "Results", hide_short_help = true)]
    pub seed: u64,

    /// Results folder [default: runs/what-if-TIME]
    #[arg(short, long, value_name = "DIR", help_heading = "Results")]
    pub out: Option<PathBuf>,

    /// Also write the figures as JSON to FILE; - prints them instead of the table
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub json: Option<PathBuf>,

    /// Print only errors and the table
    #[arg(short, long, help_heading = "Results")]
    pub quiet: bool,
}
