//! The IPv4 header (RFC 791 section 3.1).

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use crate::Error;
use crate::bytes::{address_at, at_least, fixed_header, part, u16_at};
use crate::checksum::Sum;
use crate::internet::{DEFAULT_HOP_LIMIT, Fragment, Protocol, length_field};

/// Bytes of a header without options.
pub const HEADER_BYTES: usize = 20;

/// The flag "don't fragment" in the 16 bits of flags and fragment offset.
const DONT_FRAGMENT: u16 = 0x4000;
/// The flag "more fragments".
const MORE_FRAGMENTS: u16 = 0x2000;
/// The fragment offset, in units of eight bytes.
const FRAGMENT_OFFSET: u16 = 0x1fff;

/// A view of an IPv4 header.
#[derive(Clone, Copy, Debug)]
pub struct Header<'a> {
    fixed: &'a [u8; HEADER_BYTES],
    options: &'a [u8],
}

impl<'a> Header<'a> {
    /// The header at the start of `bytes`. Does not check the version field.
    ///
    /// # Errors
    /// The header is cut short, or a length field is too small.
    pub fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        let header = Self::without_length(bytes)?;
        at_least("total length", header.header_bytes(), header.total_bytes())?;
        Ok(header)
    }

    /// The header at the start of `bytes`, whatever its total length says.
    pub(super) fn without_length(bytes: &'a [u8]) -> Result<Self, Error> {
        let fixed: &[u8; HEADER_BYTES] = fixed_header("IPv4 header", bytes)?;
        let header_bytes = usize::from(fixed[0] & 0x0f) * 4;
        at_least("internet header length", HEADER_BYTES, header_bytes)?;
        let options = part("IPv4 options", bytes, HEADER_BYTES, header_bytes)?;
        Ok(Self { fixed, options })
    }

    /// Differentiated services code point and ECN bits (RFC 2474, RFC 3168).
    pub const fn traffic_class(&self) -> u8 {
        self.fixed[1]
    }

    /// Bytes of the header with its options.
    pub const fn header_bytes(&self) -> usize {
        HEADER_BYTES + self.options.len()
    }

    /// The total length: bytes of the header and the payload.
    pub fn total_bytes(&self) -> usize {
        usize::from(u16_at(self.fixed, 2))
    }

    /// The identification that fragments of one datagram share.
    pub fn identification(&self) -> u16 {
        u16_at(self.fixed, 4)
    }

    /// Whether routers must drop the packet rather than fragment it.
    pub(crate) fn dont_fragment(&self) -> bool {
        self.flags_and_offset() & DONT_FRAGMENT != 0
    }

    /// The packet's position in its datagram; `None` for a whole datagram.
    pub fn fragment(&self) -> Option<Fragment> {
        let fragment = Fragment {
            id: u32::from(self.identification()),
            offset_bytes: u32::from(self.flags_and_offset() & FRAGMENT_OFFSET) * 8,
            more: self.flags_and_offset() & MORE_FRAGMENTS != 0,
        };
        fragment.unless_whole()
    }

    /// How many more routers may forward the packet.
    pub(crate) const fn time_to_live(&self) -> u8 {
        self.fixed[8]
    }

    /// The upper-layer protocol.
    pub const fn protocol(&self) -> Protocol {
        Protocol::from_number(self.fixed[9])
    }

    /// Whether the header checksum is correct.
    pub fn is_checksum_valid(&self) -> bool {
        Sum::default().and(self.fixed).and(self.options).is_valid()
    }

    /// The address of the sender.
    pub fn source(&self) -> Ipv4Addr {
        address_at(self.fixed, 12)
    }

    /// The address of the receiver.
    pub fn destination(&self) -> Ipv4Addr {
        address_at(self.fixed, 16)
    }

    /// The header's meaning, without options and without its place in a fragmented datagram.
    pub fn repr(&self) -> Repr {
        Repr {
            source: self.source(),
            destination: self.destination(),
            protocol: self.protocol(),
            time_to_live: self.time_to_live(),
            traffic_class: self.traffic_class(),
            identification: self.identification(),
            dont_fragment: self.dont_fragment(),
        }
    }

    fn flags_and_offset(&self) -> u16 {
        u16_at(self.fixed, 6)
    }
}

/// An IPv4 header without options, of a whole datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// The address of the sender.
    pub source: Ipv4Addr,
    /// The address of the receiver.
    pub destination: Ipv4Addr,
    /// The upper-layer protocol.
    pub protocol: Protocol,
    /// How many routers may forward the packet.
    pub time_to_live: u8,
    /// Differentiated services code point and ECN bits.
    pub traffic_class: u8,
    /// The identification; any value, even 0, if fragmentation is off (RFC 6864 section 4.1).
    pub identification: u16,
    /// Whether routers must drop the packet rather than fragment it.
    pub dont_fragment: bool,
}

impl Repr {
    /// The header of a whole datagram: time to live 64, best effort, not to be fragmented.
    pub const fn new(source: Ipv4Addr, destination: Ipv4Addr, protocol: Protocol) -> Self {
        Self {
            source,
            destination,
            protocol,
            time_to_live: DEFAULT_HOP_LIMIT,
            traffic_class: 0,
            identification: 0,
            dont_fragment: true,
        }
    }

    pub(crate) fn emit_header(&self, payload_bytes: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        let flags = if self.dont_fragment { DONT_FRAGMENT } else { 0 };
        self.emit_header_with(flags, payload_bytes, out)
    }

    /// Appends the header of a fragment, with the fragment's own identification.
    pub(crate) fn emit_fragment_header(
        &self,
        fragment: Fragment,
        payload_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let identified = Self {
            identification: fragment.id as u16,
            ..*self
        };
        // RFC 791 section 3.1: the offset counts units of eight bytes.
        let offset = (fragment.offset_bytes / 8) as u16 & FRAGMENT_OFFSET;
        let more = if fragment.more { MORE_FRAGMENTS } else { 0 };
        identified.emit_header_with(offset | more, payload_bytes, out)
    }

    fn emit_header_with(&self, flags: u16, payload_bytes: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        let total = length_field("IPv4 packet", HEADER_BYTES.saturating_add(payload_bytes))?;
        let mut header = [0; HEADER_BYTES];
        header[0] = 0x45;
        header[1] = self.traffic_class;
        header[2..4].copy_from_slice(&total.to_be_bytes());
        header[4..6].copy_from_slice(&self.identification.to_be_bytes());
        header[6..8].copy_from_slice(&flags.to_be_bytes());
        header[8] = self.time_to_live;
        header[9] = self.protocol.number();
        header[12..16].copy_from_slice(&self.source.octets());
        header[16..20].copy_from_slice(&self.destination.octets());
        // RFC 791 section 3.1: the checksum field counts as zero while the sum is taken.
        let checksum = Sum::default().and(&header).finish();
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        out.extend_from_slice(&header);
        Ok(())
    }
}
