//! The client: one connection at a time, one session, one link on which it sends.
//!
//! ```text
//! client                                          server
//!   SASL header         -- AwaitSaslHeader -->
//!                                             <-- SASL header, mechanisms
//!   sasl-init           -- AwaitOutcome    -->
//!                                             <-- sasl-outcome
//!   AMQP header, open, begin, attach       -->                 AwaitHeader
//!                                             <-- AMQP header, open, begin, attach, flow
//!   transfer ...        -- Attached        -->
//!                                             <-- disposition
//!   close               -- AwaitClose      -->
//!                                             <-- close
//!   FIN
//! ```
//!
//! What waits for what: sasl-init for the mechanisms, because the client must choose one of them (section 5.3.2); the
//! AMQP header for the outcome. The header, open, begin and attach leave in one flight (section 2.4.2 allows it: they
//! keep to the limits that every peer has, 512-byte frames, channel 0 and handle 0). The first transfer waits for
//! credit (section 2.6.7).

mod command;
mod config;
mod connection;
mod receive;
mod transmit;

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::convert::Infallible;

use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output, ResetReason};

pub use command::{Awaited, Command, Event, Failure, MessageTemplate, Refusal};
pub use config::{Closing, Config, SaslConfig};

use connection::{Connection, State};

/// What the client ignored or sent of its own accord.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Empty frames sent.
    pub empty_frames: u64,
    /// Dispositions of deliveries that were not in flight.
    pub unexpected_answers: u64,
    /// Inputs for a flow that is not this client's.
    pub foreign_inputs: u64,
}

/// A message that waits for credit.
#[derive(Clone, Debug)]
struct Request {
    message: u64,
    template: Arc<MessageTemplate>,
}

/// An AMQP 1.0 client.
#[derive(Debug)]
pub struct Client {
    config: Config,
    connection: Option<Connection>,
    requests: VecDeque<Request>,
    events: VecDeque<Event>,
    now: Instant,
    /// The head of one transfer frame, before its size is known.
    scratch: Vec<u8>,
    stats: Stats,
}

impl Client {
    /// A client that connects when its flow opens.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            connection: None,
            requests: VecDeque::new(),
            events: VecDeque::new(),
            now: Instant::START,
            scratch: Vec::new(),
            stats: Stats::default(),
        }
    }

    /// What was ignored or sent unasked.
    pub const fn stats(&self) -> Stats {
        self.stats
    }

    /// Whether the link has had credit and the connection stands.
    pub fn is_open(&self) -> bool {
        let connection = self.connection.as_ref();
        connection.is_some_and(|connection| connection.link().is_some_and(|link| link.has_credit))
    }

    /// Unsettled messages without an outcome.
    pub fn in_flight(&self) -> usize {
        let link = self.connection.as_ref().and_then(Connection::link);
        link.map_or(0, |link| link.unsettled.len())
    }

    /// Messages that wait to be sent.
    pub fn queued(&self) -> usize {
        self.requests.len()
    }

    fn open(&mut self, flow: FlowId) {
        self.discard();
        let connection = Connection::open(flow, &self.config, self.now);
        self.connection = Some(connection);
    }

    fn command(&mut self, command: Command) {
        match command {
            Command::Send { message, template } => self.requests.push_back(Request { message, template }),
            Command::Close => {
                if let Some(connection) = &mut self.connection {
                    connection.close(&self.config, self.now);
                }
            }
        }
    }

    /// Forgets the connection; the messages that were on their way have no outcome.
    fn discard(&mut self) {
        if let Some(connection) = &mut self.connection {
            connection.leave(State::Finished);
        }
        self.report_abandoned();
        self.connection = None;
    }

    fn report_abandoned(&mut self) {
        let connection = self.connection.iter_mut();
        let messages = connection.flat_map(|connection| connection.abandoned.drain(..));
        self.events
            .extend(messages.map(|message| Event::Discarded { message }));
    }

    fn peer_closed(&mut self) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        if !connection.is_peer_heard_out() {
            self.events.push_back(Event::Closed { error: None });
        }
        connection.finish();
    }

    /// A flow that breaks after its end is no news: some peers answer FIN by RST.
    fn reset(&mut self, reason: ResetReason) {
        let connection = self.connection.as_ref();
        let is_news = connection.is_some_and(|connection| !connection.is_peer_heard_out());
        self.discard();
        if is_news {
            self.events.push_back(Event::Reset(reason));
        }
    }

    fn expire_timers(&mut self) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        if let Some(failure) = connection.expire_timers(self.now, &mut self.stats) {
            self.fail(failure);
        }
    }

    /// Reports `failure` and closes the connection with the condition that tells the peer.
    fn fail(&mut self, failure: Failure) {
        if let Some(connection) = &mut self.connection {
            connection.fail(&failure);
        }
        self.events.push_back(Event::Failed(failure));
    }

    fn flow(&self) -> Option<FlowId> {
        self.connection.as_ref().map(|connection| connection.flow)
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
                self.stats.foreign_inputs += 1;
            }
            Input::Received { bytes, .. } => self.receive(bytes),
            Input::PeerClosed { .. } => self.peer_closed(),
            Input::Reset { reason, .. } => self.reset(reason),
        }
        self.report_abandoned();
        Ok(())
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Event> {
        if let Some(output) = self.connection.as_mut().and_then(|it| it.take_consumed(out)) {
            return output;
        }
        if let Some(event) = self.events.pop_front() {
            return Output::Event(event);
        }
        if let Some(output) = self.transmit(out) {
            return output;
        }
        let next = self.connection.as_ref().and_then(Connection::next_timeout);
        Output::Timeout(next)
    }
}
