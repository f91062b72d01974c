//! `wirecost diff`: what changed between two results folders.

use std::process::ExitCode;

use wirecost_studies::Evidence;
use wirecost_studies::diff::{self, RUNS};

use super::claims;
use crate::arguments::DiffArguments;
use crate::exit::{self, Failure};
use crate::output;

/// Runs the command.
pub fn run(arguments: &DiffArguments) -> Result<ExitCode, Failure> {
    let mut evidence = Evidence::default();
    for (run, folder) in RUNS.iter().zip([&arguments.old, &arguments.new]) {
        claims::add(&mut evidence, run, folder)?;
    }
    let [old, new] = RUNS.map(|run| evidence.subjects(run));
    if !old.iter().any(|subject| new.contains(subject)) {
        return Err(Failure::usage("the two runs have no cell in common")
            .with_hint("give two folders of one scenario, or of scenarios that share cells"));
    }
    let changes = diff::changes(&evidence);
    output::table_or_json(
        arguments.json.as_deref(),
        || serde_json::to_string_pretty(&changes),
        || diff::text(&changes),
    )?;
    let is_refused = arguments.gate && !changes.is_empty();
    Ok(ExitCode::from(if is_refused { exit::CHANGED } else { exit::OK }))
}
