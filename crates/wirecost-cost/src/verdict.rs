//! The ledger's result for a packet.

use wirecost_proto::{Cause, Phase};

use crate::{DatagramId, Ports};

/// The ledger's result for one packet, apart from the spans that cover it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketVerdict {
    /// The packet's phase: that of its headers.
    pub phase: Phase,
    /// The cause of the packet: that of its headers.
    pub cause: Cause,
    /// Bytes of the IP packet, without captured bytes after its end.
    pub wire_bytes: u32,
    /// Bytes of the packet that no endpoint described.
    pub unattributed_bytes: u32,
    /// Bytes of the layer `payload` in the packet that were not sent before.
    pub payload_bytes_original: u32,
    /// Where the packet's content is in its flow.
    pub content: Content,
}

/// Which bytes of which flow a packet carries. Ranges are half-open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// No content, or none of a known flow.
    None,
    /// A range of the stream of a TCP direction.
    Stream {
        /// The connection.
        flow: Ports,
        /// Offset of the first byte; the first byte of the stream has offset 0.
        start: u64,
        /// Offset after the last byte.
        end: u64,
    },
    /// A UDP datagram or a fragment of one.
    Datagram {
        /// The flow.
        flow: Ports,
        /// The datagram.
        id: DatagramId,
        /// Offset of the first byte in the datagram, including the UDP header.
        start: u32,
        /// Offset after the last byte.
        end: u32,
        /// Bytes of the whole datagram, including the UDP header.
        of: u32,
    },
}
