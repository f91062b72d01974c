//! `wirecost compare`: stacks side by side on one link.

mod asked;
pub mod resume;
mod vary;

use std::path::Path;
use std::process::ExitCode;

use wirecost_files::output::write_named;
use wirecost_lab::compare::sweep::{Outcome, Sweep};
use wirecost_live::provenance::Before;
use wirecost_live::signals::Interrupt;
use wirecost_proto::units::counted;
use wirecost_report::terminal;
use wirecost_results::folder::FOLDERS;
use wirecost_results::warning::Warning;
use wirecost_results::{Cell, Ladder, OpenRun, RunFolder, RunStart, Summary};
use wirecost_scenario::Scenario;
use wirecost_scenario::options::compare::{Options, ServerPath};
use wirecost_scenario::options::content::Contents;
use wirecost_scenario::thresholds::Thresholds;

use crate::arguments::{CompareArguments, OutputArguments};
use crate::commands::{command_line, folder, thresholds};
use crate::exit::{self, Failure};
use crate::output;
use crate::progress::Screen;

/// Runs the command.
pub fn run(mut arguments: CompareArguments) -> Result<ExitCode, Failure> {
    let interrupt = Interrupt::install()?;
    vary::apply(&mut arguments)?;
    let options = asked::options(&arguments)?;
    if arguments.sequence && !options.has_cell() {
        return Err(
            Failure::usage("--sequence shows the air of a modelled NB-IoT cell, and no link is one")
                .with_hint("add --link nbiot"),
        );
    }
    let mut scenario = Scenario::comparison(options.clone());
    scenario.thresholds = Thresholds::of_flags(&arguments.threshold, &scenario.work)?;
    let job = Job {
        scenario: &scenario,
        options: &options,
        output: &arguments.output,
        shows_sequence: arguments.sequence,
    };
    job.run(interrupt).map(ExitCode::from)
}

/// A comparison and its output, from the command line or from a file.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The comparison with its name and thresholds, for the results folder.
    pub scenario: &'a Scenario,
    /// The comparison, or a shard of it.
    pub options: &'a Options,
    /// The output options.
    pub output: &'a OutputArguments,
    /// Whether to print what was on the air of modelled cells.
    pub shows_sequence: bool,
}

impl Job<'_> {
    /// Runs the comparison, writes its results folder, and prints its table. Returns the exit code.
    pub fn run(self, interrupt: Interrupt) -> Result<u8, Failure> {
        let Job { options, output, .. } = self;
        output.table.check(options)?;
        output::check_files(&[("--json", output.json.as_deref())])?;
        consent(options)?;
        let out = folder::of_run(resume::folder(output)?.as_deref())?;
        if !output.quiet {
            introduce(options, &out);
        }
        let run = self.open(&out)?;
        let folder = &run.folder;
        let before = Before::look();
        let mut screen = Screen::new(options, output.quiet, interrupt);
        let sweep = Sweep {
            options,
            folder,
            earlier: run.earlier.clone(),
            jobs: jobs(output),
            thresholds: &self.scenario.thresholds,
        };
        let measured = sweep.run(&mut screen);
        screen.clear();
        let measured = measured.inspect_err(|_| leave(folder))?;
        let outcome = screen.working("writing the results", || {
            measured.write(&before, command_line::recorded())
        })?;
        let code = conclude(output, outcome, folder, &screen)?;
        if self.shows_sequence {
            print_sequences(folder)?;
        }
        Ok(code)
    }

    /// The results folder, new or resumed.
    fn open(&self, out: &Path) -> Result<OpenRun, Failure> {
        let start = RunStart {
            folders: &FOLDERS,
            command: command_line::recorded(),
            scenario: self.scenario.to_yaml(),
            at: std::time::SystemTime::now(),
        };
        if self.output.resume.is_none() {
            return Ok(OpenRun::create(out, start)?);
        }
        OpenRun::resume(out, start, self.output.resume_changed)
            .map_err(|error| resume::refused(error, "cells"))
    }
}

/// Prevents a burst of messages to a foreign server by mistake.
fn consent(options: &Options) -> Result<(), Failure> {
    match options.needs_consent() {
        Some(why) => Err(Failure::usage(why).with_hint(
            "add --i-own-this-target if you may load it, or take fewer samples (-n) or a longer --settle or --interval",
        )),
        None => Ok(()),
    }
}

/// The number of cells to simulate at the same time.
fn jobs(arguments: &OutputArguments) -> usize {
    let cpus = || std::thread::available_parallelism().map_or(1, usize::from);
    arguments.jobs.unwrap_or_else(cpus)
}

/// Writes the report, prints the results, and decides the exit code.
fn conclude(
    arguments: &OutputArguments,
    Outcome {
        summary,
        interrupted,
        failure,
        not_live: refusal,
        error,
    }: Outcome,
    folder: &RunFolder,
    screen: &Screen,
) -> Result<u8, Failure> {
    let reported = screen.working("writing the report", || wirecost_report::write_all(folder));
    // Without room for the report, the figures are still printed.
    print_results(arguments, &summary, folder)?;
    reported.map_err(|error| Failure::new(exit::INTERNAL, error))?;
    if let Some(refusal) = refusal {
        not_live(refusal.into());
    }
    let kept = folder.path().display();
    if let Some(error) = error {
        output::note(format_args!("what was measured before is in {kept}"));
        return Err(error.into());
    }
    if let Some(failure) = failure {
        output::note(format_args!("error: {failure}"));
        output::note(format_args!("hint: what was measured before is in {kept}"));
        output::note(format_args!("resume:  {}", resume::command(folder.path())));
        return Ok(exit::CELLS_FAILED);
    }
    if interrupted {
        output::note(format_args!("interrupted: what was measured is in {kept}"));
        output::note(format_args!("resume:  {}", resume::command(folder.path())));
        return Ok(exit::INTERRUPTED);
    }
    Ok(verdict(&summary))
}

/// Prints why nothing ran live, and the remedy. The simulation is complete.
fn not_live(refusal: Failure) {
    let way_out = refusal.hint().map(|hint| format!(" For live runs: {hint}"));
    output::note(format_args!(
        "simulated only: {refusal}.{}",
        way_out.unwrap_or_default()
    ));
}

/// 14 if figures of a cell are invalid, 13 if nothing of a cell arrived or no cell could be run, 99 if a threshold
/// fails, or else 0. Codes 10 to 12 belong to machines and targets that end a run: each cell has its own reason.
pub fn verdict(summary: &Summary) -> u8 {
    if ran(summary).next().is_none() {
        output::note("error: none of the cells could be run; the table says why");
        return exit::CELLS_FAILED;
    }
    let is_spoiled = |cell: &Cell| cell.warnings.iter().any(Warning::spoils_figures);
    if ran(summary).any(is_spoiled) {
        return exit::INVALID;
    }
    let has_failed = |cell: &Cell| cell.outcomes.acknowledged + cell.outcomes.delivered == 0;
    if ran(summary).any(has_failed) {
        return exit::CELLS_FAILED;
    }
    thresholds::exit_code(&summary.thresholds)
}

/// The cells that could be run.
fn ran(summary: &Summary) -> impl Iterator<Item = &Cell> {
    summary.cells.iter().filter(|cell| cell.not_run.is_none())
}

fn print_results(arguments: &OutputArguments, summary: &Summary, folder: &RunFolder) -> Result<(), Failure> {
    let internal = |error: &dyn std::fmt::Display| Failure::new(exit::INTERNAL, error);
    let json = || serde_json::to_string_pretty(summary).map_err(|error| internal(&error));
    let layout = output::table_options(arguments.no_color);
    let table = || terminal::table_of(summary, &layout, arguments.table.contents());
    match arguments.json.as_deref() {
        Some(path) if output::is_stdout(path) => output::data(format_args!("{}\n", json()?)),
        Some(path) => {
            output::text(table());
            write_named(path, json()? + "\n").map_err(|error| output::unwritable("--json", path, &error))?;
        }
        None => output::text(table()),
    }
    if !arguments.quiet {
        output::note(format_args!("report:  {}", folder.file("report.html").display()));
        let captures = ["capture/all.pcapng", "capture/sim.pcapng"].map(|name| folder.file(name));
        for capture in captures.iter().filter(|path| path.exists()) {
            output::note(format_args!("capture: {}", capture.display()));
        }
    }
    Ok(())
}

/// Prints what was on the air for the drawn device of each cell.
fn print_sequences(folder: &RunFolder) -> Result<(), Failure> {
    let ladders: Vec<Ladder> = folder.read_json("ladder.json")?;
    for ladder in ladders.iter().filter(|ladder| !ladder.air.is_empty()) {
        let title = format!("{}, {} B, {}", ladder.stack, ladder.payload_bytes, ladder.link);
        output::text(wirecost_report::sequence::table(&title, &ladder.air));
    }
    Ok(())
}

/// The first line: what runs, and the results folder.
fn introduce(options: &Options, out: &Path) {
    let stacks: Vec<String> = options.stacks.iter().map(ToString::to_string).collect();
    let (contents, links) = (options.contents.count() as u64, options.links.len());
    let contents = match &options.contents {
        Contents::Sizes(_) => counted(contents, "size"),
        Contents::Readings(_) => counted(contents, "payload"),
    };
    output::note(format_args!(
        "wirecost {}: {}, {}, {}, {} each, seed {}, into {}",
        env!("CARGO_PKG_VERSION"),
        stacks.join(" "),
        contents,
        match options.path() {
            Some(ServerPath::Real) => format!("the real path to {}", options.target_name()),
            Some(ServerPath::Relay) => format!(
                "{} with a relay to {}",
                counted(links as u64, "link"),
                options.target_name()
            ),
            None => counted(links as u64, "link"),
        },
        counted(options.samples.into(), "sample"),
        options.seed,
        out.display()
    ));
}

/// Prints how to continue a failed run, or removes an empty folder.
fn leave(folder: &RunFolder) {
    folder.remove_if_nothing_measured();
    if folder.can_be_resumed() {
        output::note(format_args!("resume:  {}", resume::command(folder.path())));
    }
}
