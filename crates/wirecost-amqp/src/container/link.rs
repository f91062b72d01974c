//! The container's end of a link.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use wirecost_proto::Buffer;

use super::queue::{QueueId, Stored};
use crate::codec::{Sections, TransferHead};
use crate::session::Credit;

/// The container's end of a link.
#[derive(Debug)]
pub(super) enum Link {
    /// The link receives messages.
    Receiving(Receiving),
    /// The link sends messages.
    Sending(Sending),
    /// We refused or ended the link. Every frame is ignored until the client's detach arrives (section 2.6.5).
    Detached,
}

/// A link that receives messages.
#[derive(Debug)]
pub(super) struct Receiving {
    pub(super) queue: QueueId,
    pub(super) delivery_count: u32,
    pub(super) credit: u32,
    /// Whether the sender settles first and the container only reports the outcome.
    pub(super) settles_second: bool,
    pub(super) current: Option<Incoming>,
}

/// A message that has partly arrived.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) delivery_id: u32,
    pub(super) settled: bool,
    pub(super) message: Stored,
    pub(super) sections: Sections,
}

/// A link that sends messages.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) queue: QueueId,
    pub(super) settled: bool,
    pub(super) credit: Credit,
    /// Whether the link is in its connection's list of active links.
    pub(super) is_active: bool,
    /// Whether the link must give its unused credit back.
    pub(super) drain: bool,
    /// Messages that have used credit and wait for the session window.
    pub(super) outbox: VecDeque<Stored>,
    pub(super) current: Option<Outgoing>,
    pub(super) unsettled: VecDeque<(u32, Stored)>,
}

/// A message that is partly sent.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) delivery_id: u32,
    pub(super) message: Stored,
    pub(super) sent: usize,
    pub(super) sections: Sections,
}

impl Link {
    /// Bytes of a message that has partly arrived.
    pub(super) fn incoming_bytes(&self) -> usize {
        match self {
            Self::Receiving(receiving) => {
                let incoming = receiving.current.as_ref();
                incoming.map_or(0, |incoming| wirecost_proto::kept::memory(&incoming.message))
            }
            Self::Sending(_) | Self::Detached => 0,
        }
    }
}

impl Sending {
    pub(super) fn new(queue: QueueId, settled: bool) -> Self {
        Self {
            queue,
            settled,
            credit: Credit::default(),
            is_active: false,
            drain: false,
            outbox: VecDeque::new(),
            current: None,
            unsettled: VecDeque::new(),
        }
    }

    /// Uses one unit of credit for a message.
    pub(super) fn take(&mut self, message: Stored) {
        self.credit.take_one();
        self.outbox.push_back(message);
    }

    /// Whether the number of unfinished deliveries has reached `most`.
    pub(super) fn is_full(&self, most: usize) -> bool {
        self.outbox.len() + self.unsettled.len() >= most.max(1)
    }

    /// All messages without an outcome, newest first: the caller puts each back to the front of the queue.
    pub(super) fn into_unfinished(self) -> impl Iterator<Item = Stored> {
        let unsettled = self.unsettled.into_iter().map(|(_, message)| message);
        let current = self.current.map(|outgoing| outgoing.message);
        let all = unsettled.chain(current).chain(self.outbox);
        all.rev()
    }
}

impl Outgoing {
    pub(super) fn new(delivery_id: u32, message: Stored) -> Self {
        Self {
            delivery_id,
            message,
            sent: 0,
            sections: Sections::default(),
        }
    }

    /// Appends the next transfer frame. Returns whether it is the last.
    pub(super) fn emit(
        &mut self,
        (channel, handle, settled): (u16, u32, bool),
        max_frame_size: usize,
        scratch: &mut Vec<u8>,
        out: &mut Buffer,
    ) -> bool {
        let head = TransferHead {
            channel,
            handle,
            delivery_id: self.delivery_id,
            settled,
            is_first: self.sent == 0,
            max_frame_size,
        };
        let rest = self.message.get(self.sent..).unwrap_or_default();
        let taken = head.emit(rest.len(), scratch, out);
        let part = rest.get(..taken).unwrap_or_default();
        self.sections.push(part, out);
        self.sent += taken;
        self.sent == self.message.len()
    }
}
