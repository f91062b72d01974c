//! The agents of a load: writes the join file, starts agents over SSH if asked, and waits until all have come.

use std::cell::RefCell;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use wirecost_live::signals::Interrupt;
use wirecost_load::parts::agents::{Agents, AgentsError, Gathering};
use wirecost_proto::units::counted;
use wirecost_scenario::options::load::{LoadEngine, LoadOptions, LoadTarget};

use crate::arguments::{AgentsArguments, AgentsAsked};
use crate::exit::{self, Failure};
use crate::output;

/// How long agents over SSH may take to end with their load.
const ENDING: Duration = Duration::from_secs(5);

/// The agents of a run.
pub struct Gathered {
    agents: Agents,
    /// The connections over which agents were started. They end after the agents.
    _shells: Shells,
}

impl Gathered {
    /// Those that have come, for as long as their shells are held.
    pub const fn agents(&self) -> &Agents {
        &self.agents
    }
}

/// Waits for the agents of `arguments`; `None` if the user has interrupted the wait.
pub fn gather(
    arguments: &AgentsArguments,
    asked: &AgentsAsked,
    loads: &[LoadOptions],
    interrupt: Interrupt,
) -> Result<Option<Gathered>, Failure> {
    // Before anyone waits: people start agents by hand on other machines.
    loads.iter().try_for_each(can_have_agents)?;
    let (count, hosts) = match asked {
        AgentsAsked::Count(count) => (*count, Vec::new()),
        AgentsAsked::Ssh(hosts) => (u32::try_from(hosts.len()).unwrap_or(u32::MAX), hosts.clone()),
    };
    let listen = arguments
        .listen
        .ok_or_else(|| Failure::usage("--agents needs --listen ADDRESS:PORT"))?;
    // The join file tells agents where to dial, and 0.0.0.0 there would be the agent's own machine.
    if listen.ip().is_unspecified() && arguments.join_address.is_none() {
        return Err(Failure::usage(format!("agents cannot dial {}", listen.ip()))
            .with_hint("--listen with an address of this machine, or --join-address HOST:PORT"));
    }
    let join_address = arguments.join_address.as_deref();
    let gathering =
        Gathering::open(listen, join_address, count, env!("CARGO_PKG_VERSION")).map_err(failed)?;
    let text = gathering.file().to_text();
    let gathering = gathering.of_names(hosts.clone());
    let (file, shells) = if hosts.is_empty() {
        let file = Written::create(&gathering, &arguments.join_file)?;
        output::note(format_args!(
            "waiting for {}: wirecost agent --join {}      (the file is 0600; copy it, it is good for this run)",
            counted(count.into(), "agent"),
            arguments.join_file.display()
        ));
        (Some(file), Shells::default())
    } else {
        let shells = Shells::start(&hosts, &text)?;
        output::note(format_args!(
            "waiting for {} over ssh: {}",
            counted(count.into(), "agent"),
            hosts.join(", ")
        ));
        (None, shells)
    };
    let shells = RefCell::new(shells);
    let gathered = gathering.wait(
        arguments.agents_wait,
        arguments.clock_error_max,
        // An agent whose ssh has ended never comes: without this the wait would last its whole time.
        &|| interrupt.is_set() || shells.borrow_mut().ended().is_some(),
        &mut |line| output::note(line),
    );
    // All of its agents have come, or it is of no more use.
    drop(file);
    let agents = gathered.map_err(failed)?;
    let mut shells = shells.into_inner();
    if let Some((host, status)) = shells.ended().filter(|_| agents.is_none() && !interrupt.is_set()) {
        let message = format!("ssh {host} ended before its agent came: {status}");
        return Err(Failure::new(exit::UNREACHABLE, message).with_hint(format!(
            "this has to work without a question: ssh {host} wirecost --version"
        )));
    }
    Ok(agents.map(|agents| Gathered {
        agents,
        _shells: shells,
    }))
}

/// Refuses loads that agents cannot run.
fn can_have_agents(load: &LoadOptions) -> Result<(), Failure> {
    let refused = |what: &str, hint: &str| Err(Failure::usage(what).with_hint(hint.to_owned()));
    if load.engine == LoadEngine::Sim {
        return refused(
            "--engine sim has no agents",
            "a load in virtual time needs no other machine",
        );
    }
    if !matches!(load.target, LoadTarget::Url(_)) {
        return refused(
            "--agents need a target that they can reach",
            "start the server yourself, and name its URL: wirecost serve mqtt --listen ADDRESS:PORT",
        );
    }
    // The emulated link is between namespaces of one kernel: nothing outside of them is behind it.
    if load.makes_namespaces() {
        return refused(
            "--agents cannot share an emulated link",
            "leave the options of the link out",
        );
    }
    if load.processes.is_some() {
        return refused(
            "an agent is one process",
            "leave --processes out, or start more agents",
        );
    }
    // Agents are other machines, which do not have these addresses.
    if !load.sources.is_empty() {
        return refused(
            "--source takes addresses of this machine",
            "leave it out with --agents",
        );
    }
    Ok(())
}

/// The join file, which is removed when it is dropped.
struct Written(PathBuf);

impl Written {
    fn create(gathering: &Gathering, path: &Path) -> Result<Self, Failure> {
        let created = gathering.file().create(path);
        created.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => {
                Failure::usage(format!("--join-file: {} is there already", path.display())).with_hint(
                    "another load may wait for its agents; choose another file, or remove this one",
                )
            }
            _ => output::unwritable("--join-file", path, &error.into()),
        })?;
        Ok(Self(path.to_owned()))
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        // The user may have removed it.
        drop(fs::remove_file(&self.0));
    }
}

/// Agents that were started over SSH.
#[derive(Default)]
struct Shells {
    /// Each with its host.
    agents: Vec<(String, Child)>,
    /// The one that was the first to be seen to have ended: the others end with the wait, which it ends.
    first_ended: Option<(String, ExitStatus)>,
}

impl Shells {
    /// Starts an agent on each host, with the join file on its standard input: not in its command line.
    fn start(hosts: &[String], join_file: &str) -> Result<Self, Failure> {
        let mut shells = Self::default();
        for host in hosts {
            let mut command = Command::new("ssh");
            // ssh has no terminal on which a person could answer it.
            command.args([
                "-o",
                "BatchMode=yes",
                "--",
                host,
                "wirecost",
                "agent",
                "--join",
                "-",
                "--name",
                host,
            ]);
            command.stdin(Stdio::piped()).stdout(Stdio::null());
            let mut child = command.spawn().map_err(|error| {
                Failure::new(exit::PRIVILEGE, format!("cannot run ssh {host}: {error}"))
                    .with_hint("install an SSH client, or start the agents yourself: --agents N")
            })?;
            if let Some(mut input) = child.stdin.take() {
                // If ssh has ended already, its agent is missing, and the wait says so.
                drop(input.write_all(join_file.as_bytes()));
            }
            shells.agents.push((host.clone(), child));
        }
        Ok(shells)
    }

    /// The first of them that has ended.
    fn ended(&mut self) -> Option<(String, ExitStatus)> {
        if self.first_ended.is_none() {
            let mut agents = self.agents.iter_mut();
            self.first_ended = agents.find_map(|(host, child)| Some((host.clone(), child.try_wait().ok()??)));
        }
        self.first_ended.clone()
    }
}

impl Drop for Shells {
    fn drop(&mut self) {
        let until = Instant::now() + ENDING;
        for (_, child) in &mut self.agents {
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(20));
            }
            // It has ended, or does not end by itself.
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// The failure of agents that are missing, or that cannot run a load.
pub fn failed(error: AgentsError) -> Failure {
    let (code, hint) = match &error {
        AgentsError::Listen { .. } => (
            exit::PRIVILEGE,
            "--listen takes an address of this machine and a free port",
        ),
        AgentsError::Missing { .. } => (
            exit::UNREACHABLE,
            "start the missing ones with wirecost agent --join FILE while the coordinator waits; --agents-wait TIME waits longer",
        ),
        AgentsError::Clock { .. } => (
            exit::INVALID,
            "nothing was sent; a shorter path to the agent bounds its clock better, or --clock-error-max TIME accepts the error",
        ),
        AgentsError::Devices { .. } => (
            exit::PRIVILEGE,
            "raise the limit there: ulimit -n; or start more agents",
        ),
        AgentsError::FewDevices { .. } => (exit::USAGE, "more --clients, or fewer --agents"),
        AgentsError::Thread(_) => (exit::PRIVILEGE, "raise the limit that refused it (ulimit -u)"),
        AgentsError::Certificate(_) | AgentsError::Entropy(_) => {
            (exit::INTERNAL, "the system's random number generator is needed")
        }
    };
    Failure::new(code, &error).with_hint(hint)
}
