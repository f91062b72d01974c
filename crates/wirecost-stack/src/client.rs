//! A device's endpoint, whatever its stack: the application's client within the layer that protects its channel.

use crate::error::ClientError;
use std::time::Duration;

use wirecost_amqp::client as amqp;
use wirecost_coap::client as coap;
use wirecost_coap::shared::Share;
use wirecost_http::{http1, http3};
use wirecost_mqtt::client as mqtt;
use wirecost_mqtt::codec::Version;
use wirecost_mqtt::codec::text::FieldError;
use wirecost_mqtt::quality::QoS;
use wirecost_proto::hosts::HostIndex;
use wirecost_proto::{Buffer, Endpoint, Input, Instant, Output, Rng, bare};
use wirecost_security::{Start, dtls, tls};

use super::application::{ApplicationClient, Protocol, layer_event};
use super::channels::ClientChannels;
pub use super::message::Message;
use super::{Application, Channel, Command, Event, Stack};

/// Longer than any message is waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(7_200);

/// What is a client's own.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// MQTT client identifier and AMQP container.
    pub client_id: String,
    /// MQTT keep-alive in seconds.
    pub keep_alive: u16,
    /// Its number on the link.
    pub host: HostIndex,
    /// The device's own randomness.
    pub rng: Rng,
    /// How its connections start; where that needs a ticket, the first one starts cold.
    pub start: Start,
    /// Whether HTTP/1.1 asks the server to close after the answer.
    pub connection_close: bool,
    /// What it asks the server to keep and whom it says it is; `None` is a clean start without a name.
    pub session: Option<Box<Session>>,
    /// Whether anybody asks what the bytes are that it receives; of HTTP/3, what it sends, too.
    pub describes_received: bool,
    /// The endpoint that it shares with others (CoAP); `None` is one of its own.
    pub endpoint: Option<Share>,
}

/// What a device asks of the server beyond a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// User name and password (MQTT, AMQP).
    pub login: Option<(String, String)>,
    /// What the server publishes when the device is lost (MQTT).
    pub will: Option<Will>,
    /// How long the session outlives the connection (MQTT; 3.1.1 has no limit); `None` starts clean.
    pub expiry: Option<Duration>,
}

/// A will (MQTT), with the quality of service of the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Will {
    /// Topic.
    pub topic: String,
    /// Payload.
    pub payload: String,
}

/// A device's endpoint.
pub struct Client {
    layer: Layer,
}

enum Layer {
    /// Nothing, or what the application brings along.
    Plain(ApplicationClient),
    /// TLS.
    Tls(Box<tls::Client<ApplicationClient>>),
    /// DTLS.
    Dtls(Box<dtls::Client<ApplicationClient>>),
}

impl Client {
    /// A client that sends `message`.
    ///
    /// # Errors
    /// The protocol cannot carry the client identifier, or there is no channel of that kind.
    pub fn new(
        message: &Message,
        config: &ClientConfig,
        channels: &ClientChannels,
    ) -> Result<Self, ClientError> {
        let stack = message.stack();
        let protocol = protocol(stack, message.resource(), config, channels)?;
        let application = ApplicationClient::sending(protocol, message.clone());
        Self::around(application, stack, config, channels)
    }

    /// A client that has no message of its own: it is given what it sends. `resource` is the AMQP target.
    ///
    /// # Errors
    /// As [`Client::new`].
    pub fn idle(
        stack: Stack,
        resource: &str,
        config: &ClientConfig,
        channels: &ClientChannels,
    ) -> Result<Self, ClientError> {
        let application = ApplicationClient::idle(protocol(stack, resource, config, channels)?);
        Self::around(application, stack, config, channels)
    }

    /// The layer of the stack's channel around `application`.
    fn around(
        application: ApplicationClient,
        stack: Stack,
        config: &ClientConfig,
        channels: &ClientChannels,
    ) -> Result<Self, ClientError> {
        let error = |reason| ClientError::new(stack, reason);
        let layer = if stack.channel.is_tls() {
            let config = channels.tls(stack.channel, config.start).map_err(error)?;
            Layer::Tls(Box::new(tls::Client::new(config, application)))
        } else if stack.channel.is_dtls() {
            let config = channels.dtls(stack.channel).map_err(error)?;
            Layer::Dtls(Box::new(dtls::Client::new(config, application)))
        } else {
            Layer::Plain(application)
        };
        Ok(Self { layer })
    }
}

fn protocol(
    stack: Stack,
    resource: &str,
    config: &ClientConfig,
    channels: &ClientChannels,
) -> Result<Protocol, ClientError> {
    let error = |reason: &dyn std::fmt::Display| ClientError::new(stack, reason);
    Ok(match stack.application {
        Application::Tcp | Application::Udp => Protocol::Bare(bare::Client::new(stack.transport())),
        Application::Mqtt311(_) | Application::Mqtt5(_) => {
            let mqtt = mqtt(stack, config).map_err(|reason| error(&reason))?;
            Protocol::Mqtt(Box::new(mqtt::Client::new(mqtt)))
        }
        Application::CoapNon | Application::CoapCon => {
            let coap = coap::Config {
                shared: config.endpoint.clone(),
                ..coap::Config::new(config.rng)
            };
            let coap = match channels.oscore(stack.channel, config.host) {
                Some(context) => coap.with_oscore(context.map_err(|reason| error(&reason))?),
                None => coap,
            };
            Protocol::Coap(Box::new(coap::Client::new(coap)))
        }
        Application::AmqpSettled | Application::AmqpUnsettled => {
            Protocol::Amqp(Box::new(amqp::Client::new(amqp::Config {
                container_id: config.client_id.clone(),
                link_name: config.client_id.clone(),
                target: resource.to_owned(),
                settled: stack.application == Application::AmqpSettled,
                sasl: sasl(config),
                ..amqp::Config::default()
            })))
        }
        Application::Http1 => Protocol::Http1(Box::new(http1::Client::new(http1::ClientConfig {
            connection_close: config.connection_close,
            // The sender of a message decides how long it waits for an answer.
            response_timeout: None,
            ..http1::ClientConfig::default()
        }))),
        Application::Http3 => {
            let tls = channels
                .tls(Channel::Tls13, config.start)
                .map_err(|reason| error(&reason))?;
            let http = http3::ClientConfig {
                // The sender of a message decides how long it waits for an answer.
                response_timeout: LONGEST_WAIT,
                describes: config.describes_received,
                ..http3::ClientConfig::new(tls, config.rng)
            };
            Protocol::Http3(Box::new(
                http3::Client::new(http).map_err(|reason| error(&reason))?,
            ))
        }
    })
}

/// How an MQTT client of the stack connects.
fn mqtt(stack: Stack, config: &ClientConfig) -> Result<mqtt::Config, FieldError> {
    let mut mqtt = mqtt::Config {
        version: stack.mqtt_version(),
        client_id: config.client_id.parse()?,
        keep_alive: config.keep_alive,
        reports_digests: true,
        // A layer around it tells its own bytes by those of its application.
        describes_received: config.describes_received || stack.channel != Channel::Plain,
        ..mqtt::Config::default()
    };
    let Some(session) = &config.session else {
        return Ok(mqtt);
    };
    if let Some((name, password)) = &session.login {
        mqtt.username = Some(name.parse()?);
        mqtt.password = Some(password.as_bytes().try_into()?);
    }
    if let Some(will) = &session.will {
        mqtt.will = Some(mqtt::Will {
            topic: will.topic.parse()?,
            payload: will.payload.as_bytes().try_into()?,
            qos: stack.qos().unwrap_or_default(),
            ..mqtt::Will::default()
        });
    }
    if let Some(expiry) = session.expiry {
        mqtt.clean_start = false;
        mqtt.session_expiry = u32::try_from(expiry.as_secs()).unwrap_or(u32::MAX);
    }
    Ok(mqtt)
}

fn sasl(config: &ClientConfig) -> amqp::SaslConfig {
    let login = config.session.as_ref().and_then(|session| session.login.clone());
    match login {
        Some((user, password)) => amqp::SaslConfig::Plain { user, password },
        None => amqp::SaslConfig::Anonymous,
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.layer {
            Layer::Plain(_) => "Client",
            Layer::Tls(_) => "Client(TLS)",
            Layer::Dtls(_) => "Client(DTLS)",
        })
    }
}

impl Stack {
    /// The MQTT version that the stack speaks, if it speaks MQTT.
    const fn mqtt_version(self) -> Version {
        match self.application {
            Application::Mqtt5(_) => Version::V5,
            Application::Mqtt311(_)
            | Application::Tcp
            | Application::Udp
            | Application::CoapNon
            | Application::CoapCon
            | Application::AmqpSettled
            | Application::AmqpUnsettled
            | Application::Http1
            | Application::Http3 => Version::V3_1_1,
        }
    }

    /// The quality of service of its messages, if it speaks MQTT.
    fn qos(self) -> Option<QoS> {
        match self.application {
            Application::Mqtt311(qos) | Application::Mqtt5(qos) => QoS::from_bits(qos),
            Application::Tcp
            | Application::Udp
            | Application::CoapNon
            | Application::CoapCon
            | Application::AmqpSettled
            | Application::AmqpUnsettled
            | Application::Http1
            | Application::Http3 => None,
        }
    }
}

impl Endpoint for Client {
    type Command = Command;
    type Event = Event;
    type Error = String;

    fn handle_input(&mut self, input: Input<'_, Command>, now: Instant) -> Result<(), String> {
        match &mut self.layer {
            Layer::Plain(client) => client.handle_input(input, now),
            Layer::Tls(client) => client.handle_input(input, now).map_err(|error| error.to_string()),
            Layer::Dtls(client) => client.handle_input(input, now).map_err(|error| error.to_string()),
        }
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<Event> {
        let unwrap = |event| layer_event(event, |event| event);
        match &mut self.layer {
            Layer::Plain(client) => client.poll_output(out),
            Layer::Tls(client) => client.poll_output(out).map_event(unwrap),
            Layer::Dtls(client) => client.poll_output(out).map_event(unwrap),
        }
    }
}
