//! `--resume`: continues an earlier run.

use std::path::{Path, PathBuf};

use wirecost_results::RunFolder;
use wirecost_results::journal::{self, Entry};
use wirecost_results::resume::{Earlier, ResumeError};
use wirecost_scenario::Scenario;
use wirecost_stack::secret::without_secrets;

use crate::arguments::OutputArguments;
use crate::commands::command_line;
use crate::exit::Failure;

/// The results folder of `--resume` or `--out`.
pub fn folder(arguments: &OutputArguments) -> Result<Option<PathBuf>, Failure> {
    match (&arguments.resume, &arguments.out) {
        (Some(Some(resume)), Some(out)) if resume != out => Err(Failure::usage(format!(
            "--resume {} goes on in that folder, --out {} is another one: give one of them",
            resume.display(),
            out.display()
        ))),
        (Some(None), None) => Err(
            Failure::usage("--resume needs the folder of the run to go on with")
                .with_hint("--resume DIR, or --resume --out DIR"),
        ),
        (Some(Some(folder)), _) | (_, Some(folder)) => Ok(Some(folder.clone())),
        (None, None) => Ok(None),
    }
}

/// Opens the folder of an earlier run of the same scenario. Returns its results.
pub(super) fn open(
    arguments: &OutputArguments,
    scenario: &Scenario,
    path: &Path,
) -> Result<(RunFolder, Earlier), Failure> {
    let folder = RunFolder::open(path);
    let earlier = Earlier::open(&folder, scenario, arguments.resume_changed).map_err(|error| {
        let hint = match &error {
            ResumeError::Nothing(_) => "leave out --resume to begin a run".into(),
            ResumeError::Changed { .. } => format!(
                "repeat {}, or add --resume-changed to run the cells that it does not have",
                earlier_command(&folder)
            ),
        };
        Failure::usage(error).with_hint(hint)
    })?;
    Ok((folder, earlier))
}

/// The command of the last run in a folder.
fn earlier_command(folder: &RunFolder) -> String {
    let entries = journal::read(folder).unwrap_or_default();
    let last = entries.into_iter().rev().find_map(|entry| match entry {
        Entry::Started { command, .. } | Entry::Resumed { command, .. } => Some(command),
        _ => None,
    });
    last.map_or("the command of that run".into(), |command| format!("`{command}`"))
}

/// Whether a folder has results from which a run can continue.
pub(super) fn is_possible(folder: &RunFolder) -> bool {
    let entries = journal::read(folder).unwrap_or_default();
    entries.iter().any(Entry::is_finished)
}

/// The command that continues this run in its folder. You must fill in secrets again.
pub fn command(folder: &Path) -> String {
    let mut arguments = Vec::new();
    let mut given = std::env::args().skip(1).peekable();
    while let Some(argument) = given.next() {
        match argument.as_str() {
            // Their value may be the next argument. It is the folder, which follows below.
            "-o" | "--out" => drop(given.next()),
            "--resume" => drop(given.next_if(|value| !value.starts_with('-') && Path::new(value) == folder)),
            other if other.starts_with("--out=") || other.starts_with("--resume=") => {}
            _ => arguments.push(argument),
        }
    }
    arguments.extend(["--resume".into(), folder.display().to_string()]);
    command_line::quoted(without_secrets(arguments.into_iter()).into_iter())
}
