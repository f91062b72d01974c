//! The side of an agent: it dials the coordinator, answers its questions at once, and runs its parts of each load.
//!
//! Its parts count time on the coordinator's clock: they know what this machine's clock shows more
//! ([`Share::offset_ns`]).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use wirecost_live::Clock;
use wirecost_live::environment::Load as MachineLoad;
use wirecost_live::idle::{IdleCpus, KeepAwake};
use wirecost_live::limits::Limits;
use wirecost_live::patience::Patience;
use wirecost_live::process::usage::OwnUsage;
use wirecost_probe::reach::{addresses_of, connect};
use wirecost_proto::PeerText;
use wirecost_security::entropy::{Entropy, NoEntropy};
use wirecost_security::pinned::{Session, SessionError};

use super::channel::{Channel, ChannelError, Lines};
use super::join_file::JoinFile;
use super::message::{AgentUse, FromAgent, Join, ToAgent, to_line};
use crate::devices::part::{FromPart, Inbox, ToPart};
use crate::devices::share::Share;
use crate::nanos;
use crate::parts::workers::job::{Addressed, Job};
use crate::parts::workers::worker;

/// How long the coordinator may take to accept a connection, for the handshake and to answer.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// How long an agent waits before its second attempt to take part; twice as long before each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// How long the coordinator, which asks once a second, may be silent: less than an agent may be, which has then stopped when it
/// is given up.
pub const SILENCE: Duration = Duration::from_secs(4);
/// How often an agent looks whether it is to end.
const LOOK: Duration = Duration::from_millis(200);

/// Why an agent has ended early.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The coordinator does not answer.
    #[error("the coordinator at {coordinator} does not answer: {reason}")]
    Unreachable {
        /// Its address.
        coordinator: String,
        /// The cause.
        reason: String,
    },
    /// Another run is at the address.
    #[error("the coordinator at {0} is not the one of the join file: the file is of another run")]
    OtherRun(String),
    /// The coordinator refused.
    #[error("the coordinator refused this agent: {0}")]
    Refused(PeerText),
    /// The coordinator has gone.
    #[error("the coordinator at {coordinator} has gone: {reason}")]
    Gone {
        /// Its address.
        coordinator: String,
        /// The cause.
        reason: String,
    },
    /// The machine refused.
    #[error("cannot read the limits of this machine: {0}")]
    Machine(#[from] std::io::Error),
    /// The system has no random bytes.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
}

/// How an agent has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The coordinator has no more work.
    Dismissed,
    /// Its user has ended it.
    Interrupted,
}

/// What an agent needs apart from its join file.
pub struct AgentContext<'a> {
    /// Version of wirecost.
    pub version: &'a str,
    /// The name that its user gave it.
    pub name: Option<String>,
    /// Whether it is to end.
    pub interrupted: &'a dyn Fn() -> bool,
    /// Tells the user what happens.
    pub note: &'a mut dyn FnMut(&str),
}

/// Takes part in one run, until the coordinator has no more work.
///
/// # Errors
/// [`AgentError`] says why it could not.
pub fn run(file: &JoinFile, context: AgentContext<'_>) -> Result<Ended, AgentError> {
    let limits = Limits::read()?;
    let Some((channel, mut lines, number)) = enter(file, &context, &limits)? else {
        return Ok(Ended::Interrupted);
    };
    (context.note)(&format!("agent {number} of the load at {}", file.coordinator));
    // Until it was let in, an agent reads short lines only: anybody may have answered at that address.
    lines.trust();
    let mut agent = Agent {
        channel,
        running: None,
    };
    let ended = agent.serve(&mut lines, context.interrupted);
    agent.channel.close();
    // Also after an error: the devices of a coordinator that is gone would go on with their load.
    agent.end_job();
    ended.map_err(|error| AgentError::Gone {
        coordinator: file.coordinator.clone(),
        reason: error.to_string(),
    })
}

/// Connects until the coordinator lets this agent take part: it may have ended the connection to make room for others. Returns
/// its number; `None` if its user has ended it.
fn enter(
    file: &JoinFile,
    context: &AgentContext<'_>,
    limits: &Limits,
) -> Result<Option<(Arc<Channel>, Lines, u32)>, AgentError> {
    let (began, clock) = (Instant::now(), Clock::start());
    let mut pause = FIRST_PAUSE;
    loop {
        let entered = dial(file, clock, context.interrupted).and_then(|(channel, mut lines)| {
            join(&channel, file, context, limits)?;
            let number = welcome(&mut lines, file, context)?;
            Ok(number.map(|number| (channel, lines, number)))
        });
        match entered {
            Ok(entered) => return Ok(entered),
            // The interruption ended the attempt.
            Err(_) if (context.interrupted)() => return Ok(None),
            // A cut connection may only have made room for others (at most 64 enter at once); a refusal is final and is not tried again.
            Err(Failed::Cut(_)) if began.elapsed() + pause < PATIENCE => {}
            Err(Failed::Cut(reason)) => return Err(unreachable(file, &reason)),
            Err(Failed::Final(error)) => return Err(error),
        }
        thread::sleep(pause);
        pause *= 2;
    }
}

/// Why an attempt to take part has failed.
enum Failed {
    /// The connection was refused or has ended: another attempt may succeed.
    Cut(String),
    Final(AgentError),
}

impl Failed {
    fn from_error(file: &JoinFile, error: ChannelError) -> Self {
        match error {
            ChannelError::Closed | ChannelError::Socket(_) => Self::Cut(error.to_string()),
            ChannelError::Session(SessionError::OtherCertificate) => {
                Self::Final(AgentError::OtherRun(file.coordinator.clone()))
            }
            ChannelError::Silent(_)
            | ChannelError::Session(SessionError::Tls(_))
            | ChannelError::Line(_)
            | ChannelError::Message(_) => Self::Final(unreachable(file, &error)),
        }
    }
}

fn dial(
    file: &JoinFile,
    clock: Clock,
    interrupted: &dyn Fn() -> bool,
) -> Result<(Arc<Channel>, Lines), Failed> {
    let patience = Patience::new(PATIENCE, interrupted);
    let addresses = addresses_of(&file.coordinator, patience);
    let addresses = addresses.map_err(|error| Failed::Final(unreachable(file, &error)))?;
    let connected = connect(&addresses, patience);
    let (stream, _) = connected.map_err(|error| Failed::Cut(error.to_string()))?;
    let session = Session::client(file.pin).map_err(|error| Failed::Final(unreachable(file, &error)))?;
    Channel::open(stream, session, clock, PATIENCE).map_err(|error| Failed::from_error(file, error))
}

fn unreachable(file: &JoinFile, error: &dyn std::fmt::Display) -> AgentError {
    AgentError::Unreachable {
        coordinator: file.coordinator.clone(),
        reason: error.to_string(),
    }
}

/// Proves that this agent has the secret.
fn join(
    channel: &Channel,
    file: &JoinFile,
    context: &AgentContext<'_>,
    limits: &Limits,
) -> Result<(), Failed> {
    let mut bytes = [0; 16];
    Entropy::system()
        .fill(&mut bytes)
        .map_err(|error| Failed::Final(error.into()))?;
    // A new nonce for each attempt: the coordinator lets none in twice, so that a recorded first message is worth nothing.
    let nonce: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let proof = file.secret.proof(&nonce);
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let join = Join {
        version: context.version.to_owned(),
        // The secret itself never leaves the agent: only who has it can make the proof of this nonce.
        proof,
        nonce,
        name: context.name.clone(),
        cpus: u32::try_from(cpus).unwrap_or(u32::MAX),
        sockets: limits.sockets_per_process,
    };
    let sent = channel.send(to_line(&FromAgent::Join(join)));
    sent.map_err(|error| Failed::Cut(error.to_string()))
}

/// Waits until the coordinator lets this agent take part. Returns its number; `None` if its user has ended it.
fn welcome(lines: &mut Lines, file: &JoinFile, context: &AgentContext<'_>) -> Result<Option<u32>, Failed> {
    let refused = |error: &ChannelError| Failed::Final(unreachable(file, error));
    let asked = Instant::now();
    loop {
        let next = lines
            .next(LOOK)
            .map_err(|error| Failed::from_error(file, error))?;
        match next.map(|(line, _)| (ToAgent::from_line(&line), line)) {
            Some((Some(ToAgent::Welcome { number }), _)) => return Ok(Some(number)),
            Some((Some(ToAgent::Refused { reason }), _)) => {
                return Err(Failed::Final(AgentError::Refused(PeerText::new(&reason))));
            }
            Some((_, line)) => return Err(refused(&ChannelError::Message(PeerText::new(&line)))),
            None if (context.interrupted)() => return Ok(None),
            None if asked.elapsed() >= PATIENCE => {
                return Err(refused(&ChannelError::Silent(PATIENCE)));
            }
            None => {}
        }
    }
}

/// An agent that takes part.
struct Agent {
    channel: Arc<Channel>,
    running: Option<Running>,
}

/// The parts of a load.
struct Running {
    inboxes: BTreeMap<u32, Arc<Inbox>>,
    threads: Vec<JoinHandle<()>>,
    /// Passes the parts' messages on.
    passing: JoinHandle<()>,
    awake: KeepAwake,
    before: MachineLoad,
    /// What this machine's clock shows more than the coordinator's.
    offset_ns: i64,
}

impl Agent {
    fn serve(&mut self, lines: &mut Lines, interrupted: &dyn Fn() -> bool) -> Result<Ended, ChannelError> {
        loop {
            if interrupted() {
                return Ok(Ended::Interrupted);
            }
            let Some((line, received_ns)) = lines.next(LOOK)? else {
                // The coordinator asks for the clock every second: silence is a network that is gone, which TCP reports much later.
                if lines.silence() >= SILENCE {
                    return Err(ChannelError::Silent(SILENCE));
                }
                continue;
            };
            match ToAgent::from_line(&line) {
                Some(ToAgent::Ask { question }) => self.answer(question, received_ns)?,
                Some(ToAgent::Job {
                    job,
                    offset_ns,
                    clock_error_ns,
                }) => self.begin_job(*job, offset_ns, clock_error_ns)?,
                Some(ToAgent::Part(Addressed { part, message })) => self.pass(part, message, received_ns)?,
                Some(ToAgent::Bye) => return Ok(Ended::Dismissed),
                Some(ToAgent::Welcome { .. } | ToAgent::Refused { .. }) | None => {
                    return Err(ChannelError::Message(PeerText::new(&line)));
                }
            }
        }
    }

    fn answer(&self, question: u64, received_ns: u64) -> Result<(), ChannelError> {
        let spent = self.spent();
        let answer = |answered_ns| {
            to_line(&FromAgent::Answer {
                question,
                received_ns,
                answered_ns,
                spent,
            })
        };
        Ok(self.channel.send_at(answer)?)
    }

    fn spent(&self) -> AgentUse {
        let used = OwnUsage::read().unwrap_or_default();
        let running = self.running.as_ref();
        AgentUse {
            user_ns: nanos(used.user),
            system_ns: nanos(used.system),
            resident_bytes: used.resident_bytes,
            steal: running.map_or(0.0, |running| {
                MachineLoad::read().steal_share_since(&running.before)
            }),
            is_awake: running.is_some_and(|running| running.awake.idle_cpus() == IdleCpus::Awake),
        }
    }

    /// Passes a message on to a part. Its instants are on the coordinator's clock, and so are the part's.
    fn pass(&self, part: u32, message: ToPart, received_ns: u64) -> Result<(), ChannelError> {
        let Some(running) = &self.running else {
            return Ok(());
        };
        if let ToPart::Begin {
            phase,
            at_ns,
            shift_ns,
        } = message
            // The order comes once for each part; the first one is enough to tell how late the order reached this agent.
            && running.inboxes.keys().next() == Some(&part)
        {
            let own_ns = at_ns.saturating_add_signed(running.offset_ns.saturating_add(shift_ns));
            let late_ns = received_ns.saturating_sub(own_ns);
            self.channel
                .send(to_line(&FromAgent::Ordered { phase, late_ns }))?;
        }
        if let Some(inbox) = running.inboxes.get(&part) {
            inbox.put(message);
        }
        Ok(())
    }

    fn begin_job(&mut self, job: Job, offset_ns: i64, clock_error_ns: u64) -> Result<(), ChannelError> {
        self.end_job();
        let begun = job.into_shares().map_err(|error| error.to_string());
        let begun = begun.and_then(|shares| self.start(shares, offset_ns, clock_error_ns));
        match begun {
            Ok(running) => {
                self.running = Some(running);
                Ok(())
            }
            Err(reason) => Ok(self.channel.send(to_line(&FromAgent::Failed { reason }))?),
        }
    }

    fn start(&self, shares: Vec<Share>, offset_ns: i64, clock_error_ns: u64) -> Result<Running, String> {
        let shares = shares.into_iter().map(|share| Share {
            offset_ns,
            clock_error_ns,
            ..share
        });
        let (outbox, heard) = channel();
        let (inboxes, threads) =
            worker::start(shares.collect(), &outbox).map_err(|error| error.to_string())?;
        // Each part has its own end of the channel: with this one left open, the passing thread would never see the last one close.
        drop(outbox);
        let channel = Arc::clone(&self.channel);
        let passing = thread::Builder::new().name("parts".into());
        let passing = passing.spawn(move || pass_on(&heard, &channel));
        Ok(Running {
            inboxes,
            threads,
            passing: passing.map_err(|error| error.to_string())?,
            awake: KeepAwake::hold(),
            // What other programs used is the difference to this reading.
            before: MachineLoad::read(),
            offset_ns,
        })
    }

    /// Ends the parts of a load, which have ended already unless the coordinator has gone.
    fn end_job(&mut self) {
        let Some(running) = self.running.take() else {
            return;
        };
        running.inboxes.values().for_each(|inbox| inbox.put(ToPart::Quit));
        for thread in running.threads {
            // A part that panicked has sent no last message, and the coordinator notices that.
            drop(thread.join());
        }
        drop(running.passing.join());
    }
}

/// Passes the messages of parts on, until all have ended or the coordinator has gone.
fn pass_on(heard: &Receiver<(u32, FromPart)>, channel: &Channel) {
    for (part, message) in heard {
        if channel
            .send(to_line(&FromAgent::Part(Addressed { part, message })))
            .is_err()
        {
            return;
        }
    }
}
