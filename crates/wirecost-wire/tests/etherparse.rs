//! Holds our views and our emitted packets against etherparse.

use etherparse::{
    NetSlice, PacketBuilder, PacketBuilderStep, SlicedPacket, TcpOptionElement, TransportSlice,
};
use proptest::collection::vec;
use proptest::prelude::*;
use wirecost_wire::ip::{Addresses, Packet, Protocol};
use wirecost_wire::tcp::{Flags, Options, SackBlock, SackBlocks, TcpOption};
use wirecost_wire::upper::Upper;
use wirecost_wire::{icmp, ip, tcp, udp};

fn v4(from: u32, to: u32) -> Addresses {
    Addresses::V4 {
        source: from.into(),
        destination: to.into(),
    }
}

fn v6(from: u128, to: u128) -> Addresses {
    Addresses::V6 {
        source: from.into(),
        destination: to.into(),
    }
}

fn any_addresses() -> impl Strategy<Value = Addresses> {
    prop_oneof![
        any::<(u32, u32)>().prop_map(|(from, to)| v4(from, to)),
        any::<(u128, u128)>().prop_map(|(from, to)| v6(from, to)),
    ]
}

/// The builder of a packet with our defaults between `addresses`.
fn builder(addresses: &Addresses) -> PacketBuilderStep<etherparse::IpHeaders> {
    match addresses {
        Addresses::V4 { source, destination } => {
            PacketBuilder::ipv4(source.octets(), destination.octets(), ip::DEFAULT_HOP_LIMIT)
        }
        Addresses::V6 { source, destination } => {
            PacketBuilder::ipv6(source.octets(), destination.octets(), ip::DEFAULT_HOP_LIMIT)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn udp_packets_are_the_same_byte_for_byte(
        addresses in any_addresses(),
        (source_port, destination_port) in any::<(u16, u16)>(),
        payload in vec(any::<u8>(), 0..100),
    ) {
        let mut theirs = Vec::new();
        builder(&addresses).udp(source_port, destination_port).write(&mut theirs, &payload).unwrap();
        let ports = udp::Repr { source_port, destination_port };
        let mut ours = Vec::new();
        ip::Repr::new(addresses, Protocol::Udp).emit_udp(&ports, &payload, &mut ours).unwrap();
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn tcp_packets_are_the_same_byte_for_byte(
        addresses in any_addresses(),
        (source_port, destination_port, window) in any::<(u16, u16, u16)>(),
        (sequence_number, acknowledgment_number, value, echo) in any::<(u32, u32, u32, u32)>(),
        flags in any::<u8>(),
        payload in vec(any::<u8>(), 0..100),
    ) {
        let flags = Flags::from_bits(flags & 0xdf);
        let elements = [
            TcpOptionElement::MaximumSegmentSize(window),
            TcpOptionElement::SelectiveAcknowledgementPermitted,
            TcpOptionElement::Timestamp(value, echo),
            TcpOptionElement::Noop,
            TcpOptionElement::WindowScale(7),
            TcpOptionElement::SelectiveAcknowledgement((value, echo), [None; 3]),
        ];
        let mut step = builder(&addresses)
            .tcp(source_port, destination_port, sequence_number, window)
            .options(&elements)
            .unwrap();
        if flags.contains(Flags::ACK) {
            step = step.ack(acknowledgment_number);
        }
        for (flag, set) in [
            (Flags::SYN, PacketBuilderStep::syn as fn(_) -> _),
            (Flags::FIN, PacketBuilderStep::fin),
            (Flags::RST, PacketBuilderStep::rst),
            (Flags::PSH, PacketBuilderStep::psh),
            (Flags::ECE, PacketBuilderStep::ece),
            (Flags::CWR, PacketBuilderStep::cwr),
        ] {
            if flags.contains(flag) {
                step = set(step);
            }
        }
        let mut theirs = Vec::new();
        step.write(&mut theirs, &payload).unwrap();
        let block = SackBlock { left: value, right: echo };
        let options = [
            TcpOption::MaximumSegmentSize(window),
            TcpOption::SackPermitted,
            TcpOption::Timestamps { value, echo },
            TcpOption::NoOperation,
            TcpOption::WindowScale(7),
            TcpOption::Sack(SackBlocks::new(&[block])),
        ];
        let segment = tcp::Repr {
            source_port,
            destination_port,
            sequence_number,
            acknowledgment_number: if flags.contains(Flags::ACK) { acknowledgment_number } else { 0 },
            flags,
            window,
            urgent_pointer: 0,
            options: Options::new(&options).unwrap(),
        };
        let mut ours = Vec::new();
        ip::Repr::new(addresses, Protocol::Tcp).emit_tcp(&segment, &payload, &mut ours).unwrap();
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn echoes_are_the_same_byte_for_byte(
        addresses in any_addresses(),
        (id, sequence_number) in any::<(u16, u16)>(),
        payload in vec(any::<u8>(), 0..100),
    ) {
        let step = builder(&addresses);
        let mut theirs = Vec::new();
        match addresses {
            Addresses::V4 { .. } => step.icmpv4_echo_request(id, sequence_number).write(&mut theirs, &payload),
            Addresses::V6 { .. } => step.icmpv6_echo_request(id, sequence_number).write(&mut theirs, &payload),
        }
        .unwrap();
        let echo = icmp::Echo { id, sequence_number, payload: &payload };
        let mut ours = Vec::new();
        let ip = ip::Repr::new(addresses, Protocol::Icmp);
        ip.emit_icmp(&icmp::Repr::EchoRequest(echo), &mut ours).unwrap();
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn both_find_the_same_headers_in_any_bytes(
        mut bytes in vec(any::<u8>(), 40..160),
        is_v6 in any::<bool>(),
        next in proptest::sample::select(vec![0u8, 6, 17, 43, 44, 51, 60]),
        small in vec(0u8..4, 8),
    ) {
        let total = bytes.len() as u16;
        if is_v6 {
            bytes[0] = 0x60;
            bytes[4..6].copy_from_slice(&(total - 40).to_be_bytes());
            bytes[6] = next;
            // Short extension headers, which then name one another or TCP.
            for (step, length) in bytes[40..].chunks_mut(8).zip(&small) {
                step[0] = [60, 44, 6, 43][usize::from(*length)];
                *step.get_mut(1).unwrap_or(&mut 0) = length % 2;
            }
        } else {
            bytes[0] = 0x45 + small[0];
            bytes[2..4].copy_from_slice(&total.to_be_bytes());
            bytes[9] = next;
        }
        compare(&bytes)?;
    }
}

/// Compares what both say of a packet that both understand.
fn compare(bytes: &[u8]) -> Result<(), TestCaseError> {
    let (Ok(ours), Ok(theirs)) = (Packet::new(bytes), SlicedPacket::from_ip(bytes)) else {
        return Ok(());
    };
    let net = theirs.net.expect("an IP packet");
    let payload = net.ip_payload_ref().expect("an IP payload");
    match &net {
        NetSlice::Ipv4(slice) => {
            let header = slice.header();
            prop_assert_eq!(ours.source(), header.source_addr());
            prop_assert_eq!(ours.hop_limit(), header.ttl());
            prop_assert_eq!(ours.total_bytes(), usize::from(header.total_len()));
        }
        NetSlice::Ipv6(slice) => {
            let header = slice.header();
            prop_assert_eq!(ours.destination(), header.destination_addr());
            prop_assert_eq!(ours.hop_limit(), header.hop_limit());
        }
        NetSlice::Arp(_) => return Err(TestCaseError::fail("an ARP packet")),
    }
    // Theirs takes an Authentication header of IPv4 for IP's, ours leaves it to the upper layer.
    if ours.version() == ip::Version::V4 && ours.protocol() == Protocol::Other(51) {
        return Ok(());
    }
    prop_assert_eq!(ours.fragment().is_some(), payload.fragmented);
    // Theirs reads extension headers out of the middle of a datagram (RFC 8200 section 4.5: there are none).
    if !ours.has_upper_header() {
        return Ok(());
    }
    prop_assert_eq!(ours.protocol().number(), payload.ip_number.0);
    prop_assert_eq!(ours.payload(), payload.payload);
    if ours.fragment().is_none() {
        compare_upper(&ours, &theirs.transport)?;
    }
    Ok(())
}

fn compare_upper(ours: &Packet<'_>, theirs: &Option<TransportSlice<'_>>) -> Result<(), TestCaseError> {
    match (Upper::new(ours), theirs) {
        (Ok(Upper::Tcp(ours)), Some(TransportSlice::Tcp(theirs))) => {
            prop_assert_eq!(ours.sequence_number(), theirs.sequence_number());
            prop_assert_eq!(ours.header_bytes(), theirs.header_slice().len());
            prop_assert_eq!(ours.flags().contains(Flags::SYN), theirs.syn());
            prop_assert_eq!(ours.flags().contains(Flags::CWR), theirs.cwr());
            prop_assert_eq!(ours.payload(), theirs.payload());
        }
        (Ok(Upper::Udp(ours)), Some(TransportSlice::Udp(theirs))) => {
            prop_assert_eq!(ours.source_port(), theirs.source_port());
            prop_assert_eq!(ours.payload(), theirs.payload());
        }
        (Ok(Upper::Tcp(_) | Upper::Udp(_)), other) => {
            return Err(TestCaseError::fail(format!("they found {other:?}")));
        }
        _ => {}
    }
    Ok(())
}
