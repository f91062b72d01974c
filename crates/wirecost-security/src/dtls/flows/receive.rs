//! Handles received datagrams.

use wirecost_proto::{Endpoint, FlowId, Instant};

use super::{Flow, Flows, Stage, Status};
use crate::dtls::connection::Connection;
use crate::dtls::cover;
use crate::dtls::inner::Ready;
use crate::dtls::record::client_hello;

impl<E: Endpoint> Flows<E> {
    /// Handles a datagram and describes all its bytes.
    pub(super) fn receive(&mut self, arrived: FlowId, datagram: &[u8], now: Instant) -> Result<(), E::Error> {
        // The description of the datagram precedes all outputs that follow from it.
        let place = self.inner.ready.len();
        let spans = self.inner.buffer();
        self.inner.ready.push_back(Ready::Consumed(arrived, spans));
        self.classified.clear();
        self.inner.consumed.clear();
        self.arrived = arrived;
        let flow = self.routes.owner(arrived);
        let waits = |flow: &Flow| matches!(flow.stage, Stage::AwaitClientHello);
        let flow = match self.routes.owner_by_id(datagram) {
            Some(owner) if self.flows.get(&flow).is_some_and(waits) => owner,
            _ => flow,
        };
        let result = self.receive_datagram(flow, datagram, now);
        if let Some(Ready::Consumed(_, spans)) = self.inner.ready.get_mut(place) {
            cover::cover(&self.classified, &self.inner.consumed, spans);
        }
        result
    }

    fn receive_datagram(&mut self, flow: FlowId, datagram: &[u8], now: Instant) -> Result<(), E::Error> {
        let hello = client_hello(datagram);
        match self.take_stage(flow) {
            Some(Stage::Established {
                connection,
                successor,
            }) => self.receive_established(flow, connection, successor, datagram, now),
            Some(Stage::Handshake(connection)) if !self.starts_anew(hello, &connection) => {
                self.receive_on(flow, connection, datagram, now)
            }
            Some(Stage::AwaitCloseNotify { connection, until }) => {
                self.receive_last(flow, connection, until, datagram, now)
            }
            Some(stage @ (Stage::AwaitClientHello | Stage::Handshake(_))) if hello.is_some() => {
                match self.begin(flow, datagram, now)? {
                    Some((connection, status)) => self.conclude(flow, connection, None, status, now),
                    None => {
                        self.put_stage(flow, stage);
                        Ok(())
                    }
                }
            }
            _ => {
                self.ignore(datagram);
                Ok(())
            }
        }
    }

    /// Whether a ClientHello belongs to a new connection: the device has forgotten this one.
    fn starts_anew(&self, hello: Option<[u8; 32]>, connection: &Connection) -> bool {
        self.role.is_server() && hello.is_some() && hello != connection.client_random()
    }

    fn receive_on(
        &mut self,
        flow: FlowId,
        mut connection: Box<Connection>,
        datagram: &[u8],
        now: Instant,
    ) -> Result<(), E::Error> {
        let taken = connection.receive(datagram, now, &mut self.classified);
        self.follow(flow, &connection);
        let status = self.drain(flow, &mut connection, taken, now)?;
        self.conclude(flow, connection, None, status, now)
    }

    fn receive_last(
        &mut self,
        flow: FlowId,
        mut connection: Box<Connection>,
        until: Instant,
        datagram: &[u8],
        now: Instant,
    ) -> Result<(), E::Error> {
        let taken = connection.receive(datagram, now, &mut self.classified);
        match self.drain(flow, &mut connection, taken, now)? {
            Status::Alive => self.put_stage(flow, Stage::AwaitCloseNotify { connection, until }),
            Status::Closed | Status::Failed(_) => {
                self.forget_and_close(flow, false);
            }
        }
        Ok(())
    }

    /// Handles a datagram of the connection or, if only the successor can decrypt it, of the successor.
    fn receive_established(
        &mut self,
        flow: FlowId,
        mut connection: Box<Connection>,
        successor: Option<Box<Connection>>,
        datagram: &[u8],
        now: Instant,
    ) -> Result<(), E::Error> {
        let hello = client_hello(datagram);
        let begun = successor.as_ref().and_then(|successor| successor.client_random());
        if self.starts_anew(hello, &connection) && hello != begun {
            let successor = match self.begin(flow, datagram, now)? {
                None => successor,
                Some((begun, Status::Alive)) => Some(begun),
                Some(_) => {
                    self.stats.failed_restarts += 1;
                    None
                }
            };
            return self.conclude(flow, connection, successor, Status::Alive, now);
        }
        let taken = connection.receive(datagram, now, &mut self.classified);
        self.follow(flow, &connection);
        let Some(mut successor) = successor.filter(|_| !connection.has_opened(datagram)) else {
            let status = self.drain(flow, &mut connection, taken, now)?;
            return self.conclude(flow, connection, None, status, now);
        };
        connection.forget_notes();
        self.classified.clear();
        let taken = successor.receive(datagram, now, &mut self.classified);
        self.follow(flow, &successor);
        let status = self.drain(flow, &mut successor, taken, now)?;
        if successor.is_established() {
            return self.conclude(flow, successor, None, status, now);
        }
        let successor = matches!(status, Status::Alive).then_some(successor);
        self.stats.failed_restarts += u64::from(successor.is_none());
        self.conclude(flow, connection, successor, Status::Alive, now)
    }
}
