//! The counting target of a load, with commands and messages from the test.

#[path = "common/mod.rs"]
mod common;

use std::io::Write as _;
use std::net::{TcpStream, UdpSocket};
use std::path::Path;
use std::time::{Duration, Instant};

use wirecost_live::Clock;
use wirecost_live::patience::Patience;
use wirecost_load::parts::usage::Measured;
use wirecost_load::targets::sink::{Sink, SinkOptions, SinkReport};
use wirecost_proto::Stamp;

use common::mqtt::connected;
use common::{WIRECOST, signal};

/// Long enough for any of these tests on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

fn start(stack: &str, connections: u32) -> (Sink, Clock) {
    let clock = Clock::start();
    let options = SinkOptions::new(stack.parse().expect("a stack"), connections);
    let sink = Sink::start(Path::new(WIRECOST), &options, clock, &|| false).expect("a target");
    (sink, clock)
}

fn payload(clock: Clock, device: u32, message: u32) -> Vec<u8> {
    stamped(Stamp {
        device,
        message,
        intended_ns: clock.monotonic_nanos(clock.now()),
    })
}

fn stamped(stamp: Stamp) -> Vec<u8> {
    let mut payload = stamp.to_bytes().to_vec();
    payload.extend([7; 84]);
    payload
}

/// The report after this many messages have arrived.
fn report_of(sink: &mut Sink, messages: u64) -> SinkReport {
    let start = Instant::now();
    loop {
        let report = sink.report(Patience::at_most(PATIENCE)).expect("a report");
        if report.messages >= messages || start.elapsed() > PATIENCE {
            return report;
        }
    }
}

fn check(mut sink: Sink, expected: SinkReport) {
    let report = report_of(&mut sink, expected.messages);
    assert_eq!(report.messages, expected.messages);
    assert_eq!(report.payload_bytes, expected.payload_bytes);
    assert_eq!(report.duplicates, expected.duplicates);
    assert_eq!(report.out_of_order, expected.out_of_order);
    assert_eq!(report.unstamped, expected.unstamped);
    let delays = report.one_way_delay.expect("delays");
    assert_eq!(delays.len(), expected.messages - expected.unstamped);
    assert!(delays.max() < PATIENCE.as_nanos() as u64, "{} ns", delays.max());
    let usage = sink.usage(Patience::at_most(PATIENCE)).expect("an answer");
    assert_eq!(usage.messages, expected.messages);
    assert!(usage.resident_bytes > 0 && usage.user_ns + usage.system_ns > 0);
    sink.stop().expect("it ends");
}

#[test]
fn counts_messages_on_bare_tcp_and_tells_repetitions() {
    let (sink, clock) = start("tcp", 2);
    let mut stream = TcpStream::connect(sink.address()).expect("a connection");
    let mut send = |payload: &[u8]| {
        let prefix = u32::try_from(payload.len()).expect("a length").to_be_bytes();
        stream.write_all(&[&prefix, payload].concat()).expect("a message");
    };
    for message in [0, 1, 3, 2, 3] {
        send(&payload(clock, 0, message));
    }
    send(b"short");
    check(
        sink,
        SinkReport {
            messages: 6,
            payload_bytes: 505,
            duplicates: Some(1),
            out_of_order: Some(1),
            unstamped: 1,
            ..SinkReport::default()
        },
    );
}

#[test]
fn counts_datagrams_of_many_devices() {
    let (sink, clock) = start("udp", 50);
    for device in 0..50 {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        for message in 0..2 {
            let datagram = payload(clock, device, message);
            socket.send_to(&datagram, sink.address()).expect("it is sent");
        }
    }
    check(
        sink,
        SinkReport {
            messages: 100,
            payload_bytes: 10_000,
            duplicates: Some(0),
            out_of_order: Some(0),
            ..SinkReport::default()
        },
    );
}

#[test]
fn reports_messages_that_arrived_after_the_offer() {
    let (mut sink, clock) = start("udp", 1);
    let begins_ns = clock.monotonic_nanos(clock.now());
    let phase = Measured {
        from_ns: begins_ns,
        has_warm_up: false,
        offer_ends_ns: Some(begins_ns),
    };
    sink.begin_phase(&phase).expect("it is told");
    // Orders are taken one after the other: this one has been when the next is answered.
    sink.report(Patience::at_most(PATIENCE)).expect("a report");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    for message in 0..4 {
        let datagram = stamped(Stamp {
            device: 0,
            message,
            intended_ns: begins_ns,
        });
        socket.send_to(&datagram, sink.address()).expect("it is sent");
        // The others come later than the first.
        report_of(&mut sink, u64::from(message) + 1);
    }
    let report = report_of(&mut sink, 4);
    assert_eq!((report.messages, report.worked_off), (4, 3));
    sink.stop().expect("it ends");
}

#[test]
fn processes_share_a_port_where_one_cannot_hold_the_connections() {
    let (mut sink, clock) = start("mqtt-qos0", 100_000);
    assert!(sink.pids().count() > 1, "the limit on open files of this machine");
    let address = sink.address();
    for device in 0..200 {
        let mut stream = connected(address, device as usize);
        let body = [&[0, 4][..], b"test", &payload(clock, device, 0)].concat();
        let header = [0x30, u8::try_from(body.len()).expect("a length")];
        stream
            .write_all(&[&header, &body[..]].concat())
            .expect("a message");
    }
    let shards = sink.pids().count() as u32;
    assert_eq!(
        sink.usage(Patience::at_most(PATIENCE))
            .expect("an answer")
            .processes,
        shards
    );
    check(
        sink,
        SinkReport {
            messages: 200,
            payload_bytes: 20_000,
            duplicates: Some(0),
            out_of_order: Some(0),
            ..SinkReport::default()
        },
    );
}

#[test]
fn a_target_that_cannot_be_says_why() {
    let clock = Clock::start();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let options = SinkOptions {
        address: listener.local_addr().expect("an address"),
        ..SinkOptions::new("tcp".parse().expect("a stack"), 1)
    };
    let refused = Sink::start(Path::new(WIRECOST), &options, clock, &|| false);
    let reason = refused.map(drop).expect_err("the port is taken").to_string();
    assert!(reason.contains(&options.address.to_string()), "{reason}");
    let options = SinkOptions {
        cpu: Some(100_000),
        ..SinkOptions::new("tcp".parse().expect("a stack"), 1)
    };
    let refused = Sink::start(Path::new(WIRECOST), &options, clock, &|| false);
    let reason = refused.map(drop).expect_err("there is none").to_string();
    assert!(reason.contains("CPU 100000"), "{reason}");
}

#[test]
fn an_answer_that_comes_late_is_not_taken_for_another() {
    let (mut sink, _) = start("tcp", 1);
    let pid = sink.pids().next().expect("a process");
    signal(pid, "STOP");
    assert!(
        sink.usage(Patience::at_most(Duration::from_millis(1))).is_err(),
        "it stands still"
    );
    signal(pid, "CONT");
    assert_eq!(
        sink.report(Patience::at_most(PATIENCE))
            .expect("a report")
            .messages,
        0
    );
    assert_eq!(
        sink.usage(Patience::at_most(PATIENCE))
            .expect("its use")
            .processes,
        1
    );
}
