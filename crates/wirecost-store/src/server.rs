//! The reference server: it accepts every login, answers the statements of the client, and keeps no rows.
//!
//! A statement that it does not know is answered as carried out: the server has no SQL.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;

use wirecost_proto::{
    Buffer, Cause, Endpoint, FlowId, Front, Held, Input, Instant, Layer, Output, Phase, kept as buffers,
};

use crate::dialect::{Answer, Inserted, ServerDialect};
use crate::{Malformed, Parts, Store, mariadb, mongodb, postgres};

/// The longest packet that the server accepts, in bytes: the largest payload that wirecost sends, and its fields.
const LONGEST_PACKET: usize = 1_000_100_000;

/// The events of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A whole insert arrived.
    Inserted {
        /// The flow that it arrived on.
        flow: FlowId,
        /// Its payload in bytes.
        payload_bytes: u64,
        /// The first bytes of its payload.
        front: Front,
    },
    /// A client sent bytes that are not valid, and its flow was closed.
    Faulted {
        /// The flow.
        flow: FlowId,
        /// What is wrong.
        reason: Malformed,
    },
}

/// The server of any number of clients.
#[derive(Debug)]
pub struct Server {
    store: Store,
    flows: BTreeMap<FlowId, Flow>,
    output: VecDeque<ServerOutput>,
}

#[derive(Debug)]
struct Flow {
    conversation: Box<dyn ServerDialect>,
    /// The received bytes of an incomplete packet.
    kept: Vec<u8>,
}

#[derive(Debug)]
enum ServerOutput {
    Consumed(FlowId, Parts, Phase),
    Event(Event),
    Transmit(FlowId, Answer),
    Close(FlowId),
}

impl Server {
    /// A server in the protocol of `store`.
    pub const fn new(store: Store) -> Self {
        Self {
            store,
            flows: BTreeMap::new(),
            output: VecDeque::new(),
        }
    }

    fn open(&mut self, flow: FlowId) {
        let mut conversation: Box<dyn ServerDialect> = match self.store {
            Store::Postgres => Box::new(postgres::Conversation::default()),
            Store::Mariadb => Box::new(mariadb::Conversation::default()),
            Store::Mongodb => Box::new(mongodb::Conversation::default()),
        };
        if let Some(answer) = conversation.greeting() {
            self.output.push_back(ServerOutput::Transmit(flow, answer));
        }
        let kept = Vec::new();
        self.flows.insert(flow, Flow { conversation, kept });
    }

    fn receive(&mut self, flow: FlowId, bytes: &[u8]) {
        let Some(Flow { conversation, kept }) = self.flows.get_mut(&flow) else {
            return;
        };
        let output = &mut self.output;
        let taken = if kept.is_empty() {
            let taken = take_packets(conversation.as_mut(), flow, bytes, output);
            taken.map(|taken| kept.extend_from_slice(&bytes[taken..]))
        } else {
            kept.extend_from_slice(bytes);
            let taken = take_packets(conversation.as_mut(), flow, kept, output);
            taken.map(|taken| match taken == kept.len() {
                true => buffers::empty(kept),
                false => drop(kept.drain(..taken)),
            })
        };
        if let Err(reason) = taken {
            self.flows.remove(&flow);
            self.output
                .push_back(ServerOutput::Event(Event::Faulted { flow, reason }));
            self.output.push_back(ServerOutput::Close(flow));
        }
    }
}

/// Handles the complete packets at the front of `bytes`; returns their length.
fn take_packets(
    conversation: &mut dyn ServerDialect,
    flow: FlowId,
    bytes: &[u8],
    output: &mut VecDeque<ServerOutput>,
) -> Result<usize, Malformed> {
    let mut taken = 0;
    while let Some(len) = conversation.packet_len(&bytes[taken..])? {
        if len > LONGEST_PACKET {
            return Err(Malformed {
                expected: "packets of at most 1 GB",
            });
        }
        let Some(packet) = bytes.get(taken..taken + len) else {
            break;
        };
        taken += len;
        let reply = conversation.receive(packet)?;
        output.push_back(ServerOutput::Consumed(flow, reply.parts, reply.phase));
        if let Some(Inserted { payload_bytes, front }) = reply.insert {
            output.push_back(ServerOutput::Event(Event::Inserted {
                flow,
                payload_bytes,
                front,
            }));
        }
        if let Some(answer) = reply.answer {
            output.push_back(ServerOutput::Transmit(flow, answer));
        }
    }
    Ok(taken)
}

impl Endpoint for Server {
    type Command = Infallible;
    type Event = Event;
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, Infallible>, _now: Instant) -> Result<(), Infallible> {
        match input {
            Input::Opened { flow, .. } => self.open(flow),
            Input::Received { flow, bytes } => self.receive(flow, bytes),
            Input::PeerClosed { flow } => {
                if self.flows.remove(&flow).is_some() {
                    self.output.push_back(ServerOutput::Close(flow));
                }
            }
            Input::Reset { flow, .. } => drop(self.flows.remove(&flow)),
            Input::Congested { .. } | Input::Writable { .. } | Input::Timeout => {}
            Input::Command(never) => match never {},
        }
        Ok(())
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Event> {
        match self.output.pop_front() {
            Some(ServerOutput::Consumed(flow, parts, phase)) => {
                let cause = Cause::Original;
                out.cover(parts.before, Layer::Application, phase, cause);
                out.cover(parts.payload, Layer::Payload, phase, cause);
                out.cover(parts.after, Layer::Application, phase, cause);
                Output::Consumed { flow }
            }
            Some(ServerOutput::Event(event)) => Output::Event(event),
            Some(ServerOutput::Transmit(flow, answer)) => {
                let (bytes, phase, cause) = match &answer {
                    Answer::Inserted(bytes) => (*bytes, Phase::Message, Cause::Acknowledgement),
                    Answer::Other(bytes, Phase::Connect) => (&bytes[..], Phase::Connect, Cause::Original),
                    Answer::Other(bytes, phase) => (&bytes[..], *phase, Cause::Acknowledgement),
                };
                out.push(bytes, Layer::Application, phase, cause);
                Output::Transmit { flow }
            }
            Some(ServerOutput::Close(flow)) => Output::Close { flow, reset: false },
            None => Output::Timeout(None),
        }
    }

    fn held(&self, flow: FlowId) -> Held {
        let held = |flow: &Flow| buffers::memory(&flow.kept) + flow.conversation.held();
        Held::incomplete(self.flows.get(&flow).map_or(0, held))
    }
}
