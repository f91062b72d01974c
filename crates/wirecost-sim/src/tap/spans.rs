//! The spans that cover a packet, from its description alone.

use wirecost_proto::{Cause, Layer, Phase, Span};
use wirecost_wire::udp;

use super::ip_header_bytes;
use super::{Packet, Transport};

/// What else is known of a packet's bytes.
pub(super) struct Described {
    /// Payload bytes that were not sent before.
    pub(super) original: u32,
    /// Bytes without a description.
    pub(super) unknown: u32,
}

/// Gives out the spans of a packet end to end: its headers, its payload as its sender described it, and bytes without a
/// description. Some may be empty.
pub(super) fn describe(packet: &Packet<'_>, mut give: impl FnMut(&Span)) -> Described {
    let (phase, cause) = (packet.phase(), packet.cause());
    let (ip_bytes, transport_bytes) = (ip_bytes(packet), transport_bytes(packet));
    give(&span(ip_bytes, Layer::Ip, phase, cause));
    give(&span(transport_bytes, Layer::Transport, phase, cause));
    let mut original = 0;
    let resent = Resent::from_packet(packet);
    let mut at = 0;
    for span in packet.spans {
        let (again, new) = resent.split(at, span);
        give(&again);
        give(&new);
        original += new.original_payload_bytes();
        at = at.saturating_add(span.len);
    }
    let covered = ip_bytes + transport_bytes + at as usize;
    let surplus = packet.wire_bytes.saturating_sub(covered);
    // The ledger gives undescribed bytes the same layer, phase and cause.
    let unknown = span(surplus, Layer::Application, Phase::Message, Cause::Original);
    give(&unknown);
    Described {
        original,
        unknown: unknown.len,
    }
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
    fn from_packet(packet: &Packet<'_>) -> Self {
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
