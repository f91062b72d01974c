//! Runs a load: starts or finds the target, launches the parts, and judges the counts.

use std::net::SocketAddr;
use std::thread;
use std::time::SystemTime;

use wirecost_live::emulation::EmulationError;
use wirecost_live::limits;
use wirecost_live::priority::{self, Priority};
use wirecost_live::{Clock, Side};
use wirecost_results::load::{Load, LoadFile};
use wirecost_results::profile::Folded;
use wirecost_results::time::rfc3339;
use wirecost_results::warning::{Warning, WarningKind};
use wirecost_scenario::identity;
use wirecost_scenario::options::load::{LoadEngine, LoadOptions, LoadTarget};
use wirecost_stack::run_tag::RunTag;

use crate::context::RunContext;
use crate::coordinator::{Coordinator, CoordinatorContext};
use crate::devices::keys;
use crate::error::LoadError;
use crate::generator::{Generator, Machines};
use crate::link::capture_label::PhaseLabels;
use crate::link::outside::Outside;
use crate::link::{LinkReport, LoadLink};
use crate::parts::agents::report::AgentsReport;
use crate::parts::outcome::LoadOutcome;
use crate::parts::running::Parts;
use crate::schedule::clock::LoadClock;
use crate::simulated;
use crate::targets::profile::{ProfileError, Recorder};
use crate::targets::scheme;
use crate::targets::server::{Server, ServerError, Site};
use crate::verdict::{checked, entry};
use crate::watch::Announcement;

/// Runs a load; `None` if it was interrupted before it began. Call it from a thread that lives as long as the target:
/// the kernel kills a child when the thread that started it ends. For a load over an emulated link, call
/// [`wirecost_live::topology::prepare`] before any thread starts.
///
/// # Errors
/// [`LoadError`] if there are no figures. Problems with the figures are in their warnings.
pub fn run(options: &LoadOptions, context: RunContext<'_>) -> Result<Option<LoadFile>, LoadError> {
    limits::spare_memory();
    if options.engine == LoadEngine::Sim {
        return simulated::run(options, context);
    }
    let key = identity::key(options);
    let LoadTarget::Url(_) = &options.target else {
        return run_live(options, &key, context);
    };
    // A server of others may still hold what an earlier run left: the tag tells its messages and sessions apart.
    let tag = RunTag::draw().map_err(ServerError::from)?;
    let ended = run_live(&options.of_run(tag), &key, context)?;
    Ok(ended.map(|mut file| {
        file.load.run_tag = Some(tag.to_string());
        file
    }))
}

/// Runs a live load with this key, whose names have the tag of the run.
fn run_live(
    options: &LoadOptions,
    key: &str,
    mut context: RunContext<'_>,
) -> Result<Option<LoadFile>, LoadError> {
    let Some(config) = &options.link else {
        return match options.is_beside_real_server() {
            true => run_alone(options, context),
            false => run_here(options, context, None),
        };
    };
    let interrupted = context.interrupted;
    let outside = match Outside::reach(options, interrupted) {
        // The interruption ended the wait: the target is missing for no other reason.
        Err(_) if interrupted() => return Ok(None),
        reached => reached?,
    };
    let address = outside.as_ref().map(Outside::address);
    // The new thread moves between the sides of the link. This one stays in its namespace.
    let behind_link = move || {
        let link = LoadLink::start(config, (options, key), outside, &mut context)?;
        run_here(options, context, Some(link))
    };
    let ended = thread::scope(|scope| scope.spawn(behind_link).join());
    let ended = ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    // Only from here the target can be asked why.
    ended.map_err(|error| match address {
        Some(address) => checked::explained(options, address, error),
        None => error,
    })
}

/// Runs a load of a server of another maker on the loopback interface of a network namespace of its own: on the machine's own one every
/// user could reach the server. Server, devices and their processes are where the thread is that starts them.
fn run_alone(options: &LoadOptions, context: RunContext<'_>) -> Result<Option<LoadFile>, LoadError> {
    let alone = || {
        Side::alone().map_err(ServerError::from)?;
        run_here(options, context, None)
    };
    let ended = thread::scope(|scope| scope.spawn(alone).join());
    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The priority that the machine grants the loops of a load (`Share::run` requests it). At nice 0 a loop waits for the processes of a real
/// server on its CPU: beside 1,000 workers of Apache, a loop that used 2 % of a CPU was late by 1.0 to 3.6 ms (p99).
fn priority_beside(options: &LoadOptions) -> Priority {
    if !options.is_beside_real_server() {
        return Priority::Ordinary;
    }
    let granted = thread::scope(|scope| scope.spawn(priority::favour).join());
    granted.unwrap_or_default()
}

/// Runs a load on this thread, over a running link if the load has one.
fn run_here(
    options: &LoadOptions,
    mut context: RunContext<'_>,
    link: Option<LoadLink>,
) -> Result<Option<LoadFile>, LoadError> {
    let clock = link.as_ref().map_or_else(Clock::start, LoadLink::clock);
    let started_at = SystemTime::now();
    let machines = Machines::check(options, &context, link.is_some())?;
    let Some(mut server) = start_target(options, &context, clock, link.as_ref())? else {
        return Ok(None);
    };
    let (mut generator, parts) = machines.start(options, &mut server, context.program, clock)?;
    let recorder = options.profile.then(|| record(&server));
    let mut outcome = conduct(options, &mut context, clock, &mut server, parts, &generator);
    let idle_cpus = generator.idle_cpus();
    let reported = generator.end(&mut outcome);
    let (address, version) = (server.address(), server.version().map(str::to_owned));
    let taken = generator.taken(options, address);
    // Symbols are looked up while the target still lives.
    let profile = recorder.map(|recorder| recorder.and_then(Recorder::finish));
    let outside = link.as_ref().and_then(LoadLink::outside);
    outside.inspect(|outside| outside.note_silence(&mut outcome));
    let mut of_target = outside.map_or_else(Vec::new, Outside::warnings);
    of_target.extend(server.passed_over());
    let wire_not_counted = server.take_wire().end(&mut outcome);
    let mut link = end(options, server, link, &mut outcome)?;
    if outcome.has_not_begun() {
        return Ok(None);
    }
    checked::check(options, address, &outcome)?;
    let mut load = Load {
        started_at: rfc3339(started_at),
        loops: generator.loops(),
        processes: generator.processes(),
        idle_cpus: idle_cpus.to_string(),
        priority: priority_beside(options).to_string(),
        wire_of_all: generator.counts_every_program(options) && wire_not_counted.is_none(),
        wire_not_counted,
        ..entry::assemble(options, &outcome, taken, link.as_ref())
    };
    load.warnings.extend(of_target);
    if let Some(AgentsReport { figures, warnings }) = reported {
        load.take_agents(figures, warnings);
        load.note_standings();
    }
    let traffic = link.as_mut().and_then(|link| link.traffic.take());
    let source_addresses = generator.sources(options, address, link.is_some());
    note_afterwards(&mut load, options, &outcome, address, link);
    Ok(Some(LoadFile {
        profile: profile.and_then(|profile| folded(profile, &mut load.warnings)),
        load,
        intervals: outcome.intervals,
        usage: outcome.usage,
        traffic,
        source_addresses,
        server: version,
    }))
}

/// Takes the parts through the phases of a load, and notifies the watcher.
fn conduct(
    options: &LoadOptions,
    context: &mut RunContext<'_>,
    clock: Clock,
    server: &mut Server,
    parts: Parts,
    generator: &Generator<'_>,
) -> LoadOutcome {
    context
        .watcher
        .begin(&Announcement::from_options(options, context.position));
    let coordinator_context = CoordinatorContext {
        clock: LoadClock::Live(clock),
        target: server,
        watcher: context.watcher,
        interrupted: context.interrupted,
        used: &mut || generator.used(),
        cpus: generator.cpus(),
        demands: context.demands,
    };
    let outcome = Coordinator::new(options, parts, coordinator_context).run();
    context.watcher.end();
    outcome
}

/// Starts or finds the target; `None` if the run was interrupted before it was ready.
fn start_target(
    options: &LoadOptions,
    context: &RunContext<'_>,
    clock: Clock,
    link: Option<&LoadLink>,
) -> Result<Option<Server>, LoadError> {
    let (program, folder) = (context.program, context.folder);
    let started = match link {
        Some(link) => link.start_target(options, context),
        None => Server::start(
            options,
            &[],
            program,
            folder,
            clock,
            Site::Loopback,
            context.interrupted,
        )
        .map_err(LoadError::from),
    };
    match started {
        // The interruption ended the wait: the target is missing for no other reason.
        Err(_) if (context.interrupted)() => Ok(None),
        started => started.map(Some),
    }
}

/// Ends the target, and then its link. Returns the link's report if the load has begun.
fn end(
    options: &LoadOptions,
    server: Server,
    link: Option<LoadLink>,
    outcome: &mut LoadOutcome,
) -> Result<Option<LinkReport>, EmulationError> {
    let oscore_contexts = keys::oscore_contexts(options, server.destination());
    // Before the link, which carries and counts what the server still sends at its end.
    server.stop();
    let Some(link) = link.filter(|_| !outcome.has_not_begun()) else {
        return Ok(None);
    };
    let meter = link.meter();
    let labels = PhaseLabels::from_options(options, outcome);
    let times = outcome.times();
    let report = link.stop(options, &outcome.keys, oscore_contexts.as_deref(), &labels, times)?;
    // After the end of both: packets that were on their way belong to the last phase.
    outcome.settle_link(&meter.read());
    Ok(Some(report))
}

/// Begins a CPU profile of the target.
fn record(server: &Server) -> Result<Recorder, ProfileError> {
    match server.pids() {
        pids if pids.is_empty() => Err(ProfileError::NotOurs),
        pids => Recorder::start(pids),
    }
}

/// Notes the results that exist only after the target and the link have ended.
fn note_afterwards(
    load: &mut Load,
    options: &LoadOptions,
    outcome: &LoadOutcome,
    address: SocketAddr,
    link: Option<LinkReport>,
) {
    load.warnings.extend(scheme::warning(options, address, load));
    if let Some(captured) = link.and_then(|link| link.capture) {
        let lack = keys::lack(outcome.parts_without_keys, load.loops);
        load.warnings.extend(lack);
        captured.note(load);
    }
}

/// The profile as text. If there is none, a warning gives the reason.
fn folded(profile: Result<Folded, ProfileError>, warnings: &mut Vec<Warning>) -> Option<String> {
    match profile {
        Ok(folded) => Some(folded.text()),
        Err(error) => {
            let text = format!("there is no CPU profile of the target: {error}");
            warnings.push(Warning::note(WarningKind::NoProfile, text));
            None
        }
    }
}
