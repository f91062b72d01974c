//! Cuts packets into fragments.

use wirecost_wire::ip::Version;

/// The fragments of `packet`, which has a header without options, none longer than `mtu` bytes; `id` is their
/// identification.
pub(super) fn fragments(packet: &[u8], version: Version, mtu: usize, id: u16) -> Vec<Vec<u8>> {
    let (header, upper) = match version {
        Version::V4 => packet.split_at(20),
        Version::V6 => packet.split_at(40),
    };
    let extension_bytes = if version == Version::V6 { 8 } else { 0 };
    // RFC 791 section 3.2, RFC 8200 section 4.5: fragments but the last hold a multiple of 8 bytes.
    let part_bytes = (mtu - header.len() - extension_bytes) / 8 * 8;
    let parts = upper.chunks(part_bytes).enumerate();
    let fragment = |(index, part): (usize, &[u8])| {
        let offset = index * part_bytes;
        let more = offset + part.len() < upper.len();
        match version {
            Version::V4 => v4(header, offset, more, id, part),
            Version::V6 => v6(header, offset, more, id, part),
        }
    };
    parts.map(fragment).collect()
}

fn v4(header: &[u8], offset: usize, more: bool, id: u16, part: &[u8]) -> Vec<u8> {
    let mut packet = header.to_vec();
    let total = u16::try_from(header.len() + part.len()).unwrap();
    let flags = u16::try_from(offset / 8).unwrap() | u16::from(more) << 13;
    packet[2..4].copy_from_slice(&total.to_be_bytes());
    packet[4..6].copy_from_slice(&id.to_be_bytes());
    packet[6..8].copy_from_slice(&flags.to_be_bytes());
    packet.extend_from_slice(part);
    packet
}

fn v6(header: &[u8], offset: usize, more: bool, id: u16, part: &[u8]) -> Vec<u8> {
    let mut packet = header.to_vec();
    let length = u16::try_from(8 + part.len()).unwrap();
    let flags = u16::try_from(offset).unwrap() | u16::from(more);
    packet[4..6].copy_from_slice(&length.to_be_bytes());
    // Next header: the fragment header, then UDP.
    packet[6] = 44;
    packet.extend_from_slice(&[17, 0]);
    packet.extend_from_slice(&flags.to_be_bytes());
    packet.extend_from_slice(&u32::from(id).to_be_bytes());
    packet.extend_from_slice(part);
    packet
}
