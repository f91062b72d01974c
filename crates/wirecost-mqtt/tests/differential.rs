//! Our codec compared with another implementation of both versions: each decodes the packets of the other.

use std::fmt::Debug;
use std::sync::Arc;

use mqtt_protocol_core::mqtt::packet::{v3_1_1, v5_0};
use proptest::prelude::*;
use wirecost_mqtt::codec::{Frame, Packet, PacketType, Version};
use wirecost_proto::Buffer;

/// The bytes that our codec emits for `packet`.
fn emitted(packet: &Packet<'_>, version: Version) -> Vec<u8> {
    let mut out = Buffer::new();
    packet
        .emit(version, &mut out)
        .expect("a packet that MQTT can frame");
    out.bytes().to_vec()
}

fn ours(bytes: &[u8], version: Version) -> Option<Packet<'_>> {
    Packet::decode(Frame::new(bytes), version).ok()
}

/// The packet after the other codec has decoded and encoded it; `None` if it refuses the packet.
fn theirs(bytes: &[u8], version: Version) -> Option<Vec<u8>> {
    let frame = Frame::new(bytes);
    let (body, flags) = (frame.body(), frame.flags());
    let packet = frame.packet_type()?;
    macro_rules! again {
        ($module:ident, $packet:ident) => {
            whole($module::$packet::parse(body), body).map(|packet| packet.to_continuous_buffer())
        };
    }
    macro_rules! message {
        ($module:ident) => {
            whole($module::Publish::parse(flags, Arc::from(body)), body)
                .map(|packet| packet.to_continuous_buffer())
        };
    }
    macro_rules! of_version {
        ($module:ident) => {
            match packet {
                PacketType::Connect => again!($module, Connect),
                PacketType::Connack => again!($module, Connack),
                PacketType::Publish => message!($module),
                PacketType::Puback => again!($module, Puback),
                PacketType::Pubrec => again!($module, Pubrec),
                PacketType::Pubrel => again!($module, Pubrel),
                PacketType::Pubcomp => again!($module, Pubcomp),
                PacketType::Subscribe => again!($module, Subscribe),
                PacketType::Suback => again!($module, Suback),
                PacketType::Unsubscribe => again!($module, Unsubscribe),
                PacketType::Unsuback => again!($module, Unsuback),
                PacketType::Pingreq => again!($module, Pingreq),
                PacketType::Pingresp => again!($module, Pingresp),
                PacketType::Disconnect => again!($module, Disconnect),
                PacketType::Auth => None,
            }
        };
    }
    match (version, packet) {
        (Version::V3_1_1, _) => of_version!(v3_1_1),
        (Version::V5, PacketType::Auth) => again!(v5_0, Auth),
        (Version::V5, _) => of_version!(v5_0),
    }
}

fn whole<T, E: Debug>(parsed: Result<(T, usize), E>, body: &[u8]) -> Option<T> {
    parsed
        .ok()
        .filter(|(_, used)| *used == body.len())
        .map(|(packet, _)| packet)
}

/// Bytes from hex digits; white space is ignored.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let pairs = digits
        .chunks(2)
        .map(|pair| std::str::from_utf8(pair).expect("hex"));
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).expect("hex"))
        .collect()
}

fn agree(bytes: &[u8], version: Version) {
    let packet = ours(bytes, version).unwrap_or_else(|| panic!("we decode {bytes:02x?}"));
    let by_us = emitted(&packet, version);
    assert_eq!(by_us, bytes, "our encoding is the shortest one");
    let by_them = theirs(&by_us, version).unwrap_or_else(|| panic!("they decode {bytes:02x?}"));
    assert_eq!(ours(&by_them, version), Some(packet), "{by_them:02x?}");
}

#[test]
fn every_packet_of_3_1_1() {
    let packets = [
        "100c 0004 4d515454 04 02 003c 0000",
        "101a 0004 4d515454 04 f6 003c 0001 63 0001 77 0002 0102 0001 75 0001 70",
        "2002 01 00",
        "2002 00 05",
        "3005 0001 61 6869",
        "3d07 0001 61 000a 6869",
        "4002 0001",
        "5002 0001",
        "6202 0001",
        "7002 0001",
        "820a 0001 0001 61 01 0001 23 02",
        "9004 0001 02 80",
        "a207 0002 0003 612f2b",
        "b002 0002",
        "c000",
        "d000",
        "e000",
    ];
    packets
        .iter()
        .for_each(|packet| agree(&hex(packet), Version::V3_1_1));
}

#[test]
fn every_packet_of_5_with_every_property() {
    let packets = [
        "100d 0004 4d515454 05 02 003c 00 0000",
        // CONNECT: 11 21 27 22 19 17 26 15 16, and a will with 18 01 02 03 08 09 26
        "1071 0004 4d515454 05 f6 003c 24 11 0000000a 21 0005 27 00001000 22 0003 19 01 17 00 26 0001 6b 0001 76 \
         15 0001 6d 16 0002 0102 0001 63 \
         1f 18 00000005 01 01 02 00000009 03 0001 74 08 0001 72 09 0001 64 26 0001 6b 0001 76 \
         0001 77 0002 0102 0001 75 0001 70",
        "2003 00 00 00",
        // CONNACK: 11 21 24 25 27 12 22 1f 26 28 29 2a 13 1a 1c 15 16
        "2051 00 00 3c 11 0000000a 21 0005 24 01 25 00 27 00001000 12 0001 63 22 0003 1f 0001 72 26 0001 6b 0001 76 \
         28 00 29 00 2a 00 13 000a 1a 0001 69 1c 0001 73 15 0001 6d 16 0001 64",
        "3006 0001 61 00 6869",
        // PUBLISH: 01 02 23 08 09 26 0b 0b 03
        "3d2a 0001 61 000a 22 01 01 02 00000009 23 0001 08 0001 72 09 0001 64 26 0001 6b 0001 76 0b 01 0b c801 \
         03 0001 74 6869",
        "4002 0001",
        "4003 0001 10",
        "400f 0001 87 0b 1f 0001 72 26 0001 6b 0001 76",
        "5003 0001 97",
        "6203 0001 92",
        "7003 0001 92",
        "8210 0001 03 0b c801 0001 61 2d 0001 23 01",
        "9005 0001 00 02 8f",
        "a208 0002 00 0003 612f2b",
        "b004 0002 00 11",
        "c000",
        "d000",
        "e000",
        "e001 04",
        "e012 9c 0d 11 0000000a 1f 0001 72 1c 0001 73",
        "f00c 18 0a 15 0001 6d 16 0003 010203",
    ];
    packets
        .iter()
        .for_each(|packet| agree(&fixed(&hex(packet)), Version::V5));
}

/// The packet with a remaining length that covers all bytes after the first two.
fn fixed(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[1] = u8::try_from(bytes.len() - 2).expect("a short packet");
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// If both codecs accept a packet, they agree on its meaning.
    #[test]
    fn both_codecs_encode_decoded_packets_alike(
        kind in 1u8..16,
        flags in prop_oneof![Just(0u8), Just(2u8), 0u8..16],
        body in proptest::collection::vec(prop_oneof![0u8..4, any::<u8>()], 0..16),
        v5: bool,
    ) {
        let version = if v5 { Version::V5 } else { Version::V3_1_1 };
        let mut bytes = vec![kind << 4 | flags, body.len() as u8];
        bytes.extend(&body);
        if let (Some(packet), Some(by_them)) = (ours(&bytes, version), theirs(&bytes, version)) {
            prop_assert_eq!(ours(&by_them, version), Some(packet));
            let by_us = emitted(&packet, version);
            let by_them = theirs(&by_us, version).unwrap_or_default();
            prop_assert_eq!(ours(&by_them, version), Some(packet));
        }
    }
}
