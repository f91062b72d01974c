//! Whole simulations: devices, links and their counters.

use std::net::SocketAddr;
use std::time::Duration;

use wirecost_link::{
    DelayDistribution, DelayVariation, DirectionConfig, Link, LinkConfig, Loss, QueueLimit, Reorder,
};
use wirecost_proto::bare::{Client, Server, ServerEvent, Transport};
use wirecost_proto::driver::{Device, Service, ServiceObserver};
use wirecost_proto::hosts::{HostIndex, server_address, simulated_address};
use wirecost_proto::path::Links;
use wirecost_proto::{BitRate, Instant, Path, Probability, Rng};
use wirecost_sim::{Finished, Recording, Settings, Tally, World};
use wirecost_tcp::Config;

use crate::script::Script;
use crate::tcp;

mod sender;

use sender::Sender;

/// The largest number of devices in an input.
const MOST_DEVICES: u8 = 6;

/// Longer than devices need to give up: a world that is not over then hangs.
const LATEST: Instant = Instant::from_millis(1_000_000_000);

const PORT: u16 = 7_000;

/// A world of bare devices with links of their own: it comes to its end, every message arrives once over streams and at most
/// so often over datagrams as packets are repeated, the tally is what the ledger finds in the packets, and neither depends
/// on the order of the devices.
pub fn world(bytes: &[u8]) -> bool {
    let mut script = Script::new(bytes);
    let Some(setting) = Setting::read(&mut script) else {
        return false;
    };
    let forward = setting.run(false);
    setting.check(&forward);
    let backward = setting.run(true);
    let totals = [&forward, &backward].map(|run| run.tap.1.totals());
    assert_eq!(totals[0], totals[1], "the order of devices matters");
    script.rest().is_empty()
}

type Taps = (Recording, Tally<fn(HostIndex) -> usize>);

type Run = Finished<Sender, OwnLinks, Taps, Arrivals>;

/// What an input says.
struct Setting {
    transport: Transport,
    ipv6: bool,
    tcp: fn(u16) -> Config,
    mtu: u16,
    link: LinkConfig,
    seed: u64,
    senders: Vec<Sender>,
}

impl Setting {
    fn read(script: &mut Script<'_>) -> Option<Self> {
        let (choice, seed) = (script.byte()?, script.byte()?);
        let mtu = if choice & 4 == 0 { 1_500 } else { 1_280 };
        let link = LinkConfig {
            up: direction(script, mtu)?,
            down: direction(script, mtu)?,
            ..LinkConfig::default()
        };
        let count = script.byte()? % MOST_DEVICES + 1;
        let is_stream = choice & 1 == 0;
        let senders: Option<Vec<_>> = (0..count).map(|_| sender(script, is_stream)).collect();
        Some(Self {
            transport: if is_stream {
                Transport::Stream
            } else {
                Transport::Datagram
            },
            ipv6: choice & 2 != 0,
            tcp: tcp::preset(choice >> 3),
            mtu,
            link,
            seed: u64::from(seed),
            senders: senders?,
        })
    }

    /// Runs the world, with the devices in their order or in reverse order.
    fn run(&self, is_reversed: bool) -> Run {
        let rng = Rng::new(self.seed);
        let mut settings = Settings::linux(self.mtu, self.ipv6, rng);
        let largest = settings.device_tcp.maximum_segment_size;
        settings.device_tcp = (self.tcp)(largest);
        let mut devices: Vec<_> = (0..)
            .zip(&self.senders)
            .map(|(host, sender)| self.device(host, sender))
            .collect();
        if is_reversed {
            devices.reverse();
        }
        let service = Service {
            address: SocketAddr::new(server_address(self.ipv6), PORT),
            transport: self.transport,
            endpoint: Server::new(self.transport),
        };
        let links = (0..)
            .zip(&self.senders)
            .map(|(host, _)| Link::new(self.link, rng.host(host)));
        let links = OwnLinks(links.collect());
        let tap: Taps = (Recording::new(), Tally::new(|host| host as usize));
        World::new(settings, devices, vec![service], links, tap, Arrivals::default()).run(LATEST)
    }

    fn device(&self, host: HostIndex, sender: &Sender) -> Device<Client, Sender> {
        let address = simulated_address(host, self.ipv6).expect("there are few hosts");
        Device {
            host,
            local: SocketAddr::new(address, 0),
            remote: SocketAddr::new(server_address(self.ipv6), PORT),
            transport: self.transport,
            endpoint: Client::new(self.transport),
            script: sender.clone(),
        }
    }

    fn check(&self, run: &Run) {
        assert!(run.ended < LATEST, "never over");
        assert!(run.service_errors.is_empty(), "{:?}", run.service_errors);
        let (recording, tally) = &run.tap;
        for device in &run.devices {
            assert!(device.finished && device.error.is_none(), "{device:?}");
            let totals = recording.totals_of(device, &run.flows, PORT);
            let tallied = tally
                .totals()
                .get(device.host as usize)
                .cloned()
                .unwrap_or_default();
            assert_eq!(tallied, totals, "host {}", device.host);
        }
        let sent: u64 = run.devices.iter().map(|device| device.script.sent).sum();
        let has_failed = run.devices.iter().any(|device| device.script.has_failed);
        if self.transport == Transport::Stream {
            assert!(run.observer.0 <= sent, "a message came twice");
            assert!(
                run.observer.0 == sent || has_failed,
                "{} of {sent} messages came",
                run.observer.0
            );
        }
    }
}

/// What a device does.
fn sender(script: &mut Script<'_>, is_stream: bool) -> Option<Sender> {
    let (bytes, flows) = (script.u16()?, script.byte()?);
    let (messages, interval) = (script.byte()? % 8, script.byte()?);
    let interval = Duration::from_micros(u64::from(interval).pow(3));
    let mut sender = Sender::new(usize::from(bytes % 20_000), messages.into(), interval);
    sender.is_stream = is_stream;
    sender.flows = u32::from(flows % 4);
    sender.starts = Instant::from_millis(u64::from(flows >> 2));
    Some(sender)
}

/// What one direction of every link does.
fn direction(script: &mut Script<'_>, mtu: u16) -> Option<DirectionConfig> {
    let mut chance = |most: f64| Probability::new(f64::from(script.byte()?) / 255.0 * most);
    let (loss, duplicate, corrupt, reorder) = (chance(0.3)?, chance(0.3)?, chance(0.2)?, chance(0.5)?);
    let delay = Duration::from_micros(u64::from(script.u16()?));
    let (rate, queue) = (script.byte()?, script.byte()?);
    let is_overtaking = queue & 1 != 0;
    Some(DirectionConfig {
        delay,
        delay_variation: is_overtaking.then_some(DelayVariation {
            distribution: DelayDistribution::Uniform {
                plus_minus: delay / 2,
            },
            keeps_order: queue & 2 != 0,
        }),
        loss: Loss::Bernoulli(loss),
        reorder: Some(Reorder {
            probability: reorder,
            extra_delay: delay / 3,
        }),
        duplicate,
        corrupt,
        rate: BitRate::from_bits_per_second(u64::from(rate) * 50_000),
        queue: Some(QueueLimit::Packets(u64::from(queue >> 2) + 4)),
        mtu,
    })
}

/// A link for each device.
struct OwnLinks(Vec<Link>);

impl Links for OwnLinks {
    fn link(&mut self, host: HostIndex) -> Option<&mut dyn Path> {
        self.0.get_mut(host as usize).map(|link| link as &mut dyn Path)
    }
}

/// Counts the messages that arrive.
#[derive(Default)]
struct Arrivals(u64);

impl ServiceObserver<Server> for Arrivals {
    fn event(&mut self, _: usize, _: Option<SocketAddr>, event: ServerEvent, _: Instant) {
        let ServerEvent::Message { .. } = event;
        self.0 += 1;
    }
}
