//! What an endpoint has to put out, in order, in memory that is kept.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use wirecost_proto::{Buffer, Content, FlowId, Output};

use crate::describe::Kind;
use crate::layout::Layout;
use crate::message::Repr;

/// A queue of outputs; the bytes of queued datagrams lie end to end in one buffer.
#[derive(Debug)]
pub(crate) struct Outbox<E> {
    queue: VecDeque<Queued<E>>,
    bytes: Vec<u8>,
    read: usize,
    /// The message whose last byte the last datagram carried, until that is reported.
    sent: Option<u64>,
}

#[derive(Debug)]
enum Queued<E> {
    Transmit(FlowId, Datagram),
    Consumed(FlowId, Layout, Kind),
    Event(E),
    Close(FlowId),
}

/// What is known of a datagram's bytes.
#[derive(Clone, Debug)]
pub(crate) struct Datagram {
    layout: Layout,
    kind: Kind,
    /// What the payload is a part of, and where that part begins.
    content: Option<(Content, usize)>,
    /// The message whose last byte it carries.
    sent: Option<u64>,
}

impl Datagram {
    /// A datagram whose payload is payload throughout.
    pub(crate) fn new(layout: Layout, kind: Kind) -> Self {
        Self {
            layout,
            kind,
            content: None,
            sent: None,
        }
    }

    /// The same, its payload the part of a content that begins at the offset given.
    pub(crate) fn carrying(self, content: Option<(&Content, usize)>) -> Self {
        let content = content.map(|(content, offset)| (content.clone(), offset));
        Self { content, ..self }
    }

    /// The same, which carries the last byte of the message `sent`, if any.
    pub(crate) fn ending(self, sent: Option<u64>) -> Self {
        Self { sent, ..self }
    }
}

impl<E> Outbox<E> {
    pub(crate) const fn new() -> Self {
        Self {
            queue: VecDeque::new(),
            bytes: Vec::new(),
            read: 0,
            sent: None,
        }
    }

    /// Queues a message that carries no content of the user's.
    pub(crate) fn send(&mut self, flow: FlowId, repr: &Repr<'_>, kind: Kind) {
        let start = self.bytes.len();
        repr.emit(&mut self.bytes);
        let layout = Layout::of(repr, self.bytes.len() - start);
        let datagram = Datagram::new(layout, kind);
        self.queue.push_back(Queued::Transmit(flow, datagram));
    }

    /// Queues a message that was encoded before.
    pub(crate) fn send_encoded(&mut self, flow: FlowId, bytes: &[u8], datagram: Datagram) {
        self.bytes.extend_from_slice(bytes);
        self.queue.push_back(Queued::Transmit(flow, datagram));
    }

    /// Says what a received datagram was.
    pub(crate) fn consumed(&mut self, flow: FlowId, layout: Layout, kind: Kind) {
        self.queue.push_back(Queued::Consumed(flow, layout, kind));
    }

    pub(crate) fn event(&mut self, event: E) {
        self.queue.push_back(Queued::Event(event));
    }

    pub(crate) fn close(&mut self, flow: FlowId) {
        self.queue.push_back(Queued::Close(flow));
    }

    /// The message whose last byte was handed out last, once.
    pub(crate) fn take_sent(&mut self) -> Option<u64> {
        self.sent.take()
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
                self.sent = datagram.sent;
                Output::Transmit { flow }
            }
            Queued::Consumed(flow, layout, kind) => {
                kind.cover(&layout, out);
                Output::Consumed { flow }
            }
            Queued::Event(event) => Output::Event(event),
            Queued::Close(flow) => Output::Close { flow, reset: false },
        })
    }

    fn write(&mut self, datagram: &Datagram, out: &mut Buffer) {
        let (since, Kind { phase, cause }) = (out.spans().len(), datagram.kind);
        for (len, layer) in datagram.layout.runs() {
            let run = self.bytes.get(self.read..self.read + len).unwrap_or_default();
            out.push(run, layer, phase, cause);
            self.read += len;
        }
        if let Some((content, offset)) = &datagram.content {
            content.relabel(out, since, *offset);
        }
    }
}
