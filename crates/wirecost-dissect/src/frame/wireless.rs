//! IEEE 802.11 data frames (IEEE 802.11-2020 section 9.3.2), with or without a radiotap header.

use super::{CUT, NoPacket, Other, Unread, behind, behind_llc};

/// The bytes of a header with three addresses.
const HEADER_BYTES: usize = 24;

/// The packet in a frame. `is_padded` says that the header is filled up to a multiple of four bytes.
pub(super) fn packet(frame: &[u8], is_padded: bool) -> Result<&[u8], NoPacket> {
    let [kind, flags, ..] = *frame else {
        return Err(CUT);
    };
    // Section 9.2.4.1.3: two bits of type, four of subtype. A data frame with subtype bit 2 carries no data.
    match (kind >> 2) & 3 {
        2 if kind & 0x40 != 0 => return Err(Other("802.11 frames without data")),
        2 => {}
        0 => return Err(Other("802.11 management frames")),
        1 => return Err(Other("802.11 control frames")),
        _ => return Err(Other("802.11 extension frames")),
    }
    if flags & 0x40 != 0 {
        return Err(Unread("encrypted 802.11 frames".into()));
    }
    let number = frame.get(22).ok_or(CUT)? & 0x0f;
    if flags & 0x04 != 0 || number != 0 {
        return Err(Unread("fragments of 802.11 frames".into()));
    }
    let mut header_bytes = HEADER_BYTES;
    // Section 9.2.4.1.4: a frame from one access point to another has a fourth address.
    if flags & 0x03 == 0x03 {
        header_bytes += 6;
    }
    if kind & 0x80 != 0 {
        // Section 9.2.4.5.9: the bit says that the body consists of several frames.
        if frame.get(header_bytes).ok_or(CUT)? & 0x80 != 0 {
            return Err(Unread("aggregated 802.11 frames (A-MSDU)".into()));
        }
        header_bytes += 2;
        // Section 9.2.4.1.10: the bit +HTC in a QoS frame announces four bytes.
        if flags & 0x80 != 0 {
            header_bytes += 4;
        }
    }
    if is_padded {
        header_bytes = header_bytes.next_multiple_of(4);
    }
    behind_llc(behind(frame, header_bytes)?)
}

/// The packet behind a radiotap header: version, padding, length, bit maps of fields, fields. All are little-endian.
pub(super) fn behind_radiotap(frame: &[u8]) -> Result<&[u8], NoPacket> {
    let [_, _, low, high, ..] = *frame else {
        return Err(CUT);
    };
    let header = usize::from(u16::from_le_bytes([low, high]));
    packet(
        behind(frame, header)?,
        is_padded(frame.get(..header).unwrap_or(frame)),
    )
}

/// Whether the field "flags" says that the frame's header is filled up.
fn is_padded(radiotap: &[u8]) -> bool {
    // The highest bit of a map says that another one follows.
    let maps = radiotap.get(4..).unwrap_or_default().as_chunks::<4>().0;
    let more = maps.iter().take_while(|map| map[3] & 0x80 != 0).count();
    let Some(first) = maps.first() else { return false };
    let fields = 4 + (more + 1) * 4;
    let flags = match first[0] & 3 {
        // The first field, eight bytes at a multiple of eight, is a time.
        3 => fields.next_multiple_of(8) + 8,
        2 => fields,
        _ => return false,
    };
    radiotap.get(flags).is_some_and(|flags| flags & 0x20 != 0)
}
