//! What the application has not been told yet.

use wirecost_proto::ResetReason;

use super::Event;

/// At most one event of each kind, told in the order of a connection's life.
#[derive(Debug)]
pub(crate) struct Events {
    opened: bool,
    readable: bool,
    writable: bool,
    peer_closed: bool,
    reset: Option<ResetReason>,
}

impl Events {
    pub(crate) const NONE: Self = Self {
        opened: false,
        readable: false,
        writable: false,
        peer_closed: false,
        reset: None,
    };

    /// The application knows already that the connection is open.
    pub(crate) const fn retract_opened(&mut self) {
        self.opened = false;
    }

    pub(crate) fn push(&mut self, event: Event) {
        match event {
            Event::Opened => self.opened = true,
            Event::Readable => self.readable = true,
            Event::Writable => self.writable = true,
            Event::PeerClosed => self.peer_closed = true,
            Event::Reset(reason) => self.reset = Some(reason),
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Event> {
        if core::mem::take(&mut self.opened) {
            return Some(Event::Opened);
        }
        if core::mem::take(&mut self.readable) {
            return Some(Event::Readable);
        }
        if core::mem::take(&mut self.peer_closed) {
            return Some(Event::PeerClosed);
        }
        if core::mem::take(&mut self.writable) {
            return Some(Event::Writable);
        }
        self.reset.take().map(Event::Reset)
    }
}
