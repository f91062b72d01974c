//! One device that sends one report: its world, whose packets the cells carry.

use std::net::SocketAddr;
use std::sync::Arc;

use wirecost_proto::director::{Director, Due};
use wirecost_proto::driver::{Device, Observer, Service};
use wirecost_proto::hosts::{HostIndex, server_address, simulated_address};
use wirecost_proto::path::{FixedDelay, Links};
use wirecost_proto::random::key_of;
use wirecost_proto::script::{Context, Step};
use wirecost_proto::{Delivery, Direction, Fate, Instant, Layer, Path, Phase, ResetReason, Rng};
use wirecost_sim::{Carrier, Port, Recording, Settings, Tally, Tap, World};
use wirecost_stack::channels::{ChannelOptions, ClientChannels, ServerChannels, datagram_bytes};
use wirecost_stack::error::{ClientError, StackError};
use wirecost_stack::server::{Clients, Server, ServerEvent};
use wirecost_stack::{Client, ClientConfig, Command, Credentials, Event, Message, Stack};
use wirecost_tcp::Config as TcpConfig;

use super::options::Options;

/// The largest IP packet of an NB-IoT bearer here, in bytes.
const MTU: u16 = 1_500;
/// Bytes of the headers of IPv4 and TCP, and of IPv6 and TCP.
const IPV4_TCP_BYTES: u16 = 40;
const IPV6_TCP_BYTES: u16 = 60;

/// The world of one device in the cells.
pub(super) type DeviceWorld = World<Client, Reporter, Server, Port, PacketBytes, Arrival>;

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
}

/// Makes the devices of one curve: one stack with one size of report.
pub(super) struct Maker {
    stack: Stack,
    message: Message,
    credentials: Credentials,
    is_ipv6: bool,
}

impl Maker {
    /// A maker of devices whose report has `size` bytes, the application's header included.
    pub(super) fn new(
        options: &Options,
        stack: Stack,
        size: usize,
        credentials: &Credentials,
    ) -> Result<Self, DeviceError> {
        let mut maker = Self {
            stack,
            message: message(options, stack, size)?,
            credentials: credentials.clone(),
            is_ipv6: options.ipv6,
        };
        let mut payload = size;
        // The length fields of a header depend on the payload: one step is enough unless one of them changes its size.
        for _ in 0..4 {
            maker.message = message(options, stack, payload)?;
            let report = maker.report_bytes()?;
            if report == size {
                return Ok(maker);
            }
            let header = report.saturating_sub(payload);
            let Some(smaller) = size.checked_sub(header).filter(|smaller| *smaller < payload) else {
                break;
            };
            payload = smaller;
        }
        maker.message = message(options, stack, 1)?;
        Err(DeviceError::TooSmall {
            stack,
            size,
            least: maker.report_bytes()?,
        })
    }

    /// A device's world at the start of its run.
    pub(super) fn world(&self, host: HostIndex, rng: Rng) -> Result<DeviceWorld, DeviceError> {
        self.world_on(host, rng, Port::default(), PacketBytes::default())
    }

    fn world_on<L: Carrier, T: Tap>(
        &self,
        host: HostIndex,
        rng: Rng,
        carrier: L,
        tap: T,
    ) -> Result<World<Client, Reporter, Server, L, T, Arrival>, DeviceError> {
        let world = World::directed(
            self.settings(rng.purpose(key_of("hosts"))),
            vec![self.device(host, rng)?],
            Reporter::new(self.stack),
            vec![self.service(rng)?],
            carrier,
            tap,
            Arrival::default(),
        );
        Ok(world)
    }

    /// Bytes of the application's report on a link without loss, its header included.
    fn report_bytes(&self) -> Result<usize, DeviceError> {
        let link = OneLink(FixedDelay(std::time::Duration::from_millis(10)));
        let mut world = self.world_on(0, Rng::new(1), link, Tally::new(|_| 0))?;
        world.wake_director();
        while world.observer().0.is_none() && world.advance_by_one(Instant::from_millis(60_000)) {}
        if world.observer().0.is_none() {
            return Err(DeviceError::NotTaken {
                stack: self.stack,
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
        let tcp = TcpConfig::larmo(MTU - headers);
        Settings {
            device_tcp: tcp.clone(),
            server_tcp: tcp,
            keeps_logs: false,
            ..Settings::linux(MTU, self.is_ipv6, rng)
        }
    }

    fn device(&self, host: HostIndex, rng: Rng) -> Result<Device<Client, ()>, DeviceError> {
        let secrets = rng.purpose(key_of("client secrets"));
        let channels = ClientChannels::simulated(&self.credentials, self.channel_options(), secrets);
        let config = ClientConfig {
            describes_received: false,
            answer_timeout: Some(super::population::PATIENCE),
            ..ClientConfig::new(format!("wc-{host:07}"), rng)
        };
        let message = self.message.with_seed(secrets.purpose(key_of("object")));
        let remote = self.server();
        let address = simulated_address(0, self.is_ipv6).unwrap_or(remote.ip());
        Ok(Device {
            host,
            local: SocketAddr::new(address, 0),
            remote,
            transport: self.stack.transport(),
            endpoint: Client::new(&message, &config, &channels)?,
            script: (),
        })
    }

    fn service(&self, rng: Rng) -> Result<Service<Server>, DeviceError> {
        let secrets = rng.purpose(key_of("server secrets"));
        let channels =
            ServerChannels::simulated(self.credentials.clone(), self.channel_options(), 1, secrets);
        let seed = rng.purpose(key_of("server")).next_u64();
        Ok(Service {
            address: self.server(),
            transport: self.stack.transport(),
            endpoint: Server::new(self.stack, Clients::Devices, &channels, seed)?,
        })
    }

    fn channel_options(&self) -> ChannelOptions {
        ChannelOptions {
            datagram_bytes: datagram_bytes(MTU, self.is_ipv6),
            ..ChannelOptions::default()
        }
    }

    fn server(&self) -> SocketAddr {
        SocketAddr::new(server_address(self.is_ipv6), self.stack.port())
    }
}

fn message(options: &Options, stack: Stack, payload: usize) -> Result<Message, DeviceError> {
    let payload: Arc<[u8]> = vec![0; payload].into();
    let rng = Rng::new(options.seed).purpose(key_of("object"));
    Ok(Message::simulated(stack, &options.resource, &payload, rng)?)
}

/// Opens a flow, sends the report once the client is ready, and notes how that ends.
#[derive(Debug)]
pub(super) struct Reporter {
    is_answered: bool,
    step: ReporterStep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReporterStep {
    Start,
    AwaitReady,
    Ready,
    AwaitEnd,
    /// The client needs nothing more.
    Done,
    /// The client has given up.
    Failed,
}

impl Reporter {
    const fn new(stack: Stack) -> Self {
        Self {
            is_answered: stack.is_answered(),
            step: ReporterStep::Start,
        }
    }

    /// Whether the client needs nothing more: its report is acknowledged, or sent where nothing answers it.
    pub(super) fn is_done(&self) -> bool {
        self.step == ReporterStep::Done
    }
}

impl Director<Client> for Reporter {
    fn event(&mut self, _: usize, event: Event, _: Instant) {
        self.step = match (self.step, event) {
            (ReporterStep::AwaitReady, Event::Ready { .. }) => ReporterStep::Ready,
            (ReporterStep::AwaitEnd, Event::Sent { .. }) if !self.is_answered => ReporterStep::Done,
            (_, Event::Acknowledged { .. }) => ReporterStep::Done,
            (
                ReporterStep::AwaitReady | ReporterStep::Ready | ReporterStep::AwaitEnd,
                Event::Refused { .. }
                | Event::TimedOut { .. }
                | Event::Rejected { .. }
                | Event::Closed
                | Event::Lost { .. },
            ) => ReporterStep::Failed,
            (step, _) => step,
        };
    }

    fn failed(&mut self, _: usize, _: ResetReason, _: Instant) {
        self.step = ReporterStep::Failed;
    }

    fn flushed(&mut self, _: usize, _: Instant) -> bool {
        false
    }

    fn next(&mut self, _: usize, _: Context) -> Step<Command> {
        match self.step {
            ReporterStep::Start => {
                self.step = ReporterStep::AwaitReady;
                Step::Connect
            }
            ReporterStep::Ready => {
                self.step = ReporterStep::AwaitEnd;
                Step::Command(Command::Send { message: 0 })
            }
            ReporterStep::AwaitReady | ReporterStep::AwaitEnd | ReporterStep::Done | ReporterStep::Failed => {
                Step::Wait(None)
            }
        }
    }

    fn due(&mut self, _: Instant) -> Due {
        match self.step {
            ReporterStep::Start => Due::Device(0),
            _ => Due::Later(None),
        }
    }
}

/// When the first report arrived at the server.
#[derive(Debug, Default)]
pub(super) struct Arrival(pub(super) Option<Instant>);

impl Observer<Server> for Arrival {
    fn event(&mut self, _: usize, _: Option<SocketAddr>, event: ServerEvent, now: Instant) {
        if event.message().is_some() {
            self.0.get_or_insert(now);
        }
    }
}

/// Bytes of IP packets, up and down; and the packets themselves, of a device that is recorded.
#[derive(Debug, Default)]
pub(super) struct PacketBytes(pub(super) [u64; 2], pub(super) Option<Box<Recording>>);

impl Tap for PacketBytes {
    fn packet(
        &mut self,
        packet: &wirecost_sim::Packet<'_>,
        entered: Instant,
        fate: Fate,
        deliveries: &[Delivery],
    ) {
        self.0[packet.direction as usize] += packet.wire_bytes as u64;
        if let Some(recording) = &mut self.1 {
            recording.packet(packet, entered, fate, deliveries);
        }
    }

    fn decided(&mut self, number: u32, now: Instant, arrives: Option<Instant>) {
        if let Some(recording) = &mut self.1 {
            recording.decided(number, now, arrives);
        }
    }
}

struct OneLink(FixedDelay);

impl Links for OneLink {
    fn link(&mut self, _: HostIndex) -> Option<&mut dyn Path> {
        Some(&mut self.0)
    }
}
