use super::*;
use crate::ip::Addresses;
use alloc::vec;

fn addresses() -> [Addresses; 2] {
    let v4 = Addresses::new("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
    let v6 = Addresses::new("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap());
    [v4.unwrap(), v6.unwrap()]
}

#[test]
fn a_packet_opens_to_what_was_put_in() {
    for addresses in addresses() {
        let ip = ip::Repr::new(addresses, Protocol::Other(0xff));
        let ports = udp::Repr {
            source_port: 1,
            destination_port: 2,
        };
        let segment = tcp::Repr {
            source_port: 3,
            ..tcp::Repr::default()
        };
        let echo = icmp::Repr::EchoRequest(icmp::Echo {
            id: 4,
            sequence_number: 5,
            payload: b"echo",
        });
        let mut packets = [const { Vec::new() }; 3];
        ip.emit_udp(&ports, b"udp", &mut packets[0]).unwrap();
        ip.emit_tcp(&segment, b"tcp", &mut packets[1]).unwrap();
        ip.emit_icmp(&echo, &mut packets[2]).unwrap();
        for bytes in &packets {
            let packet = ip::Packet::new(bytes).unwrap();
            assert_eq!(packet.total_bytes(), bytes.len());
            let (valid, same) = match Upper::new(&packet).unwrap() {
                Upper::Udp(datagram) => (datagram.is_checksum_valid(&addresses), datagram.repr() == ports),
                Upper::Tcp(opened) => (opened.is_checksum_valid(&addresses), opened.repr() == segment),
                Upper::Icmp(message) => (message.is_checksum_valid(&addresses), message.repr() == echo),
                other => panic!("{other:?}"),
            };
            assert!(valid && same, "{bytes:02x?}");
        }
    }
}

#[test]
fn a_later_fragment_is_not_opened() {
    let mut bytes = Vec::new();
    let ip = ip::Repr::new(addresses()[0], Protocol::Tcp);
    ip.emit(b"middle", &mut bytes).unwrap();
    bytes[7] = 1;
    let packet = ip::Packet::new(&bytes).unwrap();
    let upper = Upper::new(&packet).unwrap();
    assert!(matches!(upper, Upper::Fragment(b"middle")), "{upper:?}");
}

#[test]
fn another_protocol_keeps_its_number() {
    let mut bytes = Vec::new();
    let ip = ip::Repr::new(addresses()[1], Protocol::Other(50));
    ip.emit(b"esp", &mut bytes).unwrap();
    let packet = ip::Packet::new(&bytes).unwrap();
    let upper = Upper::new(&packet).unwrap();
    assert!(
        matches!(upper, Upper::Other(Protocol::Other(50), b"esp")),
        "{upper:?}"
    );
}

#[test]
fn a_datagram_too_long_for_ip_leaves_nothing_behind() {
    let ports = udp::Repr {
        source_port: 1,
        destination_port: 2,
    };
    let payload = vec![0; 65_535];
    for addresses in addresses() {
        let mut out = vec![7];
        let ip = ip::Repr::new(addresses, Protocol::Udp);
        assert!(ip.emit_udp(&ports, &payload, &mut out).is_err());
        assert_eq!(out, [7]);
    }
}
