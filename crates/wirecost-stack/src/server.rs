//! The built-in servers. All stacks of a port share one service.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};

use wirecost_amqp::container as amqp;
use wirecost_coap::server as coap;
use wirecost_http::{http1, http3, resource, server as http};
use wirecost_mqtt::broker as mqtt;
use wirecost_mqtt::sn::gateway as sn;
use wirecost_proto::bare::{self, Transport};
use wirecost_proto::driver::{Service, ServiceObserver};
use wirecost_proto::random::key_of;
use wirecost_proto::{Buffer, Endpoint, FlowId, Front, Held, Input, Instant, Output, Rng};
use wirecost_security::layer::{self, Fault};
use wirecost_security::{Start, dtls, tls};
use wirecost_store::server as store;

use super::channel::Channel;
use super::channels::ServerChannels;
use super::error::StackError;
use super::{Application, Stack};

/// Topic aliases of each direction, where the broker serves clients of any maker.
const TOPIC_ALIASES: u16 = 32;

/// What a QUIC connection of a client of any maker may have unacknowledged and unread, in bytes.
const QUIC_WINDOW_BYTES: u32 = 256 << 10;

/// A built-in server: the application's server within the layer that protects its channel. It is known by its methods alone: a crate
/// that ends a server would otherwise compile how the server of each protocol ends.
pub struct Server(Box<dyn Layered + Send>);

/// What is asked of the layers of a server.
trait Layered: Endpoint<Command = Infallible, Event = ServerEvent, Error = Infallible> {
    /// The statistics of the broker; `None` where the server is not a broker.
    fn broker_stats(&self) -> Option<mqtt::Stats>;

    /// The name for debugging.
    fn name(&self) -> &'static str;
}

/// The application's server within the layer that protects its channel.
enum Layers {
    /// No layer, or the one that the protocol has of its own.
    Plain(ServerApplication),
    /// TLS.
    Tls(Box<tls::Server<ServerApplication>>),
    /// DTLS.
    Dtls(Box<dtls::Server<ServerApplication>>),
}

/// An application protocol's server.
enum ServerApplication {
    /// Bare TCP or UDP.
    Bare(bare::Server),
    /// The reference broker.
    Mqtt(Box<mqtt::Broker>),
    /// The reference gateway.
    MqttSn(Box<sn::Gateway>),
    /// The reference CoAP server.
    Coap(Box<coap::Server>),
    /// The reference container.
    Amqp(Box<amqp::Container>),
    /// The reference HTTP/1.1 server.
    Http1(Box<http1::Server>),
    /// The reference HTTP/3 server.
    Http3(Box<http3::Server>),
    /// The reference database, which keeps no rows.
    Store(store::Server),
}

/// What a built-in server reports.
#[derive(Clone, Debug)]
pub enum ServerEvent {
    /// A bare server's event.
    Bare(bare::ServerEvent),
    /// The broker's event.
    Mqtt(mqtt::Event),
    /// The gateway's event.
    MqttSn(sn::Event),
    /// The CoAP server's event.
    Coap(coap::Event),
    /// The container's event.
    Amqp(amqp::Event),
    /// An HTTP server's event.
    Http(http::Event),
    /// The reference database's event.
    Store(store::Event),
    /// The handshake of a flow is complete.
    Established {
        /// The flow.
        flow: FlowId,
        /// How the connection started.
        start: Start,
    },
    /// The next bytes are early data, which an attacker may have replayed.
    EarlyData {
        /// The flow.
        flow: FlowId,
        /// The number of bytes.
        bytes: usize,
    },
    /// A flow's security failed.
    Failed {
        /// The flow.
        flow: FlowId,
        /// The reason.
        fault: Fault,
    },
}

/// The clients that a server is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clients {
    /// The devices of a run.
    Devices,
    /// Clients of any maker. The broker uses topic aliases in both directions, which costs a property in the CONNACK of MQTT 5, and
    /// limits what it stores for all clients together.
    Anyone {
        /// The limit in bytes of what the server stores for all clients together; `None` is the protocol's default. With a limit,
        /// HTTP/3 also has small windows.
        stored_bytes: Option<usize>,
    },
}

impl Clients {
    /// The limit of what a server stores for them, of which `default` is the protocol's.
    fn stored_bytes(self, default: usize) -> usize {
        match self {
            Self::Devices => default,
            Self::Anyone { stored_bytes } => stored_bytes.unwrap_or(default),
        }
    }

    /// What a QUIC connection may have unacknowledged and unread.
    fn quic_window_bytes(self) -> Option<u32> {
        match self {
            Self::Devices | Self::Anyone { stored_bytes: None } => None,
            Self::Anyone {
                stored_bytes: Some(_),
            } => Some(QUIC_WINDOW_BYTES),
        }
    }
}

impl ServerEvent {
    /// The payload's bytes and its front, if the event is the arrival of a message that is not known as a duplicate.
    pub const fn message(&self) -> Option<(u64, Front)> {
        match *self {
            Self::Bare(bare::ServerEvent::Message {
                payload_bytes, front, ..
            })
            | Self::Coap(coap::Event::MessageReceived {
                payload_bytes,
                front,
                duplicate: false,
                ..
            })
            | Self::Amqp(amqp::Event::Received {
                payload_bytes, front, ..
            })
            | Self::Http(http::Event::Answered {
                payload_bytes, front, ..
            })
            | Self::Store(store::Event::Inserted {
                payload_bytes, front, ..
            }) => Some((payload_bytes, front)),
            Self::Mqtt(mqtt::Event::Published {
                payload_bytes, front, ..
            })
            | Self::MqttSn(sn::Event::Published {
                payload_bytes, front, ..
            }) => Some((payload_bytes as u64, front)),
            Self::Mqtt(_)
            | Self::MqttSn(_)
            | Self::Coap(_)
            | Self::Amqp(_)
            | Self::Http(_)
            | Self::Store(_)
            | Self::Established { .. }
            | Self::EarlyData { .. }
            | Self::Failed { .. } => None,
        }
    }
}

impl Server {
    /// The server of a stack.
    ///
    /// # Errors
    /// The certificate or a key cannot be used.
    pub fn new(
        stack: Stack,
        clients: Clients,
        channels: &ServerChannels,
        seed: u64,
    ) -> Result<Self, StackError> {
        let application = application(stack, clients, channels, seed)?;
        let layers = if stack.channel.is_tls() {
            Layers::Tls(Box::new(tls::Server::new(&channels.tls(stack)?, application)))
        } else if stack.channel.is_dtls() {
            Layers::Dtls(Box::new(dtls::Server::new(channels.dtls()?, application)))
        } else {
            Layers::Plain(application)
        };
        Ok(Self(Box::new(layers)))
    }

    /// The statistics of the broker; `None` where the server is not a broker.
    pub fn broker_stats(&self) -> Option<mqtt::Stats> {
        self.0.broker_stats()
    }
}

impl Layered for Layers {
    fn broker_stats(&self) -> Option<mqtt::Stats> {
        let application = match self {
            Self::Plain(application) => application,
            Self::Tls(server) => server.inner(),
            Self::Dtls(_) => return None,
        };
        let ServerApplication::Mqtt(broker) = application else {
            return None;
        };
        Some(broker.stats())
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Plain(_) => "Server",
            Self::Tls(_) => "Server(TLS)",
            Self::Dtls(_) => "Server(DTLS)",
        }
    }
}

fn application(
    stack: Stack,
    clients: Clients,
    channels: &ServerChannels,
    seed: u64,
) -> Result<ServerApplication, StackError> {
    let rng = Rng::new(seed);
    Ok(match stack.application {
        Application::Tcp | Application::Udp => ServerApplication::Bare(bare::Server::new(stack.transport())),
        Application::Mqtt311(_) | Application::Mqtt5(_) => {
            let config = broker(clients, &channels.admission().users);
            ServerApplication::Mqtt(Box::new(mqtt::Broker::new(config)))
        }
        Application::MqttSn(_) => ServerApplication::MqttSn(Box::new(sn::Gateway::new(gateway(clients)))),
        Application::CoapTcp => {
            let config = coap::Config::new(rng.purpose(key_of("coap server")));
            ServerApplication::Coap(Box::new(coap::Server::new(config.on_stream())))
        }
        Application::CoapNon | Application::CoapCon => {
            let config = coap::Config::new(rng.purpose(key_of("coap server")));
            let config = coap::Config {
                // Half for CON, half for NON.
                max_duplicate_bytes: clients.stored_bytes(2 * config.max_duplicate_bytes) / 2,
                ..config
            };
            let oscore = &channels.admission().oscore;
            // Those of a run's devices follow from a secret, which takes longer than to serve one of them.
            let (contexts, edhoc) = match stack.channel {
                Channel::Oscore => (oscore.all()?, channels.edhoc()?),
                Channel::Plain
                | Channel::Tls13
                | Channel::Tls12
                | Channel::Dtls13
                | Channel::Dtls12
                | Channel::Dtls12Psk
                | Channel::Dtls12Cid => (oscore.given().to_vec(), None),
            };
            let config = coap::Config {
                edhoc,
                ..config.with_oscore(contexts, oscore.is_required())
            };
            ServerApplication::Coap(Box::new(coap::Server::new(config)))
        }
        Application::AmqpSettled | Application::AmqpUnsettled => {
            let config = container(clients, &channels.admission().users);
            let config = amqp::Config {
                max_frame_size: channels.amqp_frame_size().unwrap_or(config.max_frame_size),
                ..config
            };
            ServerApplication::Amqp(Box::new(amqp::Container::new(config)))
        }
        Application::Http1 => {
            let config = http1::ServerConfig {
                resources: resources(clients, channels),
                ..http1::ServerConfig::default()
            };
            ServerApplication::Http1(Box::new(http1::Server::new(config)))
        }
        Application::Http3 => {
            let config = http3::ServerConfig {
                resources: resources(clients, channels),
                transport: http3::Transport {
                    window_bytes: clients.quic_window_bytes(),
                    ..http3::Transport::default()
                },
                ..http3::ServerConfig::new(channels.tls(stack)?, rng.purpose(key_of("http3 server")))
            };
            ServerApplication::Http3(Box::new(http3::Server::new(config)?))
        }
        Application::Store(kind) => ServerApplication::Store(store::Server::new(kind)),
    })
}

/// A server that accepts early data also accepts requests in it that change something: the options ask for that.
fn resources(clients: Clients, channels: &ServerChannels) -> resource::Config {
    let defaults = resource::Config::default();
    resource::Config {
        kept_bytes: clients.stored_bytes(defaults.kept_bytes).min(defaults.kept_bytes),
        unsafe_early_data: channels.accepts_early_data(),
        answer_bytes: channels.response_body(),
        ..defaults
    }
}

fn broker(clients: Clients, users: &[(String, String)]) -> mqtt::Config {
    let config = match clients {
        // The run asks for everything that its devices make the broker store.
        Clients::Devices => mqtt::Config {
            maximum_held_bytes: usize::MAX,
            ..mqtt::Config::default()
        },
        Clients::Anyone { stored_bytes } => mqtt::Config {
            maximum_held_bytes: stored_bytes.unwrap_or(mqtt::MAXIMUM_HELD_BYTES),
            topic_alias_maximum: TOPIC_ALIASES,
            sent_topic_aliases: TOPIC_ALIASES,
            ..mqtt::Config::default()
        },
    };
    let passwords = users.iter().cloned();
    let passwords = passwords.map(|(name, password)| (name, password.into_bytes()));
    mqtt::Config {
        users: (!users.is_empty()).then(|| passwords.collect()),
        ..config
    }
}

fn gateway(clients: Clients) -> sn::Config {
    let defaults = sn::Config::default();
    let maximum_held_bytes = match clients {
        Clients::Devices => usize::MAX,
        Clients::Anyone { .. } => clients.stored_bytes(defaults.maximum_held_bytes),
    };
    sn::Config {
        maximum_held_bytes,
        ..defaults
    }
}

fn container(clients: Clients, users: &[(String, String)]) -> amqp::Config {
    let defaults = amqp::Config::default();
    amqp::Config {
        stored_bytes: clients
            .stored_bytes(defaults.stored_bytes)
            .min(defaults.stored_bytes),
        anonymous: users.is_empty(),
        users: users.to_vec(),
        ..defaults
    }
}

/// The services of `stacks` at `address`, one for each port.
///
/// # Errors
/// The certificate or a key cannot be used.
pub fn services(
    stacks: &[Stack],
    address: IpAddr,
    channels: &ServerChannels,
    seed: u64,
) -> Result<Vec<Service<Server>>, StackError> {
    let mut services: BTreeMap<(u16, bool), Service<Server>> = BTreeMap::new();
    // A server that is made for OSCORE serves plain CoAP too, and agrees on contexts.
    let is_oscore = |stack: &&Stack| stack.channel == Channel::Oscore;
    let others = stacks.iter().filter(|stack| !is_oscore(stack));
    for stack in stacks.iter().filter(is_oscore).chain(others) {
        let key = (stack.port(), stack.transport() == Transport::Stream);
        if services.contains_key(&key) {
            continue;
        }
        let service = Service {
            address: SocketAddr::new(address, stack.port()),
            transport: stack.transport(),
            endpoint: Server::new(*stack, Clients::Devices, channels, seed)?,
        };
        services.insert(key, service);
    }
    Ok(services.into_values().collect())
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name())
    }
}

impl Endpoint for ServerApplication {
    type Command = Infallible;
    type Event = ServerEvent;
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, Infallible>, now: Instant) -> Result<(), Infallible> {
        match self {
            Self::Bare(server) => server.handle_input(input.map_command(never), now),
            Self::Mqtt(server) => server.handle_input(input.map_command(never), now),
            Self::MqttSn(server) => server.handle_input(input.map_command(never), now),
            Self::Coap(server) => server.handle_input(input.map_command(never), now),
            Self::Amqp(server) => server.handle_input(input.map_command(never), now),
            Self::Http1(server) => server.handle_input(input.map_command(never), now),
            Self::Http3(server) => server.handle_input(input.map_command(never), now),
            Self::Store(server) => server.handle_input(input.map_command(never), now),
        }
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<ServerEvent> {
        match self {
            Self::Bare(server) => server.poll_output(out).map_event(ServerEvent::Bare),
            Self::Mqtt(server) => server.poll_output(out).map_event(ServerEvent::Mqtt),
            Self::MqttSn(server) => server.poll_output(out).map_event(ServerEvent::MqttSn),
            Self::Coap(server) => server.poll_output(out).map_event(ServerEvent::Coap),
            Self::Amqp(server) => server.poll_output(out).map_event(ServerEvent::Amqp),
            Self::Http1(server) => server.poll_output(out).map_event(ServerEvent::Http),
            Self::Http3(server) => server.poll_output(out).map_event(ServerEvent::from),
            Self::Store(server) => server.poll_output(out).map_event(ServerEvent::Store),
        }
    }

    fn held(&self, flow: FlowId) -> Held {
        match self {
            Self::Bare(server) => server.held(flow),
            Self::Mqtt(server) => server.held(flow),
            Self::MqttSn(server) => server.held(flow),
            Self::Coap(server) => server.held(flow),
            Self::Amqp(server) => server.held(flow),
            Self::Http1(server) => server.held(flow),
            Self::Http3(server) => server.held(flow),
            Self::Store(server) => server.held(flow),
        }
    }

    fn stored_bytes(&self) -> usize {
        match self {
            Self::Bare(server) => server.stored_bytes(),
            Self::Mqtt(server) => server.stored_bytes(),
            Self::MqttSn(server) => server.stored_bytes(),
            Self::Coap(server) => server.stored_bytes(),
            Self::Amqp(server) => server.stored_bytes(),
            Self::Http1(server) => server.stored_bytes(),
            Self::Http3(server) => server.stored_bytes(),
            Self::Store(server) => server.stored_bytes(),
        }
    }
}

impl Endpoint for Server {
    type Command = Infallible;
    type Event = ServerEvent;
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, Infallible>, now: Instant) -> Result<(), Infallible> {
        self.0.handle_input(input, now)
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<ServerEvent> {
        self.0.poll_output(out)
    }

    fn held(&self, flow: FlowId) -> Held {
        self.0.held(flow)
    }

    fn stored_bytes(&self) -> usize {
        self.0.stored_bytes()
    }
}

impl Endpoint for Layers {
    type Command = Infallible;
    type Event = ServerEvent;
    type Error = Infallible;

    fn handle_input(&mut self, input: Input<'_, Infallible>, now: Instant) -> Result<(), Infallible> {
        match self {
            Self::Plain(server) => server.handle_input(input, now),
            Self::Tls(server) => server.handle_input(input, now),
            Self::Dtls(server) => server.handle_input(input, now),
        }
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<ServerEvent> {
        match self {
            Self::Plain(server) => server.poll_output(out),
            Self::Tls(server) => {
                let output = server.poll_output(out);
                if let Output::Event(layer::Event::EarlyData { flow, bytes }) = &output {
                    server.inner_mut().expect_early_data(*flow, *bytes);
                }
                output.map_event(ServerEvent::from)
            }
            Self::Dtls(server) => server.poll_output(out).map_event(ServerEvent::from),
        }
    }

    fn held(&self, flow: FlowId) -> Held {
        match self {
            Self::Plain(server) => server.held(flow),
            Self::Tls(server) => server.held(flow),
            Self::Dtls(server) => server.held(flow),
        }
    }

    fn stored_bytes(&self) -> usize {
        match self {
            Self::Plain(server) => server.stored_bytes(),
            Self::Tls(server) => server.stored_bytes(),
            Self::Dtls(server) => server.stored_bytes(),
        }
    }
}

impl ServerApplication {
    /// Tells the application that the next bytes may have been replayed. Only HTTP can refuse them (RFC 8470).
    fn expect_early_data(&mut self, flow: FlowId, bytes: usize) {
        if let Self::Http1(server) = self {
            server.expect_early_data(flow, bytes);
        }
    }
}

/// A command that a server's user cannot give.
const fn never<C>(command: Infallible) -> C {
    match command {}
}

impl From<http::Event> for ServerEvent {
    fn from(event: http::Event) -> Self {
        Self::Http(event)
    }
}

impl<E> From<layer::Event<E>> for ServerEvent
where
    Self: From<E>,
{
    fn from(event: layer::Event<E>) -> Self {
        match event {
            layer::Event::Inner(event) => event.into(),
            layer::Event::Established { flow, start } => Self::Established { flow, start },
            layer::Event::EarlyData { flow, bytes } => Self::EarlyData { flow, bytes },
            layer::Event::Failed { flow, fault } => Self::Failed { flow, fault },
        }
    }
}

/// An observer that ignores the events of servers: the link shows what is delivered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Discard;

impl ServiceObserver<Server> for Discard {
    fn event(&mut self, _: usize, _: Option<SocketAddr>, _: ServerEvent, _: Instant) {}
}
