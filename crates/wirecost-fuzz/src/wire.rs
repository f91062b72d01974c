//! Packets and captures.

use std::net::Ipv4Addr;

use wirecost_wire::ip::{Addresses, Header, Packet, Protocol, Repr, Version};
use wirecost_wire::pcapng::{Block, Capture, Reader, Way, Writer};
use wirecost_wire::upper::Upper;
use wirecost_wire::{icmp, tcp, udp};

/// Between these, segments and messages on their own are emitted.
const ADDRESSES: Addresses = Addresses::V4 {
    source: Ipv4Addr::new(10, 77, 0, 2),
    destination: Ipv4Addr::new(10, 77, 0, 1),
};

/// An IP packet: its parts lie within it, and it and what it carries mean the same once emitted. Returns whether
/// both headers are understood.
pub fn ip_packet(bytes: &[u8]) -> bool {
    let Ok(packet) = Packet::new(bytes) else {
        return false;
    };
    assert!(packet.header_bytes() <= packet.total_bytes());
    assert!(packet.header_bytes() + packet.payload().len() <= bytes.len());
    assert_eq!(packet.addresses().version(), packet.version());
    let _ = (
        packet.ports(),
        packet.fragment(),
        packet.hop_limit(),
        packet.is_truncated(),
    );
    // The upper layer's number in a later fragment may be that of an extension header, which a Repr does not have.
    if packet.has_upper_header() {
        assert_ip_round_trip(&packet);
    }
    let Ok(upper) = Upper::new(&packet) else {
        return false;
    };
    assert_upper_round_trip(&upper, &packet.addresses());
    true
}

fn assert_ip_round_trip(packet: &Packet<'_>) {
    let repr = repr(packet);
    let mut emitted = Vec::new();
    if repr.emit(packet.payload(), &mut emitted).is_err() {
        return;
    }
    let again = Packet::new(&emitted).expect("a packet was emitted");
    assert_eq!(self::repr(&again), repr);
    assert_eq!(again.payload(), packet.payload());
    assert_eq!(again.total_bytes(), emitted.len());
}

fn repr(packet: &Packet<'_>) -> Repr {
    match packet.header() {
        Header::V4(header) => Repr::V4(header.repr()),
        Header::V6(header) => Repr::V6(header.repr()),
    }
}

fn assert_upper_round_trip(upper: &Upper<'_>, addresses: &Addresses) {
    match upper {
        Upper::Tcp(segment) => assert_tcp_round_trip(segment, addresses),
        Upper::Udp(datagram) => assert_udp_round_trip(datagram, addresses),
        Upper::Icmp(message) if matches!(addresses.version(), Version::V4) => {
            let _ = (message.is_checksum_valid(addresses), message.repr());
        }
        Upper::Icmp(_) | Upper::Fragment(_) | Upper::Other(..) => {}
    }
}

/// A TCP segment and its options mean the same once emitted. Returns whether every option is understood.
pub fn tcp_segment(bytes: &[u8]) -> bool {
    let Ok(segment) = tcp::Segment::new(bytes) else {
        return false;
    };
    assert_eq!(segment.header_bytes() + segment.payload().len(), bytes.len());
    assert!(segment.sequence_length() as usize <= segment.payload().len() + 2);
    assert_tcp_round_trip(&segment, &ADDRESSES);
    segment.options().all(|option| option.is_ok())
}

fn assert_tcp_round_trip(segment: &tcp::Segment<'_>, addresses: &Addresses) {
    let _ = segment.is_checksum_valid(addresses);
    let mut emitted = Vec::new();
    segment.repr().emit(addresses, segment.payload(), &mut emitted);
    let again = tcp::Segment::new(&emitted).expect("a segment was emitted");
    assert_eq!(again.repr(), segment.repr());
    assert_eq!(again.payload(), segment.payload());
    assert!(again.is_checksum_valid(addresses));
    let options: Result<Vec<_>, _> = segment.options().collect();
    let Ok(options) = options else { return };
    let built = tcp::Options::new(&options).expect("what fitted fits again");
    assert!(built == segment.repr().options || options.len() < segment.header_bytes());
}

fn assert_udp_round_trip(datagram: &udp::Datagram<'_>, addresses: &Addresses) {
    let _ = datagram.is_checksum_valid(addresses);
    let mut emitted = Vec::new();
    let emits = datagram.repr().emit(addresses, datagram.payload(), &mut emitted);
    emits.expect("what fitted fits again");
    let again = udp::Datagram::new(&emitted).expect("a datagram was emitted");
    assert_eq!(
        (again.repr(), again.payload()),
        (datagram.repr(), datagram.payload())
    );
    assert!(again.is_checksum_valid(addresses));
}

/// An ICMP message means the same once emitted, in either version. Returns whether what it quotes is a packet.
pub fn icmp_message(bytes: &[u8]) -> bool {
    let v6 = Addresses::new([0; 16].into(), [1; 16].into()).expect("one version");
    [ADDRESSES, v6].iter().all(|addresses| {
        let Ok(message) = icmp::Message::new(addresses.version(), bytes) else {
            return false;
        };
        let _ = message.is_checksum_valid(addresses);
        let mut emitted = Vec::new();
        message.repr().emit(addresses, &mut emitted);
        let again = icmp::Message::new(addresses.version(), &emitted).expect("a message was emitted");
        assert_eq!(again.repr(), message.repr());
        assert!(again.is_checksum_valid(addresses));
        quotes_a_packet(&message)
    })
}

fn quotes_a_packet(message: &icmp::Message<'_>) -> bool {
    match message.repr() {
        icmp::Repr::DestinationUnreachable { quoted, .. } | icmp::Repr::PacketTooBig { quoted, .. } => {
            Packet::new(quoted).is_ok_and(|packet| {
                let _ = packet.ports();
                packet.protocol() != Protocol::Other(255)
            })
        }
        _ => true,
    }
}

/// A capture: what it yields is not larger than it is, and its packets are the same once written. Returns whether it
/// is read to its end.
pub fn capture(bytes: &[u8]) -> bool {
    let blocks: Vec<_> = Reader::new(bytes).collect();
    let mut yielded = 0;
    let mut packets = Vec::new();
    for block in blocks.iter().flatten() {
        match block {
            Block::Packet(packet) => packets.push((packet.timestamp_ns, &packet.bytes, &packet.comment)),
            Block::Secrets(secrets) => yielded += secrets.data.len(),
            Block::Statistics(_) => {}
            Block::Other { body_bytes, .. } => yielded += body_bytes,
            Block::Section(_) | Block::Interface(_) => {}
        }
    }
    yielded += packets.iter().map(|(_, bytes, _)| bytes.len()).sum::<usize>();
    assert!(yielded <= bytes.len());
    let mut writer = Writer::new(Vec::new(), &one_interface()).expect("memory takes all");
    for (time, bytes, comment) in &packets {
        let written = writer.packet(Way::Unknown, time.unwrap_or(0), bytes, comment.as_deref());
        written.expect("memory takes all");
    }
    let written = writer.finish().expect("memory takes all");
    let again: Vec<_> = Reader::new(written.as_slice())
        .collect::<Result<_, _>>()
        .expect("a capture was written");
    let again = again.iter().filter_map(|block| match block {
        Block::Packet(packet) => Some((packet.timestamp_ns.unwrap_or(0), &packet.bytes)),
        _ => None,
    });
    assert!(again.eq(packets.iter().map(|(time, bytes, _)| (time.unwrap_or(0), *bytes))));
    blocks.iter().all(Result::is_ok)
}

const fn one_interface() -> Capture<'static> {
    Capture {
        hardware: None,
        os: None,
        user_application: None,
        comment: None,
        tls_key_log: None,
        interface: Some("up"),
    }
}
