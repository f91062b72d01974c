//! Finds the IP packet in a frame of any link type.

mod ppp;
mod wireless;

use std::borrow::Cow;

/// Link types of the registry "LINKTYPE values".
mod link_type {
    pub(super) const NULL: u16 = 0;
    pub(super) const ETHERNET: u16 = 1;
    pub(super) const PPP: u16 = 9;
    /// DLT_RAW of most systems, and that of OpenBSD: some programs write them in place of LINKTYPE_RAW.
    pub(super) const DLT_RAW: u16 = 12;
    pub(super) const DLT_RAW_OPENBSD: u16 = 14;
    pub(super) const PPP_HDLC: u16 = 50;
    pub(super) const PPP_ETHER: u16 = 51;
    pub(super) const RAW: u16 = 101;
    pub(super) const CISCO_HDLC: u16 = 104;
    pub(super) const IEEE802_11: u16 = 105;
    pub(super) const LOOP: u16 = 108;
    pub(super) const LINUX_SLL: u16 = 113;
    pub(super) const IEEE802_11_RADIOTAP: u16 = 127;
    pub(super) const PPP_PPPD: u16 = 166;
    pub(super) const PPP_WITH_DIRECTION: u16 = 204;
    pub(super) const IPV4: u16 = 228;
    pub(super) const IPV6: u16 = 229;
    pub(super) const NFLOG: u16 = 239;
    pub(super) const LINUX_SLL2: u16 = 276;
}

/// Names of link types whose frames are not read.
const LINK_TYPES: [(u16, &str); 17] = [
    (6, "IEEE 802.5"),
    (7, "ARCNET"),
    (8, "SLIP"),
    (10, "FDDI"),
    (119, "802.11 with a Prism header"),
    (163, "802.11 with an AVS header"),
    (165, "BACnet MS/TP"),
    (187, "Bluetooth HCI"),
    (189, "USB"),
    (192, "PPI"),
    (195, "IEEE 802.15.4"),
    (201, "Bluetooth HCI"),
    (220, "USB"),
    (227, "CAN"),
    (230, "IEEE 802.15.4"),
    (249, "USB"),
    (253, "netlink"),
];

/// Numbers of IEEE's registry "EtherType".
mod ether_type {
    pub(super) const IPV4: u16 = 0x0800;
    pub(super) const IPV6: u16 = 0x86dd;
    pub(super) const VLAN: u16 = 0x8100;
    pub(super) const MPLS: u16 = 0x8847;
    pub(super) const MPLS_UPSTREAM: u16 = 0x8848;
    pub(super) const PPPOE_SESSION: u16 = 0x8864;
    pub(super) const SERVICE_VLAN: u16 = 0x88a8;
    /// Outer tags of switches from before IEEE 802.1ad.
    pub(super) const OLD_SERVICE_VLANS: [u16; 3] = [0x9100, 0x9200, 0x9300];
}

/// Names of EtherTypes that never carry an IP packet.
const ETHER_TYPES: [(u16, &str); 10] = [
    (0x0806, "ARP"),
    (0x0842, "Wake-on-LAN"),
    (0x8035, "RARP"),
    (0x8808, "Ethernet flow control"),
    (0x8809, "Ethernet slow protocols"),
    (0x8863, "PPPoE discovery"),
    (0x888e, "EAPOL"),
    (0x88cc, "LLDP"),
    (0x88f7, "PTP"),
    (0x8902, "Ethernet connectivity faults"),
];

/// An IP packet in its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Framed<'a> {
    /// Its bytes, perhaps cut, perhaps followed by the frame's padding.
    pub(crate) bytes: &'a [u8],
    /// The interface that the frame's header names.
    pub(crate) interface: Option<u32>,
}

/// What a frame carries instead of an IP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoPacket {
    /// A protocol that is known to carry none.
    Other(&'static str),
    /// What is not read: there may be IP packets in it.
    Unread(Cow<'static, str>),
}

use NoPacket::{Other, Unread};

const CUT: NoPacket = Unread(Cow::Borrowed("frames truncated inside their header"));

/// The IP packet in a frame.
pub(crate) fn ip_packet(link_type: u16, frame: &[u8]) -> Result<Framed<'_>, NoPacket> {
    if link_type == link_type::LINUX_SLL2 {
        // The protocol at the front, and the number of the interface from byte 4 on, of 20.
        let bytes = of_ether_type(u16_at(frame, 0)?, behind(frame, 20)?)?;
        let interface = frame.get(4..8).and_then(|field| field.first_chunk());
        return Ok(Framed {
            bytes,
            interface: interface.map(|field| u32::from_be_bytes(*field)),
        });
    }
    let bytes = match link_type {
        link_type::RAW
        | link_type::DLT_RAW
        | link_type::DLT_RAW_OPENBSD
        | link_type::IPV4
        | link_type::IPV6 => frame,
        // A protocol family of four bytes in either byte order. The IP header says its version itself.
        link_type::NULL | link_type::LOOP => behind(frame, 4)?,
        link_type::ETHERNET => after_ether_type(frame, 12)?,
        // The protocol is in bytes 14 and 15 of 16.
        link_type::LINUX_SLL => after_ether_type(frame, 14)?,
        link_type::PPP => ppp::packet(frame)?,
        link_type::PPP_HDLC => ppp::serial(frame)?,
        link_type::CISCO_HDLC => after_ether_type(frame, 2)?,
        link_type::PPP_ETHER => ppp::of_session(frame)?,
        // A byte for the direction, in place of the address or before it.
        link_type::PPP_PPPD => ppp::behind_direction(frame)?,
        link_type::PPP_WITH_DIRECTION => ppp::packet(behind(frame, 1)?)?,
        link_type::IEEE802_11 => wireless::packet(frame, false)?,
        link_type::IEEE802_11_RADIOTAP => wireless::behind_radiotap(frame)?,
        link_type::NFLOG => nflog(frame)?,
        _ => return Err(unread_link_type(link_type)),
    };
    Ok(Framed {
        bytes,
        interface: None,
    })
}

fn unread_link_type(link_type: u16) -> NoPacket {
    let known = LINK_TYPES.iter().find(|(number, _)| *number == link_type);
    let name = known.map_or_else(String::new, |(_, name)| format!(" ({name})"));
    Unread(format!("frames of link type {link_type}{name}").into())
}

/// The packet after the EtherType at `at`.
fn after_ether_type(frame: &[u8], at: usize) -> Result<&[u8], NoPacket> {
    of_ether_type(u16_at(frame, at)?, behind(frame, at + 2)?)
}

/// The packet in `rest`, the bytes after an EtherType, VLAN tags (IEEE 802.1Q section 9.6) and other headers.
fn of_ether_type(ether_type: u16, rest: &[u8]) -> Result<&[u8], NoPacket> {
    let (mut ether_type, mut rest) = (ether_type, rest);
    while is_tag(ether_type) {
        ether_type = u16_at(rest, 2)?;
        rest = behind(rest, 4)?;
    }
    match ether_type {
        ether_type::IPV4 | ether_type::IPV6 => Ok(rest),
        ether_type::PPPOE_SESSION => ppp::of_session(rest),
        ether_type::MPLS | ether_type::MPLS_UPSTREAM => behind_labels(rest),
        // IEEE 802.3 section 3.2.6: values up to 1,500 are a length.
        0..=1_500 => behind_llc(rest),
        _ => Err(not_ip(ether_type)),
    }
}

fn is_tag(ether_type: u16) -> bool {
    matches!(ether_type, ether_type::VLAN | ether_type::SERVICE_VLAN)
        || ether_type::OLD_SERVICE_VLANS.contains(&ether_type)
}

fn not_ip(ether_type: u16) -> NoPacket {
    let known = ETHER_TYPES.iter().find(|(number, _)| *number == ether_type);
    known.map_or_else(
        || Unread(format!("frames of EtherType 0x{ether_type:04x}").into()),
        |(_, name)| Other(name),
    )
}

/// The packet behind a SNAP header with an EtherType (RFC 1042).
fn behind_llc(llc: &[u8]) -> Result<&[u8], NoPacket> {
    match llc {
        [0xaa, 0xaa, 3, 0, 0, 0, high, low, rest @ ..] => match u16::from_be_bytes([*high, *low]) {
            // Above the lengths, so that this does not nest.
            ether_type @ 1_501.. => of_ether_type(ether_type, rest),
            _ => Err(Other("IEEE 802.3 frames")),
        },
        _ => Err(Other("IEEE 802.3 frames")),
    }
}

/// The packet behind MPLS labels of four bytes (RFC 3032 section 2.1): the last one has the bit "bottom of stack".
fn behind_labels(labels: &[u8]) -> Result<&[u8], NoPacket> {
    let mut rest = labels;
    loop {
        let [_, _, third, _, after @ ..] = rest else {
            return Err(CUT);
        };
        rest = after;
        if third & 1 == 1 {
            break;
        }
    }
    // RFC 4928 section 3: the first four bits tell an IP packet from what else may be inside.
    match rest.first().map(|first| first >> 4) {
        Some(4 | 6) => Ok(rest),
        Some(_) => Err(Unread("MPLS pseudowires".into())),
        None => Err(CUT),
    }
}

/// The packet in the payload attribute of a netlink message of Linux's packet filter.
fn nflog(message: &[u8]) -> Result<&[u8], NoPacket> {
    const PAYLOAD: u16 = 9;
    // Family, version and resource, then attributes with their length and type in the byte order of the machine.
    let mut rest = behind(message, 4)?;
    loop {
        let [first, second, third, fourth, ..] = *rest else {
            return Err(CUT);
        };
        // All types are below 256.
        let number = if fourth == 0 {
            u16::from_le_bytes
        } else {
            u16::from_be_bytes
        };
        let (length, kind) = (usize::from(number([first, second])), number([third, fourth]));
        if length < 4 {
            return Err(Unread("NFLOG messages without a packet".into()));
        }
        if kind == PAYLOAD {
            let end = length.min(rest.len());
            return rest.get(4..end).ok_or(CUT);
        }
        rest = behind(rest, length.next_multiple_of(4))?;
    }
}

fn behind(frame: &[u8], header_bytes: usize) -> Result<&[u8], NoPacket> {
    frame.get(header_bytes..).ok_or(CUT)
}

fn u16_at(frame: &[u8], at: usize) -> Result<u16, NoPacket> {
    let field: Option<&[u8; 2]> = frame.get(at..).and_then(|tail| tail.first_chunk());
    field.map(|bytes| u16::from_be_bytes(*bytes)).ok_or(CUT)
}

#[cfg(test)]
mod tests;
