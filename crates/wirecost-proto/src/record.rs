//! What a link's recorder notes, on kernel sockets and in virtual time alike: every packet at its entry, every copy
//! that leaves.

use alloc::vec::Vec;

use crate::hosts::HostIndex;
use crate::{Direction, Fate, Instant};

/// A packet as it entered the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedPacket {
    /// The device that sent it or that it is for; `None` for a packet of no device.
    pub host: Option<HostIndex>,
    /// Which way it travels.
    pub direction: Direction,
    /// When it entered.
    pub entered: Instant,
    /// What the link decided.
    pub fate: Fate,
    /// The IP packet.
    pub bytes: Vec<u8>,
}

/// A copy of a packet leaving the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedDelivery {
    /// Index of the packet, in the order of entry.
    pub packet: u64,
    /// When the link's model wanted it delivered.
    pub planned: Instant,
    /// When it was handed to the other side.
    pub actual: Instant,
    /// Whether no bit of it was flipped.
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
