//! The packet that an ICMP error is about.

use wirecost_wire::{icmp, ip};

/// The packet that an ICMP error quotes.
pub(crate) fn quoted<'a>(version: ip::Version, message: &icmp::Message<'a>) -> Option<ip::Packet<'a>> {
    let bytes = match message.repr() {
        icmp::Repr::DestinationUnreachable { quoted, .. } | icmp::Repr::PacketTooBig { quoted, .. } => quoted,
        icmp::Repr::Other { kind, body, .. } if is_error(version, kind) => body,
        _ => return None,
    };
    ip::Packet::new(bytes).ok()
}

/// Whether an ICMP message of this type quotes a packet: destination unreachable, time exceeded, parameter problem,
/// redirect, source quench (RFC 1122 section 3.2.2; RFC 4443 section 2.1).
const fn is_error(version: ip::Version, kind: u8) -> bool {
    match version {
        ip::Version::V4 => matches!(kind, 3 | 4 | 5 | 11 | 12),
        ip::Version::V6 => kind < 128,
    }
}
