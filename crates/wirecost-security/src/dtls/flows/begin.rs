//! Begins the connections of a server.

use wirecost_proto::{Cause, Endpoint, FlowId, Instant, Layer, Phase};

use super::{Flows, MOST_UNPROVEN, Stage, Status};
use crate::dtls::connection::Connection;
use crate::dtls::cookie::{Asked, Meeting};
use crate::dtls::cover;
use crate::dtls::inner::Ready;

/// An unencrypted record with the fatal alert illegal_parameter (RFC 9147 section 5.1). The client may then start anew, without
/// the cookie.
const REFUSED_COOKIE: &[u8; 15] = b"\x15\xfe\xfd\0\0\0\0\0\0\xff\xff\0\x02\x02\x2f";

impl<E: Endpoint> Flows<E> {
    /// Handles a ClientHello that belongs to no connection. Returns the connection that it has begun, with its state; `None` if
    /// nothing of it is kept.
    pub(super) fn begin(
        &mut self,
        flow: FlowId,
        datagram: &[u8],
        now: Instant,
    ) -> Result<Option<(Box<Connection>, Status)>, E::Error> {
        let Some(peer) = self.flows.get(&flow).map(|flow| flow.peer) else {
            return Ok(None);
        };
        let meeting = self.role.meet(datagram, peer, now);
        let asked = match &meeting {
            Meeting::Ask { asked, .. } | Meeting::Proven { asked, .. } => Some(*asked),
            Meeting::Accept | Meeting::Refuse => None,
        };
        let Some(mut connection) = self
            .connection(datagram, asked, now)
            .filter(|_| !meeting.is_refused())
        else {
            self.ignore(datagram);
            if meeting.is_refused() {
                self.refuse_cookie(flow);
            }
            return Ok(None);
        };
        let (mut is_forgotten, mut taken) = (false, Ok(()));
        match meeting {
            Meeting::Ask { is_repeated, .. } => {
                is_forgotten = true;
                connection = Box::new(connection.repeated(is_repeated));
            }
            Meeting::Proven { first, .. } => taken = connection.replay(&first, now),
            Meeting::Accept | Meeting::Refuse => {}
        }
        let received = connection.receive(datagram, now, &mut self.classified);
        let status = self.drain(flow, &mut connection, taken.and(received), now)?;
        let is_alive = matches!(status, Status::Alive);
        if is_forgotten && is_alive && !connection.depends_on_first() {
            return Ok(None);
        }
        if is_alive && connection.is_unproven() {
            self.admit(flow);
        }
        self.connections += 1;
        Ok(Some((connection, status)))
    }

    fn connection(&mut self, datagram: &[u8], asked: Option<Asked>, now: Instant) -> Option<Box<Connection>> {
        let connection = self.role.accept(self.connections, datagram, asked, now)?;
        Some(Box::new(connection))
    }

    /// Consumes a datagram that belongs to no connection.
    pub(super) fn ignore(&mut self, datagram: &[u8]) {
        self.stats.ignored_datagrams += 1;
        self.classified.extend(cover::classify_all(datagram));
    }

    fn refuse_cookie(&mut self, flow: FlowId) {
        let mut refusal = self.inner.buffer();
        refusal.push(REFUSED_COOKIE, Layer::Security, Phase::Connect, Cause::Original);
        let flow = self.routes.current(flow);
        self.inner.ready.push_back(Ready::Transmit(flow, refusal));
    }

    /// Makes room for a client that has yet to return its cookie: the oldest goes.
    fn admit(&mut self, flow: FlowId) {
        let flows = &self.flows;
        self.unproven
            .retain(|id| *id != flow && flows.get(id).is_some_and(|flow| flow.stage.is_unproven()));
        if self.unproven.len() >= MOST_UNPROVEN
            && let Some(oldest) = self.unproven.pop_front()
        {
            let left = match self.take_stage(oldest) {
                Some(Stage::Established { connection, .. }) => Stage::Established {
                    connection,
                    successor: None,
                },
                _ => Stage::AwaitClientHello,
            };
            self.put_stage(oldest, left);
        }
        self.unproven.push_back(flow);
    }
}
