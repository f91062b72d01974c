//! A client's connection and its requests.

use std::collections::BTreeMap;

use quinn_proto::StreamId;
use wirecost_proto::{Instant, Peer};
use wirecost_security::Start;

use super::super::connection::Connection;
use super::super::head::encode_request;
use super::Request;
use super::exchange::Exchange;
use crate::client::Event;
use crate::fault::Fault;

/// The state of a client with a connection.
pub(super) struct Session {
    pub(super) connection: Connection,
    pub(super) peer: Peer,
    /// The requested start.
    pub(super) asked: Start,
    pub(super) stage: Stage,
    pub(super) exchanges: BTreeMap<StreamId, Exchange>,
    /// Streams of requests whose end QUIC has not sent.
    pub(super) unsent: Vec<StreamId>,
    /// The event to report when the flow closes.
    pub(super) end: Option<Event>,
    /// The server processes no request on this stream or a later one (RFC 9114 section 5.2).
    pub(super) going_away: Option<u64>,
    /// Whether a response has been complete on it.
    pub(super) has_answered: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Early data is ready. The first flight waits for a command or the next time-out.
    Held,
    /// The first flight has been sent.
    Handshaking {
        /// Whether requests are sent as early data.
        is_early: bool,
        deadline: Instant,
    },
    /// Requests can be sent.
    Established,
    /// The last packet is being sent. Then the flow closes.
    Ending,
    /// Nothing is left to send. The flow closes.
    Ended,
}

impl Session {
    /// Whether a request may be sent now.
    pub(super) fn may_send(&self) -> bool {
        let is_open = match self.stage {
            Stage::Held | Stage::Established => true,
            Stage::Handshaking { is_early, .. } => is_early,
            Stage::Ending | Stage::Ended => false,
        };
        is_open && self.going_away.is_none()
    }

    /// Sends a request. Returns it if the server allows no further stream yet.
    pub(super) fn send(&mut self, request: Request, deadline: Instant) -> Result<(), Request> {
        let head = request.template.http3_head(encode_request);
        let content = request.template.content().clone();
        let Some(id) = self.connection.open_request(head, content) else {
            return Err(request);
        };
        self.exchanges.insert(id, Exchange::new(request, deadline));
        self.unsent.push(id);
        Ok(())
    }

    /// Calls `sent` with the number of each request whose last byte QUIC has handed out, once.
    pub(super) fn report_sent(&mut self, mut sent: impl FnMut(u64)) {
        let exchanges = &mut self.exchanges;
        self.connection.remove_sent(&mut self.unsent, |id| {
            if let Some(Exchange { request, .. }) = exchanges.get_mut(&id)
                && !std::mem::replace(&mut request.is_sent, true)
            {
                sent(request.message);
            }
        });
    }

    /// Takes back the requests that were sent as refused early data. Their streams are gone, and the client sends
    /// them again (RFC 9001 section 4.6.2).
    pub(super) fn take_back(&mut self) -> impl Iterator<Item = Request> {
        self.connection.rewrite();
        self.unsent.clear();
        let sent = std::mem::take(&mut self.exchanges);
        sent.into_values().map(|exchange| exchange.request)
    }

    /// Gives up the exchanges that have timed out.
    pub(super) fn take_late(&mut self, now: Instant) -> Vec<Exchange> {
        let is_late = |(_, exchange): &(&StreamId, &Exchange)| exchange.deadline <= now;
        self.give_up(is_late)
    }

    /// Gives up the exchanges that the server will not process.
    pub(super) fn take_unprocessed(&mut self) -> Vec<Exchange> {
        let Some(first) = self.going_away else {
            return Vec::new();
        };
        self.give_up(|(id, _)| u64::from(**id) >= first)
    }

    fn give_up(&mut self, is_over: impl Fn(&(&StreamId, &Exchange)) -> bool) -> Vec<Exchange> {
        let over: Vec<StreamId> = self.exchanges.iter().filter(is_over).map(|(id, _)| *id).collect();
        let give_up = |id: StreamId| {
            self.connection.cancel(id);
            self.exchanges.remove(&id)
        };
        over.into_iter().filter_map(give_up).collect()
    }

    /// Reads the received bytes of a server's unidirectional stream.
    pub(super) fn read_unidirectional(&mut self, id: StreamId) -> Result<(), Fault> {
        let going_away = &mut self.going_away;
        self.connection
            .read_unidirectional(id, |first| *going_away = Some(first))
    }
}
