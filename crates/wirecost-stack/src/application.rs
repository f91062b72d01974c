//! A device's application endpoint, whatever its protocol: one set of commands and events.

use wirecost_amqp::client as amqp;
use wirecost_coap::client as coap;
use wirecost_http::{client as http, http1, http3};
use wirecost_mqtt::client as mqtt;
use wirecost_mqtt::codec::ReasonCode;
use wirecost_proto::{Buffer, Endpoint, Input, Instant, Output, bare};
use wirecost_security::layer;

use super::message::{Message, Template};
use super::{Arrival, Command, Event, Outgoing, Stamp, Subscription};

/// The number under which a CoAP client observes: no message has it.
const OBSERVATION: u64 = u64::MAX;

/// A protocol's client, with the message that it sends where it has one of its own.
pub(super) struct ApplicationClient {
    protocol: Protocol,
    message: Option<Box<Message>>,
}

/// A protocol's client.
pub(super) enum Protocol {
    /// Bare TCP or UDP.
    Bare(bare::Client),
    /// MQTT 3.1.1 or 5.
    Mqtt(Box<mqtt::Client>),
    /// CoAP.
    Coap(Box<coap::Client>),
    /// AMQP 1.0.
    Amqp(Box<amqp::Client>),
    /// HTTP/1.1.
    Http1(Box<http1::Client>),
    /// HTTP/3.
    Http3(Box<http3::Client>),
}

impl ApplicationClient {
    /// A client that sends `message`.
    pub(super) fn sending(protocol: Protocol, message: Message) -> Self {
        Self {
            protocol,
            message: Some(Box::new(message)),
        }
    }

    /// A client that is given what it sends.
    pub(super) const fn idle(protocol: Protocol) -> Self {
        Self {
            protocol,
            message: None,
        }
    }

    fn send_own(&mut self, message: u64, now: Instant) -> Result<(), String> {
        let Some(own) = &mut self.message else {
            return Err("a client without a message of its own".into());
        };
        let template = own.next().map_err(|error| error.to_string())?;
        self.send(message, template.into(), now)
    }

    fn send(&mut self, message: u64, outgoing: Outgoing, now: Instant) -> Result<(), String> {
        let Outgoing { template, stamp } = outgoing;
        let other_protocol = || Err("a message of another protocol".into());
        match &mut self.protocol {
            Protocol::Bare(client) => {
                let Template::Bare(content) = template else {
                    return other_protocol();
                };
                command(client, bare::ClientCommand::Send { message, content }, now)
            }
            Protocol::Mqtt(client) => {
                let Template::Mqtt(template) = template else {
                    return other_protocol();
                };
                let publish = mqtt::Command::PublishAs {
                    message,
                    template,
                    stamp,
                };
                command(&mut **client, publish, now)
            }
            Protocol::Coap(client) => {
                let Template::Coap(template) = template else {
                    return other_protocol();
                };
                command(&mut **client, coap::Command::Request { message, template }, now)
            }
            Protocol::Amqp(client) => {
                let Template::Amqp(template) = template else {
                    return other_protocol();
                };
                command(&mut **client, amqp::Command::Send { message, template }, now)
            }
            Protocol::Http1(client) => {
                let Template::Http(template) = template else {
                    return other_protocol();
                };
                command(&mut **client, http::Command::Request { message, template }, now)
            }
            Protocol::Http3(client) => {
                let Template::Http(template) = template else {
                    return other_protocol();
                };
                command(&mut **client, http::Command::Request { message, template }, now)
            }
        }
    }

    fn subscribe(&mut self, subscription: &Subscription, now: Instant) -> Result<(), String> {
        match &mut self.protocol {
            Protocol::Mqtt(client) => command(&mut **client, subscription.subscribe()?, now),
            Protocol::Coap(client) => command(&mut **client, subscription.observe(OBSERVATION)?, now),
            Protocol::Bare(_) | Protocol::Amqp(_) | Protocol::Http1(_) | Protocol::Http3(_) => {
                Err("a subscription of another protocol".into())
            }
        }
    }

    fn close(&mut self, now: Instant) -> Result<(), String> {
        match &mut self.protocol {
            Protocol::Bare(client) => command(client, bare::ClientCommand::Close, now),
            Protocol::Mqtt(client) => {
                command(&mut **client, mqtt::Command::Disconnect(ReasonCode::Success), now)
            }
            Protocol::Coap(client) => command(&mut **client, coap::Command::Close, now),
            Protocol::Amqp(client) => command(&mut **client, amqp::Command::Close, now),
            Protocol::Http1(client) => command(&mut **client, http::Command::Close, now),
            Protocol::Http3(client) => command(&mut **client, http::Command::Close, now),
        }
    }
}

fn command<E: Endpoint<Error: std::fmt::Display>>(
    endpoint: &mut E,
    command: E::Command,
    now: Instant,
) -> Result<(), String> {
    let handled = endpoint.handle_input(Input::Command(command), now);
    handled.map_err(|error| error.to_string())
}

impl Endpoint for ApplicationClient {
    type Command = Command;
    type Event = Event;
    type Error = String;

    fn handle_input(&mut self, input: Input<'_, Command>, now: Instant) -> Result<(), String> {
        if let Input::Command(command) = input {
            return match command {
                Command::Transmit { message, outgoing } => self.send(message, outgoing, now),
                Command::Send { message } => self.send_own(message, now),
                Command::Subscribe(subscription) => self.subscribe(&subscription, now),
                Command::Close => self.close(now),
            };
        }
        match &mut self.protocol {
            Protocol::Bare(client) => forward(client, input, now),
            Protocol::Mqtt(client) => forward(&mut **client, input, now),
            Protocol::Coap(client) => forward(&mut **client, input, now),
            Protocol::Amqp(client) => forward(&mut **client, input, now),
            Protocol::Http1(client) => forward(&mut **client, input, now),
            Protocol::Http3(client) => forward(&mut **client, input, now),
        }
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Event> {
        match &mut self.protocol {
            Protocol::Bare(client) => client.poll_output(out).map_event(bare_event),
            Protocol::Mqtt(client) => client.poll_output(out).map_event(mqtt_event),
            Protocol::Coap(client) => client.poll_output(out).map_event(coap_event),
            Protocol::Amqp(client) => client.poll_output(out).map_event(amqp_event),
            Protocol::Http1(client) => client.poll_output(out).map_event(http_event),
            Protocol::Http3(client) => client
                .poll_output(out)
                .map_event(|event| layer_event(event, http_event)),
        }
    }
}

/// Hands an input other than a command on.
fn forward<E: Endpoint<Error: std::fmt::Display>>(
    endpoint: &mut E,
    input: Input<'_, Command>,
    now: Instant,
) -> Result<(), String> {
    let Some(input) = input.without_command() else {
        return Ok(());
    };
    endpoint
        .handle_input(input, now)
        .map_err(|error| error.to_string())
}

/// What a layer reports, in the words of a device.
pub(super) fn layer_event<E>(event: layer::Event<E>, inner: impl FnOnce(E) -> Event) -> Event {
    match event {
        layer::Event::Inner(event) => inner(event),
        layer::Event::Established { start, .. } => Event::Established { start },
        layer::Event::EarlyData { .. } => Event::Other,
        layer::Event::Failed {
            fault: layer::Fault::Start { granted, .. },
            ..
        } => Event::Established { start: granted },
        layer::Event::Failed { fault, .. } => {
            let reason = fault.to_string();
            match fault {
                layer::Fault::TimedOut { .. } | layer::Fault::Other(_) => Event::Lost { reason },
                layer::Fault::Certificate(_)
                | layer::Fault::Alert(_)
                | layer::Fault::Protocol { .. }
                | layer::Fault::Start { .. }
                | layer::Fault::CutOff(_) => Event::Rejected { reason },
            }
        }
    }
}

/// Ready, where no protocol keeps a session.
const READY: Event = Event::Ready {
    session_present: false,
};

fn bare_event(event: bare::ClientEvent) -> Event {
    match event {
        bare::ClientEvent::Opened => READY,
        bare::ClientEvent::Sent { message } => Event::Sent { message },
        bare::ClientEvent::Closed => Event::Closed,
        bare::ClientEvent::Reset(reason) => Event::Lost {
            reason: reason.to_string(),
        },
    }
}

fn mqtt_event(event: mqtt::Event) -> Event {
    match event {
        mqtt::Event::Connected { session_present, .. } => Event::Ready { session_present },
        mqtt::Event::Refused { reason } => Event::Rejected {
            reason: format!("CONNACK {reason}"),
        },
        mqtt::Event::Acknowledged { message, reason } if reason.is_failure() => Event::Refused {
            message,
            reason: reason.to_string(),
        },
        mqtt::Event::Acknowledged { message, .. } => Event::Acknowledged { message },
        mqtt::Event::Rejected { message, reason } => Event::Refused {
            message,
            reason: reason.to_string(),
        },
        mqtt::Event::Discarded { message } => Event::TimedOut { message },
        mqtt::Event::Disconnected { reason } => Event::Rejected {
            reason: format!("DISCONNECT {reason}"),
        },
        mqtt::Event::Failed(error) => Event::Rejected {
            reason: error.to_string(),
        },
        mqtt::Event::TimedOut(mqtt::Awaited::Connack) => Event::Lost {
            reason: "no CONNACK in time".into(),
        },
        mqtt::Event::TimedOut(mqtt::Awaited::Pingresp) => Event::Lost {
            reason: "no PINGRESP in time".into(),
        },
        mqtt::Event::Closed => Event::Closed,
        mqtt::Event::Reset(reason) => Event::Lost {
            reason: reason.to_string(),
        },
        mqtt::Event::DigestReceived(digest) => Event::Received(Arrival {
            stamp: Stamp::read(&digest.head[..digest.head.len().min(digest.payload_bytes)]),
            payload_bytes: digest.payload_bytes as u64,
            duplicate: digest.dup,
            retained: digest.retain,
        }),
        mqtt::Event::Subscribed { codes } => match codes.iter().find(|code| code.is_failure()) {
            Some(reason) => Event::SubscriptionRefused {
                reason: format!("SUBACK {reason}"),
            },
            None => Event::Subscribed,
        },
        mqtt::Event::Sent { message } => Event::Sent { message },
        mqtt::Event::MessageReceived(_) | mqtt::Event::Unsubscribed { .. } | mqtt::Event::Pong => {
            Event::Other
        }
    }
}

fn coap_event(event: coap::Event) -> Event {
    match event {
        coap::Event::Opened => READY,
        coap::Event::Response(response) if response.message == OBSERVATION => observed(&response),
        // RFC 7641, section 4.2: an error ends the observation.
        coap::Event::Notification(response) if !response.code.is_success() => Event::SubscriptionRefused {
            reason: format!("the observation ended with {}", response.code),
        },
        coap::Event::Notification(response) => Event::Received(Arrival {
            stamp: Stamp::read(&response.payload),
            payload_bytes: response.payload.len() as u64,
            duplicate: false,
            retained: false,
        }),
        coap::Event::Response(response) if response.code.is_success() => Event::Acknowledged {
            message: response.message,
        },
        coap::Event::Response(response) => Event::Refused {
            message: response.message,
            reason: response.code.to_string(),
        },
        coap::Event::TimedOut { message, .. } => Event::TimedOut { message },
        coap::Event::Reset { message } => Event::Refused {
            message,
            reason: "RST".into(),
        },
        coap::Event::Failed {
            message,
            failure: coap::Failure::FlowEnded,
        } => Event::TimedOut { message },
        coap::Event::Failed { message, failure } => Event::Refused {
            message,
            reason: failure.to_string(),
        },
        coap::Event::FlowReset(reason) => Event::Lost {
            reason: reason.to_string(),
        },
        coap::Event::Sent { message } => Event::Sent { message },
        coap::Event::Closed | coap::Event::Acknowledged { .. } | coap::Event::Pong { .. } => Event::Other,
    }
}

/// What the answer to a registration says (RFC 7641, section 3.1).
fn observed(response: &coap::Response) -> Event {
    let reason = match response.options.view().observe() {
        Some(_) if response.code.is_success() => return Event::Subscribed,
        None if response.code.is_success() => "the resource cannot be observed".to_owned(),
        _ => response.code.to_string(),
    };
    Event::SubscriptionRefused { reason }
}

fn amqp_event(event: amqp::Event) -> Event {
    match event {
        amqp::Event::Opened => READY,
        amqp::Event::Sent { message } => Event::Sent { message },
        amqp::Event::Acknowledged { message } => Event::Acknowledged { message },
        amqp::Event::Refused { message, reason } => Event::Refused {
            message,
            reason: reason.to_string(),
        },
        amqp::Event::Discarded { message } => Event::TimedOut { message },
        amqp::Event::Failed(failure @ amqp::Failure::TimedOut(_)) => Event::Lost {
            reason: failure.to_string(),
        },
        amqp::Event::Failed(failure) => Event::Rejected {
            reason: failure.to_string(),
        },
        amqp::Event::Closed { error: None } => Event::Closed,
        amqp::Event::Closed { error: Some(error) } => Event::Rejected {
            reason: error.to_string(),
        },
        amqp::Event::Reset(reason) => Event::Lost {
            reason: reason.to_string(),
        },
    }
}

fn http_event(event: http::Event) -> Event {
    match event {
        http::Event::Opened => READY,
        http::Event::Sent { message } => Event::Sent { message },
        http::Event::Response { message, status, .. } if status.is_success() => {
            Event::Acknowledged { message }
        }
        http::Event::Response { message, status, .. } => Event::Refused {
            message,
            reason: status.to_string(),
        },
        http::Event::Failed {
            message,
            reason: http::Failure::Closed | http::Failure::Abandoned | http::Failure::Reset(_),
        }
        | http::Event::TimedOut { message } => Event::TimedOut { message },
        http::Event::Failed { message, reason } => Event::Refused {
            message,
            reason: reason.to_string(),
        },
        http::Event::Closed | http::Event::GoneAway => Event::Closed,
        http::Event::Reset(reason) => Event::Lost {
            reason: reason.to_string(),
        },
    }
}
