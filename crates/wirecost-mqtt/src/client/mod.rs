//! The client: one flow at a time, and one session for the lifetime of the object.
//!
//! ```text
//! client                                     server
//!   CONNECT       -- AwaitConnack -->
//!                                        <-- CONNACK
//!   unfinished PUBLISH (DUP), PUBREL -->                 Connected
//!   SUBSCRIBE, PUBLISH, ...          -->
//!                                        <-- SUBACK, PUBACK, ..., PUBLISH
//!   PINGREQ after keep-alive idle    -->
//!                                        <-- PINGRESP
//!   DISCONNECT, close                -->                 Closing
//! ```
//!
//! A client that pipelines sends its first packet behind CONNECT (section 3.1.4), see `ahead`.

mod ahead;
mod command;
mod config;
mod deferred;
mod receive;
mod server_reason;
mod transmit;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::convert::Infallible;
use core::time::Duration;

use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output, Stamp, TimerTable};

pub use command::{
    Awaited, Command, DIGEST_BYTES, Digest, Event, MAXIMUM_PAYLOAD_BYTES, Message, PublishTemplate,
    ServerProperties, TemplateError,
};
pub use config::Config;
pub use server_reason::ServerReason;

pub use crate::codec::OwnedWill as Will;

use crate::aliases::{ReceivedAliases, SentAliases};
use crate::codec::framing::FIRST_PACKET_BYTES;
use crate::codec::{Footprint, Framer, PropertiesBuf, ReasonCode, Version};
use crate::quality::{PacketId, QoS};
use crate::reply::Reply;
use crate::session::{Inbound, Outbound};
use ahead::Ahead;
use config::Settings;
use deferred::Unacknowledged;

/// Counters of ignored input and of packets that no command caused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// PINGREQ sent.
    pub pings: u64,
    /// PUBLISH and PUBREL packets sent again on a later connection.
    pub resent: u64,
    /// QoS 2 messages, and messages without acknowledgement, that arrived again and were not reported again.
    pub duplicates: u64,
    /// Acknowledgements that match no exchange.
    pub unexpected_answers: u64,
    /// The last unexpected acknowledgement.
    pub last_unexpected: Option<Unexpected>,
    /// Inputs for a flow that is not the client's.
    pub foreign_inputs: u64,
}

/// An acknowledgement that matches no exchange (MQTT 5, section 2.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{packet} with packet id {id}, expected {} with {}", awaited.0, awaited.1)]
pub struct Unexpected {
    /// The packet's name.
    pub packet: &'static str,
    /// Its packet id.
    pub id: PacketId,
    /// The name and packet id of the packet that the oldest exchange waits for.
    pub awaited: (&'static str, PacketId),
}

/// A message to send.
#[derive(Clone, Debug)]
struct Outgoing {
    message: u64,
    template: Arc<PublishTemplate>,
    stamp: Option<Stamp>,
}

/// The subject of an exchange that the client started.
#[derive(Clone, Debug)]
enum Subject {
    Message(Outgoing),
    Subscription,
}

/// A command that waits for the connection or for the server's receive maximum.
#[derive(Clone, Debug)]
enum Request {
    Publish(Outgoing),
    Other(Box<Command>),
}

/// The state of the connection.
#[derive(Debug)]
enum State {
    Idle,
    AwaitConnack(FlowId, Ahead),
    Connected(FlowId, Limits),
    /// The client closes the flow after the packets in the queue.
    Ending(FlowId),
    /// The client has closed its direction.
    Closing(FlowId),
}

/// The limits of one connection.
#[derive(Debug)]
struct Limits {
    keep_alive: Duration,
    /// The largest packet that the server accepts, in bytes.
    maximum_packet_size: Option<u32>,
    /// The highest QoS that the server accepts.
    maximum_qos: QoS,
    /// Whether the server retains messages.
    retain_available: bool,
    /// `None` if neither side accepts topic aliases.
    aliases: Option<Box<Aliases>>,
}

/// The topic aliases of one connection.
#[derive(Debug)]
struct Aliases {
    sent: SentAliases,
    received: ReceivedAliases,
    /// Scratch for the properties of a PUBLISH with an alias.
    properties: PropertiesBuf,
}

/// The next step of the client.
#[derive(Debug)]
enum Action {
    Connect,
    Send(Reply),
    Consumed(Footprint),
    Event(Event),
    Close,
}

#[derive(Clone, Copy, Debug)]
enum Timer {
    Connack,
    KeepAlive,
    Pingresp,
}

impl From<Timer> for usize {
    fn from(timer: Timer) -> Self {
        timer as Self
    }
}

/// An MQTT client.
///
/// The fields lie in memory in this order. Those that every message uses are adjacent, because with thousands of
/// clients none of them is in the caches when its turn comes.
#[derive(Debug)]
#[repr(C)]
pub struct Client {
    now: Instant,
    actions: VecDeque<Action>,
    /// The message that was handed out last, until that is reported.
    sent: Option<u64>,
    state: State,
    version: Version,
    framer: Framer,
    outbound: Outbound<Subject>,
    requests: VecDeque<Request>,
    timers: TimerTable<3>,
    config: Settings,
    inbound: Inbound,
    /// `None` if deliveries are acknowledged on arrival.
    unacknowledged: Option<Box<Unacknowledged>>,
    next_message: u64,
    pings: u64,
    /// What is counted beside pings. Most clients meet none of it.
    faults: Option<Box<Stats>>,
}

impl Client {
    /// A client that connects when its flow opens.
    pub fn new(config: Config) -> Self {
        let defers = config.acknowledges_on_command && !config.reports_digests;
        Self {
            now: Instant::START,
            // The capacity that one message needs. A larger ring would use more of the caches.
            actions: VecDeque::with_capacity(2),
            sent: None,
            state: State::Idle,
            version: config.version,
            framer: Framer::default(),
            outbound: Outbound::new(),
            requests: VecDeque::new(),
            timers: TimerTable::new(),
            config: config.into(),
            inbound: Inbound::default(),
            unacknowledged: defers.then(Box::default),
            next_message: 0,
            pings: 0,
            faults: None,
        }
    }

    /// Counters of ignored input and of pings.
    pub fn stats(&self) -> Stats {
        Stats {
            pings: self.pings,
            ..self.faults.as_deref().copied().unwrap_or_default()
        }
    }

    /// The counters beside pings, for changes.
    fn faults(&mut self) -> &mut Stats {
        self.faults.get_or_insert_default()
    }

    /// Whether the server has accepted the connection, and it is open.
    pub const fn is_connected(&self) -> bool {
        matches!(self.state, State::Connected(..))
    }

    /// The number of unfinished exchanges: QoS 1 and 2 messages, subscriptions.
    pub fn in_flight(&self) -> usize {
        self.outbound.len()
    }

    /// The number of commands in the queue.
    pub fn queued(&self) -> usize {
        self.requests.len()
    }

    const fn flow(&self) -> Option<FlowId> {
        match self.state {
            State::Idle => None,
            State::AwaitConnack(flow, _)
            | State::Connected(flow, _)
            | State::Ending(flow)
            | State::Closing(flow) => Some(flow),
        }
    }

    fn open(&mut self, flow: FlowId) {
        self.framer = Framer::new(self.config.largest_packet().min(FIRST_PACKET_BYTES));
        let ahead = self.open_ahead();
        self.state = State::AwaitConnack(flow, ahead);
        if let Some(unacknowledged) = &mut self.unacknowledged {
            unacknowledged.connect();
        }
        self.timers = TimerTable::new();
        self.timers
            .set(Timer::Connack, self.now + self.config.connect_timeout);
        self.actions.push_back(Action::Connect);
        if ahead == Ahead::Allowed {
            self.actions.push_back(Action::Event(Event::MaySend));
        }
    }

    fn command(&mut self, command: Command) {
        match command {
            Command::Publish(template) => {
                let message = self.next_message;
                self.next_message += 1;
                self.publish(Outgoing {
                    message,
                    template,
                    stamp: None,
                });
            }
            Command::PublishAs {
                message,
                template,
                stamp,
            } => self.publish(Outgoing {
                message,
                template,
                stamp,
            }),
            Command::Disconnect(reason) => self.disconnect(reason),
            Command::Ping => self.ping(),
            Command::Acknowledge { delivery } => self.acknowledge(delivery),
            Command::Decline { delivery } => {
                if let Some(unacknowledged) = &mut self.unacknowledged {
                    unacknowledged.decline(delivery);
                    self.answer_acknowledged();
                }
            }
            other => self.requests.push_back(Request::Other(Box::new(other))),
        }
    }

    fn publish(&mut self, outgoing: Outgoing) {
        // In a ring of one, the request is always in the same place.
        if self.requests.capacity() == 0 {
            self.requests.reserve_exact(1);
        }
        self.requests.push_back(Request::Publish(outgoing));
    }

    fn ping(&mut self) {
        if self.is_connected() {
            self.pings += 1;
            self.actions.push_back(Action::Send(Reply::Pingreq));
            self.timers
                .set(Timer::Pingresp, self.now + self.config.ping_timeout);
        }
    }

    fn expire_timers(&mut self) {
        if self.timers.expire(Timer::Connack, self.now) {
            self.give_up(Awaited::Connack);
        }
        if self.timers.expire(Timer::Pingresp, self.now) {
            self.give_up(Awaited::Pingresp);
        }
        // [MQTT-3.1.2-20]: the client has sent no packet for the keep-alive time.
        let idle = self.timers.expire(Timer::KeepAlive, self.now);
        if idle && self.timers.deadline(Timer::Pingresp).is_none() {
            self.ping();
        }
    }

    fn give_up(&mut self, awaited: Awaited) {
        self.actions.push_back(Action::Event(Event::TimedOut(awaited)));
        self.end();
    }

    fn peer_closed(&mut self) {
        self.end();
        self.actions.push_back(Action::Event(Event::Closed));
    }
}

impl Endpoint for Client {
    type Command = Command;
    type Event = Event;
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, Command>, now: Instant) -> Result<(), Infallible> {
        self.now = now;
        match input {
            Input::Opened { flow, .. } => self.open(flow),
            Input::Command(command) => self.command(command),
            Input::Timeout => self.expire_timers(),
            Input::Congested { .. } | Input::Writable { .. } => {}
            Input::Received { flow, .. } | Input::PeerClosed { flow } | Input::Reset { flow, .. }
                if self.flow() != Some(flow) =>
            {
                self.faults().foreign_inputs += 1;
            }
            Input::Received { bytes, .. } => self.receive(bytes),
            Input::PeerClosed { .. } => self.peer_closed(),
            Input::Reset { reason, .. } => {
                self.actions.retain(|action| matches!(action, Action::Event(_)));
                self.forget_connection();
                self.actions.push_back(Action::Event(Event::Reset(reason)));
            }
        }
        Ok(())
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Event> {
        if let Some(message) = self.sent.take() {
            return Output::Event(Event::Sent { message });
        }
        loop {
            while let Some(action) = self.actions.pop_front() {
                if let Some(output) = self.perform(action, out) {
                    return output;
                }
            }
            if let Some(output) = self.transmit(out) {
                return output;
            }
            // A packet that cannot be framed ends the connection, which is the next action.
            if self.actions.is_empty() {
                return Output::Timeout(self.timers.next());
            }
        }
    }

    fn rest(&mut self) -> bool {
        let awaits =
            matches!(self.state, State::AwaitConnack(..)) || self.timers.deadline(Timer::Pingresp).is_some();
        let is_idle = !awaits
            && self.actions.is_empty()
            && self.requests.is_empty()
            && self.sent.is_none()
            && self.outbound.len() == 0
            && self.inbound.len() == 0;
        if is_idle {
            (self.actions, self.requests) = (VecDeque::new(), VecDeque::new());
            self.outbound.rest();
            self.inbound.rest();
            self.framer.rest();
            if let State::Connected(_, limits) = &mut self.state
                && let Some(aliases) = &mut limits.aliases
            {
                aliases.properties = PropertiesBuf::new();
            }
        }
        is_idle
    }
}

impl Client {
    fn forget_connection(&mut self) {
        self.state = State::Idle;
        self.timers = TimerTable::new();
    }

    /// Sends DISCONNECT and closes. A connection without CONNACK is only closed, unless a packet went ahead.
    fn disconnect(&mut self, reason: ReasonCode) {
        if self.is_connected() || self.is_ahead() {
            let disconnect = Reply::Disconnect(reason);
            self.actions.push_back(Action::Send(disconnect));
        }
        self.end();
    }

    /// Closes the flow after the packets in the queue, once.
    fn end(&mut self) {
        if let State::AwaitConnack(flow, _) | State::Connected(flow, _) = self.state {
            self.state = State::Ending(flow);
            self.actions.push_back(Action::Close);
        }
    }
}
