//! TLS around a server.

use std::sync::Arc;

use rustls::Connection;
use rustls::server::ServerConnection;
use wirecost_proto::{Buffer, Endpoint, FlowId, Held, Input, Instant, Output, Peer};

use super::config::ServerConfig;
use super::engine::Engine;
use super::fault;
use super::negotiated::Negotiated;
use crate::layer::Event;
use crate::provider::Clock;

/// A server's endpoint inside TLS: one connection per flow, and one session store for all of them.
///
/// The inner endpoint is opened when a flow's handshake is complete or when early data arrives. [`Event::EarlyData`]
/// precedes the early data.
pub struct Server<E: Endpoint> {
    engine: Engine<E>,
    library: Arc<rustls::ServerConfig>,
}

impl<E: Endpoint> Server<E> {
    /// TLS around `inner`.
    pub fn new(config: &ServerConfig, inner: E) -> Self {
        let clock = Clock::new(config.options.epoch);
        Self {
            library: Arc::new(config.for_server(&clock)),
            engine: Engine::new(inner, clock, config.options.handshake_timeout),
        }
    }

    /// The inner endpoint.
    pub const fn inner(&self) -> &E {
        self.engine.inner()
    }

    /// The inner endpoint.
    pub const fn inner_mut(&mut self) -> &mut E {
        self.engine.inner_mut()
    }

    /// The parameters negotiated with the client of a flow, until it ends.
    pub fn negotiated(&self, flow: FlowId) -> Option<Negotiated> {
        self.engine.negotiated(flow)
    }

    fn open(&mut self, flow: FlowId, peer: Peer) {
        match ServerConnection::new(Arc::clone(&self.library)) {
            Err(error) => self.engine.refuse(flow, fault::fault(&error)),
            Ok(connection) => {
                self.engine.open(flow, peer, Connection::from(connection), false);
            }
        }
    }
}

impl<E: Endpoint> Endpoint for Server<E> {
    type Command = E::Command;
    type Event = Event<E::Event>;
    type Error = E::Error;

    fn handle_input(&mut self, input: Input<'_, E::Command>, now: Instant) -> Result<(), E::Error> {
        if let Some((flow, peer)) = self.engine.handle_input(input, now)? {
            self.open(flow, peer);
        }
        Ok(())
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Event<E::Event>> {
        self.engine.poll(out)
    }

    fn held(&self, flow: FlowId) -> Held {
        self.engine.held(flow)
    }

    fn stored_bytes(&self) -> usize {
        self.engine.inner().stored_bytes()
    }
}
