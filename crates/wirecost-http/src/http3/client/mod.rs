//! A client: one device, one connection at a time.
//!
//! Cold: 1. ClientHello goes out on [`Opened`](Input::Opened), the server's flight comes back, Finished, SETTINGS and the first
//! request go out together; 2. the response comes back: two round trips. With 0-RTT the first flight waits for the first
//! command, so that ClientHello, SETTINGS and request leave together: one round trip (RFC 9114 section 3.3, RFC 9001
//! section 4.6).

mod config;
mod exchange;
mod session;

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;

use bytes::BytesMut;
use quinn_proto::{
    ConnectionError, DatagramEvent, Dir, EndpointConfig, EndpointEvent, StreamEvent, StreamId,
};
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output, Peer, ResetReason};
use wirecost_security::layer::Fault;
use wirecost_security::tls::{self, QuicClient};
use wirecost_security::{Start, layer};

use super::config::{endpoint, first_destinations};
use super::connection::{Connection, Progress};
use super::error::{self, Code};
use super::loss::{Lost, handshake_fault};
use super::quic::session::ClientCrypto;
use super::quic::tap::Tap;
use crate::client::{Command, Event, Failure};
use crate::message::RequestTemplate;

pub use config::ClientConfig;
use exchange::Exchange;
use session::{Session, Stage};

/// Sends requests on one flow at a time.
pub struct Client {
    config: ClientConfig,
    quic: quinn_proto::ClientConfig,
    endpoints: Arc<EndpointConfig>,
    /// A new one for each connection, so that none depends on what chance had for those before it.
    endpoint: quinn_proto::Endpoint,
    tap: Tap,
    tls: QuicClient,
    now: Instant,
    state: State,
    /// Requests that wait for a connection or for a stream.
    waiting: VecDeque<Request>,
    /// Requests that were asked for so far.
    asked: u64,
    is_closing: bool,
    /// Whether there was a connection before, from which there may be a ticket.
    has_connected: bool,
    outputs: VecDeque<Output<layer::Event<Event>>>,
    consumed: Buffer,
    scratch: Vec<u8>,
}

/// A request that was asked for.
#[derive(Clone, Debug)]
struct Request {
    /// Its place among all that were asked for.
    order: u64,
    message: u64,
    template: Arc<RequestTemplate>,
}

enum State {
    /// No flow.
    Idle,
    /// A connection.
    Connected(Box<Session>),
}

impl Client {
    /// A client that is not connected yet.
    ///
    /// # Errors
    /// The TLS configuration cannot carry QUIC.
    pub fn new(config: ClientConfig) -> Result<Self, tls::ConfigError> {
        let tls = QuicClient::new(config.tls.clone(), b"h3")?;
        let tap = Tap::default();
        let crypto = ClientCrypto::new(Arc::clone(&tls.library), tap.clone())?;
        let endpoints = Arc::new(endpoint(config.rng));
        let mut quic = quinn_proto::ClientConfig::new(Arc::new(crypto));
        quic.transport_config(config.transport.for_client())
            .initial_dst_cid_provider(first_destinations(config.rng));
        Ok(Self {
            endpoint: quinn_proto::Endpoint::new(Arc::clone(&endpoints), None, false, None),
            endpoints,
            quic,
            tap,
            tls,
            now: Instant::START,
            state: State::Idle,
            waiting: VecDeque::new(),
            asked: 0,
            is_closing: false,
            has_connected: false,
            outputs: VecDeque::new(),
            consumed: Buffer::new(),
            scratch: Vec::new(),
            config,
        })
    }

    fn monotonic(&self) -> std::time::Instant {
        self.tls.epoch().monotonic_at(self.now)
    }

    fn open(&mut self, flow: FlowId, peer: Peer) {
        self.abandon(ResetReason::Local);
        self.is_closing = false;
        // The first connection of a device has no ticket to start with, and brings the first one.
        let asked = if self.has_connected {
            self.tls.start()
        } else {
            Start::Cold
        };
        self.tls.begin(asked != Start::Cold);
        self.endpoint = quinn_proto::Endpoint::new(Arc::clone(&self.endpoints), None, false, None);
        let now = self.monotonic();
        let name = self.tls.server_name();
        let (handle, quic) = match self.endpoint.connect(now, self.quic.clone(), peer, name) {
            Ok(connected) => connected,
            Err(error) => return self.refuse(flow, Fault::Other(error.to_string())),
        };
        let granted = self.can_start(&quic);
        if granted < asked {
            // Nothing was sent yet, so there is nothing to close.
            self.endpoint.handle_event(handle, EndpointEvent::drained());
            return self.refuse(flow, Fault::Start { asked, granted });
        }
        let is_early = asked == Start::ZeroRtt;
        let stage = if is_early {
            Stage::Held
        } else {
            self.handshaking(false)
        };
        let mut connection = Connection::new(quic, handle, flow);
        if is_early {
            connection.open_control();
            self.tell(Event::Opened);
        }
        self.state = State::Connected(Box::new(Session {
            connection,
            peer,
            asked,
            stage,
            exchanges: BTreeMap::new(),
            end: None,
            is_going_away: false,
        }));
        self.send_waiting();
    }

    /// How a connection can start with what this client has kept.
    fn can_start(&self, quic: &quinn_proto::Connection) -> Start {
        if quic.has_0rtt() {
            Start::ZeroRtt
        } else if self.tls.has_offered() {
            Start::Resumed
        } else {
            Start::Cold
        }
    }

    fn refuse(&mut self, flow: FlowId, fault: Fault) {
        self.report(layer::Event::Failed { flow, fault });
        self.outputs.push_back(Output::Close { flow, reset: false });
    }

    fn handshaking(&self, is_early: bool) -> Stage {
        let deadline = self.now + self.tls.handshake_timeout();
        Stage::Handshaking { is_early, deadline }
    }

    fn report(&mut self, event: layer::Event<Event>) {
        self.outputs.push_back(Output::Event(event));
    }

    fn tell(&mut self, event: Event) {
        self.report(layer::Event::Inner(event));
    }

    fn command(&mut self, command: Command) {
        match command {
            Command::Request { message, template } => {
                let order = self.asked;
                self.asked += 1;
                self.waiting.push_back(Request {
                    order,
                    message,
                    template,
                });
                self.release();
                self.send_waiting();
            }
            Command::Close => {
                self.release();
                self.is_closing = true;
            }
        }
    }

    /// Lets a first flight go that was held.
    fn release(&mut self) {
        let handshaking = self.handshaking(true);
        if let State::Connected(session) = &mut self.state
            && session.stage == Stage::Held
        {
            session.stage = handshaking;
        }
    }

    /// Sends the requests that wait, as far as the server allows streams.
    fn send_waiting(&mut self) {
        let State::Connected(session) = &mut self.state else {
            return;
        };
        let deadline = self.now + self.config.response_timeout;
        while session.may_send() {
            let Some(request) = self.waiting.pop_front() else {
                return;
            };
            if let Err(request) = session.send(request, deadline) {
                self.waiting.push_front(request);
                return;
            }
        }
    }

    fn received(&mut self, flow: FlowId, bytes: &[u8]) {
        self.consumed.clear();
        let now = self.monotonic();
        let session = match &mut self.state {
            State::Connected(session) if session.connection.flow == flow => session,
            _ => return super::describe(bytes, &mut self.consumed),
        };
        let data = BytesMut::from(bytes);
        // What the endpoint would answer by itself, a stateless reset, is a server's business.
        let event = self
            .endpoint
            .handle(now, session.peer, None, None, data, &mut Vec::new());
        if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
            session.connection.quic.handle_event(event);
        }
        self.pump();
        match &mut self.state {
            State::Connected(session) => {
                let opened = self.tap.take_opened();
                session.connection.consumed(bytes, &opened, &mut self.consumed);
            }
            State::Idle => super::describe(bytes, &mut self.consumed),
        }
    }

    /// Takes whatever the connection has to say.
    fn pump(&mut self) {
        loop {
            let State::Connected(session) = &mut self.state else {
                return;
            };
            session.connection.exchange_events(&mut self.endpoint);
            match session.connection.quic.poll() {
                Some(event) => self.hear(event),
                None => break,
            }
        }
        self.send_waiting();
    }

    fn hear(&mut self, event: quinn_proto::Event) {
        match event {
            quinn_proto::Event::Connected => self.connected(),
            quinn_proto::Event::ConnectionLost { reason } => self.lost(&reason),
            quinn_proto::Event::Stream(event) => {
                if let Err(fault) = self.hear_stream(event) {
                    self.fail(fault);
                }
            }
            quinn_proto::Event::HandshakeDataReady
            | quinn_proto::Event::DatagramReceived
            | quinn_proto::Event::DatagramsUnblocked => {}
        }
    }

    fn connected(&mut self) {
        let State::Connected(session) = &mut self.state else {
            return;
        };
        let Stage::Handshaking { is_early, .. } = session.stage else {
            return;
        };
        let connection = &mut session.connection;
        let accepted = is_early && connection.quic.accepted_0rtt();
        let granted = match (accepted, connection.is_resumed()) {
            (true, _) => Start::ZeroRtt,
            (false, true) => Start::Resumed,
            (false, false) => Start::Cold,
        };
        let asked = session.asked;
        if granted < asked.min(Start::Resumed) {
            return self.give_up(Fault::Start { asked, granted });
        }
        session.stage = Stage::Established;
        if is_early && !accepted {
            self.waiting.extend(session.take_back());
            self.waiting
                .make_contiguous()
                .sort_by_key(|request| request.order);
        }
        if !accepted {
            session.connection.open_control();
        }
        let flow = session.connection.flow;
        self.has_connected = true;
        let start = granted;
        self.report(layer::Event::Established { flow, start });
        if !is_early {
            self.tell(Event::Opened);
        }
    }

    fn hear_stream(&mut self, event: StreamEvent) -> Result<(), error::Fault> {
        let State::Connected(session) = &mut self.state else {
            return Ok(());
        };
        match event {
            StreamEvent::Opened { dir: Dir::Uni } => {
                while let Some(id) = session.connection.accept_unidirectional() {
                    session.read_unidirectional(id)?;
                }
            }
            StreamEvent::Readable { id } if id.dir() == Dir::Uni => session.read_unidirectional(id)?,
            StreamEvent::Readable { id } => self.read_response(id)?,
            StreamEvent::Writable { id } => session.connection.flush(id),
            StreamEvent::Stopped { id, .. } => session.connection.stopped(id),
            // No server opens a bidirectional stream, because QUIC is told to allow none.
            StreamEvent::Opened { dir: Dir::Bi }
            | StreamEvent::Finished { .. }
            | StreamEvent::Available { .. } => {}
        }
        Ok(())
    }

    fn read_response(&mut self, id: StreamId) -> Result<(), error::Fault> {
        let State::Connected(session) = &mut self.state else {
            return Ok(());
        };
        let Some(exchange) = session.exchanges.get_mut(&id) else {
            return Ok(());
        };
        let kept = self.config.kept_body_bytes;
        let Exchange { reader, answer, .. } = exchange;
        let progress = session
            .connection
            .read_message(id, reader, |part| answer.hear(part, kept))?;
        if progress == Progress::Open {
            return Ok(());
        }
        let Some(exchange) = session.exchanges.remove(&id) else {
            return Ok(());
        };
        let event = match progress {
            Progress::Reset(code) => exchange.failed(Failure::Code(code)),
            _ => exchange.finish(),
        };
        self.tell(event);
        Ok(())
    }

    /// Ends a connection whose peer broke a rule.
    fn fail(&mut self, fault: error::Fault) {
        let now = self.monotonic();
        if let State::Connected(session) = &mut self.state {
            session.connection.close(now, fault.code);
            session.stage = Stage::Ending;
        }
        self.fail_exchanges(Failure::Code(fault.code.value()));
        self.tell(Event::Reset(ResetReason::Local));
    }

    /// Ends a connection that did not become what was asked for.
    fn give_up(&mut self, fault: Fault) {
        let now = self.monotonic();
        let State::Connected(session) = &mut self.state else {
            return;
        };
        let flow = session.connection.flow;
        session.connection.close(now, Code::NoError);
        session.stage = Stage::Ending;
        self.report(layer::Event::Failed { flow, fault });
        self.fail_exchanges(Failure::Abandoned);
    }

    /// Takes that the connection is no more.
    fn lost(&mut self, reason: &ConnectionError) {
        let State::Connected(session) = &mut self.state else {
            return;
        };
        if matches!(session.stage, Stage::Ending | Stage::Ended) {
            return;
        }
        let is_handshaking = matches!(session.stage, Stage::Handshaking { .. });
        session.stage = match reason {
            // This side's error, which the server is told of.
            ConnectionError::TransportError(_) => Stage::Ending,
            // A CONNECTION_CLOSE needs no answer (RFC 9000 section 10.2.2), and whoever is gone gets none.
            _ => Stage::Ended,
        };
        let flow = session.connection.flow;
        let lost = Lost::new(reason);
        if is_handshaking {
            let fault = self.tap.take_fault();
            let fault = handshake_fault(reason, fault.as_ref());
            self.report(layer::Event::Failed { flow, fault });
            return self.fail_exchanges(lost.failure);
        }
        self.fail_exchanges(lost.failure);
        self.tell(lost.event);
    }

    /// Reports that the requests that were sent will have no response.
    fn fail_exchanges(&mut self, reason: Failure) {
        let State::Connected(session) = &mut self.state else {
            return;
        };
        for exchange in std::mem::take(&mut session.exchanges).into_values() {
            let event = exchange.failed(reason);
            self.outputs.push_back(Output::Event(layer::Event::Inner(event)));
        }
    }

    /// Forgets the connection, whose flow is gone.
    fn abandon(&mut self, reason: ResetReason) {
        self.fail_exchanges(Failure::Reset(reason));
        if let State::Connected(session) = std::mem::replace(&mut self.state, State::Idle) {
            self.endpoint
                .handle_event(session.connection.handle, EndpointEvent::drained());
        }
    }

    fn reset(&mut self, flow: FlowId, reason: ResetReason) {
        let is_mine = matches!(&self.state, State::Connected(session) if session.connection.flow == flow);
        if is_mine {
            self.abandon(reason);
            self.tell(Event::Reset(reason));
        }
    }

    fn expire(&mut self) {
        self.release();
        let (now, monotonic) = (self.now, self.monotonic());
        let State::Connected(session) = &mut self.state else {
            return;
        };
        if let Stage::Handshaking { deadline, .. } = session.stage
            && deadline <= now
        {
            return self.give_up(Fault::TimedOut { protocol: "QUIC" });
        }
        let is_due = session
            .connection
            .quic
            .poll_timeout()
            .is_some_and(|at| at <= monotonic);
        if is_due {
            session.connection.quic.handle_timeout(monotonic);
        }
        for exchange in session.take_late(now) {
            let message = exchange.request.message;
            self.outputs
                .push_back(Output::Event(layer::Event::Inner(Event::TimedOut { message })));
        }
        self.pump();
    }

    /// Closes the connection once everything that was asked is answered.
    fn close_if_done(&mut self) {
        let now = self.monotonic();
        let is_waiting = !self.waiting.is_empty();
        let State::Connected(session) = &mut self.state else {
            return;
        };
        let is_idle = session.exchanges.is_empty();
        let closes = self.is_closing && !is_waiting || session.is_going_away;
        if closes && is_idle && session.stage == Stage::Established {
            session.connection.close(now, Code::NoError);
            session.stage = Stage::Ending;
            session.end = Some(Event::Closed);
        }
    }

    /// The end of a flow whose last packet has left.
    fn end(&mut self) -> Option<Output<layer::Event<Event>>> {
        let State::Connected(session) = &mut self.state else {
            return None;
        };
        if !matches!(session.stage, Stage::Ending | Stage::Ended) {
            return None;
        }
        let flow = session.connection.flow;
        let end = session.end.take();
        // No waiting for stray packets: the flow is this client's alone (RFC 9000 section 10.2 would keep the state for
        // three probe time-outs).
        self.abandon(ResetReason::Local);
        end.into_iter().for_each(|event| self.tell(event));
        Some(Output::Close { flow, reset: false })
    }

    fn next_timeout(&mut self) -> Option<Instant> {
        let (now, epoch) = (self.now, self.tls.epoch());
        let State::Connected(session) = &mut self.state else {
            return None;
        };
        let handshake = match session.stage {
            Stage::Held => return Some(now),
            Stage::Handshaking { deadline, .. } => Some(deadline),
            Stage::Established | Stage::Ending | Stage::Ended => None,
        };
        let exchanges = session.exchanges.values();
        let response = exchanges.map(|exchange| exchange.deadline).min();
        let quic = session.connection.next_timeout(&epoch);
        [handshake, response, quic].into_iter().flatten().min()
    }

    fn transmit(&mut self, out: &mut Buffer) -> Option<FlowId> {
        let now = self.monotonic();
        let State::Connected(session) = &mut self.state else {
            return None;
        };
        let may_send = !matches!(session.stage, Stage::Held | Stage::Ended);
        let connection = &mut session.connection;
        let has_sent = may_send && connection.transmit(now, &self.tap, &mut self.scratch, out);
        connection.exchange_events(&mut self.endpoint);
        has_sent.then_some(connection.flow)
    }
}

impl Endpoint for Client {
    type Command = Command;
    type Event = layer::Event<Event>;
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, Command>, now: Instant) -> Result<(), Infallible> {
        self.now = now;
        self.tls.set_time(now);
        match input {
            Input::Opened { flow, peer } => self.open(flow, peer),
            Input::Received { flow, bytes } => {
                self.received(flow, bytes);
                self.outputs.push_front(Output::Consumed { flow });
            }
            Input::Reset { flow, reason } => self.reset(flow, reason),
            Input::Command(command) => self.command(command),
            Input::Timeout => self.expire(),
            Input::Writable { .. } | Input::PeerClosed { .. } => {}
        }
        self.close_if_done();
        Ok(())
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<layer::Event<Event>> {
        if let Some(output) = self.outputs.pop_front() {
            if matches!(output, Output::Consumed { .. }) {
                self.consumed
                    .spans()
                    .iter()
                    .for_each(|span| out.cover_span(*span));
            }
            return output;
        }
        if let Some(flow) = self.transmit(out) {
            return Output::Transmit { flow };
        }
        if let Some(output) = self.end() {
            return output;
        }
        Output::Timeout(self.next_timeout())
    }
}
