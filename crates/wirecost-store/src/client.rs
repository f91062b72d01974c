//! The client: one connection at a time, on which it inserts readings and gets one answer for each, in order.
//!
//! ```text
//! client                                          server
//!   start-up, login       -- Connecting -->
//!                                             <-- ready, or an error
//!   setup statements, the insert once     -->
//!                                             <-- prepared
//!   insert ...            -- Open       -->
//!                                             <-- one answer for each insert
//!   goodbye               -- Finished   -->
//!   FIN
//! ```
//!
//! The client does not wait for an answer before the next insert: its user bounds the inserts in flight.

use std::collections::VecDeque;
use std::convert::Infallible;

use wirecost_proto::{Buffer, Cause, Endpoint, FlowId, Input, Instant, Layer, Output, Phase, ResetReason};

pub use crate::command::{Command, Config, Event, Failure, Key, Refusal, Verdict};
use crate::dialect::{Dialect, Row, Step};
use crate::{Column, Store, json, mariadb, mongodb, postgres};

/// The longest packet that the client accepts from a server, in bytes.
const LONGEST_ANSWER: usize = 1 << 20;

/// Counters of ignored input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Answers to which no command belongs.
    pub unexpected_answers: u64,
    /// Inputs for a flow that is not the client's.
    pub foreign_inputs: u64,
}

/// A client that inserts readings.
#[derive(Debug)]
pub struct Client {
    config: Config,
    connection: Option<Connection>,
    queue: VecDeque<Command>,
    /// The column `number` of the next insert.
    inserts: u64,
    events: VecDeque<Event>,
    now: Instant,
    stats: Stats,
}

#[derive(Debug)]
struct Connection {
    flow: FlowId,
    state: State,
    dialect: Box<dyn Dialect>,
    /// The received bytes of an incomplete packet.
    kept: Vec<u8>,
    /// The spans of received bytes.
    consumed: Buffer,
    /// What leaves before the next insert.
    outgoing: Buffer,
    /// The numbers of the commands without an answer, the oldest first.
    in_flight: VecDeque<u64>,
    /// When the server must have answered.
    answer_by: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Until the insert is prepared.
    Connecting,
    Open,
    /// No command follows; answers do.
    Closing,
    /// The end of the flow is due.
    Finishing,
    Finished,
}

impl Client {
    /// A client that connects when its flow opens.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            connection: None,
            queue: VecDeque::new(),
            inserts: 0,
            events: VecDeque::new(),
            now: Instant::START,
            stats: Stats::default(),
        }
    }

    /// Counters of ignored input.
    pub const fn stats(&self) -> Stats {
        self.stats
    }

    /// The number of commands without an answer.
    pub fn in_flight(&self) -> usize {
        let connection = self.connection.as_ref();
        connection.map_or(0, |connection| connection.in_flight.len())
    }

    /// The number of commands in the queue.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    fn open(&mut self, flow: FlowId) {
        self.discard();
        let mut connection = Connection {
            flow,
            state: State::Connecting,
            dialect: dialect(&self.config),
            kept: Vec::new(),
            consumed: Buffer::new(),
            outgoing: Buffer::new(),
            in_flight: VecDeque::new(),
            answer_by: Some(self.now + self.config.answer_timeout),
        };
        let mut greeted = Ok(());
        let first = |bytes: &mut Vec<u8>| greeted = connection.dialect.greet(bytes);
        let (layer, cause) = (Layer::Application, Cause::Original);
        connection.outgoing.push_with(layer, Phase::Connect, cause, first);
        self.connection = Some(connection);
        if let Err(too_long) = greeted {
            self.fail(too_long.into());
        }
    }

    fn close(&mut self) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        if matches!(connection.state, State::Connecting | State::Open) {
            connection.state = State::Closing;
            connection.answer_by = Some(self.now + self.config.answer_timeout);
        }
    }

    /// Drops the connection. Its commands in flight get no answer.
    fn discard(&mut self) {
        if let Some(mut connection) = self.connection.take() {
            let messages = connection.in_flight.drain(..);
            self.events
                .extend(messages.map(|message| Event::Discarded { message }));
        }
    }

    fn fail(&mut self, failure: Failure) {
        if let Some(connection) = &mut self.connection {
            connection.state = State::Finishing;
            connection.answer_by = None;
            let messages = connection.in_flight.drain(..);
            self.events
                .extend(messages.map(|message| Event::Discarded { message }));
        }
        self.events.push_back(Event::Failed(failure));
    }

    fn peer_closed(&mut self) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        let is_over = connection.is_over();
        let messages = connection.in_flight.drain(..);
        self.events
            .extend(messages.map(|message| Event::Discarded { message }));
        if !is_over {
            self.events.push_back(Event::Closed);
            connection.state = State::Finishing;
            connection.answer_by = None;
        }
    }

    /// Drops the connection. A reset after the end is not reported: some servers answer FIN with RST.
    fn reset(&mut self, reason: ResetReason) {
        let is_over = self.connection.as_ref().is_none_or(Connection::is_over);
        self.discard();
        if !is_over {
            self.events.push_back(Event::Reset(reason));
        }
    }

    fn expire(&mut self) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        if connection.answer_by.is_none_or(|at| at > self.now) {
            return;
        }
        let what = match connection.state {
            State::Connecting => "login",
            State::Open | State::Closing | State::Finishing | State::Finished => "last inserts",
        };
        self.fail(Failure::TimedOut(what));
    }

    fn receive(&mut self, bytes: &[u8]) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        let mut kept = std::mem::take(&mut connection.kept);
        if kept.is_empty() {
            let taken = self.take_packets(bytes);
            kept.extend_from_slice(&bytes[taken..]);
        } else {
            kept.extend_from_slice(bytes);
            let taken = self.take_packets(&kept);
            kept.drain(..taken);
        }
        if let Some(connection) = &mut self.connection {
            connection.kept = kept;
        }
    }

    /// Handles the complete packets at the front of `bytes`; returns their length.
    fn take_packets(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        while let Some(connection) = &mut self.connection {
            let rest = &bytes[taken..];
            if connection.is_over() {
                let (phase, cause) = (Phase::Close, Cause::Original);
                connection
                    .consumed
                    .cover(rest.len(), Layer::Application, phase, cause);
                return bytes.len();
            }
            let len = match connection.dialect.packet_len(rest) {
                Ok(Some(len)) if len > LONGEST_ANSWER => Err(Failure::from(crate::Malformed {
                    expected: "packets of at most 1 MiB",
                })),
                Ok(Some(len)) if len <= rest.len() => Ok(len),
                Ok(_) => break,
                Err(failure) => Err(failure),
            };
            let step = len.and_then(|len| {
                taken += len;
                connection.packet(&rest[..len])
            });
            match step {
                Ok(step) => self.step(step),
                Err(failure) => self.fail(failure),
            }
        }
        taken
    }

    fn step(&mut self, step: Step) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        match step {
            Step::More => {}
            Step::Ready => {
                connection.answer_by = None;
                if connection.state == State::Connecting {
                    connection.state = State::Open;
                    self.events.push_back(Event::Opened);
                }
            }
            Step::Answer(answer) => match (connection.in_flight.pop_front(), answer) {
                (Some(message), Ok(())) => self.events.push_back(Event::Acknowledged { message }),
                (Some(message), Err(refusal)) => self.events.push_back(Event::Refused { message, refusal }),
                (None, _) => self.stats.unexpected_answers += 1,
            },
        }
    }

    /// Hands out what is encoded, then the queue, then the end.
    fn transmit(&mut self, out: &mut Buffer) -> Option<Output<Event>> {
        let connection = self.connection.as_mut()?;
        let flow = connection.flow;
        if !connection.outgoing.is_empty() {
            out.push_described(connection.outgoing.bytes(), connection.outgoing.spans());
            connection.outgoing.clear();
            return Some(Output::Transmit { flow });
        }
        match connection.state {
            State::Open | State::Closing if connection.dialect.is_ready() => {
                if let Some(command) = self.queue.pop_front() {
                    if self.send(command, out) {
                        return Some(Output::Transmit { flow });
                    }
                    // What is not sent has an event.
                    return self.events.pop_front().map(Output::Event);
                }
            }
            State::Finishing => {
                connection.state = State::Finished;
                return Some(Output::Close { flow, reset: false });
            }
            State::Connecting | State::Open | State::Closing | State::Finished => {}
        }
        let connection = self.connection.as_mut()?;
        if connection.state != State::Closing || !connection.in_flight.is_empty() {
            return None;
        }
        connection.state = State::Finishing;
        connection.answer_by = None;
        let (layer, cause) = (Layer::Application, Cause::Original);
        out.push_with(layer, Phase::Close, cause, |bytes| {
            // A goodbye of a few bytes is never too long.
            let _ = connection.dialect.bye(bytes);
        });
        (!out.bytes().is_empty())
            .then_some(Output::Transmit { flow })
            .or_else(|| self.transmit(out))
    }

    /// Encodes a command. Returns whether it fits into the protocol; otherwise it is refused.
    fn send(&mut self, command: Command, out: &mut Buffer) -> bool {
        let Some(connection) = &mut self.connection else {
            return false;
        };
        let (message, encoded) = match command {
            Command::Insert {
                message,
                key,
                content,
            } => {
                let own = (&*self.config.sender, self.inserts);
                let (sender, number) = key.as_ref().map_or(own, |key| (&*key.sender, key.number));
                let content = match self.config.column {
                    Column::Bytes => content,
                    Column::Json => json::kept(self.config.store, content),
                };
                let row = Row {
                    sender,
                    number,
                    unix_ms: self.config.unix_ms_at_start.map(|start| unix_ms(start, self.now)),
                    content: &content,
                };
                self.inserts += u64::from(key.is_none());
                (message, connection.dialect.insert(&row, out))
            }
            Command::Execute { message, statement } => {
                let (phase, cause) = (Phase::Message, Cause::Original);
                let mut encoded = Ok(());
                out.push_with(Layer::Application, phase, cause, |bytes| {
                    encoded = connection.dialect.execute(&statement, bytes);
                });
                (message, encoded)
            }
            Command::Close => return false,
        };
        match encoded {
            Ok(()) => {
                connection.in_flight.push_back(message);
                self.events.push_back(Event::Sent { message });
            }
            Err(too_long) => {
                let refusal = Refusal::from(too_long);
                self.events.push_back(Event::Refused { message, refusal });
            }
        }
        encoded.is_ok()
    }
}

impl Connection {
    const fn is_over(&self) -> bool {
        matches!(self.state, State::Finishing | State::Finished)
    }

    /// Handles a whole packet, and describes it.
    fn packet(&mut self, packet: &[u8]) -> Result<Step, Failure> {
        let (phase, cause) = match self.dialect.is_ready() {
            true => (Phase::Message, Cause::Acknowledgement),
            false => (Phase::Connect, Cause::Original),
        };
        self.consumed
            .cover(packet.len(), Layer::Application, phase, cause);
        let mut step = Ok(Step::More);
        self.outgoing
            .push_with(Layer::Application, phase, Cause::Original, |bytes| {
                step = self.dialect.receive(packet, bytes);
            });
        step
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
            Input::Command(Command::Close) => self.close(),
            Input::Command(command) => self.queue.push_back(command),
            Input::Timeout => self.expire(),
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
        if let Some(connection) = &mut self.connection
            && !connection.consumed.is_empty()
        {
            let is_wanted = self.config.describes_received;
            if is_wanted {
                out.cover_spans(connection.consumed.spans());
            }
            connection.consumed.clear();
            if is_wanted {
                return Output::Consumed {
                    flow: connection.flow,
                };
            }
        }
        if let Some(event) = self.events.pop_front() {
            return Output::Event(event);
        }
        if let Some(output) = self.transmit(out) {
            return output;
        }
        let connection = self.connection.as_ref();
        Output::Timeout(connection.and_then(|connection| connection.answer_by))
    }
}

fn dialect(config: &Config) -> Box<dyn Dialect> {
    match config.store {
        Store::Postgres => Box::new(postgres::Session::new(config)),
        Store::Mariadb => Box::new(mariadb::Session::new(config)),
        Store::Mongodb => Box::new(mongodb::Session::new(config)),
    }
}

fn unix_ms(at_start: u64, now: Instant) -> i64 {
    let milliseconds = at_start.saturating_add(now.as_nanos() / 1_000_000);
    i64::try_from(milliseconds).unwrap_or(i64::MAX)
}
