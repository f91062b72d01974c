//! `wirecost claims`: judges a claims file on results folders.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory as _;
use wirecost_files::Input;
use wirecost_results::RunFolder;
use wirecost_results::catalogue::Metric;
use wirecost_studies::evidence::EvidenceError;
use wirecost_studies::{Claims, Evidence, Judged, text};

use crate::arguments::{Arguments, ClaimsArguments};
use crate::exit::{self, Failure};
use crate::output;

/// Runs the command.
pub fn run(arguments: &ClaimsArguments) -> Result<ExitCode, Failure> {
    let name = arguments.file.display().to_string();
    let file = Input::Claims.text(&arguments.file);
    let file = file.map_err(|error| {
        Failure::usage(format!("cannot read {name}: {error}"))
            .with_hint("give a file of claims; wirecost study NAME judges the claims of a publication")
    })?;
    let claims = Claims::read(&file).map_err(|error| Failure::from(error.in_file(&name)))?;
    let mut evidence = Evidence::default();
    for run in &arguments.runs {
        let (run, folder) = named(run, &claims)?;
        add(&mut evidence, run, Path::new(folder))?;
    }
    let judged = judge(&claims, &evidence, &name)?;
    print(&judged, arguments.json.as_deref())
}

/// The name and the folder of `NAME=DIR`, or of a folder whose last part is the name.
fn named<'a>(given: &'a str, claims: &Claims) -> Result<(&'a str, &'a str), Failure> {
    // From the right: the name of a run of a suspect has `=` in it.
    let (name, folder) = match given.rsplit_once('=') {
        Some(pair) => pair,
        None => {
            let last = Path::new(given).file_name().and_then(|name| name.to_str());
            (last.unwrap_or(given), given)
        }
    };
    let runs = claims.claims.iter().flat_map(|claim| claim.runs());
    if runs.map(|run| run.name).any(|known| known == name) {
        return Ok((name, folder));
    }
    let names: Vec<&str> = claims.runs.iter().map(|run| run.name.as_str()).collect();
    Err(
        Failure::usage(format!("{given}: the claims have no run {name:?}")).with_hint(format!(
            "write NAME={folder}, NAME being one of {}",
            names.join(", ")
        )),
    )
}

/// Adds a results folder to the evidence.
pub fn add(evidence: &mut Evidence, run: &str, folder: &Path) -> Result<(), Failure> {
    let added = evidence.add(run, &RunFolder::open(folder));
    added.map_err(|error| match error {
        EvidenceError::Results(error) => error.into(),
        error @ EvidenceError::Unlabelled { .. } => {
            let scenario = folder.join("scenario.resolved.yaml");
            Failure::usage(error).with_hint(format!(
                "run its scenario again: wirecost run {} --out NEW",
                scenario.display()
            ))
        }
    })
}

/// Judges claims of a file with what this program and machine have.
pub fn judge(claims: &Claims, evidence: &Evidence, file: &str) -> Result<Vec<Judged>, Failure> {
    let needs = claims.claims.iter().flat_map(|claim| &claim.needs);
    let absent: BTreeMap<String, String> = needs
        .filter_map(|need| Some((need.clone(), lacking(need)?)))
        .collect();
    let judged = claims.judge(evidence, &absent);
    judged.map_err(|error| Failure::from(error.in_file(file)))
}

/// Why something that a claim needs is not there. Servers are looked for by the runs themselves.
fn lacking(need: &str) -> Option<String> {
    match need.split_once(':') {
        Some(("command", name)) => {
            let program = Arguments::command();
            let is_there = program.find_subcommand(name).is_some();
            (!is_there).then(|| format!("wirecost {name} is not in this version"))
        }
        Some(("server", _)) => None,
        Some((kind @ ("option" | "target" | "scenario"), name)) => {
            Some(format!("this version has no {kind} {name}"))
        }
        Some(("figure", name)) if Metric::named(name).is_some() => None,
        Some(("figure", name)) => Some(format!("this version has no figure of {name}")),
        Some(("library", what)) => Some(format!("no library here has {what}")),
        Some(("hardware", what)) => Some(format!("this machine has no {what}")),
        _ => Some(format!("{need} is unknown here")),
    }
}

/// Prints judged claims. Fails if an expected verdict did not come out.
pub fn print(judged: &[Judged], json: Option<&Path>) -> Result<ExitCode, Failure> {
    let width = output::table_options(false).width;
    output::table_or_json(
        json,
        || serde_json::to_string_pretty(judged),
        || text::table(judged, width),
    )?;
    Ok(ExitCode::from(expected(judged)))
}

/// The exit code of judged claims: 99 if an expected verdict did not come out.
pub fn expected(judged: &[Judged]) -> u8 {
    let mut code = exit::OK;
    for claim in judged {
        let Some(expected) = claim.expect.filter(|expected| *expected != claim.verdict) else {
            continue;
        };
        output::note(format_args!(
            "error: {}: {} instead of {expected}",
            claim.id, claim.verdict
        ));
        code = exit::THRESHOLD;
    }
    code
}
