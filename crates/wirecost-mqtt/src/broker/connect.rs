//! CONNECT: which clients may connect, and with which session (sections 3.1.4 and 4.1).

use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use wirecost_proto::FlowId;
use wirecost_proto::credentials::is_secret;

use super::connection::{Accepted, Aliases, PacketLimit, State};
use super::lifetime::WillHandling;
use super::session::{NEVER, SessionId};
use super::{Broker, Deadline, Event};
use crate::aliases::{ReceivedAliases, SentAliases};
use crate::codec::framing::packet_bytes;
use crate::codec::properties::Property;
use crate::codec::{Connect, Properties, PropertiesBuf, ReasonCode, Text, Version};
use crate::reply::{ConnackReply, Reply};
use crate::topic;

/// The properties of a CONNECT, with the standard's defaults (section 3.1.2.11).
struct ConnectProperties {
    session_expiry: u32,
    receive_maximum: u16,
    packet_limit: PacketLimit,
    topic_alias_maximum: u16,
    response_information: bool,
    authentication_method: bool,
}

impl From<Properties<'_>> for ConnectProperties {
    fn from(properties: Properties<'_>) -> Self {
        let mut requested = Self {
            session_expiry: 0,
            receive_maximum: u16::MAX,
            packet_limit: PacketLimit::new(None),
            topic_alias_maximum: 0,
            response_information: false,
            authentication_method: false,
        };
        for property in properties.iter() {
            match property {
                Property::SessionExpiryInterval(seconds) => requested.session_expiry = seconds,
                Property::ReceiveMaximum(maximum) => requested.receive_maximum = maximum,
                Property::MaximumPacketSize(bytes) => requested.packet_limit = PacketLimit::new(Some(bytes)),
                Property::TopicAliasMaximum(maximum) => requested.topic_alias_maximum = maximum,
                Property::RequestResponseInformation(flag) => requested.response_information = flag != 0,
                Property::AuthenticationMethod(_) => requested.authentication_method = true,
                _ => {}
            }
        }
        requested
    }
}

impl Broker {
    pub(super) fn connect(&mut self, flow: FlowId, connect: &Connect<'_>) {
        let requested = ConnectProperties::from(connect.properties);
        let (version, limit) = (connect.version, requested.packet_limit);
        if let Err(reason) = self.admit(connect, &requested) {
            return self.refuse(flow, version, reason, limit);
        }
        let mut properties = self.config.announced();
        let assigned;
        let client_id = if connect.client_id.is_empty() {
            assigned = self.assign_client_id();
            if let Ok(id) = Text::new(&assigned) {
                // [MQTT-3.2.2-16]
                properties.push(Property::AssignedClientIdentifier(id));
            }
            &assigned
        } else {
            connect.client_id.as_str()
        };
        self.add_client_properties(version, &requested, &mut properties);
        // [MQTT-3.1.2-24]: the broker cannot send anything to such a client.
        if !limit.allows(connack_bytes(version, &properties)) {
            return self.refuse(flow, version, ReasonCode::PacketTooLarge, limit);
        }
        let Some((id, session_present)) = self.claim_session(client_id, connect.clean_start) else {
            return self.refuse(flow, version, ReasonCode::QuotaExceeded, limit);
        };
        let connack = ConnackReply {
            session_present,
            reason: ReasonCode::Success,
            properties,
        };
        self.send(flow, version, Reply::Connack(Box::new(connack)));
        self.attach(id, flow, connect, &requested);
        self.accept(id, flow, connect, &requested);
        self.report_connected(id, flow, version, session_present);
        self.schedule(id);
    }

    /// Returns the reason if the client must not connect.
    fn admit(&self, connect: &Connect<'_>, requested: &ConnectProperties) -> Result<(), ReasonCode> {
        // Section 4.12: no authentication method is supported.
        if requested.authentication_method {
            return Err(ReasonCode::BadAuthenticationMethod);
        }
        // [MQTT-3.1.3-8] of 3.1.1
        let must_name = connect.version == Version::V3_1_1 && !connect.clean_start;
        if must_name && connect.client_id.is_empty() {
            return Err(ReasonCode::ClientIdentifierNotValid);
        }
        if !self.is_authenticated(connect) {
            return Err(ReasonCode::BadUserNameOrPassword);
        }
        let Some(will) = connect.will else {
            return Ok(());
        };
        // [MQTT-3.2.2-12]
        if will.qos > self.config.maximum_qos {
            return Err(ReasonCode::QosNotSupported);
        }
        // [MQTT-3.2.2-13]
        if will.retain && !self.config.retain_available {
            return Err(ReasonCode::RetainNotSupported);
        }
        if !self.allows_topic(&will.topic) {
            return Err(ReasonCode::TopicNameInvalid);
        }
        Ok(())
    }

    fn is_authenticated(&self, connect: &Connect<'_>) -> bool {
        let Some(users) = &self.config.users else {
            return true;
        };
        let expected = connect.username.and_then(|name| users.get(name.as_str()));
        let password = connect.password.unwrap_or_default();
        // A user who is not known is refused as one whose password is wrong.
        let is_right = is_secret(expected.map(Vec::as_slice), password.as_bytes());
        connect.password.is_some() && is_right
    }

    /// Whether clients may publish to `topic`.
    pub(super) fn allows_topic(&self, topic: &str) -> bool {
        !topic::is_reserved(topic) && self.allows_levels(topic)
    }

    pub(super) fn allows_levels(&self, topic: &str) -> bool {
        topic.split('/').count() <= self.config.maximum_topic_levels
    }

    /// Refuses a CONNECT and closes the flow [MQTT-3.2.2-7]. Sends CONNACK if the client accepts packets of its size.
    pub(super) fn refuse(&mut self, flow: FlowId, version: Version, reason: ReasonCode, limit: PacketLimit) {
        let properties = PropertiesBuf::new();
        if limit.allows(connack_bytes(version, &properties)) {
            let connack = ConnackReply {
                // [MQTT-3.2.2-6]
                session_present: false,
                reason,
                properties,
            };
            self.send(flow, version, Reply::Connack(Box::new(connack)));
        }
        self.report(Event::ClientRefused { flow, reason });
        self.end(flow, reason, WillHandling::Discard);
    }

    /// A client identifier without a session.
    fn assign_client_id(&mut self) -> Arc<str> {
        loop {
            self.assigned += 1;
            let id = format!("wc-auto-{:08}", self.assigned);
            if self.sessions.find(&id).is_none() {
                return id.into();
            }
        }
    }

    /// The session of `client_id`, resumed or new; `None` if there are too many sessions.
    fn claim_session(&mut self, client_id: &str, clean_start: bool) -> Option<(SessionId, bool)> {
        if let Some(id) = self.sessions.find(client_id)
            && let Some(flow) = self.sessions.get(id)?.flow
        {
            // [MQTT-3.1.4-3]
            self.disconnect(flow, ReasonCode::SessionTakenOver);
        }
        if let Some(id) = self.sessions.find(client_id) {
            if !clean_start {
                return Some((id, true));
            }
            // [MQTT-3.1.2-4]
            self.end_session(id);
        }
        if self.sessions.len() >= self.config.maximum_sessions || self.free_memory() == 0 {
            return None;
        }
        Some((self.sessions.create(client_id, &self.memory), false))
    }

    /// Adds the CONNACK properties that depend on the client.
    fn add_client_properties(
        &self,
        version: Version,
        requested: &ConnectProperties,
        properties: &mut PropertiesBuf,
    ) {
        if version == Version::V5 && requested.session_expiry > self.config.maximum_session_expiry {
            let granted = self.config.maximum_session_expiry;
            properties.push(Property::SessionExpiryInterval(granted));
        }
        if let Some(information) = &self.config.response_information
            && requested.response_information
        {
            properties.push(Property::ResponseInformation(information.as_text()));
        }
    }

    fn attach(&mut self, id: SessionId, flow: FlowId, connect: &Connect<'_>, requested: &ConnectProperties) {
        self.timers.stop(Deadline::Will(id));
        self.timers.stop(Deadline::SessionExpiry(id));
        self.subscriptions.session_online(id);
        let Some(session) = self.sessions.get_mut(id) else {
            return;
        };
        session.flow = Some(flow);
        session.expiry = match connect.version {
            Version::V5 => requested.session_expiry.min(self.config.maximum_session_expiry),
            // Clean session means clean start without an expiry interval (MQTT 5, appendix C).
            Version::V3_1_1 if connect.clean_start => 0,
            Version::V3_1_1 => NEVER,
        };
        // A will of an earlier connection that is still delayed is not published [MQTT-3.1.3-9].
        session.set_will(connect.will.map(Into::into));
        let maximum = requested.receive_maximum.min(self.config.maximum_inflight);
        session.outbound.connect(maximum);
        session.update_memory();
    }

    fn accept(&mut self, id: SessionId, flow: FlowId, connect: &Connect<'_>, requested: &ConnectProperties) {
        let imposed = match connect.version {
            Version::V3_1_1 => None,
            Version::V5 => self.config.server_keep_alive,
        };
        let keep_alive = imposed.unwrap_or(connect.keep_alive);
        // [MQTT-3.1.2-22]: one and a half times the keep-alive.
        let time_out = Duration::from_millis(u64::from(keep_alive) * 1_500);
        let time_out = (!time_out.is_zero()).then_some(time_out);
        let sent = requested.topic_alias_maximum.min(self.config.sent_topic_aliases);
        let received = match connect.version {
            Version::V3_1_1 => 0,
            Version::V5 => self.config.topic_alias_maximum,
        };
        let aliases = || {
            Box::new(Aliases {
                sent: SentAliases::new(sent),
                received: ReceivedAliases::new(received),
            })
        };
        let Some(connection) = self.connections.get_mut(&flow) else {
            return;
        };
        connection.state = State::Connected(Accepted {
            session: id,
            version: connect.version,
            time_out,
            packet_limit: requested.packet_limit,
            aliases: (sent > 0 || received > 0).then(aliases),
            is_congested: false,
        });
        self.timers.stop(Deadline::Connect(flow));
        if let Some(time_out) = time_out {
            self.timers.set(Deadline::KeepAlive(flow), self.now + time_out);
        }
    }

    fn report_connected(&mut self, id: SessionId, flow: FlowId, version: Version, session_present: bool) {
        if let Some(session) = self.sessions.get(id) {
            let client_id = session.client_id.clone();
            self.report(Event::ClientConnected {
                flow,
                client_id,
                version,
                session_present,
            });
        }
    }
}

/// The length of a CONNACK with `properties` in bytes.
fn connack_bytes(version: Version, properties: &PropertiesBuf) -> usize {
    packet_bytes(2 + properties.as_properties().written_bytes_in(version))
}
