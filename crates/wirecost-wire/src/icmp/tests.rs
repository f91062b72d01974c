use super::*;
use crate::bytes::hex;
use proptest::collection::vec;
use proptest::prelude::*;

fn addresses(version: Version) -> Addresses {
    let (from, to) = match version {
        Version::V4 => ("10.0.0.1", "10.0.0.2"),
        Version::V6 => ("fe80::1", "fe80::2"),
    };
    Addresses::new(from.parse().unwrap(), to.parse().unwrap()).unwrap()
}

#[test]
fn reads_and_emits_both_versions() {
    let echo = Echo {
        id: 0x1234,
        sequence_number: 7,
        payload: b"ab",
    };
    let quoted = &[0x45, 0x00];
    let table = [
        (
            Version::V4,
            "08 00 00 00 12 34 00 07 61 62",
            Repr::EchoRequest(echo),
        ),
        (
            Version::V4,
            "00 00 00 00 12 34 00 07 61 62",
            Repr::EchoReply(echo),
        ),
        (
            Version::V6,
            "80 00 00 00 12 34 00 07 61 62",
            Repr::EchoRequest(echo),
        ),
        (
            Version::V6,
            "81 00 00 00 12 34 00 07 61 62",
            Repr::EchoReply(echo),
        ),
        (
            Version::V4,
            "03 03 00 00 00 00 00 00 45 00",
            Repr::DestinationUnreachable { code: 3, quoted },
        ),
        (
            Version::V6,
            "01 04 00 00 00 00 00 00 45 00",
            Repr::DestinationUnreachable { code: 4, quoted },
        ),
        (
            Version::V4,
            "03 04 00 00 00 00 05 00 45 00",
            Repr::PacketTooBig { mtu: 1280, quoted },
        ),
        (
            Version::V6,
            "02 00 00 00 00 01 05 00 45 00",
            Repr::PacketTooBig { mtu: 66_816, quoted },
        ),
        (
            Version::V4,
            "0b 01 00 00 00 11 00 00 45 00",
            Repr::Other {
                kind: 11,
                code: 1,
                word: 0x0011_0000,
                body: quoted,
            },
        ),
    ];
    for (version, text, repr) in table {
        let bytes = hex(text);
        assert_eq!(Message::new(version, &bytes).unwrap().repr(), repr, "{text}");
        let mut emitted = Vec::new();
        repr.emit(&addresses(version), &mut emitted);
        assert_eq!(
            (&emitted[..2], &emitted[4..]),
            (&bytes[..2], &bytes[4..]),
            "{text}"
        );
        let message = Message::new(version, &emitted).unwrap();
        assert!(message.is_checksum_valid(&addresses(version)), "{text}");
    }
}

#[test]
fn only_icmpv6_covers_the_addresses() {
    for (version, covered) in [(Version::V4, false), (Version::V6, true)] {
        let mut bytes = Vec::new();
        let repr = Repr::DestinationUnreachable { code: 0, quoted: &[] };
        repr.emit(&addresses(version), &mut bytes);
        let others = Addresses::new("fe80::1".parse().unwrap(), "fe80::3".parse().unwrap()).unwrap();
        let message = Message::new(version, &bytes).unwrap();
        assert_eq!(message.is_checksum_valid(&others), !covered);
    }
}

#[test]
fn an_mtu_above_16_bits_saturates_in_ipv4() {
    let mut bytes = Vec::new();
    let repr = Repr::PacketTooBig {
        mtu: 100_000,
        quoted: &[],
    };
    repr.emit(&addresses(Version::V4), &mut bytes);
    assert_eq!(bytes[4..], [0, 0, 0xff, 0xff]);
}

proptest! {
    #[test]
    fn a_message_survives_emission(mut bytes in vec(any::<u8>(), 8..60), is_v6 in any::<bool>()) {
        // Fields that an echo and an unreachable message do not use come back as zero.
        bytes[1] = if matches!(bytes[0], 0 | 8 | 128 | 129) { 0 } else { bytes[1] };
        let version = if is_v6 { Version::V6 } else { Version::V4 };
        let repr = Message::new(version, &bytes).unwrap().repr();
        let mut emitted = Vec::new();
        repr.emit(&addresses(version), &mut emitted);
        prop_assert_eq!(Message::new(version, &emitted).unwrap().repr(), repr);
        prop_assert_eq!((emitted[0], emitted[1], emitted.len()), (bytes[0], bytes[1], bytes.len()));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..20)) {
        prop_assert_eq!(Message::new(Version::V4, &bytes).is_ok(), bytes.len() >= HEADER_BYTES);
    }
}
