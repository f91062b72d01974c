//! `wirecost run`: scenario files.

use std::path::Path;
use std::process::ExitCode;

use wirecost_files::Input;
use wirecost_live::signals::Interrupt;
use wirecost_scenario::identity;
use wirecost_scenario::load::ScenarioInputs;
use wirecost_scenario::options::compare::Options;
use wirecost_scenario::options::load::LoadOptions;
use wirecost_scenario::options::nbiot::NbiotOptions;
use wirecost_scenario::{Edits, Scenario, Work};

use super::compare::CompareJob;
use super::job::{Job, JobFolder, without_work};
use super::load::options::consent;
use super::{load, nbiot, program};
use crate::arguments::{LoadOutputArguments, RunArguments};
use crate::exit::{self, Failure};
use crate::output;

/// Runs the command. Reads every file before the first run.
pub fn run(arguments: &RunArguments) -> Result<ExitCode, Failure> {
    let scenarios = arguments.files.iter().map(|path| read(path, arguments));
    // A mistake in the last file is told before the first one runs for an hour.
    let scenarios = scenarios.collect::<Result<Vec<Scenario>, Failure>>()?;
    if arguments.print_resolved {
        let texts: Vec<String> = scenarios.iter().map(Scenario::to_yaml).collect();
        output::data(texts.join("---\n"));
        return Ok(ExitCode::SUCCESS);
    }
    if let ([_, _, ..], Some(flag)) = (scenarios.as_slice(), of_one_run(arguments)) {
        return Err(Failure::usage(format!(
            "{flag} belongs to one run, and there are {} files",
            scenarios.len()
        ))
        .with_hint("run them one by one"));
    }
    match scenarios.as_slice() {
        [scenario] if matches!(scenario.work, Work::Comparison(_)) => {
            refuse_flags_of_loads(arguments, "a comparison")?;
        }
        [scenario] if matches!(scenario.work, Work::Nbiot(_)) => {
            refuse_flags_of_loads(arguments, "of reports in NB-IoT cells")?;
        }
        [scenario] if matches!(scenario.work, Work::Program(_)) => {
            refuse_flags_of_loads(arguments, "of a program")?;
            // The program takes the signals itself, and needs a process with one thread.
            return program::run(scenario, arguments);
        }
        _ => {}
    }
    if let Some(scenario) = scenarios
        .iter()
        .find(|scenario| matches!(scenario.work, Work::Program(_)))
    {
        let name = scenario.name.as_deref().unwrap_or("a scenario of a program");
        return Err(Failure::usage(format!(
            "{name}: a program runs alone, and there are {} files",
            scenarios.len()
        ))
        .with_hint("run them one by one"));
    }
    let interrupt = Interrupt::install()?;
    let mut worst = exit::OK;
    for scenario in &scenarios {
        let code = match run_one(scenario, arguments, interrupt) {
            Ok(code) => code,
            // One failed scenario must not keep the others from running.
            Err(failure) if scenarios.len() > 1 => failure.print(),
            Err(failure) => return Err(failure),
        };
        worst = worse(worst, code);
        // Ctrl-C means all of them.
        if code == exit::INTERRUPTED {
            break;
        }
    }
    Ok(ExitCode::from(worst))
}

/// An option that names an output of a single run.
fn of_one_run(arguments: &RunArguments) -> Option<&'static str> {
    let output = &arguments.output;
    match (&output.out, &output.resume, &output.json, &arguments.junit) {
        (Some(_), _, _, _) => Some("--out"),
        (_, Some(_), _, _) => Some("--resume"),
        (_, _, Some(_), _) => Some("--json"),
        (_, _, _, Some(_)) => Some("--junit"),
        _ => arguments.agents.agents.as_ref().map(|_| "--agents"),
    }
}

/// Reads a file and applies the command line's changes.
fn read(path: &Path, arguments: &RunArguments) -> Result<Scenario, Failure> {
    let name = path.display().to_string();
    let text = text_of(path)?;
    let mut set = arguments.set.clone();
    // Last: an option of its own stands above a --set of the same key.
    set.extend(arguments.engine.map(|engine| format!("engine={engine}")));
    let edits = Edits {
        set: &set,
        vary: &arguments.vary,
    };
    let inputs = ScenarioInputs {
        folder: Some(path.parent().unwrap_or(Path::new(""))),
        variable: &|name| std::env::var(name).ok(),
    };
    Scenario::read(&text, edits, inputs).map_err(|error| error.in_file(&name).into())
}

fn text_of(path: &Path) -> Result<String, Failure> {
    let name = path.display();
    // By its name: as YAML, most TOML is an error in a place that says nothing.
    if path.extension().is_some_and(|extension| extension == "toml") {
        return Err(Failure::usage(format!(
            "{name}: scenarios are written in YAML or JSON, not in TOML"
        ))
        .with_hint("wirecost new writes one to begin with"));
    }
    let text = match output::is_stdout(path) {
        true => Input::Scenario.text_of(std::io::stdin()),
        false => Input::Scenario.text(path),
    };
    text.map_err(|fault| {
        let failure = Failure::usage(format!("cannot read {name}: {fault}"));
        match fault.is_absent() {
            true => failure.with_hint(instead_of(path)),
            false => failure,
        }
    })
}

/// What to do about a scenario that is not there.
fn instead_of(path: &Path) -> String {
    let others = ["yaml", "yml", "json"].map(|extension| path.with_extension(extension));
    match others.iter().find(|other| other.is_file()) {
        Some(other) => format!("did you mean {}?", other.display()),
        None => "wirecost new writes a scenario to begin with; examples/ has more".to_owned(),
    }
}

/// Runs one scenario. Returns its exit code.
fn run_one(scenario: &Scenario, arguments: &RunArguments, interrupt: Interrupt) -> Result<u8, Failure> {
    if let Some(name) = scenario.name.as_ref().filter(|_| !arguments.output.quiet) {
        output::note(name);
    }
    say_where_nothing_aborts(scenario);
    let job = Job {
        scenario,
        place: JobFolder::of_output(&arguments.output)?,
        quiet: arguments.output.quiet,
        interrupt,
    };
    match &scenario.work {
        Work::Comparison(options) => {
            let mut options = Options {
                shard: arguments.shard,
                ..(**options).clone()
            };
            // The consent comes from the command line alone: in a file it would be passed on to people who have not given it.
            if let Some(running) = &mut options.running {
                running.is_permitted = arguments.i_own_this_target;
            }
            if options.cells() == 0 {
                return arguments
                    .shard
                    .map(|shard| without_work(shard, "cells"))
                    .ok_or_else(|| Failure::usage("there are no cells to run"));
            }
            let comparison = CompareJob {
                job,
                options: &options,
                output: &arguments.output,
                shows_sequence: false,
            };
            comparison.run()
        }
        Work::Nbiot(options) => run_in_cells(job, options, arguments),
        Work::Program(_) => Err(Failure::internal("a program runs alone")),
        Work::Loads(loads) => {
            refuse_flags_of_comparisons(arguments, "has phases of a load")?;
            let permitted = |load: &LoadOptions| LoadOptions {
                is_permitted: arguments.i_own_this_target,
                ..load.clone()
            };
            let loads: Vec<LoadOptions> = loads.iter().map(permitted).collect();
            // Of all before the first: a load that is refused in the end would have cost the time of the others.
            loads.iter().try_for_each(consent)?;
            if let Some(shard) = arguments.shard
                && !identity::runs(&loads).iter().any(|run| shard.holds(&run.key))
            {
                return Ok(without_work(shard, "loads"));
            }
            let loads = load::loads::LoadJob {
                job,
                name: scenario.name.clone().unwrap_or_else(|| "run".into()),
                loads: &loads,
                shard: arguments.shard,
                output: &load_output(arguments),
                agents: &arguments.agents,
            };
            loads.run()
        }
    }
}

/// Runs reports in NB-IoT cells.
fn run_in_cells(job: Job<'_>, options: &NbiotOptions, arguments: &RunArguments) -> Result<u8, Failure> {
    refuse_flags_of_comparisons(arguments, "is of reports in NB-IoT cells")?;
    let options = NbiotOptions {
        shard: arguments.shard,
        ..options.clone()
    };
    let reports = nbiot::reports::ReportJob {
        job,
        options: &options,
        output: nbiot::reports::ReportOutput {
            json: arguments.output.json.clone(),
            jobs: arguments.output.jobs,
            has_sequence: false,
            has_capture: false,
        },
    };
    reports.run()
}

/// Refuses options of loads for other scenarios: the user would look for a file that is never written.
fn refuse_flags_of_loads(arguments: &RunArguments, kind: &str) -> Result<(), Failure> {
    let flag = match (&arguments.junit, &arguments.prometheus) {
        (Some(_), _) => "--junit",
        (_, Some(_)) => "--prometheus",
        _ if arguments.agents.agents.is_some() => "--agents",
        _ => return Ok(()),
    };
    let hint = match flag {
        "--agents" => {
            "leave it out; --shard runs a part of it on each machine, and wirecost merge combines them"
        }
        _ => "leave it out; --json writes figures and thresholds, and a threshold that fails is exit code 99",
    };
    Err(Failure::usage(format!(
        "{flag} applies to loads only, and this scenario is {kind}"
    ))
    .with_hint(hint))
}

/// Refuses options of the table of comparisons for other scenarios.
fn refuse_flags_of_comparisons(arguments: &RunArguments, kind: &str) -> Result<(), Failure> {
    let Some(flag) = arguments.output.table.given() else {
        return Ok(());
    };
    let why = format!("{flag} applies to comparisons only, and this scenario {kind}");
    Err(Failure::usage(why).with_hint("leave it out"))
}

/// Warns about thresholds whose `abort_on_fail` has no effect.
fn say_where_nothing_aborts(scenario: &Scenario) {
    let thresholds = &scenario.thresholds;
    match &scenario.work {
        Work::Comparison(_) | Work::Nbiot(_) if thresholds.want_abort() => output::note(
            "warning: abort_on_fail ends loads: cells of comparisons and points of NB-IoT cells are judged when all have run",
        ),
        Work::Comparison(_) | Work::Nbiot(_) | Work::Program(_) => {}
        Work::Loads(_) => thresholds.known_late().for_each(|metric| {
            output::note(format_args!(
                "warning: {metric} is known when a load is over: its abort_on_fail ends nothing"
            ));
        }),
    }
}

/// The output options of loads from those that also apply to comparisons.
fn load_output(arguments: &RunArguments) -> LoadOutputArguments {
    let output = &arguments.output;
    LoadOutputArguments {
        json: output.json.clone(),
        junit: arguments.junit.clone(),
        prometheus: arguments.prometheus,
        quiet: output.quiet,
        no_color: output.no_color,
        ..LoadOutputArguments::default()
    }
}

/// The more significant of two exit codes.
fn worse(one: u8, other: u8) -> u8 {
    // What says least about the figures is at the end: a failed threshold is judged on whole and valid ones.
    const ORDER: [u8; 10] = [
        exit::INTERRUPTED,
        exit::INTERNAL,
        exit::USAGE,
        exit::PRIVILEGE,
        exit::UNREACHABLE,
        exit::REFUSED,
        exit::INVALID,
        exit::CELLS_FAILED,
        exit::THRESHOLD,
        exit::OK,
    ];
    let rank = |code: u8| ORDER.iter().position(|known| *known == code).unwrap_or_default();
    if rank(other) < rank(one) { other } else { one }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_significant_exit_code_counts() {
        assert_eq!([99, 13, 14, 0].into_iter().fold(0, worse), 14);
        assert_eq!([99, 0, 13].into_iter().fold(0, worse), 13);
        assert_eq!([0, 99].into_iter().fold(0, worse), 99);
        assert_eq!([14, 11, 10, 12].into_iter().fold(0, worse), 10);
        assert_eq!([130, 2].into_iter().fold(0, worse), 130);
    }
}
