//! Runs a plan on kernel sockets over the emulated, recorded link.
//!
//! The topology is made first, while the process has one thread. Then the forwarder, the servers and the devices each
//! get a thread. This thread waits, reports progress, and stops them.

pub mod reach;
mod stage;
mod wire;

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use wirecost_link::Medium;
use wirecost_live::activity::Activity;
use wirecost_live::emulation::EmulationError;
use wirecost_live::foreign::{Foreign, ForeignReport, TargetError};
use wirecost_live::forwarder::Forwarder;
use wirecost_live::observer::Observer;
use wirecost_live::power::PowerMeter;
use wirecost_live::process::setup::Setup;
use wirecost_live::recorder::Recorder;
use wirecost_live::relay::RelayError;
use wirecost_live::{Clock, EnvironmentError, PacketPort, Side, Topology, TopologyConfig};
use wirecost_load::targets::server::ServerError;
use wirecost_proto::driver::{DeviceReport, FlowReport};
use wirecost_proto::hosts::server_address;
use wirecost_results::environment::PowerSamples;
use wirecost_results::{ResultsError, RunFolder};
use wirecost_scenario::options::compare::Options;
use wirecost_scenario::plan::{DeviceLinks, Plan, PlannedCell};
use wirecost_security::{Epoch, KeyLog, certificate};
use wirecost_stack::channels::{ChannelOptions, ClientChannels, ServerChannels};
use wirecost_stack::error::ClientError;
use wirecost_stack::{Channel, Credentials, Message};

use super::device::channel_options;
use super::sampler::Sampler;
use super::simulated::SimulationError;
use reach::Reached;
use stage::{Sides, Stage};
use wire::Wire;
pub use wire::{Seen, Worked};

/// Receives progress notifications of a run.
pub trait Progress {
    /// A line of lasting interest.
    fn note(&mut self, line: &str);

    /// The number of links that are still to be checked.
    fn checking(&mut self, links: usize);

    /// The number of finished devices, and of all devices.
    fn tick(&mut self, done: u64, of: u64);

    /// Whether to end the run with the results so far.
    fn is_interrupted(&self) -> bool;
}

/// Why a run ended without results.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There is no emulated link.
    #[error(transparent)]
    Emulation(#[from] EmulationError),
    /// A target could not be started.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A target that runs already cannot be reached.
    #[error("cannot reach {target}: {reason}")]
    Unreachable {
        /// The target.
        target: String,
        /// The cause.
        reason: String,
    },
    /// The certificates to trust are unreadable.
    #[error(transparent)]
    Authorities(#[from] ServerError),
    /// The packets of the real path cannot be seen.
    #[error("packets on the real path cannot be recorded: {0}")]
    Unseen(std::io::Error),
    /// A client could not be made.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Certificates and keys cannot be made.
    #[error("cannot make certificates and keys: {0}")]
    Credentials(#[from] wirecost_security::certificate::Error),
    /// The results folder refuses.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// A cell cannot be simulated.
    #[error("simulate a cell: {0}")]
    Simulation(SimulationError),
    /// The simultaneous devices need more open files than the process may have.
    #[error("{devices} devices at a time need {needed} open files, this process may have {limit}")]
    OpenFiles {
        /// The number of devices.
        devices: u64,
        /// The number of open files.
        needed: u64,
        /// The limit, after raising it.
        limit: u64,
        /// The number of samples per cell that fit.
        samples: u64,
    },
}

impl From<EnvironmentError> for RunError {
    fn from(error: EnvironmentError) -> Self {
        Self::Emulation(error.into())
    }
}

impl From<RelayError> for RunError {
    fn from(error: RelayError) -> Self {
        match error {
            RelayError::Side(error) => error.into(),
            RelayError::Io { action, source } => EmulationError::doing(action)(source).into(),
        }
    }
}

/// The results of a run, for the analysis.
pub struct Run {
    /// The plan.
    pub plan: Plan,
    /// The clock of all times.
    pub clock: Clock,
    /// The notes of the devices.
    pub devices: Vec<DeviceReport<Sampler>>,
    /// The logs of the built-in servers' flows, with the server's port.
    pub flows: Vec<(u16, FlowReport)>,
    /// The packets, and how they were carried.
    pub seen: Seen,
    /// The round-trip times of each link's check.
    pub checks: Vec<Vec<Duration>>,
    /// Facts about the network: settings, medium, warnings.
    pub network: NetworkFacts,
    /// The secrets of the run's connections.
    pub key_log: KeyLog,
    /// The power of the machine meanwhile.
    pub power: PowerSamples,
    /// The report of the foreign server, if there was one.
    pub server: Option<ForeignReport>,
    /// Whether it was ended early.
    pub interrupted: bool,
    /// Why it ended early, unless the user ended it.
    pub failure: Option<String>,
}

/// The recorded facts of the topology.
#[derive(Clone, Debug)]
pub struct NetworkFacts {
    /// `tun` or `veth`; `real` without an emulated link.
    pub packet_path: &'static str,
    /// Settings of the devices' side.
    pub device_settings: std::collections::BTreeMap<String, String>,
    /// Settings of the server's side.
    pub server_settings: std::collections::BTreeMap<String, String>,
    /// Settings that were refused.
    pub warnings: Vec<String>,
}

impl NetworkFacts {
    /// The facts about the network of this machine, whose settings stay as they are.
    fn of_real_path() -> Self {
        Self {
            packet_path: "real",
            device_settings: std::collections::BTreeMap::new(),
            server_settings: std::collections::BTreeMap::new(),
            warnings: Vec::new(),
        }
    }

    fn from_topology(topology: &Topology) -> Self {
        Self {
            packet_path: match topology.medium {
                Medium::Tun => "tun",
                Medium::Veth => "veth",
            },
            device_settings: topology.device.settings.clone(),
            server_settings: topology.server.settings.clone(),
            warnings: topology.warnings.clone(),
        }
    }
}

/// The certificates and keys of a run.
fn credentials_of(options: &Options, epoch: Epoch) -> Result<Credentials, certificate::Error> {
    let credentials = Credentials::generate_of_kind(options.handshake.kind(), epoch, options.keys)?;
    match options.handshake.has_dtls_leaf() {
        true => Ok(credentials.with_dtls_of(&Credentials::generate(epoch, false)?)),
        false => Ok(credentials),
    }
}

/// Runs a plan. Call it before any thread starts, or after [`wirecost_live::topology::prepare`]. `reached` is the server that
/// runs already, if there is one.
///
/// # Errors
/// The machine refuses the namespaces, a target does not start, a loop fails.
pub fn run(
    options: &Options,
    plan: Plan,
    folder: &RunFolder,
    mut reached: Option<&mut Reached>,
    progress: &mut dyn Progress,
) -> Result<Run, RunError> {
    // Messages that a protocol cannot carry are found before anything is built.
    let messages = messages(options, &plan, reached.as_deref())?;
    let site = Site::open(options, &plan, folder, reached.as_deref_mut(), progress)?;
    let Site {
        sides,
        wire,
        network,
        clock,
        activity,
    } = site;
    let credentials = credentials_of(options, clock.epoch())?;
    // Before the run: a capture whose run is killed can then still be decrypted.
    write_oscore_contexts(options, &plan, &credentials, folder)?;
    let is_over = || progress.is_interrupted();
    let foreign = Foreign::start(
        options.target,
        &sides.server,
        folder,
        &credentials,
        server_address(options.ipv6),
        &Setup::from_target(options.target),
        &is_over,
    )?;
    let channel_options = ChannelOptions {
        classical_signatures: options.target.needs_classical_signatures(),
        ..channel_options(options, options.mtu())
    };
    let channels = match reached.as_deref() {
        Some(reached) => reached.channels(clock.epoch(), &credentials.key_log, channel_options),
        None => ClientChannels::new(&credentials, channel_options),
    };
    let server_channels = ServerChannels::new(credentials.clone(), channel_options, oscore_devices(&plan));
    let stage = Stage {
        options,
        plan: &plan,
        messages,
        clock,
        activity: &activity,
        sides: &sides,
        server_channels: &server_channels,
        channels: &channels,
        foreign,
        reached: reached.as_deref(),
    };
    let meter = PowerMeter::start(Path::new("/sys"));
    let outcome = thread::scope(|scope| stage.play(scope, wire, progress))?;
    let power = meter.finish();
    let shortfall = reached.as_deref().and_then(Reached::shortfall);
    for line in shortfall.iter().chain(&outcome.seen.notes) {
        progress.note(line);
    }
    Ok(Run {
        clock,
        devices: outcome.devices,
        flows: outcome.flows,
        seen: outcome.seen,
        checks: outcome.checks,
        network,
        key_log: credentials.key_log,
        power,
        server: outcome.server,
        interrupted: outcome.interrupted,
        failure: outcome.failure,
        plan,
    })
}

/// Where a run takes place: both sides, and what is between them.
struct Site {
    sides: Sides,
    wire: Wire,
    network: NetworkFacts,
    clock: Clock,
    activity: Arc<Activity>,
}

impl Site {
    /// The namespaces with the emulated link between them, or this machine's network for a server on the real path.
    fn open(
        options: &Options,
        plan: &Plan,
        folder: &RunFolder,
        reached: Option<&mut Reached>,
        progress: &mut dyn Progress,
    ) -> Result<Self, RunError> {
        // Each link is checked by a host of its own, and the path without a link by one more.
        let hosts = plan.devices.len() + options.links.len() + 1;
        let activity = Arc::new(Activity::new(u32::try_from(hosts).unwrap_or(u32::MAX)));
        reached
            .as_deref()
            .inspect(|reached| progress.note(&reached.said()));
        if let Some(reached) = reached.as_deref().filter(|reached| reached.is_on_real_path()) {
            let clock = Clock::start();
            let servers = reached.servers(plan);
            let observer = Observer::new(servers, folder.path(), clock, Arc::clone(&activity));
            let links = DeviceLinks::new(plan, &options.links, options.seed);
            return Ok(Self {
                sides: Sides {
                    device: Side::here()?,
                    server: Side::here()?,
                },
                wire: Wire::Real(Box::new(observer.map_err(RunError::Unseen)?), links),
                network: NetworkFacts::of_real_path(),
                clock,
                activity,
            });
        }
        let topology = Topology::create(&topology_of(options))?;
        let network = told_of(&topology, progress);
        let clock = Clock::start();
        let (sides, ports) = sides_of(topology);
        let forwarder = forwarder(options, plan, folder, ports, clock, &activity)?;
        if let Some(reached) = reached {
            reached.listen(&sides.server, plan)?;
        }
        Ok(Self {
            sides,
            wire: Wire::Emulated(Box::new(forwarder)),
            network,
            clock,
            activity,
        })
    }
}

/// The recorded facts of the topology. Its warnings go to the user.
fn told_of(topology: &Topology, progress: &mut dyn Progress) -> NetworkFacts {
    if let Some(reason) = &topology.veth_reason {
        progress.note(reason);
    }
    let network = NetworkFacts::from_topology(topology);
    for line in &network.warnings {
        progress.note(&format!("warning: {line}"));
    }
    network
}

/// The two sides of the topology, and their packet ports.
fn sides_of(topology: Topology) -> (Sides, [PacketPort; 2]) {
    let Topology { device, server, .. } = topology;
    let ports = [topology.device_port, topology.server_port];
    (Sides { device, server }, ports)
}

/// The link between the ports, which records into `folder`.
fn forwarder(
    options: &Options,
    plan: &Plan,
    folder: &RunFolder,
    ports: [PacketPort; 2],
    clock: Clock,
    activity: &Arc<Activity>,
) -> Result<Forwarder<DeviceLinks>, RunError> {
    let io = EmulationError::doing;
    let recorder = Recorder::create(folder.path()).map_err(io("record packets"))?;
    let mut configs = options.links.clone();
    if options.sending.offload {
        // What is cut to the MTU behind the capture enters the link whole.
        for link in &mut configs {
            (link.up.mtu, link.down.mtu) = (u16::MAX, u16::MAX);
        }
    }
    let links = DeviceLinks::new(plan, &configs, options.seed);
    let forwarder = Forwarder::new(ports, links, recorder, clock, Arc::clone(activity));
    let forwarder = forwarder.map_err(io("set up the link"))?;
    Ok(forwarder.on_one_cpu(options.one_cpu))
}

/// Writes the OSCORE contexts to a file that Wireshark reads. OSCORE has no key log format.
fn write_oscore_contexts(
    options: &Options,
    plan: &Plan,
    credentials: &Credentials,
    folder: &RunFolder,
) -> Result<(), ResultsError> {
    let devices = u16::try_from(oscore_devices(plan)).unwrap_or(u16::MAX);
    if devices == 0 || !options.keys {
        return Ok(());
    }
    folder.write_secret(
        "capture/oscore_contexts",
        credentials.oscore_contexts(devices).as_bytes(),
    )
}

/// How many OSCORE contexts the server needs: one for each device, if any device uses OSCORE.
fn oscore_devices(plan: &Plan) -> usize {
    let uses = |cell: &PlannedCell| cell.not_run.is_none() && cell.stack.channel == Channel::Oscore;
    if plan.cells.iter().any(uses) {
        plan.devices.len()
    } else {
        0
    }
}

fn messages(
    options: &Options,
    plan: &Plan,
    reached: Option<&Reached>,
) -> Result<Vec<Option<Message>>, ClientError> {
    let requests = options.sending.http.requests();
    let runnable = |cell: &PlannedCell| match (&cell.not_run, reached) {
        (Some(_), _) => Ok(None),
        (None, Some(reached)) => {
            // A server of others may answer several names, and looks for this one in the request.
            let authority = reached.authority();
            Message::to_host(cell.stack, &options.resource, &authority, &cell.payload).map(Some)
        }
        (None, None) => Message::new(cell.stack, &options.resource, &cell.payload).map(Some),
    };
    let complete = |message: Option<Message>| message.map(|message| message.in_form(requests));
    plan.cells
        .iter()
        .map(|cell| runnable(cell).map(complete))
        .collect()
}

fn topology_of(options: &Options) -> TopologyConfig {
    TopologyConfig {
        mtu: options.mtu().into(),
        // A TUN device has no offload.
        medium: match options.sending.offload {
            true => Some(Medium::Veth),
            false => options.medium,
        },
        offload: options.sending.offload,
        congestion: options.sending.congestion,
        ..TopologyConfig::default()
    }
}
