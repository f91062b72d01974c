//! How the gateway handles a received datagram.

use alloc::sync::Arc;

use wirecost_proto::{FlowId, Front};

use super::{Action, Event, Gateway, Session, time_out};
use crate::codec::code_points::has_disallowed;
use crate::sn::codec::{Connect, Message, MessageType, Publish, Quality, ReturnCode, Topic};
use crate::sn::describe::Footprint;

/// The gateway's number in GWINFO.
const GATEWAY_ID: &[u8] = &[1];

impl Gateway {
    pub(super) fn receive(&mut self, flow: FlowId, bytes: &[u8]) {
        let footprint = Footprint::from_datagram(bytes);
        self.actions.push_back(Action::Consumed(flow, footprint));
        let Ok(message) = Message::parse(bytes) else {
            self.stats.ignored += 1;
            return;
        };
        match message {
            Message::Connect(connect) => return self.take_connect(flow, &connect),
            Message::Publish(publish) if publish.quality == Quality::Connectionless => {
                return self.take_connectionless(flow, &publish);
            }
            Message::Other(MessageType::SearchGw, _) => {
                return self.send(flow, Message::Other(MessageType::GwInfo, GATEWAY_ID));
            }
            _ => {}
        }
        let Some(session) = self.sessions.get_mut(&flow) else {
            return self.refuse_unknown(flow, &message);
        };
        session.last_received = self.now;
        self.take(flow, &message);
    }

    /// Answers a message of a client that is not connected (section 6.14).
    fn refuse_unknown(&mut self, flow: FlowId, message: &Message<'_>) {
        let is_of_client = matches!(
            message.kind(),
            MessageType::Register
                | MessageType::Publish
                | MessageType::Pubrel
                | MessageType::Subscribe
                | MessageType::Unsubscribe
                | MessageType::Pingreq
                | MessageType::Disconnect
        );
        if is_of_client {
            self.stats.unknown += 1;
            self.send(flow, Message::Disconnect(None));
        } else {
            self.stats.ignored += 1;
        }
    }

    fn take(&mut self, flow: FlowId, message: &Message<'_>) {
        match *message {
            Message::Register { message_id, name, .. } => self.take_register(flow, message_id, name),
            Message::Publish(publish) => self.take_publish(flow, &publish),
            Message::Numbered(MessageType::Pubrel, message_id) => {
                if let Some(session) = self.sessions.get_mut(&flow) {
                    session.unreleased = session.unreleased.filter(|id| *id != message_id);
                }
                self.send(flow, Message::Numbered(MessageType::Pubcomp, message_id));
            }
            Message::Pingreq(_) => self.send(flow, Message::Pingresp),
            Message::Disconnect(duration) => {
                // A client that sleeps stays connected; its registrations are kept (section 6.14).
                match duration {
                    Some(duration) => self.supervise(flow, duration),
                    None => self.end(flow),
                }
                self.send(flow, Message::Disconnect(None));
            }
            Message::Other(MessageType::Subscribe, [_, high, low, ..]) => {
                self.actions
                    .push_back(Action::RefuseSubscription(flow, [*high, *low]));
            }
            Message::Other(MessageType::Unsubscribe, [_, high, low, ..]) => {
                let message_id = u16::from_be_bytes([*high, *low]);
                self.send(flow, Message::Numbered(MessageType::Unsuback, message_id));
            }
            _ => self.stats.ignored += 1,
        }
    }

    fn take_connect(&mut self, flow: FlowId, connect: &Connect<'_>) {
        if let Err(code) = self.admit(flow, connect) {
            self.send(flow, Message::Connack(code));
            return self.report(Event::ClientRefused { flow, code });
        }
        self.supervise(flow, connect.duration);
        self.send(flow, Message::Connack(ReturnCode::ACCEPTED));
    }

    /// Gives the client a session on this flow.
    fn admit(&mut self, flow: FlowId, connect: &Connect<'_>) -> Result<(), ReturnCode> {
        if connect.will || connect.client_id.is_empty() || has_disallowed(connect.client_id) {
            return Err(ReturnCode::NOT_SUPPORTED);
        }
        let current = self.sessions.get(&flow);
        if current.is_some_and(|session| *session.client_id == *connect.client_id) {
            // A CONNECT that was sent again keeps what the client has registered since the first one.
            return Ok(());
        }
        self.end(flow);
        if let Some(other) = self.flows.get(connect.client_id) {
            self.end(*other);
        }
        let held_bytes = self.held_bytes.saturating_add(connect.client_id.len());
        let is_full = self.sessions.len() >= self.config.maximum_clients;
        if is_full || held_bytes > self.config.maximum_held_bytes {
            return Err(ReturnCode::CONGESTION);
        }
        self.held_bytes = held_bytes;
        let client_id: Arc<str> = connect.client_id.into();
        self.flows.insert(client_id.clone(), flow);
        let session = Session {
            client_id: client_id.clone(),
            topics: alloc::vec::Vec::new(),
            acknowledged: None,
            unreleased: None,
            last_received: self.now,
            time_out: None,
            deadline: None,
        };
        self.sessions.insert(flow, session);
        self.report(Event::ClientConnected { flow, client_id });
        Ok(())
    }

    /// Ends the session if the client is silent for longer than `duration` seconds, with the tolerance of section 7.2.
    fn supervise(&mut self, flow: FlowId, duration: u16) {
        if let Some(session) = self.sessions.get_mut(&flow) {
            session.last_received = self.now;
            session.time_out = time_out(duration);
            let due = session.time_out.map(|time_out| self.now + time_out);
            self.set_deadline(flow, due);
        }
    }

    fn take_register(&mut self, flow: FlowId, message_id: u16, name: &str) {
        let (topic_id, code) = match self.register(flow, name) {
            Ok(topic_id) => (topic_id, ReturnCode::ACCEPTED),
            Err(code) => (0, code),
        };
        let regack = Message::Regack {
            topic_id,
            message_id,
            code,
        };
        self.send(flow, regack);
    }

    fn register(&mut self, flow: FlowId, name: &str) -> Result<u16, ReturnCode> {
        let session = self.sessions.get_mut(&flow).ok_or(ReturnCode::NOT_SUPPORTED)?;
        if name.is_empty() || crate::topic::has_wildcard(name) || has_disallowed(name) {
            return Err(ReturnCode::NOT_SUPPORTED);
        }
        if let Some(place) = session.topics.iter().position(|known| **known == *name) {
            return Ok(id_of(place));
        }
        let held_bytes = self.held_bytes.saturating_add(name.len());
        if session.topics.len() >= self.config.maximum_topics || held_bytes > self.config.maximum_held_bytes {
            return Err(ReturnCode::CONGESTION);
        }
        self.held_bytes = held_bytes;
        session.topics.push(name.into());
        Ok(id_of(session.topics.len() - 1))
    }

    /// A message at QoS -1, whose topic needs no registration (section 6.8).
    fn take_connectionless(&mut self, flow: FlowId, publish: &Publish<'_>) {
        if matches!(publish.topic, Topic::Registered(_)) {
            self.stats.ignored += 1;
            return;
        }
        self.published(flow, publish);
    }

    fn take_publish(&mut self, flow: FlowId, publish: &Publish<'_>) {
        let Some(session) = self.sessions.get_mut(&flow) else {
            return;
        };
        let is_known = match publish.topic {
            Topic::Registered(id) => (1..=session.topics.len()).contains(&usize::from(id)),
            Topic::Predefined(_) | Topic::Short(_) => true,
        };
        if !is_known {
            return self.send_puback(flow, publish, ReturnCode::INVALID_TOPIC_ID);
        }
        let id = Some(publish.message_id);
        let is_duplicate = match publish.quality {
            Quality::AtLeastOnce => {
                let is_last = session.acknowledged == id && publish.dup;
                session.acknowledged = id;
                is_last
            }
            Quality::ExactlyOnce => {
                let is_last = session.unreleased == id;
                session.unreleased = id;
                is_last
            }
            Quality::AtMostOnce | Quality::Connectionless => false,
        };
        if is_duplicate {
            self.stats.duplicates += 1;
        } else {
            self.published(flow, publish);
        }
        match publish.quality {
            Quality::AtLeastOnce => self.send_puback(flow, publish, ReturnCode::ACCEPTED),
            Quality::ExactlyOnce => {
                self.send(flow, Message::Numbered(MessageType::Pubrec, publish.message_id));
            }
            Quality::AtMostOnce | Quality::Connectionless => {}
        }
    }

    fn send_puback(&mut self, flow: FlowId, publish: &Publish<'_>, code: ReturnCode) {
        let puback = Message::Puback {
            topic: publish.topic.field(),
            message_id: publish.message_id,
            code,
        };
        self.send(flow, puback);
    }

    fn published(&mut self, flow: FlowId, publish: &Publish<'_>) {
        self.report(Event::Published {
            flow,
            payload_bytes: publish.payload.len(),
            front: Front::from_payload(publish.payload),
            quality: publish.quality,
            dup: publish.dup,
        });
    }
}

/// The topic id of a place in the list of topics. The list is shorter than 65,535.
fn id_of(place: usize) -> u16 {
    u16::try_from(place + 1).unwrap_or(u16::MAX)
}
