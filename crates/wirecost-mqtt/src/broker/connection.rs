//! What the broker keeps of one flow.

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
    /// What the front of a packet takes of the broker's memory until the rest is there.
    pub(super) partial: Share,
    /// When the last packet came.
    pub(super) heard: Instant,
    pub(super) stage: Stage,
}

/// The state of a flow.
#[derive(Debug)]
pub(super) enum Stage {
    AwaitConnect,
    Connected(Link),
    /// The broker closes it after what it has to say; what still comes is ignored.
    Ending,
}

/// What is true of an accepted connection.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) session: SessionId,
    pub(super) version: Version,
    /// How long the client may be silent; `None` for ever.
    pub(super) patience: Option<Duration>,
    pub(super) takes: PacketLimit,
    pub(super) sent_aliases: SentAliases,
    pub(super) received_aliases: ReceivedAliases,
    /// Whether the transport takes no more for the present: messages wait in the queue of the session, which they share with
    /// others, and not as bytes.
    pub(super) is_congested: bool,
}

impl Link {
    pub(super) const fn takes(&self, bytes: usize) -> bool {
        self.takes.takes(bytes)
    }
}

/// The largest packet that a client takes, in bytes [MQTT-3.1.2-24].
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
