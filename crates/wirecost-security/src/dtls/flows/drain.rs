//! Handles the engine's outputs.

use wirecost_proto::{Cause, Endpoint, FlowId, Input, Instant, Layer, Phase, ResetReason};

use super::{Flows, Stage, Status};
use crate::dtls::connection::Connection;
use crate::dtls::cover;
use crate::dtls::event::ConnectionEvent;
use crate::dtls::inner::Ready;
use crate::dtls::version::Version;
use crate::layer::{Event, Fault};
use crate::start::Start;

/// An unencrypted record with the fatal alert bad_certificate (RFC 8446 section 6.2), because the engine cannot send one. A
/// peer that already has keys may ignore it. The sequence number is one that the engine never uses.
const REFUSED_CERTIFICATE: &[u8; 15] = b"\x15\xfe\xfd\0\0\0\0\0\0\xff\xff\0\x02\x02\x2a";

impl<E: Endpoint> Flows<E> {
    /// Handles all outputs of the engine after an input.
    pub(super) fn drain(
        &mut self,
        flow: FlowId,
        connection: &mut Connection,
        taken: Result<(), Fault>,
        now: Instant,
    ) -> Result<Status, E::Error> {
        let mut status = match taken {
            Ok(()) => Status::Alive,
            Err(fault) => Status::Failed(fault),
        };
        loop {
            match connection.poll(now, &mut self.scratch) {
                ConnectionEvent::Datagram(len) => self.transmit(flow, connection, len),
                ConnectionEvent::Wait => break,
                // After a failure the engine may still send an alert, and nothing else.
                _ if matches!(status, Status::Failed(_)) => {}
                ConnectionEvent::Plaintext(len) => self.deliver(flow, connection, len, now)?,
                ConnectionEvent::Certificate(len) => {
                    let certificate = self.scratch.get(..len).unwrap_or_default();
                    if let Err(fault) = self.role.verify(certificate, now) {
                        status = Status::Failed(fault);
                        if self.refuse(flow, connection) {
                            break;
                        }
                    }
                }
                ConnectionEvent::Connected => {
                    self.session = connection.session().cloned();
                    self.establish(flow, connection.start(), now)?;
                }
                ConnectionEvent::CloseNotify => status = Status::Closed,
            }
        }
        connection.forget_notes();
        Ok(status)
    }

    /// Sends a datagram of the engine. It may contain the inner endpoint's datagram.
    fn transmit(&mut self, flow: FlowId, connection: &mut Connection, len: usize) {
        let datagram = self.scratch.get(..len).unwrap_or_default();
        // The records of a datagram that is being consumed are still needed.
        let consumed = self.classified.len();
        connection.classify_sent(datagram, &mut self.classified);
        self.spans.clear();
        let sent = self.classified.get(consumed..).unwrap_or_default();
        cover::cover(sent, self.protecting.spans(), &mut self.spans);
        self.classified.truncate(consumed);
        let mut described = self.inner.buffer();
        described.push_described(datagram, self.spans.spans());
        let flow = self.routes.current(flow);
        self.inner.ready.push_back(Ready::Transmit(flow, described));
    }

    fn deliver(
        &mut self,
        flow: FlowId,
        connection: &mut Connection,
        len: usize,
        now: Instant,
    ) -> Result<(), E::Error> {
        let described = self.inner.consumed.len();
        let bytes = self.scratch.get(..len).unwrap_or_default();
        self.inner.input(Input::Received { flow, bytes }, now)?;
        if connection.take_earlier() {
            // Its datagram was consumed before the content was known.
            self.inner.consumed.truncate(described);
        }
        Ok(())
    }

    /// Tells the peer that its certificate is not accepted. Returns whether nothing else may be sent.
    fn refuse(&mut self, flow: FlowId, connection: &mut Connection) -> bool {
        if self.role.is_server() && connection.version() == Some(Version::Dtls13) {
            // The client already has its keys and ignores unencrypted alerts. The engine can only send close_notify.
            return connection.close().is_err();
        }
        let mut refusal = self.inner.buffer();
        refusal.push(
            REFUSED_CERTIFICATE,
            Layer::Security,
            Phase::Close,
            Cause::Original,
        );
        self.inner.ready.push_back(Ready::Transmit(flow, refusal));
        true
    }

    /// Opens the flow to the inner endpoint. An earlier connection on the flow is reset first.
    fn establish(&mut self, flow: FlowId, start: Start, now: Instant) -> Result<(), E::Error> {
        let Some(state) = self.flows.get_mut(&flow) else {
            return Ok(());
        };
        let peer = state.peer;
        if std::mem::replace(&mut state.is_open, true) {
            let reason = ResetReason::ByPeer;
            self.inner.input(Input::Reset { flow, reason }, now)?;
        }
        self.report(Event::Established { flow, start });
        self.inner.input(Input::Opened { flow, peer }, now)?;
        while let Some(command) = self.held.pop_front() {
            self.inner.input(Input::Command(command), now)?;
        }
        Ok(())
    }

    /// Puts a flow back in the state in which its connection left it.
    pub(super) fn conclude(
        &mut self,
        flow: FlowId,
        connection: Box<Connection>,
        successor: Option<Box<Connection>>,
        status: Status,
        now: Instant,
    ) -> Result<(), E::Error> {
        let fault = match status {
            Status::Alive if connection.is_established() => {
                let stage = Stage::Established {
                    connection,
                    successor,
                };
                self.put_stage(flow, stage);
                return Ok(());
            }
            Status::Alive => {
                self.put_stage(flow, Stage::Handshake(connection));
                return Ok(());
            }
            Status::Closed => None,
            Status::Failed(fault) => Some(fault),
        };
        let reason = match fault {
            Some(Fault::TimedOut { .. }) => ResetReason::TimedOut,
            _ => ResetReason::ByPeer,
        };
        let was_open = self.flows.get(&flow).is_some_and(|state| state.is_open);
        if was_open {
            // Datagram flows have no half-closed state: a closed flow is gone.
            self.inner.input(Input::Reset { flow, reason }, now)?;
        } else {
            self.held.clear();
        }
        if let Some(fault) = fault {
            self.report(Event::Failed { flow, fault });
        }
        self.forget_and_close(flow, false);
        Ok(())
    }
}
