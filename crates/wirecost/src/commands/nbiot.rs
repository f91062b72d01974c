//! `wirecost nbiot`: reports of devices in NB-IoT cells, in virtual time.

mod recorded;

use std::fs::File;
use std::process::ExitCode;
use std::time::Duration;

use wirecost_lab::nbiot::options::{OptionsError, set};
use wirecost_lab::nbiot::{DeviceError, FinishedRun, Grid, NbiotError, Options, checks, validation};
use wirecost_live::signals::Interrupt;
use wirecost_nbiot::Config;
use wirecost_results::nbiot::{NbiotSummary, RunFigures, Setting};
use wirecost_results::{ResultsError, RunFolder};

use super::compare::default_folder;
use crate::arguments::NbiotArguments;
use crate::exit::{self, Failure};
use crate::output;
use crate::progress::Counted;

/// What was run; an earlier run is continued only with the same.
const SETTING: &str = "setting.json";
/// The folder of the runs.
const CELLS: &str = "cells";
/// Replications and duration of the study.
const FULL: (u32, Duration) = (10, Duration::from_secs(600));
/// Replications and duration with which the statements are evaluated.
const CHECKED: (u32, Duration) = (10, Duration::from_secs(200));

/// Runs the command.
pub fn run(arguments: &NbiotArguments) -> Result<ExitCode, Failure> {
    output::check_files(&[("--json", arguments.json.as_deref())])?;
    if arguments.validate {
        return validate(arguments);
    }
    let options = options(arguments)?;
    options.validate()?;
    let interrupt = Interrupt::install()?;
    let grid = Grid::new(&options)?;
    let (folder, _lock) = open(arguments, &grid)?;
    let finished = play(arguments, &grid, &folder, interrupt)?;
    let mut summary = grid.summary(&finished);
    if arguments.checks {
        summary.checks = checks::evaluate(&summary.points);
    }
    folder.write_json("summary.json", &summary)?;
    print(arguments, &summary)?;
    if arguments.sequence {
        recorded::print(&grid, &folder)?;
    }
    if !arguments.quiet {
        output::note(format_args!("results: {}", folder.path().display()));
    }
    if summary.interrupted {
        output::note(format_args!(
            "interrupted: continue with the same options and --resume {}",
            folder.path().display()
        ));
        return Ok(ExitCode::from(exit::INTERRUPTED));
    }
    Ok(ExitCode::from(exit::OK))
}

/// Compares the model with its targets; fails where one is not met.
fn validate(arguments: &NbiotArguments) -> Result<ExitCode, Failure> {
    let targets = validation::validate()?;
    output::table_or_json(
        arguments.json.as_deref(),
        || serde_json::to_string_pretty(&targets),
        || wirecost_report::nbiot::targets(&targets),
    )?;
    let failed: Vec<&str> = targets
        .iter()
        .filter(|target| !target.passed)
        .map(|target| target.name.as_str())
        .collect();
    if failed.is_empty() {
        return Ok(ExitCode::from(exit::OK));
    }
    let message = format!("the model misses {}", failed.join(", "));
    Err(Failure::new(exit::INTERNAL, message)
        .with_hint("report it with this version: its other figures cannot be trusted"))
}

fn options(arguments: &NbiotArguments) -> Result<Options, Failure> {
    let study = Options::study();
    let mut config = Config::profile(&arguments.profile).map_err(OptionsError::from)?;
    for change in &arguments.set {
        let Some((path, value)) = change.split_once('=') else {
            return Err(Failure::usage(format!("--set must be PATH=VALUE, got {change}"))
                .with_hint("for example --set levels.ce0.npdcch_g=4"));
        };
        config = set(&config, path, value)?;
    }
    let (seeds, duration) = match (arguments.full, arguments.checks) {
        (true, _) => FULL,
        (false, true) => CHECKED,
        (false, false) => (study.seeds, study.duration),
    };
    let duration = arguments.duration.unwrap_or(duration);
    let sizes = arguments
        .size
        .iter()
        .map(|size| usize::try_from(size.bytes()).unwrap_or(usize::MAX));
    Ok(Options {
        stacks: match arguments.stacks.as_slice() {
            [] => study.stacks,
            given => given.to_vec(),
        },
        sizes: sizes.collect(),
        loads: match arguments.load.as_slice() {
            [] => study.loads,
            given => given.to_vec(),
        },
        seeds: arguments.seeds.map_or(seeds, u32::from),
        seed: arguments.seed,
        duration,
        warm_up: arguments.warm_up.unwrap_or(duration / 10),
        interval: arguments.interval,
        ipv6: arguments.ipv6,
        resource: arguments.resource.clone(),
        config,
        what_ifs: arguments.what_if.iter().map(|change| change.what_if()).collect(),
        ..study
    })
}

/// The results folder, new or of an earlier run with the same setting.
fn open(arguments: &NbiotArguments, grid: &Grid) -> Result<(RunFolder, File), Failure> {
    let setting = grid.setting();
    if let Some(path) = &arguments.resume {
        let folder = RunFolder::open(path);
        let earlier: Setting = folder.read_json(SETTING)?;
        if earlier != setting {
            let message = format!("{} was run with other parameters", path.display());
            return Err(Failure::usage(message)
                .with_hint("give the parameters that setting.json has, or choose a new folder with --out"));
        }
        let lock = folder.lock()?;
        return Ok((folder, lock));
    }
    let out = arguments.out.clone().unwrap_or_else(default_folder);
    let folder = RunFolder::create_with(&out, &[CELLS])?;
    let lock = folder.lock()?;
    folder.write_json(SETTING, &setting)?;
    Ok((folder, lock))
}

/// Plays the runs that have no file, and writes one for each.
fn play(
    arguments: &NbiotArguments,
    grid: &Grid,
    folder: &RunFolder,
    interrupt: Interrupt,
) -> Result<Vec<FinishedRun>, Failure> {
    let file = |index: usize| format!("{CELLS}/{}.json", grid.key(index));
    let mut finished = Vec::new();
    let mut missing = Vec::new();
    for index in 0..grid.len() {
        match folder.read_json::<RunFigures>(&file(index)) {
            Ok(figures) => finished.push(FinishedRun {
                index,
                figures,
                recorded: None,
            }),
            Err(_) => missing.push(index),
        }
    }
    let jobs = arguments.engine_threads.map_or_else(cpus, usize::from);
    let mut screen = Counted::new(grid.len(), "runs", arguments.quiet);
    screen.done(finished.len());
    let mut unwritten: Option<ResultsError> = None;
    let played = grid.play(
        &missing,
        jobs,
        &mut |run| {
            let is_captured = arguments.capture;
            let written = recorded::write(grid, folder, &run, is_captured)
                .and_then(|()| folder.write_json(&file(run.index), &run.figures));
            unwritten = written.err().or(unwritten.take());
            finished.push(run);
            screen.done(finished.len());
        },
        &|| interrupt.is_set(),
    );
    screen.clear();
    match (played, unwritten) {
        (_, Some(error)) => Err(error.into()),
        (Ok(()) | Err(NbiotError::Stopped), None) => Ok(finished),
        (Err(error), None) => Err(error.into()),
    }
}

fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn print(arguments: &NbiotArguments, summary: &NbiotSummary) -> Result<(), Failure> {
    output::table_or_json(
        arguments.json.as_deref(),
        || serde_json::to_string_pretty(summary),
        || {
            let table = wirecost_report::nbiot::table(summary);
            match summary.checks.as_slice() {
                [] => table,
                checks => format!("{table}\n{}", wirecost_report::nbiot::checks(checks)),
            }
        },
    )
}

impl From<OptionsError> for Failure {
    fn from(error: OptionsError) -> Self {
        Self::usage(error)
            .with_hint("docs/models/nbiot.md lists the parameters of the network with their units")
    }
}

impl From<NbiotError> for Failure {
    fn from(error: NbiotError) -> Self {
        match error {
            NbiotError::Device(DeviceError::TooSmall { least, .. }) => Self::usage(&error)
                .with_hint(format!("take --size {least}B or more, or a shorter --resource")),
            NbiotError::Device(DeviceError::NotTaken { .. }) => {
                Self::usage(&error).with_hint("take the default --resource, test")
            }
            NbiotError::Device(DeviceError::Client(_)) => {
                Self::usage(&error).with_hint("take another stack, size or resource")
            }
            NbiotError::Network(error) => OptionsError::from(error).into(),
            NbiotError::Device(_) | NbiotError::Stopped => Self::internal(error),
        }
    }
}
