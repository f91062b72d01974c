//! How the client sends packets.

use wirecost_proto::{Buffer, Cause, FlowId, Output};

use super::ahead::Ahead;
use super::{Action, Aliases, Client, Command, Event, Limits, Outgoing, Request, State, Subject, Timer};
use crate::codec::framing::LARGEST_PACKET;
use crate::codec::{
    Acknowledgement, Connect, Packet, Properties, PropertiesBuf, Property, Publish, ReasonCode, Subscribe,
    Text, TooLong, Unsubscribe, Version,
};
use crate::quality::{Delivery, PacketId, QoS};
use crate::session::{Exchange, Stage};

/// The number of bytes that a topic alias adds to a packet.
const ALIAS_BYTES: usize = 3;

impl Client {
    /// Performs `action`. Returns `None` if its connection is gone.
    pub(super) fn perform(&mut self, action: Action, out: &mut Buffer) -> Option<Output<Event>> {
        let event = match action {
            Action::Event(event) => {
                if event == Event::Closed {
                    self.forget_connection();
                }
                return Some(Output::Event(event));
            }
            other => other,
        };
        let flow = self.flow()?;
        let closing = matches!(self.state, State::Closing(_));
        match event {
            Action::Consumed(footprint) => {
                footprint.cover(out);
                Some(Output::Consumed { flow })
            }
            _ if closing => None,
            Action::Connect => {
                let outcome = self.emit_connect(out);
                self.transmitted_or_failed(flow, outcome)
            }
            Action::Send(reply) => {
                let outcome = reply.packet().emit(self.version, out);
                self.transmitted_or_failed(flow, outcome)
            }
            Action::Close => {
                self.forget_connection();
                self.state = State::Closing(flow);
                Some(Output::Close { flow, reset: false })
            }
            Action::Event(_) => None,
        }
    }

    /// The next packet of the session: first those of a lost connection, then new requests.
    pub(super) fn transmit(&mut self, out: &mut Buffer) -> Option<Output<Event>> {
        let flow = match self.state {
            State::Connected(flow, _) => flow,
            State::AwaitConnack(flow, Ahead::Allowed) => return self.transmit_new(flow, out),
            State::Idle | State::AwaitConnack(..) | State::Ending(_) | State::Closing(_) => return None,
        };
        if let Some(exchange) = self.outbound.next_resend() {
            let outcome = resend(exchange, self.version, out);
            self.faults().resent += 1;
            return self.transmitted_or_failed(flow, outcome);
        }
        self.transmit_new(flow, out)
    }

    /// The next new request.
    fn transmit_new(&mut self, flow: FlowId, out: &mut Buffer) -> Option<Output<Event>> {
        // A request that cannot be sent produces no packet: continue with the next one.
        while let Some(request) = self.next_request() {
            let output = match request {
                Request::Publish(outgoing) => self.send_publish(flow, outgoing, out),
                Request::Other(command) => self.send_request(flow, &command, out),
            };
            if output.is_some() {
                return output;
            }
        }
        None
    }

    /// Takes the first request, unless it must wait for the server or for a packet identifier.
    fn next_request(&mut self) -> Option<Request> {
        let may_go = match self.requests.front()? {
            Request::Publish(outgoing) if outgoing.template.qos() == QoS::AtMostOnce => true,
            Request::Publish(_) => self.outbound.is_ready(),
            Request::Other(_) => self.outbound.has_free_id(),
        };
        if may_go { self.requests.pop_front() } else { None }
    }

    /// Restarts the keep-alive timer after sending a packet (section 3.1.2.10).
    fn transmitted(&mut self, flow: FlowId) -> Output<Event> {
        self.restart_keep_alive();
        Output::Transmit { flow }
    }

    /// Gives the connection up if a packet of this client is longer than MQTT can frame: nothing of it was written.
    fn transmitted_or_failed(&mut self, flow: FlowId, outcome: Result<(), TooLong>) -> Option<Output<Event>> {
        match outcome {
            Ok(()) => Some(self.transmitted(flow)),
            Err(too_long) => {
                self.fail(too_long.into());
                None
            }
        }
    }

    pub(super) fn restart_keep_alive(&mut self) {
        if let State::Connected(_, limits) = &self.state
            && !limits.keep_alive.is_zero()
        {
            self.timers.set(Timer::KeepAlive, self.now + limits.keep_alive);
        }
    }

    fn send_publish(&mut self, flow: FlowId, outgoing: Outgoing, out: &mut Buffer) -> Option<Output<Event>> {
        let (message, qos) = (outgoing.message, outgoing.template.qos());
        let mut publish = outgoing.publish(Delivery::new(qos, PacketId::MAX));
        let version = self.version;
        if let State::Connected(_, limits) = &mut self.state {
            if let Err(reason) = limits.allow(&publish, version) {
                return Some(Output::Event(Event::Refused { message, reason }));
            }
            let may_alias = limits.allow_alias(&publish, version);
            if let Some(aliases) = limits.aliases.as_mut().filter(|_| may_alias) {
                (publish.topic, publish.properties) = alias(aliases, &publish);
            }
        }
        let emitted = if qos == QoS::AtMostOnce {
            outgoing.emit(publish, version, out)
        } else {
            publish.delivery = Delivery::new(qos, self.outbound.next_id()?);
            outgoing.emit(publish, version, out)
        };
        if emitted.is_err() {
            let reason = ReasonCode::PacketTooLarge;
            return Some(Output::Event(Event::Refused { message, reason }));
        }
        if qos != QoS::AtMostOnce {
            self.outbound.publish(qos, Subject::Message(outgoing))?;
        }
        self.sent = Some(message);
        self.note_ahead(Ahead::Message(message));
        Some(self.transmitted(flow))
    }

    fn send_request(&mut self, flow: FlowId, command: &Command, out: &mut Buffer) -> Option<Output<Event>> {
        let packet = match command {
            Command::Subscribe { filters, properties } => Packet::Subscribe(Subscribe {
                packet_id: self.outbound.start(Stage::AwaitSuback, Subject::Subscription)?,
                properties: properties.as_properties(),
                filters: filters.as_filters(),
            }),
            Command::Unsubscribe { topics, properties } => Packet::Unsubscribe(Unsubscribe {
                packet_id: self.outbound.start(Stage::AwaitUnsuback, Subject::Subscription)?,
                properties: properties.as_properties(),
                topics: topics.as_topics(),
            }),
            _ => return None,
        };
        let outcome = packet.emit(self.version, out);
        self.note_ahead(Ahead::Request);
        self.transmitted_or_failed(flow, outcome)
    }

    fn emit_connect(&self, out: &mut Buffer) -> Result<(), TooLong> {
        let config = &self.config;
        let mut properties = PropertiesBuf::new();
        let (expiry, maximum) = (config.session_expiry, config.receive_maximum);
        properties.push_if(expiry != 0, Property::SessionExpiryInterval(expiry));
        properties.push_if(maximum != u16::MAX, Property::ReceiveMaximum(maximum));
        properties.extend(config.maximum_packet_size.map(Property::MaximumPacketSize));
        let aliases = config.topic_alias_maximum;
        properties.push_if(aliases != 0, Property::TopicAliasMaximum(aliases));
        let extra = config.extra.as_deref();
        if let Some(extra) = extra {
            properties.extend(extra.properties.as_properties().iter());
        }
        let connect = Connect {
            version: self.version,
            clean_start: config.clean_start,
            keep_alive: config.keep_alive,
            properties: properties.as_properties(),
            client_id: config.client_id.as_text(),
            will: extra.and_then(|extra| Some(extra.will.as_ref()?.as_will())),
            username: extra.and_then(|extra| Some(extra.username.as_ref()?.as_text())),
            password: extra.and_then(|extra| Some(extra.password.as_ref()?.as_binary())),
        };
        Packet::Connect(connect).emit(self.version, out)
    }
}

impl Limits {
    /// Checks the server's limits. The error is the reason code of the limit that `publish` breaks.
    fn allow(&self, publish: &Publish<'_>, version: Version) -> Result<(), ReasonCode> {
        // [MQTT-3.2.2-11]
        if publish.delivery.qos() > self.maximum_qos {
            return Err(ReasonCode::QosNotSupported);
        }
        // [MQTT-3.2.2-14]
        if publish.retain && !self.retain_available {
            return Err(ReasonCode::RetainNotSupported);
        }
        // [MQTT-3.2.2-15]
        if !self.fits(publish.packet_bytes(version)) {
            return Err(ReasonCode::PacketTooLarge);
        }
        Ok(())
    }

    fn allow_alias(&self, publish: &Publish<'_>, version: Version) -> bool {
        version == Version::V5 && self.fits(publish.packet_bytes(version) + ALIAS_BYTES + 1)
    }

    fn fits(&self, bytes: usize) -> bool {
        // No packet is longer, whatever the server says that it accepts.
        let limit = self.maximum_packet_size.unwrap_or(LARGEST_PACKET);
        bytes as u64 <= u64::from(limit.min(LARGEST_PACKET))
    }
}

/// The topic and the properties of `publish` with a topic alias.
fn alias<'a>(aliases: &'a mut Aliases, publish: &Publish<'a>) -> (Text<'a>, Properties<'a>) {
    let (topic, Some(number)) = aliases.sent.replace(publish.topic) else {
        return (publish.topic, publish.properties);
    };
    let scratch = &mut aliases.properties;
    scratch.clear();
    scratch.push(Property::TopicAlias(number));
    scratch.extend(publish.properties.iter());
    (topic, scratch.as_properties())
}

impl Outgoing {
    /// The PUBLISH packet, with the payload of the template.
    fn publish(&self, delivery: Delivery) -> Publish<'_> {
        Publish {
            dup: false,
            delivery,
            retain: self.template.retain(),
            topic: self.template.topic(),
            properties: self.template.properties(),
            payload: self.template.payload(),
        }
    }

    /// Appends the PUBLISH packet, with the stamp.
    fn emit(&self, publish: Publish<'_>, version: Version, out: &mut Buffer) -> Result<(), TooLong> {
        let since = out.spans().len();
        Packet::Publish(publish).emit(version, out)?;
        self.template.content().relabel(out, since, 0);
        let end = out.bytes().len();
        if let Some(stamp) = self.stamp
            && let Some(payload) = out.bytes_mut(end - publish.payload.len()..end)
        {
            stamp.put(payload);
        }
        Ok(())
    }
}

/// Sends the last packet of an exchange again on a new connection [MQTT-4.4.0-1].
fn resend(exchange: &Exchange<Subject>, version: Version, out: &mut Buffer) -> Result<(), TooLong> {
    if let (Stage::AwaitPuback | Stage::AwaitPubrec, Subject::Message(outgoing)) =
        (exchange.stage, &exchange.message)
    {
        let delivery = Delivery::new(outgoing.template.qos(), exchange.id);
        let publish = Publish {
            // [MQTT-3.3.1-1]
            dup: true,
            ..outgoing.publish(delivery)
        };
        return outgoing.emit(publish, version, out);
    }
    let release = Acknowledgement::new(exchange.id, ReasonCode::Success);
    Packet::Pubrel(release).emit_as(version, Cause::Retransmission, out)
}
