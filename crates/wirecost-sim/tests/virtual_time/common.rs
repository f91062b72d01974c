//! Devices with the simplest scripts, and worlds to put them in.

use std::net::SocketAddr;
use std::time::Duration;

use wirecost_link::{Link, LinkConfig, Loss};
use wirecost_proto::bare::{Client, ClientCommand, ClientEvent, Server, ServerEvent, Transport};
use wirecost_proto::director::Scripts;
use wirecost_proto::driver::{Device, Service, ServiceObserver};
use wirecost_proto::hosts::{HostIndex, server_address, simulated_address};
use wirecost_proto::path::Links;
use wirecost_proto::record::Record;
use wirecost_proto::script::{Context, Step};
use wirecost_proto::{Content, Instant, Path, Probability, ResetReason, Rng, Script};
use wirecost_sim::{Carrier, Recording, Settings, Tap, World};

pub(crate) const PORT: u16 = 7_000;

/// Sends so many messages of so many bytes at intervals, and closes.
#[derive(Debug)]
pub(crate) struct Talker {
    /// How long it waits after its close.
    pub(crate) lingers: Duration,
    pub(crate) bytes: usize,
    pub(crate) messages: u32,
    pub(crate) interval: Duration,
    pub(crate) starts: Instant,
    pub(crate) sent_messages: u32,
    /// When the last byte of each left the driver's buffer.
    pub(crate) sent: Vec<Instant>,
    pub(crate) opened: Option<Instant>,
    pub(crate) closed: Option<Instant>,
    pub(crate) failures: Vec<ResetReason>,
    pub(crate) connecting: bool,
    pub(crate) closing: Option<Instant>,
}

impl Default for Talker {
    fn default() -> Self {
        Self {
            // What is still on its way arrives, and a connection is closed by both.
            lingers: Duration::from_secs(100),
            bytes: 0,
            messages: 0,
            interval: Duration::ZERO,
            starts: Instant::START,
            sent_messages: 0,
            sent: Vec::new(),
            opened: None,
            closed: None,
            failures: Vec::new(),
            connecting: false,
            closing: None,
        }
    }
}

impl Talker {
    /// So many messages of so many bytes, 10 ms apart.
    pub(crate) fn with(bytes: usize, messages: u32) -> Self {
        Self {
            bytes,
            messages,
            interval: Duration::from_millis(10),
            ..Self::default()
        }
    }
}

impl Script<Client> for Talker {
    fn event(&mut self, event: ClientEvent, now: Instant) {
        match event {
            ClientEvent::Opened => self.opened = Some(now),
            ClientEvent::Sent { .. } | ClientEvent::TooLong { .. } => {}
            ClientEvent::Closed => self.closed = Some(now),
            ClientEvent::Reset(reason) => self.failures.push(reason),
        }
    }

    fn failed(&mut self, reason: ResetReason, _: Instant) {
        self.failures.push(reason);
    }

    fn flushed(&mut self, now: Instant) {
        self.sent.push(now);
    }

    fn next(&mut self, context: Context) -> Step<ClientCommand> {
        let now = context.now;
        if now < self.starts {
            return Step::Wait(Some(self.starts));
        }
        if !self.connecting {
            self.connecting = true;
            return Step::Connect;
        }
        if !self.failures.is_empty() {
            return Step::Finished;
        }
        let Some(opened) = self.opened else {
            return Step::Wait(None);
        };
        let due = opened + self.interval * self.sent_messages;
        if self.sent_messages < self.messages {
            if now < due || context.congested {
                return Step::Wait((!context.congested).then_some(due));
            }
            self.sent_messages += 1;
            return Step::Command(ClientCommand::Send {
                message: 0,
                content: Content::from(vec![7; self.bytes].as_slice()),
            });
        }
        match self.closing {
            None if now < due => Step::Wait(Some(due)),
            None => {
                self.closing = Some(now);
                Step::Command(ClientCommand::Close)
            }
            Some(closing) if now < closing + self.lingers => Step::Wait(Some(closing + self.lingers)),
            Some(_) => Step::Finished,
        }
    }
}

/// Notes when which message arrived.
#[derive(Debug, Default)]
pub(crate) struct Arrivals(pub(crate) Vec<(Instant, SocketAddr, u64)>);

impl ServiceObserver<Server> for Arrivals {
    fn event(&mut self, _: usize, peer: Option<SocketAddr>, event: ServerEvent, now: Instant) {
        let ServerEvent::Message { payload_bytes, .. } = event;
        let peer = peer.expect("a message comes from a peer");
        self.0.push((now, peer, payload_bytes));
    }
}

/// A link for each device.
#[derive(Debug)]
pub(crate) struct OwnLinks(pub(crate) Vec<Link>);

impl OwnLinks {
    pub(crate) fn new(devices: u32, config: LinkConfig, seed: u64) -> Self {
        let links = (0..devices).map(|host| Link::new(config, Rng::new(seed).host(host.into())));
        Self(links.collect())
    }
}

impl Links for OwnLinks {
    fn link(&mut self, host: HostIndex) -> Option<&mut dyn Path> {
        self.0.get_mut(host as usize).map(|link| link as &mut dyn Path)
    }
}

/// The packets of devices in this order, each behind a lossy link of its own, host after host.
pub(crate) fn packets_in_order(
    order: &[u32],
    settings: Settings,
    device: impl Fn(u32) -> Device<Client, Talker>,
    loss: f64,
) -> Vec<Record> {
    let mut config = delay(5);
    config.up.loss = Loss::Bernoulli(Probability::new(loss).expect("a probability"));
    let devices = order.iter().map(|host| device(*host)).collect();
    let finished = world(settings, devices, OwnLinks::new(3, config, 9), Recording::new());
    let mut records = finished.run(end()).tap.into_records();
    records.retain(|record| matches!(record, Record::Packet(_)));
    records.sort_by_key(|record| match record {
        Record::Packet(packet) => packet.host,
        Record::Delivery(_) => None,
    });
    records
}

/// One link for all.
#[derive(Debug)]
pub(crate) struct SharedLink(pub(crate) Link);

impl Links for SharedLink {
    fn link(&mut self, _: HostIndex) -> Option<&mut dyn Path> {
        Some(&mut self.0)
    }
}

pub(crate) fn device(host: HostIndex, transport: Transport, script: Talker) -> Device<Client, Talker> {
    let ipv6 = false;
    device_on(host, transport, script, ipv6)
}

pub(crate) fn device_on(
    host: HostIndex,
    transport: Transport,
    script: Talker,
    ipv6: bool,
) -> Device<Client, Talker> {
    let address = simulated_address(host, ipv6).expect("an address");
    Device {
        host,
        local: SocketAddr::new(address, 0),
        remote: SocketAddr::new(server_address(ipv6), PORT),
        transport,
        endpoint: Client::new(transport),
        script,
    }
}

pub(crate) fn service(transport: Transport, ipv6: bool) -> Service<Server> {
    Service {
        address: SocketAddr::new(server_address(ipv6), PORT),
        transport,
        endpoint: Server::new(transport),
    }
}

pub(crate) fn settings() -> Settings {
    Settings::linux(1_500, false, Rng::new(1))
}

pub(crate) type BareWorld<L, T> = World<Client, Scripts<Talker>, Server, L, T, Arrivals>;

/// Devices that talk to one service.
pub(crate) fn world<L: Carrier, T: Tap>(
    settings: Settings,
    devices: Vec<Device<Client, Talker>>,
    links: L,
    tap: T,
) -> BareWorld<L, T> {
    let ipv6 = devices.first().is_some_and(|device| device.local.is_ipv6());
    let transport = devices
        .first()
        .map_or(Transport::Stream, |device| device.transport);
    World::new(
        settings,
        devices,
        vec![service(transport, ipv6)],
        links,
        tap,
        Arrivals::default(),
    )
}

pub(crate) fn end() -> Instant {
    Instant::from_millis(100_000_000)
}

/// A link of this delay each way.
pub(crate) fn delay(millis: u64) -> LinkConfig {
    LinkConfig::symmetric(Duration::from_millis(2 * millis))
}
