//! Use of an emulated link.

use serde::{Deserialize, Serialize};

/// Use of a link in a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkUse {
    /// From the devices to the server.
    pub up: DirectionUse,
    /// From the server to the devices.
    pub down: DirectionUse,
}

/// Use of one of several links: the packets between two sites.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HopUse {
    /// The two sites, joined by `-`. Up is from devices to their server, and between two servers from the first site to the second.
    pub hop: String,
    /// Its use.
    #[serde(flatten)]
    pub used: LinkUse,
}

/// Use of one direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectionUse {
    /// IP packets that entered it.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The part of `bytes` that is of devices that subscribe; the rest is of those that send. Absent where devices have no
    /// addresses of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscriber_bytes: Option<u64>,
    /// Packets that it lost.
    pub lost: u64,
    /// Packets that found its queue full.
    pub queue_dropped: u64,
    /// Time in which the direction was transmitting divided by the time that passed: 1 is all of the time; null without
    /// a rate or without a packet.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub utilisation: Option<f64>,
}

impl HopUse {
    /// The sums of the uses of the same hops.
    pub fn sums(hops: &[Self], others: &[Self]) -> Vec<Self> {
        let sum = |hop: &Self| {
            let same = others.iter().find(|other| other.hop == hop.hop);
            Self {
                used: same.map_or(hop.used, |same| hop.used.with(&same.used)),
                ..hop.clone()
            }
        };
        hops.iter().map(sum).collect()
    }
}

impl LinkUse {
    /// The same of a hop, whose name tells whose bytes they are.
    #[must_use]
    pub const fn of_one_hop(mut self) -> Self {
        (self.up.subscriber_bytes, self.down.subscriber_bytes) = (None, None);
        self
    }

    /// The sum of this use and the use of another link at the same time. Of two utilisations the higher one counts.
    #[must_use]
    pub fn with(self, other: &Self) -> Self {
        Self {
            up: self.up.with(&other.up),
            down: self.down.with(&other.down),
        }
    }
}

impl DirectionUse {
    /// The bytes of the devices that send; `None` where they are not told from subscribers.
    pub fn sender_bytes(&self) -> Option<u64> {
        Some(self.bytes.saturating_sub(self.subscriber_bytes?))
    }

    fn with(self, other: &Self) -> Self {
        let utilisation = self.utilisation.into_iter().chain(other.utilisation);
        Self {
            packets: self.packets + other.packets,
            bytes: self.bytes + other.bytes,
            subscriber_bytes: match (self.subscriber_bytes, other.subscriber_bytes) {
                (Some(one), Some(other)) => Some(one + other),
                (one, other) => one.or(other),
            },
            lost: self.lost + other.lost,
            queue_dropped: self.queue_dropped + other.queue_dropped,
            // A mean would hide that one of them was full.
            utilisation: utilisation.reduce(f64::max),
        }
    }
}
