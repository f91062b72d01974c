//! A device's endpoint, whatever its stack: the protocol's own client behind one set of commands and events.

use std::sync::Arc;

use wirecost_coap::client as coap;
use wirecost_mqtt::client as mqtt;
use wirecost_mqtt::codec::{ReasonCode, Version};
use wirecost_mqtt::quality::QoS;
use wirecost_proto::{Buffer, Content, Endpoint, Input, Instant, Output, Rng, bare};

use super::{Application, Command, Event, Stack};

/// What is a client's own.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// MQTT client identifier.
    pub client_id: String,
    /// MQTT keep-alive in seconds.
    pub keep_alive: u16,
    /// The device's own randomness.
    pub rng: Rng,
}

/// Why a message cannot be sent by a stack, or a client cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{stack} cannot do this: {reason}")]
pub struct ClientError {
    /// Name of the stack.
    pub stack: String,
    /// What its protocol objects to.
    pub reason: String,
}

/// What the devices of a cell send, encoded once as far as the protocol allows.
#[derive(Clone, Debug)]
pub enum Message {
    /// The content itself.
    Bare(Content),
    /// A PUBLISH.
    Mqtt(Arc<mqtt::PublishTemplate>),
    /// A PUT.
    Coap(Arc<coap::RequestTemplate>),
}

impl Message {
    /// The message of a stack: `payload` for the topic or path `resource`.
    ///
    /// # Errors
    /// The protocol cannot carry the resource's name or the payload.
    pub fn new(stack: Stack, resource: &str, payload: &Arc<[u8]>) -> Result<Self, ClientError> {
        let error = |reason: String| ClientError {
            stack: stack.to_string(),
            reason,
        };
        let publish = |qos: u8| {
            let qos = QoS::from_bits(qos).ok_or_else(|| error(format!("there is no QoS {qos}")))?;
            let template = mqtt::PublishTemplate::new(resource, qos, Arc::clone(payload));
            template
                .map(|template| Self::Mqtt(Arc::new(template)))
                .map_err(|reason| error(reason.to_string()))
        };
        let put = |request: coap::Request| {
            let template = coap::RequestTemplate::new(request);
            template
                .map(|template| Self::Coap(Arc::new(template)))
                .map_err(|reason| error(reason.to_string()))
        };
        match stack.application {
            Application::Tcp | Application::Udp => Ok(Self::Bare(Arc::clone(payload).into())),
            Application::Mqtt311(qos) | Application::Mqtt5(qos) => publish(qos),
            Application::CoapNon => put(coap::Request::put_without_response(resource, payload.to_vec())),
            Application::CoapCon => put(coap::Request::put(resource, payload.to_vec())),
            _ => Err(error("its protocol is not built in yet".into())),
        }
    }
}

/// A device's endpoint with the message that it sends.
#[derive(Debug)]
pub enum Client {
    /// Bare TCP or UDP.
    Bare(bare::Client, Content),
    /// MQTT 3.1.1 or 5.
    Mqtt(Box<mqtt::Client>, Arc<mqtt::PublishTemplate>),
    /// CoAP.
    Coap(Box<coap::Client>, Arc<coap::RequestTemplate>),
}

impl Client {
    /// A client of a stack that sends `message`.
    ///
    /// # Errors
    /// The protocol cannot carry the client identifier.
    pub fn new(stack: Stack, message: &Message, config: &ClientConfig) -> Result<Self, ClientError> {
        let error = |reason: String| ClientError {
            stack: stack.to_string(),
            reason,
        };
        Ok(match message {
            Message::Bare(payload) => Self::Bare(bare::Client::new(stack.transport()), payload.clone()),
            Message::Mqtt(template) => {
                let client_id = config.client_id.parse();
                let config = mqtt::Config {
                    version: stack.mqtt_version(),
                    client_id: client_id.map_err(|reason| error(format!("{reason}")))?,
                    keep_alive: config.keep_alive,
                    ..mqtt::Config::default()
                };
                Self::Mqtt(Box::new(mqtt::Client::new(config)), Arc::clone(template))
            }
            Message::Coap(template) => {
                let client = coap::Client::new(coap::Config::new(config.rng));
                Self::Coap(Box::new(client), Arc::clone(template))
            }
        })
    }
}

impl Stack {
    /// The MQTT version that the stack speaks, if it speaks MQTT.
    const fn mqtt_version(self) -> Version {
        match self.application {
            Application::Mqtt5(_) => Version::V5,
            _ => Version::V3_1_1,
        }
    }
}

impl Endpoint for Client {
    type Command = Command;
    type Event = Event;
    type Error = String;

    fn handle_input(&mut self, input: Input<'_, Command>, now: Instant) -> Result<(), String> {
        match self {
            Self::Bare(client, payload) => forward(client, input, now, |command| match command {
                Command::Send { .. } => bare::ClientCommand::Send(payload.clone()),
                Command::Close => bare::ClientCommand::Close,
            }),
            Self::Mqtt(client, template) => forward(&mut **client, input, now, |command| match command {
                Command::Send { message } => mqtt::Command::PublishAs {
                    message,
                    template: Arc::clone(template),
                },
                Command::Close => mqtt::Command::Disconnect(ReasonCode::Success),
            }),
            Self::Coap(client, template) => forward(&mut **client, input, now, |command| match command {
                Command::Send { message } => coap::Command::Request {
                    message,
                    template: Arc::clone(template),
                },
                Command::Close => coap::Command::Close,
            }),
        }
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Event> {
        match self {
            Self::Bare(client, _) => client.poll_output(out).map_event(bare_event),
            Self::Mqtt(client, _) => client.poll_output(out).map_event(mqtt_event),
            Self::Coap(client, _) => client.poll_output(out).map_event(coap_event),
        }
    }
}

/// Hands an input on, its command translated.
fn forward<E: Endpoint<Error: std::fmt::Display>>(
    endpoint: &mut E,
    input: Input<'_, Command>,
    now: Instant,
    translate: impl FnOnce(Command) -> E::Command,
) -> Result<(), String> {
    endpoint
        .handle_input(input.map_command(translate), now)
        .map_err(|error| error.to_string())
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
