//! The client of a stack: the protocol's client within the layer that protects its channel.

use std::time::Duration;

use wirecost_amqp::client as amqp;
use wirecost_coap::client as coap;
use wirecost_coap::shared::Share;
use wirecost_http::{http1, http3};
use wirecost_mqtt::client as mqtt;
use wirecost_mqtt::codec::Version;
use wirecost_mqtt::codec::text::FieldError;
use wirecost_mqtt::quality::QoS;
use wirecost_mqtt::sn::LONGEST_CLIENT_ID_BYTES;
use wirecost_mqtt::sn::client as sn;
use wirecost_proto::hosts::HostIndex;
use wirecost_proto::{Buffer, Endpoint, Input, Instant, Output, Rng, bare};
use wirecost_security::{Start, dtls, tls};
use wirecost_store::Store;
use wirecost_store::client as store;

use super::application::{ApplicationClient, Protocol};
use super::channels::ClientChannels;
use super::error::{ClientError, CommandError, StackError};
use super::events::ClientEvent;
use super::message::Message;
use super::{Application, Channel, Command, Stack};

/// Longer than any time-out of a driver or a script: it ends a wait before the protocol does.
pub const LONGEST_WAIT: Duration = Duration::from_secs(7_200);

/// The most bytes of a page of messages that a client reads. A page of the built-in server ends after 1 MiB, with one message of
/// at most 16 MiB in base64.
const LONGEST_PAGE_BYTES: usize = 32 << 20;

/// The settings of one client.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// MQTT client identifier, AMQP container and link, sender of a database's rows.
    pub client_id: String,
    /// MQTT keep-alive in seconds.
    pub keep_alive: u16,
    /// The device's number on the link.
    pub host: HostIndex,
    /// The device's own randomness.
    pub rng: Rng,
    /// How its connections start. Where that needs a ticket, the first connection starts cold.
    pub start: Start,
    /// Whether what the protocol lets a client send before the answer to its connect is sent then (MQTT, AMQP).
    pub pipelined_connect: bool,
    /// The largest frame that the client accepts (AMQP); `None` is its usual one.
    pub amqp_frame_size: Option<u32>,
    /// Whether HTTP/1.1 asks the server to close after the answer.
    pub connection_close: bool,
    /// The login, the will and the session of MQTT and AMQP; `None` starts clean, without a login.
    pub session: Option<Box<Session>>,
    /// Whether the client describes the bytes that it receives; an HTTP/3 client also those that it sends.
    pub describes_received: bool,
    /// The endpoint that the client shares with others (CoAP); `None` gives it one of its own.
    pub endpoint: Option<Share>,
    /// Whether the client polls for pages of messages, and so keeps the content of answers (HTTP).
    pub polls: bool,
    /// The host that the client names to an AMQP server.
    pub hostname: Option<String>,
    /// How long the client waits for a CONNACK (MQTT), a response (CoAP) or an answer while it connects (AMQP); `None` is
    /// the protocol's default.
    pub answer_timeout: Option<Duration>,
}

impl ClientConfig {
    /// A cold start without keep-alive, session and shared endpoint; everything received is described.
    pub fn new(client_id: impl Into<String>, rng: Rng) -> Self {
        Self {
            client_id: client_id.into(),
            keep_alive: 0,
            host: 0,
            rng,
            start: Start::Cold,
            pipelined_connect: false,
            amqp_frame_size: None,
            connection_close: false,
            session: None,
            describes_received: true,
            endpoint: None,
            polls: false,
            hostname: None,
            answer_timeout: None,
        }
    }
}

/// What a device asks of the server beyond a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// User name and password (MQTT, AMQP, databases).
    pub login: Option<(String, String)>,
    /// The message that the server publishes when it loses the device (MQTT).
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

/// The client of a stack, which reports events of type `E`.
pub struct Client<E: ClientEvent> {
    layer: Layer<E>,
}

enum Layer<E: ClientEvent> {
    /// No layer, or the one that the protocol has of its own.
    Plain(ApplicationClient<E>),
    /// TLS.
    Tls(Box<tls::Client<ApplicationClient<E>>>),
    /// DTLS.
    Dtls(Box<dtls::Client<ApplicationClient<E>>>),
}

impl<E: ClientEvent> Client<E> {
    /// A client that sends `message` on [`Command::Send`].
    ///
    /// # Errors
    /// The protocol cannot carry the client identifier, or the channel cannot be set up.
    pub fn new(
        message: &Message,
        config: &ClientConfig,
        channels: &ClientChannels,
    ) -> Result<Self, ClientError> {
        let (stack, own) = (message.stack(), Some(Box::new(message.clone())));
        Self::build(stack, message.resource(), own, config, channels).map_err(|error| error.with_stack(stack))
    }

    /// A client without a message of its own, which sends what [`Command::Transmit`] carries. `resource` is the AMQP target.
    ///
    /// # Errors
    /// As [`Client::new`].
    pub fn idle(
        stack: Stack,
        resource: &str,
        config: &ClientConfig,
        channels: &ClientChannels,
    ) -> Result<Self, ClientError> {
        Self::build(stack, resource, None, config, channels).map_err(|error| error.with_stack(stack))
    }

    fn build(
        stack: Stack,
        resource: &str,
        message: Option<Box<Message>>,
        config: &ClientConfig,
        channels: &ClientChannels,
    ) -> Result<Self, StackError> {
        let application = ApplicationClient::new(protocol(stack, resource, config, channels)?, message);
        let layer = if stack.channel.is_tls() {
            let config = channels.tls(stack.application, stack.channel, config.start)?;
            Layer::Tls(Box::new(tls::Client::new(config, application)))
        } else if stack.channel.is_dtls() {
            let config = channels.dtls(stack.channel, config.start)?;
            Layer::Dtls(Box::new(dtls::Client::new(config, application)))
        } else {
            Layer::Plain(application)
        };
        Ok(Self { layer })
    }

    /// What TLS on a stream has negotiated with the server of the current flow.
    pub fn negotiated(&self) -> Option<tls::Negotiated> {
        match &self.layer {
            Layer::Tls(client) => client.negotiated(),
            Layer::Plain(_) | Layer::Dtls(_) => None,
        }
    }

    /// What the protocol's client ignored last, because it answers nothing that was asked.
    pub fn last_ignored(&self) -> Option<String> {
        match &self.layer {
            Layer::Plain(client) => client.last_ignored(),
            Layer::Tls(client) => client.inner().last_ignored(),
            Layer::Dtls(client) => client.inner().last_ignored(),
        }
    }
}

fn protocol(
    stack: Stack,
    resource: &str,
    config: &ClientConfig,
    channels: &ClientChannels,
) -> Result<Protocol, StackError> {
    Ok(match stack.application {
        Application::Tcp | Application::Udp => Protocol::Bare(Box::new(bare::Client::new(stack.transport()))),
        Application::Mqtt311(qos) => mqtt(stack, Version::V3_1_1, qos, config)?,
        Application::Mqtt5(qos) => mqtt(stack, Version::V5, qos, config)?,
        Application::MqttSn(qos) => mqtt_sn(qos, resource, config)?,
        Application::CoapNon | Application::CoapCon | Application::CoapTcp => {
            let coap = coap(stack, config, channels)?;
            Protocol::Coap(Box::new(coap::Client::new(coap)))
        }
        Application::AmqpSettled | Application::AmqpUnsettled => {
            Protocol::Amqp(Box::new(amqp::Client::new(amqp(stack, resource, config))))
        }
        Application::Http1 => Protocol::Http1(Box::new(http1::Client::new(http1::ClientConfig {
            connection_close: config.connection_close,
            keep_body_bytes: kept_content(config),
            // The sender of a message decides how long it waits for an answer.
            response_timeout: None,
            ..http1::ClientConfig::default()
        }))),
        Application::Http3 => {
            let tls = channels.tls(stack.application, Channel::Tls13, config.start)?;
            let http = http3::ClientConfig {
                // The sender of a message decides how long it waits for an answer.
                response_timeout: LONGEST_WAIT,
                describes: config.describes_received,
                keep_body_bytes: kept_content(config),
                ..http3::ClientConfig::new(tls, config.rng)
            };
            Protocol::Http3(Box::new(http3::Client::new(http)?))
        }
        Application::Store(kind) => {
            Protocol::Store(Box::new(store::Client::new(database(kind, resource, config))))
        }
    })
}

/// The bytes of the content of an answer that an HTTP client keeps.
const fn kept_content(config: &ClientConfig) -> usize {
    match config.polls {
        true => LONGEST_PAGE_BYTES,
        false => 0,
    }
}

/// An MQTT-SN client that registers the topic `resource` as a part of its connect, where it has no placeholder of a load.
fn mqtt_sn(qos: i8, resource: &str, config: &ClientConfig) -> Result<Protocol, StackError> {
    let is_valid = (1..=LONGEST_CLIENT_ID_BYTES).contains(&config.client_id.len());
    if !is_valid {
        return Err(StackError::SnClientId(config.client_id.clone()));
    }
    Ok(Protocol::MqttSn(Box::new(sn::Client::new(sn::Config {
        keep_alive: config.keep_alive,
        is_connectionless: qos < 0,
        registers: (!resource.is_empty()).then(|| resource.to_owned()),
        describes_received: config.describes_received,
        connect_timeout: config.answer_timeout,
        ..sn::Config::new(config.client_id.as_str())
    }))))
}

fn coap(stack: Stack, config: &ClientConfig, channels: &ClientChannels) -> Result<coap::Config, StackError> {
    let defaults = coap::Config::new(config.rng);
    let coap = coap::Config {
        shared: config.endpoint.clone(),
        response_timeout: config.answer_timeout.unwrap_or(defaults.response_timeout),
        ..defaults
    };
    if stack.application == Application::CoapTcp {
        return Ok(coap.on_stream());
    }
    if stack.channel == Channel::Oscore && config.start.is_edhoc() {
        return Ok(coap.with_edhoc(channels.edhoc(config.start, config.host, config.rng)?));
    }
    Ok(match channels.oscore(stack.channel, config.host) {
        Some(context) => coap.with_oscore(context?),
        None => coap,
    })
}

fn amqp(stack: Stack, resource: &str, config: &ClientConfig) -> amqp::Config {
    let login = config.session.as_ref().and_then(|session| session.login.clone());
    let defaults = amqp::Config::default();
    amqp::Config {
        container_id: config.client_id.clone(),
        link_name: config.client_id.clone(),
        hostname: config.hostname.clone(),
        target: resource.to_owned(),
        settled: stack.application == Application::AmqpSettled,
        sasl: match login {
            Some((user, password)) => amqp::SaslConfig::Plain { user, password },
            None => amqp::SaslConfig::Anonymous,
        },
        pipelines: config.pipelined_connect,
        max_frame_size: config.amqp_frame_size.unwrap_or(defaults.max_frame_size),
        answer_timeout: config.answer_timeout.unwrap_or(defaults.answer_timeout),
        ..defaults
    }
}

/// A client of the database `resource`.
fn database(kind: Store, resource: &str, config: &ClientConfig) -> store::Config {
    let login = config.session.as_ref().and_then(|session| session.login.clone());
    let mut rng = config.rng;
    let mut nonce = [0; 18];
    rng.fill(&mut nonce);
    let defaults = store::Config::new(kind, resource, config.client_id.as_str());
    let (user, password) = match login {
        Some((user, password)) => (user, (!password.is_empty()).then_some(password)),
        None => (defaults.user.clone(), None),
    };
    store::Config {
        user,
        password,
        nonce,
        answer_timeout: config.answer_timeout.unwrap_or(defaults.answer_timeout),
        describes_received: config.describes_received,
        ..defaults
    }
}

/// An MQTT client whose will has the quality of service `qos`.
fn mqtt(stack: Stack, version: Version, qos: u8, config: &ClientConfig) -> Result<Protocol, FieldError> {
    let defaults = mqtt::Config::default();
    let mut mqtt = mqtt::Config {
        version,
        client_id: config.client_id.parse()?,
        keep_alive: config.keep_alive,
        reports_digests: true,
        // A layer around it tells its own bytes by those of its application.
        describes_received: config.describes_received || stack.channel != Channel::Plain,
        pipelines: config.pipelined_connect,
        connect_timeout: config.answer_timeout.unwrap_or(defaults.connect_timeout),
        ..defaults
    };
    let clean = Session::default();
    let session = config.session.as_deref().unwrap_or(&clean);
    if let Some((name, password)) = &session.login {
        mqtt.username = Some(name.parse()?);
        mqtt.password = Some(password.as_bytes().try_into()?);
    }
    if let Some(will) = &session.will {
        mqtt.will = Some(mqtt::Will {
            topic: will.topic.parse()?,
            payload: will.payload.as_bytes().try_into()?,
            qos: QoS::from_bits(qos).unwrap_or_default(),
            ..mqtt::Will::default()
        });
    }
    if let Some(expiry) = session.expiry {
        mqtt.clean_start = false;
        mqtt.session_expiry = u32::try_from(expiry.as_secs()).unwrap_or(u32::MAX);
    }
    Ok(Protocol::Mqtt(Box::new(mqtt::Client::new(mqtt))))
}

impl<E: ClientEvent> std::fmt::Debug for Client<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.layer {
            Layer::Plain(_) => "Client",
            Layer::Tls(_) => "Client(TLS)",
            Layer::Dtls(_) => "Client(DTLS)",
        })
    }
}

impl<E: ClientEvent> Endpoint for Client<E> {
    type Command = Command;
    type Event = E;
    type Error = CommandError;

    fn handle_input(&mut self, input: Input<'_, Command>, now: Instant) -> Result<(), CommandError> {
        match &mut self.layer {
            Layer::Plain(client) => client.handle_input(input, now),
            Layer::Tls(client) => client.handle_input(input, now),
            Layer::Dtls(client) => client.handle_input(input, now),
        }
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<E> {
        match &mut self.layer {
            Layer::Plain(client) => client.poll_output(out),
            Layer::Tls(client) => client.poll_output(out).map_event(E::from),
            Layer::Dtls(client) => client.poll_output(out).map_event(E::from),
        }
    }

    fn rest(&mut self) -> bool {
        match &mut self.layer {
            Layer::Plain(client) => client.rest(),
            Layer::Tls(client) => client.rest(),
            Layer::Dtls(client) => client.rest(),
        }
    }
}
