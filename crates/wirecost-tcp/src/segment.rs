//! A segment without its payload, options decoded.

use wirecost_wire::tcp::{Flags, SackBlocks};

/// The two clocks of the timestamps option (RFC 7323, section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// The sender's clock.
    pub value: u32,
    /// The peer's clock as last seen.
    pub echo: u32,
}

/// What a segment says, without ports and payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// The sequence number of the first byte, or of the SYN.
    pub sequence: u32,
    /// The next sequence number expected; significant with ACK.
    pub acknowledgment: u32,
    /// The control bits.
    pub flags: Flags,
    /// The window as it stands in the header: scaled already, except on a SYN.
    pub window: u16,
    /// The largest segment that the sender accepts; on a SYN.
    pub maximum_segment_size: Option<u16>,
    /// By how many bits the sender's windows are shifted; on a SYN.
    pub window_scale: Option<u8>,
    /// Whether the sender understands selective acknowledgments; on a SYN.
    pub sack_permitted: bool,
    /// The timestamps.
    pub timestamps: Option<Timestamps>,
    /// What arrived beyond the acknowledgment number.
    pub sack: SackBlocks,
}
