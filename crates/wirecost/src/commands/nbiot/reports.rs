//! Runs a scenario in the cells: its results folder, its figures, its thresholds, its exit code.

use std::path::PathBuf;

use wirecost_lab::nbiot::grids::Grids;
use wirecost_lab::nbiot::{FinishedRun, NbiotError};
use wirecost_live::provenance::Before;
use wirecost_live::room::Room;
use wirecost_results::folder::CELLS;
use wirecost_results::journal::{self, Entry};
use wirecost_results::nbiot::map::{self, DeviceMap};
use wirecost_results::nbiot::sensitivity::knees;
use wirecost_results::nbiot::{NbiotSummary, RunFigures};
use wirecost_results::time::rfc3339;
use wirecost_results::{OpenRun, ResultsError, RunFolder};
use wirecost_scenario::Scenario;
use wirecost_scenario::options::nbiot::NbiotOptions;

use super::recorded;
use crate::commands::job::{self, Job, without_work};
use crate::commands::{command_line, thresholds};
use crate::exit::Failure;
use crate::output;

/// How reports are played, and what is shown of them.
#[derive(Clone, Debug)]
pub struct ReportOutput {
    /// The file of `--json`.
    pub json: Option<PathBuf>,
    /// Runs to play at the same time; `None` for the number of CPUs.
    pub jobs: Option<usize>,
    /// Whether the sequences of recorded devices are printed.
    pub has_sequence: bool,
    /// Whether the packets of recorded devices are written.
    pub has_capture: bool,
}

/// Reports of devices in NB-IoT cells.
pub struct ReportJob<'a> {
    /// Their job.
    pub job: Job<'a>,
    /// What it runs, or a shard of it.
    pub options: &'a NbiotOptions,
    /// How they are played.
    pub output: ReportOutput,
}

impl ReportJob<'_> {
    /// Plays the runs, writes the results folder, and prints the table. Returns the exit code.
    pub fn run(&self) -> Result<u8, Failure> {
        let output = &self.output;
        output::check_files(&[("--json", output.json.as_deref())])?;
        let grids = Grids::new(self.options)?;
        check_can_run(&grids)?;
        let planned = grids.planned();
        if grids.is_empty() {
            return Err(
                Failure::usage("there are no points to run").with_hint("name a stack, a size and a load")
            );
        }
        if let Some(shard) = self.options.shard.filter(|_| planned.is_empty()) {
            return Ok(without_work(shard, "points"));
        }
        // Before the folder is made: a process that the kernel ends leaves one without a reason in it.
        self.check_memory(&grids, &planned)?;
        let run = self.job.open(&self.job.place.folder()?)?;
        let counted = Entry::Planned {
            cells: planned.len() as u64,
            of_all: grids.len() as u64,
        };
        // First, so that a folder whose run was cut off says how much of it is missing.
        journal::append(&run.folder, &counted)?;
        let before = Before::look();
        let played = self.play(&grids, &planned, &run);
        let finished = played.inspect_err(|_| run.folder.remove_if_nothing_measured())?;
        run.folder.write_environment(before.environment())?;
        let summary = judged(self.job.scenario, self.options, &grids, &finished);
        write(&run.folder, &summary, &grids.map(&finished))?;
        if output.has_sequence {
            recorded::print(&grids, &run.folder)?;
        }
        self.conclude(&summary, &run.folder)
    }

    /// Refuses runs whose devices cannot fit in the memory that is available.
    fn check_memory(&self, grids: &Grids, planned: &[usize]) -> Result<(), Failure> {
        let need = grids.memory(planned, self.jobs());
        // What is free now, and what a container may take: the kernel ends a process that wants more, without a word.
        let available = Room::read().bytes as f64;
        if need.fits(available) {
            return Ok(());
        }
        let gigabytes = |bytes: f64| format!("{:.1} GB", bytes / 1e9);
        let runs = match need.jobs {
            1 => "1 run".to_owned(),
            runs => format!("{runs} runs at the same time"),
        };
        let message = format!(
            "--load {}/s does not fit in memory: {runs} of up to {:.0} devices take {}, and {} are available",
            need.load,
            need.devices,
            gigabytes(need.bytes),
            gigabytes(available)
        );
        let hint = match need.jobs_that_fit(available) {
            0 => format!(
                "--load {}/s would fit, one run at a time, or fewer cells (--set scenario.n_sites=1)",
                need.load_that_fits(available)
            ),
            jobs => format!("{jobs} at the same time would fit (--engine-threads {jobs})"),
        };
        Err(Failure::usage(message).with_hint(hint))
    }

    fn jobs(&self) -> usize {
        job::at_once(self.output.jobs)
    }

    /// Plays the runs that are not finished, and writes the file of each and its line in the journal.
    fn play(&self, grids: &Grids, planned: &[usize], run: &OpenRun) -> Result<Vec<FinishedRun>, Failure> {
        let mut finished = Vec::new();
        let mut missing = Vec::new();
        for index in planned {
            match earlier(grids, *index, run) {
                Some(figures) => finished.push(FinishedRun {
                    index: *index,
                    figures,
                    recorded: None,
                }),
                None => missing.push(*index),
            }
        }
        let of = planned.len();
        let mut display = self.job.display(of);
        display.advance(finished.len() as u64, of as u64, "runs");
        let mut unwritten: Option<ResultsError> = None;
        let played = grids.play(
            &missing,
            self.jobs(),
            &mut |one| {
                let recorded = recorded::write(grids, &run.folder, &one, self.output.has_capture);
                match recorded.and_then(|()| keep(grids, &one, &run.folder)) {
                    Ok(kept) => finished.push(kept),
                    Err(error) => unwritten = Some(error),
                }
                display.advance(finished.len() as u64, of as u64, "runs");
            },
            &|| self.job.is_interrupted(),
        );
        display.clear();
        // Runs end in another order each time, and the files of the same seed have to be the same.
        finished.sort_by_key(|one| one.index);
        match (played, unwritten) {
            // Above an error of the runs: that a file cannot be written is why they were stopped or are lost.
            (_, Some(error)) => Err(error.into()),
            // An interrupt keeps what is finished, which --resume goes on from.
            (Ok(()) | Err(NbiotError::Stopped), None) => Ok(finished),
            (Err(error), None) => Err(error.into()),
        }
    }

    /// Writes the report, prints the table, and decides the exit code.
    fn conclude(&self, summary: &NbiotSummary, folder: &RunFolder) -> Result<u8, Failure> {
        let reported = wirecost_report::nbiot::write_all(folder);
        output::table_or_json(
            self.output.json.as_deref(),
            || serde_json::to_string_pretty(summary),
            || wirecost_report::nbiot::text(summary),
        )?;
        reported.map_err(Failure::internal)?;
        if let Some(main) = wirecost_report::nbiot::main_file(folder) {
            self.job.note_files(&main, std::iter::empty());
        }
        if summary.interrupted {
            return Ok(job::interrupted(folder));
        }
        Ok(thresholds::exit_code(&summary.thresholds))
    }
}

/// The summary with its thresholds judged, and its knees where they were asked for.
pub fn judged(
    scenario: &Scenario,
    options: &NbiotOptions,
    grids: &Grids,
    finished: &[FinishedRun],
) -> NbiotSummary {
    let mut summary = grids.summary(finished);
    summary.command = command_line::recorded();
    summary.name = scenario.name.clone();
    if options.sensitivity {
        summary.sensitivity = knees(&summary.points);
    }
    summary.thresholds = scenario.thresholds.of_points(&summary);
    summary
}

/// Writes the summary, the places of devices, and the end of the run into the journal.
pub fn write(folder: &RunFolder, summary: &NbiotSummary, map: &DeviceMap) -> Result<(), ResultsError> {
    folder.write_json("summary.json", summary)?;
    folder.write_json(map::FILE, map)?;
    let at = rfc3339(std::time::SystemTime::now());
    let interrupted = summary.interrupted;
    journal::append(folder, &Entry::Ended { at, interrupted })
}

/// The name of the file of a run.
pub fn file_name(grids: &Grids, index: usize) -> String {
    format!("{CELLS}/{}.json", grids.key(index))
}

/// The figures of a run that an earlier one has finished.
fn earlier(grids: &Grids, index: usize, run: &OpenRun) -> Option<RunFigures> {
    let is_finished = run.earlier.finished.contains(&grids.key(index));
    let read = || run.folder.read_json(&file_name(grids, index)).ok();
    is_finished.then(read).flatten()
}

/// Writes the file of a run, then its line in the journal. Returns the figures as the file has them, so that a summary is the same
/// whether its runs were played or read.
fn keep(grids: &Grids, run: &FinishedRun, folder: &RunFolder) -> Result<FinishedRun, ResultsError> {
    let name = file_name(grids, run.index);
    folder.write_json(&name, &run.figures)?;
    journal::append(folder, &entry(grids, run))?;
    let figures = folder.read_json(&name)?;
    Ok(FinishedRun {
        index: run.index,
        figures,
        recorded: None,
    })
}

/// The line of a run in the journal.
pub fn entry(grids: &Grids, run: &FinishedRun) -> Entry {
    let (stack, size_bytes) = grids.curve(run.index);
    Entry::Cell {
        cell: run.index as u64,
        key: grids.key(run.index),
        engine: "sim".into(),
        stack,
        payload_bytes: Some(size_bytes as u64),
        state: "finished".into(),
        offered: run.figures.reports,
    }
}

/// Refuses runs of which none can be made.
fn check_can_run(grids: &Grids) -> Result<(), Failure> {
    match grids.not_run().as_slice() {
        [first, ..] if grids.is_empty() => {
            let message = format!(
                "{} of {} B cannot run: {}",
                first.stack, first.size_bytes, first.reason
            );
            Err(Failure::usage(message).with_hint("take another stack or another --start"))
        }
        _ => Ok(()),
    }
}
