//! The IPv6 header and its extension headers (RFC 8200 sections 3 and 4).

use alloc::vec::Vec;
use core::net::Ipv6Addr;

use crate::Error;
use crate::bytes::{address_at, fixed_header, part, u16_at, u32_at};
use crate::internet::{DEFAULT_HOP_LIMIT, Fragment, Protocol, length_field};

/// Bytes of the fixed header.
pub const HEADER_BYTES: usize = 40;
/// Smallest MTU of a link in bytes of an IP packet (RFC 8200 section 5).
pub const MIN_MTU: u16 = 1_280;

/// The number of the Fragment header.
const FRAGMENT: u8 = 44;
/// Bytes of the Fragment header.
const FRAGMENT_HEADER_BYTES: usize = 8;

/// A view of an IPv6 header with its extension headers.
#[derive(Clone, Copy, Debug)]
pub struct Header<'a> {
    fixed: &'a [u8; HEADER_BYTES],
    chain: Chain<'a>,
}

impl<'a> Header<'a> {
    /// The header at the start of `bytes`. Does not check the version field.
    ///
    /// # Errors
    /// The header or one of its extension headers is cut short, by the bytes or by the payload length.
    pub fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        let fixed: &[u8; HEADER_BYTES] = fixed_header("IPv6 header", bytes)?;
        let end = (HEADER_BYTES + usize::from(u16_at(fixed, 4))).min(bytes.len());
        Self::of_payload(fixed, bytes.get(HEADER_BYTES..end).unwrap_or_default())
    }

    /// The header at the start of `bytes`, whatever its payload length says.
    pub(super) fn without_length(bytes: &'a [u8]) -> Result<Self, Error> {
        let fixed: &[u8; HEADER_BYTES] = fixed_header("IPv6 header", bytes)?;
        Self::of_payload(fixed, bytes.get(HEADER_BYTES..).unwrap_or_default())
    }

    fn of_payload(fixed: &'a [u8; HEADER_BYTES], payload: &'a [u8]) -> Result<Self, Error> {
        let chain = Chain::new(fixed[6], payload)?;
        Ok(Self { fixed, chain })
    }

    /// Differentiated services code point and ECN bits (RFC 2474, RFC 3168).
    pub fn traffic_class(&self) -> u8 {
        (u16_at(self.fixed, 0) >> 4) as u8
    }

    /// The flow label, 20 bits (RFC 6437).
    pub(crate) fn flow_label(&self) -> u32 {
        u32_at(self.fixed, 0) & 0xf_ffff
    }

    /// Bytes of the header with its extension headers.
    pub const fn header_bytes(&self) -> usize {
        HEADER_BYTES + self.chain.extensions.len()
    }

    /// Bytes of the fixed header and the payload length.
    pub fn total_bytes(&self) -> usize {
        HEADER_BYTES + usize::from(u16_at(self.fixed, 4))
    }

    /// The upper-layer protocol, after the extension headers.
    pub const fn protocol(&self) -> Protocol {
        Protocol::from_number(self.chain.upper)
    }

    /// The packet's position in its datagram; `None` for a whole datagram and for an atomic fragment.
    pub const fn fragment(&self) -> Option<Fragment> {
        self.chain.fragment
    }

    /// How many more routers may forward the packet.
    pub const fn hop_limit(&self) -> u8 {
        self.fixed[7]
    }

    /// The address of the sender.
    pub fn source(&self) -> Ipv6Addr {
        address_at(self.fixed, 8)
    }

    /// The address of the receiver.
    pub fn destination(&self) -> Ipv6Addr {
        address_at(self.fixed, 24)
    }

    /// The header's meaning, without extension headers.
    pub fn repr(&self) -> Repr {
        Repr {
            source: self.source(),
            destination: self.destination(),
            protocol: self.protocol(),
            hop_limit: self.hop_limit(),
            traffic_class: self.traffic_class(),
            flow_label: self.flow_label(),
        }
    }
}

/// The extension headers of a packet, and the protocol after them.
#[derive(Clone, Copy, Debug)]
struct Chain<'a> {
    extensions: &'a [u8],
    upper: u8,
    fragment: Option<Fragment>,
}

impl<'a> Chain<'a> {
    /// Reads the chain of headers that starts with number `next` at the start of `payload`.
    fn new(next: u8, payload: &'a [u8]) -> Result<Self, Error> {
        let mut chain = Self {
            extensions: &[],
            upper: next,
            fragment: None,
        };
        while let Some(kind) = Extension::from_number(chain.upper) {
            let start = chain.extensions.len();
            let header = part("IPv6 extension header", payload, start, start + 8)?;
            let end = start + kind.header_bytes(header);
            chain.extensions = part("IPv6 extension header", payload, 0, end)?;
            chain.upper = header.first().copied().unwrap_or_default();
            if kind != Extension::Fragment {
                continue;
            }
            chain.fragment = fragment(header).unless_whole();
            // RFC 8200 section 4.5: only the first fragment has the headers that follow the Fragment header.
            if chain.fragment.is_some_and(|fragment| fragment.offset_bytes > 0) {
                break;
            }
        }
        Ok(chain)
    }
}

/// The position in a Fragment header (RFC 8200 section 4.5).
fn fragment(header: &[u8]) -> Fragment {
    let offset_and_flag = u16_at(header, 2);
    Fragment {
        id: u32_at(header, 4),
        // The offset is in units of eight bytes, shifted by three bits: masked, it is in bytes.
        offset_bytes: u32::from(offset_and_flag & !7),
        more: offset_and_flag & 1 != 0,
    }
}

/// How an extension header encodes its length.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extension {
    /// In units of eight bytes, not counting the first (RFC 6564 section 4).
    Generic,
    /// Always eight bytes.
    Fragment,
    /// In units of four bytes, minus two (RFC 4302 section 2.2).
    Authentication,
}

impl Extension {
    /// The kind of `number` in IANA's "IPv6 Extension Header Types"; `None` for an upper-layer protocol.
    const fn from_number(number: u8) -> Option<Self> {
        match number {
            // Hop-by-Hop Options, Routing, Destination Options, Mobility, Host Identity, Shim6.
            0 | 43 | 60 | 135 | 139 | 140 => Some(Self::Generic),
            FRAGMENT => Some(Self::Fragment),
            51 => Some(Self::Authentication),
            // Encapsulating Security Payload, number 50, encrypts the following headers: it counts as the upper layer.
            _ => None,
        }
    }

    /// Bytes of an extension header of this kind that starts with `header`.
    fn header_bytes(self, header: &[u8]) -> usize {
        let length = header.get(1).map_or(0, |length| usize::from(*length));
        match self {
            Self::Generic => (length + 1) * 8,
            Self::Fragment => FRAGMENT_HEADER_BYTES,
            Self::Authentication => (length + 2) * 4,
        }
    }
}

/// An IPv6 header without extension headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// The address of the sender.
    pub source: Ipv6Addr,
    /// The address of the receiver.
    pub destination: Ipv6Addr,
    /// The upper-layer protocol.
    pub protocol: Protocol,
    /// How many routers may forward the packet.
    pub hop_limit: u8,
    /// Differentiated services code point and ECN bits.
    pub traffic_class: u8,
    /// The flow label; its lower 20 bits are emitted.
    pub flow_label: u32,
}

impl Repr {
    /// The header of a whole datagram: hop limit 64, best effort, no flow label.
    pub const fn new(source: Ipv6Addr, destination: Ipv6Addr, protocol: Protocol) -> Self {
        Self {
            source,
            destination,
            protocol,
            hop_limit: DEFAULT_HOP_LIMIT,
            traffic_class: 0,
            flow_label: 0,
        }
    }

    /// Appends the header of a fragment with its Fragment header (RFC 8200 section 4.5).
    pub(crate) fn emit_fragment_header(
        &self,
        fragment: Fragment,
        payload_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let outer = Self {
            protocol: Protocol::Other(FRAGMENT),
            ..*self
        };
        outer.emit_header(FRAGMENT_HEADER_BYTES.saturating_add(payload_bytes), out)?;
        // The offset is in units of eight bytes, shifted by three bits.
        let offset_and_flag = (fragment.offset_bytes as u16 & !7) | u16::from(fragment.more);
        out.extend_from_slice(&[self.protocol.number(), 0]);
        out.extend_from_slice(&offset_and_flag.to_be_bytes());
        out.extend_from_slice(&fragment.id.to_be_bytes());
        Ok(())
    }

    pub(crate) fn emit_header(&self, payload_bytes: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        let length = length_field("IPv6 payload", payload_bytes)?;
        let first = 6 << 28 | u32::from(self.traffic_class) << 20 | self.flow_label & 0xf_ffff;
        let mut header = [0; HEADER_BYTES];
        header[0..4].copy_from_slice(&first.to_be_bytes());
        header[4..6].copy_from_slice(&length.to_be_bytes());
        header[6] = self.protocol.number();
        header[7] = self.hop_limit;
        header[8..24].copy_from_slice(&self.source.octets());
        header[24..40].copy_from_slice(&self.destination.octets());
        out.extend_from_slice(&header);
        Ok(())
    }
}
