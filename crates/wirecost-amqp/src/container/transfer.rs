//! Messages and credit in a session: flow, transfer, disposition.

use super::fault::{
    MESSAGE_SIZE_EXCEEDED, NOT_ALLOWED, TRANSFER_LIMIT_EXCEEDED, UNATTACHED_HANDLE, WINDOW_VIOLATION,
};
use super::link::{Incoming, Link, Receiving, Sending};
use super::queue::LinkKey;
use super::session::SessionFrame;
use super::{Event, Shared};
use crate::codec::{Attribution, DeliveryState, Disposition, Flow, Performative, Role, Sections, Transfer};
use crate::session::take_covered;

impl SessionFrame<'_> {
    /// Renews a link's credit and tells the sender.
    pub(super) fn grant(&mut self, handle: u32, attribution: Attribution) {
        let most = self.shared.config.credit.max(1);
        let Some((session, links)) = self.connection.mapped(self.channel) else {
            return;
        };
        let Some(Link::Receiving(link)) = links.get_mut(&handle) else {
            return;
        };
        link.credit = most;
        let flow = Performative::Flow(Flow {
            handle: Some(handle),
            delivery_count: Some(link.delivery_count),
            link_credit: Some(link.credit),
            ..session.flow()
        });
        self.emit(flow, attribution);
    }

    pub(super) fn flow(&mut self, flow: Flow) {
        let Some((session, links)) = self.connection.mapped(self.channel) else {
            return;
        };
        session.flowed(&flow);
        let Some(handle) = flow.handle else {
            let sending = links.iter().filter(|(_, link)| matches!(link, Link::Sending(_)));
            let handles: alloc::vec::Vec<u32> = sending.map(|(handle, _)| *handle).collect();
            for handle in handles {
                self.connection.activate(self.channel, handle);
            }
            return self.echo(&flow, None);
        };
        match links.get_mut(&handle) {
            Some(Link::Sending(sending)) => {
                sending.drain = flow.drain;
                sending.credit.grant(&flow);
                let queue = sending.queue;
                let key = self.key(handle);
                self.shared.wake(queue, key);
                self.connection.activate(self.channel, handle);
            }
            Some(Link::Receiving(_)) => {}
            Some(Link::Detached) => return,
            None => return self.end(UNATTACHED_HANDLE),
        }
        // A drain is answered when the link has nothing more to send.
        if !flow.drain {
            self.echo(&flow, Some(handle));
        }
    }

    /// Answers a flow that has the echo flag.
    fn echo(&mut self, flow: &Flow, handle: Option<u32>) {
        if !flow.echo {
            return;
        }
        let Some((session, links)) = self.connection.mapped(self.channel) else {
            return;
        };
        let (counts, has_credit) = match handle.and_then(|handle| links.get(&handle)) {
            Some(Link::Sending(sending)) => {
                let credit = &sending.credit;
                (Some((credit.delivery_count, credit.left)), credit.was_granted)
            }
            Some(Link::Receiving(link)) => (Some((link.delivery_count, link.credit)), true),
            _ => (None, true),
        };
        let answer = Performative::Flow(Flow {
            handle,
            delivery_count: counts.map(|(count, _)| count),
            link_credit: counts.map(|(_, credit)| credit),
            ..session.flow()
        });
        let attribution = Attribution::from_performative(&answer, has_credit);
        self.emit(answer, attribution);
    }

    pub(super) fn transfer(&mut self, transfer: Transfer<'_>, payload: &[u8], sections: Sections) {
        let Some((session, links)) = self.connection.mapped(self.channel) else {
            return;
        };
        if !session.received() {
            return self.end(WINDOW_VIOLATION);
        }
        let link = match links.get_mut(&transfer.handle) {
            Some(Link::Receiving(link)) => link,
            Some(Link::Detached) => return self.renew(transfer.handle),
            Some(Link::Sending(_)) | None => return self.end(UNATTACHED_HANDLE),
        };
        if let Err(name) = link.take(transfer, payload, sections, self.shared) {
            self.detach(transfer.handle, name);
        } else if !transfer.more {
            self.complete(transfer.handle);
        }
        self.renew(transfer.handle);
    }

    /// Puts a whole message into its queue and settles it.
    fn complete(&mut self, handle: u32) {
        let Some(Link::Receiving(link)) = self.link(handle) else {
            return;
        };
        let Some(incoming) = link.current.take() else {
            return;
        };
        let (queue, settles_second) = (link.queue, link.settles_second);
        if !incoming.settled {
            let disposition = Performative::Disposition(Disposition {
                role: Role::Receiver,
                first: incoming.delivery_id,
                last: None,
                settled: !settles_second,
                state: Some(DeliveryState::Accepted),
            });
            self.emit(disposition, Attribution::ACKNOWLEDGEMENT);
        }
        self.shared.stats.received += 1;
        if let Some(address) = self.shared.queues.address(queue) {
            self.shared.events.push_back(Event::Received {
                flow: self.connection.frames.flow,
                address,
                payload_bytes: incoming.sections.payload_bytes(),
                front: incoming.sections.front(),
                settled: incoming.settled,
            });
        }
        self.shared.enqueue(queue, incoming.message);
    }

    /// Renews credit or window when half of it is used.
    fn renew(&mut self, handle: u32) {
        let most = self.shared.config.credit.max(1);
        let Some((session, links)) = self.connection.mapped(self.channel) else {
            return;
        };
        let wants_credit = match links.get(&handle) {
            Some(Link::Receiving(link)) => link.credit <= most / 2,
            _ => false,
        };
        if wants_credit {
            return self.grant(handle, Attribution::ACKNOWLEDGEMENT);
        }
        if session.wants_flow() {
            let flow = Performative::Flow(session.flow());
            self.emit(flow, Attribution::ACKNOWLEDGEMENT);
        }
    }

    pub(super) fn disposition(&mut self, disposition: Disposition<'_>) {
        // A sender that settles needs no answer: the container keeps nothing of an accepted delivery.
        if !disposition.is_final() {
            return;
        }
        let flow = self.connection.frames.flow;
        let Some((_, links)) = self.connection.mapped(self.channel) else {
            return;
        };
        let mut settles = false;
        for (&handle, link) in links {
            let Link::Sending(sending) = link else {
                continue;
            };
            if sending.settle(&disposition, self.shared) {
                settles = true;
                // The link may have room for more unfinished deliveries.
                let key = LinkKey::new(flow, self.channel, handle);
                self.shared.wake(sending.queue, key);
            }
        }
        if settles && let Some(answer) = disposition.settlement() {
            self.emit(answer, Attribution::ACKNOWLEDGEMENT);
        }
    }
}

impl Receiving {
    /// Takes a transfer. On error, returns the condition that ends the link.
    fn take(
        &mut self,
        transfer: Transfer<'_>,
        payload: &[u8],
        sections: Sections,
        shared: &mut Shared,
    ) -> Result<(), &'static str> {
        if self.current.is_none() {
            self.begin(&transfer, shared)?;
        }
        let Some(incoming) = &mut self.current else {
            return Ok(());
        };
        if transfer.aborted {
            // Section 2.7.5: an aborted message is dropped.
            if let Some(incoming) = self.current.take() {
                shared.queues.discard(incoming.message);
            }
            return Ok(());
        }
        let bytes = incoming.message.len() as u64 + payload.len() as u64;
        if bytes > shared.config.max_message_size {
            return Err(MESSAGE_SIZE_EXCEEDED);
        }
        wirecost_proto::kept::append(&mut incoming.message, payload);
        incoming.sections = sections;
        incoming.settled |= transfer.settled.unwrap_or(false);
        Ok(())
    }

    /// Begins a delivery, which needs credit.
    fn begin(&mut self, transfer: &Transfer<'_>, shared: &mut Shared) -> Result<(), &'static str> {
        let delivery_id = transfer.delivery_id.ok_or(NOT_ALLOWED)?;
        self.credit = self.credit.checked_sub(1).ok_or(TRANSFER_LIMIT_EXCEEDED)?;
        self.delivery_count = self.delivery_count.wrapping_add(1);
        self.current = Some(Incoming {
            delivery_id,
            settled: false,
            message: shared.queues.buffer(),
            sections: Sections::default(),
        });
        Ok(())
    }
}

impl Sending {
    /// Handles the outcome of deliveries. Returns whether one of them was in flight.
    fn settle(&mut self, disposition: &Disposition<'_>, shared: &mut Shared) -> bool {
        let mut settles = false;
        for message in take_covered(&mut self.unsettled, disposition) {
            settles = true;
            match disposition.state {
                Some(DeliveryState::Released)
                | Some(DeliveryState::Modified {
                    undeliverable_here: false,
                    ..
                }) => shared.put_back(self.queue, message),
                Some(DeliveryState::Rejected(_) | DeliveryState::Modified { .. }) => {
                    shared.stats.rejected += 1;
                    shared.queues.recycle(message);
                }
                _ => {
                    shared.stats.accepted += 1;
                    shared.queues.recycle(message);
                }
            }
        }
        settles
    }
}
