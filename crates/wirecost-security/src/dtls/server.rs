//! The layer of a server.

use wirecost_proto::{Buffer, Endpoint, Input, Instant, Output};

use super::config::ServerConfig;
use super::flows::{Flows, Stats};
use super::role::Role;
use crate::layer::Event;

/// A datagram endpoint for any number of clients, whose datagrams travel in records of DTLS.
///
/// The ClientHello decides what is spoken: DTLS 1.3 where it is offered, else DTLS 1.2 with the first suite of the
/// client's that the server has the credentials for. The endpoint within hears of a flow when its handshake is
/// complete. A ClientHello on a flow that has a connection begins another one beside it, which takes over when it is
/// complete (RFC 6347 section 4.2.8): the endpoint within sees the flow reset and opened anew.
pub struct Server<E: Endpoint> {
    flows: Flows<E>,
}

impl<E: Endpoint> Server<E> {
    /// The layer around `endpoint`.
    pub fn new(config: ServerConfig, endpoint: E) -> Self {
        Self {
            flows: Flows::new(endpoint, Role::Server(config)),
        }
    }

    /// The endpoint within.
    pub fn inner(&self) -> &E {
        &self.flows.inner.endpoint
    }

    /// What was ignored.
    pub fn stats(&self) -> Stats {
        self.flows.stats
    }
}

impl<E: Endpoint> Endpoint for Server<E> {
    type Command = E::Command;
    type Event = Event<E::Event>;
    type Error = E::Error;

    fn handle_input(&mut self, input: Input<'_, E::Command>, now: Instant) -> Result<(), E::Error> {
        self.flows.handle_input(input, now)
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Event<E::Event>> {
        self.flows.poll_output(out)
    }
}
