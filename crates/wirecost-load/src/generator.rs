//! The generator of a load: loops on this machine, or on the machines of agents.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use wirecost_live::Clock;
use wirecost_live::cpu_time::CpuTime;
use wirecost_live::environment::Load as MachineLoad;
use wirecost_live::idle::{IdleCpus, KeepAwake};
use wirecost_live::limits::Limits;
use wirecost_live::process::usage::OwnUsage;
use wirecost_proto::hosts::DEVICES_V4;
use wirecost_scenario::options::load::{LoadOptions, LoadTarget};

use crate::context::RunContext;
use crate::coordinator::cpus;
use crate::devices::share::{Share, sources_of};
use crate::error::LoadError;
use crate::nanos;
use crate::parts::agents::Agents;
use crate::parts::agents::report::{self, AgentsReport};
use crate::parts::outcome::LoadOutcome;
use crate::parts::running::Parts;
use crate::parts::usage::Used;
use crate::parts::workers::{self, Layout};
use crate::targets::server::Server;
use crate::targets::wire;
use crate::verdict::Taken;

/// The number of devices that justify one more loop.
const DEVICES_PER_LOOP: u32 = 100;

/// What runs the devices of a load.
pub(super) enum Generator<'a> {
    /// Loops of this machine.
    Here(Here),
    /// Loops of agents on other machines.
    Agents(OnAgents<'a>),
}

/// The generator on this machine.
pub(super) struct Here {
    loops: u32,
    processes: u32,
    /// The worker processes.
    pids: Vec<u32>,
    keep_awake: KeepAwake,
    /// The machine before the load.
    before: (MachineLoad, CpuTime),
}

/// The generator on other machines.
pub(super) struct OnAgents<'a> {
    agents: &'a Agents,
    /// The shares of each agent.
    shares: Vec<Vec<Share>>,
    /// The coordinator compares clocks.
    _keep_awake: KeepAwake,
}

/// Where the devices of a load will run.
pub(super) enum Machines<'a> {
    /// Here, within these limits.
    Here(Limits),
    /// On the machines of agents.
    Agents(&'a Agents),
}

impl<'a> Machines<'a> {
    /// Takes the machines of the context. Raises the limits of this one, and refuses source addresses that are not its own. On an emulated
    /// link and on agents, devices have other addresses.
    pub(super) fn check(
        options: &LoadOptions,
        context: &RunContext<'a>,
        has_link: bool,
    ) -> Result<Self, LoadError> {
        let limits = Limits::read().map_err(|source| LoadError::Machine {
            action: "raise the limit on open files",
            source,
        })?;
        match context.agents {
            Some(agents) => Ok(Self::Agents(agents)),
            // The link gives each device an address of its own, which this machine does not have.
            None if has_link => Ok(Self::Here(limits)),
            None => check_sources(&options.sources).map(|()| Self::Here(limits)),
        }
    }

    /// Starts the parts of a load, and begins to count the packets to `server` where they can be counted.
    pub(super) fn start(
        self,
        options: &LoadOptions,
        server: &mut Server,
        program: &Path,
        clock: Clock,
    ) -> Result<(Generator<'a>, Parts), LoadError> {
        match self {
            Self::Agents(agents) => {
                let (generator, parts) = OnAgents::start(options, server, agents)?;
                Ok((Generator::Agents(generator), parts))
            }
            Self::Here(limits) => {
                let (generator, parts) = Here::start(options, server, &limits, program, clock)?;
                Ok((Generator::Here(generator), parts))
            }
        }
    }
}

impl Generator<'_> {
    /// Its loops, which are the parts of the load.
    pub(super) fn loops(&self) -> u32 {
        match self {
            Self::Here(here) => here.loops,
            Self::Agents(on) => number(on.shares.iter().flatten().count()),
        }
    }

    /// How many processes make the load: on this machine, or one on each agent.
    pub(super) fn processes(&self) -> u32 {
        match self {
            Self::Here(here) => here.processes,
            Self::Agents(on) => number(on.shares.len()),
        }
    }

    /// The resources that it has used so far.
    pub(super) fn used(&self) -> Used {
        match self {
            Self::Here(here) => used_by(&here.pids),
            Self::Agents(on) => on.agents.used(),
        }
    }

    /// The number of its CPUs.
    pub(super) fn cpus(&self) -> usize {
        match self {
            Self::Here(_) => cpus(),
            Self::Agents(on) => on.agents.cpus(),
        }
    }

    /// Whether its idle CPUs are kept awake.
    pub(super) fn idle_cpus(&self) -> IdleCpus {
        let is_awake = match self {
            Self::Here(here) => here.keep_awake.idle_cpus() == IdleCpus::Awake,
            Self::Agents(on) => on.agents.are_awake(),
        };
        if is_awake {
            IdleCpus::Awake
        } else {
            IdleCpus::Asleep
        }
    }

    /// Whether packets, if they are counted, are counted with those of other programs: the sockets of worker processes are not known.
    pub(super) fn counts_every_program(&self, options: &LoadOptions) -> bool {
        match self {
            Self::Here(here) => here.processes > 1 && wire::own_sockets(options).is_some(),
            Self::Agents(_) => false,
        }
    }

    /// Ends the load, whose devices have ended. Returns what the results say about the agents, if they generated.
    pub(super) fn end(&mut self, outcome: &mut LoadOutcome) -> Option<AgentsReport> {
        match self {
            Self::Here(_) => None,
            Self::Agents(on) => {
                let tasks = on.agents.end_load(on.shares.clone());
                Some(report::collect(&tasks, outcome))
            }
        }
    }

    /// The processor time that others had since the start, with a target at `address`.
    pub(super) fn taken(&self, options: &LoadOptions, address: SocketAddr) -> Taken {
        match self {
            Self::Here(here) => here.taken(options, address),
            Self::Agents(on) => Taken {
                by_hypervisor: on.agents.steal(),
                by_programs: 0.0,
            },
        }
    }

    /// The addresses that devices send from. On an emulated link each device has its own.
    pub(super) fn sources(&self, options: &LoadOptions, target: SocketAddr, has_link: bool) -> Vec<String> {
        match self {
            Self::Here(_) if has_link => vec![format!("{DEVICES_V4}/16")],
            Self::Here(_) => {
                let sources = sources_of(options, target, options.clients).towards(target);
                sources.iter().map(IpAddr::to_string).collect()
            }
            Self::Agents(on) => {
                let members = on.agents.members().iter();
                members.map(|member| member.address.to_string()).collect()
            }
        }
    }
}

impl Here {
    fn start(
        options: &LoadOptions,
        server: &mut Server,
        limits: &Limits,
        program: &Path,
        clock: Clock,
    ) -> Result<(Self, Parts), LoadError> {
        // A CPU for each of them: a target or an emulator that waits for a generator would be blamed for it.
        let others = u32::from(server.is_here()) + u32::from(options.link.is_some());
        let loops = loops(options, others);
        let layout = Layout::choose(options, server.address(), limits, loops)?;
        let own_sockets = wire::own_sockets(options).filter(|_| layout.is_one_process());
        let mut shares = Share::split(&Arc::new(options.clone()), server.destination(), layout.parts());
        for share in &mut shares {
            share.own_sockets.clone_from(&own_sockets);
        }
        let parts = workers::parts(&layout, program, shares)?;
        // Behind the start of the parts, before which nothing is sent.
        server.count_wire(options, own_sockets, clock);
        let generator = Self {
            loops: number(parts.len()),
            processes: layout.processes,
            pids: parts.pids.clone(),
            keep_awake: KeepAwake::hold(),
            // Behind the start of the parts, whose work is no load of others.
            before: (MachineLoad::read(), CpuTime::read()),
        };
        Ok((generator, parts))
    }

    /// A running server on this machine may be one of the other programs, so that their time is not known.
    fn taken(&self, options: &LoadOptions, address: SocketAddr) -> Taken {
        let (machine, cpu_time) = &self.before;
        let is_beside = matches!(options.target, LoadTarget::Url(_)) && address.ip().is_loopback();
        Taken {
            by_hypervisor: MachineLoad::read().steal_share_since(machine),
            by_programs: match is_beside {
                true => 0.0,
                false => CpuTime::read().share_of_others_since(cpu_time),
            },
        }
    }
}

impl<'a> OnAgents<'a> {
    fn start(
        options: &LoadOptions,
        server: &mut Server,
        agents: &'a Agents,
    ) -> Result<(Self, Parts), LoadError> {
        let shares = agents.shares(options, server.destination())?;
        let parts = agents.parts(&shares);
        server.leave_wire_uncounted("agents send them, on other machines");
        let generator = Self {
            agents,
            shares,
            _keep_awake: KeepAwake::hold(),
        };
        Ok((generator, parts))
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
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
    let workers = workers.iter().filter_map(|pid| OwnUsage::of_process(*pid).ok());
    let all = OwnUsage::read().into_iter().chain(workers);
    all.fold(Used::default(), |sum, usage| Used {
        user_ns: sum.user_ns + nanos(usage.user),
        system_ns: sum.system_ns + nanos(usage.system),
        busiest_ns: None,
        resident_bytes: sum.resident_bytes + usage.resident_bytes,
        processes: sum.processes + 1,
    })
}
