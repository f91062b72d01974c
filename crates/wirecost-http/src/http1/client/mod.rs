//! The client: one connection at a time, and one request at a time on it.
//!
//! ```text
//! client                              server
//!   request       -- AwaitHead -->
//!                                 <-- 1xx                       AwaitHead, any number of times
//!                                 <-- head                      AwaitBody, where there is content
//!                                 <-- content
//!   next request, or with "Connection: close": AwaitClose
//!                                 <-- FIN
//!   FIN           -- Closing -->
//! ```
//!
//! The client does not pipeline: a POST must not be sent before the previous response (RFC 9112 section 9.3.2).
//! Requests wait for the connection and for earlier responses. If the server closes, they wait for the next
//! connection.

mod receive;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use wirecost_proto::{Buffer, Cause, Endpoint, FlowId, Input, Instant, Layer, Output, Phase, TimerTable};

use super::body::Body;
use super::emit;
use super::head::{Collector, MAXIMUM_HEAD_BYTES, Side};
use crate::client::{Command, Event, Failure};
use crate::message::{Method, RequestTemplate, Status};

/// Configuration of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientConfig {
    /// Whether every request uses a connection of its own. The client sends `Connection: close`, the server closes
    /// after its response, and the next request waits for the next connection.
    pub connection_close: bool,
    /// How long the client waits for a response and between its bytes. `None` means no limit.
    pub response_timeout: Option<Duration>,
    /// How long the client waits for the server to close before it closes itself.
    pub close_timeout: Duration,
    /// Bytes of a response's content that the event carries.
    pub keep_body_bytes: usize,
    /// The maximum length of a head in bytes.
    pub max_head_bytes: usize,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            connection_close: false,
            response_timeout: Some(Duration::from_secs(60)),
            close_timeout: Duration::from_secs(1),
            keep_body_bytes: 0,
            max_head_bytes: MAXIMUM_HEAD_BYTES,
        }
    }
}

/// Counts what the client ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Interim responses (1xx).
    pub interim: u64,
    /// Bytes that belong to no response.
    pub unasked_bytes: u64,
    /// Inputs for flows of others.
    pub foreign_inputs: u64,
}

/// A connection, from its opening to its end.
#[derive(Debug)]
struct Connection {
    flow: FlowId,
    collector: Collector,
    stage: Stage,
    /// Whether a response has been complete on it.
    has_answered: bool,
    /// The request whose response is incomplete. It may outlive this side's close.
    exchange: Option<Exchange>,
}

/// The stage of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Open,
    /// The last response is complete. The client waits for the server to close.
    AwaitClose,
    /// This side has closed or is about to close.
    Closing,
}

impl Connection {
    /// Whether nothing has come of the outstanding response, on a connection on which another one was complete.
    fn is_unanswered(&self) -> bool {
        let exchange = self.exchange.as_ref();
        self.has_answered && exchange.is_some_and(|exchange| !exchange.is_heard)
    }
}

#[derive(Debug)]
struct Exchange {
    /// Its number, until its outcome is reported.
    message: Option<u64>,
    method: Method,
    /// The request and how much of its content is sent, until all is.
    unsent: Option<(Arc<RequestTemplate>, usize)>,
    /// Whether bytes have arrived since it was begun.
    is_heard: bool,
    response: ResponseState,
}

/// The state of a response.
#[derive(Debug)]
enum ResponseState {
    AwaitHead,
    AwaitBody(Body, Received),
}

/// The received part of a response.
#[derive(Debug)]
struct Received {
    status: Status,
    keeps_alive: bool,
    body_bytes: u64,
    kept: Vec<u8>,
}

/// A queued output.
#[derive(Debug)]
enum Action {
    Consumed(FlowId, usize, Layer, Cause),
    Event(Event),
    Close(FlowId),
}

#[derive(Clone, Copy, Debug)]
enum Timer {
    Response,
    Close,
}

impl From<Timer> for usize {
    fn from(timer: Timer) -> Self {
        timer as Self
    }
}

/// An HTTP/1.1 client.
#[derive(Debug)]
pub struct Client {
    config: ClientConfig,
    connection: Option<Connection>,
    commands: VecDeque<Command>,
    actions: VecDeque<Action>,
    timers: TimerTable<2>,
    now: Instant,
    stats: Stats,
}

impl Client {
    /// A client without a connection.
    pub fn new(config: ClientConfig) -> Self {
        Self {
            config,
            connection: None,
            commands: VecDeque::new(),
            actions: VecDeque::new(),
            timers: TimerTable::new(),
            now: Instant::START,
            stats: Stats::default(),
        }
    }

    /// The counters of ignored input.
    pub const fn stats(&self) -> Stats {
        self.stats
    }

    /// Requests that wait to be sent.
    pub fn queued(&self) -> usize {
        self.commands.len()
    }

    fn open(&mut self, flow: FlowId) {
        // The last connection will bring no further response.
        self.fail(Failure::Abandoned);
        self.timers = TimerTable::new();
        self.connection = Some(Connection {
            flow,
            collector: Collector::new(Side::Client, self.config.max_head_bytes),
            stage: Stage::Open,
            has_answered: false,
            exchange: None,
        });
        self.report(Event::Opened);
    }

    /// A command to close needs a connection, or an earlier request that will have one.
    fn command(&mut self, command: Command) {
        let is_idle = self.connection.is_none() && self.commands.is_empty();
        if !(is_idle && command == Command::Close) {
            self.commands.push_back(command);
        }
    }

    fn expire_timers(&mut self) {
        if self.timers.expire(Timer::Response, self.now) {
            if let Some(message) = self.take_message() {
                self.report(Event::TimedOut { message });
            }
            // RFC 9112 section 9.5: a late response must not be taken for the response to another request.
            self.close();
        }
        if self.timers.expire(Timer::Close, self.now) {
            self.close();
        }
    }

    fn peer_closed(&mut self) {
        self.finish_until_close();
        self.fail(Failure::Closed);
        self.close();
        let Some(mut connection) = self.connection.take() else {
            return;
        };
        let held = connection.collector.clear();
        self.consumed(connection.flow, held, Layer::Application, Cause::Original);
        self.timers = TimerTable::new();
        self.forget_close();
        self.report(Event::Closed);
    }

    fn reset(&mut self, reason: wirecost_proto::ResetReason) {
        self.actions.retain(|action| matches!(action, Action::Event(_)));
        self.fail(Failure::Reset(reason));
        self.connection = None;
        self.timers = TimerTable::new();
        self.forget_close();
        self.report(Event::Reset(reason));
    }

    /// Drops close commands that the end of the connection has fulfilled. They must not close the next connection.
    fn forget_close(&mut self) {
        while self.commands.front() == Some(&Command::Close) {
            self.commands.pop_front();
        }
    }

    /// Closes this side, once.
    fn close(&mut self) {
        if let Some(connection) = &mut self.connection
            && connection.stage != Stage::Closing
        {
            connection.stage = Stage::Closing;
            self.actions.push_back(Action::Close(connection.flow));
            self.timers = TimerTable::new();
        }
    }

    /// Reports that the outstanding request, if any, has no response.
    fn fail(&mut self, reason: Failure) {
        let is_unanswered = self.connection.as_ref().is_some_and(Connection::is_unanswered);
        let reason = if is_unanswered {
            reason.unanswered()
        } else {
            reason
        };
        if let Some(message) = self.take_message() {
            self.report(Event::Failed { message, reason });
        }
    }

    /// The number of the outstanding request, whose outcome the caller reports.
    fn take_message(&mut self) -> Option<u64> {
        let exchange = self.connection.as_mut()?.exchange.as_mut()?;
        exchange.unsent = None;
        exchange.message.take()
    }

    fn report(&mut self, event: Event) {
        self.actions.push_back(Action::Event(event));
    }

    fn consumed(&mut self, flow: FlowId, len: usize, layer: Layer, cause: Cause) {
        if len > 0 {
            self.actions.push_back(Action::Consumed(flow, len, layer, cause));
        }
    }

    /// Starts the next command if the connection is free.
    fn begin_next(&mut self) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        if connection.stage != Stage::Open || connection.exchange.is_some() {
            return;
        }
        match self.commands.pop_front() {
            Some(Command::Request { message, template }) => {
                connection.exchange = Some(Exchange {
                    message: Some(message),
                    method: template.method(),
                    unsent: Some((template, 0)),
                    is_heard: false,
                    response: ResponseState::AwaitHead,
                });
                self.expect_bytes();
            }
            Some(Command::Close) => self.close(),
            None => {}
        }
    }

    /// Starts the time-out for the server's next byte.
    fn expect_bytes(&mut self) {
        if let Some(patience) = self.config.response_timeout {
            self.timers.set(Timer::Response, self.now + patience);
        }
    }

    /// Appends the next part of the request.
    fn transmit(&mut self, out: &mut Buffer) -> Option<FlowId> {
        let connection = self.connection.as_mut()?;
        let exchange = connection.exchange.as_mut()?;
        let (template, sent) = exchange.unsent.as_mut()?;
        *sent = emit::request(template, self.config.connection_close, *sent, out);
        if *sent == template.content().len() {
            exchange.unsent = None;
            let sent = exchange.message.map(|message| Event::Sent { message });
            self.actions.extend(sent.map(Action::Event));
        }
        Some(connection.flow)
    }
}

impl Endpoint for Client {
    type Command = Command;
    type Event = Event;
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, Command>, now: Instant) -> Result<(), Infallible> {
        self.now = now;
        let own = self.connection.as_ref().map(|connection| connection.flow);
        match input {
            Input::Opened { flow, .. } => self.open(flow),
            Input::Command(command) => self.command(command),
            Input::Timeout => self.expire_timers(),
            Input::Congested { .. } | Input::Writable { .. } => {}
            Input::Received { flow, .. } | Input::PeerClosed { flow } | Input::Reset { flow, .. }
                if own != Some(flow) =>
            {
                self.stats.foreign_inputs += 1;
            }
            Input::Received { bytes, .. } => self.receive(bytes),
            Input::PeerClosed { .. } => self.peer_closed(),
            Input::Reset { reason, .. } => self.reset(reason),
        }
        Ok(())
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Event> {
        self.begin_next();
        if let Some(action) = self.actions.pop_front() {
            return match action {
                Action::Event(event) => Output::Event(event),
                Action::Close(flow) => Output::Close { flow, reset: false },
                Action::Consumed(flow, len, layer, cause) => {
                    out.cover(len, layer, Phase::Message, cause);
                    Output::Consumed { flow }
                }
            };
        }
        match self.transmit(out) {
            Some(flow) => Output::Transmit { flow },
            None => Output::Timeout(self.timers.next()),
        }
    }

    fn rest(&mut self) -> bool {
        let connection = self.connection.as_ref();
        let is_asking = connection.is_some_and(|connection| connection.exchange.is_some());
        let is_idle = !is_asking && self.commands.is_empty() && self.actions.is_empty();
        if is_idle {
            (self.commands, self.actions) = (VecDeque::new(), VecDeque::new());
            if let Some(connection) = &mut self.connection {
                connection.collector.rest();
            }
        }
        is_idle
    }
}
