//! A device's application endpoint, whatever its protocol: one set of commands and events.

use wirecost_amqp::client as amqp;
use wirecost_coap::client as coap;
use wirecost_http::client as http;
use wirecost_http::{http1, http3};
use wirecost_mqtt::client as mqtt;
use wirecost_mqtt::codec::ReasonCode;
use wirecost_proto::{Buffer, Endpoint, Input, Instant, Output, bare};
use wirecost_security::layer;

use super::message::{Message, Template};
use super::{Command, Event};

/// A protocol's client with the message that it sends.
pub(super) struct ApplicationClient {
    protocol: Protocol,
    message: Message,
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
    pub(super) const fn new(protocol: Protocol, message: Message) -> Self {
        Self { protocol, message }
    }

    fn send(&mut self, message: u64, now: Instant) -> Result<(), String> {
        let template = self.message.next().map_err(|error| error.to_string())?;
        match (&mut self.protocol, template) {
            (Protocol::Bare(client), Template::Bare(content)) => {
                command(client, bare::ClientCommand::Send(content), now)
            }
            (Protocol::Mqtt(client), Template::Mqtt(template)) => {
                command(&mut **client, mqtt::Command::PublishAs { message, template }, now)
            }
            (Protocol::Coap(client), Template::Coap(template)) => {
                command(&mut **client, coap::Command::Request { message, template }, now)
            }
            (Protocol::Amqp(client), Template::Amqp(template)) => {
                command(&mut **client, amqp::Command::Send { message, template }, now)
            }
            (Protocol::Http1(client), Template::Http(template)) => {
                command(&mut **client, http::Command::Request { message, template }, now)
            }
            (Protocol::Http3(client), Template::Http(template)) => {
                command(&mut **client, http::Command::Request { message, template }, now)
            }
            _ => Err("a message of another protocol".into()),
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
        match input {
            Input::Command(Command::Send { message }) => return self.send(message, now),
            Input::Command(Command::Close) => return self.close(now),
            _ => {}
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
        layer::Event::Failed { fault, .. } => Event::Lost {
            reason: fault.to_string(),
        },
    }
}

fn bare_event(event: bare::ClientEvent) -> Event {
    match event {
        bare::ClientEvent::Opened => Event::Ready,
        bare::ClientEvent::Closed => Event::Closed,
        bare::ClientEvent::Reset(reason) => Event::Lost {
            reason: reason.to_string(),
        },
    }
}

fn mqtt_event(event: mqtt::Event) -> Event {
    match event {
        mqtt::Event::Connected { .. } => Event::Ready,
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
        mqtt::Event::Failed(error) => Event::Lost {
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
        mqtt::Event::Sent { .. }
        | mqtt::Event::MessageReceived(_)
        | mqtt::Event::Subscribed { .. }
        | mqtt::Event::Unsubscribed { .. }
        | mqtt::Event::Pong => Event::Other,
    }
}

fn coap_event(event: coap::Event) -> Event {
    match event {
        coap::Event::Opened => Event::Ready,
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
        coap::Event::Failed { message, failure } => Event::Refused {
            message,
            reason: failure.to_string(),
        },
        coap::Event::FlowReset(reason) => Event::Lost {
            reason: reason.to_string(),
        },
        coap::Event::Closed
        | coap::Event::Acknowledged { .. }
        | coap::Event::Notification(_)
        | coap::Event::Sent { .. }
        | coap::Event::Pong { .. } => Event::Other,
    }
}

fn amqp_event(event: amqp::Event) -> Event {
    match event {
        amqp::Event::Opened => Event::Ready,
        amqp::Event::Sent { .. } => Event::Other,
        amqp::Event::Acknowledged { message } => Event::Acknowledged { message },
        amqp::Event::Refused { message, reason } => Event::Refused {
            message,
            reason: reason.to_string(),
        },
        amqp::Event::Discarded { message } => Event::TimedOut { message },
        amqp::Event::Failed(failure) => Event::Lost {
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
        http::Event::Opened => Event::Ready,
        http::Event::Response { message, status, .. } if status.is_success() => {
            Event::Acknowledged { message }
        }
        http::Event::Response { message, status, .. } => Event::Refused {
            message,
            reason: status.to_string(),
        },
        http::Event::Failed { message, .. } | http::Event::TimedOut { message } => {
            Event::TimedOut { message }
        }
        http::Event::Closed => Event::Closed,
        http::Event::Reset(reason) => Event::Lost {
            reason: reason.to_string(),
        },
    }
}
