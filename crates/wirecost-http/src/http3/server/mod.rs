//! The reference server: any number of connections, one set of resources.
//!
//! A flow is a client's address and has one connection. A connection follows its client to another address (RFC 9000 section
//! 9), and keeps the flow on which it began as its name ([`paths`]). A connection that its client closes is forgotten at once. Packets of unknown connections get no answer, because a stateless reset (RFC 9000 section
//! 10.3) would add bytes.

mod config;
mod exchange;
mod paths;
mod peer;
mod timing;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;

use bytes::BytesMut;
use quinn_proto::{
    ConnectionError, ConnectionEvent, ConnectionHandle, ConnectionId, DatagramEvent, Incoming,
};
use wirecost_proto::{Buffer, Endpoint, FlowId, Held, Input, Instant, Output};
use wirecost_security::Start;
use wirecost_security::layer;
use wirecost_security::tls::{self, QuicServer};

use super::config::{Issued, endpoint};
use super::connection::Connection;
use super::error;
use super::loss::handshake_fault;
use super::quic::attribution::Attribution;
use super::quic::session::ServerCrypto;
use super::quic::tap::Tap;
use crate::message::Malformed;
use crate::resource::Resources;
use crate::server::{Command, Event};

pub use config::ServerConfig;
use peer::{Core, Peer, Stage};

/// An HTTP/3 server with any number of flows.
pub struct Server {
    endpoints: Arc<quinn_proto::EndpointConfig>,
    quic: Arc<quinn_proto::ServerConfig>,
    tap: Tap,
    tls: QuicServer,
    now: Instant,
    resources: Resources,
    flows: BTreeMap<FlowId, Flow>,
    /// The connections by the IDs in their clients' packets.
    by_id: BTreeMap<ConnectionId, FlowId>,
    issued: Issued,
    /// Flows that may have packets to send.
    busy: BTreeSet<FlowId>,
    timers: BTreeSet<(Instant, FlowId)>,
    outputs: VecDeque<Output<layer::Event<Event>>>,
    /// Datagrams that belong to no connection, with their spans.
    answers: VecDeque<(FlowId, Buffer)>,
    consumed: Buffer,
    scratch: Vec<u8>,
}

/// The state of a flow.
struct Flow {
    address: wirecost_proto::Peer,
    /// Each flow has its own endpoint, so that its random choices do not depend on other connections.
    endpoint: quinn_proto::Endpoint,
    peer: Option<Box<Peer>>,
    /// The IDs of the connection.
    ids: VecDeque<ConnectionId>,
    /// Where the client has moved to, the newest address last.
    moved: VecDeque<(wirecost_proto::Peer, FlowId)>,
}

impl Server {
    /// A server without connections.
    ///
    /// # Errors
    /// The TLS configuration does not support QUIC.
    pub fn new(config: ServerConfig) -> Result<Self, tls::ConfigError> {
        let tls = QuicServer::new(&config.tls, b"h3")?;
        let tap = Tap::default();
        let crypto = ServerCrypto::new(Arc::clone(&tls.library), tap.clone())?;
        let mut quic = quinn_proto::ServerConfig::with_crypto(Arc::new(crypto));
        quic.transport_config(config.transport.for_server());
        let issued = Issued::default();
        Ok(Self {
            endpoints: Arc::new(endpoint(config.rng, Some(issued.clone()))),
            by_id: BTreeMap::new(),
            issued,
            quic: Arc::new(quic),
            tap,
            tls,
            now: Instant::START,
            resources: Resources::new(config.resources),
            flows: BTreeMap::new(),
            busy: BTreeSet::new(),
            timers: BTreeSet::new(),
            outputs: VecDeque::new(),
            answers: VecDeque::new(),
            consumed: Buffer::new(),
            scratch: Vec::new(),
        })
    }

    /// The number of open connections.
    pub fn connections(&self) -> usize {
        self.flows.values().filter(|flow| flow.peer.is_some()).count()
    }

    /// Sends a frame on the control stream of every connection.
    #[cfg(test)]
    pub(super) fn say(&mut self, kind: u64, content: &[u8]) {
        let flows: Vec<FlowId> = self.flows.keys().copied().collect();
        for flow in flows {
            if let Some(peer) = self.peer(flow) {
                peer.connection.say(kind, content);
            }
            self.busy.insert(flow);
        }
    }

    fn monotonic(&self) -> std::time::Instant {
        self.tls.epoch.monotonic_at(self.now)
    }

    fn peer(&mut self, flow: FlowId) -> Option<&mut Peer> {
        self.flows.get_mut(&flow)?.peer.as_deref_mut()
    }

    fn open(&mut self, flow: FlowId, address: wirecost_proto::Peer) {
        let server = Some(Arc::clone(&self.quic));
        let endpoint = quinn_proto::Endpoint::new(Arc::clone(&self.endpoints), server, false, None);
        self.drop_flow(flow);
        let opened = Flow {
            address,
            endpoint,
            peer: None,
            ids: VecDeque::new(),
            moved: VecDeque::new(),
        };
        self.flows.insert(flow, opened);
    }

    fn received(&mut self, arrived: FlowId, bytes: &[u8]) {
        self.consumed.clear();
        let now = self.monotonic();
        let flow = self.owner(arrived, bytes);
        let address = self.flows.get(&arrived).map(|arrived| arrived.address);
        let (Some(known), Some(address)) = (self.flows.get_mut(&flow), address) else {
            return super::describe(bytes, &mut self.consumed);
        };
        let mut answer = Vec::new();
        let data = BytesMut::from(bytes);
        let event = known.endpoint.handle(now, address, None, None, data, &mut answer);
        // Version Negotiation or a close answers a long header. A stateless reset would answer a short header.
        let has_long_header = bytes.first().is_some_and(|first| first & 0x80 != 0);
        match event {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => known.handle_event(handle, event),
            Some(DatagramEvent::NewConnection(incoming)) => self.accept(flow, incoming),
            Some(DatagramEvent::Response(_)) if has_long_header => self.answer(flow, &answer),
            _ => {}
        }
        self.follow(flow, arrived, address);
        self.describe_received(flow, bytes);
    }

    /// Handles the decrypted packets of a datagram, then describes its bytes.
    fn describe_received(&mut self, flow: FlowId, bytes: &[u8]) {
        let opened = self.tap.take_opened();
        let Some(peer) = self.peer(flow) else {
            super::describe(bytes, &mut self.consumed);
            return self.forget_unused(flow);
        };
        peer.connection.note_arrived(&opened);
        let early = peer.note_early(&opened);
        if early > 0 {
            self.report(layer::Event::EarlyData { flow, bytes: early });
        }
        self.pump(flow);
        let mut consumed = std::mem::take(&mut self.consumed);
        if let Some(peer) = self.peer(flow) {
            peer.connection.consumed(bytes, &opened, &mut consumed);
        }
        self.consumed = consumed;
    }

    fn accept(&mut self, flow: FlowId, incoming: Incoming) {
        let now = self.monotonic();
        let deadline = self.now + self.tls.handshake_timeout;
        let mut answer = Vec::new();
        let Some(known) = self.flows.get_mut(&flow) else {
            return;
        };
        match known.endpoint.accept(incoming, now, &mut answer, None) {
            Ok((handle, quic)) => {
                // If the client has started anew from the same address, its earlier connection is lost.
                self.drop_peer(flow);
                let connection = Connection::new(quic, handle, flow, true);
                let peer = Box::new(Peer::new(connection, deadline));
                if let Some(known) = self.flows.get_mut(&flow) {
                    known.peer = Some(peer);
                }
            }
            Err(refused) => {
                let fault = handshake_fault(&refused.cause, self.tap.take_fault().as_ref());
                self.report(layer::Event::Failed { flow, fault });
                if refused.response.is_some() {
                    self.answer(flow, &answer);
                }
            }
        }
    }

    /// Queues a datagram that belongs to no connection.
    fn answer(&mut self, flow: FlowId, datagram: &[u8]) {
        let mut out = Buffer::new();
        Attribution::default().push_sent(datagram, &self.tap.take_sealed(), &mut out);
        self.answers.push_back((flow, out));
    }

    /// Closes a flow that has no connection.
    fn forget_unused(&mut self, flow: FlowId) {
        self.drop_flow(flow);
        self.outputs.push_back(Output::Close { flow, reset: false });
    }

    fn report(&mut self, event: layer::Event<Event>) {
        self.outputs.push_back(Output::Event(event));
    }

    /// Handles all events of a connection.
    fn pump(&mut self, flow: FlowId) {
        self.busy.insert(flow);
        while let Some(event) = self.flows.get_mut(&flow).and_then(Flow::poll) {
            self.handle_event(flow, event);
        }
        self.note_ids(flow);
        self.answer_late();
    }

    fn handle_event(&mut self, flow: FlowId, event: quinn_proto::Event) {
        match event {
            quinn_proto::Event::Connected => self.connected(flow),
            quinn_proto::Event::ConnectionLost { reason } => self.lost(flow, &reason),
            quinn_proto::Event::Stream(event) => {
                let heard = self.with_peer(flow, |peer, core| peer.handle_event(event, core));
                if let Some(Err(fault)) = heard {
                    self.fail(flow, fault);
                }
            }
            quinn_proto::Event::HandshakeDataReady
            | quinn_proto::Event::DatagramReceived
            | quinn_proto::Event::DatagramsUnblocked => {}
        }
    }

    /// Gives a connection access to the resources, and queues its outputs.
    fn with_peer<T>(&mut self, flow: FlowId, act: impl FnOnce(&mut Peer, &mut Core<'_>) -> T) -> Option<T> {
        let peer = self.flows.get_mut(&flow)?.peer.as_deref_mut()?;
        let mut core = Core {
            resources: &mut self.resources,
            outputs: &mut self.outputs,
            now: self.now,
        };
        Some(act(peer, &mut core))
    }

    fn connected(&mut self, flow: FlowId) {
        let Some(peer) = self.peer(flow) else { return };
        peer.stage = Stage::Established;
        peer.connection.open_control();
        let start = match (peer.has_early(), peer.connection.is_resumed()) {
            (true, _) => Start::ZeroRtt,
            (false, true) => Start::Resumed,
            (false, false) => Start::Cold,
        };
        self.report(layer::Event::Established { flow, start });
    }

    /// Closes a connection whose client broke a rule.
    fn fail(&mut self, flow: FlowId, fault: error::Fault) {
        let now = self.monotonic();
        if let Some(peer) = self.peer(flow) {
            let reason = Malformed::Http3(fault);
            peer.stage = Stage::Ending(layer::Event::Inner(Event::Failed { flow, reason }));
            peer.connection.close(now, fault.code);
        }
    }

    fn lost(&mut self, flow: FlowId, reason: &ConnectionError) {
        let fault = self.tap.take_fault();
        let Some(peer) = self.peer(flow) else { return };
        let event = match peer.stage {
            Stage::Handshaking { .. } => layer::Event::Failed {
                flow,
                fault: handshake_fault(reason, fault.as_ref()),
            },
            Stage::Established => layer::Event::Inner(Event::Closed { flow }),
            Stage::Ending(_) | Stage::Ended(_) => return,
        };
        peer.stage = match reason {
            // An error of this side, which the client must learn.
            ConnectionError::TransportError(_) => Stage::Ending(event),
            // A CONNECTION_CLOSE needs no answer (RFC 9000 section 10.2.2), and a lost peer gets none.
            _ => Stage::Ended(event),
        };
    }

    /// Sends the responses to waiting requests.
    fn answer_late(&mut self) {
        while let Some((exchange, response)) = self.resources.poll_answer() {
            let flow = exchange.flow;
            self.with_peer(flow, |peer, core| {
                peer.respond_late(exchange.request, &response, core);
            });
            self.busy.insert(flow);
        }
    }
}

impl Flow {
    /// Passes an event to the connection.
    fn handle_event(&mut self, handle: ConnectionHandle, event: ConnectionEvent) {
        if let Some(peer) = self.peer.as_deref_mut()
            && peer.connection.handle == handle
        {
            peer.connection.quic.handle_event(event);
        }
    }

    /// The connection's next event.
    fn poll(&mut self) -> Option<quinn_proto::Event> {
        let peer = self.peer.as_deref_mut()?;
        peer.connection.exchange_events(&mut self.endpoint);
        peer.connection.quic.poll()
    }

    /// Appends the connection's next datagram. Returns the address that it goes to; `None` if there is none.
    fn transmit(
        &mut self,
        now: std::time::Instant,
        tap: &Tap,
        scratch: &mut Vec<u8>,
        out: &mut Buffer,
    ) -> Option<wirecost_proto::Peer> {
        let peer = self.peer.as_deref_mut()?;
        let may_send = !matches!(peer.stage, Stage::Ended(_));
        let sent_to = match may_send {
            true => peer.connection.transmit(now, tap, scratch, out),
            false => None,
        };
        peer.connection.exchange_events(&mut self.endpoint);
        sent_to
    }
}

impl Endpoint for Server {
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
            Input::Reset { flow, .. } => self.reset(flow),
            Input::Timeout => self.expire(),
            // QUIC itself knows which bytes are early data.
            Input::Command(Command::EarlyData { .. })
            | Input::Congested { .. }
            | Input::Writable { .. }
            | Input::PeerClosed { .. } => {}
        }
        Ok(())
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<layer::Event<Event>> {
        loop {
            if let Some((flow, datagram)) = self.answers.pop_front() {
                out.push_described(datagram.bytes(), datagram.spans());
                return Output::Transmit { flow };
            }
            if let Some(output) = self.outputs.pop_front() {
                if matches!(output, Output::Consumed { .. }) {
                    out.cover_spans(self.consumed.spans());
                }
                return output;
            }
            if let Some(flow) = self.transmit(out) {
                return Output::Transmit { flow };
            }
            if self.outputs.is_empty() {
                let timer = self.timers.first().map(|(at, _)| *at);
                let timeouts = [timer, self.resources.next_timeout()];
                return Output::Timeout(timeouts.into_iter().flatten().min());
            }
        }
    }

    fn held(&self, flow: FlowId) -> Held {
        let peer = self.flows.get(&flow).and_then(|flow| flow.peer.as_deref());
        peer.map_or(Held::default(), Peer::held)
    }

    fn stored_bytes(&self) -> usize {
        self.resources.stored_bytes()
    }
}
