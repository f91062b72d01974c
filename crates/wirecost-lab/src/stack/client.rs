//! A device's endpoint, whatever its stack: the protocol's own client behind one set of commands and events.

use std::sync::Arc;

use wirecost_mqtt::client as mqtt;
use wirecost_mqtt::codec::{ReasonCode, Version};
use wirecost_mqtt::quality::QoS;
use wirecost_proto::{Buffer, Endpoint, Input, Instant, Output, Rng, bare};

use super::{Application, Command, Event, Stack};

/// What every client of a run has in common, and what is its own.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// What a message carries.
    pub payload: Arc<[u8]>,
    /// Topic, or path without its leading slash.
    pub resource: String,
    /// MQTT client identifier.
    pub client_id: String,
    /// MQTT keep-alive in seconds.
    pub keep_alive: u16,
    /// The device's own randomness.
    pub rng: Rng,
}

/// Why a client cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a {stack} client cannot be made: {reason}")]
pub struct ClientError {
    /// Name of the stack.
    pub stack: String,
    /// What its protocol objects to.
    pub reason: String,
}

/// A device's endpoint.
#[derive(Debug)]
pub enum Client {
    /// Bare TCP or UDP.
    Bare(BareClient),
    /// MQTT 3.1.1 or 5.
    Mqtt(Box<MqttClient>),
    /// CoAP.
    Coap(Box<CoapClient>),
}

impl Client {
    /// The client of a stack.
    ///
    /// # Errors
    /// The protocol cannot carry the resource's name, the client identifier or the payload.
    pub fn new(stack: Stack, config: &ClientConfig) -> Result<Self, ClientError> {
        let error = |reason: String| ClientError { stack: stack.to_string(), reason };
        Ok(match stack.application {
            Application::Tcp | Application::Udp => Self::Bare(BareClient {
                endpoint: bare::Client::new(stack.transport()),
                payload: Arc::clone(&config.payload),
            }),
            Application::Mqtt311(qos) => Self::mqtt(Version::V3_1_1, qos, config).map_err(error)?,
            Application::Mqtt5(qos) => Self::mqtt(Version::V5, qos, config).map_err(error)?,
            Application::CoapNon => Self::coap(false, config),
            Application::CoapCon => Self::coap(true, config),
        })
    }

    fn mqtt(version: Version, qos: u8, config: &ClientConfig) -> Result<Self, String> {
        let qos = QoS::from_bits(qos).ok_or_else(|| format!("no QoS {qos}"))?;
        let template = mqtt::PublishTemplate::new(&config.resource, qos, Arc::clone(&config.payload));
        let endpoint = mqtt::Client::new(mqtt::Config {
            version,
            client_id: config.client_id.parse().map_err(|error| format!("{error}"))?,
            keep_alive: config.keep_alive,
            ..mqtt::Config::default()
        });
        let template = Arc::new(template.map_err(|error| error.to_string())?);
        Ok(Self::Mqtt(Box::new(MqttClient { endpoint, template })))
    }
}

/// Bare TCP or UDP with the payload that it sends.
#[derive(Debug)]
pub struct BareClient {
    endpoint: bare::Client,
    payload: Arc<[u8]>,
}

/// An MQTT client with the message that it publishes.
#[derive(Debug)]
pub struct MqttClient {
    endpoint: mqtt::Client,
    template: Arc<mqtt::PublishTemplate>,
}

impl Endpoint for Client {
    type Command = Command;
    type Event = Event;
    type Error = String;

    fn handle_input(&mut self, input: Input<'_, Command>, now: Instant) -> Result<(), String> {
        match self {
            Self::Bare(client) => forward(&mut client.endpoint, input, now, |command| match command {
                Command::Send { .. } => bare::ClientCommand::Send(Arc::clone(&client.payload)),
                Command::Close => bare::ClientCommand::Close,
            }),
            Self::Mqtt(client) => forward(&mut client.endpoint, input, now, |command| match command {
                Command::Send { message } => {
                    mqtt::Command::PublishAs { message, template: Arc::clone(&client.template) }
                }
                Command::Close => mqtt::Command::Disconnect(ReasonCode::Success),
            }),
            Self::Coap(client) => forward(&mut client.endpoint, input, now, |command| client.template.command(command)),
        }
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Event> {
        match self {
            Self::Bare(client) => poll(&mut client.endpoint, out, bare_event),
            Self::Mqtt(client) => poll(&mut client.endpoint, out, mqtt_event),
            Self::Coap(client) => poll(&mut client.endpoint, out, coap_event),
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
    let input = match input {
        Input::Opened { flow, peer } => Input::Opened { flow, peer },
        Input::Received { flow, bytes } => Input::Received { flow, bytes },
        Input::Writable { flow } => Input::Writable { flow },
        Input::PeerClosed { flow } => Input::PeerClosed { flow },
        Input::Reset { flow, reason } => Input::Reset { flow, reason },
        Input::Command(command) => Input::Command(translate(command)),
        Input::Timeout => Input::Timeout,
    };
    endpoint.handle_input(input, now).map_err(|error| error.to_string())
}

/// Takes the next output whose event, if it is one, means something to a device.
fn poll<E: Endpoint>(
    endpoint: &mut E,
    out: &mut Buffer,
    translate: impl Fn(E::Event) -> Option<Event>,
) -> Output<Event> {
    loop {
        match endpoint.poll_output(out) {
            Output::Transmit { flow } => return Output::Transmit { flow },
            Output::Consumed { flow } => return Output::Consumed { flow },
            Output::Close { flow, reset } => return Output::Close { flow, reset },
            Output::Timeout(at) => return Output::Timeout(at),
            Output::Event(event) => {
                if let Some(event) = translate(event) {
                    return Output::Event(event);
                }
            }
        }
    }
}

fn bare_event(event: bare::ClientEvent) -> Option<Event> {
    Some(match event {
        bare::ClientEvent::Opened => Event::Ready,
        bare::ClientEvent::Closed => Event::Closed,
        bare::ClientEvent::Reset(reason) => Event::Lost { reason: reason.to_string() },
    })
}

fn mqtt_event(event: mqtt::Event) -> Option<Event> {
    Some(match event {
        mqtt::Event::Connected { .. } => Event::Ready,
        mqtt::Event::Refused { reason } => Event::Rejected { reason: format!("CONNACK {reason}") },
        mqtt::Event::Acknowledged { message, reason } if reason.is_error() => {
            Event::Refused { message, reason: reason.to_string() }
        }
        mqtt::Event::Acknowledged { message, .. } => Event::Acknowledged { message },
        mqtt::Event::Rejected { message, reason } => Event::Refused { message, reason: reason.to_string() },
        mqtt::Event::Discarded { message } => Event::TimedOut { message },
        mqtt::Event::Disconnected { reason } => Event::Rejected { reason: format!("DISCONNECT {reason}") },
        mqtt::Event::Failed(error) => Event::Lost { reason: error.to_string() },
        mqtt::Event::TimedOut(mqtt::Awaited::Connack) => Event::Lost { reason: "no CONNACK in time".into() },
        mqtt::Event::TimedOut(mqtt::Awaited::Pingresp) => Event::Lost { reason: "no PINGRESP in time".into() },
        mqtt::Event::Closed => Event::Closed,
        mqtt::Event::Reset(reason) => Event::Lost { reason: reason.to_string() },
        mqtt::Event::Sent { .. }
        | mqtt::Event::MessageReceived(_)
        | mqtt::Event::Subscribed { .. }
        | mqtt::Event::Unsubscribed { .. }
        | mqtt::Event::Pong => return None,
    })
}
