//! TLS around a client.
//!
//! ```text
//! cold, 1.3:     ClientHello ->                 <- ServerHello .. Finished    Finished, inner Opened ->
//! cold, 1.2:     ClientHello ->                 <- ServerHello .. Done        ClientKeyExchange .. Finished ->
//!                                               <- Finished, inner Opened
//! 0-RTT:         inner Opened; a command: ClientHello, early data ->          <- ServerHello .. Finished ..
//! ```

use std::sync::Arc;

use rustls::Connection;
use rustls::client::ClientConnection;
use wirecost_proto::{Buffer, Endpoint, FlowId, Input, Instant, Output, Peer};

use super::config::ClientConfig;
use super::engine::Engine;
use super::fault;
use super::negotiated::Negotiated;
use super::sessions::Sessions;
use crate::Start;
use crate::layer::{Event, Fault};
use crate::provider::Clock;

/// A client's endpoint inside TLS: one device, one flow after another.
///
/// Commands go to the inner endpoint. It is opened when the handshake is complete, or at once if early data is
/// possible. In that case the first flight waits for the next command or the next time-out, which is due at once, so
/// that early data leaves with it. The client keeps tickets from flow to flow. The first flow has none and starts
/// cold. If the configuration requests a ticket and a later flow has none, it fails with [`Fault::Start`]. Early data
/// that the server refuses is sent again after the handshake, as retransmission.
pub struct Client<E: Endpoint> {
    engine: Engine<E>,
    config: ClientConfig,
    library: Arc<rustls::ClientConfig>,
    sessions: Sessions,
    flow: Option<FlowId>,
}

impl<E: Endpoint> Client<E> {
    /// TLS around `inner`.
    pub fn new(config: ClientConfig, inner: E) -> Self {
        let clock = Clock::new(config.options.epoch);
        let sessions = Sessions::default();
        let library = Arc::new(config.for_client(&sessions, &clock));
        let engine = Engine::new(inner, clock, config.options.handshake_timeout);
        Self {
            engine,
            config,
            library,
            sessions,
            flow: None,
        }
    }

    /// The inner endpoint.
    pub const fn inner(&self) -> &E {
        self.engine.inner()
    }

    /// The parameters negotiated with the server of the current flow, until it ends.
    pub fn negotiated(&self) -> Option<Negotiated> {
        self.engine.negotiated(self.flow?)
    }

    fn open(&mut self, flow: FlowId, peer: Peer) {
        self.engine.forget();
        let start = match self.flow.replace(flow) {
            None => Start::Cold,
            Some(_) => self.config.start,
        };
        self.sessions.begin(start != Start::Cold);
        let server_name = self.config.server_name.clone();
        match ClientConnection::new(Arc::clone(&self.library), server_name) {
            Err(error) => self.engine.refuse(flow, fault::fault(&error)),
            Ok(connection) => self.begin(flow, peer, connection, start),
        }
    }

    fn begin(&mut self, flow: FlowId, peer: Peer, mut connection: ClientConnection, asked: Start) {
        let early = connection.early_data().is_some();
        let granted = match (self.sessions.offered(), early) {
            (false, _) => Start::Cold,
            (true, false) => Start::Resumed,
            (true, true) => Start::ZeroRtt,
        };
        if granted != asked {
            return self.engine.refuse(flow, Fault::Start { asked, granted });
        }
        self.engine.open(flow, peer, Connection::from(connection), early);
    }
}

impl<E: Endpoint> Endpoint for Client<E> {
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
}
