//! Receives PUBLISH and routes messages to sessions (sections 3.3.4 and 4.3).

use alloc::sync::Arc;
use alloc::vec::Vec;

use wirecost_proto::{FlowId, Front};

use super::deliver::may_send;
use super::message::{Message, QueuedMessage};
use super::session::SessionId;
use super::subscriptions::Match;
use super::{Broker, Event, Limit};
use crate::client::PublishTemplate;
use crate::codec::properties::Property;
use crate::codec::{DecodeError, Properties, ProtocolError, Publish, ReasonCode, Text, Version, Will};
use crate::quality::{self, QoS};
use crate::reply::Reply;

/// A message to be routed.
#[derive(Clone, Copy)]
struct Routed<'a> {
    publisher: Option<SessionId>,
    topic: Text<'a>,
    payload: &'a [u8],
    qos: QoS,
    retain: bool,
    properties: Properties<'a>,
}

impl Broker {
    pub(super) fn receive_publish(&mut self, flow: FlowId, publish: &Publish<'_>) -> Result<(), DecodeError> {
        // [MQTT-3.3.4-6]
        let identifies = |property| matches!(property, Property::SubscriptionIdentifier(_));
        if publish.properties.iter().any(identifies) {
            return Err(ProtocolError::PropertyNotAllowed(0x0b).into());
        }
        let Some(accepted) = self.accepted_mut(flow) else {
            return Ok(());
        };
        let (version, session) = (accepted.version, accepted.session);
        // The topic borrows from the aliases while the broker changes, so take them out.
        let mut aliases = accepted.aliases.take();
        let resolved = match (publish.topic_alias(), &mut aliases) {
            (None, _) => Ok(publish.topic),
            (Some(alias), Some(aliases)) => aliases.received.resolve(publish.topic, alias),
            (Some(_), None) => Err(ProtocolError::TopicAlias),
        };
        let outcome = resolved.map(|topic| {
            let publish = Publish { topic, ..*publish };
            self.accept_publish(flow, version, session, &publish);
        });
        if let Some(accepted) = self.accepted_mut(flow) {
            accepted.aliases = aliases;
        }
        Ok(outcome?)
    }

    /// Processes a message with a resolved topic, unless it breaks an announced limit.
    fn accept_publish(&mut self, flow: FlowId, version: Version, session: SessionId, publish: &Publish<'_>) {
        if let Some(reason) = self.broken_limit(version, session, publish) {
            self.stats.faults += 1;
            return self.disconnect(flow, reason);
        }
        if let quality::Delivery::ExactlyOnce(id) = publish.delivery
            && !self.is_new(session, id)
        {
            self.stats.duplicates += 1;
            let pubrec = Reply::Pubrec(id, ReasonCode::Success);
            return self.send(flow, version, pubrec);
        }
        let reason = self.publish(flow, session, publish);
        // MQTT 3.1.1 can report only success.
        let packet = match publish.delivery {
            quality::Delivery::AtMostOnce => return,
            quality::Delivery::AtLeastOnce(id) => Reply::Puback(id, reason),
            quality::Delivery::ExactlyOnce(id) => Reply::Pubrec(id, reason),
        };
        if let (quality::Delivery::ExactlyOnce(id), true) = (publish.delivery, reason.is_failure())
            && let Some(session) = self.sessions.get_mut(session)
        {
            // Section 4.3.3: a PUBREC with a failure ends the exchange.
            session.inbound.release(id);
        }
        self.send(flow, version, packet);
    }

    /// The reason to disconnect a client that sends `publish`, if it breaks a limit.
    fn broken_limit(
        &self,
        version: Version,
        session: SessionId,
        publish: &Publish<'_>,
    ) -> Option<ReasonCode> {
        // [MQTT-3.2.2-11]
        if publish.delivery.qos() > self.config.maximum_qos {
            return Some(ReasonCode::QosNotSupported);
        }
        // [MQTT-3.2.2-14]
        if publish.retain && !self.config.retain_available {
            return Some(ReasonCode::RetainNotSupported);
        }
        let quality::Delivery::ExactlyOnce(id) = publish.delivery else {
            return None;
        };
        let inbound = &self.sessions.get(session)?.inbound;
        let full = inbound.len() >= usize::from(self.config.receive_maximum);
        // [MQTT-3.3.4-7]
        let exceeded = version == Version::V5 && full && !inbound.contains(id);
        exceeded.then_some(ReasonCode::ReceiveMaximumExceeded)
    }

    fn is_new(&mut self, session: SessionId, id: quality::PacketId) -> bool {
        let session = self.sessions.get_mut(session);
        session.is_none_or(|session| session.inbound.receive(id))
    }

    /// Routes a client's message. Returns the reason code for the acknowledgement.
    fn publish(&mut self, flow: FlowId, session: SessionId, publish: &Publish<'_>) -> ReasonCode {
        if !self.allows_topic(&publish.topic) {
            self.stats.dropped_by_limit += 1;
            return ReasonCode::TopicNameInvalid;
        }
        let receivers = self.route(Routed {
            publisher: Some(session),
            topic: publish.topic,
            payload: publish.payload,
            qos: publish.delivery.qos(),
            retain: publish.retain,
            properties: publish.properties,
        });
        self.report(Event::Published {
            flow,
            payload_bytes: publish.payload.len(),
            front: Front::from_payload(publish.payload),
            qos: publish.delivery.qos(),
            dup: publish.dup,
            receivers,
        });
        if receivers == 0 && self.config.report_no_subscribers {
            ReasonCode::NoMatchingSubscribers
        } else {
            ReasonCode::Success
        }
    }

    pub(super) fn publish_own(&mut self, template: &PublishTemplate) {
        self.route(Routed {
            publisher: None,
            topic: template.topic(),
            payload: template.payload(),
            qos: template.qos(),
            retain: template.retain(),
            properties: template.properties(),
        });
    }

    pub(super) fn route_will(&mut self, publisher: SessionId, will: Will<'_>) {
        self.route(Routed {
            publisher: Some(publisher),
            topic: will.topic,
            payload: will.payload.as_bytes(),
            qos: will.qos,
            retain: will.retain,
            properties: will.properties,
        });
    }

    /// Queues a message for every matching session. Returns the number of these sessions. The message is copied once,
    /// and only if there is a receiver.
    fn route(&mut self, routed: Routed<'_>) -> usize {
        self.stats.published += 1;
        let mut matches = core::mem::take(&mut self.matches);
        matches.clear();
        let sessions = &self.sessions;
        let is_online = |id| sessions.get(id).is_some_and(|session| session.flow.is_some());
        self.subscriptions
            .matching(&routed.topic, &is_online, &mut matches);
        // [MQTT-3.8.3-3]
        matches.retain(|found| {
            let own = Some(found.subscription.session) == routed.publisher;
            !(own && found.subscription.options.no_local)
        });
        // The matches of one session are adjacent. Those of shared groups are separate.
        matches.sort_unstable_by_key(|found| (found.subscription.session, found.shared));
        let mut receivers = 0;
        if routed.retain || !matches.is_empty() {
            let (topic, properties) = (routed.topic, routed.properties);
            let message = Message::new(
                topic,
                routed.payload,
                routed.qos,
                properties,
                self.now,
                &self.memory,
            );
            let message = Arc::new(message);
            if routed.retain {
                self.retain(&message);
            }
            let is_same = |one: &Match, other: &Match| {
                !one.shared && !other.shared && one.subscription.session == other.subscription.session
            };
            for overlapping in matches.chunk_by(is_same) {
                self.queue_overlapping(&message, routed.retain, overlapping);
                receivers += 1;
            }
        }
        self.matches = matches;
        receivers
    }

    fn retain(&mut self, message: &Arc<Message>) {
        let name = message.topic.as_text();
        // [MQTT-3.3.1-6], [MQTT-3.3.1-7]
        if message.payload.is_empty() {
            self.retained.remove(&name);
            return;
        }
        if !self.may_retain(message) {
            self.retained.purge(self.now);
            if !self.may_retain(message) {
                self.stats.dropped_by_limit += 1;
                return;
            }
        }
        self.retained.store(message.clone());
    }

    fn may_retain(&self, message: &Message) -> bool {
        let name = message.topic.as_text();
        let has_place = self.retained.len() < self.config.maximum_retained || self.retained.contains(&name);
        let bytes = self.retained.bytes_except(&name) + message.bytes();
        // The memory of the message itself is reserved already.
        let has_room = self.free_for_messages() > 0 || bytes <= self.retained.bytes();
        has_place && has_room && bytes <= self.config.maximum_held_bytes / 2
    }

    /// Queues a message once for a session with several matching (`overlapping`) subscriptions, with the highest QoS
    /// [MQTT-3.3.4-2] and every identifier [MQTT-3.3.4-4].
    fn queue_overlapping(&mut self, message: &Arc<Message>, retain: bool, overlapping: &[Match]) {
        let Some(first) = overlapping.first() else {
            return;
        };
        let subscriptions = overlapping.iter().map(|found| found.subscription);
        let granted = subscriptions.clone().map(|one| one.options.qos).max();
        let as_published = subscriptions.clone().any(|one| one.options.retain_as_published);
        let mut identifiers: Vec<u32> = subscriptions.filter_map(|one| one.identifier).collect();
        identifiers.dedup();
        self.enqueue(
            first.subscription.session,
            QueuedMessage {
                message: message.clone(),
                qos: message.qos.min(granted.unwrap_or_default()),
                // [MQTT-3.3.1-12], [MQTT-3.3.1-13]
                retain: retain && as_published,
                identifiers,
            },
        );
    }

    /// Queues a message for its session, if there is room.
    pub(super) fn enqueue(&mut self, id: SessionId, delivery: QueuedMessage) {
        let Some(session) = self.sessions.get_mut(id) else {
            return;
        };
        // Section 4.1: a broker need not store QoS 0 messages for a disconnected client.
        if session.flow.is_none() && delivery.qos == QoS::AtMostOnce {
            self.stats.dropped_offline += 1;
            return;
        }
        if !session.queue.has_room(&delivery, &self.config) {
            self.stats.dropped_queue_full += 1;
            return self.report_dropped(id, Limit::Session);
        }
        let bytes = session.queue.bytes() + delivery.message.bytes();
        let allowed = match delivery.qos {
            QoS::AtMostOnce => self.free_for_messages() / 2,
            _ => self.free_for_messages(),
        };
        if bytes > allowed && !self.goes_at_once(id, delivery.qos) {
            self.stats.dropped_memory_full += 1;
            return self.report_dropped(id, Limit::Broker);
        }
        if let Some(session) = self.sessions.get_mut(id) {
            session.queue.push_back(delivery);
            session.update_memory();
        }
        self.schedule(id);
    }

    /// Whether a queued message leaves before the broker handles another input.
    fn goes_at_once(&self, id: SessionId, qos: QoS) -> bool {
        let Some(session) = self.sessions.get(id) else {
            return false;
        };
        let accepted = session.flow.and_then(|flow| self.accepted(flow));
        let may_go = qos == QoS::AtMostOnce || may_send(session, self.free_for_messages());
        accepted.is_some_and(|accepted| !accepted.is_congested) && may_go
    }

    /// Reports that messages of a session are dropped; once, until its queue is empty.
    fn report_dropped(&mut self, id: SessionId, limit: Limit) {
        let Some(session) = self.sessions.get_mut(id) else {
            return;
        };
        if !core::mem::replace(&mut session.is_dropping, true) {
            let client_id = session.client_id.clone();
            self.report(Event::Dropping { client_id, limit });
        }
    }
}
