//! How the container sends frames.

use wirecost_proto::{Buffer, FlowId, Output};

use super::connection::{Connection, State};
use super::link::Outgoing;
use super::queue::LinkKey;
use super::{Container, Event, Shared};
use crate::codec::frame::LARGEST_FRAME;
use crate::codec::{Attribution, Flow, Performative};

impl Container {
    /// The next output of a flow: spans of received bytes, encoded frames, transfers while the window lasts, the end of
    /// the flow.
    pub(super) fn transmit(&mut self, flow: FlowId, out: &mut Buffer) -> Option<Output<Event>> {
        let connection = self.connections.get_mut(&flow)?;
        if connection.frames.take_consumed(out) {
            return Some(Output::Consumed { flow });
        }
        if connection.frames.take_outgoing(out) || self.shared.send(connection, out) {
            connection.frames.sent(self.shared.now);
            return Some(Output::Transmit { flow });
        }
        let State::Finishing { is_peer_closed } = connection.state else {
            return None;
        };
        connection.await_fin(&self.shared.config, self.shared.now);
        if is_peer_closed {
            self.forget(flow);
        }
        Some(Output::Close { flow, reset: false })
    }
}

impl Shared {
    /// Appends the next frame of the connection's links to `out`. Returns false if there is none.
    fn send(&mut self, connection: &mut Connection, out: &mut Buffer) -> bool {
        if !matches!(connection.state, State::Opened) || connection.is_congested {
            return false;
        }
        while let Some(&(channel, handle)) = connection.active.front() {
            if self.send_transfer(connection, (channel, handle), out)
                || give_back_credit(connection, (channel, handle), out)
            {
                return true;
            }
            connection.deactivate();
        }
        false
    }

    fn send_transfer(
        &mut self,
        connection: &mut Connection,
        (channel, handle): (u16, u32),
        out: &mut Buffer,
    ) -> bool {
        let (flow, max_frame_size) = (connection.frames.flow, connection.frames.max_frame_size);
        let Some((session, sending)) = connection.sending(channel, handle) else {
            return false;
        };
        if !session.may_transfer() {
            return false;
        }
        if sending.current.is_none() {
            let was_full = sending.is_full(self.config.queue_messages);
            let next = sending.outbox.pop_front();
            sending.current = next.map(|message| Outgoing::new(session.next_delivery(), message));
            if was_full && sending.settled {
                self.wake(sending.queue, LinkKey::new(flow, channel, handle));
            }
        }
        let Some(current) = &mut sending.current else {
            return false;
        };
        let settled = sending.settled;
        let is_done = current.emit((channel, handle, settled), max_frame_size, &mut self.scratch, out);
        session.sent();
        if is_done && let Some(done) = sending.current.take() {
            self.stats.delivered += 1;
            let payload_bytes = done.sections.payload_bytes();
            self.events.push_back(Event::Delivered {
                flow,
                payload_bytes,
                settled,
            });
            if settled {
                self.stats.accepted += 1;
                self.queues.recycle(done.message);
            } else {
                sending.unsettled.push_back((done.delivery_id, done.message));
            }
        }
        true
    }
}

/// Gives unused credit back to a receiver that drains its link, and tells it (section 2.6.7).
fn give_back_credit(connection: &mut Connection, (channel, handle): (u16, u32), out: &mut Buffer) -> bool {
    let Some((session, sending)) = connection.sending(channel, handle) else {
        return false;
    };
    let has_more = !sending.outbox.is_empty() || sending.current.is_some();
    if has_more || !core::mem::take(&mut sending.drain) {
        return false;
    }
    sending.credit.give_back();
    let flow = Performative::Flow(Flow {
        handle: Some(handle),
        delivery_count: Some(sending.credit.delivery_count),
        link_credit: Some(0),
        available: Some(0),
        drain: true,
        ..session.flow()
    });
    let attribution = Attribution::from_performative(&flow, sending.credit.was_granted);
    // A flow has less than the 512 B that every peer accepts.
    flow.emit(channel, attribution, LARGEST_FRAME, out).is_ok()
}
