//! `--resume`: continues an earlier run.

use std::path::{Path, PathBuf};

use wirecost_results::resume::ResumeError;
use wirecost_stack::secret::without_secrets;

use crate::arguments::OutputArguments;
use crate::commands::command_line;
use crate::exit::Failure;

/// The results folder of `--resume` or `--out`.
pub fn folder(arguments: &OutputArguments) -> Result<Option<PathBuf>, Failure> {
    match (&arguments.resume, &arguments.out) {
        (Some(Some(resume)), Some(out)) if resume != out => Err(Failure::usage(format!(
            "--resume {} continues in that folder, and --out {} is another one: give one of them",
            resume.display(),
            out.display()
        ))),
        (Some(None), None) => Err(Failure::usage("--resume needs the folder of the run to resume")
            .with_hint("--resume DIR, or --resume --out DIR")),
        (Some(Some(folder)), _) | (_, Some(folder)) => Ok(Some(folder.clone())),
        (None, None) => Ok(None),
    }
}

/// The failure of a run that cannot resume an earlier one; `what` an earlier run has measured: cells or loads.
pub fn refused(error: ResumeError, what: &str) -> Failure {
    let hint = match &error {
        ResumeError::Nothing(_) => "leave out --resume to begin a run".to_owned(),
        ResumeError::Changed { command, .. } => {
            let command = command.as_ref().map(|command| format!("`{command}`"));
            let command = command.unwrap_or_else(|| "the command of that run".into());
            format!("repeat {command}, or add --resume-changed to run the {what} that it does not have")
        }
        ResumeError::Results(_) => String::new(),
    };
    match error {
        ResumeError::Results(error) => error.into(),
        error => Failure::usage(error).with_hint(hint),
    }
}

/// The command that continues this run in its folder. You must fill in secrets again.
pub fn command(folder: &Path) -> String {
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
