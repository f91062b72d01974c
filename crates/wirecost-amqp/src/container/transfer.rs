//! Messages and credit within a session: flow, transfer, disposition.

use super::connection::SessionState;
use super::fault::{
    MESSAGE_SIZE_EXCEEDED, NOT_ALLOWED, TRANSFER_LIMIT_EXCEEDED, UNATTACHED_HANDLE, WINDOW_VIOLATION,
};
use super::link::{Incoming, Link, Receiving, Sending};
use super::queue::LinkKey;
use super::session::SessionFrame;
use super::{Event, Shared};
use crate::codec::{Attribution, DeliveryState, Disposition, Flow, Performative, Role, Sections, Transfer};
use crate::session::first_covered;

impl SessionFrame<'_> {
    /// Fills a link's credit up and tells the sender.
    pub(super) fn grant(&mut self, handle: u32, attribution: Attribution) {
        let most = self.shared.config.credit.max(1);
        let Some(SessionState::Mapped { session, links }) = self.connection.sessions.get_mut(&self.channel)
        else {
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
        self.connection.emit(flow, self.channel, attribution);
    }

    pub(super) fn flow(&mut self, flow: Flow) {
        let Some(SessionState::Mapped { session, links }) = self.connection.sessions.get_mut(&self.channel)
        else {
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
                sending.grant(&flow);
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

    /// Answers a flow that asks for it.
    fn echo(&mut self, flow: &Flow, handle: Option<u32>) {
        if !flow.echo {
            return;
        }
        let Some(SessionState::Mapped { session, links }) = self.connection.sessions.get_mut(&self.channel)
        else {
            return;
        };
        let link = handle.and_then(|handle| links.get(&handle));
        let (counts, has_credit) = match link {
            Some(Link::Sending(sending)) => {
                let counts = (sending.delivery_count, sending.credit);
                (Some(counts), sending.has_credit)
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
        let attribution = Attribution::of(&answer, has_credit);
        self.connection.emit(answer, self.channel, attribution);
    }

    pub(super) fn transfer(&mut self, transfer: Transfer<'_>, payload: &[u8], sections: Sections) {
        let Some(SessionState::Mapped { session, links }) = self.connection.sessions.get_mut(&self.channel)
        else {
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
            self.connection
                .emit(disposition, self.channel, Attribution::ACKNOWLEDGEMENT);
        }
        self.shared.stats.received += 1;
        if let Some(address) = self.shared.queues.address(queue) {
            self.shared.events.push_back(Event::Received {
                flow: self.connection.flow,
                address,
                payload_bytes: incoming.sections.payload_bytes(),
                front: incoming.sections.front(),
                settled: incoming.settled,
            });
        }
        self.shared.enqueue(queue, incoming.message);
    }

    /// Renews credit or window where half of it is used.
    fn renew(&mut self, handle: u32) {
        let most = self.shared.config.credit.max(1);
        let Some(SessionState::Mapped { session, links }) = self.connection.sessions.get_mut(&self.channel)
        else {
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
            self.connection
                .emit(flow, self.channel, Attribution::ACKNOWLEDGEMENT);
        }
    }

    pub(super) fn disposition(&mut self, disposition: Disposition<'_>) {
        let is_outcome = disposition.state.is_some_and(|state| state.is_outcome());
        // A sender's settlement ends what we gave an outcome before; nothing is kept of it here.
        if disposition.role == Role::Sender || !(is_outcome || disposition.settled) {
            return;
        }
        let Some(SessionState::Mapped { links, .. }) = self.connection.sessions.get_mut(&self.channel) else {
            return;
        };
        let mut settles = false;
        for (&handle, link) in links {
            let Link::Sending(sending) = link else {
                continue;
            };
            if sending.settle(&disposition, self.shared) {
                settles = true;
                // There may be room for more deliveries without an outcome.
                let key = LinkKey::new(self.connection.flow, self.channel, handle);
                self.shared.wake(sending.queue, key);
            }
        }
        // A receiver that gave an outcome without settling waits for the sender to settle (section 2.6.12).
        if settles && !disposition.settled {
            let answer = Performative::Disposition(Disposition {
                role: Role::Sender,
                settled: true,
                ..disposition
            });
            self.connection
                .emit(answer, self.channel, Attribution::ACKNOWLEDGEMENT);
        }
    }
}

impl Receiving {
    /// Takes a transfer; on error the condition on which the link ends.
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
            // Section 2.7.5: what came of the message counts for nothing.
            if let Some(incoming) = self.current.take() {
                shared.queues.discard(incoming.message);
            }
            return Ok(());
        }
        let bytes = incoming.message.len() as u64 + payload.len() as u64;
        if bytes > shared.config.max_message_size {
            return Err(MESSAGE_SIZE_EXCEEDED);
        }
        incoming.message.extend_from_slice(payload);
        incoming.sections = sections;
        incoming.settled |= transfer.settled.unwrap_or(false);
        Ok(())
    }

    /// Begins a delivery, for which there must be credit.
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
    /// Takes what became of deliveries; whether one of them was in flight.
    fn settle(&mut self, disposition: &Disposition<'_>, shared: &mut Shared) -> bool {
        let mut settles = false;
        while let Some(at) = first_covered(&self.unsettled, disposition) {
            let Some((_, message)) = self.unsettled.remove(at) else {
                break;
            };
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
