//! `wirecost budget`: whether the figures of scenarios, and of a capture, are within their limits, and what moved them.

mod against;
mod badge;
mod capture;
mod cause;
mod judged;
mod markdown;
mod rows;
mod text;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use wirecost_files::Input;
use wirecost_files::output::write_named;
use wirecost_live::signals::Interrupt;
use wirecost_results::thresholds::failure_text;
use wirecost_results::{RunFolder, Summary};
use wirecost_scenario::budget::{Budget, BudgetLimit, Budgeted, ScenarioIn};
use wirecost_scenario::load::ScenarioInputs;
use wirecost_scenario::options::compare::Options;
use wirecost_scenario::{Edits, Scenario, ScenarioError, Work};

use super::choose;
use super::folder::of_command;
use crate::arguments::BudgetArguments;
use crate::exit::{self, Failure};
use crate::output;
use against::BaseFolder;
use judged::{BudgetPart, JudgedBudget};

/// The file of the judged limits in the results folder.
const JUDGED: &str = "budget.json";

/// A scenario of the budget with what it runs.
struct Planned<'a> {
    budgeted: &'a Budgeted,
    scenario: Scenario,
    options: Options,
    limits: Vec<BudgetLimit>,
}

/// What a scenario of the budget measured.
pub(super) struct Run {
    /// Its figures.
    pub summary: Summary,
    /// Its folder.
    pub folder: RunFolder,
}

/// Runs the command. Reads every file before the first run.
pub fn run(arguments: &BudgetArguments) -> Result<ExitCode, Failure> {
    let files = [
        ("--json", &arguments.json),
        ("--markdown", &arguments.markdown),
        ("--junit", &arguments.junit),
        ("--badge", &arguments.badge),
    ];
    output::check_files(&files.map(|(flag, path)| (flag, path.as_deref())))?;
    for (flag, path) in &files[1..] {
        output::refuse_stdout(flag, path.as_deref(), "the table and --json are printed alone")?;
    }
    let file = arguments.file.display().to_string();
    let text = Input::Scenario.text(&arguments.file);
    let text = text.map_err(|error| {
        Failure::usage(format!("cannot read {file}: {error}"))
            .with_hint("give a budget: docs/budget.md and examples/budget have one to begin with")
    })?;
    let budget = Budget::read(&text).map_err(|error| error.in_file(&file))?;
    let of_capture = capture_of(&budget, arguments, &file)?;
    let plan = budget.scenarios.iter().map(|one| planned(one, &arguments.file));
    let plan = plan.collect::<Result<Vec<Planned<'_>>, Failure>>()?;
    let before = BaseFolder::open(arguments.against.as_deref(), &budget)?;
    let earlier = plan
        .iter()
        .map(|planned| before.of_scenario(planned.budgeted, &planned.options, &file));
    let earlier = earlier.collect::<Result<Vec<Option<Run>>, Failure>>()?;
    let out = of_command(arguments.out.as_deref(), "budget")?;
    if out.join(JUDGED).exists() {
        return Err(
            Failure::usage(format!("{} has the results of a budget", out.display()))
                .with_hint("choose a new folder with --out, or remove this one"),
        );
    }
    let mut parts = Vec::new();
    if let Some(captured) = &of_capture {
        parts.push(captured.judged(&before, &file)?);
    }
    let interrupt = Interrupt::install()?;
    for (planned, old) in plan.iter().zip(&earlier) {
        let Some(new) = simulated(planned, &out, arguments, interrupt)? else {
            output::note(format_args!(
                "interrupted: what was simulated is in {}",
                out.display()
            ));
            return Ok(ExitCode::from(exit::INTERRUPTED));
        };
        let framing = planned.options.framing;
        let rows = rows::of_scenario(
            &planned.limits,
            (&planned.budgeted.name, framing),
            (old.as_ref(), &new),
            &file,
        )?;
        parts.push(BudgetPart {
            name: planned.budgeted.name.clone(),
            changes: old
                .as_ref()
                .map_or_else(Vec::new, |old| cause::settings(&old.summary, &new.summary)),
            rows,
            failed: failed(&new.summary),
        });
    }
    // A capture is named after the scenarios.
    parts.rotate_left(usize::from(of_capture.is_some()));
    let judged = JudgedBudget {
        name: budget.name.clone().unwrap_or_else(|| "budget".to_owned()),
        has_before: arguments.against.is_some(),
        parts,
    };
    conclude(&judged, of_capture.as_ref(), &out, arguments)
}

/// Writes and prints the judged limits, and decides the exit code.
fn conclude(
    judged: &JudgedBudget,
    captured: Option<&capture::OwnTraffic>,
    out: &Path,
    arguments: &BudgetArguments,
) -> Result<ExitCode, Failure> {
    let unwritable =
        |error: std::io::Error| Failure::usage(format!("cannot create {}: {error}", out.display()));
    std::fs::create_dir_all(out).map_err(unwritable)?;
    let folder = RunFolder::open(out);
    let json = judged.json();
    folder.write_json(JUDGED, &json)?;
    if let Some(captured) = captured {
        folder.write_json(against::CAPTURE, captured.kept())?;
    }
    output::table_or_json(
        arguments.json.as_deref(),
        || serde_json::to_string_pretty(&json),
        || text::table(judged),
    )?;
    for (flag, path, content) in [
        (
            "--markdown",
            &arguments.markdown,
            markdown::comment as fn(&JudgedBudget) -> String,
        ),
        ("--junit", &arguments.junit, judged::junit),
        ("--badge", &arguments.badge, badge::svg),
    ] {
        if let Some(path) = path {
            let written = write_named(path, content(judged));
            written.map_err(|error| output::unwritable(flag, path, &error))?;
        }
    }
    if !arguments.quiet {
        output::note(format_args!("evidence: {}", out.display()));
    }
    if let Some(fault) = captured.and_then(capture::OwnTraffic::fault) {
        output::note(format_args!("error: {fault}"));
        return Ok(ExitCode::from(exit::INVALID));
    }
    Ok(ExitCode::from(match judged.holds() {
        true => exit::OK,
        false => exit::THRESHOLD,
    }))
}

/// The thresholds of the scenario itself that failed.
fn failed(summary: &Summary) -> Vec<String> {
    let failed = summary.thresholds.iter().filter(|threshold| !threshold.pass);
    failed.map(failure_text).collect()
}

/// The capture that the budget limits.
fn capture_of(
    budget: &Budget,
    arguments: &BudgetArguments,
    file: &str,
) -> Result<Option<capture::OwnTraffic>, Failure> {
    match (&budget.capture, &arguments.capture) {
        (Some(limited), Some(path)) => {
            capture::OwnTraffic::read(limited, path, arguments.keylog.as_deref(), file).map(Some)
        }
        (None, Some(_)) => Err(
            Failure::usage(format!("--capture: {file} has no limits of a capture"))
                .with_hint("give it capture: {limits: {all_in: \"<= 170 B\"}}"),
        ),
        (Some(limited), None) if budget.scenarios.is_empty() => {
            let error = ScenarioError::new(&limited.place, "the budget limits a capture, and none is given");
            Err(Failure::from(
                error.in_file(file).with_hint("give one with --capture"),
            ))
        }
        (Some(_), None) => {
            output::note("note: the limits of a capture are not judged: no --capture is given");
            Ok(None)
        }
        (None, None) => Ok(None),
    }
}

/// Reads what a scenario runs, and its limits.
fn planned<'a>(budgeted: &'a Budgeted, budget: &Path) -> Result<Planned<'a>, Failure> {
    let file = budget.display().to_string();
    let folder = budget.parent().unwrap_or(Path::new(""));
    let engine = ["engine=sim".to_owned()];
    let edits = Edits {
        set: &engine,
        vary: &[],
    };
    let inputs = |folder| ScenarioInputs {
        folder: Some(folder),
        variable: &|name| std::env::var(name).ok(),
    };
    let at =
        |why: String| ScenarioError::new(&budgeted.place, format!("{}: {why}", budgeted.name)).in_file(&file);
    let scenario = match &budgeted.source {
        ScenarioIn::Inline(node) => {
            let read = Scenario::of_node(node.clone(), edits, inputs(folder));
            read.map_err(|error| error.in_file(&file))?
        }
        ScenarioIn::File(name) => {
            let path = folder.join(name);
            let text = Input::Scenario.text(&path);
            let text = text.map_err(|error| {
                at(format!("cannot read {}: {error}", path.display())).with_hint("file is beside the budget")
            })?;
            let beside: PathBuf = path.parent().unwrap_or(Path::new("")).to_owned();
            let read = Scenario::read(&text, edits, inputs(&beside));
            read.map_err(|error| error.in_file(&path.display().to_string()))?
        }
    };
    let Work::Comparison(options) = &scenario.work else {
        return Err(
            at("a budget is about comparisons, and this scenario is none".to_owned())
                .with_hint("thresholds in the scenario itself judge loads and NB-IoT cells: wirecost run")
                .into(),
        );
    };
    let limits = budgeted
        .limits(&scenario.work)
        .map_err(|error| error.in_file(&file))?;
    Ok(Planned {
        budgeted,
        options: (**options).clone(),
        limits,
        scenario,
    })
}

/// Simulates a scenario into a folder of its own; `None` if interrupted.
fn simulated(
    planned: &Planned<'_>,
    out: &Path,
    arguments: &BudgetArguments,
    interrupt: Interrupt,
) -> Result<Option<Run>, Failure> {
    let folder = out.join(&planned.budgeted.name);
    let (summary, folder) = choose::play(
        arguments.quiet,
        arguments.jobs,
        (&planned.options, &planned.scenario),
        &folder,
        interrupt,
    )?;
    Ok((!summary.interrupted).then_some(Run { summary, folder }))
}
