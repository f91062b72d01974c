//! A client: one device, one connection at a time.
//!
//! A cold start takes two round trips. The client sends ClientHello on [`Opened`](Input::Opened), and the server's
//! flight comes back. Then the client sends Finished, SETTINGS and the first request together, and the response comes
//! back. With 0-RTT the first flight waits for the first command, so that ClientHello, SETTINGS and request leave
//! together: one round trip (RFC 9114 section 3.3, RFC 9001 section 4.6).

mod config;
mod ending;
mod exchange;
mod receive;
mod session;

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;

use quinn_proto::{EndpointConfig, EndpointEvent};
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output, Peer, ResetReason};
use wirecost_security::layer::Fault;
use wirecost_security::tls::{self, QuicClient};
use wirecost_security::{Start, layer};

use super::config::{endpoint, first_destinations};
use super::connection::Connection;
use super::quic::session::ClientCrypto;
use super::quic::tap::Tap;
use crate::client::{Command, Event};
use crate::message::RequestTemplate;

pub use config::ClientConfig;
use session::{Session, Stage};

/// An HTTP/3 client: one flow at a time.
pub struct Client {
    config: ClientConfig,
    quic: quinn_proto::ClientConfig,
    endpoints: Arc<EndpointConfig>,
    /// Each connection has a new endpoint, so that its random choices do not depend on earlier connections.
    endpoint: quinn_proto::Endpoint,
    tap: Tap,
    tls: QuicClient,
    now: Instant,
    state: State,
    /// Requests that wait for a connection or for a stream.
    waiting: VecDeque<Request>,
    /// Number of requests so far.
    asked: u64,
    is_closing: bool,
    /// Whether an earlier connection may have brought a ticket.
    has_connected: bool,
    outputs: VecDeque<Output<layer::Event<Event>>>,
    consumed: Buffer,
    scratch: Vec<u8>,
}

/// A request of a command.
#[derive(Clone, Debug)]
struct Request {
    /// Its position among all requests.
    order: u64,
    message: u64,
    template: Arc<RequestTemplate>,
    /// Whether [`Event::Sent`] has been reported: a server that refuses early data makes the request go out again.
    is_sent: bool,
}

enum State {
    /// No flow.
    Idle,
    /// A connection.
    Connected(Box<Session>),
}

impl Client {
    /// A client without a connection.
    ///
    /// # Errors
    /// The TLS configuration does not support QUIC.
    pub fn new(config: ClientConfig) -> Result<Self, tls::ConfigError> {
        let tls = QuicClient::new(&config.tls, b"h3")?;
        let tap = Tap::new(config.describes);
        let crypto = ClientCrypto::new(Arc::clone(&tls.library), tap.clone())?;
        let endpoints = Arc::new(endpoint(config.rng, None));
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
        self.tls.epoch.monotonic_at(self.now)
    }

    fn open(&mut self, flow: FlowId, peer: Peer) {
        self.abandon(ResetReason::Local);
        self.is_closing = false;
        // A device's first connection has no ticket. It brings the first one.
        let asked = if self.has_connected {
            self.tls.start
        } else {
            Start::Cold
        };
        self.tls.begin(asked != Start::Cold);
        self.endpoint = quinn_proto::Endpoint::new(Arc::clone(&self.endpoints), None, false, None);
        let now = self.monotonic();
        let name = &self.tls.server_name;
        let (handle, quic) = match self.endpoint.connect(now, self.quic.clone(), peer, name) {
            Ok(connected) => connected,
            Err(error) => return self.refuse(flow, Fault::Other(error.to_string().into())),
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
        let mut connection = Connection::new(quic, handle, flow, self.config.describes);
        if is_early {
            connection.open_control();
            self.report_inner(Event::Opened);
        }
        self.state = State::Connected(Box::new(Session {
            connection,
            peer,
            asked,
            stage,
            exchanges: BTreeMap::new(),
            unsent: Vec::new(),
            end: None,
            going_away: None,
            has_answered: false,
        }));
        self.send_waiting();
    }

    /// The best start that the stored tickets allow.
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
        let deadline = self.now + self.tls.handshake_timeout;
        Stage::Handshaking { is_early, deadline }
    }

    fn report(&mut self, event: layer::Event<Event>) {
        self.outputs.push_back(Output::Event(event));
    }

    fn report_inner(&mut self, event: Event) {
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
                    is_sent: false,
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

    /// Releases a held first flight.
    fn release(&mut self) {
        let handshaking = self.handshaking(true);
        if let State::Connected(session) = &mut self.state
            && session.stage == Stage::Held
        {
            session.stage = handshaking;
        }
    }

    /// Sends the waiting requests, as far as the server allows streams.
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
            self.report_inner(Event::TimedOut { message });
        }
        self.pump();
    }

    fn next_timeout(&mut self) -> Option<Instant> {
        let (now, epoch) = (self.now, self.tls.epoch);
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
        let has_sent = may_send
            && connection
                .transmit(now, &self.tap, &mut self.scratch, out)
                .is_some();
        connection.exchange_events(&mut self.endpoint);
        let flow = session.connection.flow;
        let outputs = &mut self.outputs;
        session.report_sent(|message| {
            let event = layer::Event::Inner(Event::Sent { message });
            outputs.push_back(Output::Event(event));
        });
        has_sent.then_some(flow)
    }
}

impl Endpoint for Client {
    type Command = Command;
    type Event = layer::Event<Event>;
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, Command>, now: Instant) -> Result<(), Infallible> {
        self.now = now;
        self.tls.clock.set(now);
        match input {
            Input::Opened { flow, peer } => self.open(flow, peer),
            Input::Received { flow, bytes } => {
                self.received(flow, bytes);
                self.outputs.push_front(Output::Consumed { flow });
            }
            Input::Reset { flow, reason } => self.reset(flow, reason),
            Input::Command(command) => self.command(command),
            Input::Timeout => self.expire(),
            Input::Congested { .. } | Input::Writable { .. } | Input::PeerClosed { .. } => {}
        }
        self.close_if_done();
        Ok(())
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<layer::Event<Event>> {
        if let Some(output) = self.outputs.pop_front() {
            if matches!(output, Output::Consumed { .. }) {
                out.cover_spans(self.consumed.spans());
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
