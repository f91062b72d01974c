//! The results folder of a command.

use std::path::{Path, PathBuf};

use wirecost_files::output::new_folder;
use wirecost_results::time::rfc3339;

use crate::exit::Failure;

/// The folder of `--out`; without it a new one, which no other run has: `runs/` and the time, so that runs sort by age.
pub fn of_run(asked: Option<&Path>) -> Result<PathBuf, Failure> {
    chosen(asked, "")
}

/// The same with the name of the command before the time.
pub fn of_command(asked: Option<&Path>, command: &str) -> Result<PathBuf, Failure> {
    chosen(asked, &format!("{command}-"))
}

fn chosen(asked: Option<&Path>, prefix: &str) -> Result<PathBuf, Failure> {
    if let Some(asked) = asked {
        return Ok(asked.to_owned());
    }
    let time = rfc3339(std::time::SystemTime::now()).replace([':', 'Z'], "");
    let path = Path::new("runs").join(format!("{prefix}{time}"));
    new_folder(&path).map_err(|error| {
        Failure::usage(format!("cannot create {}: {error}", path.display()))
            .with_hint("choose a folder that you may write to with --out")
    })
}
