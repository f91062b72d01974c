//! Lets agents in: listens, checks the secret of each, and waits until all have come.

use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use wirecost_live::Clock;
use wirecost_live::entrance::Entrance as Places;
use wirecost_proto::PeerText;
use wirecost_security::certificate::{self, Authority, Identity};
use wirecost_security::entropy::NoEntropy;
use wirecost_security::pinned::{Pin, Secret, Session};

use super::channel::{Channel, ChannelError, Lines, lock};
use super::hub::Agents;
use super::join_file::JoinFile;
use super::line::NotALine;
use super::member::{FIRST_ROUND, Member, ROUND};
use super::message::{FromAgent, Join, ToAgent, to_line};

/// How long an agent may take from its connection to its first message, with the handshake.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many connections may be on their way to being let in. Further ones take the places of those that stall.
const MOST_AT_ONCE: usize = 64;
/// How often the listener, and a coordinator that waits, look around.
const LOOK: Duration = Duration::from_millis(20);
/// How often clocks are compared.
const BETWEEN_ROUNDS: Duration = Duration::from_secs(1);

/// Why there are no agents.
#[derive(Debug, thiserror::Error)]
pub enum AgentsError {
    /// The address is not available.
    #[error("cannot listen for agents on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
    /// Not all agents came in time.
    #[error("{} within {} s: {}", .there, .waited.as_secs(), .missing)]
    Missing {
        /// Who came, as a sentence.
        there: String,
        /// Who did not come, as a sentence.
        missing: String,
        /// How long they had.
        waited: Duration,
    },
    /// A clock is not known well enough.
    #[error("the clock of {agent} is known within {} only, and --clock-error-max is {}", micros(*.error_ns), micros(*.most_ns))]
    Clock {
        /// The agent.
        agent: String,
        /// The bound of its offset.
        error_ns: u64,
        /// The highest bound.
        most_ns: u64,
    },
    /// An agent cannot hold its devices.
    #[error("{agent} would have {devices} devices, and its limit of open files allows {sockets}")]
    Devices {
        /// The agent.
        agent: String,
        /// Its devices.
        devices: u64,
        /// How many it could have.
        sockets: u64,
    },
    /// There are more agents than devices.
    #[error("{agents} agents need at least as many devices, and the load has {devices}")]
    FewDevices {
        /// The agents.
        agents: usize,
        /// The devices.
        devices: u64,
    },
    /// The certificate cannot be made.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] certificate::Error),
    /// The system has no random bytes.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// The machine gives no more threads.
    #[error("cannot start a thread for the agents: {0}")]
    Thread(#[source] io::Error),
}

/// A time for a person: `41 us`, `12.3 ms`.
pub(super) fn micros(ns: u64) -> String {
    match ns {
        0..1_000_000 => format!("{} us", ns.div_ceil(1_000)),
        1_000_000..1_000_000_000 => format!("{:.1} ms", ns as f64 / 1e6),
        _ => format!("{:.3} s", ns as f64 / 1e9),
    }
}

/// A coordinator that waits for its agents.
#[derive(Debug)]
pub struct Gathering {
    entrance: Arc<Entrance>,
    file: JoinFile,
    listening: Option<JoinHandle<()>>,
    names: Vec<String>,
}

/// The entrance of a run.
#[derive(Debug)]
struct Entrance {
    identity: Identity,
    secret: Secret,
    version: String,
    asked: u32,
    clock: Clock,
    is_over: AtomicBool,
    entering: Arc<Places>,
    inside: Mutex<Inside>,
}

#[derive(Debug, Default)]
struct Inside {
    nonces: BTreeSet<String>,
    members: Vec<Arc<Member>>,
    refused: Vec<String>,
}

impl Gathering {
    /// Listens on `listen` for `asked` agents of this version, which dial `coordinator`; `None` is the address itself.
    ///
    /// # Errors
    /// The address is not available.
    pub fn open(
        listen: SocketAddr,
        coordinator: Option<&str>,
        asked: u32,
        version: &str,
    ) -> Result<Self, AgentsError> {
        let refused = |source| AgentsError::Listen {
            address: listen,
            source,
        };
        let listener = TcpListener::bind(listen).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        // Port 0 asks the kernel for a free one, which is known only now.
        let address = listener.local_addr().map_err(refused)?;
        // The agents pin this certificate, made for this run: no authority has to vouch for a coordinator by any name.
        let identity = Identity::generate(&Authority::generate()?)?;
        let secret = Secret::generate()?;
        let file = JoinFile {
            // Behind a NAT, or listening on every interface, the bound address is not the one that agents can dial.
            coordinator: coordinator.map_or_else(|| address.to_string(), str::to_owned),
            pin: Pin::from_identity(&identity),
            secret: secret.clone(),
        };
        let entrance = Arc::new(Entrance {
            identity,
            secret,
            version: version.to_owned(),
            asked,
            clock: Clock::start(),
            is_over: AtomicBool::new(false),
            entering: Places::new(MOST_AT_ONCE),
            inside: Mutex::default(),
        });
        let own = Arc::clone(&entrance);
        let listening = thread::Builder::new()
            .name("entrance".into())
            .spawn(move || own.listen(&listener))
            .map_err(AgentsError::Thread)?;
        Ok(Self {
            entrance,
            file,
            listening: Some(listening),
            names: Vec::new(),
        })
    }

    /// The names of the agents that are to come, if they are known.
    #[must_use]
    pub fn of_names(mut self, names: Vec<String>) -> Self {
        self.names = names;
        self
    }

    /// What an agent needs to take part.
    pub const fn file(&self) -> &JoinFile {
        &self.file
    }

    /// Waits until all agents are there and their clocks are measured, for `patience` at most; `None` if the run was
    /// interrupted. Tells `note` what happens.
    ///
    /// # Errors
    /// Somebody is missing, or the clock of one is not known within `most_error`.
    pub fn wait(
        self,
        patience: Duration,
        most_error: Duration,
        interrupted: &dyn Fn() -> bool,
        note: &mut dyn FnMut(&str),
    ) -> Result<Option<Agents>, AgentsError> {
        let (began, mut last_round) = (Instant::now(), Instant::now());
        loop {
            let members = self.present(note);
            let are_measured = members.iter().all(|member| member.rounds() > 0);
            if members.len() == self.entrance.asked as usize && are_measured {
                break;
            }
            if interrupted() {
                return Ok(None);
            }
            if began.elapsed() >= patience {
                return Err(self.missing(&members, patience));
            }
            if last_round.elapsed() >= BETWEEN_ROUNDS {
                last_round = Instant::now();
                members
                    .iter()
                    .filter(|member| member.rounds() > 0)
                    .for_each(|member| {
                        member.check();
                        member.begin_round(ROUND);
                    });
            }
            thread::sleep(LOOK);
        }
        let members = self.present(note);
        for member in &members {
            note(&described(member));
            let error_ns = member.known().map_or(u64::MAX, |known| known.error_ns());
            let most_ns = crate::nanos(most_error);
            if error_ns > most_ns {
                let agent = member.title();
                // Delays between agents would contain the error: better no load than wrong delays.
                return Err(AgentsError::Clock {
                    agent,
                    error_ns,
                    most_ns,
                });
            }
        }
        Agents::begin(members, self)
            .map(Some)
            .map_err(AgentsError::Thread)
    }

    /// The agents that are there. One that has gone again makes room for another.
    fn present(&self, note: &mut dyn FnMut(&str)) -> Vec<Arc<Member>> {
        let mut inside = lock(&self.entrance.inside);
        for refused in inside.refused.drain(..) {
            note(&refused);
        }
        // One that has gone must not be counted: the load would wait for its part.
        inside.members.retain(|member| {
            let loss = member.loss();
            if let Some(loss) = &loss {
                note(&loss.reason);
            }
            loss.is_none()
        });
        inside.members.clone()
    }

    fn missing(&self, members: &[Arc<Member>], waited: Duration) -> AgentsError {
        let asked = self.entrance.asked as usize;
        let there: Vec<String> = members.iter().map(|member| member.title()).collect();
        let is_there = |name: &&String| members.iter().any(|member| member.name.as_ref() == Some(name));
        let mut missing: Vec<String> = self
            .names
            .iter()
            .filter(|name| !is_there(name))
            .cloned()
            .collect();
        if self.names.is_empty() {
            let numbers = (1..=self.entrance.asked)
                .filter(|number| members.iter().all(|member| member.number != *number));
            missing = numbers.map(|number| format!("agent {number}")).collect();
        }
        let verb = if missing.len() == 1 { "is" } else { "are" };
        let came = match there.as_slice() {
            [] => String::new(),
            there => format!(" ({})", there.join(", ")),
        };
        AgentsError::Missing {
            there: format!("{} of {asked} agents came{came}", there.len()),
            missing: format!("{} {verb} missing", missing.join(", ")),
            waited,
        }
    }
}

impl Drop for Gathering {
    fn drop(&mut self) {
        self.entrance.is_over.store(true, Ordering::SeqCst);
        for member in std::mem::take(&mut lock(&self.entrance.inside).members) {
            member.dismiss();
        }
        if let Some(listening) = self.listening.take() {
            drop(listening.join());
        }
    }
}

/// `agent 1  10.0.1.7  8 CPUs  clock +81204.113513 s ± 41 us, measured over 64 exchanges`.
fn described(member: &Member) -> String {
    let name = member
        .name
        .as_ref()
        .map_or(String::new(), |name| format!("  {}", PeerText::new(name)));
    let clock = member.known().map_or_else(
        || "clock unknown".to_owned(),
        |known| {
            let offset_ns = known.offset_ns();
            let sign = if offset_ns < 0 { '-' } else { '+' };
            let (seconds, rest) = (
                offset_ns.unsigned_abs() / 1_000_000_000,
                offset_ns.unsigned_abs() % 1_000_000_000,
            );
            let (exchanges, _) = member.exchanges();
            let error = micros(known.error_ns());
            format!(
                "clock {sign}{seconds}.{:06} s ± {error}, measured over {exchanges} exchanges",
                rest / 1_000
            )
        },
    );
    let cpus = if member.cpus == 1 { "CPU" } else { "CPUs" };
    format!(
        "agent {}{name}  {}  {} {cpus}  {clock}",
        member.number, member.address, member.cpus
    )
}

impl Entrance {
    fn listen(self: &Arc<Self>, listener: &TcpListener) {
        while !self.is_over.load(Ordering::SeqCst) {
            match listener.accept() {
                Ok((stream, address)) => self.enter(stream, address),
                // No connection waits, or it has ended before it was accepted.
                Err(_) => thread::sleep(LOOK),
            }
        }
    }

    /// Lets a connection in on a thread of its own: the other connections do not wait for a peer that sends nothing.
    fn enter(self: &Arc<Self>, stream: TcpStream, address: SocketAddr) {
        // A connection that has ended needs no place.
        let Ok(place) = self.entering.enter(&stream) else {
            return;
        };
        let own = Arc::clone(self);
        let entering = move || {
            let entered = stream.set_nonblocking(false).map_err(ChannelError::from);
            let entered = entered.and_then(|()| own.admit(stream, address));
            drop(place);
            // A stranger learns nothing, and the user hears of agents alone.
            if let Ok(Some((member, mut lines))) = entered {
                member.begin_round(FIRST_ROUND);
                member.read(&mut lines);
            }
        };
        // Without a thread, the connection ends, and the agent tries again.
        drop(thread::Builder::new().name("agent".into()).spawn(entering));
    }

    /// Takes a connection through its handshake and its first message.
    fn admit(
        &self,
        stream: TcpStream,
        address: SocketAddr,
    ) -> Result<Option<(Arc<Member>, Lines)>, ChannelError> {
        let session = Session::server(&self.identity)?;
        let began = Instant::now();
        let (channel, mut lines) = Channel::open(stream, session, self.clock, PATIENCE)?;
        let Some((line, _)) = lines.next(PATIENCE.saturating_sub(began.elapsed()))? else {
            return Err(ChannelError::Silent(PATIENCE));
        };
        let Some(FromAgent::Join(join)) = FromAgent::from_line(&line) else {
            return Err(ChannelError::Line(NotALine));
        };
        match self.admitted(join, address, &channel) {
            Ok(member) => {
                channel.send(to_line(&ToAgent::Welcome {
                    number: member.number,
                }))?;
                // From here on its lines may be long: intervals with histograms are.
                lines.trust();
                Ok(Some((member, lines)))
            }
            Err(reason) => {
                let line = to_line(&ToAgent::Refused { reason });
                channel.send(line)?;
                // The peer closes when it has read this.
                drop(lines.next(PATIENCE));
                Ok(None)
            }
        }
    }

    fn admitted(
        &self,
        join: Join,
        address: SocketAddr,
        channel: &Arc<Channel>,
    ) -> Result<Arc<Member>, String> {
        let mut inside = lock(&self.inside);
        if let Err(reason) = self.check(&mut inside, &join) {
            let line = format!("an agent at {} was refused: {reason}", address.ip());
            inside.refused.push(line);
            return Err(reason);
        }
        let is_free = |number: &u32| inside.members.iter().all(|member| member.number != *number);
        // The number of one that has gone before the beginning is given again, so that numbers stay below the number of agents.
        let number = (1..=self.asked).find(is_free).unwrap_or(self.asked);
        let member = Member::new(
            number,
            address.ip().to_canonical(),
            join,
            Arc::clone(channel),
            self.clock,
        );
        inside.members.push(Arc::clone(&member));
        inside.members.sort_by_key(|member| member.number);
        Ok(member)
    }

    fn check(&self, inside: &mut Inside, join: &Join) -> Result<(), String> {
        // First of all: a stranger without the secret must not learn the version or who else takes part.
        if !self.secret.is_proven(&join.nonce, &join.proof) {
            return Err("it does not have the secret of this run; its join file is of another one".into());
        }
        // Jobs and messages have no version of their own; another build could read them differently and count something else.
        if join.version != self.version {
            return Err(format!(
                "it is wirecost {}, and the coordinator is {}; both must be the same",
                PeerText::new(&join.version),
                self.version
            ));
        }
        // A nonce that comes again is a recorded message sent again.
        if !inside.nonces.insert(join.nonce.clone()) {
            return Err("its secret has been used".into());
        }
        if inside.members.len() >= self.asked as usize {
            return Err(format!(
                "the join file has been used by all of its agents, {} of {}",
                self.asked, self.asked
            ));
        }
        // Warnings name agents by these names; two of one name could not be told apart.
        let is_double = |member: &Arc<Member>| join.name.is_some() && member.name == join.name;
        if let Some(other) = inside.members.iter().find(|member| is_double(member)) {
            return Err(format!(
                "{} has the same name; give each agent another --name",
                other.title()
            ));
        }
        Ok(())
    }
}
