//! The boundaries of packets in a datagram, without keys (RFC 9000 sections 12.2 and 17; RFC 8999).

use std::ops::Range;

use crate::http3::varint;

/// Length of this side's connection IDs, which short headers do not contain.
pub const CONNECTION_ID_BYTES: usize = 8;

/// The only supported version (RFC 9000 section 15).
pub(crate) const VERSION_1: u32 = 1;

/// The type of a packet, by its first byte and version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type {
    /// The first packets of a handshake (RFC 9000 section 17.2.2).
    Initial,
    /// Early data (RFC 9000 section 17.2.3).
    ZeroRtt,
    /// The rest of a handshake (RFC 9000 section 17.2.4).
    Handshake,
    /// A server's request to try again with a token (RFC 9000 section 17.2.5).
    Retry,
    /// A server's list of versions (RFC 9000 section 17.2.1).
    VersionNegotiation,
    /// All packets after the handshake: a short header (RFC 9000 section 17.3.1).
    OneRtt,
}

impl Type {
    /// The type of a version 1 packet whose first byte is `first`.
    pub const fn from_first(first: u8) -> Self {
        if first & 0x80 == 0 {
            return Self::OneRtt;
        }
        match first >> 4 & 3 {
            0 => Self::Initial,
            1 => Self::ZeroRtt,
            2 => Self::Handshake,
            _ => Self::Retry,
        }
    }

    /// The packet number space of the type (RFC 9000 section 12.3). Retry and Version Negotiation have no number.
    pub const fn space(self) -> Space {
        match self {
            Self::Initial | Self::Retry | Self::VersionNegotiation => Space::Initial,
            Self::Handshake => Space::Handshake,
            Self::ZeroRtt | Self::OneRtt => Space::Application,
        }
    }
}

/// A packet number space (RFC 9000 section 12.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// Initial packets.
    Initial,
    /// Handshake packets.
    Handshake,
    /// 0-RTT and 1-RTT packets.
    Application,
}

/// An encrypted packet in a datagram. Any bytes are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Type.
    pub kind: Type,
    /// Its range in the datagram.
    pub range: Range<usize>,
    /// The range of its Destination Connection ID.
    pub destination: Range<usize>,
    /// The range of its Source Connection ID. Empty in a short header.
    pub source: Range<usize>,
    /// The offset of its packet number in the datagram, or the end of the packet if it has none.
    pub number_at: usize,
}

/// The packets of a datagram whose short headers carry connection IDs of `id_bytes` bytes. The last one ends with the
/// datagram, or before bytes that are not a packet.
pub fn split(datagram: &[u8], id_bytes: usize) -> impl Iterator<Item = Packet> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let packet = read(datagram, at, id_bytes)?;
        at = packet.range.end;
        Some(packet)
    })
}

fn read(datagram: &[u8], at: usize, id_bytes: usize) -> Option<Packet> {
    let first = *datagram.get(at)?;
    if first & 0x80 == 0 {
        let destination = at + 1..(at + 1 + id_bytes).min(datagram.len());
        // The fixed bit is ignored, because the peer may grease it (RFC 9287).
        return Some(Packet {
            kind: Type::OneRtt,
            range: at..datagram.len(),
            number_at: destination.end,
            source: destination.end..destination.end,
            destination,
        });
    }
    let version = datagram.get(at + 1..at + 5)?;
    let destination = id(datagram, at + 5)?;
    let source = id(datagram, destination.end)?;
    let to_the_end = |kind| Packet {
        kind,
        range: at..datagram.len(),
        destination: destination.clone(),
        source: source.clone(),
        number_at: datagram.len(),
    };
    if version == [0; 4] {
        return Some(to_the_end(Type::VersionNegotiation));
    }
    if version != VERSION_1.to_be_bytes() {
        return None;
    }
    let kind = Type::from_first(first);
    let mut number_at = source.end;
    match kind {
        Type::Retry => return Some(to_the_end(kind)),
        Type::Initial => {
            let (token, len) = varint::read(datagram.get(number_at..)?)?;
            number_at = number_at
                .checked_add(len)?
                .checked_add(usize::try_from(token).ok()?)?;
        }
        _ => {}
    }
    let (rest, len) = varint::read(datagram.get(number_at..)?)?;
    number_at += len;
    let end = number_at.checked_add(usize::try_from(rest).ok()?)?;
    (end <= datagram.len()).then_some(Packet {
        kind,
        range: at..end,
        destination,
        source,
        number_at,
    })
}

/// A connection ID after its length, at most 20 bytes (RFC 9000 section 17.2).
fn id(datagram: &[u8], at: usize) -> Option<Range<usize>> {
    let len = usize::from(*datagram.get(at)?);
    let range = at + 1..at + 1 + len;
    (len <= 20 && range.end <= datagram.len()).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coalesced_packets_lie_end_to_end() {
        // An Initial with a 1-byte token, a Handshake packet, a packet with a short header.
        let initial = [
            &[0xc0, 0, 0, 0, 1, 2, 0xaa, 0xab, 1, 0xbb, 1, 0x77, 0x40, 20][..],
            &[0; 20],
        ]
        .concat();
        let handshake = [&[0xe0, 0, 0, 0, 1, 2, 0xaa, 0xab, 1, 0xbb, 4][..], &[0; 4]].concat();
        let short = [0x40, 1, 2, 3, 4, 5, 6, 7, 8, 9];
        let datagram = [&initial[..], &handshake, &short].concat();
        let found: Vec<_> = split(&datagram, 8)
            .map(|packet| (packet.kind, packet.range, packet.number_at))
            .collect();
        let (second, third) = (initial.len(), initial.len() + handshake.len());
        assert_eq!(
            found,
            [
                (Type::Initial, 0..second, 14),
                (Type::Handshake, second..third, second + 11),
                (Type::OneRtt, third..datagram.len(), third + 9),
            ]
        );
    }

    #[test]
    fn bytes_that_are_not_a_packet_end_the_datagram() {
        let table: [&[u8]; 5] = [
            &[],
            &[0xc0, 0, 0, 0],
            &[0xc0, 0, 0, 0, 1, 21],
            &[0xc0, 0xde, 0xad, 0, 1, 0, 0, 0, 0],
            &[0xe0, 0, 0, 0, 1, 0, 0, 5, 1, 2],
        ];
        for datagram in table {
            assert_eq!(split(datagram, 8).count(), 0, "{datagram:x?}");
        }
    }
}
