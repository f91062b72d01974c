//! Registrations and notifications (RFC 7641).

use core::time::Duration;

use wirecost_proto::{FlowId, Instant};

use super::assembly::Key;
use super::observers::Observer;
use super::protection::Protected;
use super::queue::{MessageKey, Outgoing, Purpose, State};
use super::resource::{Answer, Content, Resource};
use super::respond::Exchange;
use super::write::{Envelope, Requested};
use super::{Event, Server};
use crate::code::{Code, Method};
use crate::layout::Layout;
use crate::message::Type;
use crate::option::OptionsView;
use crate::oscore::ResponseNonce;
use crate::token::Token;

/// An observer gets a confirmable notification at least this often (RFC 7641 section 4.5).
const CONFIRM_INTERVAL: Duration = Duration::from_secs(24 * 3600);
/// Sequence numbers have 24 bits (RFC 7641 section 4.4).
const SEQUENCE_MASK: u32 = 0xff_ffff;

/// An encoded notification in `Server::datagram`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub(super) message_id: u16,
    pub(super) layout: Layout,
    confirmable: bool,
}

impl Server {
    /// Registers or deregisters the sender of a GET (RFC 7641 section 4.1). Returns the sequence number if it
    /// registers.
    pub(super) fn observe(
        &mut self,
        exchange: &Exchange,
        key: Key,
        options: OptionsView<'_>,
        answer: &Answer,
        now: Instant,
    ) -> Option<u32> {
        let resource = self.tree.get(key.resource)?;
        let (flow, token) = (exchange.flow, exchange.token);
        let (path, changes) = (resource.definition.path, resource.changes);
        let observable = resource.definition.observable.is_some() && key.method == Method::Get;
        // The request for a further block of a notification is a plain GET (RFC 7959 section 3.4).
        let further = options.block2().is_some_and(|block| block.number > 0);
        let wanted = options.observe().filter(|_| observable && !further)?;
        if exchange.protected.is_some_and(Protected::may_be_old) {
            return None;
        }
        let session = |protected: Protected| protected.session;
        let owner = self.observers.find(flow, token);
        if owner.is_some_and(|observer| observer.protected.map(session) != key.session) {
            // A request without protection must not end a protected observation. It is answered as a plain GET.
            return None;
        }
        let known = self.take_observer(flow, token).is_some();
        // RFC 7641 section 4.1: 0 registers, 1 deregisters. A registration beyond the limits is answered as a plain
        // GET.
        if wanted != 0 || !answer.code.is_success() || self.is_full(flow) {
            if known {
                self.outbox.event(Event::ObserverRemoved { flow, path });
            }
            return None;
        }
        if !known {
            self.outbox.event(Event::ObserverAdded { flow, path });
        }
        let first_tick = now + self.config.observe_interval;
        let observer = Observer::new(key.resource, changes, exchange.protected, options.block2(), now);
        self.observers.insert(flow, token, observer, first_tick);
        Some(changes & SEQUENCE_MASK)
    }

    /// Prepares a resource for a GET that registers its first observer and accepts the resource's own format.
    pub(super) fn begin_observation(&mut self, key: Key, options: OptionsView<'_>) {
        let registers = key.method == Method::Get && options.observe() == Some(0);
        if !registers || self.observers.first_of(key.resource).is_some() {
            return;
        }
        let resource = self.tree.get_mut(key.resource);
        let accepts = |format| options.accept().is_none_or(|accepted| accepted == format);
        if let Some(resource) = resource.filter(|resource| {
            resource.definition.observable.is_some() && accepts(resource.definition.format)
        }) {
            resource.begin_observation();
        }
    }

    /// Tells the observers of a resource that the format of its representation changed (RFC 7641 section 4.2).
    pub(super) fn end_observation(&mut self, resource: usize) {
        if self.observers.first_of(resource).is_none() {
            return;
        }
        if let Some(resource) = self.tree.get_mut(resource) {
            resource.end_observation();
        }
        self.dismiss(resource, Some(&Answer::code(Code::NOT_ACCEPTABLE)));
    }

    /// Whether further registrations of a peer are refused.
    fn is_full(&self, flow: FlowId) -> bool {
        self.observers.len() >= self.config.max_observers
            || self.observers.of_peer(flow) >= self.config.max_observers_per_peer
    }

    /// Removes an observer and its unacknowledged notification. Returns the observed resource.
    fn take_observer(&mut self, flow: FlowId, token: Token) -> Option<usize> {
        let (resource, pending) = self.observers.remove(flow, token)?;
        pending.and_then(|key| self.outgoings.remove(key));
        Some(resource)
    }

    pub(super) fn remove_observer(&mut self, flow: FlowId, token: Token) {
        if let Some(resource) = self.take_observer(flow, token) {
            let path = self.path(resource);
            self.outbox.event(Event::ObserverRemoved { flow, path });
        }
    }

    /// Ends every observation of a peer.
    pub(super) fn forget_observers(&mut self, flow: FlowId) {
        while let Some(token) = self.observers.any_of(flow) {
            self.remove_observer(flow, token);
        }
    }

    /// Changes the observed resources that are due.
    pub(super) fn tick(&mut self, now: Instant) {
        let next = now + self.config.observe_interval.max(Duration::from_millis(1));
        while let Some(resource) = self.observers.take_tick(now, next) {
            let ending = self.tree.get_mut(resource).and_then(Resource::tick);
            match ending {
                Some(last) => self.dismiss(resource, Some(&last)),
                None => self.notify(resource, now),
            }
        }
    }

    /// Notifies every observer of a resource, except those with an unacknowledged notification. Those are notified
    /// after their ACK, if the resource has changed since.
    pub(super) fn notify(&mut self, resource: usize, now: Instant) {
        let mut from = 0;
        while let Some((next, (flow, token))) = self.observers.next_ready(resource, from) {
            self.notify_one(flow, token, now);
            from = next;
        }
    }

    /// Whether the resource of an observer has changed since its last notification.
    pub(super) fn is_outdated(&mut self, flow: FlowId, token: Token) -> bool {
        let Some(observer) = self.observers.find(flow, token) else {
            return false;
        };
        let resource = self.tree.get(observer.resource);
        resource.is_some_and(|resource| resource.changes != observer.told)
    }

    /// Notifies an observer without an unacknowledged notification: at most one is outstanding (RFC 7641 section
    /// 4.5.2).
    pub(super) fn notify_one(&mut self, flow: FlowId, token: Token, now: Instant) {
        if self.is_congested(flow) {
            return;
        }
        let Some(written) = self.write_notification(flow, token, now) else {
            return;
        };
        self.stats.notifications += 1;
        if !written.confirmable {
            let kind = self.sent_kind(&self.datagram, written.layout);
            self.outbox
                .send_encoded(flow, &self.datagram, written.layout, kind);
            return;
        }
        let key = self.push_notification(flow, written, Purpose::Notification { token });
        self.observers.set_pending(flow, token, Some(key));
    }

    fn push_notification(&mut self, flow: FlowId, written: Written, purpose: Purpose) -> MessageKey {
        self.outgoings.push(Outgoing {
            flow,
            message_id: written.message_id,
            confirmable: written.confirmable,
            datagram: self.datagram.clone(),
            layout: written.layout,
            purpose,
            state: State::Waiting,
        })
    }

    /// Encodes the current state of an observer's resource into `self.datagram`.
    pub(super) fn write_notification(&mut self, flow: FlowId, token: Token, now: Instant) -> Option<Written> {
        let is_stream = self.is_stream();
        let message_id = self.next_message_id(flow);
        self.observers.set_message_id(flow, token, message_id);
        let observer = self.observers.find(flow, token)?;
        let (resource, block2, protected) = (observer.resource, observer.block2, observer.protected);
        let state = self.tree.get(resource)?;
        let overdue = now >= observer.confirmed + CONFIRM_INTERVAL;
        let confirmable = !is_stream && (state.definition.observable == Some(true) || overdue);
        observer.told = state.changes;
        if confirmable {
            observer.confirmed = now;
        }
        let mut answer = Answer::code(Code::CONTENT);
        answer.content = Content::Stored;
        let requested = Requested {
            observe: Some(state.changes & SEQUENCE_MASK),
            block2,
            ..Requested::default()
        };
        let kind = Type::unsolicited(confirmable);
        let envelope = envelope(flow, kind, (token, message_id), protected);
        let layout = self.write(&envelope, Some(resource), &answer, &requested)?;
        Some(Written {
            message_id,
            layout,
            confirmable,
        })
    }

    /// Removes the observers of a resource. `last` is their last notification, if they get one.
    pub(super) fn dismiss(&mut self, resource: usize, last: Option<&Answer>) {
        while let Some((flow, token)) = self.observers.first_of(resource) {
            let protected = self.observers.find(flow, token);
            let protected = protected.and_then(|observer| observer.protected);
            self.remove_observer(flow, token);
            let Some(last) = last else {
                continue;
            };
            let message_id = self.next_message_id(flow);
            let requested = Requested::default();
            // RFC 7641 section 4.2: a notification with an error has no Observe.
            let confirmable = !self.is_stream();
            let kind = Type::unsolicited(confirmable);
            let envelope = envelope(flow, kind, (token, message_id), protected);
            let Some(layout) = self.write(&envelope, None, last, &requested) else {
                continue;
            };
            let written = Written {
                message_id,
                layout,
                confirmable,
            };
            self.push_notification(flow, written, Purpose::Ending);
        }
    }
}

/// The envelope of a notification. Every notification except the first response must have a Partial IV (RFC 8613
/// section 4.1.3.5.2).
fn envelope(
    flow: FlowId,
    kind: Type,
    (token, message_id): (Token, u16),
    protected: Option<Protected>,
) -> Envelope {
    Envelope {
        flow,
        kind,
        token,
        message_id,
        protection: protected.map(|protected| (protected, ResponseNonce::Own)),
    }
}
