//! Finds the IP packet in a frame of any link type.

/// Link types of the registry "LINKTYPE values".
mod link_type {
    pub(super) const NULL: u16 = 0;
    pub(super) const ETHERNET: u16 = 1;
    pub(super) const RAW: u16 = 101;
    pub(super) const LOOP: u16 = 108;
    pub(super) const LINUX_SLL: u16 = 113;
    pub(super) const IPV4: u16 = 228;
    pub(super) const IPV6: u16 = 229;
    pub(super) const LINUX_SLL2: u16 = 276;
}

/// Numbers of IEEE's registry "EtherType".
mod ether_type {
    pub(super) const IPV4: u16 = 0x0800;
    pub(super) const ARP: u16 = 0x0806;
    pub(super) const VLAN: u16 = 0x8100;
    pub(super) const IPV6: u16 = 0x86dd;
    pub(super) const SERVICE_VLAN: u16 = 0x88a8;
    pub(super) const LLDP: u16 = 0x88cc;
}

/// The IP packet in a frame.
///
/// # Errors
/// The name of what the frame carries instead.
pub(crate) fn ip_packet(link_type: u16, frame: &[u8]) -> Result<&[u8], &'static str> {
    match link_type {
        link_type::RAW | link_type::IPV4 | link_type::IPV6 => Ok(frame),
        // A protocol family of four bytes in either byte order. The IP header says its version itself.
        link_type::NULL | link_type::LOOP => behind(frame, 4),
        link_type::ETHERNET => after_ether_type(frame, 12),
        // The protocol is in bytes 14 and 15 of 16, or at the front of 20.
        link_type::LINUX_SLL => after_ether_type(frame, 14),
        link_type::LINUX_SLL2 => of_ether_type(u16_at(frame, 0)?, frame, 20),
        _ => Err("frames of an unknown link type"),
    }
}

/// The packet after the EtherType at `at` and after VLAN tags (IEEE 802.1Q section 9.6).
fn after_ether_type(frame: &[u8], at: usize) -> Result<&[u8], &'static str> {
    let mut at = at;
    while matches!(u16_at(frame, at)?, ether_type::VLAN | ether_type::SERVICE_VLAN) {
        at += 4;
    }
    of_ether_type(u16_at(frame, at)?, frame, at + 2)
}

fn of_ether_type(ether_type: u16, frame: &[u8], header_bytes: usize) -> Result<&[u8], &'static str> {
    match ether_type {
        ether_type::IPV4 | ether_type::IPV6 => behind(frame, header_bytes),
        ether_type::ARP => Err("ARP"),
        ether_type::LLDP => Err("LLDP"),
        // IEEE 802.3 section 3.2.6: values up to 1,500 are a length.
        0..=1_500 => Err("IEEE 802.3 frames"),
        _ => Err("frames of another EtherType"),
    }
}

fn behind(frame: &[u8], header_bytes: usize) -> Result<&[u8], &'static str> {
    frame
        .get(header_bytes..)
        .ok_or("frames truncated inside their header")
}

fn u16_at(frame: &[u8], at: usize) -> Result<u16, &'static str> {
    let field: Option<&[u8; 2]> = frame.get(at..).and_then(|tail| tail.first_chunk());
    field
        .map(|bytes| u16::from_be_bytes(*bytes))
        .ok_or("frames truncated inside their header")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_packet_after_any_link_header() {
        let ethernet = |tail: &[u8]| [&[0; 12][..], tail].concat();
        let table = [
            (101, b"E".to_vec(), Ok(&b"E"[..])),
            (0, b"\x02\0\0\0E".to_vec(), Ok(b"E")),
            (1, ethernet(b"\x08\x00E"), Ok(b"E")),
            (1, ethernet(b"\x81\x00\0\x05\x86\xdd`"), Ok(b"`")),
            (1, ethernet(b"\x88\xa8\0\x05\x81\x00\0\x06\x08\x00E"), Ok(b"E")),
            (1, ethernet(b"\x08\x06"), Err("ARP")),
            (1, ethernet(b"\x00\x2a"), Err("IEEE 802.3 frames")),
            (1, ethernet(b"\x08"), Err("frames truncated inside their header")),
            (113, [&[0; 14][..], b"\x08\x00E"].concat(), Ok(b"E")),
            (276, [b"\x86\xdd", &[0; 18][..], b"`"].concat(), Ok(b"`")),
            (147, b"E".to_vec(), Err("frames of an unknown link type")),
        ];
        for (link_type, frame, expected) in table {
            assert_eq!(ip_packet(link_type, &frame), expected, "{link_type} {frame:?}");
        }
    }
}
