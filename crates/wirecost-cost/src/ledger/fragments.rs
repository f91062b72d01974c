//! Finds the datagram of later fragments (RFC 791 section 3.2, RFC 8200 section 4.5).

use std::collections::VecDeque;

use wirecost_wire::ip;

use super::DatagramId;
use crate::Ports;

/// The fields that the fragments of one datagram share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FragmentKey {
    pub(super) addresses: ip::Addresses,
    pub(super) protocol: ip::Protocol,
    pub(super) id: u32,
}

/// A datagram whose first fragment was seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fragmented {
    pub(super) key: FragmentKey,
    pub(super) flow: Ports,
    pub(super) id: DatagramId,
    /// Bytes of the whole datagram, UDP header included.
    pub(super) bytes: u32,
}

/// The last fragmented datagrams.
#[derive(Clone, Debug)]
pub(super) struct Fragments {
    recent: VecDeque<Fragmented>,
}

impl Fragments {
    /// Fragments of one datagram enter the link back to back; a few flows may interleave.
    const KEPT: usize = 64;

    pub(super) const fn new() -> Self {
        Self {
            recent: VecDeque::new(),
        }
    }

    pub(super) fn remember(&mut self, first: Fragmented) {
        if self.recent.len() >= Self::KEPT {
            self.recent.pop_front();
        }
        self.recent.push_back(first);
    }

    /// The newest datagram with this key: IPv4 reuses an identification after 65,536 datagrams.
    pub(super) fn find(&self, key: &FragmentKey) -> Option<Fragmented> {
        self.recent.iter().rev().find(|known| known.key == *key).copied()
    }
}
