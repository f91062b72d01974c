//! SUBSCRIBE and UNSUBSCRIBE (sections 3.8.4 and 3.10.4), and retained messages for new subscriptions.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::ControlFlow;

use wirecost_proto::FlowId;

use super::message::QueuedMessage;
use super::session::{SessionId, filter_bytes};
use super::subscriptions::Subscription;
use super::{Broker, Event};
use crate::codec::framing::packet_bytes;
use crate::codec::properties::{Property, Variable};
use crate::codec::{
    DecodeError, Properties, ReasonCode, RetainHandling, Subscribe, SubscriptionOptions, Unsubscribe, Version,
};
use crate::quality::QoS;
use crate::reply::Reply;
use crate::topic;

impl Broker {
    pub(super) fn subscribe(
        &mut self,
        flow: FlowId,
        version: Version,
        subscribe: &Subscribe<'_>,
    ) -> Result<(), DecodeError> {
        let Some(id) = self.accepted(flow).map(|accepted| accepted.session) else {
            return Ok(());
        };
        let identifier = subscribe.properties.iter().find_map(|property| match property {
            Property::SubscriptionIdentifier(Variable(number)) => Some(number),
            _ => None,
        });
        let mut codes = Vec::new();
        let mut retained = Vec::new();
        for (filter, options) in subscribe.filters.iter() {
            let reason = match self.grant(id, &filter, options, identifier) {
                Ok(granted) => {
                    let is_new = self.add_subscription(id, &filter, granted);
                    self.collect_retained(&filter, granted, is_new, &mut retained);
                    reason_of(granted.options.qos)
                }
                Err(reason) => reason,
            };
            codes.push(reason.code());
            self.report(Event::Subscribed { flow, reason });
        }
        let bytes = codes.len();
        self.answer(
            flow,
            version,
            Reply::Suback(subscribe.packet_id, codes.into()),
            bytes,
        );
        for delivery in retained {
            self.enqueue(id, delivery);
        }
        Ok(())
    }

    /// The subscription of `session` to `filter`, or the reason if it is refused.
    fn grant(
        &self,
        session: SessionId,
        filter: &str,
        options: SubscriptionOptions,
        identifier: Option<u32>,
    ) -> Result<Subscription, ReasonCode> {
        let config = &self.config;
        if identifier.is_some() && !config.subscription_identifiers {
            return Err(ReasonCode::SubscriptionIdentifiersNotSupported);
        }
        if !config.wildcard_subscriptions && topic::has_wildcard(filter) {
            return Err(ReasonCode::WildcardSubscriptionsNotSupported);
        }
        if !config.shared_subscriptions && topic::split_shared(filter).is_some() {
            return Err(ReasonCode::SharedSubscriptionsNotSupported);
        }
        if !self.allows_levels(filter) {
            return Err(ReasonCode::TopicFilterInvalid);
        }
        let has_room = |held: &BTreeSet<Arc<str>>| {
            let is_full =
                held.len() >= config.maximum_subscriptions || filter_bytes(filter) > self.free_memory();
            !is_full || held.contains(filter)
        };
        let session_held = self.sessions.get(session).map(|session| &session.filters);
        if !session_held.is_none_or(has_room) {
            return Err(ReasonCode::QuotaExceeded);
        }
        // [MQTT-3.8.4-8]
        let qos = options.qos.min(config.maximum_qos);
        let options = SubscriptionOptions { qos, ..options };
        Ok(Subscription {
            session,
            options,
            identifier,
        })
    }

    fn add_subscription(&mut self, id: SessionId, filter: &str, granted: Subscription) -> bool {
        if let Some(session) = self.sessions.get_mut(id) {
            session.add_filter(filter);
        }
        self.subscriptions.subscribe(filter, granted)
    }

    /// Appends the retained messages for the subscription (section 3.8.3.1).
    fn collect_retained(
        &self,
        filter: &str,
        granted: Subscription,
        is_new: bool,
        retained: &mut Vec<QueuedMessage>,
    ) {
        let wanted = match granted.options.retain_handling {
            RetainHandling::AtSubscribe => true,
            RetainHandling::IfNew => is_new,
            RetainHandling::Never => false,
        };
        // Section 4.8.2: a shared subscription gets no retained messages.
        if !wanted || topic::split_shared(filter).is_some() {
            return;
        }
        self.retained.matching(filter, self.now, |message| {
            // One more than the queue of the session takes, so that the overflow is reported.
            if retained.len() > self.config.maximum_queued {
                return ControlFlow::Break(());
            }
            retained.push(QueuedMessage {
                message: message.clone(),
                qos: message.qos.min(granted.options.qos),
                // [MQTT-3.3.1-8] of 3.1.1
                retain: true,
                identifiers: granted.identifier.into_iter().collect(),
            });
            ControlFlow::Continue(())
        });
    }

    pub(super) fn unsubscribe(&mut self, flow: FlowId, version: Version, unsubscribe: &Unsubscribe<'_>) {
        let Some(id) = self.accepted(flow).map(|accepted| accepted.session) else {
            return;
        };
        let mut codes = Vec::new();
        for filter in unsubscribe.topics.iter() {
            if let Some(session) = self.sessions.get_mut(id) {
                session.remove_filter(&filter);
            }
            let reason = if self.subscriptions.unsubscribe(&filter, id) {
                ReasonCode::Success
            } else {
                ReasonCode::NoSubscriptionExisted
            };
            codes.push(reason.code());
        }
        let bytes = codes.len();
        self.answer(
            flow,
            version,
            Reply::Unsuback(unsubscribe.packet_id, codes.into()),
            bytes,
        );
    }

    /// Sends a SUBACK or UNSUBACK with `codes` bytes of reason codes.
    fn answer(&mut self, flow: FlowId, version: Version, reply: Reply, codes: usize) {
        let properties = Properties::EMPTY.written_bytes_in(version);
        let bytes = packet_bytes(2 + properties + codes);
        // [MQTT-3.1.2-24]: the client cannot continue without this answer [MQTT-3.8.4-1], [MQTT-3.10.4-4].
        if self
            .accepted(flow)
            .is_some_and(|accepted| !accepted.allows(bytes))
        {
            self.stats.dropped_too_large += 1;
            return self.disconnect(flow, ReasonCode::PacketTooLarge);
        }
        self.send(flow, version, reply);
    }
}

const fn reason_of(granted: QoS) -> ReasonCode {
    match granted {
        QoS::AtMostOnce => ReasonCode::Success,
        QoS::AtLeastOnce => ReasonCode::GrantedQos1,
        QoS::ExactlyOnce => ReasonCode::GrantedQos2,
    }
}
