//! Very many devices at one server, all behind one uplink of 10 Mbit/s with a queue of 256 KiB: 128 bytes once a minute
//! for an hour, evenly spread and all within the first 5 s of each minute. CPU time, memory, and what the link did.
//!
//! `--test` runs a hundredth of the devices; `--devices N`, `--messages N` and `--interval SECONDS` choose others; a word
//! alone chooses the cases whose name contains it.

#![allow(clippy::disallowed_macros, reason = "a bench prints its figures")]

#[path = "../../wirecost-proto/benches/measure/mod.rs"]
#[allow(
    dead_code,
    reason = "what is measured here is not a message between two endpoints"
)]
mod measure;
#[allow(dead_code, reason = "there are more than two here")]
mod pairs;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use measure::{PAYLOAD, held_bytes};
use pairs::script::{Counting, Exchanges, Histogram};
use pairs::{OnlyLink, cpu_time, device, service};
use wirecost_coap::{client as coap, server as coap_server};
use wirecost_cost::Totals;
use wirecost_link::{LinkConfig, QueueLimit};
use wirecost_mqtt::codec::Text;
use wirecost_mqtt::quality::QoS;
use wirecost_mqtt::{broker, client as mqtt};
use wirecost_proto::bare::Transport;
use wirecost_proto::driver::Device;
use wirecost_proto::{Cause, Direction, Endpoint, Instant, Phase, Rng, Script};
use wirecost_sim::{Finished, Settings, Tally, World};

/// How many do how much.
struct Crowd {
    devices: u32,
    messages: u32,
    interval: Duration,
}

fn main() {
    let crowd = Crowd::from_arguments();
    let filter = std::env::args().skip(1).find(|word| {
        !word.starts_with("--")
            && word
                .chars()
                .all(|letter| letter.is_ascii_alphabetic() || letter == '-')
    });
    let burst = Duration::from_secs(5);
    for (name, spread) in [("even", crowd.interval), ("burst", burst)] {
        if filter
            .as_ref()
            .is_none_or(|filter| name.contains(filter.as_str()) || filter.contains("coap"))
        {
            crowd.coap(name, spread);
        }
        if filter
            .as_ref()
            .is_none_or(|filter| name.contains(filter.as_str()) || filter.contains("mqtt"))
        {
            crowd.mqtt(name, spread);
        }
    }
}

impl Crowd {
    fn from_arguments() -> Self {
        let arguments: Vec<String> = std::env::args().collect();
        let number = |name: &str, default: u32| {
            let at = arguments.iter().position(|word| word == name);
            let value = at.and_then(|at| arguments.get(at + 1)?.parse().ok());
            value.unwrap_or(default)
        };
        let is_smoke = arguments.iter().any(|word| word == "--test");
        Self {
            devices: number("--devices", if is_smoke { 1_000 } else { 100_000 }),
            messages: number("--messages", if is_smoke { 2 } else { 60 }),
            interval: Duration::from_secs(number("--interval", 60).into()),
        }
    }

    fn coap(&self, name: &str, spread: Duration) {
        let request = coap::Request::put("/test", PAYLOAD.to_vec());
        let template = Arc::new(coap::RequestTemplate::new(request).expect("a request that fits"));
        let histogram = Rc::new(Histogram::default());
        let member = |host: u32| {
            let template = Arc::clone(&template);
            let script = Exchanges::new(self.messages, self.interval, move |message| {
                let template = Arc::clone(&template);
                coap::Command::Request { message, template }
            });
            let script = script
                .opened_by(|event| matches!(event, coap::Event::Opened))
                .answered_by(|event| matches!(event, coap::Event::Response(_)))
                .given_up_by(|event| matches!(event, coap::Event::TimedOut { .. }))
                .among_others(
                    self.share(host, self.interval),
                    self.first_message(host, spread),
                    Rc::clone(&histogram),
                );
            let client = coap::Client::new(coap::Config::new(Rng::new(1).host(host.into())));
            device(host, Transport::Datagram, client, script)
        };
        let server = coap_server::Server::new(coap_server::Config::new(Rng::new(2)));
        self.run(
            &format!("coap-con, {name}"),
            Transport::Datagram,
            member,
            server,
            &histogram,
        );
    }

    fn mqtt(&self, name: &str, spread: Duration) {
        let template = mqtt::PublishTemplate::new("test", QoS::AtLeastOnce, PAYLOAD);
        let template = Arc::new(template.expect("a message"));
        let histogram = Rc::new(Histogram::default());
        let member = |host: u32| {
            let template = Arc::clone(&template);
            let script = Exchanges::new(self.messages, self.interval, move |_| {
                mqtt::Command::Publish(Arc::clone(&template))
            });
            let script = script
                .opened_by(|event| matches!(event, mqtt::Event::Connected { .. }))
                .answered_by(|event| matches!(event, mqtt::Event::Acknowledged { .. }))
                .among_others(
                    self.share(host, self.interval),
                    self.first_message(host, spread),
                    Rc::clone(&histogram),
                );
            let config = mqtt::Config {
                client_id: Text::new(&format!("wc-{host:07}")).expect("a short name").into(),
                // Messages keep the connection alive: pings would be most of the traffic.
                keep_alive: u16::try_from(2 * self.interval.as_secs()).unwrap_or(u16::MAX),
                ..mqtt::Config::default()
            };
            device(host, Transport::Stream, mqtt::Client::new(config), script)
        };
        let server = broker::Broker::new(broker::Config::default());
        self.run(
            &format!("mqtt-qos1, {name}"),
            Transport::Stream,
            member,
            server,
            &histogram,
        );
    }

    /// When a device sends its first message: all have connected by then.
    fn first_message(&self, host: u32, spread: Duration) -> Instant {
        self.share(host, spread) + self.interval
    }

    /// A device's part of the time over which all of them do something.
    fn share(&self, host: u32, spread: Duration) -> Instant {
        let nanos = spread.as_nanos() * u128::from(host) / u128::from(self.devices);
        Instant::START + Duration::from_nanos(nanos as u64)
    }

    fn run<C, F, S>(
        &self,
        name: &str,
        transport: Transport,
        member: impl Fn(u32) -> Device<C, Exchanges<C, F>>,
        server: S,
        histogram: &Histogram,
    ) where
        C: Endpoint<Error: std::fmt::Display>,
        F: Fn(u64) -> C::Command,
        Exchanges<C, F>: Script<C>,
        S: Endpoint<Error: std::fmt::Display>,
    {
        let settings = Settings {
            keeps_logs: false,
            ..Settings::linux(1_500, false, Rng::new(3))
        };
        let mut config = LinkConfig::symmetric(Duration::from_millis(50));
        config.up.rate = "10Mbit".parse().ok();
        config.up.queue = Some(QueueLimit::Bytes(256 << 10));
        let before = (cpu_time(), held_bytes());
        let world = World::new(
            settings,
            (0..self.devices).map(member).collect(),
            vec![service(transport, server)],
            OnlyLink::from_config(config),
            Tally::new(|_| 0),
            Counting::default(),
        );
        let asleep = held_bytes() - before.1;
        let finished = world.run(Instant::from_nanos(u64::MAX));
        let seconds = (cpu_time() - before.0).as_secs_f64();
        println!(
            "{name}: {} devices, {} messages each\n  {seconds:.1} s of CPU time, {:.0} events per second, {} bytes per device \
             unopened",
            self.devices,
            self.messages,
            finished.events as f64 / seconds,
            asleep / i64::from(self.devices)
        );
        print_outcome(&finished, histogram);
    }
}

fn print_outcome<C: Endpoint, F: Fn(u64) -> C::Command, G: Fn(u32) -> usize>(
    finished: &Finished<Exchanges<C, F>, OnlyLink, Tally<G>, Counting>,
    histogram: &Histogram,
) {
    let answered: u64 = finished
        .devices
        .iter()
        .map(|report| report.script.answered())
        .sum();
    let failed = finished
        .devices
        .iter()
        .filter(|report| !report.script.is_complete());
    let up = finished.links.0.counters(Direction::Up);
    let totals = finished.tap.totals().first().cloned().unwrap_or_default();
    println!(
        "  {answered} answered, {} devices broke off, {} of {} packets found the uplink's queue full, {} sent again",
        failed.count(),
        up.queue_dropped,
        up.offered.packets,
        again(&totals)
    );
    println!(
        "  answer after at most (ms, to a power of two): median {:.0}, 99 % {:.0}, 99.9 % {:.0}; ended at {}; most held {} MB",
        histogram.quantile_millis(0.5),
        histogram.quantile_millis(0.99),
        histogram.quantile_millis(0.999),
        finished.ended,
        peak_megabytes()
    );
}

/// Packets that were sent before.
fn again(totals: &Totals) -> u64 {
    let ways = Direction::ALL.into_iter();
    let kinds = ways.flat_map(|way| Phase::ALL.map(|phase| (phase, way)));
    kinds
        .map(|(phase, way)| totals.traffic(phase, way).packets_by_cause(Cause::Retransmission))
        .sum()
}

/// The most memory that the process has had, in MB.
fn peak_megabytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kibibytes.unwrap_or_default() * 1_024 / 1_000_000
}
