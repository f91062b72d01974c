//! What a device takes in virtual time is what `footprint` says, stack by stack; and the packets of a capture take nothing.

#[path = "../../wirecost-proto/benches/measure/allocator.rs"]
mod allocator;

use std::path::Path;
use std::time::Duration;

use wirecost_link::LinkConfig;
use wirecost_load::context::RunContext;
use wirecost_load::devices::footprint::bytes_of_a_device;
use wirecost_load::run::run;
use wirecost_load::watch::{Announcement, Tick, Watcher};
use wirecost_scenario::options::load::{Arrivals, LoadEngine, LoadOptions, LoadTarget, Offer, Phase, Who};
use wirecost_stack::target::Target;

use allocator::held_bytes;

/// A row of the table may be this far from what is measured: memory that the allocator wastes is in no count, and a list grows by
/// doubling.
const TOLERANCE: f64 = 0.3;
/// Devices of the two loads whose difference is measured.
const DEVICES: [u32; 2] = [100, 400];

/// One stack for each row of the table.
const STACKS: [&str; 17] = [
    "tcp",
    "udp",
    "mqtt-qos1",
    "mqtt5-qos1",
    "mqttsn-qos1",
    "coap-con",
    "coap-tcp",
    "amqp-unsettled",
    "http1",
    "http3",
    "postgres",
    "mqtt-qos1+tls1.3",
    "mqtt-qos1+tls1.2",
    "coap-con+dtls1.3",
    "coap-con+dtls1.2",
    "coap-con+dtls1.2-psk",
    "coap-con+oscore",
];

/// Those whose devices take more where all connect at one instant, without a round trip: no connection comes to rest in it.
const AWAKE: [&str; 7] = [
    "tcp",
    "mqtt-qos1",
    "coap-tcp",
    "amqp-unsettled",
    "http1",
    "postgres",
    "mqtt-qos1+tls1.3",
];

/// Every device connects and sends two messages within 40 s, over this link.
fn load(stack: &str, clients: u32, link: Option<&LinkConfig>) -> LoadOptions {
    let offer = Offer {
        arrivals: Arrivals::Open {
            rate: 0.05,
            per_client: true,
            poisson: false,
        },
        duration: Some(Duration::from_secs(40)),
        count: None,
        warm_up: Duration::ZERO,
        ramp: Duration::ZERO,
        spread: None,
    };
    let connect = Phase::Connect {
        who: Who::All,
        rate: None,
    };
    LoadOptions {
        engine: LoadEngine::Sim,
        clients,
        link: link.cloned(),
        phases: vec![connect, Phase::Publish(offer), Phase::Close { rate: None }],
        ..LoadOptions::new(
            stack.parse().expect("a stack"),
            LoadTarget::Started(Target::Builtin),
        )
    }
}

/// A round trip of 50 ms.
fn round_trip() -> LinkConfig {
    let mut link = LinkConfig::default();
    (link.up.delay, link.down.delay) = (Duration::from_millis(25), Duration::from_millis(25));
    link
}

/// The most that was held at the end of a second.
struct Peak(i64);

impl Watcher for Peak {
    fn begin(&mut self, _: &Announcement) {}

    fn note(&mut self, _: &str) {}

    fn second(&mut self, _: &Tick<'_>) {
        self.0 = self.0.max(held_bytes());
    }

    fn end(&mut self) {}
}

fn peak(load: &LoadOptions, folder: &Path) -> f64 {
    let before = held_bytes();
    let mut peak = Peak(before);
    let context = RunContext {
        program: Path::new(""),
        folder,
        watcher: &mut peak,
        interrupted: &|| false,
        position: [1, 1],
        agents: None,
        demands: None,
    };
    run(load, context).expect("figures").expect("an end");
    (peak.0 - before) as f64
}

#[test]
fn a_simulated_device_takes_what_the_table_says() {
    let mut wrong = Vec::new();
    let link = round_trip();
    let with_link = STACKS.map(|stack| (stack, Some(&link)));
    for (stack, link) in with_link.into_iter().chain(AWAKE.map(|stack| (stack, None))) {
        let [few, many] = DEVICES.map(|clients| peak(&load(stack, clients, link), Path::new("")));
        let measured = (many - few) / f64::from(DEVICES[1] - DEVICES[0]);
        let told = bytes_of_a_device(&load(stack, 1, link)) as f64;
        if (told / measured - 1.0).abs() > TOLERANCE {
            wrong.push(format!(
                "{stack}, a link: {}: {measured:.0} B measured, and footprint.rs says {told} B",
                link.is_some()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_packets_of_a_capture_wait_on_disk() {
    const BUFFERS: f64 = 1e6;
    let folder = std::env::temp_dir().join(format!("wirecost-footprint-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("a folder");
    let link = round_trip();
    let recorded = LoadOptions {
        capture: true,
        ..load("udp", 20_000, Some(&link))
    };
    let [with, without] = [&recorded, &load("udp", 20_000, Some(&link))].map(|load| peak(load, &folder));
    let captures = std::fs::read_dir(folder.join("capture")).expect("a folder");
    let bytes: u64 = captures
        .map(|file| file.and_then(|file| file.metadata()).expect("a capture").len())
        .sum();
    std::fs::remove_dir_all(&folder).expect("a folder that nobody needs");
    assert!(bytes > 5_000_000, "{bytes} B");
    assert!(
        with - without < BUFFERS,
        "{with} B with a capture, {without} B without"
    );
}
