//! The items of a capture of either format.

use alloc::string::String;
use alloc::vec::Vec;

/// The byte order of a file, or of a section of one: that of the machine that wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    Big,
    Little,
}

impl ByteOrder {
    pub(crate) fn u16(self, bytes: [u8; 2]) -> u16 {
        u16::from_be_bytes(self.big_endian(bytes))
    }

    pub(crate) fn u32(self, bytes: [u8; 4]) -> u32 {
        u32::from_be_bytes(self.big_endian(bytes))
    }

    pub(crate) fn u64(self, bytes: [u8; 8]) -> u64 {
        u64::from_be_bytes(self.big_endian(bytes))
    }

    pub(crate) fn i64(self, bytes: [u8; 8]) -> i64 {
        i64::from_be_bytes(self.big_endian(bytes))
    }

    fn big_endian<const N: usize>(self, mut bytes: [u8; N]) -> [u8; N] {
        if self == Self::Little {
            bytes.reverse();
        }
        bytes
    }
}

/// A packet of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// When it was captured, in nanoseconds since 1970; `None` if the capture has no timestamp for it.
    pub timestamp_ns: Option<u64>,
    /// The type of its first header, in the registry "LINKTYPE values".
    pub link_type: u16,
    /// Its bytes, perhaps cut to the snap length.
    pub bytes: &'a [u8],
    /// Its length on the link, in bytes.
    pub original_bytes: u32,
    /// The number of the interface that it was seen on, counted from 0 in the whole file.
    pub interface: u32,
    /// Packets that the capture lost between this one and the one before it on its interface, as far as the file says.
    pub lost_before: u64,
}

impl<'a> Packet<'a> {
    /// A packet that was captured whole, of the first interface.
    pub const fn whole(link_type: u16, timestamp_ns: Option<u64>, bytes: &'a [u8]) -> Self {
        Self {
            timestamp_ns,
            link_type,
            bytes,
            original_bytes: bytes.len() as u32,
            interface: 0,
            lost_before: 0,
        }
    }
}

/// An item that a reader of packets needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// A packet.
    Packet(Packet<'a>),
    /// Secrets for decryption.
    Secrets(Secrets),
    /// The name of an interface. Its packets follow.
    Interface {
        /// Its number in the whole file.
        number: u32,
        /// Its name, if the file has one.
        name: Option<String>,
    },
    /// What an interface lost until now.
    Lost {
        /// Its number in the whole file.
        interface: u32,
        /// Packets that the interface or the operating system dropped since the capture began.
        packets: u64,
    },
    /// A block of a type that may carry packets and cannot be read.
    Unread {
        /// The block's type.
        block_type: u32,
    },
}

/// Secrets of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secrets {
    /// The kind, `SECRETS_TLS_KEY_LOG` for a TLS key log.
    pub secrets_type: u32,
    /// The secrets, in the format of their kind.
    pub data: Vec<u8>,
}
