//! The stacks without an application protocol: a payload on TCP after a length prefix, and a payload in a UDP datagram.
//!
//! On TCP a message is a 4-byte big-endian length, counted as [`Layer::Application`], and the payload. On UDP it
//! is the payload. The server sends no answer: the link shows whether a message was delivered.

use alloc::collections::{BTreeMap, VecDeque};
use core::convert::Infallible;

use crate::{
    Buffer, Cause, Content, Endpoint, FlowId, Front, Input, Instant, Layer, Output, Phase, ResetReason,
};

/// The transport under a bare message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A byte stream: messages carry a length prefix.
    Stream,
    /// Datagrams: a message is a datagram.
    Datagram,
}

/// Bytes of the length prefix on a stream.
pub const LENGTH_PREFIX_BYTES: usize = 4;

/// The commands of a bare client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientCommand {
    /// Send a message under a number of the caller's.
    Send {
        /// The number that [`ClientEvent::Sent`] gives back.
        message: u64,
        /// The message's content.
        content: Content,
    },
    /// Close the flow.
    Close,
}

/// The events of a bare client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientEvent {
    /// The flow is usable.
    Opened,
    /// The last byte of a message has been handed out.
    Sent {
        /// The message's number.
        message: u64,
    },
    /// A message is longer than the prefix of a stream can say. It was not sent.
    TooLong {
        /// The message's number.
        message: u64,
    },
    /// The peer closed the flow.
    Closed,
    /// The flow broke.
    Reset(ResetReason),
}

/// Sends payloads and expects no answers.
#[derive(Debug)]
pub struct Client {
    transport: Transport,
    flow: Option<FlowId>,
    outbox: VecDeque<(u64, Content)>,
    /// The message that was handed out last, until that is reported.
    sent: Option<u64>,
    closing: bool,
    events: VecDeque<ClientEvent>,
    ignored_bytes: u64,
}

impl Client {
    /// A client for one flow of `transport`.
    pub fn new(transport: Transport) -> Self {
        Self {
            transport,
            flow: None,
            outbox: VecDeque::new(),
            sent: None,
            closing: false,
            events: VecDeque::new(),
            ignored_bytes: 0,
        }
    }

    /// Bytes that the server sent, although it must send none.
    pub fn ignored_bytes(&self) -> u64 {
        self.ignored_bytes
    }
}

impl Endpoint for Client {
    type Command = ClientCommand;
    type Event = ClientEvent;
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, ClientCommand>, _now: Instant) -> Result<(), Infallible> {
        match input {
            Input::Opened { flow, .. } => {
                self.flow = Some(flow);
                self.events.push_back(ClientEvent::Opened);
            }
            Input::Command(ClientCommand::Send { message, content }) => {
                self.outbox.push_back((message, content));
            }
            Input::Command(ClientCommand::Close) => self.closing = true,
            Input::Received { bytes, .. } => self.ignored_bytes += bytes.len() as u64,
            Input::PeerClosed { .. } => self.events.push_back(ClientEvent::Closed),
            Input::Reset { reason, .. } => {
                self.flow = None;
                self.events.push_back(ClientEvent::Reset(reason));
            }
            Input::Congested { .. } | Input::Writable { .. } | Input::Timeout => {}
        }
        Ok(())
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<ClientEvent> {
        if let Some(message) = self.sent.take() {
            return Output::Event(ClientEvent::Sent { message });
        }
        if let Some(event) = self.events.pop_front() {
            return Output::Event(event);
        }
        let Some(flow) = self.flow else {
            return Output::Timeout(None);
        };
        if let Some((message, content)) = self.outbox.pop_front() {
            if !emit(self.transport, &content, out) {
                return Output::Event(ClientEvent::TooLong { message });
            }
            self.sent = Some(message);
            return Output::Transmit { flow };
        }
        if self.closing {
            self.closing = false;
            self.flow = None;
            return Output::Close { flow, reset: false };
        }
        Output::Timeout(None)
    }
}

/// Appends a message. Returns false, and appends nothing, if the prefix cannot say its length.
fn emit(transport: Transport, content: &Content, out: &mut Buffer) -> bool {
    if transport == Transport::Stream {
        let Some(prefix) = prefix(content.len()) else {
            return false;
        };
        out.push(&prefix, Layer::Application, Phase::Message, Cause::Original);
    }
    content.push(0..content.len(), Phase::Message, Cause::Original, out);
    true
}

/// The prefix of a message of `len` bytes on a stream; `None` if four bytes cannot say it.
fn prefix(len: usize) -> Option<[u8; LENGTH_PREFIX_BYTES]> {
    u32::try_from(len).ok().map(u32::to_be_bytes)
}

/// The events of a bare server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEvent {
    /// A whole message arrived.
    Message {
        /// The flow that it arrived on.
        flow: FlowId,
        /// Its payload in bytes.
        payload_bytes: u64,
        /// The first bytes of its payload.
        front: Front,
    },
}

/// Reports the messages of any number of clients and closes each flow that its client closes.
#[derive(Debug)]
pub struct Server {
    transport: Transport,
    flows: BTreeMap<FlowId, MessageReader>,
    output: VecDeque<ServerOutput>,
}

#[derive(Debug)]
enum ServerOutput {
    Consumed(FlowId, usize, Layer),
    Event(ServerEvent),
    Close(FlowId),
}

impl Server {
    /// A server for `transport`.
    pub fn new(transport: Transport) -> Self {
        Self {
            transport,
            flows: BTreeMap::new(),
            output: VecDeque::new(),
        }
    }

    fn receive(&mut self, flow: FlowId, bytes: &[u8]) {
        if self.transport == Transport::Datagram {
            self.output
                .push_back(ServerOutput::Consumed(flow, bytes.len(), Layer::Payload));
            self.output.push_back(ServerOutput::Event(ServerEvent::Message {
                flow,
                payload_bytes: bytes.len() as u64,
                front: Front::from_payload(bytes),
            }));
            return;
        }
        let reader = self.flows.entry(flow).or_default();
        let mut rest = bytes;
        while !rest.is_empty() {
            let (taken, layer, done) = reader.take(rest);
            self.output.push_back(ServerOutput::Consumed(flow, taken, layer));
            rest = &rest[taken..];
            if let Some((payload_bytes, front)) = done {
                let event = ServerEvent::Message {
                    flow,
                    payload_bytes,
                    front,
                };
                self.output.push_back(ServerOutput::Event(event));
            }
        }
    }
}

/// The state of a stream's reader: in a length prefix or in a payload.
#[derive(Debug)]
enum MessageReader {
    AwaitLength {
        prefix: [u8; LENGTH_PREFIX_BYTES],
        have: usize,
    },
    AwaitPayload {
        payload_bytes: u64,
        missing: u64,
        front: Front,
    },
}

impl Default for MessageReader {
    fn default() -> Self {
        Self::AwaitLength {
            prefix: [0; LENGTH_PREFIX_BYTES],
            have: 0,
        }
    }
}

impl MessageReader {
    /// Reads a part of `bytes`. Returns the number of bytes read, their layer and, if a payload is now complete, its length
    /// and its first bytes.
    fn take(&mut self, bytes: &[u8]) -> (usize, Layer, Option<(u64, Front)>) {
        match self {
            Self::AwaitLength { prefix, have } => {
                let taken = bytes.len().min(LENGTH_PREFIX_BYTES - *have);
                prefix[*have..*have + taken].copy_from_slice(&bytes[..taken]);
                *have += taken;
                if *have < LENGTH_PREFIX_BYTES {
                    return (taken, Layer::Application, None);
                }
                let payload_bytes = u64::from(u32::from_be_bytes(*prefix));
                if payload_bytes == 0 {
                    *self = Self::default();
                    return (taken, Layer::Application, Some((0, Front::EMPTY)));
                }
                *self = Self::AwaitPayload {
                    payload_bytes,
                    missing: payload_bytes,
                    front: Front::EMPTY,
                };
                (taken, Layer::Application, None)
            }
            Self::AwaitPayload {
                payload_bytes,
                missing,
                front,
            } => {
                let taken = usize::try_from(*missing).unwrap_or(usize::MAX).min(bytes.len());
                *missing -= taken as u64;
                front.extend(&bytes[..taken]);
                let done = (*missing == 0).then_some((*payload_bytes, *front));
                if done.is_some() {
                    *self = Self::default();
                }
                (taken, Layer::Payload, done)
            }
        }
    }
}

impl Endpoint for Server {
    type Command = Infallible;
    type Event = ServerEvent;
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, Infallible>, _now: Instant) -> Result<(), Infallible> {
        match input {
            Input::Received { flow, bytes } => self.receive(flow, bytes),
            Input::PeerClosed { flow } => {
                self.flows.remove(&flow);
                self.output.push_back(ServerOutput::Close(flow));
            }
            Input::Reset { flow, .. } => {
                self.flows.remove(&flow);
            }
            Input::Opened { .. } | Input::Congested { .. } | Input::Writable { .. } | Input::Timeout => {}
            Input::Command(never) => match never {},
        }
        Ok(())
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<ServerEvent> {
        match self.output.pop_front() {
            Some(ServerOutput::Consumed(flow, len, layer)) => {
                out.cover(len, layer, Phase::Message, Cause::Original);
                Output::Consumed { flow }
            }
            Some(ServerOutput::Event(event)) => Output::Event(event),
            Some(ServerOutput::Close(flow)) => Output::Close { flow, reset: false },
            None => Output::Timeout(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_said_or_refused() {
        let most = u32::MAX as usize;
        for len in [
            0,
            1,
            255,
            256,
            65_536,
            most - 1,
            most,
            most + 1,
            most + 256,
            usize::MAX,
        ] {
            let said = prefix(len).map(|prefix| u32::from_be_bytes(prefix) as usize);
            assert_eq!(said, (len <= most).then_some(len));
        }
    }
}
