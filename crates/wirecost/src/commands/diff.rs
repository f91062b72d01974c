//! `wirecost diff`: what changed between two results folders.

use std::process::ExitCode;

use wirecost_studies::Evidence;
use wirecost_studies::diff::{self, Comparison, RUNS};

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
    // "No change" between two runs that share nothing would pass every gate.
    if !diff::has_common(&evidence) {
        return Err(Failure::usage("the two runs have no cell in common")
            .with_hint("give two folders of one scenario, or of scenarios that share cells"));
    }
    let compared = diff::compare(&evidence, &arguments.gate.clone().unwrap_or_default());
    output::table_or_json(
        arguments.json.as_deref(),
        || serde_json::to_string_pretty(&compared),
        || diff::text(&compared.changes),
    )?;
    note(&compared);
    let code = match &arguments.gate {
        Some(_) => refusal(&compared),
        None => exit::OK,
    };
    Ok(ExitCode::from(code))
}

/// The exit code of a gate.
fn refusal(compared: &Comparison) -> u8 {
    match (compared.changes.is_empty(), compared.invalid.is_empty()) {
        (false, _) => exit::CHANGED,
        (true, false) => exit::INVALID,
        (true, true) => exit::OK,
    }
}

/// Says what was not judged, and how it would be.
fn note(compared: &Comparison) {
    for invalid in &compared.invalid {
        let (of, run, why) = (&invalid.of, invalid.run, &invalid.why);
        output::note(format_args!(
            "warning: {of}: not judged, INVALID in the {run} run: {why}"
        ));
    }
    if !compared.unjudged.is_empty() {
        output::note(format_args!(
            "note: not judged where one run gives no interval: {}",
            compared.unjudged.join(", ")
        ));
        output::note(
            "hint: more samples, or repeat: 5 of a load, give one; --gate times=20% judges times by value",
        );
    }
}
