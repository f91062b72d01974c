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
    fn texts_and_data_are_framed_as_long_as_they_are_or_refused(
        len in prop_oneof![0usize..300, 65_500usize..65_600, 0usize..200_000],
    ) {
        let bytes = alloc::vec![b'x'; len];
        let text = core::str::from_utf8(&bytes).unwrap();
        let (text, data) = (Text::new(text), Binary::new(&bytes));
        prop_assert_eq!((text.is_ok(), data.is_ok()), (len <= 65_535, len <= 65_535));
        let (Ok(text), Ok(data)) = (text, data) else {
            return Ok(());
        };
        let mut properties = PropertiesBuf::new();
        properties.push(Property::UserProperty(text, text));
        properties.push(Property::CorrelationData(data));
        let packet = Packet::Publish(Publish {
            properties: properties.as_properties(),
            ..publish(Delivery::AtMostOnce)
        });
        let bytes = emitted(&packet, Version::V5);
        prop_assert_eq!(decode(&bytes, Version::V5), Ok(packet));
    }

    #[test]
    fn a_packet_is_framed_as_long_as_it_is_or_refused(
        beyond in prop_oneof![-40isize..40, Just(-268_000_000isize), 1_000_000isize..2_000_000],
        qos in 0u8..3,
        v5: bool,
    ) {
        // The memory of a payload that is refused is never touched.
        let version = if v5 { Version::V5 } else { Version::V3_1_1 };
        let remaining = (MAXIMUM_VARIABLE_BYTE_INTEGER as usize).saturating_add_signed(beyond);
        let fields = 3 + 2 * usize::from(qos > 0) + usize::from(v5);
        let payload = alloc::vec![0; remaining - fields];
        let packet = Publish {
            payload: &payload,
            topic: Text::new("t").unwrap(),
            ..publish(Delivery::new(QoS::from_bits(qos).unwrap(), id(1)))
        };
        let mut head = Vec::new();
        let outcome = packet.put_head(version, &mut head);
        if remaining > MAXIMUM_VARIABLE_BYTE_INTEGER as usize {
            prop_assert_eq!(outcome, Err(TooLong(remaining)));
            let mut out = wirecost_proto::Buffer::new();
            prop_assert_eq!(Packet::Publish(packet).emit(version, &mut out), Err(TooLong(remaining)));
            prop_assert!(head.is_empty() && out.is_empty());
        } else {
            prop_assert_eq!(outcome, Ok(()));
            let (len, bytes) = read_remaining(&head);
            prop_assert_eq!(len, remaining);
            prop_assert_eq!(head.len() - bytes + payload.len(), remaining);
        }
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

/// The remaining length of a packet that begins so, and the bytes of its fixed header.
fn read_remaining(head: &[u8]) -> (usize, usize) {
    let bytes = 1 + head[1..].iter().take_while(|byte| **byte >= 0x80).count();
    let groups = head[1..=bytes].iter().rev();
    let len = groups.fold(0, |len, byte| len << 7 | usize::from(byte & 0x7f));
    (len, bytes + 1)
}

#[test]
fn a_body_that_cannot_be_framed_leaves_nothing_behind() {
    let most = MAXIMUM_VARIABLE_BYTE_INTEGER as usize;
    let mut out = alloc::vec![7];
    let long = |len: usize| move |body: &mut Vec<u8>| body.resize(body.len() + len, 0);
    assert_eq!(
        writer::put_framed(&mut out, 0x82, long(most + 1)),
        Err(TooLong(most + 1))
    );
    assert_eq!(out, [7]);
    assert_eq!(writer::put_framed(&mut out, 0x82, long(most)), Ok(()));
    assert_eq!(out.len(), 1 + 5 + most);
    assert_eq!(out[..7], [7, 0x82, 0xff, 0xff, 0xff, 0x7f, 0]);
}
