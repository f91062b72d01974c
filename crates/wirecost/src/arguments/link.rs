//! The arguments of `wirecost link`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use wirecost_proto::units::parse_duration;
use wirecost_proto::{Congestion, Framing};
use wirecost_scenario::link::LinkLists;
use wirecost_scenario::table::whole;

use super::{PacketPath, Protocol};

/// `wirecost link`.
#[derive(Debug, Args)]
#[command(
    after_help = "In CMD and in the server's command, wirecost replaces {server} and {device} by the addresses of both \
    sides, {folder} by the results folder, and {authority} by the certificate of the authority that issued the built-in \
    server's certificate (for the name server).\nThere is no other network, and names are not resolved. Write [{server}] \
    in URLs with --ipv6.\n\n\
    wirecost link --rtt 100ms --server 'mosquitto -c FILE' -- mosquitto_pub -h {server} -t test -m hello -q 1\n\
    wirecost link --rtt 600ms --loss 1% --serve http1 -- curl http://{server}/\n\n\
    Exit codes: the program's own, 128 plus the number of the signal that ended it, 126 it cannot be run, 127 it is \
    missing; if it did not run: 2 usage, 10 missing privilege, 11 the server does not listen; 14 the capture is cut short."
)]
pub struct LinkRunArguments {
    /// Program to run, with its arguments; its input, output, signals and exit code pass through
    #[arg(value_name = "CMD", last = true, required = true)]
    pub command: Vec<OsString>,

    /// Command that starts the server on the other side of the link, as the user that you are; its output goes to server.log
    #[arg(
        long,
        value_name = "CMD",
        conflicts_with = "serve",
        help_heading = "Server on the other side"
    )]
    pub server: Option<String>,

    /// Port to wait for, if the server opens other ports before this one
    #[arg(long, value_name = "PORT", requires = "server", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Server on the other side", hide_short_help = true)]
    pub port: Option<u16>,

    /// How long the server may take until it listens
    #[arg(
        long,
        value_name = "TIME",
        default_value = "30s",
        value_parser = parse_duration,
        requires = "server", help_heading = "Server on the other side", hide_short_help = true)]
    pub server_timeout: Duration,

    /// Built-in server to start on the other side of the link, on its protocol's port
    #[arg(
        long,
        value_enum,
        value_name = "PROTOCOL",
        help_heading = "Server on the other side"
    )]
    pub serve: Option<Protocol>,

    /// The built-in server uses TLS 1.2 or 1.3
    #[arg(
        long,
        requires = "serve",
        conflicts_with = "dtls",
        help_heading = "Server on the other side"
    )]
    pub tls: bool,

    /// The built-in server uses DTLS 1.2 or 1.3
    #[arg(long, requires = "serve", help_heading = "Server on the other side")]
    pub dtls: bool,

    /// {server} and {device} are IPv6 addresses
    #[arg(long, help_heading = "Measurement", hide_short_help = true)]
    pub ipv6: bool,

    /// How packets leave the network namespaces: TUN devices, or veth pairs if /dev/net/tun is closed to you
    #[arg(long, value_enum, default_value_t = PacketPath::Auto, help_heading = "Measurement", hide_short_help = true)]
    pub packet_path: PacketPath,

    /// Congestion control of TCP at both ends of the link, as this machine's kernel has it
    #[arg(long, value_name = "cubic|reno|bbr", default_value_t = Congestion::Cubic, help_heading = "Measurement", hide_short_help = true)]
    pub congestion: Congestion,

    /// Also count bytes as a sniffer does, each packet with the header of its link layer: ethernet (14 B) or wifi (50 B)
    #[arg(long, value_name = "none|ethernet|wifi", default_value_t = Framing::None, hide_default_value = true, help_heading = "Measurement", hide_short_help = true)]
    pub framing: Framing,

    /// Seed of the link's random decisions: the same seed repeats them
    #[arg(long, value_name = "SEED", default_value_t = 42, value_parser = whole::<u64>, allow_hyphen_values = true, help_heading = "Measurement")]
    pub seed: u64,

    /// Quiet time on the link after the end of the program, before the recording stops
    #[arg(
        long,
        value_name = "TIME",
        default_value = "1s",
        value_parser = parse_duration,
        allow_hyphen_values = true, help_heading = "Measurement", hide_short_help = true)]
    pub settle: Duration,

    /// Results folder [default: runs/TIME]
    #[arg(short, long, value_name = "DIR", help_heading = "Results")]
    pub out: Option<PathBuf>,

    /// Key log file that a program writes by itself; other programs find SSLKEYLOGFILE in their environment
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "no_keys",
        help_heading = "Results",
        hide_short_help = true
    )]
    pub keylog: Option<PathBuf>,

    /// Leave the secrets of the connections out of the capture, and do not set SSLKEYLOGFILE
    #[arg(long, help_heading = "Results", hide_short_help = true)]
    pub no_keys: bool,

    /// Also write link.json to FILE
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub json: Option<PathBuf>,

    /// Print only errors and warnings
    #[arg(short, long, help_heading = "Results")]
    pub quiet: bool,

    #[command(flatten, next_help_heading = "Link")]
    pub link: LinkLists,
}
