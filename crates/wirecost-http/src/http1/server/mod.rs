//! The reference server: any number of connections, one set of resources.
//!
//! ```text
//! client                              server
//!   head          -- AwaitHead -->
//!                                 <-- 100, where the client expects it and its content may come
//!   content       -- AwaitBody -->
//!                                 <-- response                          AwaitHead
//!                                     or nothing yet: a long poll       Waiting, further requests are held
//!                                 <-- response, FIN                     Lingering, where either side says close
//!   FIN           -->
//! ```
//!
//! Requests may be pipelined. Each is answered before the next one is read, so that responses are in order (RFC 9112
//! section 9.3.2).

mod connection;
mod receive;
mod respond;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::time::Duration;

use wirecost_proto::{Buffer, Endpoint, FlowId, Held, Input, Instant, Layer, Output, Phase};

use super::emit;
use super::head::MAXIMUM_HEAD_BYTES;
use crate::message::{Malformed, Method, Response};
use crate::resource::{self, Resources};
use crate::server::{Command, Event};
use connection::{Connection, Stage};

/// Configuration of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    /// The limits of the resources.
    pub resources: resource::Config,
    /// Time-out of a head from its first byte. The server then responds with 408.
    pub header_timeout: Duration,
    /// Time-out between bytes of content. The server then responds with 408.
    pub body_timeout: Duration,
    /// Time-out of a connection without a request. The server then closes it.
    pub idle_timeout: Duration,
    /// How long the server waits for the client to close after it has closed itself. It then resets the connection
    /// (RFC 9112 section 9.6).
    pub linger: Duration,
    /// The maximum length of a head in bytes. The server responds with 431 to longer ones.
    pub max_head_bytes: usize,
    /// The most bytes held after a request that waits. Beyond it the server closes the connection.
    pub max_held_bytes: usize,
    /// The most bytes of content in responses to requests that arrive together, because a few bytes of request can
    /// ask for much. Beyond it the server closes before the next request, which the client may send again (RFC 9112
    /// section 9.3.2).
    pub max_pipelined_bytes: usize,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            resources: resource::Config::default(),
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            // The default of nginx (keepalive_timeout).
            idle_timeout: Duration::from_secs(75),
            linger: Duration::from_secs(5),
            max_head_bytes: MAXIMUM_HEAD_BYTES,
            max_held_bytes: 64 << 10,
            max_pipelined_bytes: 4 << 20,
        }
    }
}

/// Counts what the server answered, refused or ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Requests answered.
    pub answered: u64,
    /// Inputs that were not requests.
    pub malformed: u64,
    /// Clients that timed out.
    pub timed_out: u64,
    /// Bytes received after an error.
    pub ignored_bytes: u64,
    /// Inputs for unknown flows.
    pub foreign_inputs: u64,
}

/// A queued output.
#[derive(Debug)]
enum Action {
    Consumed(FlowId, usize, Layer),
    Continue(FlowId),
    Send(FlowId, Reply),
    Event(Event),
    Close(FlowId, bool),
}

impl Action {
    /// The flow of the output. Events have none.
    const fn flow(&self) -> Option<FlowId> {
        match self {
            Self::Consumed(flow, ..) | Self::Continue(flow) | Self::Send(flow, _) | Self::Close(flow, _) => {
                Some(*flow)
            }
            Self::Event(_) => None,
        }
    }
}

/// A response that is being sent.
#[derive(Debug)]
struct Reply {
    response: Response,
    method: Method,
    close: bool,
    /// Bytes of its content that have been sent.
    sent: usize,
}

/// An HTTP/1.1 server.
#[derive(Debug)]
pub struct Server {
    connections: BTreeMap<FlowId, Connection>,
    core: Core,
}

/// Everything but the connections.
#[derive(Debug)]
struct Core {
    config: ServerConfig,
    resources: Resources,
    /// When connections are checked next.
    deadlines: BTreeSet<(Instant, FlowId)>,
    actions: VecDeque<Action>,
    now: Instant,
    stats: Stats,
}

impl Server {
    /// A server without connections.
    pub fn new(config: ServerConfig) -> Self {
        let core = Core {
            resources: Resources::new(config.resources.clone()),
            config,
            deadlines: BTreeSet::new(),
            actions: VecDeque::new(),
            now: Instant::START,
            stats: Stats::default(),
        };
        Self {
            connections: BTreeMap::new(),
            core,
        }
    }

    /// The counters.
    pub const fn stats(&self) -> Stats {
        self.core.stats
    }

    /// The number of open connections.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    fn open(&mut self, flow: FlowId) {
        let mut connection = Connection::new(flow, self.core.config.max_head_bytes);
        connection.deadline = Some(self.core.now + self.core.config.idle_timeout);
        self.core.schedule(&mut connection);
        self.connections.insert(flow, connection);
    }

    fn receive(&mut self, flow: FlowId, bytes: &[u8]) {
        match self.connections.get_mut(&flow) {
            Some(connection) => self.core.receive(connection, bytes),
            None => self.core.stats.foreign_inputs += 1,
        }
        self.answer_waiting();
    }

    /// Answers the long polls that are ready, then reads the bytes held after them.
    fn answer_waiting(&mut self) {
        while let Some((exchange, response)) = self.core.resources.poll_answer() {
            let Some(connection) = self.connections.get_mut(&exchange.flow) else {
                continue;
            };
            if let Stage::Waiting { held } = &mut connection.stage {
                let held = std::mem::take(held);
                self.core.respond(connection, response);
                self.core.receive(connection, &held);
            }
        }
    }

    fn peer_closed(&mut self, flow: FlowId) {
        let Some(mut connection) = self.forget(flow) else {
            return;
        };
        let core = &mut self.core;
        if connection.is_within_request() {
            core.stats.malformed += 1;
            let reason = Malformed::Length;
            core.report(Event::Failed { flow, reason });
        }
        let rest = connection.drop_held();
        core.ignore(flow, rest);
        if !matches!(connection.stage, Stage::Lingering { .. }) {
            core.actions.push_back(Action::Close(flow, false));
        }
        core.report(Event::Closed { flow });
    }

    fn reset(&mut self, flow: FlowId) {
        if self.forget(flow).is_some() {
            self.core.actions.retain(|action| action.flow() != Some(flow));
            self.core.report(Event::Closed { flow });
        }
    }

    fn forget(&mut self, flow: FlowId) -> Option<Connection> {
        let Some(connection) = self.connections.remove(&flow) else {
            self.core.stats.foreign_inputs += 1;
            return None;
        };
        if let Some(at) = connection.scheduled {
            self.core.deadlines.remove(&(at, flow));
        }
        self.core.resources.forget(flow);
        Some(connection)
    }

    fn expire(&mut self) {
        let now = self.core.now;
        while let Some((at, flow)) = self.core.deadlines.first().copied()
            && at <= now
        {
            self.core.deadlines.pop_first();
            if let Some(connection) = self.connections.get_mut(&flow) {
                connection.scheduled = None;
                if self.core.expire(connection) {
                    self.forget(flow);
                    self.core.report(Event::Closed { flow });
                }
            }
        }
        self.core.resources.expire(now);
        self.answer_waiting();
    }

    /// Marks the next `bytes` bytes received on `flow` as early data, like [`Command::EarlyData`]. A layer around the
    /// server calls it while it delivers the data.
    pub fn expect_early_data(&mut self, flow: FlowId, bytes: usize) {
        match self.connections.get_mut(&flow) {
            Some(connection) => connection.early_bytes += bytes,
            None => self.core.stats.foreign_inputs += 1,
        }
    }
}

impl Core {
    fn report(&mut self, event: Event) {
        self.actions.push_back(Action::Event(event));
    }

    fn consumed(&mut self, flow: FlowId, len: usize, layer: Layer) {
        if len > 0 {
            self.actions.push_back(Action::Consumed(flow, len, layer));
        }
    }

    /// Counts bytes that cannot be read.
    fn ignore(&mut self, flow: FlowId, len: usize) {
        self.stats.ignored_bytes += len as u64;
        self.consumed(flow, len, Layer::Application);
    }

    fn perform(&mut self, action: Action, out: &mut Buffer) -> Output<Event> {
        match action {
            Action::Event(event) => Output::Event(event),
            Action::Close(flow, reset) => Output::Close { flow, reset },
            Action::Consumed(flow, len, layer) => {
                out.cover(len, layer, Phase::Message, wirecost_proto::Cause::Original);
                Output::Consumed { flow }
            }
            Action::Continue(flow) => {
                emit::interim_continue(out);
                Output::Transmit { flow }
            }
            Action::Send(flow, reply) => self.transmit(flow, reply, out),
        }
    }

    fn transmit(&mut self, flow: FlowId, mut reply: Reply, out: &mut Buffer) -> Output<Event> {
        reply.sent = emit::response(&reply.response, reply.method, reply.close, reply.sent, out);
        let carries = reply.method != Method::Head;
        if carries && reply.sent < reply.response.content_length() {
            self.actions.push_front(Action::Send(flow, reply));
        }
        Output::Transmit { flow }
    }
}

impl Endpoint for Server {
    type Command = Command;
    type Event = Event;
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, Command>, now: Instant) -> Result<(), Infallible> {
        self.core.now = now;
        match input {
            Input::Opened { flow, .. } => self.open(flow),
            Input::Received { flow, bytes } => self.receive(flow, bytes),
            Input::Congested { .. } | Input::Writable { .. } => {}
            Input::PeerClosed { flow } => self.peer_closed(flow),
            Input::Reset { flow, .. } => self.reset(flow),
            Input::Command(Command::EarlyData { flow, bytes }) => self.expect_early_data(flow, bytes),
            Input::Timeout => self.expire(),
        }
        Ok(())
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Event> {
        if let Some(action) = self.core.actions.pop_front() {
            return self.core.perform(action, out);
        }
        let deadline = self.core.deadlines.first().map(|(at, _)| *at);
        let poll = self.core.resources.next_timeout();
        Output::Timeout(deadline.into_iter().chain(poll).min())
    }

    fn held(&self, flow: FlowId) -> Held {
        let connection = self.connections.get(&flow);
        connection.map_or(Held::default(), Connection::held)
    }

    fn stored_bytes(&self) -> usize {
        self.core.resources.stored_bytes()
    }
}
