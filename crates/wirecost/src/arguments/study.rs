//! The arguments of `wirecost study` and `wirecost claims`.

use std::path::PathBuf;

use clap::Args;
use wirecost_studies::gate::Gate;

/// `wirecost study`.
#[derive(Debug, Args)]
#[command(
    after_help = "A study is a folder of claims and scenarios (docs/studies.md). Its runs are made one after the other, each \
    in a folder of its own below --out; then every claim is judged.\n\n\
    Exit codes: 0 ok, 1 output could not be written, 2 usage or a wrong file, 99 a verdict that is expected did not come out, \
    130 interrupted."
)]
pub struct StudyArguments {
    /// Study; list prints all of them, all runs all of them
    #[arg(value_name = "NAME", required_unless_present = "from")]
    pub name: Option<String>,

    /// Fewer samples and values, as the study says
    #[arg(long)]
    pub quick: bool,

    /// Judge only these claims, and make only their runs
    #[arg(long, value_name = "ID,...", value_delimiter = ',')]
    pub claim: Vec<String>,

    /// Study in this folder instead of one that is compiled in; with all or list, that one, too
    #[arg(long, value_name = "DIR", conflicts_with = "write")]
    pub from: Option<PathBuf>,

    /// Write the files of the study to this folder, and run nothing
    #[arg(long, value_name = "DIR")]
    pub write: Option<PathBuf>,

    /// Results folder; of runs that are there, only what is missing is made [default: runs/study-NAME]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Allow the scenarios of --from to run the programs that they name; those of studies that are compiled in may
    #[arg(long)]
    pub allow_programs: bool,

    /// Also list what changed since the results folder of an earlier run of the study: verdicts and figures
    #[arg(long, value_name = "OLD")]
    pub baseline: Option<PathBuf>,

    /// Judge without any run: only bounds, arithmetic, and the runs that --out has, or the verdicts that it keeps
    #[arg(long)]
    pub no_runs: bool,

    /// Also write the judged claims to FILE; - prints them instead of the table
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// `wirecost diff`.
#[derive(Debug, Args)]
#[command(
    after_help = "Cells are matched by their dimensions, not by their names: both folders come from one scenario, or from two \
    that share cells, and from any versions. A figure that no sample differs in, or that was simulated with the same seed, is listed \
    if it changed at all; others if their samples, or their intervals over the runs of a repeated load, tell a change above the \
    tolerance: 0 for bytes and packets, 5 % for the rest in virtual time, 25 % live.\n\n\
    Limits: NAME=TOLERANCE,... where NAME is bytes, times, rates or counts, a metric (response_time), a figure (p(99)), or both \
    (response_time p(99)); only what is named is judged, by its value where it has no interval.\n\n\
    Exit codes: 0 ok, 1 output could not be written, 2 usage or a folder that cannot be read; with --gate also 98 if anything \
    changed, else 14 if figures are INVALID in one of the runs."
)]
pub struct DiffArguments {
    /// Results folder of the earlier run
    #[arg(value_name = "OLD")]
    pub old: PathBuf,

    /// Results folder of the later run
    #[arg(value_name = "NEW")]
    pub new: PathBuf,

    /// End with exit code 98 if anything changed [with limits: only what they name, e.g. bytes=0,p(99)=20%]
    #[arg(long, value_name = "LIMITS", num_args = 0..=1, default_missing_value = "")]
    pub gate: Option<Gate>,

    /// Also write the changes to FILE; - prints them instead of the list
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// `wirecost claims`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 ok, 1 output could not be written, 2 usage or a wrong file, \
    99 a verdict that is expected did not come out."
)]
pub struct ClaimsArguments {
    /// Claims file (docs/studies.md)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Results folders: NAME=DIR for each run of the claims; DIR alone if its last part is the name
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,

    /// Also write the judged claims to FILE; - prints them instead of the table
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}
