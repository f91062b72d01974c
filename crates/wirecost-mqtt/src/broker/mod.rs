//! The reference broker: any number of flows, and sessions that outlive them. Both protocol versions share its state.
//!
//! ```text
//! client                                     broker
//!   CONNECT       -- AwaitConnect -->          take over, resume or create the session
//!                                        <-- CONNACK
//!                                        <-- unfinished PUBLISH (DUP), PUBREL; queued PUBLISH     Connected
//!   PUBLISH                          -->       route to every matching session
//!                                        <-- PUBACK or PUBREC
//!   DISCONNECT, silence or an error            Ending: detach the session, publish or delay the will
//! ```

mod config;
mod connect;
mod connection;
mod deliver;
mod event;
mod lifetime;
mod memory;
mod message;
mod publish;
mod queue;
mod receive;
mod retained;
mod session;
mod subscribe;
mod subscriptions;
mod timers;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::convert::Infallible;

use wirecost_proto::{Buffer, Endpoint, FlowId, Held, Input, Instant, Output};

pub use config::{Config, MAXIMUM_HELD_BYTES};
pub use event::{Command, Event, Limit, Stats};

use crate::codec::framing::LARGEST_PACKET;
use crate::codec::{Footprint, PropertiesBuf, Version};
use crate::reply::Reply;
use connection::{Accepted, Connection};
use memory::Memory;
use retained::Retained;
use session::{SessionId, Sessions};
use subscriptions::{Match, Subscriptions};
use timers::{Deadline, Timers};

/// The next step of the broker.
#[derive(Debug)]
enum Action {
    Consumed(FlowId, Footprint),
    Send(FlowId, Version, Reply),
    /// Deliver queued messages of a session.
    Deliver(SessionId),
    Event(Event),
    Close(FlowId),
}

/// An MQTT broker.
#[derive(Debug)]
pub struct Broker {
    config: Config,
    /// In memory of their own, as the sessions.
    connections: BTreeMap<FlowId, Box<Connection>>,
    sessions: Sessions,
    subscriptions: Subscriptions,
    retained: Retained,
    timers: Timers,
    actions: VecDeque<Action>,
    now: Instant,
    memory: Memory,
    /// The memory of incomplete packets.
    incomplete: Memory,
    /// The number of client identifiers assigned so far.
    assigned: u64,
    /// Scratch for the subscriptions that one message matches.
    matches: Vec<Match>,
    /// Scratch for the properties of one PUBLISH.
    properties: PropertiesBuf,
    stats: Stats,
}

impl Broker {
    /// A broker without sessions.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            connections: BTreeMap::new(),
            sessions: Sessions::default(),
            subscriptions: Subscriptions::default(),
            retained: Retained::default(),
            timers: Timers::default(),
            actions: VecDeque::new(),
            now: Instant::START,
            memory: Memory::default(),
            incomplete: Memory::default(),
            assigned: 0,
            matches: Vec::new(),
            properties: PropertiesBuf::new(),
            stats: Stats::default(),
        }
    }

    /// The counters.
    pub const fn stats(&self) -> Stats {
        self.stats
    }

    /// The number of sessions, connected or not.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// The number of topics with a retained message.
    pub fn retained(&self) -> usize {
        self.retained.len()
    }

    /// The number of bytes held for all clients together: messages, once each, and their queue entries; sessions with
    /// their subscriptions and wills; incomplete packets.
    pub fn held_bytes(&self) -> usize {
        self.memory.held() + self.incomplete.held()
    }

    /// The bytes of `maximum` that are free.
    fn free_of(&self, maximum: usize) -> usize {
        maximum.saturating_sub(self.held_bytes())
    }

    fn free_memory(&self) -> usize {
        self.free_of(self.config.maximum_held_bytes)
    }

    /// The memory that is free for messages. A quarter of the limit is reserved, so that clients can connect, subscribe
    /// and publish even if others read nothing.
    fn free_for_messages(&self) -> usize {
        self.free_of(self.config.maximum_held_bytes / 4 * 3)
    }

    fn open(&mut self, flow: FlowId) {
        let limit = self.largest_packet().min(self.config.maximum_connect_size);
        let connection = Connection::new(limit, self.now, &self.incomplete);
        self.connections.insert(flow, Box::new(connection));
        self.timers
            .set(Deadline::Connect(flow), self.now + self.config.connect_timeout);
    }

    /// The largest packet that the broker accepts from a connected client, in bytes.
    fn largest_packet(&self) -> u32 {
        self.config.maximum_packet_size.unwrap_or(LARGEST_PACKET)
    }

    fn perform(&mut self, action: Action, out: &mut Buffer) -> Option<Output<Event>> {
        match action {
            Action::Event(event) => Some(Output::Event(event)),
            Action::Deliver(session) => self.deliver(session, out),
            Action::Consumed(flow, footprint) => {
                footprint.cover(out);
                Some(Output::Consumed { flow })
            }
            Action::Close(flow) => {
                self.connections.remove(&flow)?;
                Some(Output::Close { flow, reset: false })
            }
            Action::Send(flow, version, reply) => {
                // The flow may be gone by now.
                self.connections.get(&flow)?;
                reply.packet().emit(version, out).ok()?;
                Some(Output::Transmit { flow })
            }
        }
    }

    /// The accepted connection on `flow`.
    fn accepted(&self, flow: FlowId) -> Option<&Accepted> {
        self.connections.get(&flow)?.accepted()
    }

    fn accepted_mut(&mut self, flow: FlowId) -> Option<&mut Accepted> {
        self.connections.get_mut(&flow)?.accepted_mut()
    }

    fn report(&mut self, event: Event) {
        self.actions.push_back(Action::Event(event));
    }

    fn send(&mut self, flow: FlowId, version: Version, reply: Reply) {
        self.actions.push_back(Action::Send(flow, version, reply));
    }
}

impl Endpoint for Broker {
    type Command = Command;
    type Event = Event;
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, Command>, now: Instant) -> Result<(), Infallible> {
        self.now = now;
        match input {
            Input::Opened { flow, .. } => self.open(flow),
            Input::Received { flow, bytes } => self.receive(flow, bytes),
            Input::Congested { flow } => self.set_congested(flow, true),
            Input::Writable { flow } => self.set_congested(flow, false),
            Input::PeerClosed { flow } => self.peer_closed(flow),
            Input::Reset { flow, .. } => self.reset(flow),
            Input::Command(command) => self.command(command),
            Input::Timeout => self.expire_timers(),
        }
        Ok(())
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Event> {
        while let Some(action) = self.actions.pop_front() {
            if let Some(output) = self.perform(action, out) {
                return output;
            }
        }
        Output::Timeout(self.timers.next())
    }

    fn held(&self, flow: FlowId) -> Held {
        let connection = self.connections.get(&flow);
        Held::incomplete(connection.map_or(0, |connection| connection.partial.bytes()))
    }

    fn stored_bytes(&self) -> usize {
        self.memory.held()
    }
}
