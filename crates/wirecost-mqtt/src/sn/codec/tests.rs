use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

fn bytes(message: &Message<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    message.emit(&mut out).expect("a message that fits");
    out
}

#[test]
fn messages_have_the_bytes_of_the_specification() {
    let publish = Publish {
        dup: false,
        quality: Quality::AtLeastOnce,
        retain: false,
        topic: Topic::Registered(1),
        message_id: 2,
        payload: b"hi",
    };
    let without_connection = Publish {
        quality: Quality::Connectionless,
        topic: Topic::Short(*b"ab"),
        message_id: 0,
        ..publish
    };
    let connect = Connect {
        will: false,
        clean_session: true,
        duration: 60,
        client_id: "wc-1",
    };
    let register = Message::Register {
        topic_id: 0,
        message_id: 1,
        name: "test",
    };
    let regack = Message::Regack {
        topic_id: 1,
        message_id: 1,
        code: ReturnCode::ACCEPTED,
    };
    let puback = Message::Puback {
        topic: [0, 1],
        message_id: 2,
        code: ReturnCode::ACCEPTED,
    };
    let table: [(Message<'_>, &[u8]); 10] = [
        (Message::Connect(connect), b"\x0a\x04\x04\x01\x00\x3cwc-1"),
        (Message::Connack(ReturnCode::ACCEPTED), b"\x03\x05\x00"),
        (register, b"\x0a\x0a\x00\x00\x00\x01test"),
        (regack, b"\x07\x0b\x00\x01\x00\x01\x00"),
        (Message::Publish(publish), b"\x09\x0c\x20\x00\x01\x00\x02hi"),
        (Message::Publish(without_connection), b"\x09\x0c\x62ab\x00\x00hi"),
        (puback, b"\x07\x0d\x00\x01\x00\x02\x00"),
        (Message::Numbered(MessageType::Pubrel, 2), b"\x04\x10\x00\x02"),
        (Message::Pingreq(""), b"\x02\x16"),
        (Message::Disconnect(Some(30)), b"\x04\x18\x00\x1e"),
    ];
    for (message, expected) in table {
        assert_eq!(bytes(&message), expected, "{message:?}");
        assert_eq!(Message::parse(expected), Ok(message));
    }
}

#[test]
fn the_length_field_has_three_bytes_from_256_on() {
    for (payload, header) in [(248, 7), (249, 9), (1_000, 9)] {
        let payload = alloc::vec![7; payload];
        let publish = Message::Publish(Publish {
            dup: true,
            quality: Quality::AtMostOnce,
            retain: true,
            topic: Topic::Predefined(1),
            message_id: 0,
            payload: &payload,
        });
        let bytes = bytes(&publish);
        assert_eq!(bytes.len(), payload.len() + header);
        assert_eq!(Message::parse(&bytes), Ok(publish));
    }
}

#[test]
fn a_datagram_that_is_not_one_message_is_refused() {
    for (datagram, error) in [
        (&b""[..], DecodeError::Length { said: 0, is: 0 }),
        (b"\x02", DecodeError::Length { said: 2, is: 1 }),
        (b"\x01\x00", DecodeError::Length { said: 1, is: 2 }),
        (b"\x03\x17", DecodeError::Length { said: 3, is: 2 }),
        (b"\x02\x17\x00", DecodeError::Length { said: 2, is: 3 }),
        (b"\x02\x03", DecodeError::Type(3)),
        (b"\x02\x05", DecodeError::Fields("CONNACK")),
        (b"\x03\x17\x00", DecodeError::Fields("PINGRESP")),
        (b"\x07\x0c\x03\x00\x01\x00\x00", DecodeError::TopicIdType),
        (b"\x03\x16\xff", DecodeError::Text("PINGREQ")),
    ] {
        assert_eq!(Message::parse(datagram), Err(error), "{datagram:?}");
    }
}

proptest! {
    #[test]
    fn what_parses_is_emitted_with_the_same_meaning(datagram in prop::collection::vec(any::<u8>(), 0..300), kind: u8) {
        let mut datagram = datagram;
        // Most random datagrams have a wrong length.
        if datagram.len() >= 2 {
            datagram[1] = kind % 0x20;
        }
        if let (Ok(len), Some(first)) = (u8::try_from(datagram.len()), datagram.first_mut()) {
            *first = len;
        }
        if let Ok(message) = Message::parse(&datagram) {
            let again = bytes(&message);
            prop_assert_eq!(again.len(), message.size());
            prop_assert_eq!(Message::parse(&again), Ok(message));
        }
    }

    #[test]
    fn a_message_is_framed_as_long_as_it_is_or_refused(
        len in prop_oneof![240usize..270, 65_500usize..65_600, 0usize..200_000],
        has_name: bool,
    ) {
        let (name, payload) = ("n".repeat(len), vec![0; len]);
        let message = match has_name {
            true => Message::Register { topic_id: 0, message_id: 1, name: &name },
            false => Message::Publish(Publish {
                dup: false,
                quality: Quality::AtLeastOnce,
                retain: false,
                topic: Topic::Registered(1),
                message_id: 1,
                payload: &payload,
            }),
        };
        let mut out = Vec::new();
        match message.emit(&mut out) {
            Ok(()) => prop_assert_eq!(Message::parse(&out), Ok(message)),
            Err(TooLong(size)) => {
                prop_assert_eq!((size, out.len()), (message.size(), 0));
                prop_assert!(size > 65_535);
            }
        }
    }

    #[test]
    fn every_publish_survives_emit_and_parse(
        payload in prop::collection::vec(any::<u8>(), 0..600),
        number in -1i8..=2,
        (dup, retain) in any::<(bool, bool)>(),
        (field, kind, message_id) in (any::<[u8; 2]>(), 0u8..3, any::<u16>()),
    ) {
        let publish = Message::Publish(Publish {
            dup,
            quality: Quality::from_number(number).expect("a quality"),
            retain,
            topic: Topic::decode(kind, field).expect("a kind"),
            message_id,
            payload: &payload,
        });
        let bytes = bytes(&publish);
        prop_assert_eq!(bytes.len(), publish.size());
        prop_assert_eq!(Message::parse(&bytes), Ok(publish));
    }
}
