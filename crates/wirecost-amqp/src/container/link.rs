//! The container's ends of links.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use wirecost_proto::Buffer;

use super::queue::{QueueId, Stored};
use crate::codec::{Flow, Sections, Transfer, emit_transfer};

/// The container's end of a link.
#[derive(Debug)]
pub(super) enum Link {
    /// It receives.
    Receiving(Receiving),
    /// It sends.
    Sending(Sending),
    /// It was refused or ended here; the client's detach is awaited and everything else ignored (section 2.6.5).
    Detached,
}

/// An end that receives.
#[derive(Debug)]
pub(super) struct Receiving {
    pub(super) queue: QueueId,
    pub(super) delivery_count: u32,
    pub(super) credit: u32,
    /// Whether the client settles first, and we only give the outcome.
    pub(super) settles_second: bool,
    pub(super) current: Option<Incoming>,
}

/// A message of which a part has arrived.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) delivery_id: u32,
    pub(super) settled: bool,
    pub(super) message: Stored,
    pub(super) sections: Sections,
}

/// An end that sends.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) queue: QueueId,
    pub(super) settled: bool,
    pub(super) delivery_count: u32,
    pub(super) credit: u32,
    /// Whether there ever was credit.
    pub(super) has_credit: bool,
    /// Whether its connection looks at it before it has nothing more to send.
    pub(super) is_active: bool,
    /// Whether what is left of the credit is to be given back.
    pub(super) drain: bool,
    /// Messages that have credit and wait for the window.
    pub(super) outbox: VecDeque<Stored>,
    pub(super) current: Option<Outgoing>,
    pub(super) unsettled: VecDeque<(u32, Stored)>,
}

/// A message of which a part is sent.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) delivery_id: u32,
    pub(super) message: Stored,
    pub(super) sent: usize,
    pub(super) sections: Sections,
}

impl Sending {
    pub(super) const fn new(queue: QueueId, settled: bool) -> Self {
        Self {
            queue,
            settled,
            delivery_count: 0,
            credit: 0,
            has_credit: false,
            is_active: false,
            drain: false,
            outbox: VecDeque::new(),
            current: None,
            unsettled: VecDeque::new(),
        }
    }

    /// Takes the receiver's credit (section 2.6.7).
    pub(super) fn grant(&mut self, flow: &Flow) {
        self.drain = flow.drain;
        let Some(link_credit) = flow.link_credit else {
            return;
        };
        let delivery_count = flow.delivery_count.unwrap_or(0);
        let credit = delivery_count
            .wrapping_add(link_credit)
            .wrapping_sub(self.delivery_count);
        self.credit = if credit > link_credit { 0 } else { credit };
        self.has_credit |= self.credit > 0;
    }

    /// Uses one unit of credit for a message.
    pub(super) fn take(&mut self, message: Stored) {
        self.credit = self.credit.saturating_sub(1);
        self.delivery_count = self.delivery_count.wrapping_add(1);
        self.outbox.push_back(message);
    }

    /// Whether as many deliveries as there may be are not done.
    pub(super) fn is_full(&self, most: usize) -> bool {
        self.outbox.len() + self.unsettled.len() >= most.max(1)
    }

    /// Every message that has no outcome, newest first: so they go back to the front of the queue.
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

    /// Appends the next transfer frame; whether it is the last.
    pub(super) fn emit(
        &mut self,
        (channel, handle, settled): (u16, u32, bool),
        max_frame_size: usize,
        scratch: &mut Vec<u8>,
        out: &mut Buffer,
    ) -> bool {
        let tag = self.delivery_id.to_be_bytes();
        let mut transfer = Transfer {
            handle,
            ..Transfer::default()
        };
        if self.sent == 0 {
            transfer.delivery_id = Some(self.delivery_id);
            transfer.delivery_tag = Some(&tag);
            transfer.message_format = Some(0);
            transfer.settled = settled.then_some(true);
        }
        let rest = self.message.get(self.sent..).unwrap_or_default();
        let taken = emit_transfer(transfer, channel, rest.len(), max_frame_size, scratch, out);
        let part = rest.get(..taken).unwrap_or_default();
        self.sections.push(part, out);
        self.sent += taken;
        self.sent == self.message.len()
    }
}
