//! Makes devices: the world of each, with the client of a stack, its server, and a TCP as the study had it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use wirecost_nbiot::config::{BearerConfig, TcpConfig as TcpOfNetwork};
use wirecost_proto::driver::{Device, Service};
use wirecost_proto::hosts::{HostIndex, server_address, simulated_address};
use wirecost_proto::path::{FixedDelay, Links};
use wirecost_proto::random::key_of;
use wirecost_proto::{Direction, Instant, Layer, Path, Phase, Rng};
use wirecost_security::Start;
use wirecost_sim::{Carrier, Settings, Tally, Tap, World};
use wirecost_stack::channels::{ChannelOptions, ClientChannels, ServerChannels, datagram_bytes};
use wirecost_stack::error::{ClientError, StackError};
use wirecost_stack::server::{Clients, Server};
use wirecost_stack::{Client, ClientConfig, Credentials, Message, Stack};
use wirecost_tcp::Config as TcpConfig;
use wirecost_tcp::config::KeepAliveConfig;

use super::Options;
use super::air::AirTap;
use super::reporter::{Arrival, Before, Reporter};
use super::variant::Variant;
use super::way::{self, DeviceWorld, Task, Unprepared, Way};

/// How long a device tries before it leaves without success (MODEL 2.7).
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// The largest IP packet of an NB-IoT bearer here, in bytes.
const MTU: u16 = 1_500;
/// Bytes of the headers of IPv4 and TCP, and of IPv6 and TCP.
const IPV4_TCP_BYTES: u16 = 40;
const IPV6_TCP_BYTES: u16 = 60;

/// Why a device cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// The client cannot be made.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The server cannot be made.
    #[error("cannot make the server: {0}")]
    Server(#[from] StackError),
    /// Certificates and keys cannot be made.
    #[error("cannot make certificates and keys: {0}")]
    Credentials(#[from] wirecost_security::certificate::Error),
    /// The server does not take the report.
    #[error("the server of {stack} takes no report at {resource}")]
    NotTaken {
        /// The stack.
        stack: Stack,
        /// The topic or path.
        resource: String,
    },
    /// The stack's own header is larger than the report.
    #[error(
        "{stack} cannot send a report of {size} B: its smallest has {least} B, because a report includes its header"
    )]
    TooSmall {
        /// The stack.
        stack: Stack,
        /// The report, in bytes.
        size: usize,
        /// The smallest report, in bytes.
        least: usize,
    },
    /// It cannot have what its report needs from before.
    #[error("{stack} cannot be prepared: {why}")]
    Unprepared {
        /// The stack.
        stack: Stack,
        /// Why.
        why: Unprepared,
    },
}

/// Makes the devices of one curve: one stack with one size of report.
pub(super) struct Maker {
    variant: Variant,
    message: Message,
    clients: ClientChannels,
    servers: ServerChannels,
    is_ipv6: bool,
    bearer: BearerConfig,
    tcp: TcpOfNetwork,
    keep_alive: Duration,
}

impl Maker {
    /// A maker of devices whose report has `size` bytes, the application's header included.
    pub(super) fn new(
        options: &Options,
        variant: Variant,
        size: usize,
        credentials: &Credentials,
    ) -> Result<Self, DeviceError> {
        let stack = variant.stack;
        let channels = channel_options(options.ipv6);
        let mut maker = Self {
            variant,
            message: message(options, stack, size)?,
            clients: ClientChannels::new(credentials, channels),
            servers: ServerChannels::new(credentials.clone(), channels, 1),
            is_ipv6: options.ipv6,
            bearer: options.network.bearer,
            tcp: options.network.tcp,
            keep_alive: options.keep_alive,
        };
        let mut payload = size;
        // The length fields of a header depend on the payload: one step is enough unless one of them changes its size.
        for _ in 0..4 {
            maker.message = message(options, stack, payload)?;
            let report = maker.report_bytes()?;
            if report == size {
                // Once before all devices: what cannot be prepared should fail here, not in the middle of a run.
                maker.try_preparation()?;
                return Ok(maker);
            }
            let header = report.saturating_sub(payload);
            // The same payload again would give the same size again: no payload reaches the size that is asked for.
            let Some(other) = size.checked_sub(header).filter(|other| *other != payload) else {
                break;
            };
            payload = other;
        }
        // The smallest report, for the error to say what is possible.
        maker.message = message(options, stack, 1)?;
        Err(DeviceError::TooSmall {
            stack,
            size,
            least: maker.report_bytes()?,
        })
    }

    /// A device whose task begins at `now`.
    pub(super) fn device(
        &self,
        host: HostIndex,
        rng: Rng,
        task: Task,
        now: Instant,
    ) -> Result<way::Device, DeviceError> {
        let before = self.variant.before;
        let tap = AirTap::new(&self.bearer, self.variant.stack);
        let world: DeviceWorld = self.world_on(host, rng, before, (Way::default(), tap))?;
        let device = way::Device::new(world, (before, task), self.keep_alive, now);
        device.map_err(|why| self.unprepared(why))
    }

    /// Prepares a device and lets it send its report over an ideal link, so that a preparation that fails is known before the
    /// run.
    fn try_preparation(&self) -> Result<(), DeviceError> {
        let (now, rng) = (Instant::START, Rng::new(1));
        if self.variant.before == Before::Nothing {
            return Ok(());
        }
        let mut device = self.device(0, rng, Task::Report, now)?;
        device.try_report(now).map_err(|why| self.unprepared(why))?;
        if self.keeps_connections() {
            self.device(0, rng, Task::KeepAlive, now)?;
        }
        Ok(())
    }

    const fn unprepared(&self, why: Unprepared) -> DeviceError {
        let stack = self.variant.stack;
        DeviceError::Unprepared { stack, why }
    }

    /// Whether devices keep their connections from one report to the next.
    pub(super) fn keeps_connections(&self) -> bool {
        self.variant.before == Before::Connection
    }

    fn world_on<L: Carrier, T: Tap>(
        &self,
        host: HostIndex,
        rng: Rng,
        before: Before,
        (carrier, tap): (L, T),
    ) -> Result<World<Client, Reporter, Server, L, T, Arrival>, DeviceError> {
        let start = match before {
            Before::Nothing => Start::Cold,
            Before::Ticket | Before::Connection => self.variant.start,
        };
        let world = World::directed(
            self.settings(rng.purpose(key_of("hosts"))),
            vec![self.client(host, rng)?],
            Reporter::new(self.variant.stack.is_answered(), before, start),
            vec![self.service(rng)?],
            carrier,
            tap,
            Arrival::default(),
        );
        Ok(world)
    }

    /// Bytes of the application's report on a link without loss, its header included.
    fn report_bytes(&self) -> Result<usize, DeviceError> {
        let link = OneLink(FixedDelay(Duration::from_millis(10)));
        let mut world = self.world_on(0, Rng::new(1), Before::Nothing, (link, Tally::new(|_| 0)))?;
        world.wake_director();
        while world.observer().0.is_none() && world.advance_by_one(Instant::from_millis(60_000)) {}
        if world.observer().0.is_none() {
            return Err(DeviceError::NotTaken {
                stack: self.variant.stack,
                resource: self.message.resource().to_owned(),
            });
        }
        let totals = world.tap().totals().first().cloned().unwrap_or_default();
        let traffic = totals.traffic(Phase::Message, Direction::Up);
        let bytes = traffic.bytes(Layer::Application) + traffic.bytes(Layer::Payload);
        Ok(usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    fn settings(&self, rng: Rng) -> Settings {
        let headers = if self.is_ipv6 {
            IPV6_TCP_BYTES
        } else {
            IPV4_TCP_BYTES
        };
        let tcp = tcp(&self.tcp, MTU - headers);
        // MQTT keeps its connection alive by PINGREQ (MQTT 3.1.1, section 3.12): TCP's own probes would be sent in addition.
        let keeps_alive = self.keeps_connections() && !self.variant.stack.is_mqtt();
        Settings {
            device_tcp: TcpConfig {
                keep_alive: keeps_alive.then(|| KeepAliveConfig::linux(self.keep_alive)),
                ..tcp.clone()
            },
            server_tcp: tcp,
            fast_open: self.variant.fast_open.then(|| {
                let mut key = rng.purpose(key_of("fast open"));
                [key.next_u64(), key.next_u64()]
            }),
            // Logs describe every byte. Thousands of devices need only counts.
            keeps_logs: false,
            ..Settings::linux(MTU, self.is_ipv6, rng)
        }
    }

    fn client(&self, host: HostIndex, rng: Rng) -> Result<Device<Client, ()>, DeviceError> {
        let secrets = rng.purpose(key_of("client secrets"));
        let channels = self.clients.seeded(secrets);
        let config = ClientConfig {
            describes_received: false,
            answer_timeout: Some(PATIENCE),
            start: self.variant.start,
            keep_alive: match self.keeps_connections() {
                true => u16::try_from(self.keep_alive.as_secs()).unwrap_or(u16::MAX),
                // A connection for one report ends long before a keep-alive would be due.
                false => 0,
            },
            ..ClientConfig::new(format!("wc-{:05}", host % 100_000), rng)
        };
        let message = self.message.with_seed(secrets.purpose(key_of("object")));
        let remote = self.server();
        let address = simulated_address(0, self.is_ipv6).unwrap_or(remote.ip());
        Ok(Device {
            host,
            local: SocketAddr::new(address, 0),
            remote,
            transport: self.variant.stack.transport(),
            endpoint: Client::new(&message, &config, &channels)?,
            script: (),
        })
    }

    fn service(&self, rng: Rng) -> Result<Service<Server>, DeviceError> {
        let channels = self.servers.seeded(rng.purpose(key_of("server secrets")));
        let seed = rng.purpose(key_of("server")).next_u64();
        Ok(Service {
            address: self.server(),
            transport: self.variant.stack.transport(),
            endpoint: Server::new(self.variant.stack, Clients::Devices, &channels, seed)?,
        })
    }

    fn server(&self) -> SocketAddr {
        SocketAddr::new(server_address(self.is_ipv6), self.variant.stack.port())
    }
}

fn channel_options(is_ipv6: bool) -> ChannelOptions {
    ChannelOptions {
        // Always, so that a ticket has the same size in `compare`. The client decides whether to use it.
        accept_early_data: true,
        datagram_bytes: datagram_bytes(MTU, is_ipv6),
        ..ChannelOptions::default()
    }
}

fn message(options: &Options, stack: Stack, payload: usize) -> Result<Message, DeviceError> {
    let payload: Arc<[u8]> = vec![0; payload].into();
    let rng = Rng::new(options.seed).purpose(key_of("object"));
    Ok(Message::simulated(stack, &options.resource, &payload, rng)?)
}

/// The TCP of a network: that of the study, with the values that it leaves open or that are varied.
fn tcp(network: &TcpOfNetwork, maximum_segment_size: u16) -> TcpConfig {
    let mut tcp = TcpConfig::larmo(maximum_segment_size)
        .with_initial_timeout(Duration::from_millis(network.initial_timeout_ms.into()));
    tcp.recovery.initial_window = network.initial_window;
    tcp.recovery.window_cap = network.congestion_window;
    tcp
}

struct OneLink(FixedDelay);

impl Links for OneLink {
    fn link(&mut self, _: HostIndex) -> Option<&mut dyn Path> {
        Some(&mut self.0)
    }
}
