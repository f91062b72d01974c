//! The arguments of `wirecost budget`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{RangedU64ValueParser, TypedValueParser as _};

/// `wirecost budget`.
#[derive(Debug, Args)]
#[command(
    after_help = "A budget names figures of scenarios and what they may be, exactly or with a tolerance (docs/budget.md). Its \
    scenarios are comparisons, and run in virtual time: the same program gives the same bytes on every machine, busy or idle, so that \
    a limit that is missed is a change.\n\n\
    wirecost budget budget.yaml --out base                       # on the base branch\n\
    wirecost budget budget.yaml --against base --markdown comment.md\n\n\
    Exit codes: 0 ok, 1 output could not be written, 2 usage, a wrong file, or a figure that was not run, 14 figures are INVALID or \
    the capture ends inside a packet, 99 a limit is missed, 130 interrupted."
)]
pub struct BudgetArguments {
    /// Budget file (YAML or JSON)
    #[arg(value_name = "BUDGET")]
    pub file: PathBuf,

    /// What was before: the folder that this command wrote on the base branch, or a results folder of the one scenario
    #[arg(long, value_name = "OLD")]
    pub against: Option<PathBuf>,

    /// Capture of the device's own traffic, for the budget's capture
    #[arg(long, value_name = "FILE")]
    pub capture: Option<PathBuf>,

    /// Secrets of the capture's connections, in the format of SSLKEYLOGFILE
    #[arg(long, value_name = "FILE", requires = "capture")]
    pub keylog: Option<PathBuf>,

    /// Results folder: a folder of each scenario, and budget.json [default: runs/budget-TIME]
    #[arg(short, long, value_name = "DIR", help_heading = "Results")]
    pub out: Option<PathBuf>,

    /// Write a comment for a pull request to FILE: before, after, and which layer and cause
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub markdown: Option<PathBuf>,

    /// Write the limits as JUnit XML to FILE, for CI
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub junit: Option<PathBuf>,

    /// Write a badge as SVG to FILE
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub badge: Option<PathBuf>,

    /// Also write the judged limits to FILE; - prints them instead of the table
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub json: Option<PathBuf>,

    /// Cells to simulate at once [default: one on each CPU]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u64>::new().range(1..=1_024).map(|jobs| jobs as usize), help_heading = "Results")]
    pub jobs: Option<usize>,

    /// Print only errors and the table
    #[arg(short, long, help_heading = "Results")]
    pub quiet: bool,
}
