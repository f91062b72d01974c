use alloc::format;

use super::*;

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
fn a_framer_refuses_a_large_packet_before_it_stores_it() {
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
