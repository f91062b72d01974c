//! The layer of a client.

use wirecost_proto::{Buffer, Endpoint, Input, Instant, Output};

use super::config::ClientConfig;
use super::flows::{Flows, Stats};
use super::role::Role;
use crate::layer::Event;

/// A datagram endpoint whose datagrams travel in records of DTLS.
///
/// A flow begins with a handshake; the endpoint within hears of the flow, and of commands given before, when it is
/// complete. Where the handshake fails, those commands are gone and [`Event::Failed`] says why. Each flow is a new
/// connection.
pub struct Client<E: Endpoint> {
    flows: Flows<E>,
}

impl<E: Endpoint> Client<E> {
    /// The layer around `endpoint`.
    pub fn new(config: ClientConfig, endpoint: E) -> Self {
        Self {
            flows: Flows::new(endpoint, Role::Client(config)),
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

impl<E: Endpoint> Endpoint for Client<E> {
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
