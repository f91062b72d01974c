//! The endpoints in the cells hold against those of `compare`: the same bytes of application and security.

use std::time::Duration;

use wirecost_proto::{Instant, Rng};
use wirecost_results::Section;
use wirecost_results::summary::Bytes;
use wirecost_scenario::options::compare::Schedule;
use wirecost_scenario::options::content::Contents;
use wirecost_scenario::plan::Plan;
use wirecost_security::Start;
use wirecost_sim::Decision;
use wirecost_stack::Credentials;

use super::Options;
use super::device::Maker;
use super::variant::Variant;
use super::way::Task;
use crate::compare::fixture;
use crate::compare::simulated::simulate_cell;

/// Bytes of a report in a network that delivers each packet after 20 ms, up and down.
fn in_the_cells(stack: &str, start: Start, size: usize) -> [u64; 2] {
    let options = Options {
        start,
        ..Options::default()
    };
    let credentials = Credentials::simulated(42).expect("credentials");
    let stack = stack.parse().expect("a stack");
    let variant = Variant::from_stack(stack, start, None).expect("a variant");
    let maker = Maker::new(&options, variant, size, &credentials).expect("a maker");
    let mut now = Instant::from_millis(1_000);
    let rng = Rng::new(3);
    let mut device = maker.device(0, rng, Task::Report, now).expect("a device");
    device.begin();
    while !(device.is_done() && device.is_quiet()) {
        device.advance(now);
        let packets = device.offered();
        for packet in packets {
            let arrives = Some(now + Duration::from_millis(20));
            let number = packet.number;
            device.decided(Decision { number, arrives }, now);
        }
        now = device.next_event().expect("an event");
        assert!(now < Instant::from_millis(60_000), "{stack} {start}");
    }
    device.contents()
}

/// Bytes of the connect and of the message in `compare`, up and down.
fn in_compare(stack: &str, start: Start, payload: usize) -> [u64; 2] {
    let mut options = fixture::options(&[stack]);
    options.samples = 1;
    options.starts = vec![start];
    options.contents = Contents::Sizes(vec![wirecost_proto::ByteSize::from_bytes(payload as u64)]);
    options.schedules = vec![Schedule {
        messages: 1,
        warm_up: false,
        interval: None,
        keep_alive: None,
    }];
    let plan = Plan::new(&options);
    let cell = simulate_cell(&options, &plan, 0).expect("a cell").cell;
    let sections = || [&cell.connect, &cell.message].into_iter().flatten();
    let sum = |way: fn(&Section) -> &Bytes| {
        let contents = |bytes: &Bytes| bytes.security.sum + bytes.application.sum + bytes.payload.sum;
        sections().map(|section| contents(way(section))).sum()
    };
    [sum(|section| &section.up), sum(|section| &section.down)]
}

#[test]
fn a_report_has_the_bytes_of_compare() {
    // With the bytes of the application's header in a report.
    for (stack, start, header) in [
        ("tcp", Start::Cold, 4),
        ("mqtt-qos1", Start::Cold, 10),
        ("mqtt-qos1+tls1.3", Start::Cold, 10),
        ("mqtt-qos1+tls1.3", Start::Resumed, 10),
        ("mqtt-qos1+tls1.3", Start::ZeroRtt, 10),
        ("tcp+tls1.2", Start::Cold, 4),
        ("tcp+tls1.2", Start::Resumed, 4),
        ("coap-con+dtls1.2-psk", Start::Cold, 14),
        ("coap-con+oscore", Start::Cold, 16),
    ] {
        let cells = in_the_cells(stack, start, 120);
        assert_eq!(cells, in_compare(stack, start, 120 - header), "{stack} {start}");
    }
}

#[test]
fn a_resumed_handshake_has_fewer_bytes() {
    let down = |start| in_the_cells("mqtt-qos1+tls1.3", start, 120)[1];
    assert!(down(Start::Resumed) * 2 < down(Start::Cold));
}
