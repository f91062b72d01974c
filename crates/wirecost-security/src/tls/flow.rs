//! The layer's state of one flow.

use std::collections::VecDeque;
use std::ops::Range;

use rustls::Connection;
use wirecost_proto::{Buffer, Cause, Held, Instant, Layer, Peer, Phase, Span};

use super::connection::{self, Opened};
use super::fault;
use super::record::{Header, MAX_PLAINTEXT_BYTES};
use crate::Start;
use crate::interleave::Interleaver;
use crate::layer::Fault;

/// What the library takes for a handshake, in bytes.
const HANDSHAKE_BYTES: usize = 12 << 10;

/// One connection, and the data waiting on either side.
pub(super) struct Flow {
    /// The peer's address.
    pub(super) peer: Peer,
    pub(super) stage: Stage,
    /// Whether the inner endpoint knows the flow.
    pub(super) opened: bool,
    /// Whether the inner endpoint knows that the peer has closed its direction.
    pub(super) peer_closed: bool,
    /// Whether the peer's FIN has arrived.
    pub(super) fin: bool,
    connection: Box<Connection>,
    /// An incomplete record.
    partial: Vec<u8>,
    /// Bytes that arrived during the handshake: the library keeps incomplete messages.
    arrived: usize,
    received: Interleaver,
    /// Plaintext that cannot be sent yet, message by message.
    held: VecDeque<Buffer>,
    /// Early data that was sent, until the server accepts or refuses it.
    early: Vec<Buffer>,
}

/// The state of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The first flight waits for the first command and leaves together with it.
    Withheld { deadline: Instant },
    /// The handshake must be complete by the deadline.
    Handshake { deadline: Instant },
    /// The inner endpoint closed the flow during the handshake. The flow closes when the handshake is complete.
    Closing { deadline: Instant },
    /// Application data may flow both ways.
    Open,
    /// Nothing more is sent. Received records are still decrypted.
    Closed,
    /// The protection failed. All further bytes belong to the layer.
    Failed,
}

/// The effect of a received record on the flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// Plaintext at this range of the buffer.
    Plain { range: Range<usize>, early: bool },
    /// The handshake is complete.
    Established {
        /// How the connection started.
        start: Start,
        /// Whether the inner endpoint has already closed the flow.
        closing: bool,
    },
    /// The peer has closed its direction.
    PeerClosed,
    /// The connection failed.
    Failed(Fault),
}

/// Buffers that all flows share.
#[derive(Default)]
pub(super) struct Scratch {
    sealed: Vec<u8>,
    labels: Buffer,
    spans: Interleaver,
}

impl Flow {
    pub(super) fn new(peer: Peer, connection: impl Into<Connection>, stage: Stage) -> Self {
        let mut connection = Box::new(connection.into());
        // All written data leaves at once. A limit could only cut a record short.
        connection.set_buffer_limit(None);
        Self {
            peer,
            stage,
            opened: false,
            peer_closed: false,
            fin: false,
            connection,
            partial: Vec::new(),
            arrived: 0,
            received: Interleaver::default(),
            held: VecDeque::new(),
            early: Vec::new(),
        }
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// What is held of an incomplete handshake or record, and plaintext that cannot be sent yet.
    pub(super) fn held(&self) -> Held {
        let handshake = match self.deadline() {
            Some(_) => HANDSHAKE_BYTES + self.arrived,
            None => 0,
        };
        let waiting: usize = self.held.iter().map(|message| message.bytes().len()).sum();
        Held::incomplete(handshake + self.partial.len()).and(Held {
            bytes: waiting,
            is_unfinished: false,
        })
    }

    /// The deadline of the handshake.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match self.stage {
            Stage::Withheld { deadline } | Stage::Handshake { deadline } | Stage::Closing { deadline } => {
                Some(deadline)
            }
            Stage::Open | Stage::Closed | Stage::Failed => None,
        }
    }

    /// Handles received bytes. Appends plaintext to `plain` and the effects to `arrivals`.
    pub(super) fn receive(&mut self, bytes: &[u8], plain: &mut Vec<u8>, arrivals: &mut Vec<Arrival>) {
        if self.deadline().is_some() {
            self.arrived += bytes.len();
        }
        if self.partial.is_empty() {
            let opened = self.open_records(bytes, plain, arrivals);
            self.partial.extend_from_slice(&bytes[opened..]);
            return;
        }
        let mut joined = std::mem::take(&mut self.partial);
        joined.extend_from_slice(bytes);
        let opened = self.open_records(&joined, plain, arrivals);
        if opened == 0 {
            self.partial = joined;
            return;
        }
        // Drops the buffer if there is no incomplete record, as on most connections.
        self.partial.extend_from_slice(&joined[opened..]);
    }

    /// Decrypts the complete records at the start of `bytes`. Returns their length.
    fn open_records(&mut self, bytes: &[u8], plain: &mut Vec<u8>, arrivals: &mut Vec<Arrival>) -> usize {
        let mut rest = bytes;
        while self.stage != Stage::Failed {
            let header = match Header::parse(rest) {
                Ok(Some(header)) => header,
                Ok(None) => return bytes.len() - rest.len(),
                Err(error) => {
                    // The library generates the alert.
                    let _ = connection::open(&mut self.connection, rest, &mut Vec::new());
                    self.fail(fault::protocol(error), arrivals);
                    break;
                }
            };
            let Some((record, behind)) = rest.split_at_checked(header.record_bytes()) else {
                return bytes.len() - rest.len();
            };
            self.open(record, plain, arrivals);
            rest = behind;
        }
        let phase = match self.connection.is_handshaking() {
            true => Phase::Connect,
            false => Phase::Close,
        };
        self.received.push_own(rest.len(), phase, Cause::Original);
        bytes.len()
    }

    fn open(&mut self, record: &[u8], plain: &mut Vec<u8>, arrivals: &mut Vec<Arrival>) {
        let before = plain.len();
        match connection::open(&mut self.connection, record, plain) {
            Ok(opened) => self.opened(record.len(), before, opened, arrivals),
            Err(error) => {
                let fault = fault::fault(&error);
                let phase = match fault {
                    Fault::Alert(_) => Phase::Close,
                    _ => Phase::Connect,
                };
                self.received.push_own(record.len(), phase, Cause::Original);
                self.fail(fault, arrivals);
            }
        }
    }

    fn opened(&mut self, record: usize, at: usize, opened: Opened, arrivals: &mut Vec<Arrival>) {
        let Opened { plain, early, closed } = opened;
        if plain > 0 {
            let layout = connection::layout(&self.connection, record, plain);
            self.received.push_record(layout);
            arrivals.push(Arrival::Plain {
                range: at..at + plain,
                early,
            });
        } else {
            let phase = if closed { Phase::Close } else { Phase::Connect };
            self.received.push_own(record, phase, Cause::Original);
        }
        if self.deadline().is_some() && !self.connection.is_handshaking() {
            self.established(arrivals);
        }
        if closed && !self.peer_closed {
            self.peer_closed = true;
            arrivals.push(Arrival::PeerClosed);
        }
    }

    fn established(&mut self, arrivals: &mut Vec<Arrival>) {
        let start = connection::start(&mut self.connection);
        if start != Start::ZeroRtt {
            self.requeue_early_data();
        }
        self.early = Vec::new();
        let closing = matches!(self.stage, Stage::Closing { .. });
        self.stage = Stage::Open;
        arrivals.push(Arrival::Established { start, closing });
    }

    /// Queues the refused early data again (RFC 8446 section 4.2.10).
    fn requeue_early_data(&mut self) {
        for message in self.early.drain(..).rev() {
            let mut again = Buffer::new();
            for span in message.spans() {
                again.cover_span(Span {
                    cause: Cause::Retransmission,
                    ..*span
                });
            }
            let mut labelled = Buffer::new();
            labelled.push_described(message.bytes(), again.spans());
            self.held.push_front(labelled);
        }
    }

    fn fail(&mut self, fault: Fault, arrivals: &mut Vec<Arrival>) {
        // A closed flow does not report failures.
        if self.stage != Stage::Closed {
            arrivals.push(Arrival::Failed(fault));
        }
        self.end();
    }

    /// Ends the flow.
    pub(super) fn end(&mut self) {
        self.stage = Stage::Failed;
        self.held.clear();
    }
}

impl Flow {
    /// Appends the handshake's output to `out`. After a failure, the last record is an alert.
    pub(super) fn flush(&mut self, scratch: &mut Scratch, out: &mut Buffer) {
        let sealed = &mut scratch.sealed;
        sealed.clear();
        connection::drain(&mut self.connection, sealed);
        let alert = match self.stage {
            Stage::Failed => connection::last_alert(sealed),
            _ => 0,
        };
        let (handshake, alert) = sealed.split_at(sealed.len() - alert);
        out.push(handshake, Layer::Security, Phase::Connect, Cause::Original);
        out.push(alert, Layer::Security, Phase::Close, Cause::Original);
    }

    /// Appends to `out` everything that may be sent: the handshake, held messages, then `plain`. `plain` is held if
    /// it may not be sent yet.
    pub(super) fn send(&mut self, plain: Option<&Buffer>, scratch: &mut Scratch, out: &mut Buffer) {
        if let Some(plain) = plain
            && !(self.held.is_empty() && self.may_send(plain))
        {
            self.held.push_back(plain.clone());
            return self.release(scratch, out);
        }
        self.release(scratch, out);
        if let Some(plain) = plain {
            self.seal(plain, scratch, out);
        }
    }

    fn release(&mut self, scratch: &mut Scratch, out: &mut Buffer) {
        if matches!(self.stage, Stage::Withheld { .. }) {
            return;
        }
        self.flush(scratch, out);
        while let Some(message) = self.held.pop_front() {
            if !self.may_send(&message) {
                self.held.push_front(message);
                return;
            }
            self.seal(&message, scratch, out);
        }
    }

    fn may_send(&mut self, plain: &Buffer) -> bool {
        !matches!(self.stage, Stage::Withheld { .. })
            && connection::may_send(&mut self.connection, plain.bytes().len())
    }

    /// Protects a message in as few records as possible.
    fn seal(&mut self, plain: &Buffer, scratch: &mut Scratch, out: &mut Buffer) {
        if matches!(self.connection(), Connection::Client(_)) && self.connection.is_handshaking() {
            self.early.push(plain.clone());
        }
        scratch.spans.inner(plain.spans());
        for chunk in plain.bytes().chunks(MAX_PLAINTEXT_BYTES) {
            scratch.sealed.clear();
            connection::seal(&mut self.connection, chunk, &mut scratch.sealed);
            let record = connection::last_record(&scratch.sealed);
            let before = scratch.sealed.len() - record;
            scratch.spans.push_own(before, Phase::Connect, Cause::Original);
            let layout = connection::layout(&self.connection, record, chunk.len());
            scratch.spans.push_record(layout);
            scratch.labels.clear();
            scratch.spans.drain(&mut scratch.labels);
            out.push_described(&scratch.sealed, scratch.labels.spans());
        }
    }

    /// Appends everything that may be sent, then a close_notify (RFC 8446 section 6.1).
    pub(super) fn close(&mut self, scratch: &mut Scratch, out: &mut Buffer) {
        self.send(None, scratch, out);
        self.stage = Stage::Closed;
        self.connection.send_close_notify();
        scratch.sealed.clear();
        connection::drain(&mut self.connection, &mut scratch.sealed);
        out.push(&scratch.sealed, Layer::Security, Phase::Close, Cause::Original);
    }

    /// Adds the inner endpoint's description of received bytes.
    pub(super) fn consumed(&mut self, spans: &[Span]) {
        self.received.inner(spans);
    }

    /// Appends the known spans of received bytes to `out`. Returns whether there were any.
    pub(super) fn drain_consumed(&mut self, out: &mut Buffer) -> bool {
        self.received.drain(out)
    }
}
