//! What the broker keeps of one flow.

use core::time::Duration;

use wirecost_proto::Instant;

use super::session::SessionId;
use crate::aliases::{ReceivedAliases, SentAliases};
use crate::codec::{Framer, Version};

/// A flow, from its opening to its close.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) framer: Framer,
    /// When the last packet came.
    pub(super) heard: Instant,
    pub(super) stage: Stage,
}

/// Where a flow stands.
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
    /// The largest packet that the client takes, in bytes.
    pub(super) maximum_packet_size: Option<u32>,
    pub(super) sent_aliases: SentAliases,
    pub(super) received_aliases: ReceivedAliases,
}

impl Link {
    pub(super) fn takes(&self, bytes: usize) -> bool {
        self.maximum_packet_size
            .is_none_or(|limit| bytes as u64 <= u64::from(limit))
    }
}

impl Connection {
    pub(super) const fn new(limit: u32, now: Instant) -> Self {
        Self {
            framer: Framer::new(limit),
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
