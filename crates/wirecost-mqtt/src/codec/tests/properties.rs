use proptest::prelude::*;

use super::*;
use crate::quality::QoS;

proptest! {
    #[test]
        fn decoded_packets_are_emitted_and_decode_to_the_same(
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
