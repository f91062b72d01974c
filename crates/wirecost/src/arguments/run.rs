//! `wirecost run` and what helps to write its files.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use wirecost_results::shard::Shard;
use wirecost_scenario::options::compare::Engine;

use super::OutputArguments;

/// `wirecost run`.
#[derive(Debug, Args)]
#[command(
    after_help = "A file without phases is a comparison, one with phases a load; docs/scenarios.md has every key.\n\n\
    Exit codes: 0 ok, 1 output could not be written, 2 usage or scenario, 10 missing privilege or limit, 11 target unreachable, \
    12 refused, 13 some cells failed or none could be run, 14 measurement invalid, 99 threshold failed, \
    130 interrupted; of several, the first of 2, 10 to 12, 14, 13, 99."
)]
pub struct RunArguments {
    /// Scenario files in YAML or JSON; - reads stdin
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Use this value in place of the file's: size=16B, link.rtt=100ms, count=10; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,

    /// Use these values in place of the file's, one after the other; may be given several times
    #[arg(long, value_name = "KEY=VALUE,...")]
    pub vary: Vec<String>,

    /// How to run comparisons, in place of what the file says
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<Engine>,

    /// Run this part of the cells or loads: 2/8 is the second of eight; wirecost merge joins their results
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,

    /// Print the scenario with every default filled in, and run nothing
    #[arg(long)]
    pub print_resolved: bool,

    /// Confirm that you own the target or may load it: needed for more than 100 messages a second (those to
    /// subscribers count) or connects a second to another machine
    #[arg(long)]
    pub i_own_this_target: bool,

    /// Write the verdict of loads and thresholds as JUnit XML to FILE; - prints it instead of the table
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,

    /// Answer GET /metrics for Prometheus there while loads run; a port alone is one of the loopback address
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = crate::prometheus::address)]
    pub prometheus: Option<std::net::SocketAddr>,

    /// Where results go and how they are shown.
    #[command(flatten)]
    pub output: OutputArguments,
}

/// `wirecost new`.
#[derive(Debug, Args)]
pub struct NewArguments {
    /// Kind of scenario
    #[arg(value_enum, default_value_t = NewKind::Comparison)]
    pub kind: NewKind,

    /// Write to FILE, which must not be there yet, instead of stdout
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
}
