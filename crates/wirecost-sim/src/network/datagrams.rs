//! UDP: datagrams above the MTU travel in fragments. The loss of one fragment loses the datagram.

use wirecost_proto::{Direction, Span};
use wirecost_wire::{icmp, udp};

use super::in_flight::Content;
use super::stream_spans::cut;
use super::{Entering, Network};
use crate::carrier::Carrier;
use crate::tap::ip_header_bytes;
use crate::tap::recording::datagram_packet;
use crate::tap::{Fragment, Tap, Transport};

/// Bytes of IPv6's Fragment header (RFC 8200 section 4.5).
const FRAGMENT_HEADER_BYTES: usize = 8;

/// Bytes of the largest IP packet.
const MAX_PACKET_BYTES: usize = 65_535;

/// A datagram in fragments, in transit and in reassembly.
///
/// There is no reassembly time-out (30 s for IPv4, 60 s for IPv6): all fragments leave at once, and no link delays one that
/// long.
#[derive(Debug, Default)]
pub(crate) struct Fragmented {
    bytes: Vec<u8>,
    /// Which fragments have arrived.
    arrived: Vec<bool>,
    /// Fragments in transit.
    packets: u32,
}

/// The error for a datagram that is too large for IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

impl<L: Carrier, T: Tap> Network<L, T> {
    /// Sends a datagram.
    pub(crate) fn send_datagram(
        &mut self,
        flow: u32,
        direction: Direction,
        bytes: &[u8],
        spans: &[Span],
    ) -> Result<(), TooLong> {
        let mtu = usize::from(self.settings.mtu);
        let Some(sender) = self.flows.get_mut(flow) else {
            return Ok(());
        };
        let (header_bytes, is_v6) = (ip_header_bytes(&sender.client), sender.client.is_ipv6());
        let identification = sender.next_identification(direction);
        let wire_bytes = header_bytes + udp::HEADER_BYTES + bytes.len();
        // The length field of IPv6 does not count the header (RFC 8200 section 3); that of UDP does not either.
        if wire_bytes > MAX_PACKET_BYTES + if is_v6 { header_bytes } else { 0 } {
            return Err(TooLong);
        }
        if wire_bytes > mtu {
            let part_bytes = fragment_bytes(mtu, header_bytes, is_v6);
            self.send_fragments((flow, direction, identification), part_bytes, bytes, spans);
            return Ok(());
        }
        self.enter(&Entering {
            flow,
            direction,
            identification,
            transport: Transport::Udp,
            wire_bytes,
            payload: bytes,
            spans,
        });
        let mut packet = self.new_packet();
        packet.content = Content::Datagram;
        packet.payload.extend_from_slice(bytes);
        self.schedule_arrivals(flow, direction, packet);
        Ok(())
    }

    /// Sends a datagram in fragments of `part_bytes` bytes of IP payload, first to last as Linux does.
    fn send_fragments(
        &mut self,
        (flow, direction, identification): (u32, Direction, u16),
        part_bytes: usize,
        bytes: &[u8],
        spans: &[Span],
    ) {
        let total = udp::HEADER_BYTES + bytes.len();
        let fragments = total.div_ceil(part_bytes);
        let datagram = self.fragmented.insert(Fragmented {
            bytes: bytes.to_vec(),
            arrived: vec![false; fragments],
            packets: u32::try_from(fragments).unwrap_or(u32::MAX),
        });
        let header_bytes = self.flows.get(flow).map_or(0, fragment_header_bytes);
        let mut part_spans = std::mem::take(&mut self.spans);
        for number in 0..fragments {
            let offset = number * part_bytes;
            let end = (offset + part_bytes).min(total);
            let range = offset.saturating_sub(udp::HEADER_BYTES)..end.saturating_sub(udp::HEADER_BYTES);
            part_spans.clear();
            cut(spans, &range, &mut part_spans);
            self.enter(&Entering {
                flow,
                direction,
                identification,
                transport: Transport::Fragment(Fragment {
                    datagram: bytes,
                    offset,
                    more: end < total,
                }),
                wire_bytes: header_bytes + end - offset,
                payload: bytes.get(range).unwrap_or_default(),
                spans: &part_spans,
            });
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let mut packet = self.new_packet();
            packet.content = Content::Fragment { datagram, number };
            self.schedule_arrivals(flow, direction, packet);
        }
        self.spans = part_spans;
    }

    /// Handles the arrival of a fragment. Returns the datagram's bytes if they are now complete. The caller must give them
    /// back to [`Network::reassembled`].
    pub(crate) fn reassemble(&mut self, datagram: u32, number: u32) -> Option<Vec<u8>> {
        let fragmented = self.fragmented.get_mut(datagram)?;
        *fragmented.arrived.get_mut(number as usize)? = true;
        if fragmented.arrived.contains(&false) {
            return None;
        }
        // Fragments that arrive from now on are duplicates; they start the datagram again.
        fragmented.arrived.fill(false);
        Some(std::mem::take(&mut fragmented.bytes))
    }

    /// Stores a datagram's bytes for duplicates of its fragments.
    pub(crate) fn reassembled(&mut self, datagram: u32, bytes: Vec<u8>) {
        if let Some(fragmented) = self.fragmented.get_mut(datagram) {
            fragmented.bytes = bytes;
        }
    }

    /// Sends "port unreachable" to the sender of a datagram whose port no socket has (RFC 1122 section 4.1.3.1). Linux sends a
    /// host at most six such errors at once and one per second; the simulator does not have this limit.
    pub(crate) fn refuse_datagram(&mut self, flow: u32, direction: Direction, bytes: &[u8]) {
        let reverse = direction.reverse();
        let Some(entry) = self.flows.get_mut(flow) else {
            return;
        };
        let Some((source, destination)) = entry.addresses(direction, &self.servers) else {
            return;
        };
        let header_bytes = ip_header_bytes(&source);
        let identification = entry.identifications[direction];
        let Some(mut quoted) = datagram_packet(source, destination, identification, bytes) else {
            return;
        };
        // RFC 1812 section 4.3.2.3 and RFC 4443 section 2.4 (c): the quote fills the error up to these sizes.
        let most = if source.is_ipv6() { 1_280 } else { 576 };
        quoted.truncate(most - header_bytes - icmp::HEADER_BYTES);
        let identification = entry.next_identification(reverse);
        self.enter(&Entering {
            flow,
            direction: reverse,
            identification,
            transport: Transport::Unreachable,
            wire_bytes: header_bytes + icmp::HEADER_BYTES + quoted.len(),
            payload: &quoted,
            spans: &[],
        });
        let mut packet = self.new_packet();
        packet.content = Content::Unreachable;
        self.schedule_arrivals(flow, reverse, packet);
    }

    pub(super) fn forget_fragment(&mut self, datagram: u32) {
        let Some(fragmented) = self.fragmented.get_mut(datagram) else {
            return;
        };
        fragmented.packets -= 1;
        if fragmented.packets == 0 {
            self.fragmented.remove(datagram);
        }
    }
}

/// Bytes of IP payload in every fragment except the last: whole units of eight bytes (RFC 791 section 3.1).
const fn fragment_bytes(mtu: usize, header_bytes: usize, is_v6: bool) -> usize {
    let units = (mtu - header_bytes) & !7;
    // Linux: __ip6_append_data aligns before it subtracts the Fragment header.
    if is_v6 {
        units - FRAGMENT_HEADER_BYTES
    } else {
        units
    }
}

/// Bytes of the IP headers of a fragment.
const fn fragment_header_bytes(flow: &super::flow::Flow) -> usize {
    let header_bytes = ip_header_bytes(&flow.client);
    if flow.client.is_ipv6() {
        header_bytes + FRAGMENT_HEADER_BYTES
    } else {
        header_bytes
    }
}
