//! `wirecost merge`: combines several results folders into one, and prints and judges it like a run.

use std::process::ExitCode;
use std::time::SystemTime;

use wirecost_proto::units::counted;
use wirecost_report::{ReportError, terminal};
use wirecost_results::folder::LOAD_FOLDERS;
use wirecost_results::merge::{Kind, MergeError, Merged, Sources};
use wirecost_results::{ResultsError, RunFolder};
use wirecost_scenario::merge::{Whole, merge};

use crate::arguments::MergeArguments;
use crate::commands::load::loads;
use crate::commands::{command_line, nbiot, thresholds};
use crate::commands::{compare, folder};
use crate::exit::{self, Failure};
use crate::output;

/// Runs the command.
pub fn run(arguments: &MergeArguments) -> Result<ExitCode, Failure> {
    let sources: Vec<RunFolder> = arguments.runs.iter().map(|path| RunFolder::open(path)).collect();
    if Sources::from_folders(&sources).map_err(failed)?.kind() == Kind::Nbiot {
        return reports_in_cells(&sources, arguments);
    }
    let out = folder::of_run(arguments.out.as_deref())?;
    // An existing folder is neither overwritten nor changed in part.
    let into = RunFolder::create_with(&out, &[])?;
    let made = make(&sources, &into);
    // A folder with figures stays, whatever failed behind them.
    if made.is_err() && !into.file("summary.json").exists() {
        into.remove_if_nothing_measured();
    }
    let (Whole { merged, unjudged }, written) = made?;
    written.map_err(|error| Failure::new(exit::INTERNAL, error))?;
    let what = match &merged {
        Merged::Comparison(summary) => counted(summary.cells.len() as u64, "cell"),
        Merged::Loads(summary) => counted(summary.loads.len() as u64, "load"),
    };
    output::note(format_args!(
        "merged {}: {what}",
        counted(sources.len() as u64, "run")
    ));
    if !into.file("capture").exists() && sources.iter().any(|source| source.file("capture").exists()) {
        output::note("captures stay in the folders of their runs");
    }
    if matches!(&merged, Merged::Loads(summary) if summary.interrupted) {
        output::note("warning: some loads that were asked for are in none of these runs: merge all shards");
    }
    if let Some(why) = unjudged {
        output::note(format_args!(
            "warning: thresholds are not judged, their scenario cannot be read: {why}"
        ));
    }
    Ok(ExitCode::from(print(arguments, &merged, &into)))
}

/// Merges reports in NB-IoT cells.
fn reports_in_cells(sources: &[RunFolder], arguments: &MergeArguments) -> Result<ExitCode, Failure> {
    let out = folder::of_run(arguments.out.as_deref())?;
    let into = RunFolder::create_with(&out, &[])?;
    let merged = {
        let _alone = into.lock()?;
        nbiot::merge::merged(sources, &into).map_err(failed)
    };
    let summary = merged.inspect_err(|_| into.remove_if_nothing_measured())?;
    wirecost_report::nbiot::write_all(&into).map_err(Failure::internal)?;
    output::note(format_args!(
        "merged {}: {}",
        counted(sources.len() as u64, "run"),
        counted(summary.points.len() as u64, "point")
    ));
    if summary.interrupted {
        output::note("warning: some points that were asked for are in none of these runs: merge all shards");
    }
    output::text(wirecost_report::nbiot::text(&summary));
    if let Some(main) = wirecost_report::nbiot::main_file(&into) {
        output::note(format_args!("report:  {}", main.display()));
    }
    Ok(ExitCode::from(match summary.interrupted {
        // A merge of some shards is no whole run, and must not pass as one in CI.
        true => exit::INTERRUPTED,
        false => thresholds::exit_code(&summary.thresholds),
    }))
}

/// Prints the combined table and the path of its report. Returns the exit code of a run with these figures.
fn print(arguments: &MergeArguments, merged: &Merged, folder: &RunFolder) -> u8 {
    let options = output::table_options(false);
    output::text(match merged {
        Merged::Comparison(summary) => terminal::table_of(summary, &options, arguments.table.contents()),
        Merged::Loads(summary) => terminal::load::table(summary, &options),
    });
    output::note(format_args!("report:  {}", folder.file("report.html").display()));
    match merged {
        Merged::Comparison(summary) if summary.interrupted => exit::INTERRUPTED,
        Merged::Comparison(summary) => compare::verdict(summary),
        Merged::Loads(summary) => loads::code(summary),
    }
}

type Made = (Whole, Result<(), ReportError>);

fn make(sources: &[RunFolder], into: &RunFolder) -> Result<Made, Failure> {
    let _alone = into.lock()?;
    into.restore(&LOAD_FOLDERS)?;
    let whole = merge(sources, into, command_line::recorded(), SystemTime::now()).map_err(failed)?;
    let written = match &whole.merged {
        Merged::Comparison(_) => wirecost_report::write_all(into),
        Merged::Loads(_) => wirecost_report::load::write_all(into),
    };
    Ok((whole, written))
}

fn failed(error: MergeError) -> Failure {
    // A full disk is no fault of the folders that are merged.
    if let MergeError::Results(error @ ResultsError::Io { action: "write", .. }) = error {
        return error.into();
    }
    let hint = match &error {
        MergeError::TooFew => {
            "name the folders of the shards, or of the machines: wirecost merge runs/a runs/b"
        }
        MergeError::Different { .. } => "shards are runs of one scenario with --shard 1/N to N/N",
        MergeError::Mixed { .. } => "merge loads, comparisons and reports in NB-IoT cells each by themselves",
        MergeError::Scenario { .. } => "merge with the version that ran it, or run it again",
        MergeError::Results(_) => "each folder must be the results folder of a run that has ended",
        MergeError::NotRun { .. } => "run it there again with --resume, or leave that folder out",
        MergeError::Twice(_) | MergeError::OtherPhases { .. } => "leave one of them out",
    };
    Failure::usage(error).with_hint(hint)
}
