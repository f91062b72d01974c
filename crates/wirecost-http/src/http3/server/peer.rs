//! A server's side of one connection.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use quinn_proto::{Dir, Side, StreamEvent, StreamId};
use wirecost_proto::{Content, FlowId, Front, Held, Instant, Output};
use wirecost_security::layer;

use super::super::connection::{Connection, Progress};
use super::super::head::encode_response;
use super::super::quic::frame::Kind;
use super::super::quic::packet::Type;
use super::super::quic::tap::Packet;
use super::exchange::Exchange;
use crate::fault::{Code, Fault};
use crate::message::{Response, Status};
use crate::resource::{self, Resources};
use crate::server::Event;

/// What the handshake of a connection takes, in bytes: two packet number spaces, TLS and the certificate in flight.
const HANDSHAKE_BYTES: usize = 32 << 10;

/// What QUIC takes for each byte of an answer that it keeps for a retransmission, in bytes: 2.1 were measured with 200 clients of
/// 256 KiB each, with what their connections take.
const KEPT_FACTOR: usize = 2;

/// A connection and its requests.
pub(super) struct Peer {
    pub(super) connection: Connection,
    pub(super) stage: Stage,
    exchanges: BTreeMap<StreamId, Exchange>,
    /// Streams with bytes in 0-RTT packets.
    early: BTreeSet<u64>,
    has_early: bool,
    /// The time of its entry in the server's timers.
    pub(super) scheduled: Option<Instant>,
}

/// The stage of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The handshake is not complete.
    Handshaking { deadline: Instant },
    /// The handshake is complete.
    Established,
    /// The last packet is being sent. Then the flow closes with this event.
    Ending(layer::Event<Event>),
    /// Nothing is left to send. The flow closes with this event.
    Ended(layer::Event<Event>),
}

impl Peer {
    pub(super) fn new(connection: Connection, deadline: Instant) -> Self {
        Self {
            connection,
            stage: Stage::Handshaking { deadline },
            exchanges: BTreeMap::new(),
            early: BTreeSet::new(),
            has_early: false,
            scheduled: None,
        }
    }

    /// Whether early data arrived and was accepted.
    pub(super) const fn has_early(&self) -> bool {
        self.has_early
    }

    /// Notes the streams with early data in the packets. Returns the number of its bytes.
    pub(super) fn note_early(&mut self, packets: &[Packet]) -> usize {
        let mut bytes = 0;
        for packet in packets.iter().filter(|packet| packet.kind == Type::ZeroRtt) {
            self.has_early = true;
            for frame in &packet.frames {
                if let Kind::Stream { id, .. } = frame.kind {
                    self.early.insert(id);
                    bytes += frame.data;
                }
            }
        }
        bytes
    }

    /// What the connection holds: its handshake, then requests that are incomplete and answers that the client does not
    /// acknowledge. Time-outs of QUIC end these.
    pub(super) fn held(&self) -> Held {
        if matches!(self.stage, Stage::Handshaking { .. }) {
            return Held::incomplete(HANDSHAKE_BYTES);
        }
        let exchanges = self.exchanges.values();
        let bodies: usize = exchanges.map(|exchange| exchange.message.body.len()).sum();
        let unacknowledged = self.connection.unacknowledged_bytes() * KEPT_FACTOR;
        Held {
            bytes: bodies + self.connection.unread_bytes() + unacknowledged,
            is_unfinished: self.exchanges.values().any(|exchange| !exchange.is_waiting),
        }
    }

    /// Handles an event of a stream.
    pub(super) fn handle_event(&mut self, event: StreamEvent, server: &mut Core<'_>) -> Result<(), Fault> {
        match event {
            StreamEvent::Opened { dir: Dir::Uni } => {
                while let Some(id) = self.connection.accept_unidirectional() {
                    self.connection.read_unidirectional(id, |_| {})?;
                }
            }
            StreamEvent::Opened { dir: Dir::Bi } => {
                while let Some(id) = self.connection.quic.streams().accept(Dir::Bi) {
                    let is_early = self.early.remove(&id.into());
                    self.exchanges.insert(id, Exchange::new(is_early));
                    self.read(id, server)?;
                }
            }
            StreamEvent::Readable { id } if id.dir() == Dir::Uni => {
                self.connection.read_unidirectional(id, |_| {})?;
            }
            StreamEvent::Readable { id } => self.read(id, server)?,
            StreamEvent::Writable { id } => self.connection.flush(id),
            StreamEvent::Stopped { id, .. } => self.connection.stopped(id),
            StreamEvent::Finished { id } => self.connection.acknowledged(id),
            StreamEvent::Available { .. } => {}
        }
        Ok(())
    }

    fn read(&mut self, id: StreamId, server: &mut Core<'_>) -> Result<(), Fault> {
        let Some(exchange) = self.exchanges.get_mut(&id) else {
            return Ok(());
        };
        exchange.is_early |= self.early.remove(&id.into());
        let limit = server.resources.config().max_body_bytes;
        let Exchange { reader, message, .. } = exchange;
        let progress = self
            .connection
            .read_message(id, reader, |part| message.handle_part(part, limit))?;
        let is_whole = progress == Progress::Ended;
        let fault = exchange.message.fault(is_whole);
        if let Some(fault) = fault.filter(|_| !matches!(progress, Progress::Reset(_))) {
            self.exchanges.remove(&id);
            self.connection.refuse(id, fault);
            return Ok(());
        }
        match progress {
            Progress::Open => self.refuse(id, server),
            Progress::Ended => self.answer(id, server),
            Progress::Reset(_) => {
                self.exchanges.remove(&id);
                let request = request_id(self.connection.flow, id);
                server.resources.forget_request(request);
                self.connection.stopped(id);
            }
        }
        Ok(())
    }

    /// Refuses a request if its head or its length is reason enough.
    fn refuse(&mut self, id: StreamId, server: &mut Core<'_>) {
        let Some(exchange) = self.exchanges.get(&id) else {
            return;
        };
        let Some(head) = exchange.message.head() else {
            return;
        };
        let here = exchange.message.body.len() as u64;
        let len = head.content_length.unwrap_or(0).max(here);
        let refusal = match exchange.request() {
            None => Some(Response::empty(Status::NOT_IMPLEMENTED)),
            Some(request) => server.resources.check(&request, Some(len)).err(),
        };
        if let Some(response) = refusal {
            // RFC 9114 section 4.1: the rest is not needed.
            self.connection.stop(id, Code::NoError);
            self.respond(id, &response, server);
        }
    }

    /// Answers a complete request.
    fn answer(&mut self, id: StreamId, server: &mut Core<'_>) {
        let Some(exchange) = self.exchanges.get_mut(&id) else {
            return;
        };
        exchange.is_waiting = true;
        if let Some(Ok(Some(reading))) = exchange.request().map(|request| request.reading()) {
            exchange.message.body = reading;
        }
        let response = match exchange.request() {
            None => Some(Response::empty(Status::NOT_IMPLEMENTED)),
            Some(request) => {
                let of = request_id(self.connection.flow, id);
                let body = &exchange.message.body;
                match server.resources.check(&request, Some(body.len() as u64)) {
                    Err(refusal) => Some(refusal),
                    Ok(()) => server.resources.answer(of, &request, body, server.now),
                }
            }
        };
        if let Some(response) = response {
            self.respond(id, &response, server);
        }
    }

    /// Sends the response to a waiting request.
    pub(super) fn respond_late(&mut self, stream: u64, response: &Response, server: &mut Core<'_>) {
        // Bits 0 and 1 of a stream ID are the stream's initiator and direction (RFC 9000 section 2.1).
        self.respond(
            StreamId::new(Side::Client, Dir::Bi, stream >> 2),
            response,
            server,
        );
    }

    fn respond(&mut self, id: StreamId, response: &Response, server: &mut Core<'_>) {
        let Some(exchange) = self.exchanges.remove(&id) else {
            return;
        };
        let method = exchange.method();
        if self.exchanges.is_empty() {
            self.connection.all_is_read();
        }
        let is_head = method == crate::message::Method::Head;
        let head = encode_response(response, is_head);
        let content = response.content.clone().filter(|_| !is_head);
        let content = content.unwrap_or_else(|| Content::from([]));
        self.connection.write(id, head.into(), content, true);
        let answered = Event::Answered {
            flow: self.connection.flow,
            method,
            status: response.status,
            payload_bytes: exchange.message.body.len() as u64,
            front: Front::from_payload(&exchange.message.body),
        };
        let event = layer::Event::Inner(answered);
        server.outputs.push_back(Output::Event(event));
    }
}

/// The parts of the server that its connections use.
pub(super) struct Core<'a> {
    pub(super) resources: &'a mut Resources,
    pub(super) outputs: &'a mut VecDeque<Output<layer::Event<Event>>>,
    pub(super) now: Instant,
}

fn request_id(flow: FlowId, id: StreamId) -> resource::RequestId {
    resource::RequestId {
        flow,
        request: id.into(),
    }
}
