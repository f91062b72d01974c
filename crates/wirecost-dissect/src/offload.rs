//! Effects of segmentation and checksum offload on a capture. A packet captured before its network card cut it up is
//! several packets on the wire. The capture lacks their headers.

use serde::Serialize;
use wirecost_proto::{BothWays, Direction};
use wirecost_wire::tcp::{self, TcpOption};
use wirecost_wire::{Checksum, ip, udp};

/// The largest IP packet on Ethernet (RFC 894).
const ETHERNET_MTU: usize = 1_500;

/// Packets that show that the capture differs from the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Offload {
    /// Segments above the receiver's limit and unfragmented datagrams above 1,500 B. A network card cuts them.
    pub oversized_packets: u64,
    /// Headers that the capture lacks because of those packets: for each, the number of packets on the wire less one.
    pub missing_headers: u64,
    /// Bytes of those headers, IP and transport.
    pub missing_header_bytes: u64,
    /// Packets whose length field is zero, as a network card gets them. Their length is that of their frame.
    pub unset_lengths: u64,
    /// Packets above 1,500 B that the connection's MSS allows, as on loopback.
    pub jumbo_packets: u64,
    /// Packets whose checksum the network card had yet to complete.
    pub partial_checksums: u64,
    /// Packets with a wrong checksum.
    pub invalid_checksums: u64,
}

impl Offload {
    /// Counts the checksum of a complete packet.
    pub(crate) const fn checksum(&mut self, checksum: Checksum) {
        match checksum {
            Checksum::Valid => {}
            Checksum::Partial => self.partial_checksums += 1,
            Checksum::Invalid => self.invalid_checksums += 1,
        }
    }

    /// Counts a segment with `len` bytes of content whose receiver announced `limit`.
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
        // RFC 6691 section 2: the announced MSS does not include options. The sender subtracts them.
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

    /// Counts an unfragmented datagram.
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

/// The largest segments that the two ends accept, by direction of the segments.
#[derive(Debug, Default)]
pub(crate) struct SegmentLimits(BothWays<Option<u16>>);

impl SegmentLimits {
    /// Learns the MSS of a SYN that travels in `direction`. Returns the limit for segments in that direction.
    pub(crate) fn learn(&mut self, direction: Direction, segment: &tcp::Segment<'_>) -> Option<u16> {
        if segment.flags().contains(tcp::Flags::SYN) {
            let mss = segment.options().find_map(|option| match option {
                Ok(TcpOption::MaximumSegmentSize(mss)) => Some(mss),
                _ => None,
            });
            self.0[direction.reverse()] = mss;
        }
        self.0[direction]
    }
}
