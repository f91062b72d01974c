//! Packets as captures distort them: lengths, fragments, copies, cuts.

use super::build::{
    self, ETHERNET, RAW, SLL2, Talk, cut_pcap, datagram, ethernet, fragments_v4, fragments_v6, framed,
    interface, mqtt, mqtt_large, mqtt_with, packet, put, without_length,
};
use super::{Told, folder, pcap};
use crate::common::{said, wirecost};
use wirecost_wire::tcp::TcpOption;

/// Bytes up of a layer.
fn up(told: &Told, layer: &str) -> u64 {
    told.number(&format!("/total/all/up/{layer}"))
}

fn large(has_length: bool) -> Vec<u8> {
    let frame = |packet: &[u8]| match packet.len() > 1_500 && !has_length {
        true => ethernet(&without_length(packet.to_vec())),
        false => ethernet(packet),
    };
    build::pcap(ETHERNET, &framed(&mqtt_large(), frame))
}

#[test]
fn a_packet_without_a_length_is_as_long_as_its_frame() {
    let told = [true, false].map(|has_length| pcap(&large(has_length)));
    for told in &told {
        assert_eq!(
            (told.counted(), told.left_out()),
            ((11, 4_489), vec![]),
            "{}",
            told.table
        );
        assert_eq!(up(told, "payload"), 4_000);
        assert_eq!(told.number("/offload/oversized_packets"), 1);
    }
    assert_eq!(told[0].report["total"], told[1].report["total"]);
    assert!(
        told[1]
            .table
            .contains("warning: 1 packet with a length field of zero"),
        "{}",
        told[1].table
    );
    // The sum of a packet that the network card cuts up is not complete.
    assert_eq!(told[1].number("/offload/invalid_checksums"), 0);
}

#[test]
fn the_price_of_a_packet_without_a_length_is_that_of_its_frame() {
    let [with, without] = [true, false].map(|has_length| {
        let folder = folder(&large(has_length));
        let ask = "cost capture --device nrf9160-lte-m --interval 15min --json -";
        let said = said(wirecost(folder.path()).args(ask.split(' ')));
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let told: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
        (told["rows"][0]["bytes_once"].clone(), told["notes"].to_string())
    });
    assert_eq!((&with.0, &without.0), (&4_489.0.into(), &4_489.0.into()));
    assert!(
        without.1.contains("as before segmentation offload"),
        "{}",
        without.1
    );
    assert!(!without.1.contains("could not be described"), "{}", without.1);
}

#[test]
fn what_belongs_to_no_device_is_not_said_to_count() {
    let mut frames = framed(&mqtt(), ethernet);
    frames.push(ethernet(&[0x45; 19]));
    let folder = folder(&build::pcap(ETHERNET, &frames));
    let said = said(wirecost(folder.path()).args(["cost", "capture", "--tariff", "per-mb"]));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(
        said.stdout
            .contains("1 packet (19 B) belong to no device: no figure has them"),
        "{}",
        said.stdout
    );
    assert!(!said.stdout.contains("could not be described"), "{}", said.stdout);
}

/// Every order of up to four packets.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let mut orders = vec![Vec::new()];
    for _ in 0..count {
        let longer = orders.iter().flat_map(|order: &Vec<usize>| {
            let rest = (0..count).filter(|next| !order.contains(next));
            rest.map(|next| [order.as_slice(), &[next]].concat())
                .collect::<Vec<_>>()
        });
        orders = longer.collect();
    }
    orders
}

#[test]
fn fragments_in_any_order_are_one_datagram() {
    for fragments in [fragments_v4(&put(4_000)), fragments_v6(&put(3_500))] {
        let total: usize = fragments.iter().map(Vec::len).sum();
        let payload = if fragments[0][0] >> 4 == 4 { 4_000 } else { 3_500 };
        for order in orders(fragments.len()) {
            let packets: Vec<_> = order.iter().map(|index| fragments[*index].clone()).collect();
            let told = pcap(&build::pcap(RAW, &packets));
            assert_eq!(
                told.counted(),
                (fragments.len() as u64, total as u64),
                "{order:?}"
            );
            assert_eq!(
                (up(&told, "transport"), up(&told, "payload")),
                (8, payload),
                "{order:?}"
            );
            assert_eq!(up(&told, "original"), total as u64);
            assert_eq!(told.left_out(), [], "{order:?}");
        }
    }
}

#[test]
fn fragments_that_come_again_belong_to_their_datagram() {
    let fragments = fragments_v4(&put(4_000));
    let total: usize = fragments.iter().map(Vec::len).sum();
    let twice = [0, 0, 1, 1, 2, 2];
    let whole_twice = [2, 0, 1, 1, 2, 0];
    for order in [twice, whole_twice] {
        let packets: Vec<_> = order.iter().map(|index| fragments[*index].clone()).collect();
        let told = pcap(&build::pcap(RAW, &packets));
        assert_eq!(
            (told.counted(), told.left_out()),
            ((6, 2 * total as u64), vec![]),
            "{}",
            told.table
        );
        assert_eq!(
            (up(&told, "original"), up(&told, "retransmission")),
            (total as u64, total as u64)
        );
        assert_eq!((up(&told, "transport"), up(&told, "payload")), (16, 8_000));
    }
}

#[test]
fn a_datagram_with_a_missing_fragment_is_counted_in_full() {
    let fragments = fragments_v4(&put(4_000));
    let packets = [fragments[2].clone(), fragments[0].clone()];
    let told = pcap(&build::pcap(RAW, &packets));
    let total: usize = packets.iter().map(Vec::len).sum();
    assert_eq!(
        (told.counted(), told.left_out()),
        ((2, total as u64), vec![]),
        "{}",
        told.table
    );
}

/// A capture of two interfaces that both see every packet, the second one with another hop limit.
fn seen_twice() -> Vec<u8> {
    let mut blocks = vec![interface(ETHERNET, "veth0"), interface(ETHERNET, "br0")];
    for (index, ip) in mqtt().iter().enumerate() {
        let at = build::at_us(index);
        let mut passed_on = ip.clone();
        (passed_on[8], passed_on[10]) = (63, passed_on[10].wrapping_add(1));
        blocks.push(packet(0, at, &ethernet(ip), b""));
        blocks.push(packet(1, at + 5, &ethernet(&passed_on), b""));
    }
    build::pcapng(&blocks)
}

#[test]
fn a_packet_that_two_interfaces_saw_counts_once() {
    let told = pcap(&seen_twice());
    assert_eq!(
        (told.counted(), told.code),
        ((19, 850), Some(0)),
        "{}",
        told.table
    );
    assert_eq!(up(&told, "retransmission"), 0);
    assert_eq!(told.number("/copies/packets"), 19);
    let warning = "warning: every packet is there twice (interfaces veth0 and br0): each counts once";
    assert!(told.table.contains(warning), "{}", told.table);
}

#[test]
fn the_interfaces_of_the_any_device_are_told_apart() {
    let seen = |packet: &[u8], number: u8| {
        [
            b"\x08\0\0\0\0\0\0",
            &[number][..],
            b"\0\x01\0\x06",
            &[2; 8],
            packet,
        ]
        .concat()
    };
    let frames: Vec<Vec<u8>> = mqtt()
        .iter()
        .flat_map(|packet| [3, 7].map(|number| seen(packet, number)))
        .collect();
    let told = pcap(&build::pcap(SLL2, &frames));
    assert_eq!(told.counted(), (19, 850), "{}", told.table);
    assert!(
        told.table.contains("(interfaces number 3 and number 7)"),
        "{}",
        told.table
    );
}

#[test]
fn a_packet_that_one_interface_saw_twice_counts_twice() {
    let frames: Vec<Vec<u8>> = framed(&mqtt(), ethernet)
        .into_iter()
        .flat_map(|frame| [frame.clone(), frame])
        .collect();
    let told = pcap(&build::pcap(ETHERNET, &frames));
    assert_eq!(told.number("/packets"), 38);
    assert_eq!(told.number("/copies/packets"), 0);
    assert!(up(&told, "retransmission") > 0);
}

#[test]
fn the_name_of_an_interface_cannot_write_on_the_terminal() {
    let mut file = seen_twice();
    let at = file
        .windows(5)
        .position(|window| window == b"veth0")
        .expect("the name");
    file[at] = 0x1b;
    let told = pcap(&file);
    assert!(!told.table.contains('\x1b'), "{}", told.table);
    assert!(
        told.table.contains("\\x1beth0") || told.table.contains("\\u{1b}eth0"),
        "{}",
        told.table
    );
}

#[test]
fn a_snap_length_changes_no_sum() {
    let options = [
        TcpOption::MaximumSegmentSize(1_460),
        TcpOption::SackPermitted,
        TcpOption::Timestamps { value: 1, echo: 0 },
        TcpOption::NoOperation,
        TcpOption::WindowScale(7),
    ];
    let frames = framed(&mqtt_with(&options), ethernet);
    let whole = pcap(&build::pcap(ETHERNET, &frames));
    let total = whole.number("/wire_bytes");
    // The ports are in the first four bytes behind 14 B of Ethernet and 20 B of IP.
    for snap in (38..80).step_by(3) {
        let told = pcap(&cut_pcap(ETHERNET, snap, &frames));
        assert_eq!(
            (told.counted(), told.code),
            ((19, total), Some(0)),
            "{snap}: {}",
            told.table
        );
        let cut = frames.iter().filter(|frame| frame.len() > snap).count();
        assert_eq!(told.number("/truncated_packets"), cut as u64, "{snap}");
    }
    // Without the ports no flow is known, and no byte is lost.
    for snap in [14, 20, 34, 36] {
        let told = pcap(&cut_pcap(ETHERNET, snap, &frames));
        let left_out: u64 = told.left_out().iter().map(|(_, bytes)| bytes).sum();
        assert_eq!(
            told.number("/wire_bytes") + left_out,
            total,
            "{snap}: {}",
            told.table
        );
    }
}

#[test]
fn a_correct_checksum_is_none_that_the_card_completes() {
    // Of the readings of two bytes, one makes the checksum equal to the sum of the pseudo header.
    let packets: Vec<Vec<u8>> = (0..=u16::MAX)
        .map(|value| datagram(true, [50_000, 9], &value.to_be_bytes()))
        .collect();
    let told = pcap(&build::pcap(RAW, &packets));
    assert_eq!(told.number("/packets"), 65_536);
    assert_eq!(told.number("/offload/partial_checksums"), 0, "{}", told.table);
    assert_eq!(told.number("/offload/invalid_checksums"), 0);
}

#[test]
fn the_duration_is_from_the_earliest_packet_to_the_latest() {
    let mut blocks = vec![interface(ETHERNET, "eth0")];
    let frames = framed(&mqtt(), ethernet);
    let times = (0..frames.len()).map(|index| build::at_us(index) + 1_000_000);
    blocks.extend(
        frames
            .iter()
            .zip(times)
            .map(|(frame, at)| packet(0, at, frame, b"")),
    );
    let late = ethernet(&datagram(true, [50_000, 9], b"ten bytes."));
    blocks.push(packet(0, build::at_us(0), &late, b""));
    let told = pcap(&build::pcapng(&blocks));
    assert!(told.table.contains("20 packets in 1.180 s"), "{}", told.table);
}

#[test]
fn client_and_server_are_told_by_requests_and_responses() {
    let ports = [50_000, 61_616];
    let response = |number: u8| {
        datagram(
            false,
            ports,
            &[b"\x52\x45\0", &[number][..], b"ab\x61\x01\xff21.5"].concat(),
        )
    };
    let get = datagram(true, ports, b"\x42\x01\0\x01ab\x60\x54temp");
    let observed: Vec<Vec<u8>> = (2..6).map(response).collect();
    let both = [vec![get], observed.clone()].concat();
    for packets in [both, observed] {
        let told = pcap(&build::pcap(RAW, &packets));
        assert_eq!(told.groups(), [("10.0.0.1:61616", "CoAP")], "{}", told.table);
        assert_eq!(told.number("/total/all/down/packets"), 4);
    }
}

#[test]
fn protocols_that_are_not_read_are_named() {
    let method = b"\x01\0\x01\0\0\0\x11\0\x3c\0\x28\0\0\x04test\x04test\0\xce";
    let mut amqp = Talk::midway(40_000, 5_672);
    amqp.say(true, method).say(false, b"\x08\0\0\0\0\0\0\xce");
    let mut h2 = Talk::midway(40_000, 8_080);
    h2.say(true, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    let mut socket = Talk::midway(40_000, 80);
    socket
        .say(
            true,
            b"GET /mqtt HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        )
        .say(
            false,
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        )
        .say(true, b"\x82\x86mask\x01\x02\x03\x04\x05\x06")
        .say(false, b"\x82\x04\x20\x02\0\0");
    let initial = [
        b"\xd0\x6b\x33\x43\xcf\x08\x01\x01\x01\x01\x01\x01\x01\x01".as_slice(),
        &[0x55; 1_186],
    ]
    .concat();
    let quic = vec![datagram(true, [50_000, 4_433], &initial)];
    // The bytes that are left out.
    let table = [
        (amqp.packets, "AMQP 0-9-1", 25 + 8),
        (h2.packets, "HTTP/2", 33),
        (socket.packets, "WebSocket", 12 + 6),
        (quic, "QUIC version 2", 1_200),
    ];
    for (packets, name, left_out) in table {
        let told = pcap(&build::pcap(RAW, &packets));
        let [(_, protocol)] = told.groups()[..] else {
            panic!("{}", told.table);
        };
        assert_eq!(protocol, name, "{}", told.table);
        let [(what, bytes)] = &told.left_out()[..] else {
            panic!("{}", told.table);
        };
        assert!(what.starts_with(name), "{what}");
        assert_eq!(*bytes, left_out, "{}", told.table);
    }
}
