//! Frames of other link types, and what cannot be read.

use super::build::{self, ETHERNET, RAW, SLL2, behind_addresses, ethernet, framed, mqtt};
use super::{folder, pcap};
use crate::common::{said, wirecost};

/// A frame's bytes before its packet, which end with the packet's length in two bytes if `with_length` says so.
type Carrier = (u16, fn(&[u8]) -> Vec<u8>);

const SNAP: &[u8] = b"\xaa\xaa\x03\0\0\0\x08\0";

/// A data frame of 802.11 from a station to its access point.
fn wireless(packet: &[u8]) -> Vec<u8> {
    [b"\x08\x01\0\0", &[2; 18][..], b"\0\0", SNAP, packet].concat()
}

#[test]
fn packets_are_read_in_frames_of_every_kind() {
    let carriers: [Carrier; 14] = [
        (ETHERNET, ethernet),
        (ETHERNET, |packet| {
            behind_addresses(b"\x88\x64\x11\0\0\x01\0\0\0\x21", packet)
        }),
        (ETHERNET, |packet| {
            behind_addresses(b"\x91\0\0\x05\x81\0\0\x06\x08\0", packet)
        }),
        (ETHERNET, |packet| {
            behind_addresses(b"\x88\xa8\0\x05\x81\0\0\x06\x08\0", packet)
        }),
        (ETHERNET, |packet| {
            behind_addresses(b"\x88\x47\0\x01\0\x40\0\x01\x01\x40", packet)
        }),
        (SLL2, |packet| {
            [
                b"\x81\0\0\0\0\0\0\x02\0\x01\0\x06",
                &[2; 8][..],
                b"\0\x05\x08\0",
                packet,
            ]
            .concat()
        }),
        (12, <[u8]>::to_vec),
        (14, <[u8]>::to_vec),
        (RAW, <[u8]>::to_vec),
        (9, |packet| [b"\xff\x03\0\x21", packet].concat()),
        (50, |packet| [b"\xff\x03\0\x21", packet].concat()),
        (105, wireless),
        (127, |packet| {
            [b"\0\0\x08\0\0\0\0\0", wireless(packet).as_slice()].concat()
        }),
        (239, |packet| {
            let length = (packet.len() as u16 + 4).to_le_bytes();
            [
                b"\x02\0\0\0\x06\0\x0a\0eth\0".as_slice(),
                &length,
                b"\x09\0",
                packet,
            ]
            .concat()
        }),
    ];
    for (link_type, carrier) in carriers {
        let file = build::pcap(link_type, &framed(&mqtt(), carrier));
        let told = pcap(&file);
        let head = carrier(b"");
        assert_eq!(told.counted(), (19, 850), "{link_type} {head:?} {}", told.table);
        assert_eq!(
            (told.code, told.left_out()),
            (Some(0), vec![]),
            "{link_type} {head:?}"
        );
    }
}

#[test]
fn frames_that_cannot_be_read_are_named_with_their_number_and_are_not_a_success() {
    let frames = framed(&mqtt(), <[u8]>::to_vec);
    for (file, name) in [
        (build::pcap(147, &frames), "frames of link type 147"),
        (build::pcap(220, &frames), "frames of link type 220 (USB)"),
        (
            build::pcap(
                ETHERNET,
                &framed(&mqtt(), |packet| behind_addresses(b"\x22\xf3", packet)),
            ),
            "frames of EtherType 0x22f3",
        ),
        (
            build::pcap(9, &framed(&mqtt(), |packet| [b"\0\x2b", packet].concat())),
            "PPP frames of protocol 0x002b",
        ),
    ] {
        let told = pcap(&file);
        assert_eq!(told.code, Some(14), "{name}: {}", told.stderr);
        assert!(told.table.contains(name), "{name}: {}", told.table);
        assert!(
            told.table.contains("19 packets: not read"),
            "{name}: {}",
            told.table
        );
        assert!(
            told.stderr
                .contains("most of it cannot be read: 19 of 19 packets"),
            "{}",
            told.stderr
        );
        assert_eq!(told.number("/unread_packets"), 19);
        for command in [
            "cost capture --tariff per-mb --interval 1min",
            "what-if capture udp --out run",
        ] {
            let folder = folder(&file);
            let said = said(wirecost(folder.path()).args(command.split(' ')));
            assert_eq!(said.code, Some(14), "{command}: {}", said.stderr);
            assert!(
                said.stderr.contains("most of it cannot be read"),
                "{}",
                said.stderr
            );
            assert!(said.stderr.contains("hint: "), "{}", said.stderr);
        }
    }
}

#[test]
fn a_few_frames_that_cannot_be_read_are_no_failure() {
    let mut frames = framed(&mqtt(), ethernet);
    frames.push(behind_addresses(b"\x22\xf3", b"unknown"));
    frames.extend(vec![behind_addresses(b"\x08\x06", b"\0\x01\x08\0"); 40]);
    let told = pcap(&build::pcap(ETHERNET, &frames));
    assert_eq!(
        (told.code, told.counted()),
        (Some(0), (60, 850)),
        "{}",
        told.stderr
    );
    let left_out = [
        ("ARP".to_owned(), 720),
        ("frames of EtherType 0x22f3".to_owned(), 21),
    ];
    assert_eq!(told.left_out(), left_out);
}

#[test]
fn blocks_that_cannot_be_read_are_counted() {
    let mut blocks = vec![build::interface(ETHERNET, "eth0")];
    blocks.extend(vec![build::block(0x204, b"an event"); 3]);
    let told = pcap(&build::pcapng(&blocks));
    assert_eq!(told.code, Some(14), "{}", told.stderr);
    assert!(
        told.table
            .contains("warning: 3 blocks of type 0x00000204 not read"),
        "{}",
        told.table
    );
}
