//! How the container receives frames of a session.

use super::Shared;
use super::connection::{Connection, Links, SessionState};
use super::fault::{Fault, HANDLE_IN_USE, NOT_IMPLEMENTED, RESOURCE_LIMIT_EXCEEDED, UNATTACHED_HANDLE};
use super::link::{Link, Receiving, Sending};
use super::queue::{LinkKey, QueueId};
use crate::codec::{
    Attach, Attribution, Condition, Detach, Performative, Role, Sections, SenderSettleMode, Terminus,
};

/// The sections so far of the message that a transfer continues.
pub(super) fn sections_of(
    connection: &Connection,
    channel: u16,
    performative: &Performative<'_>,
) -> Sections {
    let Performative::Transfer(transfer) = performative else {
        return Sections::default();
    };
    let Some(SessionState::Mapped(_, links)) = connection.sessions.get(&channel) else {
        return Sections::default();
    };
    match links.get(&transfer.handle) {
        Some(Link::Receiving(Receiving {
            current: Some(incoming),
            ..
        })) => incoming.sections,
        _ => Sections::default(),
    }
}

/// A session frame's connection and channel, and the shared state.
pub(super) struct SessionFrame<'a> {
    pub(super) connection: &'a mut Connection,
    pub(super) shared: &'a mut Shared,
    pub(super) channel: u16,
}

impl SessionFrame<'_> {
    /// Handles a frame. `sections` is the state of the message's sections after `payload`.
    pub(super) fn receive(
        &mut self,
        performative: Performative<'_>,
        payload: &[u8],
        sections: Sections,
    ) -> Result<(), Fault> {
        match (self.connection.sessions.get(&self.channel), &performative) {
            (Some(SessionState::Mapped(..)), _) => {}
            (Some(SessionState::Discarding), Performative::End(_)) => {
                self.connection.sessions.remove(&self.channel);
                return Ok(());
            }
            (Some(SessionState::Discarding), _) => return Ok(()),
            (None, _) => return Err(Fault::NotAllowed("frame on a channel without a session")),
        }
        match performative {
            Performative::Attach(attach) => self.attach(attach),
            Performative::Flow(flow) => self.flow(flow),
            Performative::Transfer(transfer) => self.transfer(transfer, payload, sections),
            Performative::Disposition(disposition) => self.disposition(disposition),
            Performative::Detach(detach) => self.detached(detach),
            Performative::End(_) => self.ended(),
            _ => return Err(Fault::NotAllowed("open on an open connection")),
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

    /// The queue that the client attaches to, or the error condition if it is refused.
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
        self.emit(answer, Attribution::CONNECT);
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

    /// Refuses a link: an attach without source or target, then a detach (section 2.6.3).
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
        self.emit(answer, Attribution::CONNECT);
        self.detach(attach.handle, name);
    }

    fn detached(&mut self, detach: Detach<'_>) {
        let handle = detach.handle;
        match self.links().and_then(|links| links.remove(&handle)) {
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
        self.emit(Performative::End(None), Attribution::CLOSE);
        if let Some(session) = self.connection.sessions.remove(&self.channel) {
            self.shared
                .unmap(self.connection.frames.flow, self.channel, session);
        }
    }

    /// Ends a link because of an error on it.
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
        self.emit(detach, Attribution::CLOSE);
    }

    /// Ends the session because of an error in it.
    pub(super) fn end(&mut self, name: &'static str) {
        self.emit(Performative::End(Some(Condition::new(name))), Attribution::CLOSE);
        let sessions = &mut self.connection.sessions;
        if let Some(session) = sessions.insert(self.channel, SessionState::Discarding) {
            self.shared
                .unmap(self.connection.frames.flow, self.channel, session);
        }
    }

    /// The links of the session, unless one side has ended it.
    fn links(&mut self) -> Option<&mut Links> {
        Some(self.connection.mapped(self.channel)?.1)
    }

    pub(super) fn link(&mut self, handle: u32) -> Option<&mut Link> {
        self.links()?.get_mut(&handle)
    }

    fn insert(&mut self, handle: u32, link: Link) -> Option<Link> {
        self.links()?.insert(handle, link)
    }

    pub(super) fn emit(&mut self, performative: Performative<'_>, attribution: Attribution) {
        self.connection
            .frames
            .emit(performative, self.channel, attribution);
    }

    pub(super) const fn key(&self, handle: u32) -> LinkKey {
        LinkKey::new(self.connection.frames.flow, self.channel, handle)
    }
}
