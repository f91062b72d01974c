//! `wirecost compare`: stacks side by side on one link.

mod asked;
mod vary;

use std::path::Path;
use std::process::ExitCode;

use wirecost_lab::compare::sweep::{Outcome, Sweep};
use wirecost_live::provenance::Before;
use wirecost_live::signals::Interrupt;
use wirecost_proto::units::counted;
use wirecost_report::terminal;
use wirecost_results::warning::Warning;
use wirecost_results::{Cell, Ladder, RunFolder, Summary};
use wirecost_scenario::Scenario;
use wirecost_scenario::options::compare::{Options, ServerPath};
use wirecost_scenario::options::content::Contents;
use wirecost_scenario::thresholds::Thresholds;

use crate::arguments::{CompareArguments, OutputArguments};
use crate::commands::job::{self, Job, JobFolder};
use crate::commands::{command_line, thresholds};
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
    let comparison = CompareJob {
        job: Job {
            scenario: &scenario,
            place: JobFolder::of_output(&arguments.output)?,
            quiet: arguments.output.quiet,
            interrupt,
        },
        options: &options,
        output: &arguments.output,
        shows_sequence: arguments.sequence,
    };
    comparison.run().map(ExitCode::from)
}

/// A comparison and its output, from the command line or from a file.
pub struct CompareJob<'a> {
    /// Its job.
    pub job: Job<'a>,
    /// The comparison, or a shard of it.
    pub options: &'a Options,
    /// The output options.
    pub output: &'a OutputArguments,
    /// Whether to print what was on the air of modelled cells.
    pub shows_sequence: bool,
}

impl CompareJob<'_> {
    /// Runs the comparison, writes its results folder, and prints its table. Returns the exit code.
    pub fn run(&self) -> Result<u8, Failure> {
        let Self {
            job, options, output, ..
        } = self;
        output.table.check(options)?;
        // A file that cannot be written is told before the run, not after minutes.
        output::check_files(&[("--json", output.json.as_deref())])?;
        consent(options)?;
        let out = job.place.folder()?;
        if !job.quiet {
            introduce(options, &out);
        }
        let run = job.open(&out)?;
        let folder = &run.folder;
        // Before the run loads the machine: load average and steal are compared with those at its end.
        let before = Before::look();
        let mut screen = Screen::new(options, job.quiet, job.interrupt);
        let sweep = Sweep {
            options,
            folder,
            earlier: run.earlier.clone(),
            jobs: job::at_once(output.jobs),
            thresholds: &job.scenario.thresholds,
        };
        let measured = sweep.run(&mut screen);
        screen.clear();
        let measured = measured.inspect_err(|_| leave(folder))?;
        let outcome = screen.working("writing the results", || {
            measured.write(&before, command_line::recorded())
        })?;
        let code = self.conclude(outcome, folder, &screen)?;
        if self.shows_sequence {
            print_sequences(folder)?;
        }
        Ok(code)
    }

    /// Writes the report, prints the results, and decides the exit code.
    fn conclude(
        &self,
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
        self.print(&summary, folder)?;
        reported.map_err(Failure::internal)?;
        // Behind the table, where it is seen: the simulated figures are an answer all the same.
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
            job::note_resume(folder);
            return Ok(exit::CELLS_FAILED);
        }
        if interrupted {
            return Ok(job::interrupted(folder));
        }
        Ok(verdict(&summary))
    }

    fn print(&self, summary: &Summary, folder: &RunFolder) -> Result<(), Failure> {
        let layout = output::table_options(self.output.no_color);
        output::table_or_json(
            self.output.json.as_deref(),
            || serde_json::to_string_pretty(summary),
            || terminal::table_of(summary, &layout, self.output.table.contents()),
        )?;
        let captures = ["capture/all.pcapng", "capture/sim.pcapng"].map(|name| folder.file(name));
        let captures = captures.into_iter().filter(|path| path.exists());
        self.job.note_files(&folder.file("report.html"), captures);
        Ok(())
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
    // Before what failed: an invalid figure says nothing, also not that something failed.
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
        job::note_resume(folder);
    }
}
