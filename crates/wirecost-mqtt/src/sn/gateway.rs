//! A gateway and its broker in one: it accepts clients, registers their topics, and reports what they publish.
//!
//! It delivers nothing: a SUBSCRIBE is answered "not supported", and so is a CONNECT with a will. A message at QoS -1 needs no
//! CONNECT; the gateway accepts every predefined topic id. A client that is not connected gets a DISCONNECT for every other
//! message (section 6.14).

mod receive;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::time::Duration;

use wirecost_proto::{Buffer, Endpoint, FlowId, Front, Input, Instant, Output};

use super::client::emit;
use super::codec::{Message, MessageType, Quality, ReturnCode};
use super::describe::Footprint;

/// The limits of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The number of connected clients. Further ones are refused for congestion.
    pub maximum_clients: usize,
    /// The number of registered topics of a client. Further ones are refused for congestion.
    pub maximum_topics: usize,
    /// The bytes of client identifiers and topic names of all clients. Above it, the gateway refuses for congestion.
    pub maximum_held_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            maximum_clients: 1_000_000,
            maximum_topics: 1_024,
            maximum_held_bytes: crate::broker::MAXIMUM_HELD_BYTES,
        }
    }
}

/// An event of a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The gateway accepted a client's CONNECT.
    ClientConnected {
        /// Its flow.
        flow: FlowId,
        /// The client identifier.
        client_id: Arc<str>,
    },
    /// The gateway refused a client's CONNECT.
    ClientRefused {
        /// Its flow.
        flow: FlowId,
        /// The reason.
        code: ReturnCode,
    },
    /// A client sent DISCONNECT, was silent for too long, or connected on another flow.
    ClientDisconnected {
        /// Its flow.
        flow: FlowId,
        /// The client identifier.
        client_id: Arc<str>,
    },
    /// A message arrived for the first time.
    Published {
        /// The flow that it arrived on.
        flow: FlowId,
        /// The length of the payload in bytes.
        payload_bytes: usize,
        /// The first bytes of the payload.
        front: Front,
        /// Quality of service.
        quality: Quality,
        /// Whether the client sent it before.
        dup: bool,
    },
}

/// Counters of ignored and refused messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Datagrams that are not messages, or that a gateway does not receive.
    pub ignored: u64,
    /// Messages that arrived again, and were not reported again.
    pub duplicates: u64,
    /// Messages of clients that are not connected, each answered with a DISCONNECT.
    pub unknown: u64,
}

/// A connected client.
#[derive(Debug)]
struct Session {
    client_id: Arc<str>,
    /// The registered topic names; the topic id is the place, counted from 1.
    topics: Vec<Box<str>>,
    /// The message id of the last PUBLISH of QoS 1.
    acknowledged: Option<u16>,
    /// The message id of a PUBLISH of QoS 2 that is not released.
    unreleased: Option<u16>,
    last_received: Instant,
    time_out: Option<Duration>,
    /// Its entry in the deadlines of the gateway.
    deadline: Option<Instant>,
}

/// The next step of the gateway.
#[derive(Debug)]
enum Action {
    Send(FlowId, Message<'static>),
    /// SUBACK that refuses the SUBSCRIBE with this message id.
    RefuseSubscription(FlowId, [u8; 2]),
    Consumed(FlowId, Footprint),
    Event(Event),
}

/// A gateway with its broker.
#[derive(Debug)]
pub struct Gateway {
    config: Config,
    now: Instant,
    sessions: BTreeMap<FlowId, Session>,
    flows: BTreeMap<Arc<str>, FlowId>,
    /// When to look whether a client was silent for too long.
    deadlines: BTreeSet<(Instant, FlowId)>,
    held_bytes: usize,
    actions: VecDeque<Action>,
    stats: Stats,
}

impl Gateway {
    /// A gateway without clients.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            now: Instant::START,
            sessions: BTreeMap::new(),
            flows: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            held_bytes: 0,
            actions: VecDeque::new(),
            stats: Stats::default(),
        }
    }

    /// Counters of ignored and refused messages.
    pub const fn stats(&self) -> Stats {
        self.stats
    }

    /// The number of connected clients.
    pub fn clients(&self) -> usize {
        self.sessions.len()
    }

    fn send(&mut self, flow: FlowId, message: Message<'static>) {
        self.actions.push_back(Action::Send(flow, message));
    }

    fn report(&mut self, event: Event) {
        self.actions.push_back(Action::Event(event));
    }

    /// Ends the session of a flow, if it has one.
    fn end(&mut self, flow: FlowId) {
        let Some(session) = self.sessions.remove(&flow) else {
            return;
        };
        self.flows.remove(&session.client_id);
        if let Some(at) = session.deadline {
            self.deadlines.remove(&(at, flow));
        }
        let names = session.topics.iter().map(|name| name.len()).sum::<usize>();
        self.held_bytes = self.held_bytes.saturating_sub(names + session.client_id.len());
        let client_id = session.client_id;
        self.report(Event::ClientDisconnected { flow, client_id });
    }

    /// Ends the sessions of clients that were silent for too long.
    fn expire(&mut self) {
        while let Some(&(at, flow)) = self.deadlines.first() {
            if at > self.now {
                return;
            }
            let session = self.sessions.get(&flow);
            let time_out = session.and_then(|session| session.time_out);
            match (session, time_out) {
                (Some(session), Some(time_out)) if session.last_received + time_out > self.now => {
                    let due = session.last_received + time_out;
                    self.set_deadline(flow, Some(due));
                }
                _ => self.end(flow),
            }
            self.deadlines.remove(&(at, flow));
        }
    }

    /// Sets when to look whether the client was silent for too long, and replaces an earlier setting.
    fn set_deadline(&mut self, flow: FlowId, at: Option<Instant>) {
        let Some(session) = self.sessions.get_mut(&flow) else {
            return;
        };
        if let Some(before) = core::mem::replace(&mut session.deadline, at) {
            self.deadlines.remove(&(before, flow));
        }
        if let Some(at) = at {
            self.deadlines.insert((at, flow));
        }
    }
}

/// Appends an answer. None of the gateway's has a field that is as long as a client likes, so each can be framed.
fn emit_short(message: &Message<'_>, out: &mut Buffer) {
    let outcome = emit(message, false, out);
    debug_assert_eq!(outcome, Ok(()), "an answer of a few bytes");
}

/// How long a client with this keep-alive may be silent (section 7.2: a tenth more, half of it more up to a minute).
fn time_out(duration: u16) -> Option<Duration> {
    let seconds = Duration::from_secs(duration.into());
    let tolerance = if duration > 60 { seconds / 10 } else { seconds / 2 };
    (duration > 0).then(|| seconds + tolerance)
}

impl Endpoint for Gateway {
    type Command = Infallible;
    type Event = Event;
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, Infallible>, now: Instant) -> Result<(), Infallible> {
        self.now = now;
        match input {
            Input::Received { flow, bytes } => self.receive(flow, bytes),
            Input::Reset { flow, .. } | Input::PeerClosed { flow } => self.end(flow),
            Input::Timeout => self.expire(),
            Input::Opened { .. } | Input::Congested { .. } | Input::Writable { .. } => {}
            Input::Command(never) => match never {},
        }
        Ok(())
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Event> {
        let Some(action) = self.actions.pop_front() else {
            return Output::Timeout(self.deadlines.first().map(|(at, _)| *at));
        };
        match action {
            Action::Send(flow, message) => {
                emit_short(&message, out);
                Output::Transmit { flow }
            }
            Action::RefuseSubscription(flow, [high, low]) => {
                let fields = [0, 0, 0, high, low, ReturnCode::NOT_SUPPORTED.0];
                emit_short(&Message::Other(MessageType::Suback, &fields), out);
                Output::Transmit { flow }
            }
            Action::Consumed(flow, footprint) => {
                footprint.cover(out);
                Output::Consumed { flow }
            }
            Action::Event(event) => Output::Event(event),
        }
    }

    fn stored_bytes(&self) -> usize {
        self.held_bytes
    }
}
