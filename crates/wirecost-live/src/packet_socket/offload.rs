//! Packets behind segmentation offload: TCP segments above the MTU, and checksums that no network card has completed.
//!
//! The kernel describes both in a header of its own before each packet (packet(7), `PACKET_VNET_HDR`; linux/virtio_net.h).
//! What the packet itself says is enough to write that header again for the other side.

use wirecost_wire::Checksum;
use wirecost_wire::ip::{self, Addresses};
use wirecost_wire::upper::Upper;

/// Bytes of the kernel's header.
const KERNEL_BYTES: usize = 10;
/// Bytes of an Ethernet header: two addresses and a type (IEEE 802.3).
pub(super) const ETHERNET_BYTES: usize = 14;
/// Bytes of both headers before an IP packet.
pub(super) const PREFIX_BYTES: usize = KERNEL_BYTES + ETHERNET_BYTES;

// linux/virtio_net.h
const NEEDS_CHECKSUM: u8 = 1;
const SEGMENTS_OF_TCP_V4: u8 = 1;
const SEGMENTS_OF_TCP_V6: u8 = 4;

/// Where TCP and UDP have their checksums (RFC 9293, section 3.1; RFC 768).
const TCP_CHECKSUM: u16 = 16;
const UDP_CHECKSUM: u16 = 6;

/// The headers before an IP packet to `destination`, from `source`, on an interface of `mtu` bytes. `None` for bytes that are
/// not an IP packet.
pub(super) fn prefix(
    packet: &[u8],
    mtu: usize,
    destination: [u8; 6],
    source: [u8; 6],
) -> Option<[u8; PREFIX_BYTES]> {
    let ip = ip::Packet::new(packet).ok()?;
    let mut prefix = [0; PREFIX_BYTES];
    let (kernel, ethernet) = prefix.split_at_mut(KERNEL_BYTES);
    ethernet[..6].copy_from_slice(&destination);
    ethernet[6..12].copy_from_slice(&source);
    let (kind, segments) = match ip.addresses() {
        Addresses::V4 { .. } => (libc::ETH_P_IP, SEGMENTS_OF_TCP_V4),
        Addresses::V6 { .. } => (libc::ETH_P_IPV6, SEGMENTS_OF_TCP_V6),
    };
    ethernet[12..].copy_from_slice(&(kind as u16).to_be_bytes());
    let Ok(upper) = Upper::new(&ip) else {
        return Some(prefix);
    };
    let ip_bytes = packet.len().saturating_sub(ip.payload().len());
    let (checksum, at, header_bytes) = match &upper {
        Upper::Tcp(segment) => {
            let bytes = segment.repr().header_bytes();
            (segment.checksum(&ip.addresses()), TCP_CHECKSUM, bytes)
        }
        Upper::Udp(datagram) => (datagram.checksum(&ip.addresses()), UDP_CHECKSUM, 0),
        _ => return Some(prefix),
    };
    let mut set = |at: usize, value: usize| {
        let value = u16::try_from(value).unwrap_or(u16::MAX);
        kernel[at..at + 2].copy_from_slice(&value.to_ne_bytes());
    };
    let headers = ip_bytes + header_bytes;
    if header_bytes > 0 && packet.len() > mtu {
        // `hdr_len` and `gso_size` of `struct virtio_net_hdr`: the kernel cuts segments of that size behind these headers.
        set(2, ETHERNET_BYTES + headers);
        set(4, mtu.saturating_sub(headers));
    }
    // `csum_start` and `csum_offset`.
    set(6, ETHERNET_BYTES + ip_bytes);
    set(8, at.into());
    // Only an unfinished checksum is to be finished: a damaged one must stay damaged.
    if checksum == Checksum::Partial {
        kernel[0] = NEEDS_CHECKSUM;
    }
    if header_bytes > 0 && packet.len() > mtu {
        kernel[1] = segments;
    }
    Some(prefix)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use wirecost_wire::tcp::{Flags, Repr};

    fn packet(payload: usize) -> Vec<u8> {
        let header = ip::Repr::new(
            Addresses::V4 {
                source: Ipv4Addr::new(10, 77, 0, 2),
                destination: Ipv4Addr::new(10, 78, 0, 1),
            },
            ip::Protocol::Tcp,
        );
        let segment = Repr {
            flags: Flags::ACK,
            ..Repr::default()
        };
        let mut out = Vec::new();
        header
            .emit_tcp(&segment, &vec![7; payload], &mut out)
            .expect("a packet");
        out
    }

    #[test]
    fn a_segment_above_the_mtu_is_cut_by_the_kernel() {
        let of = |payload| prefix(&packet(payload), 1_500, [2; 6], [3; 6]).expect("an IP packet");
        let long = of(14_600);
        assert_eq!(long[1], SEGMENTS_OF_TCP_V4);
        assert_eq!(u16::from_ne_bytes([long[4], long[5]]), 1_460);
        assert_eq!(u16::from_ne_bytes([long[2], long[3]]), 54);
        let short = of(1_460);
        assert_eq!((short[0], short[1]), (0, 0), "complete and whole");
        assert_eq!(short[KERNEL_BYTES..], [2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 8, 0]);
        assert!(prefix(&[0; 40], 1_500, [2; 6], [3; 6]).is_none());
    }
}
