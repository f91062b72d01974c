use super::*;
use crate::bytes::hex;
use alloc::format;
use alloc::string::ToString;

/// Version 2.4, no time zone, snap length 65,535, link type 101; then a packet of 2 bytes, 9 on the link.
const BIG: [&str; 2] = [
    "0002 0004 00000000 00000000 0000ffff 00000065",
    "00000005 00000007 00000002 00000009 aabb",
];
const LITTLE: [&str; 2] = [
    "0200 0400 00000000 00000000 ffff0000 65000000",
    "05000000 07000000 02000000 09000000 aabb",
];

#[test]
fn reads_both_byte_orders_and_both_resolutions() {
    let table = [
        ("a1b2c3d4", BIG, 5_000_007_000),
        ("a1b23c4d", BIG, 5_000_000_007),
        ("d4c3b2a1", LITTLE, 5_000_007_000),
        ("4d3cb2a1", LITTLE, 5_000_000_007),
    ];
    for (magic, [header, packet], timestamp_ns) in table {
        let file = hex(&format!("{magic} {header} {packet}"));
        let mut reader = Reader::new(file.as_slice()).unwrap();
        assert_eq!(reader.link_type(), 101, "{magic}");
        let expected = Packet {
            timestamp_ns: Some(timestamp_ns),
            link_type: 101,
            bytes: &[0xaa, 0xbb],
            original_bytes: 9,
            interface: 0,
            lost_before: 0,
        };
        assert_eq!(reader.packet().unwrap(), Some(expected), "{magic}");
        assert_eq!(reader.packet().unwrap(), None, "{magic}");
    }
}

#[test]
fn a_truncated_file_is_an_error_unless_it_ends_after_a_packet() {
    let file = hex(&format!("a1b2c3d4 {} {}", BIG[0], BIG[1]));
    for end in 0..file.len() {
        let mut packets = 0;
        let outcome = Reader::new(&file[..end]).and_then(|mut reader| {
            while reader.packet()?.is_some() {
                packets += 1;
            }
            Ok(())
        });
        assert_eq!(outcome.is_ok(), end == FILE_HEADER_BYTES, "{end}");
        assert_eq!(packets, 0);
    }
}

#[test]
fn absurd_lengths_are_refused() {
    let file = hex(&format!(
        "a1b2c3d4 {} 00000005 00000007 ffffffff 00000009",
        BIG[0]
    ));
    let mut reader = Reader::new(file.as_slice()).unwrap();
    let error = reader.packet().unwrap_err().to_string();
    assert_eq!(error, "packet must have at most 134217728 bytes, got 4294967295");
}
