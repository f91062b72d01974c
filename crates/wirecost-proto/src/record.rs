//! The entries of a link's recorder, live and in virtual time: every packet that enters the link, and every copy that leaves
//! it.

use alloc::vec::Vec;

use crate::hosts::HostIndex;
use crate::{Direction, Fate, Instant};

/// A packet as it entered the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedPacket {
    /// The device that sent or receives it; `None` if it belongs to no device.
    pub host: Option<HostIndex>,
    /// Its direction.
    pub direction: Direction,
    /// When it entered.
    pub entered: Instant,
    /// The link's decision.
    pub fate: Fate,
    /// The IP packet.
    pub bytes: Vec<u8>,
}

/// A copy of a packet leaving the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedDelivery {
    /// Index of the packet, in the order of entry.
    pub packet: u64,
    /// The delivery time that the link model planned.
    pub planned: Instant,
    /// When it was given to the other side.
    pub actual: Instant,
    /// Whether all its bits are unchanged.
    pub intact: bool,
}

/// One entry of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A packet entered the link.
    Packet(RecordedPacket),
    /// A copy left it.
    Delivery(RecordedDelivery),
}
