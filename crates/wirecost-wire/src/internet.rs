//! The parts that both versions of IP share.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::Error;

/// The version of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// IPv4, RFC 791.
    V4,
    /// IPv6, RFC 8200.
    V6,
}

/// The upper-layer protocol that a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// ICMP for IPv4, number 1.
    Icmp,
    /// TCP, number 6.
    Tcp,
    /// UDP, number 17.
    Udp,
    /// ICMP for IPv6, number 58.
    Icmpv6,
    /// Any other number.
    Other(u8),
}

impl Protocol {
    /// The number in IANA's registry "Assigned Internet Protocol Numbers".
    pub const fn number(self) -> u8 {
        match self {
            Self::Icmp => 1,
            Self::Tcp => 6,
            Self::Udp => 17,
            Self::Icmpv6 => 58,
            Self::Other(number) => number,
        }
    }

    /// The protocol of IANA's `number`.
    pub(crate) const fn from_number(number: u8) -> Self {
        match number {
            1 => Self::Icmp,
            6 => Self::Tcp,
            17 => Self::Udp,
            58 => Self::Icmpv6,
            other => Self::Other(other),
        }
    }
}

/// The position of a packet in the datagram it is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fragment {
    /// The identification that the fragments share: 16 bits in IPv4, 32 in IPv6.
    pub id: u32,
    /// Bytes of the datagram before this fragment's.
    pub offset_bytes: u32,
    /// Whether fragments follow.
    pub more: bool,
}

impl Fragment {
    /// Checks the offset of a fragment with `payload_bytes` (RFC 791 section 3.1, RFC 8200 section 4.5).
    pub(crate) fn check(self, payload_bytes: usize) -> Result<(), Error> {
        let got = self.offset_bytes as usize;
        let end = got.saturating_add(payload_bytes);
        if got.is_multiple_of(8) && end <= usize::from(u16::MAX) {
            return Ok(());
        }
        Err(Error::FragmentOffset { got, end })
    }

    /// The fragment; `None` if offset and flag belong to a whole datagram (an atomic fragment in RFC 6946).
    pub(crate) fn unless_whole(self) -> Option<Self> {
        (self.more || self.offset_bytes > 0).then_some(self)
    }
}

/// Source and destination, of one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Addresses {
    /// IPv4 addresses.
    V4 {
        /// The address of the sender.
        source: Ipv4Addr,
        /// The address of the receiver.
        destination: Ipv4Addr,
    },
    /// IPv6 addresses.
    V6 {
        /// The address of the sender.
        source: Ipv6Addr,
        /// The address of the receiver.
        destination: Ipv6Addr,
    },
}

impl Addresses {
    /// The pair of `source` and `destination`.
    ///
    /// # Errors
    /// [`Error::MixedVersions`] if one is IPv4 and the other IPv6.
    pub const fn new(source: IpAddr, destination: IpAddr) -> Result<Self, Error> {
        match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Ok(Self::V4 { source, destination }),
            (IpAddr::V6(source), IpAddr::V6(destination)) => Ok(Self::V6 { source, destination }),
            (from, to) => Err(Error::MixedVersions { from, to }),
        }
    }

    /// The version of both.
    pub const fn version(&self) -> Version {
        match self {
            Self::V4 { .. } => Version::V4,
            Self::V6 { .. } => Version::V6,
        }
    }

    /// The address of the sender.
    pub const fn source(&self) -> IpAddr {
        match *self {
            Self::V4 { source, .. } => IpAddr::V4(source),
            Self::V6 { source, .. } => IpAddr::V6(source),
        }
    }

    /// The address of the receiver.
    pub const fn destination(&self) -> IpAddr {
        match *self {
            Self::V4 { destination, .. } => IpAddr::V4(destination),
            Self::V6 { destination, .. } => IpAddr::V6(destination),
        }
    }

    /// The pair of the opposite direction.
    #[must_use]
    pub const fn swapped(self) -> Self {
        match self {
            Self::V4 { source, destination } => Self::V4 {
                source: destination,
                destination: source,
            },
            Self::V6 { source, destination } => Self::V6 {
                source: destination,
                destination: source,
            },
        }
    }
}

/// The hop limit that hosts start with (IANA "IP Time to Live Parameter", RFC 1700).
pub const DEFAULT_HOP_LIMIT: u8 = 64;

/// `bytes` as a 16-bit length field.
pub(crate) fn length_field(what: &'static str, bytes: usize) -> Result<u16, Error> {
    u16::try_from(bytes).map_err(|_| Error::TooLong {
        what,
        expected: usize::from(u16::MAX),
        got: bytes,
    })
}
