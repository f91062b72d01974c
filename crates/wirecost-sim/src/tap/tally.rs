//! Sums of packets and bytes, computed without the packets' bytes.

use wirecost_cost::{Content, PacketVerdict, Totals};
use wirecost_proto::hosts::HostIndex;
use wirecost_proto::{Cause, Delivery, Fate, Instant, Layer, Phase, Span};
use wirecost_wire::udp;

use super::ip_header_bytes;
use super::{Packet, Tap, Transport};

/// Adds up packets and bytes by phase, layer, cause and direction, for each group of hosts. The sums equal those of the ledger
/// over a recording of the same packets.
#[derive(Clone, Debug)]
pub struct Tally<G> {
    group: G,
    totals: Vec<Totals>,
}

impl<G: Fn(HostIndex) -> usize> Tally<G> {
    /// Empty sums of groups; `group` returns the group number of a host, from 0.
    pub const fn new(group: G) -> Self {
        Self {
            group,
            totals: Vec::new(),
        }
    }

    /// The sums of each group, up to the last group that had a packet.
    pub fn totals(&self) -> &[Totals] {
        &self.totals
    }
}

/// Adds a packet: its headers, its payload as its sender described it, and bytes without a description.
fn add(totals: &mut Totals, packet: &Packet<'_>) {
    let way = packet.direction;
    let (phase, cause) = (packet.phase(), packet.cause());
    let (ip_bytes, transport_bytes) = (ip_bytes(packet), transport_bytes(packet));
    totals.add_span(way, &span(ip_bytes, Layer::Ip, phase, cause));
    totals.add_span(way, &span(transport_bytes, Layer::Transport, phase, cause));
    let mut original = 0;
    let resent = Resent::of(packet);
    let mut at = 0;
    for span in packet.spans {
        let (again, new) = resent.split(at, span);
        totals.add_span(way, &again);
        totals.add_span(way, &new);
        original += new.original_payload_bytes();
        at = at.saturating_add(span.len);
    }
    let covered = ip_bytes + transport_bytes + at as usize;
    let surplus = packet.wire_bytes.saturating_sub(covered);
    // The ledger gives undescribed bytes the same layer, phase and cause.
    let unknown = span(surplus, Layer::Application, Phase::Message, Cause::Original);
    totals.add_span(way, &unknown);
    let verdict = PacketVerdict {
        phase,
        cause,
        wire_bytes: u32::try_from(packet.wire_bytes).unwrap_or(u32::MAX),
        unattributed_bytes: unknown.len,
        payload_bytes_original: original,
        content: Content::None,
    };
    totals.add_verdict(way, &verdict);
}

fn span(bytes: usize, layer: Layer, phase: Phase, cause: Cause) -> Span {
    Span {
        len: u32::try_from(bytes).unwrap_or(u32::MAX),
        layer,
        phase,
        cause,
    }
}

/// The number of bytes at the start of a packet's payload that were sent before, and the cause of their retransmission.
struct Resent {
    bytes: u32,
    cause: Cause,
}

impl Resent {
    fn of(packet: &Packet<'_>) -> Self {
        let Transport::Tcp { placement, .. } = packet.transport else {
            return Self {
                bytes: 0,
                cause: Cause::Retransmission,
            };
        };
        Self {
            bytes: u32::try_from(placement.resent_bytes).unwrap_or(u32::MAX),
            cause: if placement.is_probe {
                Cause::Probe
            } else {
                Cause::Retransmission
            },
        }
    }

    /// Splits a span that begins `at` bytes into the payload into the part that was sent before and the new part.
    fn split(&self, at: u32, span: &Span) -> (Span, Span) {
        let len = self.bytes.saturating_sub(at).min(span.len);
        let again = Span {
            len,
            cause: self.cause,
            ..*span
        };
        let new = Span {
            len: span.len - len,
            ..*span
        };
        (again, new)
    }
}

/// Bytes of the IP header, including the Fragment header of IPv6.
fn ip_bytes(packet: &Packet<'_>) -> usize {
    let fixed = ip_header_bytes(&packet.source);
    match packet.transport {
        Transport::Fragment(fragment) => {
            packet.wire_bytes - packet.payload.len() - fragment.udp_header_bytes()
        }
        _ => fixed,
    }
}

/// Bytes of the transport header; for an ICMP error, all bytes of the message.
fn transport_bytes(packet: &Packet<'_>) -> usize {
    match packet.transport {
        Transport::Tcp { .. } => packet.wire_bytes - ip_header_bytes(&packet.source) - packet.payload.len(),
        Transport::Udp => udp::HEADER_BYTES,
        Transport::Fragment(fragment) => fragment.udp_header_bytes(),
        Transport::Unreachable => packet.wire_bytes - ip_header_bytes(&packet.source),
    }
}

impl<G: Fn(HostIndex) -> usize> Tap for Tally<G> {
    fn packet(&mut self, packet: &Packet<'_>, _: Instant, _: Fate, _: &[Delivery]) {
        let group = (self.group)(packet.host);
        if self.totals.len() <= group {
            self.totals.resize_with(group + 1, Totals::new);
        }
        if let Some(totals) = self.totals.get_mut(group) {
            add(totals, packet);
        }
    }
}
