//! ICMP messages of both versions: RFC 792 for IPv4, RFC 4443 for IPv6.

use crate::Error;
use crate::bytes::{fixed_header, u16_at, u32_at};
use crate::checksum::Sum;
use crate::ip::{Addresses, Protocol, Version};
use alloc::vec::Vec;

/// Bytes of the header: type, code, checksum and four bytes whose meaning depends on the type.
pub const HEADER_BYTES: usize = 8;

/// Type and code of the messages that this module knows, in one version.
struct Types {
    echo_request: u8,
    echo_reply: u8,
    destination_unreachable: u8,
    packet_too_big: (u8, u8),
}

/// RFC 792; "fragmentation needed" with the next hop's MTU is RFC 1191 section 4.
const V4: Types = Types {
    echo_request: 8,
    echo_reply: 0,
    destination_unreachable: 3,
    packet_too_big: (3, 4),
};

/// RFC 4443 sections 3 and 4.
const V6: Types = Types {
    echo_request: 128,
    echo_reply: 129,
    destination_unreachable: 1,
    packet_too_big: (2, 0),
};

const fn types(version: Version) -> &'static Types {
    match version {
        Version::V4 => &V4,
        Version::V6 => &V6,
    }
}

/// A view of an ICMP message.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    version: Version,
    header: &'a [u8; HEADER_BYTES],
    body: &'a [u8],
}

impl<'a> Message<'a> {
    /// The message of `version` in `bytes`, the payload of an IP packet.
    ///
    /// # Errors
    /// The header is cut short.
    pub fn new(version: Version, bytes: &'a [u8]) -> Result<Self, Error> {
        Ok(Self {
            version,
            header: fixed_header("ICMP header", bytes)?,
            body: bytes.get(HEADER_BYTES..).unwrap_or_default(),
        })
    }

    /// The type, as the version numbers it.
    pub const fn kind(&self) -> u8 {
        self.header[0]
    }

    /// The code, a subtype of the type.
    pub const fn code(&self) -> u8 {
        self.header[1]
    }

    /// Whether the checksum is correct for a whole message between `addresses`, which only IPv6 uses.
    pub fn is_checksum_valid(&self, addresses: &Addresses) -> bool {
        let bytes = HEADER_BYTES + self.body.len();
        let sum = initial_sum(self.version, addresses, bytes);
        sum.and(self.header).and(self.body).is_valid()
    }

    /// The message's meaning.
    pub fn repr(&self) -> Repr<'a> {
        let (kind, code, types) = (self.kind(), self.code(), types(self.version));
        let echo = Echo {
            id: u16_at(self.header, 4),
            sequence_number: u16_at(self.header, 6),
            payload: self.body,
        };
        if kind == types.echo_request {
            return Repr::EchoRequest(echo);
        }
        if kind == types.echo_reply {
            return Repr::EchoReply(echo);
        }
        let quoted = self.body;
        if (kind, code) == types.packet_too_big {
            let mtu = match self.version {
                // RFC 1191 section 4: the lower 16 bits of what RFC 792 left unused.
                Version::V4 => u32::from(u16_at(self.header, 6)),
                Version::V6 => u32_at(self.header, 4),
            };
            return Repr::PacketTooBig { mtu, quoted };
        }
        if kind == types.destination_unreachable {
            return Repr::DestinationUnreachable { code, quoted };
        }
        Repr::Other {
            kind,
            code,
            word: u32_at(self.header, 4),
            body: self.body,
        }
    }
}

/// An echo request or reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo<'a> {
    /// The identifier that a reply returns.
    pub id: u16,
    /// The sequence number that a reply returns.
    pub sequence_number: u16,
    /// The data that a reply returns.
    pub payload: &'a [u8],
}

/// The meaning of a message, the same in both versions; it can be emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repr<'a> {
    /// An echo request.
    EchoRequest(Echo<'a>),
    /// An echo reply.
    EchoReply(Echo<'a>),
    /// A packet could not be delivered.
    DestinationUnreachable {
        /// Why, as the version numbers it.
        code: u8,
        /// The start of that packet, from its IP header on.
        quoted: &'a [u8],
    },
    /// A packet was too big for the next link: IPv6's "packet too big", IPv4's "fragmentation needed".
    PacketTooBig {
        /// The next link's MTU in bytes: in IPv4 at most 65,535 when emitted, 0 from routers before RFC 1191.
        mtu: u32,
        /// The start of that packet, from its IP header on.
        quoted: &'a [u8],
    },
    /// Any other message.
    Other {
        /// The type, as the version numbers it.
        kind: u8,
        /// The code.
        code: u8,
        /// The four bytes after the checksum.
        word: u32,
        /// What follows the header.
        body: &'a [u8],
    },
}

impl Repr<'_> {
    /// Bytes of the message.
    pub const fn total_bytes(&self) -> usize {
        HEADER_BYTES + self.body().len()
    }

    /// Appends the message to `out`, with the version of `addresses` and their checksum.
    pub fn emit(&self, addresses: &Addresses, out: &mut Vec<u8>) {
        let version = addresses.version();
        let (kind, code) = self.kind_and_code(types(version));
        let mut header = [kind, code, 0, 0, 0, 0, 0, 0];
        header[4..8].copy_from_slice(&self.word(version).to_be_bytes());
        let sum = initial_sum(version, addresses, self.total_bytes());
        let checksum = sum.and(&header).and(self.body()).finish();
        header[2..4].copy_from_slice(&checksum.to_be_bytes());
        out.extend_from_slice(&header);
        out.extend_from_slice(self.body());
    }

    const fn body(&self) -> &[u8] {
        match self {
            Self::EchoRequest(echo) | Self::EchoReply(echo) => echo.payload,
            Self::DestinationUnreachable { quoted, .. } | Self::PacketTooBig { quoted, .. } => quoted,
            Self::Other { body, .. } => body,
        }
    }

    const fn kind_and_code(&self, types: &Types) -> (u8, u8) {
        match *self {
            Self::EchoRequest(_) => (types.echo_request, 0),
            Self::EchoReply(_) => (types.echo_reply, 0),
            Self::DestinationUnreachable { code, .. } => (types.destination_unreachable, code),
            Self::PacketTooBig { .. } => types.packet_too_big,
            Self::Other { kind, code, .. } => (kind, code),
        }
    }

    /// The four bytes after the checksum.
    fn word(&self, version: Version) -> u32 {
        match *self {
            Self::EchoRequest(echo) | Self::EchoReply(echo) => {
                u32::from(echo.id) << 16 | u32::from(echo.sequence_number)
            }
            Self::DestinationUnreachable { .. } => 0,
            Self::PacketTooBig { mtu, .. } if version == Version::V4 => mtu.min(u32::from(u16::MAX)),
            Self::PacketTooBig { mtu, .. } => mtu,
            Self::Other { word, .. } => word,
        }
    }
}

/// The sum that the checksum starts from. RFC 4443 section 2.3: only ICMPv6 has a pseudo header.
fn initial_sum(version: Version, addresses: &Addresses, bytes: usize) -> Sum {
    match version {
        Version::V4 => Sum::default(),
        Version::V6 => Sum::pseudo_header(addresses, Protocol::Icmpv6, bytes),
    }
}

#[cfg(test)]
mod tests;
