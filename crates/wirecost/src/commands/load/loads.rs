//! Runs the loads of a command line or a scenario, shows them, and writes their results folder.

use std::io::Write as _;
use std::path::PathBuf;

use wirecost_files::output::{Existing, named, write_named};
use wirecost_live::foreign::TargetError;
use wirecost_live::provenance::Before;
use wirecost_live::topology::prepare;
use wirecost_load::context::RunContext;
use wirecost_load::devices::footprint;
use wirecost_load::error::LoadError;
use wirecost_load::parts::outcome::{LoadOutcome, Obstacle};
use wirecost_load::run::run as run_load;
use wirecost_load::schedule::sweep::{Measured, Sweep, Unkept};
use wirecost_load::targets::server::ServerError;
use wirecost_load::targets::sink::{SinkError, own_program};
use wirecost_load::verdict::Taken;
use wirecost_load::verdict::entry;
use wirecost_load::watch::Watcher;
use wirecost_report::load::Absent;
use wirecost_report::terminal;
use wirecost_results::load::{Load, LoadSummary, PhaseFigures};
use wirecost_results::rate_search::{RateSearch, RateTrial};
use wirecost_results::shard::Shard;
use wirecost_results::store::Heading;
use wirecost_results::warning::Warning;
use wirecost_results::{LoadFile, ResultsError, RunFolder};
use wirecost_scenario::identity;
use wirecost_scenario::options::load::LoadOptions;

use super::agents::{self, Gathered};
use crate::arguments::{AgentsArguments, LoadOutputArguments};
use crate::commands::job::{self, Job};
use crate::commands::{command_line, thresholds};
use crate::exit::{self, Failure};
use crate::load_view::LoadView;
use crate::output;
use crate::prometheus::Endpoint;

/// Loads to run one after the other.
pub struct LoadJob<'a> {
    /// Their job.
    pub job: Job<'a>,
    /// The scenario's name; for a command line, the command's.
    pub name: String,
    /// The loads, in order.
    pub loads: &'a [LoadOptions],
    /// The part of the loads to run; `None` runs all.
    pub shard: Option<Shard>,
    /// The output options.
    pub output: &'a LoadOutputArguments,
    /// The agents that are asked for, if any.
    pub agents: &'a AgentsArguments,
}

impl LoadJob<'_> {
    /// Runs the loads. Returns the exit code. Call it on the main thread.
    pub fn run(&self) -> Result<u8, Failure> {
        let (place, interrupt) = (&self.job.place, self.job.interrupt);
        let (thresholds, find_max) = (&self.job.scenario.thresholds, self.job.scenario.find_max.as_ref());
        let (json, junit) = (self.output.json.as_deref(), self.output.junit.as_deref());
        output::check_files(&[("--json", json), ("--junit", junit)])?;
        if self.loads.iter().any(LoadOptions::makes_namespaces) {
            // While there is one thread: watchers may start others.
            prepare()?;
        }
        let internal = |error: std::io::Error| Failure::new(exit::INTERNAL, error);
        let program = own_program().map_err(internal)?;
        // Before the watchers and the agents start, which are load on this machine themselves.
        let before = Before::look();
        let mut watcher = watchers(self.output)?;
        let gathered = match &self.agents.agents {
            Some(asked) => match agents::gather(self.agents, asked, self.loads, interrupt)? {
                None => return Ok(exit::INTERRUPTED),
                gathered => gathered,
            },
            None => None,
        };
        // Of loads that are not resumed all are to run, and those that do not fit leave no folder.
        let is_here = gathered.is_none();
        let wants_abort = thresholds.want_abort();
        if is_here && !place.is_resumed() {
            footprint::check(self.own_loads(), wants_abort).map_err(|limit| failed(limit.into()))?;
        }
        let run = self.job.open(&place.folder()?)?;
        if is_here && place.is_resumed() {
            let to_run = self.own_loads().into_iter();
            let to_run = to_run.filter(|load| !run.earlier.finished.contains(&identity::key(load)));
            footprint::check(to_run, wants_abort).map_err(|limit| failed(limit.into()))?;
        }
        let folder = &run.folder;
        let sweep = Sweep {
            loads: self.loads,
            shard: self.shard,
            heading: Heading {
                name: self.name.clone(),
                command: command_line::recorded(),
                seed: self.loads.first().map_or(0, |load| load.seed),
            },
            folder,
            earlier: run.earlier.clone(),
            before: &before,
        };
        // An unreachable target does not end the other loads.
        let is_one_of_many = self.loads.iter().map(|load| load.repeat).sum::<u32>() > 1 && find_max.is_none();
        let mut unreached = Vec::new();
        let mut run_one = |options: &LoadOptions, position| -> Result<Option<LoadFile>, LoadError> {
            let demands =
                |index, phase: &PhaseFigures, lasted| thresholds.failing_early(options, index, phase, lasted);
            let context = RunContext {
                program: &program,
                folder: folder.path(),
                watcher: &mut watcher,
                interrupted: &|| interrupt.is_set(),
                position,
                agents: gathered.as_ref().map(Gathered::agents),
                demands: wants_abort.then_some(&demands),
            };
            match run_load(options, context) {
                Err(error) if is_one_of_many && is_about_the_target(&error) => {
                    let file = entry::not_run(options, error.to_string());
                    unreached.push(error);
                    Ok(Some(file))
                }
                ended => ended,
            }
        };
        let measured = match find_max {
            Some(find_max) => sweep.find_max(find_max, &mut run_one, &mut |search, trial| {
                self.tell(search, trial);
            })?,
            None => sweep.run(&mut run_one)?,
        };
        self.conclude(folder, measured, unreached)
    }

    /// Tells the user whether a load of a search has held.
    fn tell(&self, search: &RateSearch, trial: &RateTrial) {
        if !self.job.quiet {
            output::note(terminal::load::trial_line(search, trial));
        }
    }

    /// Writes the report, prints the results, and decides the exit code.
    fn conclude(
        &self,
        folder: &RunFolder,
        mut measured: Measured<'_, LoadError>,
        unreached: Vec<LoadError>,
    ) -> Result<u8, Failure> {
        let mut kept = measured.summary()?;
        if let Some(Unkept { load, error }) = measured.unkept {
            kept.loads.push(*load);
            return self.without_room(folder, &kept, &error);
        }
        let written = measured.write(self.job.scenario.thresholds.of_loads(&self.own_loads(), &kept));
        let summary = match written {
            Ok(summary) => summary,
            Err(error) => return self.without_room(folder, &kept, &error),
        };
        let absent = self.absent(&summary, measured.failure.as_ref());
        if summary.loads.is_empty()
            && let Some(error) = measured.failure
        {
            // A CI server that finds no file calls the step broken, not the target.
            write_junit(self.output, &summary, &absent)?;
            if !self.job.place.is_resumed() {
                folder.remove_if_nothing_measured();
            }
            return Err(failed(error));
        }
        // A file without room on its disk does not prevent the other files.
        let printed = print(self.output, &summary);
        let reported = wirecost_report::load::write_all(folder);
        export(self.output, &summary, &absent)?;
        printed?;
        reported.map_err(|error| Failure::new(exit::INTERNAL, error))?;
        let captures = summary.loads.iter().filter_map(|load| load.capture.as_ref());
        let captures = captures.map(|capture| folder.file(capture));
        self.job.note_files(&folder.file("report.html"), captures);
        let is_not_run = |load: &Load| load.not_run.is_some();
        if summary.interrupted || summary.loads.iter().any(is_not_run) {
            job::note_resume(folder);
        }
        let without_any = unreached
            .into_iter()
            .next()
            .filter(|_| summary.loads.iter().all(is_not_run));
        match measured.failure.or(without_any) {
            Some(error) => Err(failed(error)),
            None => Ok(code(&summary)),
        }
    }

    /// The runs of this shard.
    fn own_loads(&self) -> Vec<LoadOptions> {
        let mut runs = identity::runs(self.loads);
        runs.retain(|run| self.shard.is_none_or(|shard| shard.holds(&run.key)));
        runs.into_iter().map(|run| run.options).collect()
    }

    /// The loads without figures because one of them failed, beginning with that one.
    fn absent(&self, summary: &LoadSummary, failure: Option<&LoadError>) -> Vec<Absent> {
        let Some(error) = failure else {
            return Vec::new();
        };
        let is_there = |key: String| summary.loads.iter().any(|load| load.key == key);
        let mut missing = self.own_loads();
        missing.retain(|options| !is_there(identity::key(options)));
        let mut error = Some(error.to_string());
        missing
            .iter()
            .map(|options| Absent {
                load: entry::assemble(options, &LoadOutcome::default(), Taken::default(), None),
                // The first one failed; the others did not run because of it, and have no error of their own.
                error: error.take(),
            })
            .collect()
    }

    /// Prints figures that the disk has no room for, and the contents of the folder.
    fn without_room(
        &self,
        folder: &RunFolder,
        summary: &LoadSummary,
        error: &ResultsError,
    ) -> Result<u8, Failure> {
        let printed = print(self.output, summary);
        // Behind the figures, which exist nowhere else now.
        output::note(format_args!("error: {error}"));
        output::note(format_args!(
            "hint: what was measured before is in {}; make room on its disk",
            folder.path().display()
        ));
        job::note_resume(folder);
        printed.map(|()| exit::CELLS_FAILED)
    }
}

/// The watchers: the live view, and Prometheus if requested.
fn watchers(arguments: &LoadOutputArguments) -> Result<Vec<Box<dyn Watcher + Send>>, Failure> {
    let mut watchers: Vec<Box<dyn Watcher + Send>> = vec![Box::new(LoadView::new(
        arguments.quiet,
        output::wants_color(arguments.no_color),
    ))];
    if let Some(address) = arguments.prometheus {
        let endpoint = Endpoint::start(address).map_err(|error| {
            let words = format_args!("{address} for Prometheus: {error}");
            Failure::cannot_listen(words, error.kind(), "--prometheus")
        })?;
        output::note(format_args!(
            "metrics are at http://{}/metrics",
            endpoint.address()
        ));
        watchers.push(Box::new(endpoint));
    }
    Ok(watchers)
}

fn print(arguments: &LoadOutputArguments, summary: &LoadSummary) -> Result<(), Failure> {
    let is_junit_printed = arguments.junit.as_deref().is_some_and(output::is_stdout);
    output::table_or_json(
        arguments.json.as_deref(),
        || serde_json::to_string_pretty(summary),
        || match is_junit_printed {
            true => String::new(),
            false => terminal::load::table(summary, &output::table_options(arguments.no_color)),
        },
    )
}

/// Writes the files for continuous integration, if requested.
fn export(arguments: &LoadOutputArguments, summary: &LoadSummary, absent: &[Absent]) -> Result<(), Failure> {
    write_junit(arguments, summary, absent)?;
    // GitHub shows the contents of this file with the job.
    if let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").map(PathBuf::from) {
        let opened = named(&path, Existing::Continued);
        let text = wirecost_report::load::markdown(summary);
        opened
            .and_then(|mut file| Ok(file.write_all(text.as_bytes())?))
            .map_err(|error| output::unwritable("GITHUB_STEP_SUMMARY", &path, &error))?;
    }
    Ok(())
}

fn write_junit(
    arguments: &LoadOutputArguments,
    summary: &LoadSummary,
    absent: &[Absent],
) -> Result<(), Failure> {
    let Some(path) = &arguments.junit else {
        return Ok(());
    };
    let text = wirecost_report::load::junit(summary, absent);
    if output::is_stdout(path) {
        output::data(text);
        return Ok(());
    }
    let written = write_named(path, text);
    written.map_err(|error| output::unwritable("--junit", path, &error))
}

/// Whether figures of a load are wrong, as opposed to missing.
fn is_spoiled(load: &Load) -> bool {
    let of_phases = load.phases.iter().flat_map(|phase| &phase.warnings);
    !load.valid && load.warnings.iter().chain(of_phases).any(Warning::spoils_figures)
}

/// The exit code of a summary.
pub fn code(summary: &LoadSummary) -> u8 {
    if !summary.searches.is_empty() && !summary.interrupted {
        // A search needs loads that do not hold.
        let is_found = |search: &RateSearch| search.conditional_throughput.is_some();
        return if summary.searches.iter().any(|search| search.ended_by_generator) {
            exit::INVALID
        } else if summary.searches.iter().all(is_found) {
            exit::OK
        } else {
            exit::THRESHOLD
        };
    }
    let has_all_agents = |load: &Load| load.agents.as_ref().is_none_or(|agents| agents.are_whole());
    let is_whole = |load: &Load| {
        load.not_run.is_none()
            && load.phases.iter().all(PhaseFigures::is_acknowledged)
            && has_all_agents(load)
    };
    let is_aborted = summary.loads.iter().any(|load| load.aborted.is_some());
    // The order is that of what a script has to know first: no run, an invalid one, a broken threshold, a lost part.
    if summary.interrupted && !is_aborted {
        exit::INTERRUPTED
    } else if summary.loads.iter().any(is_spoiled) {
        exit::INVALID
    } else if is_aborted {
        exit::THRESHOLD
    } else if summary.loads.iter().all(is_whole) {
        thresholds::exit_code(&summary.thresholds)
    } else {
        exit::CELLS_FAILED
    }
}

/// Whether a load could not run because its target was unreachable or refused it.
const fn is_about_the_target(error: &LoadError) -> bool {
    match error {
        LoadError::NoConnection { .. } => true,
        LoadError::Target(error) => !matches!(
            error,
            ServerError::Authorities { .. }
                | ServerError::Identities(_)
                | ServerError::Sink(SinkError::Start(_))
                | ServerError::Environment(_)
        ),
        _ => false,
    }
}

fn failed(error: LoadError) -> Failure {
    match error {
        LoadError::Link(error) => error.into(),
        LoadError::NoConnection { ref why, .. } => {
            let (code, hint) = match why.obstacle {
                Obstacle::Server => (
                    exit::REFUSED,
                    "the server's log says more; wirecost probe URL shows every step",
                ),
                Obstacle::NoAnswer => (
                    exit::UNREACHABLE,
                    "check address and port, or start the server; wirecost probe URL shows every step",
                ),
                Obstacle::Machine => (exit::PRIVILEGE, "give this machine more room for connections"),
            };
            Failure::new(code, &error).with_hint(why.hint.as_deref().unwrap_or(hint))
        }
        LoadError::Target(ServerError::Authorities { .. }) => {
            Failure::usage(error).with_hint("--cacert takes a file of certificates in PEM")
        }
        LoadError::Target(ServerError::Identities(error)) => {
            let hint = "--cert takes a certificate with --key, or a folder with NAME.crt and NAME.key for each device";
            Failure::usage(error).with_hint(hint)
        }
        LoadError::Source { .. } => Failure::new(exit::PRIVILEGE, error)
            .with_hint(
                "--source takes addresses of this machine, which ip address shows; with a server that the load starts, \
                 those of loopback: 127.0.0.0/8",
            ),
        LoadError::Target(ServerError::Sink(SinkError::Start(_))) => Failure::new(exit::PRIVILEGE, error)
            .with_hint(
                "the load runs its own program as the target: raise the limit that refused it (ulimit -a)",
            ),
        LoadError::Target(
            ServerError::Environment(error) | ServerError::Foreign(TargetError::Environment(error)),
        ) => error.into(),
        LoadError::Target(_) => Failure::new(exit::UNREACHABLE, error),
        LoadError::Limit(ref limit) => Failure::new(exit::PRIVILEGE, &error).with_hint(limit.way_out()),
        LoadError::Agents(error) => agents::failed(error),
        LoadError::Machine { .. } | LoadError::Workers(_) => Failure::new(exit::PRIVILEGE, error),
        LoadError::Part(_) | LoadError::Generator(_) => Failure::new(exit::INTERNAL, error),
    }
}
