//! ICMP, other protocols, and what is no IP packet.

use wirecost_proto::{Cause, Direction, Layer, Phase};
use wirecost_wire::{icmp, ip};

use super::bench::*;
use crate::DeviceLedger;

fn icmp_packet(direction: Direction, version: ip::Version, message: &icmp::Repr<'_>) -> Vec<u8> {
    let mut packet = Vec::new();
    let ip = ip::Repr::new(addresses(direction, version), ip::Protocol::Icmp);
    ip.emit_icmp(message, &mut packet).unwrap();
    packet
}

#[test]
fn an_icmp_error_is_a_probe_in_the_phase_of_the_flow_it_quotes() {
    for version in [ip::Version::V4, ip::Version::V6] {
        let mut ledger = DeviceLedger::new();
        let said = [span(3, Layer::Payload, Phase::KeepAlive, Cause::Original)];
        ledger.datagram_spans(FLOW, Up, b"abc", &said);
        let sent = udp_packet(Up, version, b"abc");
        account(&mut ledger, Up, &sent);
        let quoted = &sent[..];
        let time_exceeded = match version {
            ip::Version::V4 => 11,
            ip::Version::V6 => 3,
        };
        for message in [
            icmp::Repr::DestinationUnreachable { code: 3, quoted },
            icmp::Repr::PacketTooBig { mtu: 1_280, quoted },
            icmp::Repr::Other {
                kind: time_exceeded,
                code: 0,
                word: 0,
                body: quoted,
            },
        ] {
            let (verdict, spans) = account(&mut ledger, Down, &icmp_packet(Down, version, &message));
            assert_eq!(text(&verdict, &spans), "keep_alive probe: ");
            let layers: Vec<Layer> = spans.iter().map(|span| span.layer).collect();
            assert_eq!(layers, [Layer::Ip, Layer::Transport]);
        }
    }
}

#[test]
fn an_icmp_error_about_a_connection_has_its_phase() {
    let mut bench = Bench::established(1, 2);
    bench.send(ACK.seq(11).len(4));
    let quoted = [
        0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 77, 0, 2, 10, 77, 0, 1, // IPv4
        0x9c, 0x40, 0x07, 0x5b, 0, 0, 0, 0, // ports 40000 and 1883, sequence number
    ];
    let message = icmp::Repr::DestinationUnreachable {
        code: 1,
        quoted: &quoted,
    };
    let packet = icmp_packet(Down, ip::Version::V4, &message);
    let (verdict, spans) = account(&mut bench.ledger, Down, &packet);
    assert_eq!(text(&verdict, &spans), "message probe: ");
    // The other way round it quotes a packet that this flow never sent.
    let (verdict, _) = account(&mut bench.ledger, Up, &packet);
    assert_eq!(verdict.unattributed_bytes, verdict.wire_bytes);
}

#[test]
fn an_echo_is_unattributed() {
    let payload = &[0; 20];
    let echo = icmp::Echo {
        id: 1,
        sequence_number: 2,
        payload,
    };
    for version in [ip::Version::V4, ip::Version::V6] {
        let packet = icmp_packet(Up, version, &icmp::Repr::EchoRequest(echo));
        let (verdict, spans) = account(&mut DeviceLedger::new(), Up, &packet);
        assert_eq!(verdict.unattributed_bytes as usize, packet.len());
        let layers: Vec<(u32, Layer)> = spans.iter().map(|span| (span.len, span.layer)).collect();
        let header = u32::try_from(packet.len() - 28).unwrap();
        assert_eq!(layers, [(header, Layer::Ip), (28, Layer::Transport)]);
    }
}

#[test]
fn bytes_that_are_not_a_packet_are_unattributed() {
    for bytes in [&[][..], &[0x45], &[0; 40], &[0x65; 13], &[0xff; 1_500]] {
        let (verdict, _) = account(&mut DeviceLedger::new(), Down, bytes);
        assert_eq!(verdict.wire_bytes as usize, bytes.len());
        assert_eq!(verdict.unattributed_bytes as usize, bytes.len());
    }
}

#[test]
fn bytes_after_the_datagram_count_those_after_the_packet_do_not() {
    let mut padded = udp_packet(Up, ip::Version::V4, b"abc");
    padded.extend_from_slice(&[0; 15]);
    let (verdict, _) = account(&mut DeviceLedger::new(), Up, &padded);
    assert_eq!((verdict.wire_bytes, verdict.unattributed_bytes), (31, 3));
    // The IP length includes 5 bytes more than the UDP length.
    padded[3] += 5;
    let (verdict, _) = account(&mut DeviceLedger::new(), Up, &padded);
    assert_eq!((verdict.wire_bytes, verdict.unattributed_bytes), (36, 8));
}
