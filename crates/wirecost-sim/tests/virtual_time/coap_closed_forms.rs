//! Confirmable CoAP under independent loss against its closed forms.
//!
//! With loss p each way, a transmission and its acknowledgment both arrive with probability q = (1 - p)^2. A client
//! transmits at most five times (MAX_RETRANSMIT 4, RFC 7252, section 4.8), so that with r = 1 - q an exchange is
//! acknowledged by its k-th transmission with probability q r^(k-1), never with r^5, and the request reaches the server
//! with 1 - p^5.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::common::{OwnLinks, PORT, delay, settings};
use wirecost_coap::client::{self, Client, Command, Event, Request, RequestTemplate};
use wirecost_coap::server::{self, Server};
use wirecost_link::Loss;
use wirecost_proto::bare::Transport;
use wirecost_proto::driver::{Device, Service, ServiceObserver};
use wirecost_proto::hosts::{HostIndex, device_address, server_address};
use wirecost_proto::script::{Context, Step};
use wirecost_proto::{Instant, Probability, ResetReason, Rng, Script};
use wirecost_sim::World;

const DEVICES: u32 = 100;
const EXCHANGES: u64 = 1_000;
const TRANSMISSIONS: i32 = 5;
/// The standard normal quantile that leaves 0.05 % on each side.
const Z: f64 = 3.291;

/// One exchange after the other, and how they ended.
struct Exchanges {
    template: Arc<RequestTemplate>,
    connecting: bool,
    free: bool,
    sent: u64,
    /// Transmissions of acknowledged exchanges.
    acknowledged: Vec<u32>,
    timed_out: u64,
}

impl Script<Client> for Exchanges {
    fn event(&mut self, event: Event, _: Instant) {
        match event {
            Event::Response(response) => self.acknowledged.push(response.transmissions),
            Event::TimedOut { .. } => self.timed_out += 1,
            Event::Sent { .. } => return,
            Event::Opened => {}
            other => panic!("{other:?}"),
        }
        self.free = true;
    }

    fn failed(&mut self, reason: ResetReason, _: Instant) {
        panic!("{reason}");
    }

    fn flushed(&mut self, _: Instant) {}

    fn next(&mut self, _: Context) -> Step<Command> {
        if !std::mem::replace(&mut self.connecting, true) {
            return Step::Connect;
        }
        if !std::mem::replace(&mut self.free, false) {
            return Step::Wait(None);
        }
        if self.sent == EXCHANGES {
            return Step::Finished;
        }
        self.sent += 1;
        Step::Command(Command::Request {
            message: self.sent,
            template: Arc::clone(&self.template),
        })
    }
}

/// Requests that reached the server, each once.
#[derive(Default)]
struct Delivered(u64);

impl ServiceObserver<Server> for Delivered {
    fn event(&mut self, _: usize, _: Option<SocketAddr>, event: server::Event, _: Instant) {
        if matches!(event, server::Event::MessageReceived { duplicate: false, .. }) {
            self.0 += 1;
        }
    }
}

struct Counts {
    acknowledged: Vec<u32>,
    timed_out: u64,
    delivered: u64,
}

fn exchanges(p: f64) -> Counts {
    let seed = Rng::new((p * 1_000.0) as u64);
    let mut link = delay(10);
    link.up.loss = Loss::Bernoulli(Probability::new(p).expect("a probability"));
    link.down.loss = link.up.loss;
    let request = Request::put("/test", vec![7; 16]);
    let template = Arc::new(RequestTemplate::new(request).expect("a request that fits"));
    let device = |host: HostIndex| Device {
        host,
        local: SocketAddr::new(device_address(host, false).expect("an address"), 0),
        remote: SocketAddr::new(server_address(false), PORT),
        transport: Transport::Datagram,
        endpoint: Client::new(client::Config::new(seed.host(host.into()))),
        script: Exchanges {
            template: Arc::clone(&template),
            connecting: false,
            free: false,
            sent: 0,
            acknowledged: Vec::new(),
            timed_out: 0,
        },
    };
    let service = Service {
        address: SocketAddr::new(server_address(false), PORT),
        transport: Transport::Datagram,
        endpoint: Server::new(server::Config::new(seed)),
    };
    let links = OwnLinks::new(DEVICES, link, seed.at(0));
    let mut quiet = settings();
    quiet.keeps_logs = false;
    let devices = (0..DEVICES).map(device).collect();
    let world = World::new(quiet, devices, vec![service], links, (), Delivered::default());
    let finished = world.run(Instant::START + Duration::from_secs(1 << 32));
    let reports = finished.devices;
    let unfinished = reports.iter().find(|report| !report.finished);
    assert!(
        unfinished.is_none(),
        "{:?}",
        unfinished.map(|report| (&report.error, report.script.sent))
    );
    Counts {
        acknowledged: reports
            .iter()
            .flat_map(|report| report.script.acknowledged.clone())
            .collect(),
        timed_out: reports.iter().map(|report| report.script.timed_out).sum(),
        delivered: finished.observer.0,
    }
}

/// Holds a count of `of` trials against its probability, within its 99.9 % interval.
fn assert_share(what: &str, count: u64, of: f64, probability: f64) {
    let expected = of * probability;
    // A count that is hardly ever above zero has no normal interval: one more is allowed.
    let margin = Z * (of * probability * (1.0 - probability)).sqrt() + 1.0;
    let off = (count as f64 - expected).abs();
    assert!(
        off <= margin,
        "{what}: {count} of {of}, expected {expected:.1} within {margin:.1}"
    );
}

#[test]
fn transmissions_failures_and_deliveries_follow_from_the_loss() {
    for (p, published) in [(0.01, 1.0203), (0.05, 1.1080), (0.1, 1.2333), (0.2, 1.5321)] {
        let counts = exchanges(p);
        let q = (1.0 - p) * (1.0 - p);
        let r = 1.0 - q;
        let never = r.powi(TRANSMISSIONS);
        let share = |k: i32| q * r.powi(k - 1) / (1.0 - never);
        let mean: f64 = (1..=TRANSMISSIONS).map(|k| f64::from(k) * share(k)).sum();
        assert!(
            (mean - published).abs() < 5e-5,
            "the closed form gives {mean} at {p}"
        );
        let square: f64 = (1..=TRANSMISSIONS).map(|k| f64::from(k * k) * share(k)).sum();

        let n = counts.acknowledged.len() as f64;
        let found = counts.acknowledged.iter().map(|&k| f64::from(k)).sum::<f64>() / n;
        let margin = Z * ((square - mean * mean) / n).sqrt();
        assert!(
            (found - mean).abs() <= margin,
            "{found} transmissions at {p}, expected {mean} within {margin}"
        );

        let offered = f64::from(DEVICES) * EXCHANGES as f64;
        assert_eq!(
            counts.acknowledged.len() as u64 + counts.timed_out,
            u64::from(DEVICES) * EXCHANGES
        );
        assert_share("not acknowledged", counts.timed_out, offered, never);
        assert_share(
            "delivered",
            counts.delivered,
            offered,
            1.0 - p.powi(TRANSMISSIONS),
        );
    }
}
