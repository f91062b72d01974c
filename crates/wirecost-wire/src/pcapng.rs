//! Captures in pcapng (draft-ietf-opsawg-pcapng).
//!
//! - [`Writer`] writes captures of IP packets that Wireshark can decrypt: secrets come before packets
//! - [`Reader`] reads any capture, block by block, of either byte order and any timestamp resolution
//!
//! ```
//! use wirecost_wire::pcapng::{Block, Capture, Reader, Way, Writer};
//!
//! let capture = Capture { interface: Some("link"), ..Capture::default() };
//! let mut writer = Writer::new(Vec::new(), &capture)?;
//! writer.packet(Way::Outbound, 1_700_000_000_000_000_042, &[0x45, 0x00], Some("lost"))?;
//! let file = writer.finish()?;
//!
//! let packet = Reader::new(file.as_slice()).find_map(|block| match block {
//!     Ok(Block::Packet(packet)) => Some(packet),
//!     _ => None,
//! });
//! assert_eq!(packet.and_then(|packet| packet.timestamp_ns), Some(1_700_000_000_000_000_042));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod blocks;
mod fields;
mod reader;
mod writer;

pub use blocks::{Block, Interface, Packet, Section, Statistics};

pub use crate::packet::Secrets;
pub use reader::{ReadError, Reader};
pub use writer::{Capture, Way, WriteError, Writer};

/// The link type of packets that start with an IP header of either version (LINKTYPE_RAW).
pub(crate) const LINK_TYPE_RAW: u16 = 101;

/// The secrets type of a TLS key log, "TLSK" (draft-ietf-opsawg-pcapng section 4.7).
pub const SECRETS_TLS_KEY_LOG: u32 = 0x544c_534b;

/// The block type that a file starts with, which reads the same in either byte order.
pub(crate) const SECTION_HEADER: u32 = block_type::SECTION_HEADER;

/// Block types (draft-ietf-opsawg-pcapng section 10.1).
mod block_type {
    pub(super) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
    pub(super) const INTERFACE_DESCRIPTION: u32 = 1;
    /// Obsolete, and written until 2010 or so: packets with a count of lost ones (appendix A).
    pub(super) const PACKET: u32 = 2;
    pub(super) const SIMPLE_PACKET: u32 = 3;
    pub(super) const NAME_RESOLUTION: u32 = 4;
    pub(super) const INTERFACE_STATISTICS: u32 = 5;
    pub(super) const ENHANCED_PACKET: u32 = 6;
    pub(super) const JOURNAL_EXPORT: u32 = 9;
    pub(super) const DECRYPTION_SECRETS: u32 = 0x0a;
}

/// Option codes, some of them per block type (draft-ietf-opsawg-pcapng sections 3.5, 4.1 to 4.3, 4.6).
mod option_code {
    pub(super) const END_OF_OPTIONS: u16 = 0;
    pub(super) const COMMENT: u16 = 1;
    pub(super) const SECTION_HARDWARE: u16 = 2;
    pub(super) const SECTION_OS: u16 = 3;
    pub(super) const SECTION_USER_APPLICATION: u16 = 4;
    pub(super) const PACKET_FLAGS: u16 = 2;
    pub(super) const INTERFACE_NAME: u16 = 2;
    pub(super) const INTERFACE_TIMESTAMP_RESOLUTION: u16 = 9;
    pub(super) const INTERFACE_TIMESTAMP_OFFSET: u16 = 14;
    pub(super) const PACKET_DROP_COUNT: u16 = 4;
    pub(super) const STATISTICS_INTERFACE_DROPS: u16 = 5;
    pub(super) const STATISTICS_SYSTEM_DROPS: u16 = 7;
}

/// The start of a Section Header Block, in the byte order of its section.
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// Bytes of a block around its body: type and total length before, total length after.
const BLOCK_FRAME_BYTES: u32 = 12;

/// The largest block that is read or written, in bytes.
pub(crate) const MAX_BLOCK_BYTES: u32 = 16 << 20;

/// The most interfaces that a section may describe.
pub(crate) const MAX_INTERFACES: usize = 65_536;

#[cfg(test)]
mod tests;
