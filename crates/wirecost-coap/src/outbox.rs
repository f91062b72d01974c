//! The outputs of an endpoint, in order, in reused memory.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use wirecost_proto::{Buffer, Content, FlowId, Output};

use crate::describe::Kind;
use crate::layout::Layout;
use crate::message::Repr;
use crate::stream::kind_of;

/// A queue of outputs. The bytes of queued datagrams lie end to end in one buffer.
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
    Transmit {
        flow: FlowId,
        layout: Layout,
        kind: Kind,
        /// The content of which the payload is a part, and the offset of that part.
        content: Option<(Content, usize)>,
        /// The message whose last byte the datagram carries.
        sent: Option<u64>,
    },
    Consumed(FlowId, Layout, Kind),
    Event(E),
    Close(FlowId),
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

    /// Queues a message without content of the user.
    pub(crate) fn send(&mut self, flow: FlowId, repr: &Repr<'_>, kind: Kind) {
        let start = self.bytes.len();
        repr.emit(&mut self.bytes);
        let layout = Layout::from_repr(repr, self.bytes.len() - start);
        self.transmit(flow, (layout, kind), None, None);
    }

    /// Queues a message of a stream that `emit` appends, without content.
    pub(crate) fn send_signal(&mut self, flow: FlowId, emit: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        emit(&mut self.bytes);
        let message = self.bytes.get(start..).unwrap_or_default();
        let layout = Repr::parse_stream(message).map_or(Layout::plain(message.len(), 0), |repr| {
            Layout::from_repr(&repr, message.len())
        });
        let kind = kind_of(message, layout);
        self.transmit(flow, (layout, kind), None, None);
    }

    /// Queues an encoded message without content of the user.
    pub(crate) fn send_encoded(&mut self, flow: FlowId, bytes: &[u8], layout: Layout, kind: Kind) {
        self.send_content(flow, bytes, (layout, kind), None, None);
    }

    /// Queues an encoded message. Its payload is the part of `content` at an offset; it carries the last byte of the
    /// message `sent`.
    pub(crate) fn send_content(
        &mut self,
        flow: FlowId,
        bytes: &[u8],
        described: (Layout, Kind),
        content: Option<(Content, usize)>,
        sent: Option<u64>,
    ) {
        self.bytes.extend_from_slice(bytes);
        self.transmit(flow, described, content, sent);
    }

    fn transmit(
        &mut self,
        flow: FlowId,
        (layout, kind): (Layout, Kind),
        content: Option<(Content, usize)>,
        sent: Option<u64>,
    ) {
        self.queue.push_back(Queued::Transmit {
            flow,
            layout,
            kind,
            content,
            sent,
        });
    }

    /// Queues the spans of a received datagram.
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

    /// Gives back the memory of an empty queue; returns whether it is empty.
    pub(crate) fn rest(&mut self) -> bool {
        let is_empty = self.queue.is_empty() && self.sent.is_none();
        if is_empty {
            (self.queue, self.bytes, self.read) = (VecDeque::new(), Vec::new(), 0);
        }
        is_empty
    }

    /// The next output, or `None` if the queue is empty.
    pub(crate) fn poll(&mut self, out: &mut Buffer) -> Option<Output<E>> {
        let Some(next) = self.queue.pop_front() else {
            self.bytes.clear();
            self.read = 0;
            return None;
        };
        Some(match next {
            Queued::Transmit {
                flow,
                layout,
                kind,
                content,
                sent,
            } => {
                let since = out.spans().len();
                self.write(layout, kind, out);
                if let Some((content, offset)) = content {
                    content.relabel(out, since, offset);
                }
                self.sent = sent;
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

    fn write(&mut self, layout: Layout, kind: Kind, out: &mut Buffer) {
        for run in layout.runs() {
            let bytes = self.bytes.get(self.read..self.read + run.len);
            out.push(
                bytes.unwrap_or_default(),
                run.layer,
                kind.phase_of(run),
                kind.cause,
            );
            self.read += run.len;
        }
    }
}
