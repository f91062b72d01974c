//! An agent as the coordinator sees it: its connection, its clock, its parts of the load that runs.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use wirecost_live::Clock;
use wirecost_proto::PeerText;

use super::channel::{Channel, ChannelError, Lines, lock, now_ns};
use super::message::{AgentUse, FromAgent, Join, ToAgent, to_line};
use super::offset::{Bounds, Exchange, Offsets};
use crate::devices::part::{FromPart, ToPart};
use crate::devices::share::Share;
use crate::nanos;
use crate::parts::workers::job::{Addressed, Job};

/// Exchanges before the first load.
pub const FIRST_ROUND: u32 = 64;
/// Exchanges of each later round.
pub const ROUND: u32 = 8;
/// The longest time of a round. A round over a slow path has fewer exchanges.
const LONGEST_ROUND: Duration = Duration::from_secs(5);
/// How long an agent may not answer before it counts as lost.
pub const SILENCE: Duration = Duration::from_secs(5);
/// How often a reader looks whether its agent is lost.
const LOOK: Duration = Duration::from_secs(1);

/// An agent.
#[derive(Debug)]
pub struct Member {
    /// Its number, from 1.
    pub number: u32,
    /// The name that its user gave it.
    pub name: Option<String>,
    /// Where it dialled from.
    pub address: IpAddr,
    /// The CPUs that it may use.
    pub cpus: u32,
    /// The number of devices that its limit of open files allows.
    pub sockets: u64,
    channel: Arc<Channel>,
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    offsets: Offsets,
    /// Exchanges that are left of the round.
    left: u32,
    round_began_ns: u64,
    rounds: u64,
    /// The number of the last question, and when it was sent.
    asked: (u64, u64),
    heard_ns: u64,
    spent: AgentUse,
    job: Option<JobState>,
    loss: Option<Loss>,
}

/// The parts of an agent in a load.
#[derive(Debug)]
struct JobState {
    outbox: Sender<(u32, FromPart)>,
    /// Parts that have not sent their last message.
    alive: BTreeSet<u32>,
    use_: JobUse,
}

/// What an agent was told about time in a load.
#[derive(Clone, Debug, Default)]
pub struct JobUse {
    /// When the load was handed over, on the coordinator's clock.
    pub from_ns: u64,
    /// The offset that its parts count with.
    pub offset_ns: i64,
    /// The phases that it was told to begin.
    pub begun: Vec<Begun>,
}

/// A phase that an agent was told to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Its index.
    pub phase: u32,
    /// When, on the coordinator's clock.
    pub at_ns: u64,
    /// The offset with which this was translated to the agent's clock.
    pub offset_ns: i64,
    /// How long after that the order arrived.
    pub late_ns: u64,
}

/// The loss of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// When it was last heard, on the coordinator's clock.
    pub heard_ns: u64,
    /// When it was given up. What its schedule named until then may have been sent.
    pub at_ns: u64,
    /// Why.
    pub reason: String,
}

impl Member {
    /// An agent that has been let in. `read` must run on a thread of its own from now on.
    pub(super) fn new(
        number: u32,
        address: IpAddr,
        join: Join,
        channel: Arc<Channel>,
        clock: Clock,
    ) -> Arc<Self> {
        let state = State {
            heard_ns: now_ns(&clock),
            ..State::default()
        };
        Arc::new(Self {
            number,
            name: join.name,
            address,
            // An agent may not know its CPUs, and zero loops would have no devices.
            cpus: join.cpus.max(1),
            sockets: join.sockets,
            channel,
            clock,
            state: Mutex::new(state),
        })
    }

    /// Number, name and address: `agent 2 (field-lab, 10.0.2.9)`.
    pub fn title(&self) -> String {
        let name = self
            .name
            .as_ref()
            .map_or(String::new(), |name| format!("{}, ", PeerText::new(name)));
        format!("agent {} ({name}{})", self.number, self.address)
    }

    /// Reads what the agent says until it is lost.
    pub(super) fn read(&self, lines: &mut Lines) {
        while self.loss().is_none() {
            let read = match lines.next(LOOK) {
                Ok(None) => Ok(()),
                Ok(Some((line, stamp_ns))) => self.hear(&line, stamp_ns),
                Err(error) => Err(error),
            };
            if let Err(error) = read {
                let now_ns = now_ns(&self.clock);
                self.lose([now_ns, now_ns], error.to_string());
            }
        }
    }

    fn hear(&self, line: &str, heard_ns: u64) -> Result<(), ChannelError> {
        match FromAgent::from_line(line) {
            Some(FromAgent::Answer {
                question,
                received_ns,
                answered_ns,
                spent,
            }) => self.answered(question, [received_ns, answered_ns, heard_ns], spent),
            Some(FromAgent::Part(Addressed { part, message })) => self.pass_on(part, message),
            Some(FromAgent::Ordered { phase, late_ns }) => self.ordered(phase, late_ns),
            Some(FromAgent::Failed { reason }) => self.fail(&PeerText::new(&reason)),
            Some(FromAgent::Join(_)) | None => return Err(ChannelError::Message(PeerText::new(line))),
        }
        Ok(())
    }

    fn answered(&self, question: u64, [received_ns, answered_ns, heard_ns]: [u64; 3], spent: AgentUse) {
        let mut state = lock(&self.state);
        state.heard_ns = heard_ns;
        state.spent = spent;
        let (asked, sent_ns) = state.asked;
        // The answer to an earlier round has another send time: as an exchange of this one it would shift the clock.
        if question != asked || state.left == 0 {
            return;
        }
        state.offsets.note(&Exchange {
            sent_ns,
            received_ns,
            answered_ns,
            heard_ns,
        });
        let lasted = heard_ns.saturating_sub(state.round_began_ns);
        state.left = if lasted > nanos(LONGEST_ROUND) {
            0
        } else {
            state.left - 1
        };
        if state.left == 0 {
            state.offsets.end_round();
            state.rounds += 1;
            return;
        }
        drop(state);
        self.ask();
    }

    /// Begins a round of exchanges, unless one is going on.
    pub(super) fn begin_round(&self, exchanges: u32) {
        let mut state = lock(&self.state);
        if state.left > 0 || state.loss.is_some() {
            return;
        }
        state.left = exchanges;
        state.round_began_ns = now_ns(&self.clock);
        drop(state);
        self.ask();
    }

    fn ask(&self) {
        let question = |sent_ns| {
            let mut state = lock(&self.state);
            let question = state.asked.0 + 1;
            state.asked = (question, sent_ns);
            to_line(&ToAgent::Ask { question })
        };
        // If the socket has failed, the reader notices it.
        drop(self.channel.send_at(question));
    }

    /// Counts the agent as lost if it has been silent for too long.
    pub(super) fn check(&self) {
        let heard_ns = lock(&self.state).heard_ns;
        let now_ns = now_ns(&self.clock);
        if now_ns.saturating_sub(heard_ns) > nanos(SILENCE) {
            self.lose(
                [heard_ns, now_ns],
                format!("it has not answered for {} s", SILENCE.as_secs()),
            );
        }
    }

    fn lose(&self, [heard_ns, at_ns]: [u64; 2], reason: String) {
        let mut state = lock(&self.state);
        // The first reason is the cause: what follows, such as a closed connection, is our own doing.
        if state.loss.is_some() {
            return;
        }
        let loss = Loss {
            heard_ns,
            at_ns,
            reason: format!("{} was lost: {reason}", self.title()),
        };
        state.loss = Some(loss.clone());
        state.left = 0;
        let alive = state
            .job
            .as_mut()
            .map(|job| (std::mem::take(&mut job.alive), job.outbox.clone()));
        drop(state);
        self.channel.close();
        if let Some((parts, outbox)) = alive {
            tell_loss(&loss, &parts, &outbox);
        }
    }

    /// The loss of the agent, if it is lost.
    pub fn loss(&self) -> Option<Loss> {
        lock(&self.state).loss.clone()
    }

    fn pass_on(&self, part: u32, message: FromPart) {
        let mut state = lock(&self.state);
        state.heard_ns = now_ns(&self.clock);
        let Some(job) = &mut state.job else {
            return;
        };
        if !job.alive.contains(&part) {
            return;
        }
        if matches!(message, FromPart::Finished { .. } | FromPart::Failed { .. }) {
            job.alive.remove(&part);
        }
        // Sending fails if the load is over.
        drop(job.outbox.send((part, message)));
    }

    fn ordered(&self, phase: u32, late_ns: u64) {
        let mut state = lock(&self.state);
        let begun = state.job.iter_mut().flat_map(|job| &mut job.use_.begun);
        for own in begun.filter(|begun| begun.phase == phase) {
            own.late_ns = late_ns;
        }
    }

    /// The job could not be begun.
    fn fail(&self, reason: &PeerText) {
        let mut state = lock(&self.state);
        let Some(job) = &mut state.job else {
            return;
        };
        let reason = format!("{} could not begin: {reason}", self.title());
        for part in std::mem::take(&mut job.alive) {
            let reason = reason.clone();
            drop(job.outbox.send((part, FromPart::Failed { reason })));
        }
    }

    /// Hands over the agent's shares of a load, whose messages go to `outbox`. The clocks of two agents may be `clock_error_ns` apart.
    pub(super) fn begin_job(&self, shares: &[Share], clock_error_ns: u64, outbox: Sender<(u32, FromPart)>) {
        let mut state = lock(&self.state);
        let offset_ns = state.offsets.known().map_or(0, |known| known.offset_ns());
        let from_ns = now_ns(&self.clock);
        let alive: BTreeSet<u32> = shares.iter().map(|share| share.number).collect();
        // An agent may be lost between two loads: its parts are then told lost at once, or the load would wait for them.
        let loss = state.loss.clone();
        state.job = Some(JobState {
            outbox: outbox.clone(),
            alive: if loss.is_some() {
                BTreeSet::new()
            } else {
                alive.clone()
            },
            use_: JobUse {
                from_ns,
                offset_ns,
                begun: Vec::new(),
            },
        });
        drop(state);
        if let Some(loss) = loss {
            return tell_loss(&loss, &alive, &outbox);
        }
        let job = Box::new(Job::from_shares(shares));
        // If the socket has failed, the reader notices it.
        drop(self.channel.send(to_line(&ToAgent::Job {
            job,
            offset_ns,
            clock_error_ns,
        })));
    }

    /// Sends a message to one of the agent's parts. A phase begins by the latest offset of the agent's clock.
    pub(super) fn tell(&self, part: u32, mut message: ToPart) {
        if let ToPart::Begin {
            phase,
            at_ns,
            shift_ns,
        } = &mut message
        {
            let mut state = lock(&self.state);
            let known_ns = state.offsets.known().map(|known| known.offset_ns());
            let Some(job) = &mut state.job else {
                return;
            };
            // All parts of an agent begin a phase by one offset, that of the first: they would otherwise begin at different times.
            let known = job.use_.begun.iter().find(|begun| begun.phase == *phase);
            let begun = known.copied().unwrap_or(Begun {
                phase: *phase,
                at_ns: *at_ns,
                offset_ns: known_ns.unwrap_or(job.use_.offset_ns),
                late_ns: 0,
            });
            if known.is_none() {
                job.use_.begun.push(begun);
            }
            *shift_ns = begun.offset_ns.saturating_sub(job.use_.offset_ns);
        }
        drop(
            self.channel
                .send(to_line(&ToAgent::Part(Addressed { part, message }))),
        );
    }

    /// Forgets the load. Returns what the agent was told about time in it.
    pub(super) fn end_job(&self) -> Option<JobUse> {
        lock(&self.state).job.take().map(|job| job.use_)
    }

    /// Tells the agent that there is nothing more to do.
    pub(super) fn dismiss(&self) {
        drop(self.channel.send(to_line(&ToAgent::Bye)));
    }

    /// The number of rounds of exchanges so far.
    pub(super) fn rounds(&self) -> u64 {
        lock(&self.state).rounds
    }

    /// What is known of its clock.
    pub fn known(&self) -> Option<Bounds> {
        lock(&self.state).offsets.known()
    }

    /// Its clock over time.
    pub fn offsets(&self) -> Offsets {
        lock(&self.state).offsets.clone()
    }

    /// The number of exchanges, and the longest time of one on its way, in nanoseconds.
    pub(super) fn exchanges(&self) -> (u64, u64) {
        let state = lock(&self.state);
        (state.offsets.exchanges(), state.offsets.longest_round_trip_ns())
    }

    /// The resources that it has used.
    pub(super) fn spent(&self) -> AgentUse {
        lock(&self.state).spent
    }
}

/// Reports the parts of a lost agent.
fn tell_loss(loss: &Loss, parts: &BTreeSet<u32>, outbox: &Sender<(u32, FromPart)>) {
    let Loss {
        heard_ns,
        at_ns,
        reason,
    } = loss;
    for part in parts {
        let lost = FromPart::Lost {
            reason: reason.clone(),
            heard_ns: *heard_ns,
            at_ns: *at_ns,
        };
        // Sending fails if the load is over.
        drop(outbox.send((*part, lost)));
    }
}
