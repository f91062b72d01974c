//! The items of a capture of either format.

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
}

/// An item that a reader of packets needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// A packet.
    Packet(Packet<'a>),
    /// Secrets for decryption.
    Secrets(Secrets),
}

/// Secrets of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secrets {
    /// The kind, `SECRETS_TLS_KEY_LOG` for a TLS key log.
    pub secrets_type: u32,
    /// The secrets, in the format of their kind.
    pub data: Vec<u8>,
}
