//! What the ledger found a packet to be.

use wirecost_proto::{Cause, Phase};

use crate::{DatagramId, Ports};

/// What one packet was, beside the spans that cover it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketVerdict {
    /// The packet's phase: that of its headers.
    pub phase: Phase,
    /// Why the packet was sent: the cause of its headers.
    pub cause: Cause,
    /// Bytes of the IP packet; what lies behind its end in the captured bytes is not counted.
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
    /// None, or none of a known flow.
    None,
    /// A run of a TCP direction's stream.
    Stream {
        /// The connection.
        flow: Ports,
        /// Offset of the first byte in the stream; the first byte of all has 0.
        start: u64,
        /// Offset after the last byte.
        end: u64,
    },
    /// A UDP datagram or a fragment of one.
    Datagram {
        /// The flow.
        flow: Ports,
        /// Which datagram.
        id: DatagramId,
        /// Offset of the first byte in the datagram, UDP header included.
        start: u32,
        /// Offset after the last byte.
        end: u32,
        /// Bytes of the whole datagram, UDP header included.
        of: u32,
    },
}
