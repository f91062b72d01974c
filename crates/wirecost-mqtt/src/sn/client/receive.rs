//! How the client handles a received datagram.

use wirecost_proto::FlowId;

use super::{Action, Client, Event, Exchange, Timer};
use crate::quality::QoS;
use crate::sn::codec::{Message, MessageType, ReturnCode};
use crate::sn::describe::Footprint;

impl Client {
    pub(super) fn receive(&mut self, flow: FlowId, bytes: &[u8]) {
        if self.config.describes_received {
            let footprint = Footprint::from_datagram(bytes);
            self.actions.push_back(Action::Consumed(flow, footprint));
        }
        if self.flow != Some(flow) {
            return;
        }
        match Message::parse(bytes) {
            Ok(message) => self.take(flow, &message),
            Err(_) => self.stats.malformed += 1,
        }
    }

    fn take(&mut self, flow: FlowId, message: &Message<'_>) {
        let expected = match *message {
            Message::Connack(code) => self.take_connack(code),
            Message::Regack {
                topic_id,
                message_id,
                code,
            } => self.take_regack(topic_id, message_id, code),
            Message::Puback {
                topic,
                message_id,
                code,
            } => self.take_puback(u16::from_be_bytes(topic), message_id, code),
            Message::Numbered(kind, message_id) => self.take_numbered(kind, message_id),
            Message::Pingresp => self.take_pingresp(),
            Message::Pingreq(_) => {
                self.actions.push_back(Action::Send(Message::Pingresp));
                true
            }
            Message::Disconnect(_) => {
                match self.exchange {
                    Some(Exchange::Disconnect) => self.close(flow),
                    _ => self.fail(Event::Disconnected),
                }
                true
            }
            Message::Connect(_) | Message::Register { .. } | Message::Publish(_) | Message::Other(..) => {
                false
            }
        };
        if !expected {
            self.stats.unexpected += 1;
            self.stats.last_unexpected = Some(message.kind());
        }
    }

    fn take_connack(&mut self, code: ReturnCode) -> bool {
        if !matches!(self.exchange, Some(Exchange::Connect)) {
            return false;
        }
        self.finish();
        self.timers.stop(Timer::Connack);
        if code.is_refusal() {
            self.fail(Event::Rejected {
                by: MessageType::Connack,
                code,
            });
            return true;
        }
        let name = self.config.registers.clone();
        match name.filter(|name| self.topic_of(name).is_none()) {
            Some(name) => self.begin(Exchange::Register(name)),
            None => self.become_ready(),
        }
        true
    }

    fn take_regack(&mut self, topic_id: u16, message_id: u16, code: ReturnCode) -> bool {
        if !matches!(self.exchange, Some(Exchange::Register(_))) || message_id != self.message_id {
            return false;
        }
        let Some(Exchange::Register(name)) = self.finish() else {
            return false;
        };
        if !code.is_refusal() {
            self.topics.insert(name, topic_id);
            if !self.is_ready {
                self.become_ready();
            }
        } else if self.is_ready {
            if let Some(outgoing) = self.requests.pop_front() {
                let message = outgoing.message;
                self.report(Event::Refused { message, code });
            }
        } else {
            self.fail(Event::Rejected {
                by: MessageType::Regack,
                code,
            });
        }
        true
    }

    fn take_puback(&mut self, topic_id: u16, message_id: u16, code: ReturnCode) -> bool {
        if code == ReturnCode::INVALID_TOPIC_ID {
            // Section 6.6: the client registers the topic again.
            self.topics.retain(|_, id| *id != topic_id);
        }
        let is_awaited = matches!(&self.exchange, Some(Exchange::Publish(outgoing, _))
            if code.is_refusal() || outgoing.template.qos() == QoS::AtLeastOnce);
        if !is_awaited || message_id != self.message_id {
            // A refusal is the only answer to a message of QoS 0.
            return message_id == 0 && code.is_refusal();
        }
        let message = self.finish().and_then(|exchange| exchange.message());
        if let Some(message) = message {
            self.report(match code.is_refusal() {
                true => Event::Refused { message, code },
                false => Event::Acknowledged { message },
            });
        }
        true
    }

    fn take_numbered(&mut self, kind: MessageType, message_id: u16) -> bool {
        if message_id != self.message_id {
            return false;
        }
        match (kind, &self.exchange) {
            (MessageType::Pubrec, Some(Exchange::Publish(outgoing, _)))
                if outgoing.template.qos() == QoS::ExactlyOnce =>
            {
                let message = outgoing.message;
                self.begin(Exchange::Release(message));
                true
            }
            // The PUBREC of a PUBLISH that was sent again.
            (MessageType::Pubrec, Some(Exchange::Release(_))) => true,
            (MessageType::Pubcomp, Some(Exchange::Release(message))) => {
                let message = *message;
                self.finish();
                self.report(Event::Acknowledged { message });
                true
            }
            _ => false,
        }
    }

    fn take_pingresp(&mut self) -> bool {
        let is_awaited = matches!(self.exchange, Some(Exchange::Ping));
        if is_awaited {
            self.finish();
        }
        is_awaited
    }
}
