//! How the client receives packets.

use alloc::boxed::Box;
use alloc::string::ToString;
use core::time::Duration;

use super::ahead::Ahead;
use super::deferred::{self, Arrival};
use super::{
    Action, Aliases, Client, DIGEST_BYTES, Digest, Event, Limits, Message, ServerProperties, ServerReason,
    State, Subject, Timer, Unexpected,
};
use crate::aliases::{ReceivedAliases, SentAliases};
use crate::codec::{
    Acknowledgement, Connack, DecodeError, Footprint, Frame, Outcomes, Packet, PacketType, Properties,
    PropertiesBuf, Property, ProtocolError, Publish, Reason, ReasonCode, Text, Version, v3_1_1,
};
use crate::quality::{Delivery, PacketId};
use crate::reply::Reply;
use crate::session::{Mismatch, Pubrec, Stage};

impl Client {
    pub(super) fn receive(&mut self, mut bytes: &[u8]) {
        let mut framer = core::mem::take(&mut self.framer);
        let awaits_connack = matches!(self.state, State::AwaitConnack(..));
        loop {
            match framer.next(&mut bytes) {
                Ok(Some(frame)) => {
                    self.receive_frame(frame);
                    if awaits_connack {
                        framer.set_limit(self.config.largest_packet());
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    self.fail(error);
                    break;
                }
            }
        }
        self.framer = framer;
    }

    fn receive_frame(&mut self, frame: Frame<'_>) {
        let decoded = Packet::decode(frame, self.version);
        if self.config.describes_received {
            let footprint = Footprint::from_frame(frame, decoded.as_ref().ok());
            self.actions.push_back(Action::Consumed(footprint));
        }
        if self.is_ending() {
            return;
        }
        if self.is_refused_by_an_older_server(frame) {
            return self.rejected(ServerReason::UNACCEPTABLE_VERSION);
        }
        if let Err(error) = decoded.and_then(|packet| self.receive_packet(packet)) {
            self.fail(error);
        }
    }

    /// Whether a server that knows 3.1.1 alone refuses the version, by a CONNACK of its own version
    /// ([MQTT-3.1.2-2] of 3.1.1).
    fn is_refused_by_an_older_server(&self, frame: Frame<'_>) -> bool {
        matches!(self.state, State::AwaitConnack(..))
            && self.version == Version::V5
            && frame.packet_type() == Some(PacketType::Connack)
            && frame.body() == v3_1_1::UNACCEPTABLE_VERSION
    }

    /// Whether this side has closed the flow, or will.
    const fn is_ending(&self) -> bool {
        matches!(self.state, State::Ending(_) | State::Closing(_))
    }

    fn receive_packet(&mut self, packet: Packet<'_>) -> Result<(), DecodeError> {
        let packet = match (&self.state, packet) {
            (State::AwaitConnack(..), Packet::Connack(connack)) => return self.connack(connack),
            (State::Connected(..), packet) => packet,
            (_, packet) => return Err(ProtocolError::Unexpected(packet.packet_type()).into()),
        };
        match packet {
            Packet::Publish(publish) => return self.receive_publish(publish),
            Packet::Puback(puback) => return self.finish(puback, Stage::AwaitPuback),
            Packet::Pubcomp(pubcomp) => return self.finish(pubcomp, Stage::AwaitPubcomp),
            Packet::Pubrec(pubrec) => return self.pubrec(pubrec),
            Packet::Pubrel(pubrel) => self.pubrel(pubrel.packet_id),
            Packet::Suback(suback) => return self.suback(suback, Stage::AwaitSuback),
            Packet::Unsuback(unsuback) => return self.suback(unsuback, Stage::AwaitUnsuback),
            Packet::Pingresp => self.pingresp(),
            Packet::Disconnect(disconnect) if self.version == Version::V5 => {
                return self.disconnected(disconnect);
            }
            other => return Err(ProtocolError::Unexpected(other.packet_type()).into()),
        }
        Ok(())
    }

    fn connack(&mut self, connack: Connack<'_>) -> Result<(), DecodeError> {
        let State::AwaitConnack(flow, ahead) = self.state else {
            return Ok(());
        };
        self.timers.stop(Timer::Connack);
        let reason = connack.reason;
        if reason.is_failure() {
            let reason = ServerReason::new(reason, self.version, connack.properties);
            self.rejected(reason);
            return Ok(());
        }
        // [MQTT-3.2.2-4]: the server cannot have a session after a clean start.
        if connack.session_present && self.config.clean_start {
            return Err(ProtocolError::Unexpected(PacketType::Connack).into());
        }
        self.check_authentication(connack.properties)?;
        let server = ServerProperties::from(connack.properties);
        if let Some(id) = &server.assigned_client_id {
            self.config.client_id = id.clone();
        }
        let (limits, receive_maximum) = (self.limits(&server), server.receive_maximum);
        self.report(Event::Connected {
            session_present: connack.session_present,
            server: Box::new(server),
        });
        match ahead {
            Ahead::Nothing => self.resume(connack.session_present, receive_maximum),
            Ahead::Allowed | Ahead::Message(_) | Ahead::Request => {
                self.outbound.learn(receive_maximum);
                if !connack.session_present {
                    self.forget_deliveries();
                }
            }
        }
        self.state = State::Connected(flow, limits);
        self.restart_keep_alive();
        Ok(())
    }

    /// [MQTT-4.12.0-6]: the server must not name a method if the client has not.
    fn check_authentication(&self, connack: Properties<'_>) -> Result<(), DecodeError> {
        let method_of = |properties: Properties<'_>| {
            let mut properties = properties.iter();
            let method = properties.find(|property| matches!(property, Property::AuthenticationMethod(_)));
            method.map(|method| method.id())
        };
        let extra = self.config.extra.as_deref();
        let asked = extra.and_then(|extra| method_of(extra.properties.as_properties()));
        match method_of(connack) {
            Some(id) if asked.is_none() => Err(ProtocolError::PropertyNotAllowed(id).into()),
            _ => Ok(()),
        }
    }

    fn limits(&self, server: &ServerProperties) -> Limits {
        // [MQTT-3.1.2-21]
        let keep_alive = server.keep_alive.unwrap_or(self.config.keep_alive);
        let sent = match self.config.use_topic_aliases {
            true => server.topic_alias_maximum,
            false => 0,
        };
        let received = self.config.topic_alias_maximum;
        let aliases = || {
            Box::new(Aliases {
                sent: SentAliases::new(sent),
                received: ReceivedAliases::new(received),
                properties: PropertiesBuf::new(),
            })
        };
        Limits {
            keep_alive: Duration::from_secs(keep_alive.into()),
            maximum_packet_size: server.maximum_packet_size,
            maximum_qos: server.maximum_qos,
            retain_available: server.retain_available,
            aliases: (sent > 0 || received > 0).then(aliases),
        }
    }

    fn resume(&mut self, session_present: bool, receive_maximum: u16) {
        self.outbound.connect(receive_maximum);
        if session_present {
            return;
        }
        // [MQTT-3.2.2-5]: the server has no session, so the client drops its own.
        self.forget_session();
    }

    /// Drops the messages of the session that have arrived without being finished.
    fn forget_deliveries(&mut self) {
        self.inbound.clear();
        if let Some(unacknowledged) = &mut self.unacknowledged {
            unacknowledged.forget();
        }
    }

    /// Drops the session: its messages that are not finished have no outcome.
    pub(super) fn forget_session(&mut self) {
        self.forget_deliveries();
        for subject in self.outbound.discard() {
            if let Subject::Message(outgoing) = subject {
                let message = outgoing.message;
                self.actions
                    .push_back(Action::Event(Event::Discarded { message }));
            }
        }
    }

    fn receive_publish(&mut self, publish: Publish<'_>) -> Result<(), DecodeError> {
        let State::Connected(_, limits) = &mut self.state else {
            return Ok(());
        };
        let topic = match publish.topic_alias() {
            None => publish.topic,
            Some(alias) => {
                let aliases = limits.aliases.as_mut().ok_or(ProtocolError::TopicAlias)?;
                aliases.received.resolve(publish.topic, alias)?
            }
        };
        let arrived = match self.config.reports_digests {
            true => Event::DigestReceived(digest(&publish)),
            false => Event::MessageReceived(Box::new(owned(&publish, topic))),
        };
        let unacknowledged = self.unacknowledged.as_mut();
        let arrival = unacknowledged.and_then(|those| those.arrive(&publish, topic, &mut self.inbound));
        self.check_receive_maximum(publish.delivery)?;
        if let Some(arrival) = arrival {
            self.receive_deferred(arrival, arrived);
            return Ok(());
        }
        match publish.delivery {
            Delivery::AtMostOnce => self.report(arrived),
            Delivery::AtLeastOnce(id) => {
                self.report(arrived);
                self.answer(Reply::Puback(id, ReasonCode::Success));
            }
            Delivery::ExactlyOnce(id) => {
                // [MQTT-4.3.3-10]: reported once per identifier until PUBREL.
                if self.inbound.receive(id) {
                    self.report(arrived);
                } else {
                    self.faults().duplicates += 1;
                }
                self.answer(Reply::Pubrec(id, ReasonCode::Success));
            }
        }
        Ok(())
    }

    fn receive_deferred(&mut self, arrival: Arrival, mut arrived: Event) {
        match (arrival, &mut arrived) {
            (Arrival::New { number, was_declined }, Event::MessageReceived(message)) => {
                message.delivery = Some(number);
                message.may_be_known &= !was_declined;
                self.report(arrived);
            }
            _ => self.faults().duplicates += 1,
        }
        self.answer_acknowledged();
    }

    pub(super) fn acknowledge(&mut self, delivery: u64) {
        if let Some(unacknowledged) = &mut self.unacknowledged {
            unacknowledged.acknowledge(delivery);
            self.answer_acknowledged();
        }
    }

    /// Sends the answers that are next in the order of arrival.
    pub(super) fn answer_acknowledged(&mut self) {
        if !self.is_connected() {
            return;
        }
        while let Some(delivery) = self.unacknowledged.as_mut().and_then(|those| those.next_answer()) {
            match delivery {
                Delivery::AtMostOnce => {}
                Delivery::AtLeastOnce(id) => self.answer(Reply::Puback(id, ReasonCode::Success)),
                Delivery::ExactlyOnce(id) => {
                    self.inbound.receive(id);
                    self.answer(Reply::Pubrec(id, ReasonCode::Success));
                }
            }
        }
    }

    /// [MQTT-3.3.4-9]: QoS 1 messages that are answered at once do not accumulate. A client that answers on command takes more than its
    /// maximum: Mosquitto 2.0 sends more after it has sent those of an earlier connection again, and would be disconnected for ever.
    fn check_receive_maximum(&self, delivery: Delivery) -> Result<(), DecodeError> {
        if let Some(unacknowledged) = &self.unacknowledged {
            let maximum = deferred::MAXIMUM;
            return match unacknowledged.len() + self.inbound.len() > usize::from(maximum) {
                true => Err(ProtocolError::ReceiveMaximum(maximum).into()),
                false => Ok(()),
            };
        }
        let Delivery::ExactlyOnce(id) = delivery else {
            return Ok(());
        };
        let maximum = self.config.receive_maximum;
        let full = self.inbound.len() >= usize::from(maximum) && !self.inbound.contains(id);
        if full && self.version == Version::V5 {
            return Err(ProtocolError::ReceiveMaximum(maximum).into());
        }
        Ok(())
    }

    fn finish(&mut self, acknowledgement: Acknowledgement<'_>, stage: Stage) -> Result<(), DecodeError> {
        match self.outbound.finish(acknowledgement.packet_id, stage) {
            Ok(subject) => self.acknowledged(subject, acknowledgement.reason),
            Err(mismatch) => self.unexpected(mismatch, stage.answer(), acknowledgement.packet_id)?,
        }
        Ok(())
    }

    fn acknowledged(&mut self, subject: Subject, reason: ReasonCode) {
        if let Subject::Message(outgoing) = subject {
            self.report(Event::Acknowledged {
                message: outgoing.message,
                reason,
            });
        }
    }

    fn unexpected(
        &mut self,
        mismatch: Mismatch,
        answer: PacketType,
        id: PacketId,
    ) -> Result<(), DecodeError> {
        let oldest = self.outbound.oldest();
        let faults = self.faults();
        faults.unexpected_answers += 1;
        if let Some((awaited, stage)) = oldest {
            faults.last_unexpected = Some(Unexpected {
                packet: answer.name(),
                id,
                awaited: (stage.answer().name(), awaited),
            });
        }
        Ok(mismatch.fault(answer)?)
    }

    fn pubrec(&mut self, pubrec: Acknowledgement<'_>) -> Result<(), DecodeError> {
        let (id, reason) = (pubrec.packet_id, pubrec.reason);
        match self.outbound.pubrec(id, reason.is_failure()) {
            Ok(Pubrec::Release) => self.answer(Reply::Pubrel(id, ReasonCode::Success)),
            Ok(Pubrec::Refused(subject)) => self.acknowledged(subject, reason),
            Err(mismatch) => {
                self.unexpected(mismatch, PacketType::Pubrec, id)?;
                // [MQTT-4.3.3-4]: no PUBREL after a PUBREC with a failure.
                if !reason.is_failure() {
                    self.answer(Reply::Pubrel(id, ReasonCode::PacketIdentifierNotFound));
                }
            }
        }
        Ok(())
    }

    fn pubrel(&mut self, id: PacketId) {
        let reason = if self.inbound.release(id) {
            ReasonCode::Success
        } else {
            ReasonCode::PacketIdentifierNotFound
        };
        self.answer(Reply::Pubcomp(id, reason));
    }

    fn suback(&mut self, outcomes: Outcomes<'_>, stage: Stage) -> Result<(), DecodeError> {
        if let Err(mismatch) = self.outbound.finish(outcomes.packet_id, stage) {
            return self.unexpected(mismatch, stage.answer(), outcomes.packet_id);
        }
        let codes = outcomes.reasons().collect();
        self.report(match stage {
            Stage::AwaitSuback => Event::Subscribed { codes },
            _ => Event::Unsubscribed { codes },
        });
        Ok(())
    }

    fn pingresp(&mut self) {
        self.timers.stop(Timer::Pingresp);
        self.report(Event::Pong);
    }

    fn disconnected(&mut self, disconnect: Reason<'_>) -> Result<(), DecodeError> {
        let is_expiry = |property: &Property<'_>| matches!(property, Property::SessionExpiryInterval(_));
        // [MQTT-3.14.2-2]
        if let Some(property) = disconnect.properties.iter().find(is_expiry) {
            return Err(ProtocolError::PropertyNotAllowed(property.id()).into());
        }
        let reason = ServerReason::new(disconnect.code, self.version, disconnect.properties);
        self.report(Event::Disconnected {
            reason: Box::new(reason),
        });
        self.end();
        Ok(())
    }

    /// Closes the connection because of an error of the server. MQTT 5 sends the reason first [MQTT-4.13.1-1].
    pub(super) fn fail(&mut self, error: DecodeError) {
        if self.is_ending() {
            return;
        }
        if self.version == Version::V5 && self.is_connected() {
            self.answer(Reply::Disconnect(error.disconnect_reason()));
        }
        self.report(Event::Failed(error));
        self.end();
    }

    fn report(&mut self, event: Event) {
        self.actions.push_back(Action::Event(event));
    }

    fn answer(&mut self, reply: Reply) {
        self.actions.push_back(Action::Send(reply));
    }
}

fn owned(publish: &Publish<'_>, topic: Text<'_>) -> Message {
    Message {
        topic: topic.to_string(),
        payload: publish.payload.into(),
        qos: publish.delivery.qos(),
        delivery: None,
        dup: publish.dup,
        may_be_known: publish.dup,
        retain: publish.retain,
        properties: publish.properties.into(),
    }
}

fn digest(publish: &Publish<'_>) -> Digest {
    let mut head = [0; DIGEST_BYTES];
    let len = publish.payload.len().min(DIGEST_BYTES);
    head[..len].copy_from_slice(&publish.payload[..len]);
    Digest {
        head,
        payload_bytes: publish.payload.len(),
        qos: publish.delivery.qos(),
        dup: publish.dup,
        retain: publish.retain,
    }
}
