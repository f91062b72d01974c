//! What comparisons, loads and reports in NB-IoT cells have in common: a results folder that is new or continued, how much runs at once,
//! and the lines about the folder and an interruption.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use wirecost_live::signals::Interrupt;
use wirecost_results::folder::{FOLDERS, LOAD_FOLDERS};
use wirecost_results::resume::ResumeError;
use wirecost_results::shard::Shard;
use wirecost_results::{OpenRun, RunFolder, RunStart, nbiot};
use wirecost_scenario::{Scenario, Work};
use wirecost_stack::secret::without_secrets;

use super::{command_line, folder};
use crate::arguments::OutputArguments;
use crate::exit::{self, Failure};
use crate::output;
use crate::progress::Display;

/// A scenario, where its results go, and what may end it.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// The scenario with its name and thresholds.
    pub scenario: &'a Scenario,
    /// The folder of its results.
    pub place: JobFolder,
    /// Whether only errors and the table are printed.
    pub quiet: bool,
    /// Set by Ctrl-C.
    pub interrupt: Interrupt,
}

impl Job<'_> {
    /// The results folder at `out`, new or continued.
    pub fn open(&self, out: &Path) -> Result<OpenRun, Failure> {
        self.place.open(out, self.scenario)
    }

    /// Whether the user wants it to end.
    pub fn is_interrupted(&self) -> bool {
        self.interrupt.is_set()
    }

    /// The display of `of` things that are done one after the other.
    pub fn display(&self, of: usize) -> Display {
        Display::new(of as u64, self.quiet)
    }

    /// Says where the report and the captures are.
    pub fn note_files(&self, report: &Path, captures: impl Iterator<Item = PathBuf>) {
        if self.quiet {
            return;
        }
        output::note(format_args!("report:  {}", report.display()));
        for capture in captures {
            output::note(format_args!("capture: {}", capture.display()));
        }
    }
}

/// The exit code of an interrupted run, after the lines that say what is kept and how to continue.
pub fn interrupted(folder: &RunFolder) -> u8 {
    output::note(format_args!(
        "interrupted: what was measured is in {}",
        folder.path().display()
    ));
    note_resume(folder);
    exit::INTERRUPTED
}

/// Says how to continue a run in its folder.
pub fn note_resume(folder: &RunFolder) {
    output::note(format_args!("resume:  {}", command(folder.path())));
}

/// Says that a shard has nothing to run. That is no failure: with more shards than cells some are empty, and the others
/// are the whole.
pub fn without_work(shard: Shard, of: &str) -> u8 {
    output::note(format_args!(
        "shard {shard} has no {of}: nothing to run, and no folder"
    ));
    exit::OK
}

/// How much to simulate at the same time: as asked, or one on each CPU.
pub fn at_once(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Where the results of a job go.
#[derive(Clone, Debug, Default)]
pub struct JobFolder {
    /// The folder of `--resume` or `--out`; `None` for one with the time as its name.
    folder: Option<PathBuf>,
    /// Whether it continues an earlier run there.
    is_resumed: bool,
    /// Whether that run may have had other options.
    may_differ: bool,
}

impl JobFolder {
    /// The folder of a command whose `--resume` names a folder and excludes `--out`.
    pub fn new(resume: Option<&Path>, out: Option<&Path>, may_differ: bool) -> Self {
        Self {
            folder: resume.or(out).map(Path::to_owned),
            is_resumed: resume.is_some(),
            may_differ,
        }
    }

    /// The folder of a command whose `--resume` may leave the folder to `--out`.
    pub fn of_output(arguments: &OutputArguments) -> Result<Self, Failure> {
        let folder = match (&arguments.resume, &arguments.out) {
            // One of them would be ignored: either another run is continued than the one that is meant, or a folder stays empty.
            (Some(Some(resume)), Some(out)) if resume != out => {
                return Err(Failure::usage(format!(
                    "--resume {} continues in that folder, and --out {} is another one: give one of them",
                    resume.display(),
                    out.display()
                )));
            }
            (Some(None), None) => {
                return Err(Failure::usage("--resume needs the folder of the run to resume")
                    .with_hint("--resume DIR, or --resume --out DIR"));
            }
            (Some(Some(folder)), _) | (_, Some(folder)) => Some(folder.clone()),
            (None, None) => None,
        };
        Ok(Self {
            folder,
            is_resumed: arguments.resume.is_some(),
            may_differ: arguments.resume_changed,
        })
    }

    /// Whether it continues an earlier run.
    pub const fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// The folder; makes one with a name of its own if none was asked for.
    pub fn folder(&self) -> Result<PathBuf, Failure> {
        folder::of_run(self.folder.as_deref())
    }

    /// The results folder of a scenario at `out`, new or continued.
    pub fn open(&self, out: &Path, scenario: &Scenario) -> Result<OpenRun, Failure> {
        let (folders, pieces): (&'static [_], _) = match scenario.work {
            Work::Comparison(_) | Work::Program(_) => (&FOLDERS, "cells"),
            Work::Loads(_) => (&LOAD_FOLDERS, "loads"),
            Work::Nbiot(_) => (&nbiot::FOLDERS, "points"),
        };
        let start = RunStart {
            folders,
            command: command_line::recorded(),
            scenario: scenario.to_yaml(),
            at: SystemTime::now(),
        };
        match self.is_resumed {
            true => OpenRun::resume(out, start, self.may_differ).map_err(|error| refused(error, pieces)),
            false => Ok(OpenRun::create(out, start)?),
        }
    }
}

/// The failure of a run that cannot continue an earlier one, which has measured `pieces`.
fn refused(error: ResumeError, pieces: &str) -> Failure {
    let hint = match &error {
        ResumeError::Nothing(_) => "leave out --resume to begin a run".to_owned(),
        ResumeError::Changed { command, .. } => {
            let command = command.as_ref().map(|command| format!("`{command}`"));
            let command = command.unwrap_or_else(|| "the command of that run".into());
            format!("repeat {command}, or add --resume-changed to run the {pieces} that it does not have")
        }
        ResumeError::Results(_) => String::new(),
    };
    match error {
        ResumeError::Results(error) => error.into(),
        error => Failure::usage(error).with_hint(hint),
    }
}

/// The command that continues this run in its folder. You must fill in secrets again.
fn command(folder: &Path) -> String {
    let mut arguments = Vec::new();
    let mut given = command_line::words().peekable();
    let folder = command_line::word(folder.as_os_str());
    while let Some(argument) = given.next() {
        match argument.as_str() {
            // Their value may be the next argument. It is the folder, which follows below.
            "-o" | "--out" => drop(given.next()),
            "--resume" => drop(given.next_if(|value| !value.starts_with('-') && *value == folder)),
            other if other.starts_with("--out=") || other.starts_with("--resume=") => {}
            _ => arguments.push(argument),
        }
    }
    arguments.extend(["--resume".into(), folder]);
    command_line::quoted(without_secrets(arguments.into_iter()).into_iter())
}
