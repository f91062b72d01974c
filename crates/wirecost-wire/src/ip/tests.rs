use super::*;
use crate::bytes::hex;
use crate::tcp;
use alloc::string::ToString;
use alloc::vec::Vec;
use alloc::{format, vec};

use proptest::collection::vec;
use proptest::prelude::*;

const FROM: &str = "20 01 0d b8 00 00 00 00 00 00 00 00 00 00 00 01";
const TO: &str = "20 01 0d b8 00 00 00 00 00 00 00 00 00 00 00 02";

/// An IPv6 packet with this payload length, next header and payload, all in hex.
fn v6(length: &str, next: &str, payload: &str) -> Vec<u8> {
    hex(&format!("60 00 00 00 {length} {next} 40 {FROM} {TO} {payload}"))
}

#[test]
fn reads_an_ipv4_header() {
    let bytes = hex("45 00 00 73 00 00 40 00 40 11 b8 61 c0 a8 00 01 c0 a8 00 c7 12 34 16 33");
    let packet = Packet::new(&bytes).unwrap();
    assert_eq!(packet.version(), Version::V4);
    assert_eq!(packet.source().to_string(), "192.168.0.1");
    assert_eq!(packet.destination().to_string(), "192.168.0.199");
    assert_eq!(
        (packet.header_bytes(), packet.total_bytes(), packet.hop_limit()),
        (20, 0x73, 64)
    );
    assert_eq!(
        (packet.protocol(), packet.fragment(), packet.ports()),
        (Protocol::Udp, None, Some((0x1234, 0x1633)))
    );
    assert!(packet.is_truncated());
    let Header::V4(header) = packet.header() else {
        panic!("version 4");
    };
    assert!(header.is_checksum_valid() && header.dont_fragment());
    let mut emitted = Vec::new();
    header.repr().emit_header(0x73 - 20, &mut emitted).unwrap();
    assert_eq!(emitted, bytes[..20]);
}

#[test]
fn ipv4_options_are_header_and_trailing_bytes_are_ignored() {
    let bytes = hex("46 00 00 1a 00 07 20 b9 01 06 00 00 0a 00 00 01 0a 00 00 02 94 04 00 00 aa bb 00 00 00");
    let packet = Packet::new(&bytes).unwrap();
    assert_eq!(
        (packet.header_bytes(), packet.total_bytes(), packet.payload()),
        (24, 26, &[0xaa, 0xbb][..])
    );
    let fragment = Fragment {
        id: 7,
        offset_bytes: 0xb9 * 8,
        more: true,
    };
    assert_eq!(packet.fragment(), Some(fragment));
    assert_eq!((packet.has_upper_header(), packet.ports()), (false, None));
    assert!(!packet.is_truncated());
}

#[test]
fn follows_ipv6_extension_headers() {
    // Hop-by-Hop Options, Routing, Destination Options of 16 bytes, Authentication of 24 bytes, then UDP.
    let options = "2b 00 01 04 00 00 00 00  3c 00 04 00 00 00 00 00";
    let more = "33 01 01 0c 00 00 00 00 00 00 00 00 00 00 00 00";
    let authentication = "11 04 00 00 00 00 00 01 00 00 00 02 00 00 00 00 00 00 00 00 00 00 00 00";
    let bytes = v6(
        "00 40",
        "00",
        &format!("{options} {more} {authentication} 16 33 16 34 00 08 00 00"),
    );
    let packet = Packet::new(&bytes).unwrap();
    assert_eq!(
        (packet.header_bytes(), packet.total_bytes(), packet.protocol()),
        (40 + 56, 40 + 64, Protocol::Udp)
    );
    assert_eq!(
        (packet.payload().len(), packet.ports()),
        (8, Some((0x1633, 0x1634)))
    );
}

#[test]
fn knows_ipv6_fragments() {
    let fragment = |offset_bytes, more| {
        Some(Fragment {
            id: 0xdead_beef,
            offset_bytes,
            more,
        })
    };
    // RFC 8200 section 4.5: offset in the upper 13 bits, the flag in the lowest.
    let table = [
        ("00 00", None),
        ("00 01", fragment(0, true)),
        ("00 08", fragment(8, false)),
        ("ff f9", fragment(65_528, true)),
    ];
    for (offset_and_flag, expected) in table {
        let payload = format!("11 00 {offset_and_flag} de ad be ef 00 01 00 02");
        let bytes = v6("00 0c", "2c", &payload);
        let packet = Packet::new(&bytes).unwrap();
        assert_eq!(packet.fragment(), expected, "{offset_and_flag}");
        assert_eq!((packet.header_bytes(), packet.protocol()), (48, Protocol::Udp));
    }
}

#[test]
fn does_not_read_extension_headers_into_a_later_fragment() {
    // The Fragment header names Destination Options, but these bytes are from the middle of a datagram.
    let bytes = v6("00 0c", "2c", "3c 00 00 10 00 00 00 01 ff ff ff ff");
    let packet = Packet::new(&bytes).unwrap();
    assert_eq!(
        (packet.protocol(), packet.header_bytes()),
        (Protocol::Other(60), 48)
    );
    assert!(!packet.has_upper_header());
}

#[test]
fn refuses_with_what_was_expected_and_found() {
    let table = [
        (hex(""), "IP packet cut short: expected at least 1 B, got 0 B"),
        (hex("55"), "IP version must be 4 or 6, got 5"),
        (
            hex("45 00"),
            "IPv4 header cut short: expected at least 20 B, got 2 B",
        ),
        (
            [hex("44"), vec![0; 19]].concat(),
            "internet header length must be at least 20 bytes, got 16",
        ),
        (
            [hex("46 00 00 18"), vec![0; 16]].concat(),
            "IPv4 options cut short: expected at least 24 B, got 20 B",
        ),
        (
            [hex("45 00 00 13"), vec![0; 16]].concat(),
            "total length must be at least 20 bytes, got 19",
        ),
        (
            [hex("60"), vec![0; 38]].concat(),
            "IPv6 header cut short: expected at least 40 B, got 39 B",
        ),
        (
            v6("00 07", "00", "3a 00 00 00 00 00 00 00"),
            "IPv6 extension header cut short: expected at least 8 B, got 7 B",
        ),
        (
            v6("00 08", "00", "3a 01 00 00 00 00 00 00"),
            "IPv6 extension header cut short: expected at least 16 B, got 8 B",
        ),
    ];
    for (bytes, message) in table {
        assert_eq!(Packet::new(&bytes).unwrap_err().to_string(), message);
    }
}

#[test]
fn refuses_to_emit_what_the_length_field_cannot_hold() {
    let mut out = vec![1];
    for (from, to, most) in [("10.0.0.1", "10.0.0.2", 65_515), ("::1", "::2", 65_535)] {
        let addresses = Addresses::new(from.parse().unwrap(), to.parse().unwrap()).unwrap();
        let repr = Repr::new(addresses, Protocol::Udp);
        assert!(repr.emit_header(most, &mut Vec::new()).is_ok());
        assert!(repr.emit_header(most + 1, &mut out).is_err());
    }
    assert_eq!(out, [1]);
}

#[test]
fn a_pair_of_addresses_is_of_one_version() {
    let error = Addresses::new("10.0.0.1".parse().unwrap(), "::1".parse().unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "source and destination must have the same IP version, got 10.0.0.1 and ::1"
    );
}

fn any_repr() -> impl Strategy<Value = Repr> {
    let any_v4 = any::<(u32, u32, u8, u8, u8, u16, bool)>();
    let v4 = any_v4.prop_map(
        |(from, to, number, time_to_live, traffic_class, identification, df)| {
            Repr::V4(ipv4::Repr {
                source: from.into(),
                destination: to.into(),
                protocol: Protocol::from_number(number),
                time_to_live,
                traffic_class,
                identification,
                dont_fragment: df,
            })
        },
    );
    let any_v6 = (any::<(u128, u128, u8, u8)>(), 59u8..=135, 0u32..1 << 20);
    let v6 = any_v6.prop_map(|((from, to, hop_limit, traffic_class), number, flow_label)| {
        // Above the extension headers 44, 51, 60 and 135.
        let number = number.clamp(61, 134);
        Repr::V6(ipv6::Repr {
            source: from.into(),
            destination: to.into(),
            protocol: Protocol::from_number(number),
            hop_limit,
            traffic_class,
            flow_label,
        })
    });
    prop_oneof![v4, v6]
}

proptest! {
    #[test]
    fn a_repr_survives_emission(repr in any_repr(), payload in vec(any::<u8>(), 0..100)) {
        let mut bytes = Vec::new();
        repr.emit(&payload, &mut bytes).unwrap();
        let packet = Packet::new(&bytes).unwrap();
        let read = match packet.header() {
            Header::V4(header) => {
                prop_assert!(header.is_checksum_valid());
                Repr::V4(header.repr())
            }
            Header::V6(header) => Repr::V6(header.repr()),
        };
        prop_assert_eq!(read, repr);
        prop_assert_eq!(packet.payload(), payload);
        prop_assert_eq!((packet.total_bytes(), packet.fragment()), (bytes.len(), None));
    }

    #[test]
    fn a_packet_is_as_long_as_it_says_or_refused(
        repr in any_repr(),
        len in prop_oneof![0usize..200, 65_400usize..65_700, Just(200_000)],
    ) {
        let payload = alloc::vec![7; len];
        let most = match repr {
            Repr::V4(_) => 65_535 - 20,
            Repr::V6(_) => 65_535,
        };
        let mut bytes = Vec::new();
        let emitted = repr.emit(&payload, &mut bytes);
        prop_assert_eq!(emitted.is_ok(), len <= most);
        if emitted.is_err() {
            prop_assert!(bytes.is_empty());
            return Ok(());
        }
        let packet = Packet::new(&bytes).unwrap();
        prop_assert_eq!((packet.total_bytes(), packet.payload()), (bytes.len(), &payload[..]));
        let mut datagram = Vec::new();
        let ports = crate::udp::Repr { source_port: 1, destination_port: 2 };
        let emitted = ports.emit(&repr.addresses(), &payload, &mut datagram);
        prop_assert_eq!(emitted.is_ok(), len <= 65_535 - 8);
        if emitted.is_ok() {
            let read = crate::udp::Datagram::new(&datagram).unwrap();
            prop_assert_eq!((read.payload(), read.is_checksum_valid(&repr.addresses())), (&payload[..], true));
        }
    }

    #[test]
    fn a_fragment_says_its_place_or_is_refused(
        repr in any_repr(),
        offset_bytes in prop_oneof![0u32..100, (0u32..9_000).prop_map(|units| units * 8), any::<u32>()],
        len in 0usize..2_000,
        (id, more) in (any::<u16>(), any::<bool>()),
    ) {
        let fragment = Fragment { id: id.into(), offset_bytes, more };
        let payload = alloc::vec![7; len];
        let mut bytes = Vec::new();
        let emitted = repr.emit_fragment(fragment, &payload, &mut bytes);
        let fits = offset_bytes % 8 == 0 && offset_bytes as usize + len <= 65_535;
        prop_assert_eq!(emitted.is_ok(), fits);
        if fits {
            let packet = Packet::new(&bytes).unwrap();
            let expected = (more || offset_bytes > 0).then_some(fragment);
            prop_assert_eq!((packet.fragment(), packet.payload()), (expected, &payload[..]));
        } else {
            prop_assert!(bytes.is_empty());
        }
    }
}

#[test]
fn a_length_of_zero_is_that_of_the_frame() {
    let segment = tcp::Repr {
        source_port: 1,
        destination_port: 2,
        sequence_number: 3,
        acknowledgment_number: 0,
        flags: tcp::Flags::PSH,
        window: 9,
        urgent_pointer: 0,
        options: tcp::Options::default(),
    };
    for (source, destination, length_at) in [("10.0.0.1", "10.0.0.2", 2), ("2001:db8::1", "2001:db8::2", 4)] {
        let addresses = Addresses::new(source.parse().unwrap(), destination.parse().unwrap()).unwrap();
        let mut bytes = Vec::new();
        let content = [7; 3_000];
        Repr::new(addresses, Protocol::Tcp)
            .emit_tcp(&segment, &content, &mut bytes)
            .unwrap();
        let len = bytes.len();
        let with = Packet::captured(&bytes, len + 4).unwrap();
        assert_eq!(
            with.total_bytes(),
            len,
            "the length field counts, not the padding"
        );
        bytes[length_at..length_at + 2].fill(0);
        assert!(lacks_length(&bytes, len));
        // Cut to a snap length, of a frame with more bytes than the field could hold.
        for (captured, link_bytes) in [(len, len), (100, len), (len, 100_000)] {
            let packet = Packet::captured(&bytes[..captured], link_bytes).unwrap();
            assert_eq!(packet.total_bytes(), link_bytes, "{source}");
            assert_eq!(packet.ports(), Some((1, 2)), "{source}");
            assert_eq!(packet.payload().len(), captured - packet.header_bytes());
        }
        // A packet of IPv6 without content has padding alone behind its header.
        assert_eq!(lacks_length(&bytes, 46), length_at == 2);
    }
}
