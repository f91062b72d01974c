//! What an endpoint has to put out, in order, in memory that is kept.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use wirecost_proto::{Buffer, FlowId, Layer, Output};

use crate::describe::Kind;
use crate::message::Repr;

/// A queue of outputs; the bytes of queued datagrams lie end to end in one buffer.
#[derive(Debug)]
pub(crate) struct Outbox<E> {
    queue: VecDeque<Queued<E>>,
    bytes: Vec<u8>,
    read: usize,
}

#[derive(Debug)]
enum Queued<E> {
    Transmit(FlowId, Datagram),
    Consumed(FlowId, Datagram),
    Event(E),
    Close(FlowId),
}

#[derive(Debug)]
struct Datagram {
    head: usize,
    payload: usize,
    kind: Kind,
}

impl<E> Outbox<E> {
    pub(crate) const fn new() -> Self {
        Self {
            queue: VecDeque::new(),
            bytes: Vec::new(),
            read: 0,
        }
    }

    /// Queues a message; returns its length in bytes.
    pub(crate) fn send(&mut self, flow: FlowId, repr: &Repr<'_>, kind: Kind) -> usize {
        let start = self.bytes.len();
        repr.emit(&mut self.bytes);
        let len = self.bytes.len() - start;
        self.queue_datagram(flow, len, repr.payload.len(), kind);
        len
    }

    /// Queues a message that was encoded before.
    pub(crate) fn send_encoded(&mut self, flow: FlowId, datagram: &[u8], payload: usize, kind: Kind) {
        self.bytes.extend_from_slice(datagram);
        self.queue_datagram(flow, datagram.len(), payload, kind);
    }

    fn queue_datagram(&mut self, flow: FlowId, len: usize, payload: usize, kind: Kind) {
        let head = len.saturating_sub(payload);
        let datagram = Datagram { head, payload, kind };
        self.queue.push_back(Queued::Transmit(flow, datagram));
    }

    /// Says what a received datagram of `len` bytes was.
    pub(crate) fn consumed(&mut self, flow: FlowId, len: usize, payload: usize, kind: Kind) {
        let head = len.saturating_sub(payload);
        let datagram = Datagram { head, payload, kind };
        self.queue.push_back(Queued::Consumed(flow, datagram));
    }

    pub(crate) fn event(&mut self, event: E) {
        self.queue.push_back(Queued::Event(event));
    }

    pub(crate) fn close(&mut self, flow: FlowId) {
        self.queue.push_back(Queued::Close(flow));
    }

    /// The next output, or `None` where nothing is queued.
    pub(crate) fn poll(&mut self, out: &mut Buffer) -> Option<Output<E>> {
        let Some(next) = self.queue.pop_front() else {
            self.bytes.clear();
            self.read = 0;
            return None;
        };
        Some(match next {
            Queued::Transmit(flow, datagram) => {
                self.write(&datagram, out);
                Output::Transmit { flow }
            }
            Queued::Consumed(flow, Datagram { head, payload, kind }) => {
                kind.cover(head, payload, out);
                Output::Consumed { flow }
            }
            Queued::Event(event) => Output::Event(event),
            Queued::Close(flow) => Output::Close { flow, reset: false },
        })
    }

    fn write(&mut self, datagram: &Datagram, out: &mut Buffer) {
        let Kind { phase, cause } = datagram.kind;
        let middle = self.read + datagram.head;
        let end = middle + datagram.payload;
        let part = |range| self.bytes.get(range).unwrap_or_default();
        out.push(part(self.read..middle), Layer::Application, phase, cause);
        out.push(part(middle..end), Layer::Payload, phase, cause);
        self.read = end;
    }
}
