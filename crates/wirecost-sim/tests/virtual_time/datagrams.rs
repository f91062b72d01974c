//! Bare UDP over links that delay, lose, duplicate and corrupt, whole and in fragments.

use std::time::Duration;

use crate::common::{
    OwnLinks, SharedLink, Talker, delay, device, device_on, end, packets_in_order, settings, world,
};
use wirecost_link::{Link, LinkConfig, Loss, QueueLimit};
use wirecost_proto::bare::Transport;
use wirecost_proto::record::Record;
use wirecost_proto::{Fate, Instant, Probability, Rng};
use wirecost_sim::Recording;
use wirecost_wire::{ip, udp};

fn packets(records: &[Record]) -> Vec<&[u8]> {
    let packets = records.iter().filter_map(|record| match record {
        Record::Packet(packet) => Some(packet.bytes.as_slice()),
        Record::Delivery(_) => None,
    });
    packets.collect()
}

#[test]
fn a_datagram_arrives_after_the_delay_and_is_recorded_as_it_is() {
    let devices = vec![device(0, Transport::Datagram, Talker::with(128, 1))];
    let links = OwnLinks::new(1, delay(25), 1);
    let finished = world(settings(), devices, links, Recording::new()).run(end());
    let arrivals: Vec<_> = finished
        .observer
        .0
        .iter()
        .map(|(at, _, bytes)| (*at, *bytes))
        .collect();
    assert_eq!(arrivals, [(Instant::from_millis(25), 128)]);
    let recorded = packets(finished.tap.records());
    let [packet] = recorded.as_slice() else {
        panic!("one packet, not {}", recorded.len());
    };
    let packet = ip::Packet::new(packet).expect("an IP packet");
    let datagram = udp::Datagram::new(packet.payload()).expect("a datagram");
    assert!(datagram.is_checksum_valid(&packet.addresses()));
    assert_eq!(datagram.payload(), [7; 128]);
    assert!(finished.devices[0].finished);
    assert_eq!(finished.devices[0].script.sent, [Instant::START]);
    assert_eq!(finished.devices[0].logs[0].1.up, finished.flows[0].1.log.up);
}

#[test]
fn every_datagram_that_the_link_delivers_arrives_and_no_other() {
    let loss = Probability::new(0.2).expect("a probability");
    let mut config = delay(5);
    config.up.loss = Loss::Bernoulli(loss);
    config.up.duplicate = Probability::new(0.1).expect("a probability");
    config.up.corrupt = Probability::new(0.1).expect("a probability");
    let devices = vec![device(0, Transport::Datagram, Talker::with(100, 1_000))];
    let finished = world(settings(), devices, OwnLinks::new(1, config, 3), Recording::new()).run(end());
    let intact = finished.tap.records().iter().filter(|record| match record {
        Record::Delivery(delivery) => delivery.intact,
        Record::Packet(_) => false,
    });
    assert_eq!(finished.observer.0.len(), intact.count());
    assert!((600..900).contains(&finished.observer.0.len()));
}

/// Fragment sizes of 10,000 bytes and 8 of UDP header over an MTU of 1,500, as Linux cuts them.
#[test]
fn a_large_datagram_travels_in_fragments_as_linux_cuts_them() {
    let sizes = |ipv6: bool| -> Vec<usize> {
        let devices = vec![device_on(0, Transport::Datagram, Talker::with(10_000, 1), ipv6)];
        let finished = world(
            settings(),
            devices,
            OwnLinks::new(1, delay(5), 1),
            Recording::new(),
        )
        .run(end());
        assert_eq!(finished.observer.0.len(), 1, "the datagram is put together again");
        let recorded = packets(finished.tap.records());
        let mut offset = 0;
        for packet in &recorded {
            let packet = ip::Packet::new(packet).expect("an IP packet");
            let fragment = packet.fragment().expect("a fragment");
            assert_eq!(fragment.offset_bytes as usize, offset);
            offset += packet.payload().len();
            assert_eq!(fragment.more, offset < 10_008);
        }
        assert_eq!(offset, 10_008);
        recorded.iter().map(|packet| packet.len()).collect()
    };
    assert_eq!(sizes(false), [1_500, 1_500, 1_500, 1_500, 1_500, 1_500, 1_148]);
    assert_eq!(sizes(true), [1_496, 1_496, 1_496, 1_496, 1_496, 1_496, 1_368]);
}

#[test]
fn a_lost_fragment_loses_the_datagram_a_duplicate_does_not() {
    let mut config = delay(5);
    config.up.loss = Loss::Bernoulli(Probability::new(0.1).expect("a probability"));
    let devices = vec![device(0, Transport::Datagram, Talker::with(10_000, 1_000))];
    let finished = world(settings(), devices, OwnLinks::new(1, config, 3), ()).run(end());
    // 7 fragments: 0.9^7 = 0.478, of 1,000 with a standard deviation of 15.8.
    assert!(
        (400..556).contains(&finished.observer.0.len()),
        "{}",
        finished.observer.0.len()
    );
    let mut config = delay(5);
    config.up.duplicate = Probability::new(0.1).expect("a probability");
    let devices = vec![device(0, Transport::Datagram, Talker::with(10_000, 1_000))];
    let finished = world(settings(), devices, OwnLinks::new(1, config, 3), ()).run(end());
    assert_eq!(finished.observer.0.len(), 1_000);
}

#[test]
fn a_datagram_too_large_for_ip_fails_at_its_sender() {
    let devices = vec![device(0, Transport::Datagram, Talker::with(65_508, 1))];
    let finished = world(
        settings(),
        devices,
        OwnLinks::new(1, delay(5), 1),
        Recording::new(),
    )
    .run(end());
    assert_eq!(finished.devices[0].script.failures.len(), 1);
    assert_eq!(finished.tap.records(), []);
}

#[test]
fn a_full_queue_that_devices_share_drops_what_does_not_fit() {
    let mut config = LinkConfig::symmetric(Duration::from_millis(10));
    config.up.rate = Some("100kbit".parse().expect("a rate"));
    config.up.queue = Some(QueueLimit::Packets(10));
    let devices = (0..1_000).map(|host| device(host, Transport::Datagram, Talker::with(100, 1)));
    let links = SharedLink(Link::new(config, Rng::new(1)));
    let finished = world(settings(), devices.collect(), links, Recording::new()).run(end());
    let dropped = finished
        .tap
        .records()
        .iter()
        .filter(|record| matches!(record, Record::Packet(packet) if packet.fate == Fate::QueueDropped));
    let (arrived, dropped) = (finished.observer.0.len(), dropped.count());
    assert_eq!(arrived + dropped, 1_000);
    assert!((10..12).contains(&arrived), "{arrived}");
    // 128 bytes at 100 kbit/s take 10.24 ms each.
    let last = finished.observer.0.last().expect("one").0;
    assert_eq!(
        last,
        Instant::from_millis(5) + Duration::from_micros(10_240) * arrived as u32
    );
}

#[test]
fn runs_repeat_and_device_order_does_not_matter() {
    let talker = |host| device(host, Transport::Datagram, Talker::with(100, 50));
    let run = |order: &[u32]| packets_in_order(order, settings(), talker, 0.2);
    assert_eq!(run(&[0, 1, 2]), run(&[0, 1, 2]));
    assert_eq!(run(&[0, 1, 2]), run(&[2, 0, 1]));
}
