//! What segmentation and checksum offload did to a capture: a packet that was seen before its network card cut it up
//! is several on the wire, whose headers the capture does not have.

use serde::Serialize;
use wirecost_proto::Direction;
use wirecost_wire::tcp::{self, TcpOption};
use wirecost_wire::{Checksum, ip, udp};

use crate::span_list::Both;

/// The largest IP packet on Ethernet (RFC 894).
const ETHERNET_MTU: usize = 1_500;

/// Packets that show that the capture is not what was on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Offload {
    /// Segments above what their receiver accepts, and datagrams above 1,500 B that are no fragments: a card cuts them.
    pub oversized_packets: u64,
    /// Headers that those packets lack: one less than the packets that were on the wire.
    pub missing_headers: u64,
    /// Bytes of those headers, IP and transport.
    pub missing_header_bytes: u64,
    /// Packets above 1,500 B that the connection's MSS allows, as on loopback.
    pub jumbo_packets: u64,
    /// Packets whose checksum a card was still to complete.
    pub partial_checksums: u64,
    /// Packets with a wrong checksum.
    pub invalid_checksums: u64,
}

impl Offload {
    /// Takes what a whole segment's checksum says.
    pub(crate) const fn checksum(&mut self, checksum: Checksum) {
        match checksum {
            Checksum::Valid => {}
            Checksum::Partial => self.partial_checksums += 1,
            Checksum::Invalid => self.invalid_checksums += 1,
        }
    }

    /// Takes a segment of `len` bytes of content to a receiver that announced `limit`.
    pub(crate) fn segment(
        &mut self,
        packet: &ip::Packet<'_>,
        segment: &tcp::Segment<'_>,
        len: u64,
        limit: Option<u16>,
    ) {
        let header_bytes = packet.header_bytes() + segment.header_bytes();
        let option_bytes = segment.header_bytes() - tcp::HEADER_BYTES;
        let default = ETHERNET_MTU.saturating_sub(packet.header_bytes() + tcp::HEADER_BYTES);
        // RFC 6691 section 2: what is announced does not count options, the sender takes them off.
        let most = limit
            .map_or(default, usize::from)
            .saturating_sub(option_bytes)
            .max(1);
        if len > most as u64 {
            self.oversized(len.div_ceil(most as u64) - 1, header_bytes);
        } else if packet.total_bytes() > ETHERNET_MTU {
            self.jumbo_packets += 1;
        }
    }

    /// Takes a datagram that is no fragment.
    pub(crate) fn datagram(&mut self, packet: &ip::Packet<'_>) {
        let header_bytes = packet.header_bytes() + udp::HEADER_BYTES;
        if packet.total_bytes() > ETHERNET_MTU {
            let content = packet.total_bytes().saturating_sub(header_bytes);
            let most = ETHERNET_MTU.saturating_sub(header_bytes).max(1);
            self.oversized(content.div_ceil(most) as u64 - 1, header_bytes);
        }
    }

    const fn oversized(&mut self, missing: u64, header_bytes: usize) {
        self.oversized_packets += 1;
        self.missing_headers += missing;
        self.missing_header_bytes += missing * header_bytes as u64;
    }
}

/// The largest segments that the two ends accept, by the direction of the segments.
#[derive(Debug, Default)]
pub(crate) struct SegmentLimits(Both<Option<u16>>);

impl SegmentLimits {
    /// Takes the MSS of a SYN that travels in `direction`; returns the limit of segments in that direction.
    pub(crate) fn learn(&mut self, direction: Direction, segment: &tcp::Segment<'_>) -> Option<u16> {
        if segment.flags().contains(tcp::Flags::SYN) {
            let mss = segment.options().find_map(|option| match option {
                Ok(TcpOption::MaximumSegmentSize(mss)) => Some(mss),
                _ => None,
            });
            *self.0.of_mut(direction.reverse()) = mss;
        }
        *self.0.of(direction)
    }
}
