//! The built-in servers' endpoints: one service per port, whatever the number of stacks that use it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};

use wirecost_coap::server as coap;
use wirecost_live::driver::server::{Observer, Service};
use wirecost_mqtt::broker as mqtt;
use wirecost_proto::bare::{self, Transport};
use wirecost_proto::random::key_of;
use wirecost_proto::{Buffer, Endpoint, Input, Instant, Output, Rng};

use super::{Application, Stack};

/// Topic aliases of each direction at a broker that stands alone.
const TOPIC_ALIASES: u16 = 32;

/// A built-in server's endpoint.
#[derive(Debug)]
pub enum Server {
    /// Bare TCP or UDP.
    Bare(bare::Server),
    /// The reference broker.
    Mqtt(Box<mqtt::Broker>),
    /// The reference CoAP server.
    Coap(Box<coap::Server>),
}

/// What a built-in server reports.
#[derive(Clone, Debug)]
pub enum ServerEvent {
    /// A bare server's event.
    Bare(bare::ServerEvent),
    /// The broker's event.
    Mqtt(mqtt::Event),
    /// The CoAP server's event.
    Coap(coap::Event),
}

impl Server {
    /// The server of a stack.
    pub fn new(stack: Stack, seed: u64) -> Self {
        match stack.application {
            Application::Tcp | Application::Udp => Self::Bare(bare::Server::new(stack.transport())),
            Application::Mqtt311(_) | Application::Mqtt5(_) => Self::broker(mqtt::Config::default()),
            Application::CoapNon | Application::CoapCon => {
                let rng = Rng::new(seed).purpose(key_of("coap server"));
                Self::Coap(Box::new(coap::Server::new(coap::Config::new(rng))))
            }
            _ => Self::Bare(bare::Server::new(stack.transport())),
        }
    }

    /// The server of a stack for clients of any maker: the broker takes topic aliases, and gives them to clients that
    /// take them, at the cost of a property in the CONNACK of MQTT 5.
    pub fn standalone(stack: Stack, seed: u64) -> Self {
        match stack.application {
            Application::Mqtt311(_) | Application::Mqtt5(_) => Self::broker(mqtt::Config {
                topic_alias_maximum: TOPIC_ALIASES,
                sent_topic_aliases: TOPIC_ALIASES,
                ..mqtt::Config::default()
            }),
            _ => Self::new(stack, seed),
        }
    }

    fn broker(config: mqtt::Config) -> Self {
        Self::Mqtt(Box::new(mqtt::Broker::new(config)))
    }
}

/// The services that a list of stacks needs, each once, at their ports of `address`.
pub fn services(stacks: &[Stack], address: IpAddr, seed: u64) -> Vec<Service<Server>> {
    let mut services: BTreeMap<(u16, bool), Service<Server>> = BTreeMap::new();
    for stack in stacks {
        let key = (stack.port(), stack.transport() == Transport::Stream);
        services.entry(key).or_insert_with(|| Service {
            address: SocketAddr::new(address, stack.port()),
            transport: stack.transport(),
            endpoint: Server::new(*stack, seed),
        });
    }
    services.into_values().collect()
}

impl Endpoint for Server {
    type Command = Infallible;
    type Event = ServerEvent;
    type Error = String;

    fn handle_input(&mut self, input: Input<'_, Infallible>, now: Instant) -> Result<(), String> {
        match self {
            Self::Bare(server) => forward(server, input, now),
            Self::Mqtt(server) => forward(&mut **server, input, now),
            Self::Coap(server) => forward(&mut **server, input, now),
        }
    }

    fn poll_output(&mut self, out: &mut Buffer) -> Output<ServerEvent> {
        match self {
            Self::Bare(server) => server.poll_output(out).map_event(ServerEvent::Bare),
            Self::Mqtt(server) => server.poll_output(out).map_event(ServerEvent::Mqtt),
            Self::Coap(server) => server.poll_output(out).map_event(ServerEvent::Coap),
        }
    }
}

fn forward<E: Endpoint<Error: std::fmt::Display>>(
    endpoint: &mut E,
    input: Input<'_, Infallible>,
    now: Instant,
) -> Result<(), String> {
    let input = input.map_command(|never| match never {});
    endpoint
        .handle_input(input, now)
        .map_err(|error| error.to_string())
}

/// An observer that has no use for what servers report: delivery is judged by the link.
#[derive(Clone, Copy, Debug, Default)]
pub struct Discard;

impl Observer<Server> for Discard {
    fn event(&mut self, _: usize, _: Option<SocketAddr>, _: ServerEvent, _: Instant) {}
}
