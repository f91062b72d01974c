use std::net::IpAddr;

use wirecost_proto::Fate;
use wirecost_proto::hosts::server_address;
use wirecost_proto::record::RecordedDelivery;

use super::*;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// A CoAP ping (28 B of headers, 4 B) from or to a device.
fn packet(host: HostIndex, direction: Direction, millis: u64) -> Record {
    let mut ends = [
        device_address(host, false).expect("a device"),
        server_address(false),
    ];
    let mut ports = [[0x9c, 0x40], [0x16, 0x33]];
    if direction == Direction::Down {
        ends.reverse();
        ports.reverse();
    }
    let mut bytes = vec![0x45, 0, 0, 32, 0, 0, 0x40, 0, 64, 17, 0, 0];
    for end in ends {
        let IpAddr::V4(end) = end else {
            panic!("an IPv4 address");
        };
        bytes.extend(end.octets());
    }
    bytes.extend(ports.concat());
    bytes.extend([0, 12, 0, 0, 0x40, 0, 0, 1]);
    Record::Packet(RecordedPacket {
        host: Some(host),
        direction,
        entered: at(millis),
        fate: Fate::Delivered,
        bytes,
    })
}

fn delivery(packet: u64, millis: u64) -> Record {
    Record::Delivery(RecordedDelivery {
        packet,
        planned: at(millis),
        actual: at(millis),
        intact: true,
    })
}

fn read(most_packets: usize, records: &[Record]) -> LoadTraffic {
    let load = (2, [at(0), at(100)]);
    let traffic = read_at_most(most_packets, &mut &*records, "", load).expect("readable");
    traffic.expect("packets")
}

/// Device and milliseconds of each packet.
fn packets(traffic: &LoadTraffic) -> Vec<(u64, u64)> {
    let devices = traffic.traffic.devices.iter();
    devices
        .flat_map(|device| {
            let packets = device.packets.iter();
            packets.map(|(ns, _)| (device.sample, ns / 1_000_000))
        })
        .collect()
}

#[test]
fn a_packet_up_is_sent_once_and_one_down_counts_as_it_arrives() {
    let records = [
        packet(0, Direction::Up, 1),
        delivery(0, 11),
        packet(7, Direction::Up, 12),
        packet(0, Direction::Down, 13),
        // This one is lost.
        packet(0, Direction::Down, 14),
        // The link duplicates this one.
        delivery(2, 23),
        delivery(2, 24),
    ];
    let traffic = read(10, &records);
    assert_eq!(packets(&traffic), [(0, 1), (0, 23), (0, 24)]);
    assert_eq!(traffic.traffic.devices[0].connects_ns, [1_000_000]);
    assert_eq!((traffic.observed, traffic.of, traffic.cut_short), (2, 2, false));
    assert_eq!(traffic.ended_ns, 100_000_000);
    let bytes = traffic.traffic.shapes.iter().map(|shape| {
        let bytes = shape.spans.iter().map(|(.., bytes)| bytes);
        bytes.sum::<u32>()
    });
    assert!(bytes.into_iter().all(|bytes| bytes == 32));
}

#[test]
fn too_many_packets_end_the_observation_at_the_last_one_kept() {
    let records = [
        packet(0, Direction::Down, 1),
        packet(1, Direction::Up, 2),
        delivery(0, 11),
        packet(1, Direction::Up, 12),
    ];
    let traffic = read(2, &records);
    assert_eq!((traffic.cut_short, traffic.ended_ns), (true, 2_000_000));
    // The packet down arrives after that.
    assert_eq!(packets(&traffic), [(1, 2)]);
}
