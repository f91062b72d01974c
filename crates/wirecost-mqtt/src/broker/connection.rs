//! The state of one flow.

use core::time::Duration;

use wirecost_proto::Instant;

use super::memory::{Memory, Share};
use super::session::SessionId;
use crate::aliases::{ReceivedAliases, SentAliases};
use crate::codec::framing::LARGEST_PACKET;
use crate::codec::{Framer, Version};

/// A flow, from its opening to its close.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) framer: Framer,
    /// The memory of an incomplete packet.
    pub(super) partial: Share,
    /// When the last packet arrived.
    pub(super) heard: Instant,
    pub(super) stage: Stage,
}

/// The state of a flow.
#[derive(Debug)]
pub(super) enum Stage {
    AwaitConnect,
    Connected(Link),
    /// The broker closes the flow after its last packet, and ignores what it receives.
    Ending,
}

/// The state of an accepted connection.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) session: SessionId,
    pub(super) version: Version,
    /// How long the client may send nothing; `None` means no limit.
    pub(super) patience: Option<Duration>,
    pub(super) takes: PacketLimit,
    pub(super) sent_aliases: SentAliases,
    pub(super) received_aliases: ReceivedAliases,
    /// Whether the transport is full. Messages then stay in the queue of the session, where they are shared, instead of
    /// being encoded.
    pub(super) is_congested: bool,
}

impl Link {
    pub(super) const fn takes(&self, bytes: usize) -> bool {
        self.takes.takes(bytes)
    }
}

/// The largest packet that a client accepts, in bytes [MQTT-3.1.2-24].
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketLimit(u32);

impl PacketLimit {
    pub(super) fn new(maximum: Option<u32>) -> Self {
        Self(maximum.unwrap_or(LARGEST_PACKET))
    }

    pub(super) const fn takes(self, bytes: usize) -> bool {
        bytes as u64 <= self.0 as u64
    }
}

impl Connection {
    pub(super) fn new(limit: u32, now: Instant, memory: &Memory) -> Self {
        Self {
            framer: Framer::new(limit),
            partial: memory.share(0),
            heard: now,
            stage: Stage::AwaitConnect,
        }
    }

    pub(super) const fn link(&self) -> Option<&Link> {
        match &self.stage {
            Stage::Connected(link) => Some(link),
            Stage::AwaitConnect | Stage::Ending => None,
        }
    }

    pub(super) const fn link_mut(&mut self) -> Option<&mut Link> {
        match &mut self.stage {
            Stage::Connected(link) => Some(link),
            Stage::AwaitConnect | Stage::Ending => None,
        }
    }
}
