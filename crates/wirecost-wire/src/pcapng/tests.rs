use super::*;
use crate::bytes::hex;
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};

use proptest::collection::vec;
use proptest::prelude::*;

fn blocks(file: &[u8]) -> Vec<Block> {
    Reader::new(file).map(Result::unwrap).collect()
}

fn packets(file: &[u8]) -> Vec<Packet> {
    let packet = |block| match block {
        Block::Packet(packet) => Some(packet),
        _ => None,
    };
    blocks(file).into_iter().filter_map(packet).collect()
}

#[test]
fn what_is_written_is_read_and_the_secrets_stand_before_the_packets() {
    let capture = Capture {
        hardware: Some("a board"),
        os: Some("an OS"),
        user_application: Some("wirecost"),
        comment: Some("three words: über"),
        tls_key_log: Some(b"CLIENT_RANDOM 00 11\n"),
        interface: Some("link"),
    };
    let mut writer = Writer::new(Vec::new(), &capture).unwrap();
    writer
        .packet(Way::Inbound, u64::MAX, &[0x45, 1, 2], Some("lost"))
        .unwrap();
    writer.packet(Way::Unknown, 42, &[], None).unwrap();
    let file = writer.finish().unwrap();
    let blocks = blocks(&file);
    let text = |text: &str| Some(text.to_owned());
    let section = Section {
        hardware: text("a board"),
        os: text("an OS"),
        user_application: text("wirecost"),
        comment: text("three words: über"),
    };
    assert_eq!(blocks[0], Block::Section(section));
    let Block::Interface(link) = &blocks[1] else {
        panic!("{:?}", blocks[1]);
    };
    assert_eq!(
        (link.link_type, link.snap_bytes, link.name.as_deref()),
        (LINK_TYPE_RAW, 0, Some("link"))
    );
    let secrets = Secrets {
        secrets_type: SECRETS_TLS_KEY_LOG,
        data: b"CLIENT_RANDOM 00 11\n".to_vec(),
    };
    assert_eq!(blocks[2], Block::Secrets(secrets));
    let lost = Packet {
        interface: 0,
        way: Way::Inbound,
        timestamp_ns: Some(u64::MAX),
        bytes: vec![0x45, 1, 2],
        original_bytes: 3,
        comment: text("lost"),
    };
    assert_eq!(blocks[3], Block::Packet(lost));
    assert_eq!(packets(&file)[1].timestamp_ns, Some(42));
    assert_eq!(blocks.len(), 5);
    assert_eq!(packets(&file)[1].way, Way::Unknown);
}

const BIG: &str = "0a0d0d0a 0000001c 1a2b3c4d 0001 0000 ffffffffffffffff 0000001c";

#[test]
fn timestamps_are_nanoseconds_whatever_the_resolution() {
    let table = [
        // No options: microseconds.
        ("", 5, 5_000),
        ("0009 0001 09 000000", 5, 5),
        ("0009 0001 00 000000", 5, 5_000_000_000),
        ("0009 0001 0c 000000", 5_999, 5),
        ("0009 0001 81 000000", 5, 2_500_000_000),
        ("0009 0001 fe 000000", 5, 0),
        ("0009 0001 7f 000000", 5, 0),
        // An offset of 2 s, and one of -1 s that reaches before 1970.
        ("000e 0008 00000000 00000002", 5, 2_000_005_000),
        ("000e 0008 ffffffff ffffffff", 5, 0),
    ];
    for (options, units, nanoseconds) in table {
        let length = 20 + hex(options).len();
        let interface = format!("00000001 {length:08x} 0065 0000 00000000 {options} {length:08x}");
        let packet =
            format!("00000006 00000024 00000000 00000000 {units:08x} 00000001 00000002 aa 000000 00000024");
        let file = hex(&format!("{BIG} {interface} {packet}"));
        let packets = packets(&file);
        assert_eq!(packets[0].timestamp_ns, Some(nanoseconds), "{options}");
        assert_eq!(
            (packets[0].bytes.as_slice(), packets[0].original_bytes),
            (&[0xaa][..], 2)
        );
    }
}

#[test]
fn simple_packets_are_read_and_other_blocks_skipped() {
    let interface = "00000001 00000014 0065 0000 00000002 00000014";
    let other = "00000bad 00000010 01020304 00000010";
    let simple = "00000003 00000014 00000009 aabb 0000 00000014";
    let file = hex(&format!("{BIG} {interface} {other} {simple}"));
    let blocks = blocks(&file);
    let skipped = Block::Other {
        block_type: 0xbad,
        body_bytes: 4,
    };
    assert_eq!(blocks[2], skipped);
    let packet = &packets(&file)[0];
    assert_eq!(
        (
            packet.bytes.as_slice(),
            packet.original_bytes,
            packet.timestamp_ns
        ),
        (&[0xaa, 0xbb][..], 9, None)
    );
}

#[test]
fn a_new_section_has_its_own_byte_order_and_interfaces() {
    let mut writer = Writer::new(
        Vec::new(),
        &Capture {
            interface: Some("up"),
            ..Capture::default()
        },
    )
    .unwrap();
    writer.packet(Way::Outbound, 7, &[1], None).unwrap();
    let little = writer.finish().unwrap();
    let file = [little, hex(BIG), hex("00000003 00000010 00000000 00000010")].concat();
    let read: Vec<_> = Reader::new(file.as_slice()).collect();
    assert_eq!(read.len(), 5);
    assert!(matches!(
        read[4],
        Err(ReadError::UnknownInterface { expected: 0, got: 0 })
    ));
}

#[test]
fn refuses_with_what_was_expected_and_found() {
    use ReadError as E;
    type Cause = fn(&ReadError) -> bool;
    let table: [(&str, Cause); 9] = [
        ("a1b2c3d4 0002 0004", |why| {
            matches!(why, E::NotPcapng { got: 0xa1b2_c3d4 })
        }),
        ("0a0d", |why| matches!(why, E::Truncated { expected: 4, got: 2 })),
        ("0a0d0d0a 0000001c 11223344", |why| {
            matches!(why, E::ByteOrder { got: 0x1122_3344 })
        }),
        ("0a0d0d0a 0000001d 1a2b3c4d", |why| {
            matches!(why, E::BlockLength { got: 29 })
        }),
        ("0a0d0d0a f0000000 1a2b3c4d", |why| {
            matches!(why, E::BlockLength { got: 0xf000_0000 })
        }),
        ("0a0d0d0a 0000000c 1a2b3c4d", |why| {
            matches!(why, E::BlockLength { got: 12 })
        }),
        ("0a0d0d0a 0000001c 1a2b3c4d 0001", |why| {
            matches!(why, E::Truncated { expected: 12, got: 2 })
        }),
        (
            "0a0d0d0a 0000001c 1a2b3c4d 0001 0000 ffffffffffffffff 0000001d",
            |why| {
                matches!(
                    why,
                    E::TrailingLength {
                        expected: 28,
                        got: 29
                    }
                )
            },
        ),
        ("0a0d0d0a 00000014 1a2b3c4d 00010000 00000014", |why| {
            matches!(why, E::BodyTooShort { expected: 12, got: 4 })
        }),
    ];
    for (file, is_the_cause) in table {
        let bytes = hex(file);
        let mut reader = Reader::new(bytes.as_slice());
        let why = reader.next().unwrap().unwrap_err();
        assert!(is_the_cause(&why), "{file}: {why:?}");
        assert!(reader.next().is_none(), "{file}: ends after an error");
    }
}

#[test]
fn a_long_comment_is_truncated_between_characters() {
    let mut writer = Writer::new(Vec::new(), &Capture::default()).unwrap();
    let comment = "ü".repeat(40_000);
    writer.packet(Way::Outbound, 0, &[], Some(&comment)).unwrap();
    let file = writer.finish().unwrap();
    assert_eq!(packets(&file)[0].comment.as_ref().map(String::len), Some(65_534));
}

#[test]
fn a_block_too_long_to_be_read_is_not_written() {
    let mut writer = Writer::new(std::io::sink(), &Capture::default()).unwrap();
    let packet = vec![0; MAX_BLOCK_BYTES as usize];
    assert!(matches!(
        writer.packet(Way::Outbound, 0, &packet, None),
        Err(WriteError::TooLong { .. })
    ));
}

#[test]
fn a_long_key_log_takes_several_blocks_and_no_line_is_cut() {
    let line = [&[b'k'; 999][..], b"\n"].concat();
    let key_log = line.repeat(2 * MAX_BLOCK_BYTES as usize / line.len());
    let with = |key_log: &[u8]| {
        let capture = Capture {
            tls_key_log: Some(key_log),
            ..Capture::default()
        };
        Writer::new(Vec::new(), &capture).and_then(Writer::finish)
    };
    let file = with(&key_log).unwrap();
    let blocks = Reader::new(file.as_slice()).filter_map(|block| match block.unwrap() {
        Block::Secrets(secrets) => Some(secrets.data),
        _ => None,
    });
    let blocks: Vec<Vec<u8>> = blocks.collect();
    assert_eq!(blocks.len(), 3);
    assert!(blocks.iter().all(|block| block.ends_with(b"\n")));
    assert!(blocks.concat() == key_log, "every line is there, in its order");
    let endless = vec![b'k'; MAX_BLOCK_BYTES as usize];
    assert!(matches!(with(&endless), Err(WriteError::TooLong { .. })));
}

proptest! {
    #[test]
    fn packets_survive_the_file(
        written in vec(
            (0..3usize, any::<u64>(), vec(any::<u8>(), 0..50), proptest::option::of("\\PC{0,9}")),
            0..9,
        ),
    ) {
        let mut writer = Writer::new(Vec::new(), &Capture::default()).unwrap();
        let ways = [Way::Unknown, Way::Inbound, Way::Outbound];
        for (way, timestamp_ns, bytes, comment) in &written {
            writer.packet(ways[*way], *timestamp_ns, bytes, comment.as_deref()).unwrap();
        }
        let file = writer.finish().unwrap();
        let read = packets(&file).into_iter().map(|packet| {
            let way = ways.iter().position(|way| *way == packet.way).unwrap();
            (way, packet.timestamp_ns.unwrap(), packet.bytes, packet.comment)
        });
        prop_assert_eq!(read.collect::<Vec<_>>(), written);
    }

    #[test]
    fn blocks_and_options_are_as_long_as_they_say(
        texts in vec(proptest::option::of(prop_oneof![0usize..100, 65_500usize..65_600, Just(200_000)]), 6),
        lines in vec(prop_oneof![1usize..100, 65_500usize..70_000], 0..5),
        packet in prop_oneof![0usize..100, 65_000usize..66_000, Just(MAX_BLOCK_BYTES as usize)],
    ) {
        let text = |place: usize| texts[place].map(|len| "ü".repeat(len / 2) + "x");
        let owned: Vec<_> = (0..6).map(text).collect();
        let key_log: Vec<u8> = lines.iter().flat_map(|len| [b"k".repeat(*len), b"\n".to_vec()].concat()).collect();
        let capture = Capture {
            hardware: owned[0].as_deref(),
            os: owned[1].as_deref(),
            user_application: owned[2].as_deref(),
            comment: owned[3].as_deref(),
            interface: owned[4].as_deref(),
            tls_key_log: Some(&key_log),
        };
        let mut writer = Writer::new(Vec::new(), &capture).unwrap();
        let bytes = vec![7; packet];
        let written = writer.packet(Way::Inbound, 1, &bytes, owned[5].as_deref());
        prop_assert_eq!(written.is_ok(), packet < MAX_BLOCK_BYTES as usize);
        writer.packet(Way::Outbound, 2, b"the last", None).unwrap();
        let file = writer.finish().unwrap();
        let packets = packets(&file);
        prop_assert_eq!(packets.len(), 1 + usize::from(written.is_ok()));
        prop_assert_eq!(&packets.last().unwrap().bytes, b"the last");
        if written.is_ok() {
            prop_assert_eq!(&packets[0].bytes, &bytes);
            // A text that is too long is cut, and says so in its length.
            let is_cut = |read: &Option<String>| match (read, &owned[5]) {
                (Some(read), Some(whole)) => whole.starts_with(read) && (read == whole || read.len() > 65_530),
                (read, whole) => read == whole,
            };
            prop_assert!(is_cut(&packets[0].comment));
        }
        let secrets: Vec<u8> = blocks(&file).into_iter().flat_map(|block| match block {
            Block::Secrets(secrets) => secrets.data,
            _ => Vec::new(),
        }).collect();
        prop_assert_eq!(secrets, key_log);
    }
}
