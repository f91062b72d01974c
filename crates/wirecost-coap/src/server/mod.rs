//! The server: the plugtest resources, with observation and block-wise transfer, for any number of peers.
//!
//! The processing of a request:
//!
//! 1. CON or NON request; a duplicate gets the same answer again (CON) or is ignored (NON)
//! 2. blocks of a body are kept until it is complete, each answered 2.31
//! 3. CON: the response in the ACK, or an empty ACK and then a separate CON response; NON: a NON response
//! 4. a request that OSCORE protects is opened first, and gets a protected response; one that cannot be opened is
//!    answered 4.00, 4.01 or 4.02 without protection (RFC 8613 section 8.2); a request 1 of a key rederivation
//!    (appendix B.2) may only read, because it may be a replay
//! 5. on a stream (RFC 8323) a request has no type: its response is sent once, a notification too
//! 6. message_1 of EDHOC (RFC 9528) is answered with message_2; message_3 arrives with the first protected request (RFC 9668)
//! 7. a response that No-Response suppresses is left out; a CON request gets an empty ACK anyway

mod api;
mod assembly;
mod definition;
mod handshake;
mod kept;
mod links;
mod observe;
mod observers;
mod outgoing;
mod plugtest;
mod protection;
mod queue;
mod receive;
mod resource;
mod respond;
mod stream;
#[cfg(test)]
mod tests;
mod write;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::convert::Infallible;

use wirecost_proto::{Buffer, Endpoint, FlowId, Held, Input, Instant, Output, Rng};

pub use self::api::{Config, Event, Stats};
use self::assembly::Assemblies;
use self::kept::Kept;
use self::observers::Observers;
use self::protection::Sessions;
use self::queue::Outgoings;
use self::resource::Resource;
use self::respond::Continuation;
use crate::duplicates::Duplicates;
use crate::option::Options;
use crate::outbox::Outbox;
use crate::stream::Connection;

/// A CoAP server with the plugtest resources.
#[derive(Debug)]
pub struct Server {
    config: Config,
    /// The open streams.
    connections: BTreeMap<FlowId, Connection>,
    /// The streams that are to be closed after their last response.
    released: BTreeSet<FlowId>,
    /// The next message id of the server's own messages to each peer.
    message_ids: BTreeMap<FlowId, u16>,
    tree: Vec<Resource>,
    duplicates: Duplicates,
    assemblies: Assemblies,
    continuations: Kept<Continuation>,
    observers: Observers,
    outgoings: Outgoings,
    timeout_rng: Rng,
    outbox: Outbox<Event>,
    scratch: Options,
    datagram: Vec<u8>,
    sessions: Sessions,
    plaintext: Vec<u8>,
    stats: Stats,
}

impl Server {
    /// A server without peers.
    pub fn new(config: Config) -> Self {
        Self {
            connections: BTreeMap::new(),
            released: BTreeSet::new(),
            message_ids: BTreeMap::new(),
            tree: resource::tree(),
            duplicates: Duplicates::new(&config.parameters, config.rng.purpose(3).at(0))
                .within(config.max_duplicate_bytes),
            assemblies: Assemblies::default(),
            continuations: Kept::default(),
            observers: Observers::default(),
            outgoings: Outgoings::new(config.parameters.nstart),
            timeout_rng: config.rng.purpose(1),
            outbox: Outbox::new(),
            scratch: Options::new(),
            datagram: Vec::new(),
            sessions: Sessions::new(&config.oscore, config.edhoc.clone(), config.rng.purpose(2)),
            plaintext: Vec::new(),
            stats: Stats::default(),
            config,
        }
    }

    /// Counters of received, ignored and retransmitted messages.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// The number of observers of all resources.
    pub fn observers(&self) -> usize {
        self.observers.len()
    }

    /// The content of the resource at `path`, such as `/test`; `None` if it is absent.
    pub fn content(&self, path: &str) -> Option<&[u8]> {
        let mut resources = self.tree.iter();
        let resource = resources.find(|resource| resource.definition.path == path)?;
        Some(&resource.representation.as_ref()?.bytes)
    }

    fn path(&self, resource: usize) -> &'static str {
        self.tree
            .get(resource)
            .map_or("", |resource| resource.definition.path)
    }

    /// A message id for a new message of the server.
    fn next_message_id(&mut self, flow: FlowId) -> u16 {
        let first = || self.config.rng.purpose(0).at(u64::from(flow.0)) as u16;
        let next = self.message_ids.entry(flow).or_insert_with(first);
        let id = *next;
        *next = id.wrapping_add(1);
        id
    }

    fn forget_flow(&mut self, flow: FlowId) {
        self.message_ids.remove(&flow);
        self.connections.remove(&flow);
        self.released.remove(&flow);
        self.assemblies.forget(flow);
        self.continuations.forget(flow);
        self.forget_observers(flow);
        while self.outgoings.remove_any(flow).is_some() {}
    }

    fn next_timeout(&self) -> Option<Instant> {
        let deadlines = [self.outgoings.deadline(), self.observers.next_tick()];
        deadlines.into_iter().flatten().min()
    }
}

impl Endpoint for Server {
    type Command = Infallible;
    type Event = Event;
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, Infallible>, now: Instant) -> Result<(), Infallible> {
        match input {
            Input::Received { flow, bytes } if self.is_stream() => self.receive_stream(flow, bytes, now),
            Input::Received { flow, bytes } => self.receive(flow, bytes, now),
            Input::Timeout => {
                self.tick(now);
                self.retransmit(now);
            }
            Input::PeerClosed { flow } if self.is_stream() => self.close(flow),
            Input::Reset { flow, .. } | Input::PeerClosed { flow } => self.forget_flow(flow),
            Input::Opened { flow, .. } => self.begin_connection(flow),
            Input::Congested { flow } => self.set_congested(flow, true, now),
            Input::Writable { flow } => self.set_congested(flow, false, now),
            Input::Command(never) => match never {},
        }
        self.start_outgoing(now);
        self.close_released();
        Ok(())
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Event> {
        match self.outbox.poll(out) {
            Some(output) => output,
            None => Output::Timeout(self.next_timeout()),
        }
    }

    fn held(&self, flow: FlowId) -> Held {
        let connection = self.connections.get(&flow);
        let message = Held::incomplete(connection.map_or(0, |connection| connection.framer.memory()));
        // A body in blocks has a lifetime of its own, EXCHANGE_LIFETIME (RFC 7959 section 2.5).
        message.and(Held {
            bytes: self.assemblies.held(flow) + self.continuations.held(flow, Continuation::bytes),
            is_unfinished: false,
        })
    }

    fn stored_bytes(&self) -> usize {
        self.duplicates.held()
    }
}
