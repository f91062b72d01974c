//! Sends and retransmits the server's own messages: separate responses and notifications.

use wirecost_proto::bare::Transport;
use wirecost_proto::{FlowId, Instant};

use super::queue::{MessageKey, Outgoing, Purpose};
use super::{Event, Server};
use crate::describe::Kind;
use crate::parameters::{Backoff, Expiry};
use crate::stream::kind_of;

impl Server {
    /// Sends every message whose turn it is.
    pub(super) fn start_outgoing(&mut self, now: Instant) {
        self.outgoings.end_delays(now);
        while let Some(key) = self.outgoings.next_turn() {
            let backoff = Backoff::start(&self.config.parameters, &mut self.timeout_rng, now);
            let Some(outgoing) = self.outgoings.get_mut(key) else {
                continue;
            };
            let (flow, layout) = (outgoing.flow, outgoing.layout);
            let kind = match self.config.transport {
                Transport::Datagram => Kind::ORIGINAL,
                Transport::Stream => kind_of(&outgoing.datagram, layout),
            };
            self.outbox.send_encoded(flow, &outgoing.datagram, layout, kind);
            match outgoing.confirmable {
                true => self.outgoings.await_ack(key, backoff),
                false => drop(self.outgoings.remove(key)),
            }
        }
    }

    /// Retransmits unacknowledged messages, or gives up on their peers.
    pub(super) fn retransmit(&mut self, now: Instant) {
        let parameters = self.config.parameters;
        while let Some((key, expiry)) = self.outgoings.expire(&parameters, now) {
            match expiry {
                Expiry::Retransmit => self.send_again(key, now),
                Expiry::GiveUp => self.give_up(key.flow),
            }
        }
    }

    fn send_again(&mut self, key: MessageKey, now: Instant) {
        let renewed = self.renew(key, now);
        let Some(outgoing) = self.outgoings.get_mut(key) else {
            return;
        };
        let kind = match renewed {
            true => Kind::ORIGINAL,
            false => Kind::ORIGINAL.again(),
        };
        self.stats.retransmissions += u64::from(!renewed);
        self.outbox
            .send_encoded(outgoing.flow, &outgoing.datagram, outgoing.layout, kind);
    }

    /// Replaces a notification by one with the resource's current state, if that has changed. The retransmission timer
    /// continues (RFC 7641 section 4.5.2).
    fn renew(&mut self, key: MessageKey, now: Instant) -> bool {
        let purpose = self.outgoings.get_mut(key).map(|outgoing| outgoing.purpose);
        let Some(Purpose::Notification { token }) = purpose else {
            return false;
        };
        if !self.is_outdated(key.flow, token) {
            return false;
        }
        let written = self.write_notification(key.flow, token, now);
        match (written, self.outgoings.get_mut(key)) {
            (Some(written), Some(outgoing)) => {
                outgoing.message_id = written.message_id;
                outgoing.layout = written.layout;
                outgoing.datagram.clone_from(&self.datagram);
                true
            }
            _ => false,
        }
    }

    /// Forgets the observations and messages of a peer that did not acknowledge a message within MAX_TRANSMIT_WAIT. RFC
    /// 7641 section 4.5: such an observer is removed.
    fn give_up(&mut self, flow: FlowId) {
        self.forget_observers(flow);
        while let Some(outgoing) = self.outgoings.remove_any(flow) {
            if outgoing.confirmable {
                self.outbox.event(Event::ResponseTimedOut { flow });
            }
        }
    }

    pub(super) fn take_ack(&mut self, flow: FlowId, message_id: u16, now: Instant) {
        match self.settle(flow, message_id) {
            Some(Purpose::Notification { token }) if self.is_outdated(flow, token) => {
                self.notify_one(flow, token, now);
            }
            Some(_) => {}
            None => self.stats.unmatched += 1,
        }
    }

    pub(super) fn take_reset(&mut self, flow: FlowId, message_id: u16) {
        let settled = self.settle(flow, message_id);
        let observer = match settled {
            Some(Purpose::Notification { token }) => Some(token),
            Some(Purpose::Separate | Purpose::Ending) => None,
            None => self.observers.notified_with(flow, message_id),
        };
        match observer {
            // RFC 7641 section 3.6: an RST in answer to a notification ends the observation.
            Some(token) => self.remove_observer(flow, token),
            None if settled.is_none() => self.stats.unmatched += 1,
            None => {}
        }
    }

    /// Removes the message that an ACK or RST refers to, and returns its purpose.
    fn settle(&mut self, flow: FlowId, message_id: u16) -> Option<Purpose> {
        let Outgoing { purpose, .. } = self.outgoings.settle(flow, message_id)?;
        if let Purpose::Notification { token } = purpose {
            self.observers.set_pending(flow, token, None);
        }
        Some(purpose)
    }
}
