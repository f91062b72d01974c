//! How the broker receives packets, and its answers to invalid ones (section 4.13).

use wirecost_proto::FlowId;

use super::connection::{PacketLimit, State};
use super::lifetime::WillHandling;
use super::session::Session;
use super::{Action, Broker};
use crate::codec::properties::Property;
use crate::codec::{
    Acknowledgement, DecodeError, Footprint, Frame, Packet, PacketType, ProtocolError, Reason, ReasonCode,
    Version, code_points, connect,
};
use crate::quality::PacketId;
use crate::reply::Reply;
use crate::session::{self, Pubrec};

impl Broker {
    pub(super) fn receive(&mut self, flow: FlowId, mut bytes: &[u8]) {
        let Some(connection) = self.connections.get_mut(&flow) else {
            self.stats.ignored_bytes += bytes.len() as u64;
            return;
        };
        connection.last_received = self.now;
        let awaits_connect = matches!(connection.state, State::AwaitConnect);
        let mut framer = core::mem::take(&mut connection.framer);
        loop {
            match framer.next(&mut bytes) {
                Ok(Some(frame)) => {
                    self.receive_frame(flow, frame);
                    if awaits_connect && self.session_of(flow).is_some() {
                        framer.set_limit(self.largest_packet());
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    self.fail(flow, None, error);
                    break;
                }
            }
        }
        if let Some(connection) = self.connections.get_mut(&flow) {
            connection.partial.set(framer.memory());
            connection.framer = framer;
        }
        self.bound_partial(flow);
    }

    /// Ends a connection whose incomplete packet exceeds the free memory.
    fn bound_partial(&mut self, flow: FlowId) {
        let free = self.free_memory();
        let connection = self.connections.get(&flow);
        if connection.is_some_and(|connection| connection.partial.bytes() > free) {
            self.stats.dropped_by_limit += 1;
            self.disconnect(flow, ReasonCode::QuotaExceeded);
        }
    }

    fn receive_frame(&mut self, flow: FlowId, frame: Frame<'_>) {
        let Some(connection) = self.connections.get(&flow) else {
            return;
        };
        let version = connection
            .accepted()
            .map_or(Version::V5, |accepted| accepted.version);
        let is_ending = matches!(connection.state, State::Ending);
        let decoded = Packet::decode(frame, version);
        let footprint = Footprint::from_frame(frame, decoded.as_ref().ok());
        self.actions.push_back(Action::Consumed(flow, footprint));
        if is_ending {
            self.stats.ignored_bytes += frame.bytes().len() as u64;
            // [MQTT-3.14.4-1]: DISCONNECT is the last packet of a client.
            return self.close_now(flow);
        }
        let allowed = decoded.and_then(|packet| {
            code_points::check(&packet)
                .map(|()| packet)
                .map_err(DecodeError::from)
        });
        if let Err(error) = allowed.and_then(|packet| self.receive_packet(flow, packet)) {
            self.fail(flow, connect::offered_version(frame), error);
        }
    }

    fn receive_packet(&mut self, flow: FlowId, packet: Packet<'_>) -> Result<(), DecodeError> {
        let Some(connection) = self.connections.get(&flow) else {
            return Ok(());
        };
        let version = match (connection.accepted(), &packet) {
            (None, Packet::Connect(connect)) => {
                self.connect(flow, connect);
                return Ok(());
            }
            // [MQTT-3.1.0-1]
            (None, packet) => return Err(ProtocolError::Unexpected(packet.packet_type()).into()),
            (Some(accepted), _) => accepted.version,
        };
        match packet {
            Packet::Publish(publish) => return self.receive_publish(flow, &publish),
            Packet::Puback(puback) => {
                return self.finish(flow, puback.packet_id, session::Stage::AwaitPuback);
            }
            Packet::Pubcomp(pubcomp) => {
                return self.finish(flow, pubcomp.packet_id, session::Stage::AwaitPubcomp);
            }
            Packet::Pubrec(pubrec) => return self.pubrec(flow, version, pubrec),
            Packet::Pubrel(pubrel) => self.pubrel(flow, version, pubrel.packet_id),
            Packet::Subscribe(subscribe) => return self.subscribe(flow, version, &subscribe),
            Packet::Unsubscribe(unsubscribe) => self.unsubscribe(flow, version, &unsubscribe),
            Packet::Pingreq => self.send(flow, version, Reply::Pingresp),
            Packet::Disconnect(disconnect) => return self.disconnected(flow, disconnect),
            // A second CONNECT [MQTT-3.1.0-2], AUTH without a method, and packets that only servers send.
            other => return Err(ProtocolError::Unexpected(other.packet_type()).into()),
        }
        Ok(())
    }

    /// The session of the client on `flow`.
    pub(super) fn session_of(&mut self, flow: FlowId) -> Option<&mut Session> {
        let id = self.accepted(flow)?.session;
        self.sessions.get_mut(id)
    }

    fn finish(&mut self, flow: FlowId, id: PacketId, stage: session::Stage) -> Result<(), DecodeError> {
        let Some(session) = self.session_of(flow) else {
            return Ok(());
        };
        if let Err(mismatch) = session.outbound.finish(id, stage) {
            self.stats.unexpected_answers += 1;
            mismatch.fault(stage.answer())?;
        }
        self.schedule_flow(flow);
        Ok(())
    }

    fn pubrec(
        &mut self,
        flow: FlowId,
        version: Version,
        pubrec: Acknowledgement<'_>,
    ) -> Result<(), DecodeError> {
        let Some(session) = self.session_of(flow) else {
            return Ok(());
        };
        let (id, refused) = (pubrec.packet_id, pubrec.reason.is_failure());
        match session.outbound.pubrec(id, refused) {
            Ok(Pubrec::Release) => self.send(flow, version, Reply::Pubrel(id, ReasonCode::Success)),
            Ok(Pubrec::Refused(_)) => self.schedule_flow(flow),
            Err(mismatch) => {
                self.stats.unexpected_answers += 1;
                mismatch.fault(PacketType::Pubrec)?;
                // [MQTT-4.3.3-4]: no PUBREL after a PUBREC with a failure.
                if !refused {
                    let reason = ReasonCode::PacketIdentifierNotFound;
                    self.send(flow, version, Reply::Pubrel(id, reason));
                }
            }
        }
        Ok(())
    }

    fn pubrel(&mut self, flow: FlowId, version: Version, id: PacketId) {
        let Some(session) = self.session_of(flow) else {
            return;
        };
        let reason = if session.inbound.release(id) {
            ReasonCode::Success
        } else {
            ReasonCode::PacketIdentifierNotFound
        };
        self.send(flow, version, Reply::Pubcomp(id, reason));
    }

    fn disconnected(&mut self, flow: FlowId, disconnect: Reason<'_>) -> Result<(), DecodeError> {
        let expiry = disconnect.properties.iter().find_map(|property| match property {
            Property::SessionExpiryInterval(seconds) => Some(seconds),
            _ => None,
        });
        let maximum = self.config.maximum_session_expiry;
        if let (Some(expiry), Some(session)) = (expiry, self.session_of(flow)) {
            // Section 3.14.2.2.2: the expiry interval must not change from zero.
            if session.expiry == 0 && expiry != 0 {
                return Err(ProtocolError::PropertyValue(0x11).into());
            }
            session.expiry = expiry.min(maximum);
        }
        let will = match disconnect.code {
            // [MQTT-3.14.4-3]
            ReasonCode::Success => WillHandling::Discard,
            _ => WillHandling::Publish,
        };
        self.end_after_client(flow, disconnect.code, will);
        if disconnect.code.is_failure() {
            self.close_now(flow);
        }
        Ok(())
    }

    /// Ends a connection because of an error of the client. `offered` is the version in a CONNECT.
    fn fail(&mut self, flow: FlowId, offered: Option<u8>, error: DecodeError) {
        self.stats.faults += 1;
        let stage = self.connections.get(&flow).map(|connection| &connection.state);
        match (stage, offered) {
            (Some(State::AwaitConnect), Some(level)) => self.refuse_malformed(flow, level, error),
            // [MQTT-4.13.1-1], [MQTT-4.13.2-1]
            _ => self.disconnect(flow, error.disconnect_reason()),
        }
    }

    /// Answers an invalid CONNECT. MQTT 3.1.1 reports only a wrong version [MQTT-3.1.2-2], and otherwise closes
    /// [MQTT-3.1.4-1]. MQTT 5 reports the reason.
    fn refuse_malformed(&mut self, flow: FlowId, level: u8, error: DecodeError) {
        let version = if level >= Version::V5.level() {
            Version::V5
        } else {
            Version::V3_1_1
        };
        let is_version = matches!(error, DecodeError::UnsupportedVersion(_));
        if version == Version::V5 || is_version {
            self.refuse(flow, version, error.reason_code(), PacketLimit::new(None));
        } else {
            self.end(flow, error.reason_code(), WillHandling::Discard);
        }
    }
}
