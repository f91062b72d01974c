//! The threads of a run: forwarder, servers, devices, and the thread that waits for them.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use wirecost_link::LinkConfig;
use wirecost_live::Clock;
use wirecost_live::activity::Activity;
use wirecost_live::check::{self, EchoPlan};
use wirecost_live::driver::Stopper;
use wirecost_live::driver::client::ClientLoop;
use wirecost_live::driver::server::ServerLoop;
use wirecost_live::emulation::{EmulationError, echo};
use wirecost_live::foreign::{Foreign, ForeignReport};
use wirecost_live::priority::{self, Duty};
use wirecost_live::timerfd::minimize_timer_slack;
use wirecost_proto::driver::{Device, DeviceReport, FlowReport};
use wirecost_proto::hosts::{HostIndex, any_address, device_address, device_of, server_address};
use wirecost_proto::random::key_of;
use wirecost_proto::{Instant, Path, Rng};
use wirecost_scenario::options::compare::Options;
use wirecost_scenario::plan::{DeviceLinks, Plan, PlannedDevice};
use wirecost_stack::channels::{ClientChannels, ServerChannels};
use wirecost_stack::server::{Discard, services};
use wirecost_stack::{Client, Message, Stack};

use super::reach::Reached;
use super::wire::{Seen, Wire};
use super::{Progress, RunError};
use crate::compare::device::{client_config, timing};
use crate::compare::sampler::Sampler;

/// How often to report progress and check whether the run is over.
const TICK: Duration = Duration::from_millis(50);
/// The time between the check of the links and the first device.
const LEAD: Duration = Duration::from_millis(50);

/// The namespaces of a run's threads.
pub(super) struct Sides {
    /// The devices' side.
    pub(super) device: wirecost_live::Side,
    /// The server's side.
    pub(super) server: wirecost_live::Side,
}

/// The data that the threads of a run share.
pub(super) struct Stage<'a> {
    /// The options.
    pub(super) options: &'a Options,
    /// Cells and devices.
    pub(super) plan: &'a Plan,
    /// The messages of each cell's devices; `None` if the cell is not run.
    pub(super) messages: Vec<Option<Message>>,
    /// The clock of all threads.
    pub(super) clock: Clock,
    /// The state shared with the forwarder.
    pub(super) activity: &'a Arc<Activity>,
    /// The two sides.
    pub(super) sides: &'a Sides,
    /// The channels that servers accept.
    pub(super) server_channels: &'a ServerChannels,
    /// The channels that devices offer.
    pub(super) channels: &'a ClientChannels,
    /// The foreign server, if there is one.
    pub(super) foreign: Option<Foreign>,
    /// The server that runs already, if there is one.
    pub(super) reached: Option<&'a Reached>,
}

/// The results of a run's threads.
pub(super) struct Played {
    /// The notes of the devices.
    pub(super) devices: Vec<DeviceReport<Sampler>>,
    /// The logs of the built-in servers' flows, with the server's port.
    pub(super) flows: ServerFlows,
    /// The packets, and how they were carried.
    pub(super) seen: Seen,
    /// The round-trip times of each link's check.
    pub(super) checks: Vec<Vec<Duration>>,
    /// The report of the foreign server.
    pub(super) server: Option<ForeignReport>,
    /// Whether the user ended it.
    pub(super) interrupted: bool,
    /// Why it ended early, unless the user ended it.
    pub(super) failure: Option<String>,
}

/// The flows of the built-in servers, with the server's port.
type ServerFlows = Vec<(u16, FlowReport)>;

/// The result of the devices on a checked link.
struct OnLink {
    watched: Watched,
    flows: ServerFlows,
    checks: Vec<Vec<Duration>>,
}

/// The notes of the devices, and why they ended early.
struct Watched {
    devices: Vec<DeviceReport<Sampler>>,
    interrupted: bool,
    failure: Option<String>,
}

/// Gives a flow of a server the device's own port, which the link's address translator may have replaced: packets are recorded
/// with that one.
fn show_own_port(flow: &mut FlowReport, links: &DeviceLinks) {
    let peer = flow.peer;
    if let Some(link) = device_of(peer.ip()).and_then(|host| links.link_of(host)) {
        let own = link.own_port((flow.log.transport, peer.ip()), peer.port());
        flow.peer.set_port(own);
    }
}

/// The thread of the built-in servers.
struct Serving<'scope> {
    stop: StopOnDrop,
    thread: ScopedJoinHandle<'scope, io::Result<ServerFlows>>,
}

/// The thread of the devices.
struct Clients<'scope> {
    stop: StopOnDrop,
    done: Arc<AtomicU64>,
    thread: ScopedJoinHandle<'scope, io::Result<Vec<DeviceReport<Sampler>>>>,
}

impl<'env> Stage<'env> {
    /// Runs the threads: first the link, then its check, the servers and the devices. The link ends last.
    pub(super) fn play<'scope>(
        mut self,
        scope: &'scope Scope<'scope, 'env>,
        wire: Wire,
        progress: &mut dyn Progress,
    ) -> Result<Played, RunError> {
        let stop_wire = StopOnDrop(wire.stopper());
        let carrying = scope.spawn(move || wire.run());
        let played = self.play_on_link(scope, progress);
        // The link must carry what the servers and devices still say when they end.
        drop(stop_wire);
        let seen = join("link", carrying)?;
        let OnLink {
            watched,
            mut flows,
            checks,
        } = played?;
        flows
            .iter_mut()
            .for_each(|(_, flow)| show_own_port(flow, &seen.links));
        let Watched {
            devices,
            interrupted,
            failure,
        } = watched;
        let server = self.foreign.take().map(Foreign::stop);
        Ok(Played {
            devices,
            flows,
            seen,
            checks,
            server,
            interrupted,
            failure,
        })
    }

    fn play_on_link<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, 'env>,
        progress: &mut dyn Progress,
    ) -> Result<OnLink, RunError> {
        let checks = match self.reached {
            Some(reached) if reached.is_on_real_path() => Vec::new(),
            _ => self.check_links(scope, progress)?,
        };
        for (link, round_trips) in self.options.links.iter().zip(&checks) {
            progress.note(&echo::asked_and_achieved(link, round_trips, self.options.ipv6));
            let rng = Rng::new(self.options.seed).purpose(key_of("link decisions"));
            if let Some(line) = echo::decisions(link, rng) {
                progress.note(&line);
            }
        }
        let serving = match (&self.foreign, self.reached) {
            (None, None) => Some(self.serve(scope)?),
            _ => None,
        };
        let watched = self
            .start_devices(scope)
            .and_then(|clients| self.wait(clients, progress));
        // The scope waits for the servers, so they are stopped even if the devices failed.
        let flows = match serving {
            Some(serving) => {
                drop(serving.stop);
                join("server", serving.thread)?
            }
            None => Vec::new(),
        };
        Ok(OnLink {
            watched: watched?,
            flows,
            checks,
        })
    }

    /// Sends echoes over the path itself, so that the forwarder can compensate for it, and then over every link in
    /// turn.
    fn check_links<'scope>(
        &self,
        scope: &'scope Scope<'scope, 'env>,
        progress: &mut dyn Progress,
    ) -> Result<Vec<Vec<Duration>>, RunError> {
        let links = &self.options.links;
        let plans: Vec<EchoPlan> = links
            .iter()
            .enumerate()
            .map(|link| self.echo_plan(link))
            .collect();
        let path = self.echo_plan((links.len(), &LinkConfig::default()));
        let (side, clock, activity) = (&self.sides.device, self.clock, self.activity);
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = scope.spawn(move || {
            side.enter().map_err(io::Error::other)?;
            minimize_timer_slack()?;
            // Before the links are checked, so that the checks are made with the compensation that the run has.
            activity.set_head_start(check::head_start(&check::echo(&path, &clock, &told)?));
            plans
                .iter()
                .map(|plan| check::echo(plan, &clock, &told))
                .collect()
        });
        while !thread.is_finished() {
            thread::sleep(TICK);
            progress.checking(self.options.links.len());
            stop.fetch_or(progress.is_interrupted(), Ordering::Relaxed);
        }
        join("link check", thread)
    }

    fn serve<'scope>(&self, scope: &'scope Scope<'scope, 'env>) -> Result<Serving<'scope>, RunError> {
        let (ready, readiness) = mpsc::channel();
        let runnable = self.plan.cells.iter().filter(|cell| cell.not_run.is_none());
        let stacks: Vec<Stack> = runnable.map(|cell| cell.stack).collect();
        let (side, clock, seed) = (&self.sides.server, self.clock, self.options.seed);
        let (address, channels) = (server_address(self.options.ipv6), self.server_channels);
        let (one_cpu, writing) = (self.options.one_cpu, self.options.sending.writing());
        let thread = scope.spawn(move || {
            side.enter().map_err(io::Error::other)?;
            // The kernel may delay a timer by 50 us to save wake-ups (prctl(2), PR_SET_TIMERSLACK): measured times would have that in them.
            minimize_timer_slack()?;
            raise_host(one_cpu)?;
            let services = services(&stacks, address, channels, seed).map_err(io::Error::other)?;
            let ports: Vec<u16> = services.iter().map(|service| service.address.port()).collect();
            let server = ServerLoop::new(services, clock, Discard, true)?
                .with_nagle(writing.nagle)
                .with_congestion(writing.congestion);
            // The receiver lives as long as the run.
            drop(ready.send(server.stopper()));
            let finished = server.run()?;
            Ok(finished
                .flows
                .into_iter()
                .map(|flow| (ports[flow.service], flow))
                .collect())
        });
        match readiness.recv() {
            Ok(stop) => Ok(Serving {
                stop: StopOnDrop(stop),
                thread,
            }),
            Err(_) => Err(join("server", thread)
                .err()
                .unwrap_or(EmulationError::Panicked("server").into())),
        }
    }

    fn start_devices<'scope>(&self, scope: &'scope Scope<'scope, 'env>) -> Result<Clients<'scope>, RunError> {
        let devices = self.devices(self.clock.now() + LEAD)?;
        let (ready, readiness) = mpsc::channel();
        let (side, clock, activity) = (&self.sides.device, self.clock, Arc::clone(self.activity));
        let (one_cpu, writing) = (self.options.one_cpu, self.options.sending.writing());
        let thread = scope.spawn(move || {
            side.enter().map_err(io::Error::other)?;
            minimize_timer_slack()?;
            raise_host(one_cpu)?;
            let clients = ClientLoop::new(devices, clock, activity)?.with_writing(writing);
            drop(ready.send((clients.stopper(), clients.progress())));
            clients.run()
        });
        match readiness.recv() {
            Ok((stop, done)) => Ok(Clients {
                stop: StopOnDrop(stop),
                done,
                thread,
            }),
            Err(_) => Err(join("device", thread)
                .err()
                .unwrap_or(EmulationError::Panicked("device").into())),
        }
    }

    fn echo_plan(&self, (index, link): (usize, &LinkConfig)) -> EchoPlan {
        let host = (self.plan.devices.len() + index) as HostIndex;
        echo::plan(link, host, self.options.ipv6)
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
        device: &PlannedDevice,
        message: &Message,
        first: Instant,
    ) -> Result<Device<Client, Sampler>, RunError> {
        let (options, cell) = (self.options, &self.plan.cells[device.cell]);
        let mut config = client_config(options, cell, host, device.sample);
        let (mut ipv6, mut remote) = (
            options.ipv6,
            SocketAddr::new(server_address(options.ipv6), cell.port),
        );
        if let Some(reached) = self.reached {
            (ipv6, remote) = (reached.is_ipv6(), reached.destination(cell));
            // A server that others use has clients of its own: the identifiers of a run carry its tag.
            config.client_id = reached.client_id(host);
            config.session = reached.session();
            config.hostname = Some(reached.hostname());
        }
        let local = match self.reached {
            // On the real path the kernel chooses the source address by its routes.
            Some(reached) if reached.is_on_real_path() => any_address(ipv6),
            _ => device_address(host, ipv6).unwrap_or_else(|| server_address(ipv6)),
        };
        Ok(Device {
            host,
            local: SocketAddr::new(local, 0),
            remote,
            transport: cell.stack.transport(),
            endpoint: Client::new(message, &config, self.channels)?,
            script: Sampler::new(timing(options, cell, first + device.start)),
        })
    }

    /// Waits for the devices. Ends them early after an interruption, on a full disk, or if the server dies.
    fn wait(&mut self, clients: Clients<'_>, progress: &mut dyn Progress) -> Result<Watched, RunError> {
        let total = self.plan.devices.len() as u64;
        let mut interrupted = false;
        let mut failure = None;
        while !clients.thread.is_finished() {
            thread::sleep(TICK);
            progress.tick(clients.done.load(Ordering::Relaxed), total);
            // The first failure is the cause; later ones follow from it.
            failure = failure.or_else(|| self.failure());
            interrupted |= progress.is_interrupted();
            if interrupted || failure.is_some() {
                clients.stop.wake();
            }
        }
        progress.tick(clients.done.load(Ordering::Relaxed), total);
        let devices = join("device", clients.thread)?;
        Ok(Watched {
            devices,
            interrupted,
            failure,
        })
    }

    fn failure(&mut self) -> Option<String> {
        if self.activity.recording_failed() {
            return Some("packets can no longer be recorded: the disk of the results folder is full".into());
        }
        self.foreign.as_mut().and_then(Foreign::death)
    }
}

/// Gives the calling thread a host's priority and, if all threads share one CPU, that CPU.
fn raise_host(one_cpu: bool) -> io::Result<()> {
    priority::raise(Duty::Host);
    if one_cpu {
        priority::share_one_cpu()?;
    }
    Ok(())
}

/// Stops the loop of a thread when it is dropped: the scope waits for its threads even after a panic.
struct StopOnDrop(Stopper);

impl StopOnDrop {
    /// Wakes the loop so that it stops. A loop that has ended cannot be woken and need not be.
    fn wake(&self) {
        drop(self.0.wake());
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.wake();
    }
}

fn join<T>(what: &'static str, thread: ScopedJoinHandle<'_, io::Result<T>>) -> Result<T, RunError> {
    match thread.join() {
        Ok(result) => Ok(result.map_err(EmulationError::doing(what))?),
        Err(_) => Err(EmulationError::Panicked(what).into()),
    }
}
