//! The state of one flow.

use alloc::boxed::Box;
use core::time::Duration;

use wirecost_proto::Instant;

use super::memory::{Memory, Reservation};
use super::session::SessionId;
use crate::aliases::{ReceivedAliases, SentAliases};
use crate::codec::framing::LARGEST_PACKET;
use crate::codec::{Framer, Version};

/// A flow, from its opening to its close.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) framer: Framer,
    /// The memory of an incomplete packet.
    pub(super) partial: Reservation,
    /// When the last packet arrived.
    pub(super) last_received: Instant,
    pub(super) state: State,
}

/// The state of a flow.
#[derive(Debug)]
pub(super) enum State {
    AwaitConnect,
    Connected(Accepted),
    /// The broker closes the flow after its last packet, and ignores what it receives.
    Ending,
}

/// The state of an accepted connection.
#[derive(Debug)]
pub(super) struct Accepted {
    pub(super) session: SessionId,
    pub(super) version: Version,
    /// How long the client may send nothing; `None` means no limit.
    pub(super) time_out: Option<Duration>,
    pub(super) packet_limit: PacketLimit,
    /// `None` if neither side accepts topic aliases.
    pub(super) aliases: Option<Box<Aliases>>,
    /// Whether the transport is full. Messages then stay in the queue of the session, where they are shared, instead of
    /// being encoded.
    pub(super) is_congested: bool,
}

/// The topic aliases of a connection.
#[derive(Debug)]
pub(super) struct Aliases {
    pub(super) sent: SentAliases,
    pub(super) received: ReceivedAliases,
}

impl Accepted {
    pub(super) const fn allows(&self, bytes: usize) -> bool {
        self.packet_limit.allows(bytes)
    }
}

/// The largest packet that a client accepts, in bytes [MQTT-3.1.2-24].
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketLimit(u32);

impl PacketLimit {
    pub(super) fn new(maximum: Option<u32>) -> Self {
        // No packet is longer, whatever a client says that it accepts.
        Self(maximum.unwrap_or(LARGEST_PACKET).min(LARGEST_PACKET))
    }

    pub(super) const fn allows(self, bytes: usize) -> bool {
        bytes as u64 <= self.0 as u64
    }
}

impl Connection {
    pub(super) fn new(limit: u32, now: Instant, memory: &Memory) -> Self {
        Self {
            framer: Framer::new(limit),
            partial: memory.reserve(0),
            last_received: now,
            state: State::AwaitConnect,
        }
    }

    pub(super) const fn accepted(&self) -> Option<&Accepted> {
        match &self.state {
            State::Connected(accepted) => Some(accepted),
            State::AwaitConnect | State::Ending => None,
        }
    }

    pub(super) const fn accepted_mut(&mut self) -> Option<&mut Accepted> {
        match &mut self.state {
            State::Connected(accepted) => Some(accepted),
            State::AwaitConnect | State::Ending => None,
        }
    }
}
