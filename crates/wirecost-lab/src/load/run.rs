//! A load from what is asked for to its figures: the target is started or found, the parts are launched, and what they
//! have counted is judged.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use wirecost_live::Clock;
use wirecost_live::environment::Load as MachineLoad;
use wirecost_live::limits::{LimitError, Limits};
use wirecost_live::process::usage::OwnUsage;

use super::coordinator::{Coordinator, NoConnection, Outcome, PhaseTimes, Spent, Surroundings, offer_of};
use super::options::{Arrivals, LoadOptions, LoadTarget, Payload, Phase};
use super::profile::recorder::{ProfileError, Recorder};
use super::server::Server;
use super::share::Share;
use super::target::Used;
use super::verdict::{self, Evidence};
use super::watch::{Announcement, Watcher};
use super::workers::{self, Layout, WorkersError};
use crate::results::load::{Load, LoadFile, PhaseFigures, ProcessUse};
use crate::results::summary::Warning;
use crate::results::time::rfc3339;

/// Devices that keep a loop busy enough that another one is worth its thread.
const DEVICES_PER_LOOP: u32 = 100;

/// Why a load has no figures.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The target could not be started.
    #[error(transparent)]
    Target(#[from] super::server::ServerError),
    /// No device could connect.
    #[error("no device could connect to {target}: {}", .why.reason)]
    NoConnection {
        /// Where to.
        target: String,
        /// Why.
        why: NoConnection,
    },
    /// A part could not begin, or ended early.
    #[error("{0}")]
    Generator(String),
    /// The machine does not give what so many devices need.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The generator could not be started.
    #[error(transparent)]
    Workers(#[from] WorkersError),
    /// The machine refused.
    #[error("cannot {action}: {source}")]
    Machine {
        /// What was to be done.
        action: &'static str,
        /// Why not.
        source: io::Error,
    },
}

/// What belongs to a load beside what is asked for.
pub struct Place<'a> {
    /// This program: it is the target's and the worker processes' too.
    pub program: &'a Path,
    /// A folder for what a real server needs.
    pub folder: &'a Path,
    /// Whoever watches.
    pub watcher: &'a mut dyn Watcher,
    /// Whether the run is to end.
    pub interrupted: &'a dyn Fn() -> bool,
    /// Which load of how many this is, from 1.
    pub place: [usize; 2],
}

/// Runs a load. Call it from a thread that lives as long as the target: the kernel ends a child with the thread that has
/// started it.
///
/// # Errors
/// [`LoadError`] where there are no figures; what went wrong with them is in their warnings.
pub fn run(options: &LoadOptions, place: Place<'_>) -> Result<LoadFile, LoadError> {
    let clock = Clock::start();
    let started_at = SystemTime::now();
    let limits = Limits::read().map_err(|source| LoadError::Machine {
        action: "raise the limit on open files",
        source,
    })?;
    let mut server = Server::start(options, place.program, place.folder, clock)?;
    let loops = loops(options, server.is_here());
    let layout = Layout::of(options, server.address(), &limits, loops)?;
    let shares = Share::split(&Arc::new(options.clone()), server.destination(), layout.parts());
    let parts = workers::parts(&layout, place.program, shares)?;
    let (loops, pids) = (parts.len(), parts.pids.clone());
    let machine = MachineLoad::read();
    let recorder = options.profile.then(|| record(&server));
    place.watcher.begin(&announcement(options, place.place));
    let outcome = Coordinator::new(
        options,
        parts,
        Surroundings {
            clock,
            target: &mut server,
            watcher: place.watcher,
            interrupted: place.interrupted,
            used: &mut || used_by(&pids),
        },
    )
    .run();
    place.watcher.end();
    let steal = MachineLoad::read().steal_share_since(&machine);
    let address = server.address();
    // Symbols are looked up while the target still lives.
    let profile = recorder.map(|recorder| recorder.and_then(Recorder::finish));
    server.stop();
    if let Some(why) = outcome.no_connection.clone() {
        let target = target_name(options, address);
        return Err(LoadError::NoConnection { target, why });
    }
    if let (Some(failure), true) = (&outcome.failure, outcome.phases.is_empty()) {
        return Err(LoadError::Generator(failure.clone()));
    }
    let mut load = figures(options, &outcome, steal);
    load.started_at = rfc3339(started_at);
    load.loops = u32::try_from(loops).unwrap_or(u32::MAX);
    load.processes = layout.processes;
    let profile = profile.and_then(|profile| match profile {
        Ok(folded) => Some(folded.text()),
        Err(error) => {
            load.warnings.push(no_profile(&error));
            None
        }
    });
    Ok(LoadFile {
        load,
        intervals: outcome.intervals,
        profile,
    })
}

/// Begins a CPU profile of the target.
fn record(server: &Server) -> Result<Recorder, ProfileError> {
    match server.pids() {
        pids if pids.is_empty() => Err(ProfileError::NotOurs),
        pids => Recorder::start(pids),
    }
}

fn no_profile(error: &ProfileError) -> Warning {
    Warning {
        kind: "no-profile".into(),
        text: format!("there is no CPU profile of the target: {error}"),
        invalidates: false,
    }
}

/// How many loops: one for each CPU, but that one is left for a target on this machine, and few devices need few.
fn loops(options: &LoadOptions, target_is_here: bool) -> u32 {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let cpus = u32::try_from(cpus).unwrap_or(1);
    let free = cpus.saturating_sub(u32::from(target_is_here)).max(1);
    let subscribers = options.subscribers.as_ref().map_or(0, |some| some.devices);
    let devices = options.clients.saturating_add(subscribers);
    let useful = free.min(devices.div_ceil(DEVICES_PER_LOOP)).max(1);
    options.threads.unwrap_or(useful).clamp(1, devices.max(1))
}

/// What this process and its workers have used so far.
fn used_by(workers: &[u32]) -> Used {
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    // One that has ended has left its time to nobody.
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

fn target_name(options: &LoadOptions, address: SocketAddr) -> String {
    match &options.target {
        LoadTarget::Url(url) => url.to_string(),
        LoadTarget::Started(target) => format!("{target} on {address}"),
    }
}

fn announcement(options: &LoadOptions, place: [usize; 2]) -> Announcement {
    let rate = options
        .phases
        .iter()
        .find_map(|phase| verdict::offered_rate(phase, options.clients));
    let rate = rate.map_or_else(|| "closed loop".to_owned(), |rate| format!("{rate}/s"));
    let clients = options.clients;
    Announcement {
        name: format!("{}, {clients} clients, {rate}", options.stack),
        stack: options.stack.to_string(),
        target: match &options.target {
            LoadTarget::Url(url) => url.to_string(),
            LoadTarget::Started(target) => target.to_string(),
        },
        clients: u64::from(clients),
        subscribers: options
            .subscribers
            .as_ref()
            .map_or(0, |some| u64::from(some.devices)),
        place,
        phases: options
            .phases
            .iter()
            .map(|phase| phase_name(phase).to_owned())
            .collect(),
    }
}

/// A phase's name in results.
pub const fn phase_name(phase: &Phase) -> &'static str {
    match phase {
        Phase::Connect { .. } => "connect",
        Phase::Publish(_) => "publish",
        Phase::Request(_) => "request",
        Phase::Handshakes { .. } => "handshakes",
        Phase::Hold { .. } => "hold",
        Phase::DropAll { .. } => "drop",
        Phase::Reconnect { .. } => "reconnect",
        Phase::AwaitReplay { .. } => "replay",
        Phase::Close => "close",
    }
}

/// What the load has come to.
fn figures(options: &LoadOptions, outcome: &Outcome, steal: f64) -> Load {
    let phases: Vec<PhaseFigures> = options
        .phases
        .iter()
        .zip(&outcome.phases)
        .enumerate()
        .map(|(index, (phase, times))| phase_figures(options, index, phase, times, outcome))
        .collect();
    let evidence = Evidence {
        options,
        phases: &phases,
        outcome,
        steal,
    };
    let bottleneck = verdict::bottleneck(&evidence);
    let warnings = verdict::warnings(&evidence, bottleneck.as_ref());
    let offers = phases_with_messages(options, &phases);
    let sent: u64 = offers.iter().map(|figures| figures.sent).sum();
    let open = options
        .phases
        .iter()
        .filter_map(offer_of)
        .find_map(|offer| match offer.arrivals {
            Arrivals::Open { poisson, .. } => Some(poisson),
            Arrivals::Closed => None,
        });
    Load {
        stack: options.stack.to_string(),
        start: options.start.to_string(),
        payload_bytes: payload_bytes(&options.payload),
        target: match &options.target {
            LoadTarget::Url(url) => url.to_string(),
            LoadTarget::Started(target) => target.to_string(),
        },
        engine: "live".into(),
        clients: u64::from(options.clients),
        subscribers: options
            .subscribers
            .as_ref()
            .map_or(0, |some| u64::from(some.devices)),
        inflight: options.inflight.map(u64::from),
        loop_kind: if open.is_some() { "open" } else { "closed" }.into(),
        arrivals: open.map(|poisson| if poisson { "poisson" } else { "constant" }.into()),
        shared_socket: options.shared_socket,
        interrupted: outcome.interrupted,
        valid: !warnings.iter().any(|warning| warning.invalidates),
        warnings,
        generator: Some(process_use(&outcome.generator, sent)),
        target_use: outcome.target.as_ref().map(|spent| process_use(spent, sent)),
        bottleneck,
        phases,
        ..Load::default()
    }
}

fn phases_with_messages<'a>(options: &LoadOptions, phases: &'a [PhaseFigures]) -> Vec<&'a PhaseFigures> {
    let with_offers = options.phases.iter().zip(phases);
    with_offers
        .filter(|(phase, _)| offer_of(phase).is_some())
        .map(|(_, figures)| figures)
        .collect()
}

fn phase_figures(
    options: &LoadOptions,
    index: usize,
    phase: &Phase,
    times: &PhaseTimes,
    outcome: &Outcome,
) -> PhaseFigures {
    let counted = |interval: &&super::figures::Interval| interval.phase as usize == index;
    let intervals = || outcome.intervals.iter().filter(counted);
    let is_told = intervals().any(|interval| interval.deliveries != Default::default());
    let answered = options.stack.is_answered() && matches!(phase, Phase::Publish(_));
    let kind = match phase {
        Phase::Request(_) => Some("to_reply"),
        _ if answered => Some("to_ack"),
        _ => None,
    };
    let figures = PhaseFigures {
        name: phase_name(phase).into(),
        begin_s: times.begin.as_secs_f64(),
        duration_s: times.took.as_secs_f64(),
        measured_s: times.measured.as_secs_f64(),
        offered_rate: verdict::offered_rate(phase, options.clients),
        response_kind: kind.map(str::to_owned),
        deliveries: is_told.then(Default::default),
        ..PhaseFigures::default()
    };
    figures.counted(intervals())
}

fn process_use(spent: &Spent, sent: u64) -> ProcessUse {
    let seconds = |nanos: u64| nanos as f64 / 1e9;
    let cpu_s = seconds(spent.user_ns + spent.system_ns);
    ProcessUse {
        user_s: seconds(spent.user_ns),
        system_s: seconds(spent.system_ns),
        cpu_share: spent.share,
        busiest_thread_share: spent.busiest_share.unwrap_or(spent.share),
        resident_bytes: spent.resident_bytes,
        processes: spent.processes,
        cpu_s_per_million: (sent > 0).then(|| cpu_s / sent as f64 * 1e6),
    }
}

fn payload_bytes(payload: &Payload) -> u64 {
    match payload {
        Payload::Size(size) => size.bytes(),
        Payload::File(bytes) => bytes.len() as u64,
        Payload::Template(text) => text.len() as u64,
    }
}
