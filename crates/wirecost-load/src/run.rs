//! Runs a load: starts or finds the target, launches the parts, and judges the counts.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::SystemTime;

use wirecost_live::cpu_time::CpuTime;
use wirecost_live::emulation::EmulationError;
use wirecost_live::environment::Load as MachineLoad;
use wirecost_live::idle::{IdleCpus, KeepAwake};
use wirecost_live::limits::{self, Limits};
use wirecost_live::own_sockets::OwnSockets;
use wirecost_live::priority::{self, Priority};
use wirecost_live::process::usage::OwnUsage;
use wirecost_live::{Clock, Side};
use wirecost_proto::hosts::DEVICES_V4;
use wirecost_results::load::{Load, LoadFile};
use wirecost_results::profile::Folded;
use wirecost_results::time::rfc3339;
use wirecost_results::warning::{Warning, WarningKind};
use wirecost_scenario::identity;
use wirecost_scenario::options::load::{LoadEngine, LoadOptions, LoadTarget};
use wirecost_stack::run_tag::RunTag;

use super::agents::Agents;
use super::agents::report::{self, AgentsReport};
use super::clock::LoadClock;
use super::context::RunContext;
use super::coordinator::{Coordinator, CoordinatorContext, cpus};
use super::error::LoadError;
use super::link::{LinkReport, LoadLink};
use super::outside::Outside;
use super::parts::Parts;
use super::profile::{ProfileError, Recorder};
use super::server::{Server, ServerError, Site};
use super::share::{Share, sources_of};
use super::target::Used;
use super::verdict::Taken;
use super::watch::Announcement;
use super::workers::{self, Layout};
use super::{checked, entry, keys, nanos, scheme, simulated, wire};
use crate::capture_label::PhaseLabels;
use crate::outcome::LoadOutcome;

/// Why packets to the target are not counted where agents generate.
const NOT_ON_AGENTS: &str = "agents send them, on other machines";
/// The number of devices that justify one more loop.
const DEVICES_PER_LOOP: u32 = 100;

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

/// The limits of the machine, after a check of the source addresses.
fn limits_for(options: &LoadOptions, from_this_machine: bool) -> Result<Limits, LoadError> {
    let limits = Limits::read().map_err(|source| LoadError::Machine {
        action: "raise the limit on open files",
        source,
    })?;
    if from_this_machine {
        check_sources(&options.sources)?;
    }
    Ok(limits)
}

/// Checks that the source addresses belong to this machine.
fn check_sources(addresses: &[IpAddr]) -> Result<(), LoadError> {
    addresses.iter().try_for_each(|address| {
        let bound = UdpSocket::bind((*address, 0)).map(drop);
        bound.map_err(|source| LoadError::Source {
            address: *address,
            source,
        })
    })
}

/// The processor time that others had since `earlier`. A running server on this machine may be one of the other programs, so that
/// theirs is not known.
fn taken(options: &LoadOptions, address: SocketAddr, earlier: (&MachineLoad, &CpuTime)) -> Taken {
    let by_hypervisor = MachineLoad::read().steal_share_since(earlier.0);
    let is_beside = matches!(options.target, LoadTarget::Url(_)) && address.ip().is_loopback();
    Taken {
        by_hypervisor,
        by_programs: match is_beside {
            true => 0.0,
            false => CpuTime::read().share_of_others_since(earlier.1),
        },
    }
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
    let agents = context.agents;
    let limits = limits_for(options, link.is_none() && agents.is_none())?;
    let Some(mut server) = start_target(options, &context, clock, link.as_ref())? else {
        return Ok(None);
    };
    let generator = match agents {
        Some(agents) => Generator::of_agents(options, &server, agents)?,
        None => Generator::start(options, &server, &limits, context.program)?,
    };
    if agents.is_none() {
        server.count_wire(options, generator.own_sockets.clone(), clock);
    }
    let of_every_program =
        agents.is_none() && generator.processes > 1 && wire::own_sockets(options).is_some();
    let keep_awake = KeepAwake::hold();
    let (machine, cpu_time) = (MachineLoad::read(), CpuTime::read());
    let recorder = options.profile.then(|| record(&server));
    let Generator { parts, pids, .. } = generator;
    let mut outcome = conduct(options, &mut context, clock, &mut server, parts, &pids);
    let is_awake = agents.map_or(keep_awake.idle_cpus() == IdleCpus::Awake, Agents::are_awake);
    let tasks = agents.map(|agents| agents.end_load(generator.shares));
    let reported = tasks.map(|tasks| report::of(&tasks, &mut outcome));
    let (address, version) = (server.address(), server.version().map(str::to_owned));
    let taken = match agents {
        Some(agents) => Taken {
            by_hypervisor: agents.steal(),
            by_programs: 0.0,
        },
        None => taken(options, address, (&machine, &cpu_time)),
    };
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
    let source_addresses = match agents {
        Some(agents) => agents
            .members()
            .iter()
            .map(|member| member.address.to_string())
            .collect(),
        None => source_addresses(options, address, link.is_some()),
    };
    checked::check(options, address, &outcome)?;
    let mut load = Load {
        started_at: rfc3339(started_at),
        loops: generator.loops,
        processes: generator.processes,
        idle_cpus: if is_awake {
            IdleCpus::Awake
        } else {
            IdleCpus::Asleep
        }
        .to_string(),
        priority: priority_beside(options).to_string(),
        wire_of_all: of_every_program && wire_not_counted.is_none(),
        wire_not_counted: wire_not_counted.or_else(|| agents.map(|_| NOT_ON_AGENTS.to_owned())),
        ..entry::of(options, &outcome, taken, link.as_ref())
    };
    load.warnings.extend(of_target);
    if let Some(AgentsReport { figures, warnings }) = reported {
        load.take_agents(figures, warnings);
        load.note_standings();
    }
    let traffic = link.as_mut().and_then(|link| link.traffic.take());
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

/// Takes the parts, with the worker processes `pids`, through the phases of a load, and notifies the watcher.
fn conduct(
    options: &LoadOptions,
    context: &mut RunContext<'_>,
    clock: Clock,
    server: &mut Server,
    parts: Parts,
    pids: &[u32],
) -> LoadOutcome {
    context
        .watcher
        .begin(&Announcement::of(options, context.position));
    let agents = context.agents;
    let coordinator_context = CoordinatorContext {
        clock: LoadClock::Live(clock),
        target: server,
        watcher: context.watcher,
        interrupted: context.interrupted,
        used: &mut || agents.map_or_else(|| used_by(pids), Agents::used),
        cpus: agents.map_or_else(cpus, Agents::cpus),
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

/// The addresses that devices send from: on the emulated link each device has its own.
fn source_addresses(options: &LoadOptions, target: SocketAddr, has_link: bool) -> Vec<String> {
    if has_link {
        return vec![format!("{DEVICES_V4}/16")];
    }
    let sources = sources_of(options, target, options.clients).towards(target);
    sources.iter().map(IpAddr::to_string).collect()
}

/// The parts and their processes.
struct Generator {
    parts: Parts,
    /// The worker processes.
    pids: Vec<u32>,
    loops: u32,
    processes: u32,
    /// The shares of each agent, if agents generate.
    shares: Vec<Vec<Share>>,
    /// The sockets of the parts, if their packets are counted and all of them are in this process.
    own_sockets: Option<Arc<OwnSockets>>,
}

impl Generator {
    fn of_agents(options: &LoadOptions, server: &Server, agents: &Agents) -> Result<Self, LoadError> {
        let shares = agents.shares(options, server.destination())?;
        let parts = agents.parts(&shares);
        Ok(Self {
            pids: Vec::new(),
            loops: u32::try_from(parts.len()).unwrap_or(u32::MAX),
            processes: u32::try_from(shares.len()).unwrap_or(u32::MAX),
            parts,
            shares,
            own_sockets: None,
        })
    }

    fn start(
        options: &LoadOptions,
        server: &Server,
        limits: &Limits,
        program: &Path,
    ) -> Result<Self, LoadError> {
        let others = u32::from(server.is_here()) + u32::from(options.link.is_some());
        let loops = loops(options, others);
        let layout = Layout::of(options, server.address(), limits, loops)?;
        let own_sockets = wire::own_sockets(options).filter(|_| layout.is_one_process());
        let mut shares = Share::split(&Arc::new(options.clone()), server.destination(), layout.parts());
        for share in &mut shares {
            share.own_sockets.clone_from(&own_sockets);
        }
        let parts = workers::parts(&layout, program, shares)?;
        Ok(Self {
            pids: parts.pids.clone(),
            loops: u32::try_from(parts.len()).unwrap_or(u32::MAX),
            processes: layout.processes,
            parts,
            shares: Vec::new(),
            own_sockets,
        })
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
    server.stop();
    let Some(link) = link.filter(|_| !outcome.has_not_begun()) else {
        return Ok(None);
    };
    let meter = link.meter();
    let labels = PhaseLabels::of(options, outcome);
    let times = outcome.times();
    let report = link.stop(options, &outcome.keys, oscore_contexts.as_deref(), &labels, times)?;
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

/// The number of loops: one for each CPU, without one CPU for each of the `others` on this machine (the target, the
/// emulated link). Few devices need few loops.
fn loops(options: &LoadOptions, others: u32) -> u32 {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let cpus = u32::try_from(cpus).unwrap_or(1);
    let free = cpus.saturating_sub(others).max(1);
    let subscribers = options.receivers();
    let devices = options.clients.saturating_add(subscribers);
    let useful = free.min(devices.div_ceil(DEVICES_PER_LOOP)).max(1);
    options.threads.unwrap_or(useful).clamp(1, devices.max(1))
}

/// The usage of this process and its workers so far.
fn used_by(workers: &[u32]) -> Used {
    // The CPU time of a worker that has ended is unknown.
    let workers = workers.iter().filter_map(|pid| OwnUsage::of(*pid).ok());
    let all = OwnUsage::read().into_iter().chain(workers);
    all.fold(Used::default(), |sum, usage| Used {
        user_ns: sum.user_ns + nanos(usage.user),
        system_ns: sum.system_ns + nanos(usage.system),
        busiest_ns: None,
        resident_bytes: sum.resident_bytes + usage.resident_bytes,
        processes: sum.processes + 1,
    })
}
