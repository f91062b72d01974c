//! Packets of reports: what is sent of them, and that they are restored.

use std::net::{IpAddr, SocketAddr};

use proptest::prelude::*;
use wirecost_coap::code::Code;
use wirecost_coap::message::{Repr, Type};
use wirecost_coap::option::{OptionNumber, Options};
use wirecost_coap::token::Token;
use wirecost_proto::Direction;
use wirecost_schc::{Context, Ends, UNCOMPRESSED};
use wirecost_wire::{ip, udp};

const URI_PATH: OptionNumber = OptionNumber(11);
const NO_RESPONSE: OptionNumber = OptionNumber(258);

fn ends(is_v6: bool) -> Ends {
    let [device, server]: [IpAddr; 2] = match is_v6 {
        true => ["fd00::2", "fd00::1"],
        false => ["10.0.0.2", "10.0.0.1"],
    }
    .map(|address| address.parse().unwrap());
    Ends {
        device: SocketAddr::new(device, 40_000),
        server: SocketAddr::new(server, 5683),
    }
}

/// A datagram between the ends.
fn packet(ends: &Ends, direction: Direction, identification: u16, content: &[u8]) -> Vec<u8> {
    let (source, destination) = match direction {
        Direction::Up => (ends.device, ends.server),
        Direction::Down => (ends.server, ends.device),
    };
    let addresses = ip::Addresses::new(source.ip(), destination.ip()).unwrap();
    let mut header = ip::Repr::new(addresses, ip::Protocol::Udp);
    if let ip::Repr::V4(header) = &mut header {
        header.identification = identification;
    }
    let ports = udp::Repr {
        source_port: source.port(),
        destination_port: destination.port(),
    };
    let mut bytes = Vec::new();
    header.emit_udp(&ports, content, &mut bytes).unwrap();
    bytes
}

/// PUT coap://server/test without a response (RFC 7967).
fn report(kind: Type, message_id: u16, token: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut options = Options::new();
    options.insert(URI_PATH, b"test").unwrap();
    options.insert(NO_RESPONSE, &[26]).unwrap();
    let message = Repr {
        kind,
        code: Code::PUT,
        message_id,
        token: Token::new(token).unwrap(),
        options: options.view(),
        payload,
    };
    let mut bytes = Vec::new();
    message.emit(&mut bytes);
    bytes
}

fn response(kind: Type, code: Code, message_id: u16, token: &[u8]) -> Vec<u8> {
    let options = Options::new();
    let message = Repr {
        kind,
        code,
        message_id,
        token: Token::new(token).unwrap(),
        options: options.view(),
        payload: &[],
    };
    let mut bytes = Vec::new();
    message.emit(&mut bytes);
    bytes
}

fn context(ends: Ends) -> Context {
    Context::of_report(ends, Some(&report(Type::Confirmable, 0, &[1, 2], b"x")))
}

/// Headers of 28 B, and of 48 B with IPv6, become the rule's number, with IPv4 behind it the identification.
#[test]
fn headers_of_udp_become_one_or_three_bytes() {
    for (is_v6, headers, sent) in [(false, 28, 3), (true, 48, 1)] {
        let ends = ends(is_v6);
        let packet = packet(&ends, Direction::Up, 77, &[9; 25]);
        let compressed = Context::of_report(ends, None).compress(&packet, Direction::Up);
        assert_eq!((packet.len(), compressed.len()), (headers + 25, sent + 25));
        assert_eq!(compressed[0], 4);
    }
}

/// A CoAP report of 28 + 4 + 2 + 5 + 3 + 1 B and its payload: the options, the code and the marker are known.
#[test]
fn a_coap_report_sends_type_message_id_and_token() {
    let ends = ends(true);
    let packet = packet(
        &ends,
        Direction::Up,
        0,
        &report(Type::NonConfirmable, 300, &[7, 8], b"21.5"),
    );
    let context = context(ends);
    assert_eq!(context.rule_of(&packet, Direction::Up), Some((1, 1 + 16 + 16)));
    assert_eq!(packet.len(), 48 + 4 + 2 + 5 + 3 + 1 + 4);
    // 8 + 33 + 32 bits.
    assert_eq!(context.compress(&packet, Direction::Up).len(), 10);
}

/// What microschc 0.22.0 (Python) makes of the same packets with the same rule.
#[test]
fn another_compressor_sends_the_same_bits() {
    let mut options = Options::new();
    options.insert(URI_PATH, b"test").unwrap();
    let message = Repr {
        kind: Type::Confirmable,
        code: Code::PUT,
        message_id: 0x1234,
        token: Token::new(&[7, 8]).unwrap(),
        options: options.view(),
        payload: b"21.5",
    };
    let mut content = Vec::new();
    message.emit(&mut content);
    let expected: [(bool, &[u8]); 2] = [
        (true, b"\x01\x09\x1a\x03\x84\x19\x18\x97\x1a\x80"),
        (false, b"\x01\x00\x07\x09\x1a\x03\x84\x19\x18\x97\x1a\x80"),
    ];
    for (is_v6, bytes) in expected {
        let ends = ends(is_v6);
        let packet = packet(&ends, Direction::Up, 7, &content);
        let context = Context::of_report(ends, Some(&content));
        assert_eq!(context.compress(&packet, Direction::Up), bytes);
    }
}

#[test]
fn answers_of_coap_have_rules_of_their_own() {
    let ends = ends(false);
    let context = context(ends);
    let rule = |direction, content: &[u8]| {
        let packet = packet(&ends, direction, 5, content);
        let rule = context.rule_of(&packet, direction).map(|(number, _)| number);
        let compressed = context.compress(&packet, direction);
        assert_eq!(context.decompress(&compressed, direction), Some(packet));
        rule
    };
    let changed = response(Type::Acknowledgement, Code::CHANGED, 9, &[1, 2]);
    assert_eq!(rule(Direction::Down, &changed), Some(2));
    assert_eq!(
        rule(Direction::Up, &changed),
        Some(4),
        "a device sends no responses"
    );
    let empty = response(Type::Acknowledgement, Code::EMPTY, 9, &[]);
    assert_eq!(rule(Direction::Down, &empty), Some(3));
    assert_eq!(rule(Direction::Up, &empty), Some(3));
    // Another length of the token, and another code.
    let longer = response(Type::Acknowledgement, Code::CHANGED, 9, &[1, 2, 3]);
    assert_eq!(rule(Direction::Down, &longer), Some(4));
    assert_eq!(rule(Direction::Down, b"no CoAP"), Some(4));
}

#[test]
fn what_no_rule_restores_is_sent_whole() {
    let ends = ends(false);
    let context = context(ends);
    let good = packet(&ends, Direction::Up, 5, b"\xffpayload");
    let mut wrong_checksum = good.clone();
    wrong_checksum[27] ^= 1;
    let mut other_hop_limit = good.clone();
    other_hop_limit[8] -= 1;
    for packet in [wrong_checksum, other_hop_limit, b"no packet".to_vec(), Vec::new()] {
        let compressed = context.compress(&packet, Direction::Up);
        assert_eq!(compressed, [&[UNCOMPRESSED], packet.as_slice()].concat());
        assert_eq!(context.decompress(&compressed, Direction::Up), Some(packet));
    }
    // Another port of the device has a rule of its own.
    let moved = Ends {
        device: SocketAddr::new(ends.device.ip(), 40_001),
        ..ends
    };
    let packet = packet(&moved, Direction::Up, 5, b"x");
    assert_eq!(context.rule_of(&packet, Direction::Up), Some((5, 48)));
}

proptest! {
    #[test]
    fn every_packet_is_restored_exactly(
        is_v6: bool,
        is_up: bool,
        kind in 0_u8..4,
        code in prop::sample::select(vec![Code::PUT, Code::CHANGED, Code::CONTENT, Code::EMPTY]),
        message_id: u16,
        identification: u16,
        token in prop::collection::vec(any::<u8>(), 0..=8),
        payload in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let ends = ends(is_v6);
        let context = context(ends);
        let direction = if is_up { Direction::Up } else { Direction::Down };
        let kind = Type::from_bits(kind);
        let content = match code {
            Code::PUT => report(kind, message_id, &token, &payload),
            _ => response(kind, code, message_id, &token),
        };
        for content in [content, payload] {
            let packet = packet(&ends, direction, identification, &content);
            let compressed = context.compress(&packet, direction);
            prop_assert!(compressed.len() < packet.len());
            prop_assert_eq!(context.decompress(&compressed, direction), Some(packet));
        }
    }

    #[test]
    fn any_bytes_are_restored_or_refused_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..80), is_v6: bool) {
        let context = context(ends(is_v6));
        for direction in Direction::ALL {
            let compressed = context.compress(&bytes, direction);
            prop_assert_eq!(context.decompress(&compressed, direction), Some(bytes.clone()));
            let _ = context.decompress(&bytes, direction);
        }
    }
}
