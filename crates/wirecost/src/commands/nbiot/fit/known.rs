//! Settings that were measured before: those of a fit that was stopped, or of its shards.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use wirecost_files::Input;
use wirecost_lab::nbiot::fit::{Fit, TriedSetting};
use wirecost_scenario::fit::{FreeParameter, FreeParameters, FreeValues};

use crate::exit::Failure;

/// Which files are taken.
pub(super) const HINT: &str = "--known takes what --json wrote of the same fit: the same points, statements, options and free parameters";

/// The command of a fit, without its files and its shard.
pub(super) fn asked(fit: &Fit<'_>) -> String {
    let mut line = "wirecost nbiot".to_owned();
    for point in fit.points {
        let _ = write!(line, " --fit '{}'", point.text);
    }
    for statement in fit.statements {
        let _ = write!(line, " --statement '{}'", statement.text);
    }
    let _ = write!(line, " --fits {}{}", fit.settings, super::options(fit.asked));
    for (path, value) in fit.asked.changed() {
        let _ = write!(line, " --set {path}={value}");
    }
    line
}

/// The free parameters, the solved one first.
pub(super) fn free(free: &FreeParameters) -> Vec<String> {
    let solved = free.solved.iter().map(|one| format!("solved {}", described(one)));
    solved.chain(free.free.iter().map(described)).collect()
}

fn described(parameter: &FreeParameter) -> String {
    let scale = match &parameter.values {
        FreeValues::Range { is_log: true, .. } => " log",
        FreeValues::Range { .. } | FreeValues::Listed(_) => "",
    };
    format!("{} {}{scale}", parameter.path, super::range(parameter))
}

/// The settings of files, each once.
pub(super) fn read(fit: &Fit<'_>, files: &[PathBuf]) -> Result<Vec<TriedSetting>, Failure> {
    let mut all: Vec<TriedSetting> = Vec::new();
    for file in files {
        for setting in of_file(fit, file)? {
            if !all.contains(&setting) {
                all.push(setting);
            }
        }
    }
    Ok(all)
}

fn of_file(fit: &Fit<'_>, file: &Path) -> Result<Vec<TriedSetting>, Failure> {
    let name = file.display();
    let text = Input::Results.text(file);
    let text = text.map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?;
    let wrong = |why: String| Failure::usage(format!("{name}: {why}")).with_hint(HINT);
    let table: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let theirs = (table["asked"].as_str(), &table["free"]);
    let ours = (asked(fit), Value::from(free(fit.free)));
    // Settings of another fit have other points: they would be judged by figures that they do not have.
    if theirs.0 != Some(ours.0.as_str()) {
        let theirs = theirs.0.unwrap_or("no fit");
        return Err(wrong(format!("it is of another fit: {theirs}")));
    }
    if *theirs.1 != ours.1 {
        return Err(wrong("it is of a fit with other free parameters".to_owned()));
    }
    let settings = table["settings"].as_array().cloned().unwrap_or_default();
    let each = settings.iter().map(|setting| fit.read_setting(setting));
    each.collect::<Result<_, String>>().map_err(wrong)
}
