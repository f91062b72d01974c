//! A plan on kernel sockets over the emulated, recorded link.
//!
//! The topology is made first, while the process has one thread. Then the forwarder, the servers and the devices
//! get a thread each; this one waits, reports progress, and stops them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use wirecost_link::LinkConfig;
use wirecost_live::activity::Activity;
use wirecost_live::check::{self, EchoPlan};
use wirecost_live::driver::Stopper;
use wirecost_live::driver::client::{ClientLoop, Device, DeviceReport};
use wirecost_live::driver::server::{FlowReport, ServerLoop};
use wirecost_live::forwarder::{self, Forwarder};
use wirecost_live::hosts::{HostIndex, device_address, server_address};
use wirecost_live::priority::{self, Duty};
use wirecost_live::recorder::Recorder;
use wirecost_live::timerfd::minimize_timer_slack;
use wirecost_live::{Clock, EnvironmentError, Medium, Topology, TopologyConfig};
use wirecost_proto::Instant;

use super::options::{Options, Target};
use super::plan::{DeviceLinks, Plan};
use super::sampler::{Sampler, Timing};
use super::verdict::asked_rtt;
use crate::results::{ResultsError, RunFolder};
use crate::stack::client::{ClientConfig, ClientError, Message};
use crate::stack::server::{Discard, services};
use crate::stack::{Client, Stack};
use crate::target::{Foreign, TargetError};

/// How long a client may take to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How often progress is reported and ends are looked for.
const TICK: Duration = Duration::from_millis(50);
/// Between the check of the links and the first device.
const LEAD: Duration = Duration::from_millis(50);
/// Echo requests of a link's check.
const ECHO_COUNT: u16 = 150;
/// Between two of them.
const ECHO_INTERVAL: Duration = Duration::from_millis(2);

/// Takes what a person wants to see while a run goes on.
pub trait Progress {
    /// A line worth keeping.
    fn note(&mut self, line: &str);

    /// Something moved: devices done, of how many.
    fn tick(&mut self, done: u64, of: u64);

    /// Whether the run is to be ended with what there is.
    fn is_interrupted(&self) -> bool;
}

/// Why a run ended without results.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The machine refused something.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// A target could not be started.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A client could not be made.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The results folder refused.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// A system call of a loop failed.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// A thread panicked: a defect of wirecost.
    #[error("the {0} thread panicked; please report this")]
    Panicked(&'static str),
}

/// Everything that a run has left to be analysed.
pub struct Run {
    /// What was to be done.
    pub plan: Plan,
    /// The clock of all times.
    pub clock: Clock,
    /// What the devices noted.
    pub devices: Vec<DeviceReport<Sampler>>,
    /// What the built-in servers said of their flows, with the server's port.
    pub flows: Vec<(u16, FlowReport)>,
    /// What the forwarder has left.
    pub forwarder: forwarder::Finished<DeviceLinks>,
    /// The round-trip times of each link's check.
    pub checks: Vec<Vec<Duration>>,
    /// What was found of the network: settings, medium, warnings.
    pub network: NetworkFacts,
    /// Version and program of the foreign server, where there was one.
    pub server: Option<String>,
    /// Whether it was ended early.
    pub interrupted: bool,
    /// Why it ended early, other than by the user.
    pub failure: Option<String>,
}

/// What is worth keeping of the topology.
#[derive(Clone, Debug)]
pub struct NetworkFacts {
    /// `tun` or `veth`.
    pub packet_path: &'static str,
    /// Settings of the devices' side.
    pub device_settings: std::collections::BTreeMap<String, String>,
    /// Settings of the server's side.
    pub server_settings: std::collections::BTreeMap<String, String>,
    /// Settings that could not be made.
    pub warnings: Vec<String>,
}

/// Runs a plan. Call it before any thread starts.
///
/// # Errors
/// The machine refuses the namespaces, a target does not start, a loop fails.
pub fn run(options: &Options, folder: &RunFolder, progress: &mut dyn Progress) -> Result<Run, RunError> {
    let plan = Plan::new(options);
    // What a protocol cannot carry is found before anything is built.
    let messages = messages(options, &plan)?;
    let mtu = options
        .links
        .iter()
        .map(|link| link.up.mtu.min(link.down.mtu))
        .min();
    let config = TopologyConfig {
        mtu: mtu.map_or(1_500, u32::from),
        medium: options.medium,
        ..TopologyConfig::default()
    };
    let topology = Topology::create(&config)?;
    if let Some(reason) = &topology.veth_reason {
        progress.note(reason);
    }
    let hosts = plan.devices.len() + options.links.len() + 1;
    let io = |what| move |source| RunError::Io { what, source };
    let clock = Clock::start();
    let activity = Arc::new(Activity::new(u32::try_from(hosts).unwrap_or(u32::MAX)));
    let recorder = Recorder::create(folder.path()).map_err(io("record packets"))?;
    let links = DeviceLinks::new(&plan, &options.links, options.seed);
    let Topology {
        device,
        server,
        device_port,
        server_port,
        medium,
        warnings,
        ..
    } = topology;
    let network = NetworkFacts {
        packet_path: if medium == Medium::Tun { "tun" } else { "veth" },
        device_settings: device.settings.clone(),
        server_settings: server.settings.clone(),
        warnings,
    };
    network
        .warnings
        .iter()
        .for_each(|line| progress.note(&format!("warning: {line}")));
    let forwarder = Forwarder::new(
        [device_port, server_port],
        links,
        recorder,
        clock,
        Arc::clone(&activity),
    );
    let forwarder = forwarder.map_err(io("set up the link"))?;
    let sides = Sides { device, server };
    // The process that starts a foreign server must outlive it: this thread does.
    let foreign = Foreign::start(options.target, &sides.server, folder, options.ipv6)?;
    let stage = Stage {
        options,
        plan: &plan,
        messages,
        clock,
        activity: &activity,
        sides: &sides,
        foreign,
    };
    let outcome = thread::scope(|scope| stage.play(scope, forwarder, progress))?;
    Ok(Run {
        clock,
        devices: outcome.devices,
        flows: outcome.flows,
        forwarder: outcome.forwarder,
        checks: outcome.checks,
        network,
        server: outcome.server,
        interrupted: outcome.interrupted,
        failure: outcome.failure,
        plan,
    })
}

fn messages(options: &Options, plan: &Plan) -> Result<Vec<Option<Message>>, ClientError> {
    let runnable = |cell: &super::plan::PlannedCell| match cell.not_run {
        Some(_) => Ok(None),
        None => Message::new(cell.stack, &options.resource, &cell.payload).map(Some),
    };
    plan.cells.iter().map(runnable).collect()
}

struct Sides {
    device: wirecost_live::Side,
    server: wirecost_live::Side,
}

/// What the threads of a run share.
struct Stage<'a> {
    options: &'a Options,
    plan: &'a Plan,
    /// What the devices of each cell send; none where it is not run.
    messages: Vec<Option<Message>>,
    clock: Clock,
    activity: &'a Arc<Activity>,
    sides: &'a Sides,
    foreign: Option<Foreign>,
}

struct Outcome {
    devices: Vec<DeviceReport<Sampler>>,
    flows: Vec<(u16, FlowReport)>,
    forwarder: forwarder::Finished<DeviceLinks>,
    checks: Vec<Vec<Duration>>,
    server: Option<String>,
    interrupted: bool,
    failure: Option<String>,
}

impl<'env> Stage<'env> {
    fn play<'scope>(
        mut self,
        scope: &'scope Scope<'scope, 'env>,
        forwarder: Forwarder<DeviceLinks>,
        progress: &mut dyn Progress,
    ) -> Result<Outcome, RunError> {
        let stop_forwarder = forwarder.stopper();
        let forwarding = scope.spawn(move || {
            minimize_timer_slack()?;
            forwarder.run()
        });
        let played = self.play_on_link(scope, progress);
        // Whatever happened, nothing may keep running: the scope waits for its threads.
        wake(&stop_forwarder);
        let forwarder = join("link", forwarding)?;
        let (devices, flows, checks, interrupted, failure) = played?;
        let server = self.foreign.take().map(Foreign::stop);
        Ok(Outcome {
            devices,
            flows,
            forwarder,
            checks,
            server,
            interrupted,
            failure,
        })
    }

    #[allow(clippy::type_complexity)]
    fn play_on_link<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, 'env>,
        progress: &mut dyn Progress,
    ) -> Result<
        (
            Vec<DeviceReport<Sampler>>,
            Vec<(u16, FlowReport)>,
            Vec<Vec<Duration>>,
            bool,
            Option<String>,
        ),
        RunError,
    > {
        let checks = self.check_links(scope)?;
        for (link, round_trips) in self.options.links.iter().zip(&checks) {
            progress.note(&checked(link, round_trips, self.options.ipv6));
        }
        let serving = match self.foreign {
            None => Some(self.serve(scope)?),
            Some(_) => None,
        };
        let played = self
            .start_devices(scope)
            .and_then(|clients| self.wait(clients, progress));
        // The scope waits for the servers: they are stopped whatever became of the devices.
        let flows = match serving {
            Some((stop, thread)) => {
                wake(&stop);
                join("server", thread)?
            }
            None => Vec::new(),
        };
        let (devices, interrupted, failure) = played?;
        Ok((devices, flows, checks, interrupted, failure))
    }

    /// Echoes over the path itself, so that the forwarder can make up for it, then over every link, one by one.
    fn check_links<'scope>(
        &self,
        scope: &'scope Scope<'scope, 'env>,
    ) -> Result<Vec<Vec<Duration>>, RunError> {
        let links = &self.options.links;
        let plans: Vec<EchoPlan> = links
            .iter()
            .enumerate()
            .map(|link| self.echo_plan(link))
            .collect();
        let path = self.echo_plan((links.len(), &LinkConfig::default()));
        let (side, clock, activity) = (&self.sides.device, self.clock, self.activity);
        let thread = scope.spawn(move || {
            side.enter().map_err(io::Error::other)?;
            minimize_timer_slack()?;
            activity.set_head_start(check::head_start(&check::echo(&path, &clock)?));
            plans.iter().map(|plan| check::echo(plan, &clock)).collect()
        });
        join("link check", thread)
    }

    fn echo_plan(&self, (index, link): (usize, &LinkConfig)) -> EchoPlan {
        let host = (self.plan.devices.len() + index) as HostIndex;
        let ipv6 = self.options.ipv6;
        let server = server_address(ipv6);
        // A slow link is probed slowly: requests of a tenth of its rate do not queue behind one another.
        let bytes = check::echo_wire_bytes(ipv6);
        let slowest = [link.up.rate, link.down.rate].into_iter().flatten().min();
        let interval = slowest.map_or(ECHO_INTERVAL, |rate| ECHO_INTERVAL.max(rate.time_for(bytes) * 10));
        let budget = Duration::from_millis(600);
        let affordable = budget.as_nanos() / interval.as_nanos().max(1);
        let count = u16::try_from(affordable)
            .unwrap_or(u16::MAX)
            .clamp(10, ECHO_COUNT);
        let patience = link.rtt() * 2 + Duration::from_millis(200);
        EchoPlan {
            device: device_address(host, ipv6).unwrap_or(server),
            server,
            count,
            interval,
            patience,
        }
    }

    #[allow(clippy::type_complexity)]
    fn serve<'scope>(
        &self,
        scope: &'scope Scope<'scope, 'env>,
    ) -> Result<
        (
            Stopper,
            ScopedJoinHandle<'scope, io::Result<Vec<(u16, FlowReport)>>>,
        ),
        RunError,
    > {
        let (ready, readiness) = mpsc::channel();
        let stacks: Vec<Stack> = self.plan.cells.iter().map(|cell| cell.stack).collect();
        let (side, clock, seed) = (&self.sides.server, self.clock, self.options.seed);
        let address = server_address(self.options.ipv6);
        let thread = scope.spawn(move || {
            side.enter().map_err(io::Error::other)?;
            minimize_timer_slack()?;
            priority::raise(Duty::Host);
            let services = services(&stacks, address, seed);
            let ports: Vec<u16> = services.iter().map(|service| service.address.port()).collect();
            let server = ServerLoop::new(services, clock, Discard, true)?;
            // The receiver only goes away together with the whole run.
            drop(ready.send(server.stopper()));
            let finished = server.run()?;
            Ok(finished
                .flows
                .into_iter()
                .map(|flow| (ports[flow.service], flow))
                .collect())
        });
        match readiness.recv() {
            Ok(stopper) => Ok((stopper, thread)),
            Err(_) => Err(join("server", thread)
                .err()
                .unwrap_or(RunError::Panicked("server"))),
        }
    }

    fn start_devices<'scope>(&self, scope: &'scope Scope<'scope, 'env>) -> Result<Clients<'scope>, RunError> {
        let devices = self.devices(self.clock.now() + LEAD)?;
        let (ready, readiness) = mpsc::channel();
        let (side, clock, activity) = (&self.sides.device, self.clock, Arc::clone(self.activity));
        let thread = scope.spawn(move || {
            side.enter().map_err(io::Error::other)?;
            minimize_timer_slack()?;
            priority::raise(Duty::Host);
            let clients = ClientLoop::new(devices, clock, activity)?;
            drop(ready.send((clients.stopper(), clients.progress())));
            clients.run()
        });
        match readiness.recv() {
            Ok((stop, done)) => Ok(Clients { stop, done, thread }),
            Err(_) => Err(join("device", thread)
                .err()
                .unwrap_or(RunError::Panicked("device"))),
        }
    }

    fn devices(&self, first: Instant) -> Result<Vec<Device<Client, Sampler>>, RunError> {
        let planned = self.plan.devices.iter().enumerate();
        let with_message =
            planned.filter_map(|(host, device)| Some((host, device, self.messages[device.cell].as_ref()?)));
        with_message
            .map(|(host, device, message)| self.device(host as HostIndex, device, message, first))
            .collect()
    }

    fn device(
        &self,
        host: HostIndex,
        device: &super::plan::PlannedDevice,
        message: &Message,
        first: Instant,
    ) -> Result<Device<Client, Sampler>, RunError> {
        let (options, cell) = (self.options, &self.plan.cells[device.cell]);
        let config = ClientConfig {
            client_id: format!("wc-{:05}", host + 1),
            keep_alive: options.keep_alive,
            rng: self.plan.rng_of(device),
        };
        let server = server_address(options.ipv6);
        Ok(Device {
            host,
            local: SocketAddr::new(device_address(host, options.ipv6).unwrap_or(server), 0),
            remote: SocketAddr::new(server, cell.stack.port()),
            transport: cell.stack.transport(),
            endpoint: Client::new(cell.stack, message, &config)?,
            script: Sampler::new(Timing {
                start: first + device.start,
                settle: options.settle,
                timeout: options.timeout,
                connect_timeout: CONNECT_TIMEOUT,
                messages: options.messages,
                interval: options.interval,
                answered: cell.stack.is_answered(),
            }),
        })
    }

    /// Waits for the devices; ends them early when the user, a full disk or a dead server says so.
    #[allow(clippy::type_complexity)]
    fn wait(
        &mut self,
        clients: Clients<'_>,
        progress: &mut dyn Progress,
    ) -> Result<(Vec<DeviceReport<Sampler>>, bool, Option<String>), RunError> {
        let total = self.plan.devices.len() as u64;
        let mut interrupted = false;
        let mut failure = None;
        while !clients.thread.is_finished() {
            thread::sleep(TICK);
            progress.tick(clients.done.load(Ordering::Relaxed), total);
            failure = failure.or_else(|| self.failure());
            interrupted |= progress.is_interrupted();
            if interrupted || failure.is_some() {
                wake(&clients.stop);
            }
        }
        progress.tick(clients.done.load(Ordering::Relaxed), total);
        Ok((join("device", clients.thread)?, interrupted, failure))
    }

    fn failure(&mut self) -> Option<String> {
        if self.activity.recording_failed() {
            return Some("packets can no longer be recorded: the disk of the results folder is full".into());
        }
        self.foreign.as_mut().and_then(Foreign::death)
    }
}

/// The RTT asked of a link beside the one that its check found.
fn checked(link: &LinkConfig, round_trips: &[Duration], ipv6: bool) -> String {
    let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
    let asked = ms(asked_rtt(link, ipv6));
    let mut sorted = round_trips.to_vec();
    sorted.sort_unstable();
    match sorted.get(sorted.len() / 2) {
        Some(median) => {
            let count = sorted.len();
            let achieved = ms(*median);
            format!("link: RTT asked {asked:.3} ms, achieved {achieved:.3} ms (median of {count} echoes)")
        }
        None => format!("link: RTT asked {asked:.3} ms, not achieved: no echo came back"),
    }
}

struct Clients<'scope> {
    stop: Stopper,
    done: Arc<std::sync::atomic::AtomicU64>,
    thread: ScopedJoinHandle<'scope, io::Result<Vec<DeviceReport<Sampler>>>>,
}

/// Wakes a loop so that it stops; a loop that has ended by itself cannot be woken and need not be.
fn wake(stopper: &Stopper) {
    drop(stopper.wake());
}

fn join<T>(what: &'static str, thread: ScopedJoinHandle<'_, io::Result<T>>) -> Result<T, RunError> {
    match thread.join() {
        Ok(result) => result.map_err(|source| RunError::Io { what, source }),
        Err(_) => Err(RunError::Panicked(what)),
    }
}

impl Target {
    /// Whether wirecost's own servers answer.
    pub const fn is_builtin(self) -> bool {
        matches!(self, Self::Builtin)
    }
}
