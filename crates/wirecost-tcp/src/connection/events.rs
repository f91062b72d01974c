//! The events that the application has not taken yet.

use wirecost_proto::ResetReason;

use super::Event;

/// At most one event of each kind, in the order of a connection's life.
#[derive(Debug)]
pub(crate) struct Events {
    /// A bit for each kind; the lowest bit is taken first.
    waiting: u8,
    reset: Option<ResetReason>,
}

const OPENED: u8 = 1;
const READABLE: u8 = 1 << 1;
const PEER_CLOSED: u8 = 1 << 2;
const WRITABLE: u8 = 1 << 3;
const RESET: u8 = 1 << 4;

impl Events {
    pub(crate) const NONE: Self = Self {
        waiting: 0,
        reset: None,
    };

    pub(crate) const fn push(&mut self, event: Event) {
        self.waiting |= match event {
            Event::Opened => OPENED,
            Event::Readable => READABLE,
            Event::PeerClosed => PEER_CLOSED,
            Event::Writable => WRITABLE,
            Event::Reset(reason) => {
                self.reset = Some(reason);
                RESET
            }
        };
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        let first = self.waiting & self.waiting.wrapping_neg();
        self.waiting &= !first;
        match first {
            OPENED => Some(Event::Opened),
            READABLE => Some(Event::Readable),
            PEER_CLOSED => Some(Event::PeerClosed),
            WRITABLE => Some(Event::Writable),
            _ => self.reset.take().map(Event::Reset),
        }
    }
}
