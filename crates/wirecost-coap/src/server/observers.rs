//! The observers (RFC 7641), by peer and token, by resource, and by the message id of a notification.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use wirecost_proto::{FlowId, Instant};

use super::protection::Protected;
use super::queue::MessageKey;
use crate::block::Block;
use crate::token::Token;

/// A peer that observes a resource.
#[derive(Debug)]
pub(super) struct Observer {
    pub(super) resource: usize,
    pub(super) protected: Option<Protected>,
    pub(super) block2: Option<Block>,
    /// The value of `Resource::changes` at the last notification.
    pub(super) told: u32,
    /// The time of the registration or of the last confirmable notification.
    pub(super) confirmed: Instant,
    /// The unacknowledged notification.
    pending: Option<MessageKey>,
    last_message_id: Option<u16>,
    /// The observer's number in the order of registration.
    number: u64,
}

impl Observer {
    /// An observer without notifications.
    pub(super) const fn new(
        resource: usize,
        told: u32,
        protected: Option<Protected>,
        block2: Option<Block>,
        now: Instant,
    ) -> Self {
        Self {
            resource,
            protected,
            block2,
            told,
            confirmed: now,
            pending: None,
            last_message_id: None,
            number: 0,
        }
    }
}

/// The resource and the number of an observer.
type OfResource = (usize, u64);

/// All observers, and the times when observed resources change on their own.
#[derive(Debug, Default)]
pub(super) struct Observers {
    list: BTreeMap<(FlowId, Token), Observer>,
    of_resource: BTreeMap<OfResource, (FlowId, Token)>,
    /// The observers without an unacknowledged notification.
    ready: BTreeMap<OfResource, (FlowId, Token)>,
    notified: BTreeMap<(FlowId, u16), Token>,
    of_peer: BTreeMap<FlowId, usize>,
    /// By resource. There are only as many as observable resources.
    ticks: BTreeMap<usize, Instant>,
    /// The number of registrations so far.
    registered: u64,
    /// The number of visited observers.
    #[cfg(test)]
    pub(super) visits: u64,
}

impl Observers {
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// The number of observations of a peer.
    pub(super) fn of_peer(&self, flow: FlowId) -> usize {
        self.of_peer.get(&flow).copied().unwrap_or(0)
    }

    /// When the next resource changes on its own.
    pub(super) fn next_tick(&self) -> Option<Instant> {
        self.ticks.values().min().copied()
    }

    /// Returns the first resource whose change is due, and sets its next time to `next`.
    pub(super) fn take_tick(&mut self, now: Instant, next: Instant) -> Option<usize> {
        let (resource, at) = self.ticks.iter_mut().find(|(_, at)| **at <= now)?;
        *at = next;
        Some(*resource)
    }

    /// Adds a new observer. Its resource changes at `tick`, unless an earlier time is set.
    pub(super) fn insert(&mut self, flow: FlowId, token: Token, observer: Observer, tick: Instant) {
        let (resource, number) = (observer.resource, self.registered);
        self.registered += 1;
        self.of_resource.insert((resource, number), (flow, token));
        self.ready.insert((resource, number), (flow, token));
        *self.of_peer.entry(flow).or_default() += 1;
        self.ticks.entry(resource).or_insert(tick);
        self.list.insert((flow, token), Observer { number, ..observer });
    }

    /// Removes an observer. Returns its resource and its unacknowledged notification.
    pub(super) fn remove(&mut self, flow: FlowId, token: Token) -> Option<(usize, Option<MessageKey>)> {
        let observer = self.list.remove(&(flow, token))?;
        let (resource, number) = (observer.resource, observer.number);
        self.of_resource.remove(&(resource, number));
        self.ready.remove(&(resource, number));
        if let Some(id) = observer.last_message_id {
            self.notified.remove(&(flow, id));
        }
        if let Some(count) = self.of_peer.get_mut(&flow) {
            *count -= 1;
            if *count == 0 {
                self.of_peer.remove(&flow);
            }
        }
        if self.first_of(resource).is_none() {
            self.ticks.remove(&resource);
        }
        Some((resource, observer.pending))
    }

    pub(super) fn find(&mut self, flow: FlowId, token: Token) -> Option<&mut Observer> {
        #[cfg(test)]
        {
            self.visits += 1;
        }
        self.list.get_mut(&(flow, token))
    }

    /// The token of any observation of a peer.
    pub(super) fn any_of(&self, flow: FlowId) -> Option<Token> {
        let ((owner, token), _) = self.list.range((flow, Token::EMPTY)..).next()?;
        (*owner == flow).then_some(*token)
    }

    /// The tokens of all observations of a peer.
    pub(super) fn all_of(&self, flow: FlowId) -> Vec<Token> {
        let of_peer = self.list.range((flow, Token::EMPTY)..);
        let of_peer = of_peer.take_while(|((owner, _), _)| *owner == flow);
        of_peer.map(|((_, token), _)| *token).collect()
    }

    /// The first observer of a resource.
    pub(super) fn first_of(&self, resource: usize) -> Option<(FlowId, Token)> {
        let mut of_resource = self.of_resource.range((resource, 0)..=(resource, u64::MAX));
        of_resource.next().map(|(_, observer)| *observer)
    }

    /// The first observer of a resource that is ready and has at least this number. Also returns the next number.
    pub(super) fn next_ready(&self, resource: usize, number: u64) -> Option<(u64, (FlowId, Token))> {
        let mut ready = self.ready.range((resource, number)..=(resource, u64::MAX));
        ready
            .next()
            .map(|((_, number), observer)| (number + 1, *observer))
    }

    /// Sets the unacknowledged notification of an observer. The observer gets no other one before the ACK.
    pub(super) fn set_pending(&mut self, flow: FlowId, token: Token, pending: Option<MessageKey>) {
        let Some(observer) = self.find(flow, token) else {
            return;
        };
        observer.pending = pending;
        let key = (observer.resource, observer.number);
        match pending {
            Some(_) => drop(self.ready.remove(&key)),
            None => drop(self.ready.insert(key, (flow, token))),
        }
    }

    /// Records the message id of an observer's last notification.
    pub(super) fn set_message_id(&mut self, flow: FlowId, token: Token, message_id: u16) {
        let Some(observer) = self.find(flow, token) else {
            return;
        };
        if let Some(before) = observer.last_message_id.replace(message_id) {
            self.notified.remove(&(flow, before));
        }
        self.notified.insert((flow, message_id), token);
    }

    /// The observer whose last notification had this message id.
    pub(super) fn notified_with(&self, flow: FlowId, message_id: u16) -> Option<Token> {
        self.notified.get(&(flow, message_id)).copied()
    }
}
