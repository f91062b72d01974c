//! How the client sends messages.

use core::time::Duration;

use wirecost_proto::{Buffer, Cause, Layer, Output};

use super::{Action, Client, Event, Exchange, Outgoing, Timer};
use crate::quality::QoS;
use crate::sn::codec::{Connect, Message, MessageType, Publish, Quality, TooLong, Topic};

impl Client {
    /// Performs `action`. Returns `None` if its connection is gone.
    pub(super) fn perform(&mut self, action: Action, out: &mut Buffer) -> Option<Output<Event>> {
        match action {
            Action::Event(event) => Some(Output::Event(event)),
            Action::Close(flow) => Some(Output::Close { flow, reset: false }),
            Action::Consumed(flow, footprint) => {
                footprint.cover(out);
                Some(Output::Consumed { flow })
            }
            Action::Exchange { again } => {
                let exchange = self.exchange.as_ref()?;
                if let Err(TooLong(_)) = self.emit_exchange(exchange, again, out) {
                    let event = Event::TooLong(exchange.kind());
                    self.fail(event);
                    return None;
                }
                if let (Exchange::Publish(outgoing, _), false) = (exchange, again) {
                    self.sent = Some(outgoing.message);
                }
                self.transmitted()
            }
            Action::Publish(outgoing, topic) => {
                let quality = match self.config.is_connectionless {
                    true => Quality::Connectionless,
                    false => Quality::AtMostOnce,
                };
                match outgoing.emit(quality, (topic, 0), false, out) {
                    Ok(()) => {
                        self.sent = Some(outgoing.message);
                        self.transmitted()
                    }
                    Err(TooLong(_)) => Some(Output::Event(outgoing.too_long())),
                }
            }
            Action::Send(message) => {
                emit(&message, false, out).ok()?;
                self.transmitted()
            }
        }
    }

    /// Restarts the keep-alive timer.
    fn transmitted(&mut self) -> Option<Output<Event>> {
        let flow = self.flow?;
        if self.config.keep_alive > 0 && !self.config.is_connectionless {
            let at = self.now + Duration::from_secs(self.config.keep_alive.into());
            self.timers.set(Timer::KeepAlive, at);
        }
        Some(Output::Transmit { flow })
    }

    fn emit_exchange(&self, exchange: &Exchange, again: bool, out: &mut Buffer) -> Result<(), TooLong> {
        let message_id = self.message_id;
        match exchange {
            Exchange::Connect => {
                let connect = Connect {
                    will: false,
                    clean_session: true,
                    duration: self.config.keep_alive,
                    client_id: &self.config.client_id,
                };
                emit(&Message::Connect(connect), again, out)
            }
            Exchange::Register(name) => {
                let register = Message::Register {
                    topic_id: 0,
                    message_id,
                    name,
                };
                emit(&register, again, out)
            }
            Exchange::Publish(outgoing, topic) => {
                let quality = match outgoing.template.qos() {
                    QoS::AtMostOnce => Quality::AtMostOnce,
                    QoS::AtLeastOnce => Quality::AtLeastOnce,
                    QoS::ExactlyOnce => Quality::ExactlyOnce,
                };
                outgoing.emit(quality, (*topic, message_id), again, out)
            }
            Exchange::Release(_) => emit(&Message::Numbered(MessageType::Pubrel, message_id), again, out),
            Exchange::Ping => emit(&Message::Pingreq(""), again, out),
            Exchange::Disconnect => emit(&Message::Disconnect(None), again, out),
        }
    }
}

/// Appends a message without payload.
pub(in crate::sn) fn emit(message: &Message<'_>, again: bool, out: &mut Buffer) -> Result<(), TooLong> {
    let kind = message.kind();
    let cause = if again {
        Cause::Retransmission
    } else {
        kind.cause()
    };
    let mut outcome = Ok(());
    out.push_with(Layer::Application, kind.phase(), cause, |bytes| {
        outcome = message.emit(bytes);
    });
    outcome
}

impl Outgoing {
    /// Appends the PUBLISH, with the stamp.
    fn emit(
        &self,
        quality: Quality,
        (topic, message_id): (Topic, u16),
        again: bool,
        out: &mut Buffer,
    ) -> Result<(), TooLong> {
        let content = self.template.content();
        let publish = Message::Publish(self.publish(quality, (topic, message_id), again));
        let phase = MessageType::Publish.phase();
        let cause = if again {
            Cause::Retransmission
        } else {
            Cause::Original
        };
        let mut outcome = Ok(());
        out.push_with(Layer::Application, phase, cause, |bytes| {
            outcome = publish.emit_header(bytes);
        });
        outcome?;
        let start = out.bytes().len();
        content.push(0..content.len(), phase, cause, out);
        if let Some(stamp) = self.stamp
            && let Some(payload) = out.bytes_mut(start..start + content.len())
        {
            stamp.put(payload);
        }
        Ok(())
    }

    fn publish(&self, quality: Quality, (topic, message_id): (Topic, u16), dup: bool) -> Publish<'_> {
        Publish {
            dup,
            quality,
            retain: self.template.retain(),
            topic,
            message_id,
            payload: self.template.payload(),
        }
    }

    /// Whether its PUBLISH and the REGISTER of its topic can be framed.
    pub(super) fn is_short_enough(&self) -> bool {
        let topic = Topic::Registered(0);
        let publish = Message::Publish(self.publish(Quality::AtMostOnce, (topic, 0), false));
        let register = Message::Register {
            topic_id: 0,
            message_id: 0,
            name: self.template.topic().as_str(),
        };
        publish.is_short_enough() && register.is_short_enough()
    }

    /// The event of a message that cannot be framed.
    pub(super) const fn too_long(&self) -> Event {
        Event::Unsent {
            message: self.message,
        }
    }
}
