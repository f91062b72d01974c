//! The client: requests, block-wise transfers, observations and pings on one flow.
//!
//! The exchange of a confirmable request:
//!
//! 1. CON request; retransmitted until 2, 3 or an RST arrives, or MAX_RETRANSMIT is reached
//! 2. ACK with the response, which ends the exchange
//! 3. empty ACK; then a separate CON or NON response, which the client acknowledges if it is CON
//!
//! A non-confirmable request is sent once. If No-Response suppresses every class, the exchange ends there. A
//! non-confirmable content above the block size is sent in non-confirmable blocks without No-Response, stop-and-wait.
//! Each block but the last is sent again with a new message id after the time-outs of a confirmable message, until its
//! 2.31 arrives. The last block is sent once; a response may follow.
//!
//! On a stream (RFC 8323) there are neither types nor message ids: a request is sent once, and a response with its token ends the
//! exchange. Any number of requests may be outstanding.
//!
//! With a security context, OSCORE (RFC 8613) protects every request. Each block and each of these repetitions has a
//! sequence number of its own. A retransmission has the same bytes as the first transmission.

mod api;
mod exchange;
mod handshake;
mod identity;
mod observation;
mod protection;
mod receive;
mod stream;
mod template;
mod timers;
mod transfer;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::time::Duration;

use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output, Rng};

pub use self::api::{Cancellation, Command, Config, Event, Failure, Ignored, Response, Stats};
use self::exchange::{Exchange, State, Subject};
use self::handshake::Handshake;
use self::identity::Identity;
use self::observation::Observation;
use self::protection::Protection;
pub use self::template::{NO_RESPONSE_AT_ALL, Request, RequestTemplate};
use self::transfer::{Purpose, Transfer};
use crate::duplicates::Duplicates;
use crate::layout::Layout;
use crate::option::Options;
use crate::outbox::Outbox;
use crate::parameters::Backoff;
use crate::stream::Connection;
use crate::token::Token;

/// A CoAP client for one server.
#[derive(Debug)]
pub struct Client {
    config: Config,
    flow: Option<FlowId>,
    /// The state of the stream, unless the flow carries datagrams or is closed.
    connection: Option<Box<Connection>>,
    /// The time of the last input.
    now: Instant,
    exchanges: Vec<Exchange>,
    waiting: VecDeque<Waiting>,
    observations: Vec<Observation>,
    last_ping: Option<u16>,
    identity: Identity,
    timeout_rng: Rng,
    /// What the server has sent by itself; `None` until it does so.
    duplicates: Option<Box<Duplicates>>,
    outbox: Outbox<Event>,
    scratch: Options,
    answer: Vec<u8>,
    protection: Option<Box<Protection>>,
    handshake: Option<Box<Handshake>>,
    plaintext: Vec<u8>,
    /// Reusable memory for a datagram.
    spare: Vec<u8>,
    stats: Counters,
}

/// Counters that are made for the first thing to count.
#[derive(Debug, Default)]
struct Counters(Option<Box<Stats>>);

impl Counters {
    fn made(&mut self) -> &mut Stats {
        self.0.get_or_insert_default()
    }
}

/// A request or ping that waits for NSTART.
#[derive(Debug)]
struct Waiting {
    message: u64,
    subject: Subject,
    /// The token of an observation that is renewed or ended.
    token: Option<Token>,
}

impl Client {
    /// A client that is not connected yet.
    pub fn new(config: Config) -> Self {
        Self {
            flow: None,
            connection: None,
            now: Instant::START,
            exchanges: Vec::new(),
            waiting: VecDeque::new(),
            observations: Vec::new(),
            last_ping: None,
            identity: Identity::new(&config),
            timeout_rng: config.rng.purpose(1),
            duplicates: None,
            outbox: Outbox::new(),
            scratch: Options::new(),
            answer: Vec::new(),
            protection: config.oscore.clone().map(Protection::new).map(Box::new),
            handshake: config.edhoc.as_ref().map(|_| Box::default()),
            plaintext: Vec::new(),
            spare: Vec::new(),
            stats: Counters::default(),
            config,
        }
    }

    /// Counters of input that was ignored or rejected, and of retransmissions.
    pub fn stats(&self) -> Stats {
        self.stats.0.as_deref().copied().unwrap_or_default()
    }

    /// The number of messages that wait for NSTART or for an answer.
    pub fn pending(&self) -> usize {
        self.exchanges.len() + self.waiting.len()
    }

    fn command(&mut self, command: Command) {
        match command {
            Command::Request { message, template } => self.request(message, template, Purpose::Request),
            Command::Observe { message, template } => self.request(message, template, Purpose::Register),
            Command::CancelObserve { message, how } => self.cancel(message, how),
            Command::Ping { message } => self.wait(message, Subject::Ping, None),
            Command::Close => self.close(),
        }
    }

    fn request(&mut self, message: u64, template: Arc<RequestTemplate>, purpose: Purpose) {
        let transfer = Transfer::new(template, purpose, &self.config);
        self.wait(message, Subject::Transfer(transfer), None);
    }

    fn wait(&mut self, message: u64, subject: Subject, token: Option<Token>) {
        self.waiting.push_back(Waiting {
            message,
            subject,
            token,
        });
    }

    fn cancel(&mut self, message: u64, how: Cancellation) {
        let Some(at) = self.observations.iter().position(|o| o.message == message) else {
            return;
        };
        let observation = self.observations.swap_remove(at);
        if how == Cancellation::Deregister || self.is_stream() {
            self.request_again(observation, Purpose::Deregister);
        }
    }

    /// Sends a GET for an observed resource with the token of its observation.
    fn request_again(&mut self, observation: Observation, purpose: Purpose) {
        let transfer = Transfer::new(observation.template, purpose, &self.config);
        let subject = Subject::Transfer(transfer);
        self.wait(observation.message, subject, Some(observation.token));
    }

    fn close(&mut self) {
        self.abandon();
        self.release();
        if let Some(flow) = self.flow.take() {
            self.outbox.close(flow);
        }
        self.outbox.event(Event::Closed);
    }

    /// Drops every exchange and reports each as failed.
    fn abandon(&mut self) {
        let exchanges = self.exchanges.drain(..);
        let exchanges = exchanges.map(|exchange| (exchange.message, exchange.subject));
        let waiting = self
            .waiting
            .drain(..)
            .map(|waiting| (waiting.message, waiting.subject));
        for (message, subject) in exchanges.chain(waiting) {
            // The end of the flow is all that there is to say of an unfinished handshake.
            if subject.is_handshake() {
                continue;
            }
            let failure = Failure::FlowEnded;
            self.outbox.event(Event::Failed { message, failure });
        }
        self.observations.clear();
    }

    /// Starts waiting exchanges as far as NSTART allows.
    fn start_waiting(&mut self, now: Instant) {
        while self.flow.is_some() && self.may_start(now) {
            let Some(mut waiting) = self.waiting.pop_front() else {
                return;
            };
            self.fit_to_peer(&mut waiting.subject);
            self.exchanges.push(Exchange {
                message: waiting.message,
                subject: waiting.subject,
                message_id: 0,
                token: waiting.token.unwrap_or_default(),
                transmissions: 0,
                state: State::Blocked { until: now },
                datagram: core::mem::take(&mut self.spare),
                layout: Layout::default(),
            });
            let at = self.exchanges.len() - 1;
            self.send_request(at, waiting.token.is_none(), now);
        }
    }

    /// Whether the next waiting exchange may start.
    fn may_start(&self, now: Instant) -> bool {
        match self.is_stream() {
            _ if self.waits_for_handshake() => false,
            true => self.may_start_on_stream(),
            false => self.outstanding(now) < self.config.parameters.nstart,
        }
    }

    /// The number of exchanges that count for NSTART (RFC 7252 section 4.7).
    fn outstanding(&self, now: Instant) -> usize {
        let counts = |exchange: &&Exchange| exchange.outstanding_until().is_none_or(|until| until > now);
        self.exchanges.iter().filter(counts).count()
    }

    /// Sends the current request of an exchange with a new message id.
    fn send_request(&mut self, at: usize, new_token: bool, now: Instant) {
        let token = new_token.then(|| self.free_token());
        if let (Some(token), Some(exchange)) = (token, self.exchanges.get_mut(at)) {
            exchange.token = token;
        }
        if let Some(bytes) = self.transmit_anew(at, false, now) {
            self.await_answer(at, bytes, now);
        }
    }

    /// Sends the current request with a new message id. Returns the length of the datagram, or `None` if all ids are in
    /// use and the exchange must wait.
    fn transmit_anew(&mut self, at: usize, again: bool, now: Instant) -> Option<usize> {
        let flow = self.flow?;
        if !self.is_stream() {
            self.take_message_id(at, now)?;
        }
        let exchange = self.exchanges.get_mut(at)?;
        let transport = self.config.transport;
        if let Err(error) = exchange.encode(&mut self.scratch, self.protection.as_deref_mut(), transport) {
            self.fail(at, Failure::Unprotectable(error));
            return None;
        }
        exchange.transmit(flow, again, &mut self.outbox);
        let len = exchange.datagram.len();
        self.forget_protected();
        Some(len)
    }

    /// Gives an exchange a new message id. Returns `None` if all are in use.
    fn take_message_id(&mut self, at: usize, now: Instant) -> Option<()> {
        let exchange = self.exchanges.get_mut(at)?;
        let lifetime = match exchange.is_confirmable() {
            true => self.config.parameters.exchange_lifetime(),
            false => self.config.parameters.non_lifetime(),
        };
        match self.identity.take_id(lifetime, now) {
            Ok(id) => exchange.message_id = id,
            Err(until) => {
                self.stats.made().waited_for_message_id += 1;
                exchange.state = State::Blocked { until };
                return None;
            }
        }
        if matches!(exchange.subject, Subject::Ping) {
            self.last_ping = Some(exchange.message_id);
        }
        Some(())
    }

    /// Removes an exchange that ended, and keeps the memory of its datagram.
    fn end(&mut self, at: usize) -> Exchange {
        let mut exchange = self.exchanges.swap_remove(at);
        self.spare = core::mem::take(&mut exchange.datagram);
        exchange
    }

    /// Ends an exchange without a response.
    fn fail(&mut self, at: usize, failure: Failure) {
        let exchange = self.end(at);
        let message = exchange.message;
        self.report(&exchange, Event::Failed { message, failure });
    }

    /// Sets the state of an exchange after its request was sent. Ends the exchange if no answer will arrive.
    fn await_answer(&mut self, at: usize, bytes: usize, now: Instant) {
        let is_stream = self.is_stream();
        let Some(exchange) = self.exchanges.get_mut(at) else {
            return;
        };
        let backoff = |rng: &mut Rng| Backoff::start(&self.config.parameters, rng, now);
        let transfer = exchange.subject.transfer();
        let intermediate = transfer.is_some_and(Transfer::is_intermediate);
        if exchange.is_confirmable() && !is_stream {
            exchange.state = State::AwaitAck(backoff(&mut self.timeout_rng));
        } else if intermediate && !is_stream {
            exchange.state = State::AwaitContinue(backoff(&mut self.timeout_rng));
        } else if exchange.suppresses_all() {
            self.end(at);
        } else {
            let outstanding = match is_stream || exchange.tolerates_silence() {
                true => Duration::ZERO,
                false => self.config.parameters.probing_time(bytes),
            };
            exchange.state = State::AwaitResponse {
                deadline: now + self.config.response_timeout,
                outstanding_until: now + outstanding,
            };
        }
    }

    /// A token that no exchange and no observation uses (RFC 7252 section 5.3.1).
    fn free_token(&mut self) -> Token {
        let mut token = Token::EMPTY;
        // If tokens are short, all can be in use. The number of attempts is limited, so that the loop ends.
        for _ in 0..64 {
            token = self.identity.draw_token();
            let exchanges = self.exchanges.iter().map(|exchange| exchange.token);
            let observations = self.observations.iter().map(|observation| observation.token);
            if !exchanges.chain(observations).any(|used| used == token) {
                break;
            }
        }
        token
    }
}

impl Endpoint for Client {
    type Command = Command;
    type Event = Event;
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, Command>, now: Instant) -> Result<(), Infallible> {
        self.now = now;
        match input {
            Input::Opened { flow, .. } => {
                self.flow = Some(flow);
                self.begin_connection(flow);
                match self.config.edhoc.is_some() {
                    true => self.begin_handshake(),
                    false => self.outbox.event(Event::Opened),
                }
            }
            Input::Received { flow, bytes } if self.flow != Some(flow) => {
                self.receive_after_close(flow, bytes)
            }
            Input::Received { flow, bytes } if self.is_stream() => self.receive_stream(flow, bytes, now),
            Input::Received { flow, bytes } => self.receive(flow, bytes, now),
            Input::Command(command) => self.command(command),
            Input::Timeout => {
                self.handle_timeout(now);
                self.renew_observations(now);
            }
            // A reset of an earlier flow does not concern the current one.
            Input::Reset { flow, reason } if self.flow == Some(flow) => {
                self.flow = None;
                self.connection = None;
                self.abandon();
                self.outbox.event(Event::FlowReset(reason));
            }
            Input::PeerClosed { flow } if self.is_stream() && self.flow == Some(flow) => {
                self.end_connection(flow, Event::PeerClosed);
            }
            Input::Reset { .. }
            | Input::Congested { .. }
            | Input::Writable { .. }
            | Input::PeerClosed { .. } => {}
        }
        self.start_waiting(now);
        self.close_if_released();
        Ok(())
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Event> {
        if let Some(message) = self.outbox.take_sent() {
            return Output::Event(Event::Sent { message });
        }
        if let Some(output) = self.outbox.poll(out) {
            return output;
        }
        Output::Timeout(self.next_timeout())
    }

    fn rest(&mut self) -> bool {
        let is_idle = self.pending() == 0 && self.outbox.rest();
        if is_idle {
            self.exchanges = Vec::new();
            self.waiting = VecDeque::new();
            self.scratch = Options::new();
            for reused in [&mut self.answer, &mut self.plaintext, &mut self.spare] {
                *reused = Vec::new();
            }
        }
        is_idle
    }
}
