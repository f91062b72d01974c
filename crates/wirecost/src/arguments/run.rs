//! The arguments of `wirecost run` and `wirecost new`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use wirecost_results::shard::Shard;
use wirecost_scenario::options::compare::Engine;

use super::{AgentsArguments, OutputArguments};

/// `wirecost run`.
#[derive(Debug, Args)]
#[command(
    after_help = "A file with phases is a load, a file with nbiot is of reports in NB-IoT cells, one with program runs a program of another maker, any other is a comparison; docs/scenarios.md explains every key.\n\n\
    Exit codes: 0 ok, 1 output could not be written, 2 usage or scenario, 10 missing privilege or limit, 11 target unreachable, \
    12 refused, 13 some cells failed or none could be run, 14 measurement invalid, 99 threshold failed, \
    130 interrupted; if several apply, the first of 2, 10 to 12, 14, 13, 99."
)]
pub struct RunArguments {
    /// Scenario files in YAML or JSON; - reads stdin
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Replace a value of the file: size=16B, link.rtt=100ms, count=10; you can repeat this option
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Scenario")]
    pub set: Vec<String>,

    /// Replace a value of the file by several ones, for a run of each: size=16B,1kB; you can repeat this option
    #[arg(long, value_name = "KEY=VALUE,...", help_heading = "Scenario")]
    pub vary: Vec<String>,

    /// Engine instead of the file's: sim or live; auto in comparisons
    #[arg(long, value_name = "ENGINE", help_heading = "Scenario")]
    pub engine: Option<Engine>,

    /// Run only this part of the cells, loads or points: 2/8 is the second of eight; wirecost merge combines the parts
    #[arg(long, value_name = "I/N", help_heading = "Scenario")]
    pub shard: Option<Shard>,

    /// Print the scenario with all defaults filled in, and run nothing
    #[arg(long, help_heading = "Scenario")]
    pub print_resolved: bool,

    /// Confirm that you own the target or are permitted to load it; required for more than 100 messages (including
    /// those to subscribers) or connects per second to another machine
    #[arg(long, help_heading = "Scenario")]
    pub i_own_this_target: bool,

    /// Allow scenarios to run the programs that they name (program, and server of it)
    #[arg(long, help_heading = "Scenario")]
    pub allow_programs: bool,

    /// Write the results of loads and thresholds as JUnit XML to FILE, for CI; - prints them instead of the table
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub junit: Option<PathBuf>,

    /// Serve GET /metrics for Prometheus on this address while loads run; a port alone means loopback
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = crate::http::address, help_heading = "Results", hide_short_help = true)]
    pub prometheus: Option<std::net::SocketAddr>,

    /// The agents of a load.
    #[command(flatten, next_help_heading = "Agents of a load")]
    pub agents: AgentsArguments,

    /// The output options.
    #[command(flatten)]
    pub output: OutputArguments,
}

/// `wirecost new`.
#[derive(Debug, Args)]
pub struct NewArguments {
    /// Kind of scenario
    #[arg(value_enum, default_value_t = NewKind::Comparison)]
    pub kind: NewKind,

    /// Write the scenario to FILE, which must not exist yet, instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// A kind of scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NewKind {
    /// Stacks side by side
    Comparison,
    /// Many devices against one target
    Load,
    /// Devices that lose their broker and reconnect
    Storm,
    /// Reports of devices in NB-IoT cells
    Nbiot,
}
