use alloc::format;

use super::super::properties::Variable;
use super::*;
use crate::quality::QoS;

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
fn publish_with_a_topic_alias_instead_of_the_topic() {
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
    // A success code and an empty property length may be present, and mean the same.
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
    // MQTT 3.1.1 has one failure code only.
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
            Packet::Disconnect(Reason::new(ReasonCode::Success)),
        );
    }
    let with_will = Reason::new(ReasonCode::DisconnectWithWill);
    both_ways(Version::V5, "e001 04", Packet::Disconnect(with_will));
    let mut properties = PropertiesBuf::new();
    properties.push(Property::AuthenticationMethod(text("m")));
    let auth = Reason {
        code: ReasonCode::ContinueAuthentication,
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
