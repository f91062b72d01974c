//! What the container receives within a session.

use super::Shared;
use super::connection::{Connection, SessionState};
use super::fault::{
    Fault, HANDLE_IN_USE, NOT_ALLOWED, NOT_IMPLEMENTED, RESOURCE_LIMIT_EXCEEDED, UNATTACHED_HANDLE,
};
use super::link::{Link, Receiving, Sending};
use super::queue::{LinkKey, QueueId};
use crate::codec::{
    Attach, Attribution, Condition, Detach, Performative, Role, Sections, SenderSettleMode, Terminus,
};

/// Where the part of a message that a transfer brings goes on, or the start of a new one.
pub(super) fn sections_of(
    connection: &Connection,
    channel: u16,
    performative: &Performative<'_>,
) -> Sections {
    let Performative::Transfer(transfer) = performative else {
        return Sections::default();
    };
    match connection.sessions.get(&channel) {
        Some(SessionState::Mapped { links, .. }) => match links.get(&transfer.handle) {
            Some(Link::Receiving(Receiving {
                current: Some(incoming),
                ..
            })) => incoming.sections,
            _ => Sections::default(),
        },
        _ => Sections::default(),
    }
}

/// What it takes to receive a frame of a session.
pub(super) struct SessionFrame<'a> {
    pub(super) connection: &'a mut Connection,
    pub(super) shared: &'a mut Shared,
    pub(super) channel: u16,
}

impl SessionFrame<'_> {
    /// Takes a frame; `sections` is where the payload's sections are behind it.
    pub(super) fn receive(
        &mut self,
        performative: Performative<'_>,
        payload: &[u8],
        sections: Sections,
    ) -> Result<(), Fault> {
        match (self.connection.sessions.get(&self.channel), &performative) {
            (Some(SessionState::Mapped { .. }), _) => {}
            (Some(SessionState::Discarding), Performative::End(_)) => {
                self.connection.sessions.remove(&self.channel);
                return Ok(());
            }
            (Some(SessionState::Discarding), _) => return Ok(()),
            (None, _) => {
                return Err(Fault {
                    name: NOT_ALLOWED,
                    description: "frame on a channel without a session",
                });
            }
        }
        match performative {
            Performative::Attach(attach) => self.attach(attach),
            Performative::Flow(flow) => self.flow(flow),
            Performative::Transfer(transfer) => self.transfer(transfer, payload, sections),
            Performative::Disposition(disposition) => self.disposition(disposition),
            Performative::Detach(detach) => self.detached(detach),
            Performative::End(_) => self.ended(),
            _ => {
                return Err(Fault {
                    name: NOT_ALLOWED,
                    description: "open amid a connection",
                });
            }
        }
        Ok(())
    }

    fn attach(&mut self, attach: Attach<'_>) {
        if attach.handle > self.shared.config.handle_max || self.link(attach.handle).is_some() {
            return self.end(HANDLE_IN_USE);
        }
        match self.node(&attach) {
            Ok(queue) => self.accept(attach, queue),
            Err(name) => self.refuse(attach, name),
        }
    }

    /// The queue that the client attaches to, or the condition on which it is refused.
    fn node(&mut self, attach: &Attach<'_>) -> Result<QueueId, &'static str> {
        let terminus = match attach.role {
            Role::Sender => attach.target,
            Role::Receiver => attach.source,
        };
        match terminus {
            Some(Terminus {
                address: Some(address),
                dynamic: false,
            }) => self.shared.queues.at(address).ok_or(RESOURCE_LIMIT_EXCEEDED),
            _ => Err(NOT_IMPLEMENTED),
        }
    }

    fn accept(&mut self, attach: Attach<'_>, queue: QueueId) {
        let is_sending = attach.role.is_receiver();
        let answer = Performative::Attach(Attach {
            role: attach.role.reverse(),
            initial_delivery_count: is_sending.then_some(0),
            max_message_size: (!is_sending).then_some(self.shared.config.max_message_size),
            ..attach
        });
        self.connection.emit(answer, self.channel, Attribution::CONNECT);
        if is_sending {
            let settled = attach.snd_settle_mode == SenderSettleMode::Settled;
            self.insert(attach.handle, Link::Sending(Sending::new(queue, settled)));
            let key = self.key(attach.handle);
            self.shared.queues.subscribe(queue, key);
            return;
        }
        let link = Receiving {
            queue,
            delivery_count: attach.initial_delivery_count.unwrap_or(0),
            credit: 0,
            settles_second: attach.receiver_settles_second,
            current: None,
        };
        self.insert(attach.handle, Link::Receiving(link));
        self.grant(attach.handle, Attribution::CONNECT);
    }

    /// Refuses a link: an attach without the node that was asked for, then a detach (section 2.6.3).
    fn refuse(&mut self, attach: Attach<'_>, name: &'static str) {
        let is_sending = attach.role.is_receiver();
        let answer = Performative::Attach(Attach {
            role: attach.role.reverse(),
            source: attach.source.filter(|_| !is_sending),
            target: attach.target.filter(|_| is_sending),
            initial_delivery_count: is_sending.then_some(0),
            max_message_size: None,
            ..attach
        });
        self.connection.emit(answer, self.channel, Attribution::CONNECT);
        self.detach(attach.handle, name);
    }

    fn detached(&mut self, detach: Detach<'_>) {
        let handle = detach.handle;
        let Some(SessionState::Mapped { links, .. }) = self.connection.sessions.get_mut(&self.channel) else {
            return;
        };
        match links.remove(&handle) {
            Some(Link::Detached) => {}
            Some(link) => {
                self.emit_detach(handle, None);
                let key = self.key(handle);
                self.shared.detach(key, link);
            }
            None => self.end(UNATTACHED_HANDLE),
        }
    }

    fn ended(&mut self) {
        self.connection.end(self.channel, None);
        if let Some(session) = self.connection.sessions.remove(&self.channel) {
            self.shared.unmap(self.connection.flow, self.channel, session);
        }
    }

    /// Ends a link for a fault on it.
    pub(super) fn detach(&mut self, handle: u32, name: &'static str) {
        self.emit_detach(handle, Some(Condition::new(name)));
        if let Some(link) = self.insert(handle, Link::Detached) {
            let key = self.key(handle);
            self.shared.detach(key, link);
        }
    }

    fn emit_detach(&mut self, handle: u32, error: Option<Condition<'_>>) {
        let detach = Performative::Detach(Detach {
            handle,
            closed: true,
            error,
        });
        self.connection.emit(detach, self.channel, Attribution::CLOSE);
    }

    /// Ends the session for a fault in it.
    pub(super) fn end(&mut self, name: &'static str) {
        self.connection.end(self.channel, Some(Condition::new(name)));
        let ended = self
            .connection
            .sessions
            .insert(self.channel, SessionState::Discarding);
        if let Some(session) = ended {
            self.shared.unmap(self.connection.flow, self.channel, session);
        }
    }

    pub(super) fn link(&mut self, handle: u32) -> Option<&mut Link> {
        match self.connection.sessions.get_mut(&self.channel) {
            Some(SessionState::Mapped { links, .. }) => links.get_mut(&handle),
            _ => None,
        }
    }

    fn insert(&mut self, handle: u32, link: Link) -> Option<Link> {
        match self.connection.sessions.get_mut(&self.channel) {
            Some(SessionState::Mapped { links, .. }) => links.insert(handle, link),
            _ => None,
        }
    }

    pub(super) const fn key(&self, handle: u32) -> LinkKey {
        LinkKey::new(self.connection.flow, self.channel, handle)
    }
}
