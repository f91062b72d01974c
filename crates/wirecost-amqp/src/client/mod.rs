//! The client: one connection at a time, with one session and one sending link.
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
//! The client sends sasl-init after the mechanisms, because it must choose one of them (section 5.3.2), and the AMQP
//! header after sasl-outcome. The header, open, begin and attach leave in one flight, as section 2.4.2 allows: they
//! stay within the limits that every peer has (512-byte frames, channel 0, handle 0). The first transfer waits for
//! credit (section 2.6.7).
//!
//! A client that pipelines sends SASL header, sasl-init and everything up to the attach in one flight: section 2.4.2 allows frames before
//! the peer's header, and the peer cannot tell them from those of a client that has waited. Its first transfer waits for credit too,
//! which the receiver alone gives (section 2.6.7).

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

/// Counters of ignored input and of frames that no command caused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Empty frames sent.
    pub empty_frames: u64,
    /// Dispositions of deliveries that were not in flight.
    pub unexpected_answers: u64,
    /// Inputs for a flow that is not the client's.
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
    /// Holds the head of a transfer frame until the frame's size is known.
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

    /// Counters of ignored input and of empty frames.
    pub const fn stats(&self) -> Stats {
        self.stats
    }

    /// Unsettled messages without an outcome.
    pub fn in_flight(&self) -> usize {
        let link = self.connection.as_ref().and_then(Connection::link);
        link.map_or(0, |link| link.unsettled.len())
    }

    /// The number of messages in the queue.
    pub fn queued(&self) -> usize {
        self.requests.len()
    }

    fn open(&mut self, flow: FlowId) {
        self.discard();
        self.connection = Some(Connection::open(flow, &self.config, self.now));
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

    /// Drops the connection. The messages in flight get no outcome.
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
        if !connection.is_over() {
            self.events.push_back(Event::Closed { error: None });
        }
        connection.finish();
    }

    /// Drops the connection. A reset after the end is not reported: some peers answer FIN with RST.
    fn reset(&mut self, reason: ResetReason) {
        let connection = self.connection.as_ref();
        let is_news = connection.is_some_and(|connection| !connection.is_over());
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

    /// Ends a connection that lacks a frame because it is too large for the peer.
    fn fail_if_too_large(&mut self) {
        let frames = self.connection.as_mut().map(|connection| &mut connection.frames);
        if let Some(too_large) = frames.and_then(|frames| frames.too_large.take()) {
            self.fail(Failure::FrameTooLarge(too_large));
        }
    }

    /// Reports `failure` and sends close with the matching condition.
    fn fail(&mut self, failure: Failure) {
        if let Some(connection) = &mut self.connection {
            connection.fail(&failure);
        }
        self.events.push_back(Event::Failed(failure));
    }

    fn flow(&self) -> Option<FlowId> {
        self.connection.as_ref().map(|connection| connection.frames.flow)
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
        self.fail_if_too_large();
        self.report_abandoned();
        Ok(())
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Event> {
        if let Some(connection) = &mut self.connection
            && connection.frames.take_consumed(out)
        {
            let flow = connection.frames.flow;
            return Output::Consumed { flow };
        }
        if let Some(event) = self.events.pop_front() {
            return Output::Event(event);
        }
        if let Some(output) = self.transmit(out) {
            return output;
        }
        let connection = self.connection.as_ref();
        Output::Timeout(connection.and_then(|connection| connection.frames.timers.next()))
    }
}
