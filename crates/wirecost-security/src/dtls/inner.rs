//! The inner endpoint, and the layer's queued outputs.

use std::collections::VecDeque;

use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output, Span};

use crate::layer::Event;

/// An output of the layer.
#[derive(Debug)]
pub(super) enum Ready<E> {
    Transmit(FlowId, Buffer),
    Consumed(FlowId, Buffer),
    Close(FlowId, bool),
    Event(Event<E>),
}

/// A request of the inner endpoint.
#[derive(Debug)]
pub(super) enum InnerRequest {
    /// Protect and send these bytes.
    Datagram(FlowId, Buffer),
    /// Close the flow, by a reset if set.
    Close(FlowId, bool),
}

/// The inner endpoint, its requests, and the queued outputs.
pub(super) struct Inner<E: Endpoint> {
    pub(super) endpoint: E,
    pub(super) ready: VecDeque<Ready<E::Event>>,
    pub(super) requests: VecDeque<InnerRequest>,
    /// The endpoint's description of the bytes that it received last.
    pub(super) consumed: Vec<Span>,
    wakes: Option<Instant>,
    /// Buffers for reuse.
    spare: Vec<Buffer>,
}

impl<E: Endpoint> Inner<E> {
    pub(super) fn new(endpoint: E) -> Self {
        Self {
            endpoint,
            ready: VecDeque::new(),
            requests: VecDeque::new(),
            consumed: Vec::new(),
            wakes: None,
            spare: Vec::new(),
        }
    }

    /// The time of the endpoint's next wake-up.
    pub(super) fn wakes(&self) -> Option<Instant> {
        self.wakes
    }

    /// Passes an input to the endpoint and collects all its outputs.
    pub(super) fn input(&mut self, input: Input<'_, E::Command>, now: Instant) -> Result<(), E::Error> {
        self.endpoint.handle_input(input, now)?;
        let mut out = self.buffer();
        loop {
            out.clear();
            match self.endpoint.poll_output(&mut out) {
                Output::Transmit { flow } => {
                    let next = self.buffer();
                    let datagram = std::mem::replace(&mut out, next);
                    self.requests.push_back(InnerRequest::Datagram(flow, datagram));
                }
                Output::Consumed { .. } => self.consumed.extend_from_slice(out.spans()),
                Output::Close { flow, reset } => self.requests.push_back(InnerRequest::Close(flow, reset)),
                Output::Event(event) => self.ready.push_back(Ready::Event(Event::Inner(event))),
                Output::Timeout(at) => {
                    self.wakes = at;
                    break;
                }
            }
        }
        self.give_back(out);
        Ok(())
    }

    /// The next output, or `None` if there is none now.
    pub(super) fn poll(&mut self, out: &mut Buffer) -> Option<Output<Event<E::Event>>> {
        Some(match self.ready.pop_front()? {
            Ready::Transmit(flow, datagram) => {
                out.push_described(datagram.bytes(), datagram.spans());
                self.give_back(datagram);
                Output::Transmit { flow }
            }
            Ready::Consumed(flow, spans) => {
                out.cover_spans(spans.spans());
                self.give_back(spans);
                Output::Consumed { flow }
            }
            Ready::Close(flow, reset) => Output::Close { flow, reset },
            Ready::Event(event) => Output::Event(event),
        })
    }

    /// An empty buffer.
    pub(super) fn buffer(&mut self) -> Buffer {
        self.spare.pop().unwrap_or_default()
    }

    /// Takes back a buffer for reuse.
    pub(super) fn give_back(&mut self, mut buffer: Buffer) {
        /// Only bursts need more buffers than this.
        const KEPT: usize = 8;
        if self.spare.len() < KEPT {
            buffer.clear();
            self.spare.push(buffer);
        }
    }
}
