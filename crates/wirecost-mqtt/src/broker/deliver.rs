//! Sends PUBLISH to subscribers, within their limits (sections 3.1.2.11 and 4.9).

use wirecost_proto::{Buffer, Cause, FlowId, Instant, Output};

use super::connection::Accepted;
use super::message::QueuedMessage;
use super::session::{Session, SessionId};
use super::{Action, Broker, Event};
use crate::codec::{Acknowledgement, Packet, PropertiesBuf, Publish, ReasonCode, Text};
use crate::quality::{self, PacketId, QoS};
use crate::session::{Exchange, Stage};

/// The largest number of bytes that a topic alias adds to a packet, including a longer property length.
const ALIAS_BYTES: usize = 4;

impl Broker {
    /// Schedules the session of `flow`.
    pub(super) fn schedule_flow(&mut self, flow: FlowId) {
        if let Some(accepted) = self.accepted(flow) {
            self.schedule(accepted.session);
        }
    }

    /// Keeps messages in the queue while the transport is full, and continues when it is not.
    pub(super) fn set_congested(&mut self, flow: FlowId, is_congested: bool) {
        if let Some(accepted) = self.accepted_mut(flow) {
            accepted.is_congested = is_congested;
        }
        if !is_congested {
            self.schedule_flow(flow);
        }
    }

    pub(super) fn schedule(&mut self, id: SessionId) {
        if let Some(session) = self.sessions.get_mut(id)
            && !session.is_scheduled
        {
            session.is_scheduled = true;
            self.actions.push_back(Action::Deliver(id));
        }
    }

    /// Sends the next packet of a session. The session stays scheduled until there is none.
    pub(super) fn deliver(&mut self, id: SessionId, out: &mut Buffer) -> Option<Output<Event>> {
        let output = self.deliver_next(id, out);
        match &output {
            Some(_) => self.actions.push_front(Action::Deliver(id)),
            None => {
                if let Some(session) = self.sessions.get_mut(id) {
                    session.is_scheduled = false;
                    session.is_dropping &= session.queue.len() > 0;
                    session.update_memory();
                }
            }
        }
        output
    }

    fn deliver_next(&mut self, id: SessionId, out: &mut Buffer) -> Option<Output<Event>> {
        let free = self.free_for_messages();
        let session = self.sessions.get_mut(id)?;
        let flow = session.flow?;
        let accepted = self.connections.get_mut(&flow)?.accepted_mut()?;
        if accepted.is_congested {
            return None;
        }
        while let Some(exchange) = session.outbound.next_resend() {
            let (id, stage) = (exchange.id, exchange.stage);
            if resend(exchange, accepted, self.now, &mut self.properties, out) {
                self.stats.resent += 1;
                return Some(Output::Transmit { flow });
            }
            // [MQTT-3.1.2-25]: handled as if it had been delivered.
            self.stats.dropped_too_large += 1;
            let _ = session.outbound.finish(id, stage);
        }
        loop {
            let waits = session.queue.front()?.qos > QoS::AtMostOnce && !may_send(session, free);
            if waits {
                return None;
            }
            let delivery = session.queue.pop_front()?;
            // [MQTT-3.3.2-5]
            if delivery.message.has_expired(self.now) {
                self.stats.dropped_expired += 1;
                continue;
            }
            let draft = Draft::new(&delivery, accepted);
            let publish = draft.publish(PacketId::MAX, self.now, &mut self.properties);
            // [MQTT-3.1.2-24], [MQTT-3.1.2-25]
            if !accepted.allows(publish.packet_bytes(accepted.version)) {
                self.stats.dropped_too_large += 1;
                continue;
            }
            self.stats.delivered += 1;
            if delivery.qos == QoS::AtMostOnce {
                Packet::Publish(publish).emit(accepted.version, out).ok()?;
                return Some(Output::Transmit { flow });
            }
            let packet_id = session.outbound.publish(delivery.qos, delivery.clone())?;
            let publish = draft.publish(packet_id, self.now, &mut self.properties);
            Packet::Publish(publish).emit(accepted.version, out).ok()?;
            return Some(Output::Transmit { flow });
        }
    }
}

/// Whether a session may have another QoS 1 or 2 message in flight if `free` bytes are free. Without free memory, a
/// client that does not acknowledge has at most one message in flight.
pub(super) fn may_send(session: &Session, free: usize) -> bool {
    session.outbound.is_ready() && (free > 0 || session.outbound.len() == 0)
}

/// A queued message with its topic or topic alias.
struct Draft<'a> {
    delivery: &'a QueuedMessage,
    topic: Text<'a>,
    alias: Option<u16>,
}

impl<'a> Draft<'a> {
    fn new(delivery: &'a QueuedMessage, accepted: &mut Accepted) -> Self {
        let topic = delivery.message.topic.as_text();
        let message = &delivery.message;
        // The receiver must learn a new alias, so assign one only if the packet is small enough to be sent.
        let bytes = message.payload.len() + topic.len() + message.properties.as_properties().written_bytes();
        let fits = accepted.allows(bytes + delivery.identifiers.len() * 5 + 16 + ALIAS_BYTES);
        let (topic, alias) = match &mut accepted.aliases {
            Some(aliases) if fits => aliases.sent.replace(topic),
            Some(_) | None => (topic, None),
        };
        Self {
            delivery,
            topic,
            alias,
        }
    }

    fn publish<'b>(
        &'b self,
        packet_id: PacketId,
        now: Instant,
        scratch: &'b mut PropertiesBuf,
    ) -> Publish<'b> {
        Publish {
            dup: false,
            delivery: quality::Delivery::new(self.delivery.qos, packet_id),
            retain: self.delivery.retain,
            topic: self.topic,
            properties: self.delivery.properties(self.alias, now, scratch),
            payload: &self.delivery.message.payload,
        }
    }
}

/// Sends the last packet of an exchange again on a new connection [MQTT-4.4.0-1]. Returns false if the packet is too
/// large for the client now [MQTT-3.1.2-24].
fn resend(
    exchange: &Exchange<QueuedMessage>,
    accepted: &Accepted,
    now: Instant,
    scratch: &mut PropertiesBuf,
    out: &mut Buffer,
) -> bool {
    if exchange.stage == Stage::AwaitPubcomp {
        let release = Acknowledgement::new(exchange.id, ReasonCode::Success);
        return Packet::Pubrel(release)
            .emit_as(accepted.version, Cause::Retransmission, out)
            .is_ok();
    }
    let draft = Draft {
        delivery: &exchange.message,
        topic: exchange.message.message.topic.as_text(),
        alias: None,
    };
    let publish = Publish {
        // [MQTT-3.3.1-1]
        dup: true,
        ..draft.publish(exchange.id, now, scratch)
    };
    accepted.allows(publish.packet_bytes(accepted.version))
        && Packet::Publish(publish).emit(accepted.version, out).is_ok()
}
