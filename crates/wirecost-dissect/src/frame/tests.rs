use super::*;

fn found(link_type: u16, frame: &[u8]) -> Result<Vec<u8>, NoPacket> {
    ip_packet(link_type, frame).map(|framed| framed.bytes.to_vec())
}

fn behind_zeros(count: usize, tail: &[u8]) -> Vec<u8> {
    [vec![0; count].as_slice(), tail].concat()
}

/// A data frame from a station, with its flags and the bytes after three addresses and the sequence number.
fn wireless(kind: u8, flags: u8, tail: &[u8]) -> Vec<u8> {
    [&[kind, flags][..], &[0; 22], tail].concat()
}

const SNAP: &[u8] = b"\xaa\xaa\x03\0\0\0\x08\x00E";

#[test]
fn finds_the_packet_after_any_link_header() {
    let ethernet = |tail: &[u8]| behind_zeros(12, tail);
    let table = [
        (101, b"E".to_vec()),
        (12, b"E".to_vec()),
        (14, b"E".to_vec()),
        (0, b"\x02\0\0\0E".to_vec()),
        (1, ethernet(b"\x08\x00E")),
        (1, ethernet(b"\x81\x00\0\x05\x86\xddE")),
        (1, ethernet(b"\x88\xa8\0\x05\x81\x00\0\x06\x08\x00E")),
        (1, ethernet(b"\x91\x00\0\x05\x81\x00\0\x06\x08\x00E")),
        (1, ethernet(b"\x88\x64\x11\0\0\x01\0\x03\0\x21E")),
        (1, ethernet(b"\x81\x00\0\x05\x88\x64\x11\0\0\x01\0\x02\x57E")),
        (1, ethernet(b"\x88\x47\0\x01\0\x40\0\x01\x01\x40E")),
        (1, ethernet(&[b"\0\x09", SNAP].concat())),
        (9, b"\xff\x03\0\x21E".to_vec()),
        (9, b"\0\x21E".to_vec()),
        (9, b"\x21E".to_vec()),
        (50, b"\xff\x03\0\x57E".to_vec()),
        (50, b"\x0f\0\x08\0E".to_vec()),
        (51, b"\x11\0\0\x01\0\x03\0\x21E".to_vec()),
        (104, b"\x0f\0\x08\0E".to_vec()),
        (166, b"\x01\x03\0\x21E".to_vec()),
        (204, b"\x01\xff\x03\0\x21E".to_vec()),
        (105, wireless(0x08, 1, SNAP)),
        (105, wireless(0x08, 3, &behind_zeros(6, SNAP))),
        (105, wireless(0x88, 1, &behind_zeros(2, SNAP))),
        (105, wireless(0x88, 0x81, &behind_zeros(6, SNAP))),
        (
            127,
            [&[0, 0, 8, 0, 0, 0, 0, 0][..], &wireless(0x08, 1, SNAP)].concat(),
        ),
        // A time, then flags, which announce two bytes of padding behind a header of 26 bytes.
        (
            127,
            [
                &[0, 0, 17, 0, 3, 0, 0, 0][..],
                &[0; 8],
                &[0x20],
                &wireless(0x88, 1, &behind_zeros(4, SNAP)),
            ]
            .concat(),
        ),
        (113, behind_zeros(14, b"\x08\x00E")),
        (113, behind_zeros(14, b"\x81\x00\0\x05\x08\x00E")),
        (276, [b"\x86\xdd", &[0; 18][..], b"E"].concat()),
        (276, [b"\x81\x00", &[0; 18][..], b"\0\x05\x08\0E"].concat()),
        (239, b"\x02\0\0\0\x06\0\x01\0ab\0\0\x05\0\x09\0E\0\0\0".to_vec()),
        (239, b"\x02\0\0\0\0\x06\0\x01ab\0\0\0\x05\0\x09E\0\0\0".to_vec()),
    ];
    for (link_type, frame) in table {
        assert_eq!(
            found(link_type, &frame),
            Ok(b"E".to_vec()),
            "{link_type} {frame:?}"
        );
    }
}

#[test]
fn what_carries_no_packet_is_named() {
    let ethernet = |tail: &[u8]| behind_zeros(12, tail);
    let table = [
        (1, ethernet(b"\x08\x06"), Other("ARP")),
        (1, ethernet(b"\x00\x2a"), Other("IEEE 802.3 frames")),
        (1, ethernet(b"\x88\x63\x11\x09"), Other("PPPoE discovery")),
        (
            1,
            ethernet(b"\x88\x64\x11\0\0\x01\0\x02\xc0\x21"),
            Other("PPP link control"),
        ),
        (1, ethernet(b"\x08"), CUT),
        (
            1,
            ethernet(b"\x22\xf3"),
            Unread("frames of EtherType 0x22f3".into()),
        ),
        (
            1,
            ethernet(b"\x88\x47\0\x01\x01\x40\0\0\0\0"),
            Unread("MPLS pseudowires".into()),
        ),
        (
            9,
            b"\0\x2b".to_vec(),
            Unread("PPP frames of protocol 0x002b".into()),
        ),
        (105, wireless(0x80, 0, b""), Other("802.11 management frames")),
        (105, wireless(0x48, 1, b""), Other("802.11 frames without data")),
        (
            105,
            wireless(0x08, 0x41, b""),
            Unread("encrypted 802.11 frames".into()),
        ),
        (147, b"E".to_vec(), Unread("frames of link type 147".into())),
        (189, b"E".to_vec(), Unread("frames of link type 189 (USB)".into())),
        (
            239,
            b"\x02\0\0\0\x01\0\x01\0".to_vec(),
            Unread("NFLOG messages without a packet".into()),
        ),
    ];
    for (link_type, frame, expected) in table {
        assert_eq!(found(link_type, &frame), Err(expected), "{link_type} {frame:?}");
    }
}

#[test]
fn the_frames_of_the_any_device_name_their_interface() {
    let frame = [b"\x08\0\0\0\0\0\0\x07", &[0; 12][..], b"E"].concat();
    assert_eq!(
        ip_packet(276, &frame),
        Ok(Framed {
            bytes: b"E",
            interface: Some(7)
        })
    );
}
