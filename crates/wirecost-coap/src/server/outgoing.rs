//! The server's own messages that may have to be sent again: separate responses and notifications.

use alloc::vec::Vec;

use wirecost_proto::{FlowId, Instant};

use super::{Event, Server};
use crate::describe::Kind;
use crate::layout::Layout;
use crate::outbox::Datagram;
use crate::parameters::{Backoff, Expiry};
use crate::token::Token;

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Separate,
    Notification { resource: usize, token: Token },
}

/// Where a message stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// Not to be sent before `due`.
    Delayed { due: Instant },
    /// Waits for its turn under NSTART.
    Waiting,
    /// Sent, and not acknowledged yet.
    AwaitAck(Backoff),
}

#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) flow: FlowId,
    pub(super) message_id: u16,
    pub(super) confirmable: bool,
    pub(super) datagram: Vec<u8>,
    pub(super) layout: Layout,
    pub(super) purpose: Purpose,
    pub(super) state: State,
}

/// All messages under way, in the order in which they were made.
#[derive(Debug, Default)]
pub(super) struct Outgoings {
    list: Vec<Outgoing>,
}

impl Outgoings {
    pub(super) fn push(&mut self, outgoing: Outgoing) {
        self.list.push(outgoing);
    }

    /// How many messages are under way.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// When a message wants to be sent, for the first time or again.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let deadlines = self.list.iter().filter_map(|outgoing| match &outgoing.state {
            State::Delayed { due } => Some(*due),
            State::Waiting => None,
            State::AwaitAck(backoff) => Some(backoff.deadline()),
        });
        deadlines.min()
    }

    /// Removes the message that an ACK or RST refers to.
    pub(super) fn settle(&mut self, flow: FlowId, message_id: u16) -> Option<Outgoing> {
        let matches = |outgoing: &Outgoing| {
            let sent = matches!(outgoing.state, State::AwaitAck(_));
            outgoing.flow == flow && outgoing.message_id == message_id && sent
        };
        let at = self.list.iter().position(matches)?;
        Some(self.list.remove(at))
    }

    /// The unacknowledged notification of an observer.
    pub(super) fn notification_to(&mut self, flow: FlowId, token: Token) -> Option<&mut Outgoing> {
        self.list.iter_mut().find(|outgoing| {
            let of_observer =
                matches!(outgoing.purpose, Purpose::Notification { token: own, .. } if own == token);
            outgoing.flow == flow && of_observer
        })
    }

    /// Drops the unacknowledged notification of an observer that is none any more.
    pub(super) fn drop_notification(&mut self, flow: FlowId, token: Token) {
        self.list.retain(|outgoing| {
            let of_observer =
                matches!(outgoing.purpose, Purpose::Notification { token: own, .. } if own == token);
            outgoing.flow != flow || !of_observer
        });
    }

    pub(super) fn forget(&mut self, flow: FlowId) {
        self.list.retain(|outgoing| outgoing.flow != flow);
    }

    /// Ends the delay of messages whose time has come; they may still have to wait for their turn.
    fn end_delays(&mut self, now: Instant) {
        for outgoing in &mut self.list {
            if matches!(outgoing.state, State::Delayed { due } if due <= now) {
                outgoing.state = State::Waiting;
            }
        }
    }

    /// The first message that may be sent now: its peer has less than `nstart` outstanding ones.
    fn sendable(&self, nstart: usize) -> Option<usize> {
        let outstanding = |flow| {
            let sent = |o: &&Outgoing| o.flow == flow && matches!(o.state, State::AwaitAck(_));
            self.list.iter().filter(sent).count()
        };
        self.list.iter().position(|outgoing| {
            let waits = matches!(outgoing.state, State::Waiting);
            waits && (!outgoing.confirmable || outstanding(outgoing.flow) < nstart)
        })
    }
}

impl Server {
    /// Sends every message whose turn it is.
    pub(super) fn start_outgoing(&mut self, now: Instant) {
        let parameters = self.config.parameters;
        self.outgoings.end_delays(now);
        while let Some(at) = self.outgoings.sendable(parameters.nstart) {
            let Some(outgoing) = self.outgoings.list.get_mut(at) else {
                return;
            };
            let backoff = Backoff::start(&parameters, &mut self.timeout_rng, now);
            outgoing.state = State::AwaitAck(backoff);
            let datagram = Datagram::new(outgoing.layout, Kind::ORIGINAL);
            self.outbox
                .send_encoded(outgoing.flow, &outgoing.datagram, datagram);
            if !outgoing.confirmable {
                self.outgoings.list.remove(at);
            }
        }
    }

    /// Sends again what was not acknowledged in time, or gives it up.
    pub(super) fn retransmit(&mut self, now: Instant) {
        let parameters = self.config.parameters;
        let mut at = 0;
        while let Some(outgoing) = self.outgoings.list.get_mut(at) {
            let expiry = match &mut outgoing.state {
                State::AwaitAck(backoff) => backoff.expire(&parameters, now),
                State::Delayed { .. } | State::Waiting => None,
            };
            match expiry {
                Some(Expiry::GiveUp) => {
                    let given_up = self.outgoings.list.remove(at);
                    self.give_up(&given_up);
                    continue;
                }
                Some(Expiry::Retransmit) => self.send_again(at, now),
                None => {}
            }
            at += 1;
        }
    }

    fn send_again(&mut self, at: usize, now: Instant) {
        let renewed = self.renew(at, now);
        let Some(outgoing) = self.outgoings.list.get(at) else {
            return;
        };
        let kind = match renewed {
            true => Kind::ORIGINAL,
            false => Kind::ORIGINAL.again(),
        };
        self.stats.retransmissions += u64::from(!renewed);
        let datagram = Datagram::new(outgoing.layout, kind);
        self.outbox
            .send_encoded(outgoing.flow, &outgoing.datagram, datagram);
    }

    /// Replaces a notification by one of the resource's present state, where that changed since: the attempts
    /// go on as if it were the same (RFC 7641 section 4.5.2).
    fn renew(&mut self, at: usize, now: Instant) -> bool {
        let Some(outgoing) = self.outgoings.list.get(at) else {
            return false;
        };
        let Purpose::Notification { token, .. } = outgoing.purpose else {
            return false;
        };
        let flow = outgoing.flow;
        if !self.observers.take_stale(flow, token) {
            return false;
        }
        let written = self.write_notification(flow, token, now);
        match (written, self.outgoings.list.get_mut(at)) {
            (Some(written), Some(outgoing)) => {
                outgoing.message_id = written.message_id;
                outgoing.layout = written.layout;
                outgoing.datagram.clone_from(&self.datagram);
                true
            }
            _ => false,
        }
    }

    /// RFC 7641 section 4.5: who does not acknowledge is an observer no more.
    fn give_up(&mut self, outgoing: &Outgoing) {
        match outgoing.purpose {
            Purpose::Separate => self.outbox.event(Event::ResponseTimedOut { flow: outgoing.flow }),
            Purpose::Notification { token, .. } => self.remove_observer(outgoing.flow, token),
        }
    }

    pub(super) fn take_ack(&mut self, flow: FlowId, message_id: u16, now: Instant) {
        match self
            .outgoings
            .settle(flow, message_id)
            .map(|outgoing| outgoing.purpose)
        {
            Some(Purpose::Notification { token, .. }) if self.observers.take_stale(flow, token) => {
                self.notify_one(flow, token, now);
            }
            Some(_) => {}
            None => self.stats.unmatched += 1,
        }
    }

    pub(super) fn take_reset(&mut self, flow: FlowId, message_id: u16) {
        let settled = self
            .outgoings
            .settle(flow, message_id)
            .map(|outgoing| outgoing.purpose);
        let observer = match settled {
            Some(Purpose::Notification { token, .. }) => Some(token),
            Some(Purpose::Separate) => None,
            None => self.observers.notified_with(flow, message_id),
        };
        match observer {
            // RFC 7641 section 3.6: an RST to a notification ends the observation.
            Some(token) => self.remove_observer(flow, token),
            None if settled.is_none() => self.stats.unmatched += 1,
            None => {}
        }
    }
}
