//! `wirecost run` of a scenario with `program`: a program of another maker as a cell.

use std::process::ExitCode;

use wirecost_lab::program_run;
use wirecost_live::provenance::Before;
use wirecost_proto::units::counted;
use wirecost_report::terminal;
use wirecost_results::assemble::{Collected, Part};
use wirecost_results::cell_times::CellTimes;
use wirecost_results::journal::{self, Entry};
use wirecost_results::resolved::{Asked, Tree};
use wirecost_results::summary::SCHEMA;
use wirecost_results::time::rfc3339;
use wirecost_results::{Cell, CellFile, RunFolder, Summary};
use wirecost_scenario::options::compare::{Engine, Options};
use wirecost_scenario::options::sending::Sending;
use wirecost_scenario::program::ProgramOptions;
use wirecost_scenario::{Scenario, Work};

use super::command_line;
use super::compare::verdict;
use super::job::JobFolder;
use crate::arguments::RunArguments;
use crate::exit::Failure;
use crate::output;

/// Runs the program of a scenario, writes its results folder, and prints its table.
pub fn run(scenario: &Scenario, arguments: &RunArguments) -> Result<ExitCode, Failure> {
    let Work::Program(options) = &scenario.work else {
        return Err(Failure::internal("the scenario is of another kind"));
    };
    // A scenario file of a stranger must not run commands by itself.
    allowed(options, arguments.allow_programs)?;
    program_run::check(options).map_err(|error| {
        Failure::usage(format!("program: {error}")).with_hint("write the command as for a shell")
    })?;
    let place = JobFolder::of_output(&arguments.output)?;
    let run = place.open(&place.folder()?, scenario)?;
    let folder = &run.folder;
    let before = Before::look();
    let cell = match CellFile::read(folder, &options.key()) {
        // A run that is continued keeps a program's measurement, and tries again what failed.
        Ok(earlier) if earlier.cell.not_run.is_none() => earlier.cell,
        Ok(_) | Err(_) => measure(options, folder, arguments.output.quiet)?,
    };
    let summary = written(options, folder, &before, cell)?;
    wirecost_report::write_all(folder).map_err(Failure::internal)?;
    show(arguments, &summary, folder)?;
    Ok(ExitCode::from(verdict(&summary)))
}

/// Refuses to run what a file names, unless the user says so.
fn allowed(options: &ProgramOptions, is_allowed: bool) -> Result<(), Failure> {
    if is_allowed {
        return Ok(());
    }
    let programs = options.programs().join(" and ");
    Err(
        Failure::usage(format!("the scenario runs {programs} on this machine, as you"))
            .with_hint("add --allow-programs if you trust the file"),
    )
}

fn measure(options: &ProgramOptions, folder: &RunFolder, is_quiet: bool) -> Result<Cell, Failure> {
    if !is_quiet {
        output::note(format_args!(
            "wirecost {}: {}, {}, into {}",
            env!("CARGO_PKG_VERSION"),
            options.name(),
            counted(options.samples.into(), "run"),
            folder.path().display()
        ));
    }
    let mut note = |line: &str| output::note(line);
    let measured = program_run::run(options, folder, &mut note);
    let cell = measured.map_err(|error| super::link::failed(error, folder))?;
    let file = CellFile::new(cell, CellTimes::default(), &[], None);
    file.write(folder)?;
    // Behind the file, so that the journal names no cell that is not there.
    journal::append(folder, &Entry::of_cell(0, &file.cell, options.samples.into()))?;
    Ok(file.cell)
}

/// Writes the files of the results folder.
fn written(
    options: &ProgramOptions,
    folder: &RunFolder,
    before: &Before,
    cell: Cell,
) -> Result<Summary, Failure> {
    let mut collected = Collected::default();
    collected.add(Part::new(
        folder,
        0,
        CellFile::new(cell, CellTimes::default(), &[], None),
    )?);
    let Collected {
        cells,
        ladders,
        samples,
    } = collected;
    folder.write_environment(before.environment())?;
    folder.write_json("ladder.json", &ladders)?;
    folder.write("samples.csv", samples.as_bytes())?;
    let mut summary = Summary {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        command: command_line::recorded(),
        scenario: asked(options),
        seed: options.seed,
        interrupted: false,
        cells,
        thresholds: Vec::new(),
    };
    summary.count_frames();
    folder.write_json("summary.json", &summary)?;
    let at = rfc3339(std::time::SystemTime::now());
    journal::append(
        folder,
        &Entry::Ended {
            at,
            interrupted: false,
        },
    )?;
    Ok(summary)
}

/// What was asked for, in the keys of a comparison, with the program in place of the stacks.
fn asked(options: &ProgramOptions) -> Asked {
    let mut asked = Asked::from_options(&Options {
        engine: Engine::Live,
        links: vec![options.link],
        samples: options.samples,
        settle: options.settle,
        ipv6: options.ipv6,
        seed: options.seed,
        framing: options.framing,
        sending: Sending {
            congestion: options.congestion,
            ..Sending::default()
        },
        ..Options::new(Vec::new())
    });
    asked.set("stacks", Tree::List(vec![Tree::text(options.name())]));
    asked.set(
        "program",
        // Results are passed on, and programs take passwords as arguments.
        Tree::text(wirecost_stack::secret::without_passwords(&options.command)),
    );
    asked
}

fn show(arguments: &RunArguments, summary: &Summary, folder: &RunFolder) -> Result<(), Failure> {
    let layout = output::table_options(arguments.output.no_color);
    output::table_or_json(
        arguments.output.json.as_deref(),
        || serde_json::to_string_pretty(summary),
        || terminal::table_of(summary, &layout, arguments.output.table.contents()),
    )?;
    if !arguments.output.quiet {
        output::note(format_args!("report:  {}", folder.file("report.html").display()));
    }
    Ok(())
}
