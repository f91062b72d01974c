//! What an emulated link has done.

use serde::{Deserialize, Serialize};

/// What a link has done in a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkUse {
    /// From the devices to the server.
    pub up: DirectionUse,
    /// From the server to the devices.
    pub down: DirectionUse,
}

/// What one direction of a link has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DirectionUse {
    /// IP packets that entered it.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that it lost.
    pub lost: u64,
    /// Packets that found its queue full.
    pub queue_dropped: u64,
    /// Time in which its rate was in use, by the time that passed: 1 is all of it; null without a rate, or a packet.
    pub utilisation: Option<f64>,
}

impl LinkUse {
    /// The same with what another link has done at the same time; of utilisations the higher one counts.
    #[must_use]
    pub fn with(self, other: &Self) -> Self {
        Self {
            up: self.up.with(&other.up),
            down: self.down.with(&other.down),
        }
    }
}

impl DirectionUse {
    fn with(self, other: &Self) -> Self {
        let utilisation = self.utilisation.into_iter().chain(other.utilisation);
        Self {
            packets: self.packets + other.packets,
            bytes: self.bytes + other.bytes,
            lost: self.lost + other.lost,
            queue_dropped: self.queue_dropped + other.queue_dropped,
            utilisation: utilisation.reduce(f64::max),
        }
    }
}
