//! An IP packet as a capture has it, and headers that a snap length cut.

use std::borrow::Cow;

use wirecost_wire::{ip, tcp, udp};

/// An IP packet of a capture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Captured<'a> {
    /// Its bytes, perhaps cut, perhaps its headers alone, perhaps followed by the frame's padding.
    pub(crate) bytes: &'a [u8],
    /// Bytes that it takes of its frame on the link. They are its length if its own length field is zero.
    pub(crate) link_bytes: usize,
    /// When it was captured, in nanoseconds since 1970.
    pub(crate) at_ns: Option<u64>,
}

impl<'a> Captured<'a> {
    /// The packet, if its IP header is there.
    pub(crate) fn packet(&self) -> Option<ip::Packet<'a>> {
        ip::Packet::captured(self.bytes, self.link_bytes).ok()
    }
}

/// Bytes of a TCP header up to the one that says how long it is.
const TCP_LENGTH_KNOWN: usize = 13;

/// A packet whose headers are whole: where a snap length cut the options of IP or TCP, or the length of UDP, zeros stand for the
/// bytes that are missing. A zero ends the options (RFC 791 section 3.1, RFC 9293 section 3.2).
pub(crate) fn with_whole_headers(bytes: &[u8], link_bytes: usize) -> Cow<'_, [u8]> {
    let missing = missing_bytes(bytes, link_bytes);
    if missing == 0 {
        return Cow::Borrowed(bytes);
    }
    let mut whole = bytes.to_vec();
    whole.resize(bytes.len() + missing, 0);
    Cow::Owned(whole)
}

/// Bytes that headers lack to be whole, or 0 if too little of them is there.
fn missing_bytes(bytes: &[u8], link_bytes: usize) -> usize {
    if bytes.len() >= link_bytes {
        return 0;
    }
    let ip_header = match bytes {
        [first, ..] if first >> 4 == 4 && bytes.len() >= ip::ipv4::HEADER_BYTES => {
            usize::from(first & 0x0f) * 4
        }
        _ => 0,
    };
    if ip_header > bytes.len() {
        return ip_header - bytes.len();
    }
    let Ok(packet) = ip::Packet::captured(bytes, link_bytes) else {
        return 0;
    };
    let upper = packet.payload();
    let header = match packet.protocol() {
        _ if !packet.is_truncated() || !packet.has_upper_header() => 0,
        ip::Protocol::Tcp => match upper.get(TCP_LENGTH_KNOWN - 1) {
            Some(offset) => (usize::from(offset >> 4) * 4).max(tcp::HEADER_BYTES),
            None => 0,
        },
        // Without its length field, a datagram is as long as its packet (RFC 2675 section 4).
        ip::Protocol::Udp if upper.len() >= 4 => udp::HEADER_BYTES,
        ip::Protocol::Udp | ip::Protocol::Icmp | ip::Protocol::Icmpv6 | ip::Protocol::Other(_) => 0,
    };
    header.saturating_sub(upper.len())
}

/// A hash of bytes: FNV-1a over words. It is not collision-resistant, but a sender of colliding packets only hides its own bytes.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    hash_more(0xcbf2_9ce4_8422_2325, bytes)
}

/// The hash of bytes after those with the hash `before`.
pub(crate) fn hash_more(before: u64, bytes: &[u8]) -> u64 {
    let (words, tail) = bytes.as_chunks::<8>();
    let tail = tail.iter().fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte));
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    words.chain([tail]).fold(before, |sum: u64, word| {
        (sum ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(29)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirecost_wire::ip::{Addresses, Protocol};

    /// A segment with 20 bytes of options and 12 bytes of content.
    fn segment() -> Vec<u8> {
        let addresses = Addresses::new([10, 0, 0, 2].into(), [10, 0, 0, 1].into()).expect("of one version");
        let mut upper = vec![0; 20];
        (upper[0], upper[1], upper[2], upper[3]) = (0x9c, 0x40, 7, 0x5b);
        upper[12] = 0xa0;
        upper.extend([1; 20]);
        upper.extend(*b"twelve bytes");
        let mut bytes = Vec::new();
        ip::Repr::new(addresses, Protocol::Tcp)
            .emit(&upper, &mut bytes)
            .expect("a packet");
        bytes
    }

    #[test]
    fn headers_are_whole_wherever_a_snap_length_cuts_their_options() {
        let whole = segment();
        for cut in 0..whole.len() {
            let cut_off = with_whole_headers(&whole[..cut], whole.len());
            let expected = match cut {
                // The byte that says how long the header is has been cut off.
                0..33 | 60.. => cut,
                33..60 => 60,
            };
            assert_eq!(cut_off.len(), expected, "{cut}");
        }
    }

    #[test]
    fn the_length_of_a_cut_datagram_is_that_of_its_packet() {
        let addresses = Addresses::new([10, 0, 0, 2].into(), [10, 0, 0, 1].into()).expect("of one version");
        let ports = udp::Repr {
            source_port: 1,
            destination_port: 2,
        };
        let mut whole = Vec::new();
        ip::Repr::new(addresses, Protocol::Udp)
            .emit_udp(&ports, b"content", &mut whole)
            .expect("a packet");
        let headers = with_whole_headers(&whole[..24], whole.len());
        let packet = ip::Packet::captured(&headers, whole.len()).expect("a packet");
        assert_eq!((packet.ports(), packet.total_bytes()), (Some((1, 2)), 35));
        assert_eq!(headers.len(), 28);
    }
}
