//! Observers and their notifications (RFC 7641).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use wirecost_proto::{FlowId, Instant};

use super::assembly::Key;
use super::outgoing::{Outgoing, Purpose, State};
use super::protection::Protected;
use super::resource::{Answer, Content};
use super::respond::Exchange;
use super::write::{Asked, Envelope};
use super::{Event, Server};
use crate::block::Block;
use crate::code::{Code, Method};
use crate::describe::Kind;
use crate::layout::Layout;
use crate::message::Type;
use crate::option::OptionsView;
use crate::oscore::ResponseNonce;
use crate::outbox::Datagram;
use crate::token::Token;

/// An observer gets a confirmable notification at least this often (RFC 7641 section 4.5).
const CONFIRM_INTERVAL: Duration = Duration::from_secs(24 * 3600);
/// Sequence numbers have 24 bits (RFC 7641 section 4.4).
const SEQUENCE_MASK: u32 = 0xff_ffff;

/// A peer that wants to know when a resource changes.
#[derive(Debug)]
struct Observer {
    flow: FlowId,
    token: Token,
    protected: Option<Protected>,
    resource: usize,
    block2: Option<Block>,
    /// Whether the resource changed while a notification was not acknowledged.
    stale: bool,
    last_message_id: Option<u16>,
    confirmed: Instant,
}

/// A notification that was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub(super) message_id: u16,
    pub(super) layout: Layout,
    confirmable: bool,
    resource: usize,
}

/// All observers, and when the observed resources change by themselves.
#[derive(Debug, Default)]
pub(super) struct Observers {
    list: Vec<Observer>,
    ticks: BTreeMap<usize, Instant>,
}

impl Observers {
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn next_tick(&self) -> Option<Instant> {
        self.ticks.values().min().copied()
    }

    /// Removes an observer; returns its resource.
    fn remove(&mut self, flow: FlowId, token: Token) -> Option<usize> {
        let at = self.place(flow, token)?;
        Some(self.remove_at(at))
    }

    /// Removes one of a peer's observers; returns its resource.
    pub(super) fn remove_any(&mut self, flow: FlowId) -> Option<usize> {
        let at = self.list.iter().position(|observer| observer.flow == flow)?;
        Some(self.remove_at(at))
    }

    fn remove_at(&mut self, at: usize) -> usize {
        let resource = self.list.remove(at).resource;
        if !self.list.iter().any(|observer| observer.resource == resource) {
            self.ticks.remove(&resource);
        }
        resource
    }

    fn place(&self, flow: FlowId, token: Token) -> Option<usize> {
        let matches = |observer: &Observer| observer.flow == flow && observer.token == token;
        self.list.iter().position(matches)
    }

    fn find(&mut self, flow: FlowId, token: Token) -> Option<&mut Observer> {
        let at = self.place(flow, token)?;
        self.list.get_mut(at)
    }

    /// What protects the messages of an observer.
    fn protected(&mut self, flow: FlowId, token: Token) -> Option<Protected> {
        self.find(flow, token)?.protected
    }

    /// The first observer of a resource after the first `skipped` ones.
    fn of_resource(&self, resource: usize, skipped: usize) -> Option<(FlowId, Token)> {
        let of_resource = self.list.iter().filter(|observer| observer.resource == resource);
        of_resource
            .skip(skipped)
            .map(|observer| (observer.flow, observer.token))
            .next()
    }

    /// Whether an observer's last notification is outdated; it is not afterwards.
    pub(super) fn take_stale(&mut self, flow: FlowId, token: Token) -> bool {
        self.find(flow, token)
            .is_some_and(|observer| core::mem::take(&mut observer.stale))
    }

    /// The observer whose last notification had this message id.
    pub(super) fn notified_with(&self, flow: FlowId, message_id: u16) -> Option<Token> {
        let matches = |o: &&Observer| o.flow == flow && o.last_message_id == Some(message_id);
        self.list.iter().find(matches).map(|observer| observer.token)
    }
}

impl Server {
    /// Registers or deregisters the sender of a GET (RFC 7641 section 4.1); returns the sequence number of a
    /// registration.
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
        // A further block of a notification is a plain GET (RFC 7959 section 3.4).
        let further = options.block2().is_some_and(|block| block.number > 0);
        let wanted = options.observe().filter(|_| observable && !further)?;
        let session = |protected: Protected| protected.session;
        let of_session = self.observers.protected(flow, token).map(session);
        if self.observers.place(flow, token).is_some() && of_session != key.session {
            // Who cannot protect a request must not end a protected observation, and is answered as a plain GET.
            return None;
        }
        let known = self.observers.remove(flow, token).is_some();
        self.outgoings.drop_notification(flow, token);
        let full = self.observers.len() >= self.config.max_observers;
        // RFC 7641 section 4.1: 0 registers, 1 deregisters; what cannot be added is answered as a plain GET.
        if wanted != 0 || !answer.code.is_success() || full {
            if known {
                self.outbox.event(Event::ObserverRemoved { flow, path });
            }
            return None;
        }
        if !known {
            self.outbox.event(Event::ObserverAdded { flow, path });
        }
        self.observers.list.push(Observer {
            flow,
            token,
            protected: exchange.protected,
            resource: key.resource,
            block2: options.block2(),
            stale: false,
            last_message_id: None,
            confirmed: now,
        });
        let first_tick = now + self.config.observe_interval;
        self.observers.ticks.entry(key.resource).or_insert(first_tick);
        Some(changes & SEQUENCE_MASK)
    }

    pub(super) fn remove_observer(&mut self, flow: FlowId, token: Token) {
        if let Some(resource) = self.observers.remove(flow, token) {
            let path = self.path(resource);
            self.outgoings.drop_notification(flow, token);
            self.outbox.event(Event::ObserverRemoved { flow, path });
        }
    }

    /// Lets the observed resources change whose time has come.
    pub(super) fn tick(&mut self, now: Instant) {
        let due =
            |ticks: &BTreeMap<usize, Instant>| ticks.iter().find(|(_, at)| **at <= now).map(|(at, _)| *at);
        while let Some(resource) = due(&self.observers.ticks) {
            let next = now + self.config.observe_interval.max(Duration::from_millis(1));
            self.observers.ticks.insert(resource, next);
            if let Some(resource) = self.tree.get_mut(resource) {
                resource.tick();
            }
            self.notify(resource, now);
        }
    }

    /// Notifies every observer of a resource.
    pub(super) fn notify(&mut self, resource: usize, now: Instant) {
        let mut notified = 0;
        while let Some((flow, token)) = self.observers.of_resource(resource, notified) {
            self.notify_one(flow, token, now);
            notified += 1;
        }
    }

    /// Notifies one observer, or notes that it has to be once it acknowledged the last notification: no more
    /// than one is under way (RFC 7641 section 4.5.2).
    pub(super) fn notify_one(&mut self, flow: FlowId, token: Token, now: Instant) {
        if self.outgoings.notification_to(flow, token).is_some() {
            if let Some(observer) = self.observers.find(flow, token) {
                observer.stale = true;
            }
            return;
        }
        let Some(written) = self.write_notification(flow, token, now) else {
            return;
        };
        self.stats.notifications += 1;
        if !written.confirmable {
            let datagram = Datagram::new(written.layout, Kind::ORIGINAL);
            self.outbox.send_encoded(flow, &self.datagram, datagram);
            return;
        }
        let resource = written.resource;
        self.push_notification(flow, written, Purpose::Notification { resource, token });
    }

    fn push_notification(&mut self, flow: FlowId, written: Written, purpose: Purpose) {
        self.outgoings.push(Outgoing {
            flow,
            message_id: written.message_id,
            confirmable: written.confirmable,
            datagram: self.datagram.clone(),
            layout: written.layout,
            purpose,
            state: State::Waiting,
        });
    }

    /// Writes the present state of an observer's resource to `self.datagram`.
    pub(super) fn write_notification(&mut self, flow: FlowId, token: Token, now: Instant) -> Option<Written> {
        let message_id = self.next_message_id(flow);
        let observer = self.observers.find(flow, token)?;
        let (resource, block2, protected) = (observer.resource, observer.block2, observer.protected);
        let definition = self.tree.get(resource)?;
        let overdue = now >= observer.confirmed + CONFIRM_INTERVAL;
        let confirmable = definition.definition.observable == Some(true) || overdue;
        observer.last_message_id = Some(message_id);
        if confirmable {
            observer.confirmed = now;
        }
        let mut answer = Answer::code(Code::CONTENT);
        answer.content = Content::Stored;
        let asked = Asked {
            observe: Some(definition.changes & SEQUENCE_MASK),
            block2,
            ..Asked::default()
        };
        let envelope = envelope(kind(confirmable), (token, message_id), protected);
        let layout = self.write(&envelope, Some(resource), &answer, &asked)?;
        Some(Written {
            message_id,
            layout,
            confirmable,
            resource,
        })
    }

    /// Forgets the observers of a resource; `code` is what they are told, if anything.
    pub(super) fn dismiss(&mut self, resource: usize, code: Option<Code>) {
        while let Some((flow, token)) = self.observers.of_resource(resource, 0) {
            let protected = self.observers.protected(flow, token);
            self.remove_observer(flow, token);
            let Some(code) = code else {
                continue;
            };
            let message_id = self.next_message_id(flow);
            let (answer, asked) = (Answer::code(code), Asked::default());
            // RFC 7641 section 4.2: a notification with an error has no Observe.
            let envelope = envelope(Type::Confirmable, (token, message_id), protected);
            let Some(layout) = self.write(&envelope, None, &answer, &asked) else {
                continue;
            };
            let written = Written {
                message_id,
                layout,
                confirmable: true,
                resource,
            };
            self.push_notification(flow, written, Purpose::Separate);
        }
    }
}

/// What is around a notification. All but the first response to a registration must have a Partial IV (RFC 8613
/// section 4.1.3.5.2).
fn envelope(kind: Type, (token, message_id): (Token, u16), protected: Option<Protected>) -> Envelope {
    Envelope {
        kind,
        token,
        message_id,
        protection: protected.map(|protected| (protected, ResponseNonce::Own)),
    }
}

fn kind(confirmable: bool) -> Type {
    match confirmable {
        true => Type::Confirmable,
        false => Type::NonConfirmable,
    }
}
