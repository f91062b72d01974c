//! The header fields that the ledger needs.

use wirecost_wire::upper::Upper;
use wirecost_wire::{icmp, ip, tcp, udp};

use super::fragments::FragmentKey;

/// A packet as the ledger sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Headers<'a> {
    /// Bytes of the whole packet.
    pub(super) wire_bytes: usize,
    /// Bytes of the IP header, options and extension headers.
    pub(super) ip_header_bytes: usize,
    pub(super) body: Body<'a>,
}

/// The part of a packet after the IP header.
#[derive(Clone, Copy, Debug)]
pub(super) enum Body<'a> {
    Segment(Segment),
    Datagram(Datagram<'a>),
    /// A fragment that is not its datagram's first.
    LaterFragment {
        key: FragmentKey,
        /// Half-open range of the datagram's bytes, UDP header included.
        start: u32,
        end: u32,
    },
    /// An ICMP error about a packet of the other direction.
    IcmpError(Quoted),
    Other,
}

/// A TCP segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) source_port: u16,
    pub(super) destination_port: u16,
    pub(super) sequence: u32,
    /// `None` without the ACK flag.
    pub(super) acknowledgement: Option<u32>,
    pub(super) syn: bool,
    pub(super) fin: bool,
    pub(super) rst: bool,
    pub(super) window: u16,
    /// The right edge of the first SACK block of a segment without content.
    pub(super) reported: Option<u32>,
    pub(super) header_bytes: usize,
    pub(super) content_bytes: u32,
}

/// A UDP datagram, or the first fragment of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Datagram<'a> {
    pub(super) source_port: u16,
    pub(super) destination_port: u16,
    /// Bytes of the whole datagram without the UDP header.
    pub(super) content_bytes: u32,
    /// The captured part of the content that this packet carries.
    pub(super) content: &'a [u8],
    /// Bytes of the content that this packet carries.
    pub(super) carried_bytes: u32,
    /// The key of its fragments; `None` for a whole datagram.
    pub(super) fragment: Option<FragmentKey>,
}

/// The packet that an ICMP error is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quoted {
    /// Bytes of the ICMP message, including the quoted packet.
    pub(super) icmp_bytes: usize,
    pub(super) is_tcp: bool,
    pub(super) source_port: u16,
    pub(super) destination_port: u16,
}

impl<'a> Headers<'a> {
    /// The headers of the packet at the start of `bytes`; `None` if it is not an IP packet.
    pub(super) fn parse(bytes: &'a [u8], link_bytes: usize) -> Option<Self> {
        let packet = ip::Packet::captured(bytes, link_bytes).ok()?;
        Some(Self {
            wire_bytes: packet.total_bytes(),
            ip_header_bytes: packet.header_bytes(),
            body: Body::parse(&packet).unwrap_or(Body::Other),
        })
    }
}

impl<'a> Body<'a> {
    fn parse(packet: &ip::Packet<'a>) -> Option<Self> {
        match Upper::new(packet).ok()? {
            Upper::Tcp(segment) => Segment::parse(packet, &segment).map(Self::Segment),
            Upper::Udp(datagram) => Datagram::parse(packet, &datagram).map(Self::Datagram),
            Upper::Icmp(message) => Quoted::parse(packet, &message).map(Self::IcmpError),
            Upper::Fragment(_) => Self::later_fragment(packet),
            Upper::Other(..) => None,
        }
    }

    fn later_fragment(packet: &ip::Packet<'a>) -> Option<Self> {
        let start = packet.fragment()?.offset_bytes;
        Some(Self::LaterFragment {
            key: FragmentKey::from_packet(packet)?,
            start,
            end: start.saturating_add(upper_bytes(packet)),
        })
    }
}

impl Segment {
    fn parse(packet: &ip::Packet<'_>, segment: &tcp::Segment<'_>) -> Option<Self> {
        let flags = segment.flags();
        let has_ack = flags.contains(tcp::Flags::ACK);
        let header_bytes = segment.header_bytes();
        let content_bytes = upper_bytes(packet).checked_sub(u32::try_from(header_bytes).ok()?)?;
        let reported = || segment.options().find_map(|option| reported(&option.ok()?));
        Some(Self {
            source_port: segment.source_port(),
            destination_port: segment.destination_port(),
            sequence: segment.sequence_number(),
            acknowledgement: has_ack.then(|| segment.acknowledgment_number()),
            syn: flags.contains(tcp::Flags::SYN),
            fin: flags.contains(tcp::Flags::FIN),
            rst: flags.contains(tcp::Flags::RST),
            window: segment.window(),
            reported: (content_bytes == 0).then(reported).flatten(),
            header_bytes,
            content_bytes,
        })
    }
}

impl<'a> Datagram<'a> {
    fn parse(packet: &ip::Packet<'a>, datagram: &udp::Datagram<'a>) -> Option<Self> {
        let content_bytes = datagram.length().checked_sub(udp::HEADER_BYTES)?;
        let content_bytes = u32::try_from(content_bytes).ok()?;
        let here = upper_bytes(packet).saturating_sub(udp::HEADER_BYTES as u32);
        Some(Self {
            source_port: datagram.source_port(),
            destination_port: datagram.destination_port(),
            content_bytes,
            content: datagram.payload(),
            carried_bytes: here.min(content_bytes),
            fragment: FragmentKey::from_packet(packet),
        })
    }
}

impl Quoted {
    fn parse(packet: &ip::Packet<'_>, message: &icmp::Message<'_>) -> Option<Self> {
        let quoted = match message.repr() {
            icmp::Repr::DestinationUnreachable { quoted, .. } | icmp::Repr::PacketTooBig { quoted, .. } => {
                quoted
            }
            icmp::Repr::Other { kind, body, .. } if is_error(packet.version(), kind) => body,
            _ => return None,
        };
        let quoted = ip::Packet::new(quoted).ok()?;
        let (source_port, destination_port) = quoted.ports()?;
        Some(Self {
            icmp_bytes: upper_bytes(packet) as usize,
            is_tcp: quoted.protocol() == ip::Protocol::Tcp,
            source_port,
            destination_port,
        })
    }
}

/// Whether an ICMP message of this type quotes a packet.
const fn is_error(version: ip::Version, kind: u8) -> bool {
    match version {
        // RFC 1122 section 3.2.2: unreachable, source quench, redirect, time exceeded, parameter problem.
        ip::Version::V4 => matches!(kind, 3 | 4 | 5 | 11 | 12),
        // RFC 4443 section 2.1: errors have types below 128.
        ip::Version::V6 => kind < 128,
    }
}

/// The end of the first block of a SACK option.
fn reported(option: &tcp::TcpOption<'_>) -> Option<u32> {
    match option {
        tcp::TcpOption::Sack(blocks) => Some(blocks.iter().next()?.right),
        _ => None,
    }
}

/// Bytes after the IP header, captured or not.
fn upper_bytes(packet: &ip::Packet<'_>) -> u32 {
    let bytes = packet.total_bytes().saturating_sub(packet.header_bytes());
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

impl FragmentKey {
    fn from_packet(packet: &ip::Packet<'_>) -> Option<Self> {
        Some(Self {
            addresses: packet.addresses(),
            protocol: packet.protocol(),
            id: packet.fragment()?.id,
        })
    }
}
