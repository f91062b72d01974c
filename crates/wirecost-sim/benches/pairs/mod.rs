//! One client and one server, and hosts that do nothing.

pub(crate) mod idle;
pub(crate) mod script;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use script::{Counting, Exchanges};
use wirecost_coap::{client as coap_client, server as coap_server};
use wirecost_link::{Link, LinkConfig};
use wirecost_mqtt::quality::QoS;
use wirecost_mqtt::{broker, client as mqtt_client};
use wirecost_proto::bare::{self, Transport};
use wirecost_proto::driver::{Device, Service};
use wirecost_proto::hosts::{HostIndex, server_address, simulated_address};
use wirecost_proto::path::Links;
use wirecost_proto::{Content, Direction, Endpoint, Instant, Path, Rng, Script};
use wirecost_sim::{Finished, Settings, Tap, World};

use crate::measure::PAYLOAD;

/// A pair's only link.
pub(crate) struct OnlyLink(pub(crate) Link);

impl Links for OnlyLink {
    fn link(&mut self, _: HostIndex) -> Option<&mut dyn Path> {
        Some(&mut self.0)
    }
}

impl OnlyLink {
    pub(crate) fn new() -> Self {
        Self::from_config(LinkConfig::symmetric(Duration::from_millis(10)))
    }

    /// A line on which no segment arrives together with another.
    fn line() -> Self {
        let mut config = LinkConfig::symmetric(Duration::from_millis(10));
        for way in [&mut config.up, &mut config.down] {
            way.rate = "100Mbit".parse().ok();
        }
        Self::from_config(config)
    }

    pub(crate) fn from_config(config: LinkConfig) -> Self {
        Self(Link::new(config, Rng::new(1)))
    }

    fn packets(&self) -> u64 {
        let packets = Direction::ALL.map(|way| self.0.counters(way).offered.packets);
        packets.iter().sum()
    }
}

/// Bare datagrams, a millisecond apart: datagrams and events.
pub(crate) fn datagrams(messages: u32, tap: impl Tap) -> (u64, u64) {
    let payload = Content::from(PAYLOAD.as_slice());
    let script = Exchanges::new(messages, Duration::from_millis(1), move |_| {
        bare::ClientCommand::Send {
            message: 0,
            content: payload.clone(),
        }
    })
    .unanswered()
    .opened_by(|event| matches!(event, bare::ClientEvent::Opened));
    let (client, server) = (
        bare::Client::new(Transport::Datagram),
        bare::Server::new(Transport::Datagram),
    );
    let finished = run(Transport::Datagram, OnlyLink::new(), client, script, server, tap);
    (finished.observer.0, finished.events)
}

/// Confirmable PUTs, a second apart: exchanges and events. EXCHANGE_LIFETIME (RFC 7252, section 4.8.2) bounds what is
/// remembered.
pub(crate) fn coap(messages: u32, tap: impl Tap) -> (u64, u64) {
    let request = coap_client::Request::put("/test", PAYLOAD.to_vec());
    let template = Arc::new(coap_client::RequestTemplate::new(request).expect("a request that fits"));
    let script = Exchanges::new(messages, Duration::from_secs(1), move |message| {
        coap_client::Command::Request {
            message,
            template: Arc::clone(&template),
        }
    })
    .opened_by(|event| matches!(event, coap_client::Event::Opened))
    .answered_by(|event| matches!(event, coap_client::Event::Response(_)));
    let client = coap_client::Client::new(coap_client::Config::new(Rng::new(1)));
    let server = coap_server::Server::new(coap_server::Config::new(Rng::new(2)));
    let finished = run(Transport::Datagram, OnlyLink::new(), client, script, server, tap);
    (finished.devices[0].script.answered(), finished.events)
}

/// QoS 1, 100 ms apart, so that each acknowledgement of TCP rides on a message or waits its time: exchanges and events.
pub(crate) fn mqtt(messages: u32, tap: impl Tap) -> (u64, u64) {
    let template = mqtt_client::PublishTemplate::new("test", QoS::AtLeastOnce, PAYLOAD);
    let template = Arc::new(template.expect("a message"));
    let script = Exchanges::new(messages, Duration::from_millis(100), move |_| {
        mqtt_client::Command::Publish(Arc::clone(&template))
    })
    .opened_by(|event| matches!(event, mqtt_client::Event::Connected { .. }))
    .answered_by(|event| matches!(event, mqtt_client::Event::Acknowledged { .. }));
    let client = mqtt_client::Client::new(mqtt_client::Config::default());
    let server = broker::Broker::new(broker::Config::default());
    let finished = run(Transport::Stream, OnlyLink::new(), client, script, server, tap);
    (finished.devices[0].script.answered(), finished.events)
}

/// Messages on bare TCP, 100 ms apart, each acknowledged by itself: packets and events.
pub(crate) fn segments(messages: u32, tap: impl Tap) -> (u64, u64) {
    let interval = Duration::from_millis(100);
    bare_stream(messages, &PAYLOAD, interval, OnlyLink::new(), tap)
}

/// Messages of a megabyte on bare TCP over a line of 100 Mbit/s: packets and events.
pub(crate) fn stream(messages: u32, tap: impl Tap) -> (u64, u64) {
    let interval = Duration::from_millis(1);
    bare_stream(messages, &[7; 1_000_000], interval, OnlyLink::line(), tap)
}

fn bare_stream(
    messages: u32,
    payload: &[u8],
    interval: Duration,
    link: OnlyLink,
    tap: impl Tap,
) -> (u64, u64) {
    let payload = Content::from(payload);
    let script = Exchanges::new(messages, interval, move |_| bare::ClientCommand::Send {
        message: 0,
        content: payload.clone(),
    })
    .unanswered()
    .opened_by(|event| matches!(event, bare::ClientEvent::Opened));
    let (client, server) = (
        bare::Client::new(Transport::Stream),
        bare::Server::new(Transport::Stream),
    );
    let finished = run(Transport::Stream, link, client, script, server, tap);
    (finished.links.packets(), finished.events)
}

fn run<C, D, S, T>(
    transport: Transport,
    link: OnlyLink,
    client: C,
    script: D,
    server: S,
    tap: T,
) -> Finished<D, OnlyLink, T, Counting>
where
    C: Endpoint<Error: std::fmt::Display>,
    D: Script<C>,
    S: Endpoint<Error: std::fmt::Display>,
    T: Tap,
{
    let settings = Settings {
        keeps_logs: false,
        ..Settings::linux(1_500, false, Rng::new(3))
    };
    let devices = vec![device(0, transport, client, script)];
    let services = vec![service(transport, server)];
    let world = World::new(settings, devices, services, link, tap, Counting::default());
    world.run(Instant::from_nanos(u64::MAX))
}

pub(crate) fn device<C, D>(host: HostIndex, transport: Transport, endpoint: C, script: D) -> Device<C, D> {
    Device {
        host,
        local: SocketAddr::new(simulated_address(host, false).expect("an address"), 0),
        remote: SocketAddr::new(server_address(false), 7_000),
        transport,
        endpoint,
        script,
    }
}

pub(crate) fn service<S>(transport: Transport, endpoint: S) -> Service<S> {
    Service {
        address: SocketAddr::new(server_address(false), 7_000),
        transport,
        endpoint,
    }
}

/// CPU time of this thread, by the kernel's scheduler.
pub(crate) fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or_default())
}
