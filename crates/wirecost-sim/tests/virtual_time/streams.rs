//! Bare TCP over links that delay, lose, duplicate, corrupt and limit.

use std::time::Duration;

use crate::common::{
    OwnLinks, PORT, SharedLink, Talker, delay, device, device_on, end, packets_in_order, settings, world,
};
use wirecost_link::{Link, LinkConfig, Loss, QueueLimit};
use wirecost_proto::bare::Transport;
use wirecost_proto::record::Record;
use wirecost_proto::{Direction, Instant, Probability, ResetReason, Rng};
use wirecost_sim::{Recording, Settings, Wake};
use wirecost_wire::tcp::Flags;
use wirecost_wire::{ip, tcp};

/// Direction, flags and payload bytes of every packet, checksums checked.
fn segments(records: &[Record]) -> Vec<(Direction, Flags, usize)> {
    let packets = records.iter().filter_map(|record| match record {
        Record::Packet(packet) => Some(packet),
        Record::Delivery(_) => None,
    });
    let segment = |packet: &wirecost_proto::record::RecordedPacket| {
        let ip = ip::Packet::new(&packet.bytes).expect("an IP packet");
        assert_eq!(ip.total_bytes(), packet.bytes.len());
        let segment = tcp::Segment::new(ip.payload()).expect("a segment");
        assert!(segment.is_checksum_valid(&ip.addresses()));
        (packet.direction, segment.flags(), segment.payload().len())
    };
    packets.map(segment).collect()
}

fn total(messages: u32, bytes: usize) -> u64 {
    u64::from(messages) * (bytes as u64 + 4)
}

#[test]
fn a_connection_opens_carries_its_message_and_closes() {
    use Direction::{Down, Up};
    let devices = vec![device(0, Transport::Stream, Talker::with(128, 1))];
    let finished = world(
        settings(),
        devices,
        OwnLinks::new(1, delay(25), 1),
        Recording::new(),
    )
    .run(end());
    let talker = &finished.devices[0].script;
    assert_eq!(talker.opened, Some(Instant::from_millis(50)));
    assert_eq!(talker.sent[0], Instant::from_millis(50));
    let arrivals: Vec<_> = finished
        .observer
        .0
        .iter()
        .map(|(at, _, bytes)| (*at, *bytes))
        .collect();
    assert_eq!(arrivals, [(Instant::from_millis(75), 128)]);
    let ack = Flags::ACK;
    let expected = [
        (Up, Flags::SYN, 0),
        (Down, Flags::SYN | ack, 0),
        (Up, ack, 0),
        (Up, Flags::PSH | ack, 132),
    ];
    let segments = segments(finished.tap.records());
    assert_eq!(segments[..4], expected);
    let fins = segments.iter().filter(|(_, flags, _)| flags.contains(Flags::FIN));
    assert_eq!(fins.count(), 2, "{segments:?}");
    assert!(!segments.iter().any(|(_, flags, _)| flags.contains(Flags::RST)));
    assert!(talker.closed.is_some());
    assert_eq!(finished.flows[0].0, PORT);
}

#[test]
fn every_byte_arrives_once_whatever_the_link_does() {
    let some = |percent: f64| Probability::new(percent / 100.0).expect("a probability");
    for (number, (loss, duplicate, corrupt)) in [(0., 0., 0.), (10., 0., 0.), (0., 10., 0.), (5., 5., 5.)]
        .into_iter()
        .enumerate()
    {
        let mut config = delay(5);
        for way in [&mut config.up, &mut config.down] {
            way.loss = Loss::Bernoulli(some(loss));
            way.duplicate = some(duplicate);
            way.corrupt = some(corrupt);
        }
        let devices = (0..4).map(|host| device(host, Transport::Stream, Talker::with(10_000, 20)));
        let links = OwnLinks::new(4, config, number as u64);
        let finished = world(settings(), devices.collect(), links, Recording::new()).run(end());
        assert_eq!(finished.observer.0.len(), 80, "case {number}");
        for (_, flow) in &finished.flows {
            assert_eq!(flow.log.up.bytes, total(20, 10_000));
        }
        segments(finished.tap.records());
    }
}

#[test]
fn a_megabyte_waits_in_the_driver_s_buffer_until_tcp_takes_it() {
    let mut config = delay(20);
    config.up.rate = Some("10Mbit".parse().expect("a rate"));
    config.up.queue = Some(QueueLimit::Packets(10_000));
    let devices = vec![device(0, Transport::Stream, Talker::with(1_000_000, 2))];
    let finished = world(settings(), devices, OwnLinks::new(1, config, 1), ()).run(end());
    assert_eq!(finished.observer.0.len(), 2);
    let sent = &finished.devices[0].script.sent;
    assert!(
        sent[0] > Instant::from_millis(40),
        "the last byte leaves later than the first: {sent:?}"
    );
    // 2 MB at 10 Mbit/s take 1.6 s, headers more.
    let last = finished.observer.0[1].0;
    assert!(
        (Instant::from_millis(1_600)..Instant::from_millis(2_500)).contains(&last),
        "{last}"
    );
}

#[test]
fn a_closed_port_refuses_after_a_round_trip() {
    let mut devices = vec![device(0, Transport::Stream, Talker::with(128, 1))];
    devices[0].remote.set_port(9);
    let finished = world(
        settings(),
        devices,
        OwnLinks::new(1, delay(25), 1),
        Recording::new(),
    )
    .run(end());
    assert_eq!(
        finished.devices[0].script.failures,
        [ResetReason::Refused, ResetReason::Refused]
    );
    let segments = segments(finished.tap.records());
    assert_eq!(segments[1], (Direction::Down, Flags::RST | Flags::ACK, 0));
    assert_eq!(finished.ended, Instant::from_millis(50));
}

#[test]
fn ipv6_segments_are_20_bytes_shorter() {
    let longest = |ipv6: bool| {
        let devices = vec![device_on(0, Transport::Stream, Talker::with(10_000, 1), ipv6)];
        let settings = Settings::linux(1_500, ipv6, Rng::new(1));
        let finished = world(settings, devices, OwnLinks::new(1, delay(5), 1), Recording::new()).run(end());
        assert_eq!(finished.observer.0.len(), 1);
        segments(finished.tap.records())
            .iter()
            .map(|(_, _, len)| *len)
            .max()
    };
    assert_eq!(longest(false), Some(1_448));
    assert_eq!(longest(true), Some(1_428));
}

/// Milliseconds from the first to the last byte of each of two messages, five seconds apart, without a rate.
fn messages_take(bytes: usize, delay_ms: u64) -> [u64; 2] {
    let talker = Talker {
        interval: Duration::from_secs(5),
        ..Talker::with(bytes, 2)
    };
    let devices = vec![device(0, Transport::Stream, talker)];
    let finished = world(settings(), devices, OwnLinks::new(1, delay(delay_ms), 1), ()).run(end());
    let opened = finished.devices[0].script.opened.expect("an open connection");
    [0, 1].map(|number| {
        let asked = opened + Duration::from_secs(5) * number;
        let took = finished.observer.0[number as usize].0.saturating_since(asked);
        u64::try_from(took.as_millis()).expect("some time")
    })
}

#[test]
fn the_window_of_a_long_path_grows_while_a_burst_is_read() {
    // Ten segments after the pause, then twice as many each round trip: 10, 20, 40, 80 and 58.
    assert_eq!(messages_take(300_000, 100)[1], 100 + 4 * 200);
    // 10, 20, 40 and 76 of a connection's first message: the window grows with the third burst, not after it.
    assert_eq!(messages_take(210_000, 100)[0], 100 + 3 * 200);
    // 10 to 320, and 61.
    assert_eq!(messages_take(1_000_000, 50)[1], 50 + 6 * 100);
}

#[test]
fn the_last_bytes_of_a_finished_device_arrive() {
    let mut config = delay(5);
    config.up.loss = Loss::Bernoulli(Probability::new(0.5).expect("a probability"));
    let talker = || Talker {
        lingers: Duration::ZERO,
        ..Talker::with(2_000, 1)
    };
    let devices = (0..20).map(|host| device(host, Transport::Stream, talker()));
    let finished = world(settings(), devices.collect(), OwnLinks::new(20, config, 1), ()).run(end());
    let done = |host: &usize| finished.devices[*host].script.failures.is_empty();
    assert_eq!(finished.observer.0.len(), (0..20).filter(done).count());
}

#[test]
fn a_thousand_devices_share_a_link_and_none_is_lost() {
    let mut config = LinkConfig::symmetric(Duration::from_millis(20));
    config.up.rate = Some("1Mbit".parse().expect("a rate"));
    let talker = |host: u32| Talker {
        // All at once, they would meet at the queue again and again until they give up.
        starts: Instant::START + Duration::from_millis(1) * host,
        ..Talker::with(128, 2)
    };
    let devices = (0..1_000).map(|host| device(host, Transport::Stream, talker(host)));
    let links = SharedLink(Link::new(config, Rng::new(1)));
    let finished = world(settings(), devices.collect(), links, ()).run(end());
    let failures = finished.devices.iter().flat_map(|device| &device.script.failures);
    assert_eq!(failures.count(), 0);
    assert!(finished.devices.iter().all(|device| device.finished));
    assert_eq!(finished.observer.0.len(), 2_000);
    let dropped = finished.links.0.counters(Direction::Up).queue_dropped;
    assert!(dropped > 100, "{dropped} packets found the queue full");
}

#[test]
fn runs_repeat_and_device_order_does_not_matter() {
    let talker = |host| device(host, Transport::Stream, Talker::with(3_000, 20));
    let run = |order: &[u32], wake: Wake| {
        let settings = Settings { wake, ..settings() };
        packets_in_order(order, settings, talker, 0.1)
    };
    for wake in [Wake::EachSegment, Wake::AfterBurst, Wake::Beside] {
        assert_eq!(run(&[0, 1, 2], wake), run(&[0, 1, 2], wake));
        assert_eq!(run(&[0, 1, 2], wake), run(&[2, 0, 1], wake));
    }
}
