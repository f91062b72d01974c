//! Packets as hex with their meaning, both ways; and what is not a packet.

use alloc::format;
use alloc::vec::Vec;

use proptest::prelude::*;
use wirecost_proto::Buffer;

use super::properties::Variable;
use super::*;
use crate::quality::{Delivery, PacketId, QoS};

/// The bytes of hex digits, blanks ignored.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let pairs = digits.chunks(2).map(|pair| core::str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

fn text(text: &str) -> Text<'_> {
    Text::new(text).unwrap()
}

fn id(id: u16) -> PacketId {
    PacketId::new(id).unwrap()
}

fn decode(bytes: &[u8], version: Version) -> Result<Packet<'_>, DecodeError> {
    let mut framer = Framer::new(framing::LARGEST_PACKET);
    let mut left = bytes;
    let whole = framer.next(&mut left)?.map(|frame| frame.bytes().len());
    assert_eq!(whole, Some(bytes.len()), "one whole packet");
    Packet::decode(Frame::new(bytes), version)
}

fn emitted(packet: &Packet<'_>, version: Version) -> Vec<u8> {
    let mut out = Buffer::new();
    packet.emit(version, &mut out);
    assert_eq!(out.covered(), out.bytes().len() as u64);
    out.bytes().to_vec()
}

fn both_ways(version: Version, bytes: &str, packet: Packet<'_>) {
    let bytes = hex(bytes);
    assert_eq!(decode(&bytes, version), Ok(packet), "{bytes:02x?}");
    assert_eq!(emitted(&packet, version), bytes, "{packet:?}");
}

fn connect(version: Version) -> Connect<'static> {
    Connect {
        version,
        clean_start: true,
        keep_alive: 60,
        properties: Properties::EMPTY,
        client_id: Text::EMPTY,
        will: None,
        username: None,
        password: None,
    }
}

fn publish(delivery: Delivery) -> Publish<'static> {
    Publish {
        dup: false,
        delivery,
        retain: false,
        topic: Text::new("a").unwrap(),
        properties: Properties::EMPTY,
        payload: b"hi",
    }
}

#[test]
fn connect_of_3_1_1() {
    let full = Connect {
        client_id: text("c"),
        will: Some(Will {
            topic: text("w"),
            payload: Binary::new(&[1, 2]).unwrap(),
            qos: QoS::ExactlyOnce,
            retain: true,
            properties: Properties::EMPTY,
        }),
        username: Some(text("u")),
        password: Some(Binary::new(b"p").unwrap()),
        ..connect(Version::V3_1_1)
    };
    let version = Version::V3_1_1;
    both_ways(
        version,
        "100c 0004 4d515454 04 02 003c 0000",
        Packet::Connect(connect(version)),
    );
    let bytes = "101a 0004 4d515454 04 f6 003c 0001 63 0001 77 0002 0102 0001 75 0001 70";
    both_ways(version, bytes, Packet::Connect(full));
}

#[test]
fn connect_of_5_with_will_properties() {
    let mut of_connect = PropertiesBuf::new();
    of_connect.push(Property::SessionExpiryInterval(10));
    of_connect.push(Property::UserProperty(text("k"), text("v")));
    let mut of_will = PropertiesBuf::new();
    of_will.push(Property::WillDelayInterval(5));
    let packet = Connect {
        properties: of_connect.as_properties(),
        client_id: text("c"),
        will: Some(Will {
            topic: text("w"),
            payload: Binary::default(),
            qos: QoS::AtMostOnce,
            retain: false,
            properties: of_will.as_properties(),
        }),
        ..connect(Version::V5)
    };
    let bytes =
        "1025 0004 4d515454 05 06 003c 0c 11 0000000a 26 0001 6b 0001 76 0001 63 05 18 00000005 0001 77 0000";
    both_ways(Version::V5, bytes, Packet::Connect(packet));
}

#[test]
fn connack_of_both_versions() {
    let connack = |session_present, reason| {
        Packet::Connack(Connack {
            session_present,
            reason,
            properties: Properties::EMPTY,
        })
    };
    both_ways(Version::V3_1_1, "2002 01 00", connack(true, ReasonCode::Success));
    both_ways(
        Version::V3_1_1,
        "2002 00 05",
        connack(false, ReasonCode::NotAuthorized),
    );
    both_ways(Version::V5, "2003 00 00 00", connack(false, ReasonCode::Success));
    both_ways(
        Version::V5,
        "2003 00 86 00",
        connack(false, ReasonCode::BadUserNameOrPassword),
    );
}

#[test]
fn publish_of_each_quality() {
    let version = Version::V3_1_1;
    both_ways(
        version,
        "3005 0001 61 6869",
        Packet::Publish(publish(Delivery::AtMostOnce)),
    );
    both_ways(
        version,
        "3207 0001 61 000a 6869",
        Packet::Publish(publish(Delivery::AtLeastOnce(id(10)))),
    );
    let resent = Publish {
        dup: true,
        retain: true,
        ..publish(Delivery::ExactlyOnce(id(10)))
    };
    both_ways(version, "3d07 0001 61 000a 6869", Packet::Publish(resent));
    both_ways(
        Version::V5,
        "3006 0001 61 00 6869",
        Packet::Publish(publish(Delivery::AtMostOnce)),
    );
}

#[test]
fn publish_with_an_alias_in_place_of_the_topic() {
    let mut properties = PropertiesBuf::new();
    properties.push(Property::TopicAlias(7));
    let packet = Publish {
        topic: Text::EMPTY,
        properties: properties.as_properties(),
        ..publish(Delivery::AtMostOnce)
    };
    both_ways(Version::V5, "3008 0000 03 23 0007 6869", Packet::Publish(packet));
    assert_eq!(packet.packet_bytes(Version::V5), 10);
}

#[test]
fn acknowledgements_take_the_fewest_bytes() {
    let success = Acknowledgement::new(id(1), ReasonCode::Success);
    let refused = Acknowledgement::new(id(1), ReasonCode::NotAuthorized);
    let unknown = Acknowledgement::new(id(1), ReasonCode::PacketIdentifierNotFound);
    for version in Version::ALL {
        both_ways(version, "4002 0001", Packet::Puback(success));
        both_ways(version, "5002 0001", Packet::Pubrec(success));
        both_ways(version, "6202 0001", Packet::Pubrel(success));
        both_ways(version, "7002 0001", Packet::Pubcomp(success));
    }
    both_ways(Version::V5, "4003 0001 87", Packet::Puback(refused));
    both_ways(Version::V5, "7003 0001 92", Packet::Pubcomp(unknown));
    // A reason code and an empty property length may be there and mean the same.
    assert_eq!(
        decode(&hex("4004 0001 00 00"), Version::V5),
        Ok(Packet::Puback(success))
    );
    let mut properties = PropertiesBuf::new();
    properties.push(Property::ReasonString(text("no")));
    let explained = Acknowledgement {
        properties: properties.as_properties(),
        ..refused
    };
    both_ways(
        Version::V5,
        "4009 0001 87 05 1f 0002 6e6f",
        Packet::Puback(explained),
    );
}

#[test]
fn subscribe_and_suback() {
    let mut filters = FiltersBuf::default();
    filters
        .push(text("a"), SubscriptionOptions::of_qos(QoS::AtLeastOnce))
        .unwrap();
    let subscribe = Subscribe {
        packet_id: id(1),
        properties: Properties::EMPTY,
        filters: filters.as_filters(),
    };
    both_ways(
        Version::V3_1_1,
        "8206 0001 0001 61 01",
        Packet::Subscribe(subscribe),
    );
    let options = SubscriptionOptions {
        qos: QoS::ExactlyOnce,
        no_local: true,
        retain_as_published: true,
        retain_handling: RetainHandling::Never,
    };
    filters.push(text("#"), options).unwrap();
    let mut properties = PropertiesBuf::new();
    properties.push(Property::SubscriptionIdentifier(Variable(200)));
    let subscribe = Subscribe {
        packet_id: id(1),
        properties: properties.as_properties(),
        filters: filters.as_filters(),
    };
    both_ways(
        Version::V5,
        "820e 0001 03 0b c801 0001 61 01 0001 23 2e",
        Packet::Subscribe(subscribe),
    );
    let suback = |codes| Outcomes {
        packet_id: id(1),
        properties: Properties::EMPTY,
        codes,
    };
    both_ways(
        Version::V3_1_1,
        "9004 0001 02 80",
        Packet::Suback(suback(&[2, 0x80])),
    );
    both_ways(
        Version::V5,
        "9005 0001 00 02 8f",
        Packet::Suback(suback(&[2, 0x8f])),
    );
    // What 3.1.1 cannot say is a plain failure there.
    assert_eq!(
        emitted(&Packet::Suback(suback(&[0x8f])), Version::V3_1_1),
        hex("9003 0001 80")
    );
}

#[test]
fn unsubscribe_and_unsuback() {
    let mut topics = TopicsBuf::default();
    topics.push(text("a/+")).unwrap();
    let unsubscribe = Unsubscribe {
        packet_id: id(2),
        properties: Properties::EMPTY,
        topics: topics.as_topics(),
    };
    both_ways(
        Version::V3_1_1,
        "a207 0002 0003 612f2b",
        Packet::Unsubscribe(unsubscribe),
    );
    both_ways(
        Version::V5,
        "a208 0002 00 0003 612f2b",
        Packet::Unsubscribe(unsubscribe),
    );
    let unsuback = |codes| Outcomes {
        packet_id: id(2),
        properties: Properties::EMPTY,
        codes,
    };
    both_ways(Version::V3_1_1, "b002 0002", Packet::Unsuback(unsuback(&[])));
    both_ways(
        Version::V5,
        "b004 0002 00 11",
        Packet::Unsuback(unsuback(&[0x11])),
    );
    assert_eq!(
        emitted(&Packet::Unsuback(unsuback(&[0])), Version::V3_1_1),
        hex("b002 0002")
    );
}

#[test]
fn the_short_packets() {
    for version in Version::ALL {
        both_ways(version, "c000", Packet::Pingreq);
        both_ways(version, "d000", Packet::Pingresp);
        both_ways(
            version,
            "e000",
            Packet::Disconnect(Disconnect::new(ReasonCode::Success)),
        );
    }
    let with_will = Disconnect::new(ReasonCode::DisconnectWithWill);
    both_ways(Version::V5, "e001 04", Packet::Disconnect(with_will));
    let mut properties = PropertiesBuf::new();
    properties.push(Property::AuthenticationMethod(text("m")));
    let auth = Auth {
        reason: ReasonCode::ContinueAuthentication,
        properties: properties.as_properties(),
    };
    both_ways(Version::V5, "f006 18 04 15 0001 6d", Packet::Auth(auth));
}

#[test]
fn a_length_takes_one_byte_up_to_127_and_four_at_most() {
    let lengths = [
        (0, 1),
        (127, 1),
        (128, 2),
        (16_383, 2),
        (16_384, 3),
        (2_097_151, 3),
        (2_097_152, 4),
    ];
    for (remaining, bytes) in lengths {
        let payload = alloc::vec![0; remaining.max(3) - 3];
        let packet = Publish {
            payload: &payload,
            ..publish(Delivery::AtMostOnce)
        };
        let emitted = emitted(&Packet::Publish(packet), Version::V3_1_1);
        assert_eq!(emitted.len(), 1 + bytes + remaining.max(3));
        assert_eq!(packet.packet_bytes(Version::V3_1_1), emitted.len());
        assert_eq!(decode(&emitted, Version::V3_1_1), Ok(Packet::Publish(packet)));
    }
}

#[test]
fn malformed_packets_and_protocol_errors() {
    use DecodeError::{Malformed as M, Protocol as P};
    use Version::{V3_1_1, V5};
    let reason = |packet, code| M(Malformed::ReasonCode { packet, code });
    let flags = |packet, flags| M(Malformed::Flags { packet, flags });
    let truncated = |needed, left| M(Malformed::Truncated { needed, left });
    let table = [
        (V5, "0000", M(Malformed::PacketType(0))),
        (V3_1_1, "f000", M(Malformed::PacketType(15))),
        (V5, "c100", flags(PacketType::Pingreq, 1)),
        (V5, "6002 0001", flags(PacketType::Pubrel, 0)),
        (V5, "c001 00", M(Malformed::TrailingBytes(1))),
        (V5, "3606 0001 61 0001 00", M(Malformed::QoS)),
        (V5, "3804 0001 61 00", M(Malformed::DupOnQos0)),
        (V5, "3004 0001 2b 00", M(Malformed::TopicName)),
        (V5, "3003 0000 00", P(ProtocolError::EmptyTopic)),
        (V3_1_1, "3002 0000", P(ProtocolError::EmptyTopic)),
        (V5, "3004 0001 00 00", M(Malformed::NullCharacter)),
        (V5, "3004 0001 ff 00", M(Malformed::Utf8)),
        (V5, "3006 0003 eda080 00", M(Malformed::Utf8)),
        (V5, "3002 0005", truncated(5, 0)),
        (V5, "3206 0001 61 0000 00", P(ProtocolError::PacketId)),
        (V5, "3007 0001 61 03 23 0000", P(ProtocolError::TopicAlias)),
        (V5, "3006 0001 61 02 01 02", P(ProtocolError::PropertyValue(1))),
        (
            V5,
            "3008 0001 61 04 01 00 01 00",
            P(ProtocolError::PropertyRepeated(1)),
        ),
        (
            V5,
            "3009 0001 61 05 11 00000000",
            P(ProtocolError::PropertyNotAllowed(0x11)),
        ),
        (V5, "3006 0001 61 02 7f 00", M(Malformed::PropertyId(0x7f))),
        (
            V5,
            "3008 0001 61 04 08 0001 23",
            P(ProtocolError::PropertyValue(8)),
        ),
        (V5, "3004 0001 61 05", truncated(5, 0)),
        (V5, "8203 0001 00", P(ProtocolError::NoFilter)),
        (V5, "8207 0001 00 0001 61 03", M(Malformed::QoS)),
        (V5, "8207 0001 00 0001 61 30", P(ProtocolError::RetainHandling)),
        (V5, "8207 0001 00 0001 61 40", M(Malformed::ReservedBits(0x40))),
        (V3_1_1, "8206 0001 0001 61 04", M(Malformed::ReservedBits(4))),
        (V5, "8208 0001 00 0002 6123 00", M(Malformed::TopicFilter)),
        (V5, "8206 0001 00 0000 00", P(ProtocolError::EmptyTopic)),
        (
            V5,
            "8210 0001 00 000a 2473686172652f672f61 04",
            P(ProtocolError::NoLocalOnShared),
        ),
        (
            V5,
            "8209 0001 02 0b 00 0001 61 00",
            P(ProtocolError::PropertyValue(0x0b)),
        ),
        (V5, "a203 0001 00", P(ProtocolError::NoFilter)),
        (V5, "4003 0001 11", reason(PacketType::Puback, 0x11)),
        (V5, "e001 86", reason(PacketType::Disconnect, 0x86)),
        (V3_1_1, "e001 00", M(Malformed::TrailingBytes(1))),
        (V3_1_1, "2002 00 06", reason(PacketType::Connack, 6)),
        (V5, "2003 02 00 00", M(Malformed::ReservedBits(2))),
        (
            V5,
            "100d 0004 4d515454 05 03 003c 00 0000",
            M(Malformed::ReservedBits(3)),
        ),
        (
            V5,
            "100d 0004 4d515454 05 22 003c 00 0000",
            M(Malformed::ReservedBits(0x22)),
        ),
        (
            V5,
            "100d 0004 4d515450 05 02 003c 00 0000",
            M(Malformed::ProtocolName),
        ),
        (
            V5,
            "100c 0004 4d515454 06 02 003c 0000",
            DecodeError::UnsupportedVersion(6),
        ),
        (
            V5,
            "100e 0004 4d515454 04 42 003c 0000 0000",
            M(Malformed::ReservedBits(0x42)),
        ),
        (
            V5,
            "1010 0004 4d515454 05 02 003c 03 21 0000 0000",
            P(ProtocolError::PropertyValue(0x21)),
        ),
        (V5, "c08000", M(Malformed::VariableByteInteger)),
    ];
    for (version, bytes, error) in table {
        let bytes = hex(bytes);
        let outcome = framing::packet_len(&bytes, 1_000).and_then(|len| {
            assert_eq!(len, Some(bytes.len()), "{bytes:02x?} is one packet");
            Packet::decode(Frame::new(&bytes), version)
        });
        assert_eq!(outcome, Err(error), "{bytes:02x?}");
        assert!(!format!("{error}").ends_with('.'));
    }
}

#[test]
fn a_framer_refuses_what_is_too_large_before_it_holds_it() {
    let mut framer = Framer::new(100);
    let mut bytes: &[u8] = &[0x30, 0xff, 0xff, 0xff, 0x7f];
    let error = DecodeError::TooLarge {
        bytes: 268_435_460,
        limit: 100,
    };
    assert_eq!(framer.next(&mut bytes), Err(error));
    assert_eq!(framer.held(), 0);
    let mut bytes: &[u8] = &[0x30, 0xff, 0xff, 0xff, 0xff];
    assert_eq!(
        framer.next(&mut bytes),
        Err(Malformed::VariableByteInteger.into())
    );
}

#[test]
fn a_whole_packet_is_not_copied() {
    let bytes = [0xc0, 0, 0xd0];
    let mut left = &bytes[..];
    let mut framer = Framer::new(100);
    let frame = framer.next(&mut left).unwrap().unwrap();
    assert!(core::ptr::eq(frame.bytes(), &bytes[..2]));
    assert!(framer.next(&mut left).unwrap().is_none());
    assert_eq!(framer.held(), 1);
}

#[test]
fn every_reason_code_has_a_number_and_a_name_of_its_own() {
    for pair in ReasonCode::ALL.windows(2) {
        assert!(pair[0].code() < pair[1].code());
        assert_ne!(pair[0].name(), pair[1].name());
    }
    for reason in ReasonCode::ALL {
        assert_eq!(ReasonCode::from_code(reason.code()), Some(*reason));
    }
    assert_eq!(format!("{}", ReasonCode::NotAuthorized), "0x87 Not authorized");
}

proptest! {
    #[test]
    fn any_bytes_decode_or_fail_without_a_panic(bytes in any::<Vec<u8>>(), v5: bool) {
        let version = if v5 { Version::V5 } else { Version::V3_1_1 };
        let frame = Frame::new(&bytes);
        let _ = (frame.packet_type(), frame.flags(), frame.remaining_length(), frame.body());
        if let Ok(packet) = Packet::decode(frame, version) {
            let _ = Footprint::of(frame, &packet);
        }
    }

    #[test]
    fn what_decodes_is_emitted_and_decodes_to_the_same(
        kind in 1u8..16,
        flags in 0u8..16,
        body in proptest::collection::vec(prop_oneof![0u8..4, any::<u8>()], 0..24),
        v5: bool,
    ) {
        let version = if v5 { Version::V5 } else { Version::V3_1_1 };
        let mut bytes = alloc::vec![kind << 4 | flags, body.len() as u8];
        bytes.extend(&body);
        if let Ok(packet) = Packet::decode(Frame::new(&bytes), version) {
            let again = emitted(&packet, version);
            prop_assert!(again.len() <= bytes.len());
            prop_assert_eq!(Packet::decode(Frame::new(&again), version), Ok(packet));
        }
    }

    #[test]
    fn any_message_survives_both_ways(
        topic in "[a-z/$ é]{1,40}",
        payload in any::<Vec<u8>>(),
        qos in 0u8..3,
        packet_id in 1u16..,
        retain: bool,
        expiry in proptest::option::of(any::<u32>()),
        user in "[^\0]{0,20}",
    ) {
        let mut properties = PropertiesBuf::new();
        properties.extend(expiry.map(Property::MessageExpiryInterval));
        properties.push(Property::UserProperty(Text::new(&user).unwrap(), Text::new("v").unwrap()));
        let packet = Publish {
            dup: false,
            delivery: Delivery::new(QoS::from_bits(qos).unwrap(), id(packet_id)),
            retain,
            topic: Text::new(&topic).unwrap(),
            properties: properties.as_properties(),
            payload: &payload,
        };
        let bytes = emitted(&Packet::Publish(packet), Version::V5);
        prop_assert_eq!(packet.packet_bytes(Version::V5), bytes.len());
        prop_assert_eq!(decode(&bytes, Version::V5), Ok(Packet::Publish(packet)));
    }

    #[test]
    fn a_stream_gives_the_same_packets_in_any_chunks(
        payloads in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 1..6),
        cuts in proptest::collection::vec(1usize..50, 1..80),
    ) {
        let mut stream = Vec::new();
        for payload in &payloads {
            let packet = Publish { payload, ..publish(Delivery::AtMostOnce) };
            stream.extend(emitted(&Packet::Publish(packet), Version::V3_1_1));
        }
        let mut framer = Framer::new(1_000);
        let mut found = Vec::new();
        let mut rest = &stream[..];
        let mut cuts = cuts.iter().cycle();
        while !rest.is_empty() {
            let (mut chunk, after) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
            rest = after;
            while let Some(frame) = framer.next(&mut chunk).unwrap() {
                let Ok(Packet::Publish(publish)) = Packet::decode(frame, Version::V3_1_1) else {
                    panic!("a PUBLISH went in");
                };
                found.push(publish.payload.to_vec());
            }
            prop_assert!(framer.held() <= 1_000);
        }
        prop_assert_eq!(found, payloads);
    }
}
