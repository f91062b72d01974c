use super::*;
use crate::bytes::hex;
use alloc::string::ToString;
use alloc::vec::Vec;
use alloc::{format, vec};

use proptest::collection::vec;
use proptest::prelude::*;

fn addresses() -> Addresses {
    Addresses::new("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap()).unwrap()
}

/// The header of a segment with these options, in hex.
fn with_options(options: &str) -> Vec<u8> {
    let options = hex(options);
    let offset = ((20 + options.len()) / 4) << 4;
    let fixed = format!("c0 00 07 5b 00 00 00 01 00 00 00 02 {offset:02x} 12 ff ff 00 00 00 03");
    [hex(&fixed), options].concat()
}

#[test]
fn reads_a_segment() {
    let bytes = [with_options("01 01 01 00"), hex("aa bb")].concat();
    let segment = Segment::new(&bytes).unwrap();
    assert_eq!(
        (
            segment.source_port(),
            segment.destination_port(),
            segment.header_bytes()
        ),
        (49_152, 1883, 24)
    );
    assert_eq!(
        (segment.sequence_number(), segment.acknowledgment_number()),
        (1, 2)
    );
    assert_eq!((segment.window(), segment.urgent_pointer()), (65_535, 3));
    assert_eq!(segment.flags(), Flags::SYN | Flags::ACK);
    assert_eq!(segment.flags().to_string(), "SYN,ACK");
    assert_eq!(
        (segment.payload(), segment.sequence_length()),
        (&[0xaa, 0xbb][..], 3)
    );
}

#[test]
fn reads_and_emits_every_option() {
    let blocks = [SackBlock { left: 1, right: 2 }, SackBlock { left: 5, right: 9 }];
    let cookie = [0xca, 0xfe, 0xba, 0xbe];
    let table = [
        ("02 04 05 b4", TcpOption::MaximumSegmentSize(1460)),
        ("03 03 07", TcpOption::WindowScale(7)),
        ("04 02", TcpOption::SackPermitted),
        (
            "05 12 00 00 00 01 00 00 00 02 00 00 00 05 00 00 00 09",
            TcpOption::Sack(SackBlocks::new(&blocks)),
        ),
        (
            "08 0a 00 00 00 11 00 00 00 22",
            TcpOption::Timestamps {
                value: 0x11,
                echo: 0x22,
            },
        ),
        ("22 02", TcpOption::FastOpenCookie(&[])),
        ("22 06 ca fe ba be", TcpOption::FastOpenCookie(&cookie)),
        (
            "1e 04 ca fe",
            TcpOption::Unknown {
                kind: 30,
                bytes: &cookie[..2],
            },
        ),
        // Known kinds with lengths that they cannot have.
        ("02 03 05", TcpOption::Unknown { kind: 2, bytes: &[5] }),
        (
            "22 05 ca fe ba",
            TcpOption::Unknown {
                kind: 34,
                bytes: &cookie[..3],
            },
        ),
    ];
    for (text, option) in table {
        let options = Options::new(&[option]).unwrap();
        let wire = hex(text);
        assert_eq!(options.padded()[..wire.len()], wire, "{text}");
        let mut bytes = [with_options(""), options.padded().to_vec()].concat();
        bytes[12] = (bytes.len() as u8 / 4) << 4;
        let first = Segment::new(&bytes).unwrap().options().next();
        assert_eq!(first, Some(Ok(option)), "{text}");
    }
}

#[test]
fn the_list_ends_where_it_says() {
    let bytes = with_options("01 04 02 00 02 04 05 b4");
    let options: Vec<_> = Segment::new(&bytes)
        .unwrap()
        .options()
        .map(Result::unwrap)
        .collect();
    assert_eq!(
        options,
        [
            TcpOption::NoOperation,
            TcpOption::SackPermitted,
            TcpOption::EndOfList
        ]
    );
}

#[test]
fn a_wrong_option_length_ends_the_list_with_the_reason() {
    let table = [
        ("02 00 05 b4", "TCP option length must be at least 2 bytes, got 0"),
        ("02 01 05 b4", "TCP option length must be at least 2 bytes, got 1"),
        (
            "02 05 05 b4",
            "TCP option cut short: expected at least 5 B, got 4 B",
        ),
        ("01 01 01 02", "TCP option length must be at least 2 bytes, got 0"),
    ];
    for (text, message) in table {
        let bytes = with_options(text);
        let options: Vec<_> = Segment::new(&bytes).unwrap().options().collect();
        let error = options.last().copied().and_then(Result::err).unwrap();
        assert_eq!(error.to_string(), message, "{text}");
    }
}

#[test]
fn refuses_with_what_was_expected_and_found() {
    let table = [
        (
            vec![0; 19],
            "TCP header cut short: expected at least 20 B, got 19 B",
        ),
        (vec![0; 20], "TCP data offset must be at least 20 bytes, got 0"),
        (
            [vec![0; 12], hex("60"), vec![0; 7]].concat(),
            "TCP options cut short: expected at least 24 B, got 20 B",
        ),
    ];
    for (bytes, message) in table {
        assert_eq!(Segment::new(&bytes).unwrap_err().to_string(), message);
    }
}

#[test]
fn options_above_40_bytes_are_refused_and_leave_the_rest() {
    let timestamps = TcpOption::Timestamps { value: 1, echo: 2 };
    let mut options = Options::new(&[timestamps; 4]).unwrap();
    let before = options;
    let error = options.push(&TcpOption::NoOperation).unwrap_err();
    assert_eq!(error.to_string(), "TCP options must be at most 40 bytes, got 41");
    let long = [0; 300];
    let error = options.push(&TcpOption::FastOpenCookie(&long)).unwrap_err();
    assert_eq!(error.to_string(), "TCP options must be at most 40 bytes, got 342");
    assert_eq!(options, before);
    let header_bytes = Repr {
        options,
        ..Repr::default()
    }
    .header_bytes();
    assert_eq!(header_bytes, 60);
}

#[test]
fn a_sack_option_holds_four_blocks() {
    let blocks = [SackBlock { left: 1, right: 2 }; 5];
    assert_eq!(SackBlocks::new(&blocks).iter().count(), 4);
}

proptest! {
    #[test]
    fn a_repr_survives_emission(
        (source_port, destination_port, window, urgent_pointer) in any::<(u16, u16, u16, u16)>(),
        (sequence_number, acknowledgment_number, flags) in any::<(u32, u32, u8)>(),
        options in vec(any::<u8>(), 0..=40),
        payload in vec(any::<u8>(), 0..100),
        flip in any::<proptest::sample::Index>(),
    ) {
        let repr = Repr {
            source_port,
            destination_port,
            sequence_number,
            acknowledgment_number,
            flags: Flags::from_bits(flags),
            window,
            urgent_pointer,
            options: Options::from_wire(&options),
        };
        let mut bytes = Vec::new();
        repr.emit(&addresses(), &payload, &mut bytes);
        let segment = Segment::new(&bytes).unwrap();
        prop_assert_eq!(segment.repr(), repr);
        prop_assert_eq!(segment.payload(), payload);
        prop_assert!(segment.is_checksum_valid(&addresses()));
        let bit = flip.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        let flipped = Segment::new(&bytes).is_ok_and(|segment| segment.is_checksum_valid(&addresses()));
        prop_assert!(!flipped);
    }

    #[test]
    fn options_read_are_options_emitted(bytes in vec(any::<u8>(), 0..=10)) {
        let padded = [bytes.as_slice(), &[0; 4][..bytes.len().next_multiple_of(4) - bytes.len()]].concat();
        let read: Result<Vec<_>, _> = options::Iter::new(&padded).collect();
        if let Ok(read) = read {
            let emitted = Options::new(&read).unwrap();
            let again: Vec<_> = options::Iter::new(emitted.padded()).map(Result::unwrap).collect();
            prop_assert_eq!(&again[..read.len()], read);
        }
    }
}
