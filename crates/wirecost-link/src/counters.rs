//! Counters of packets and their fates.

use std::ops::AddAssign;
use std::time::Duration;

/// A number of packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Packets.
    pub packets: u64,
    /// Their IP bytes.
    pub bytes: u64,
}

impl Traffic {
    pub(crate) fn add(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }

    pub(crate) fn remove(&mut self, bytes: u64) {
        self.packets -= 1;
        self.bytes -= bytes;
    }
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        let Self { packets, bytes } = other;
        self.packets += packets;
        self.bytes += bytes;
    }
}

/// The decisions of one direction of a link.
///
/// `offered` = `delivered` + `lost` + `queue_dropped` + `too_large`, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that entered the link.
    pub offered: Traffic,
    /// Packets that were delivered at least once, intact or not, without extra copies.
    pub delivered: Traffic,
    /// Packets lost on the link.
    pub lost: u64,
    /// Packets that a full queue dropped.
    pub queue_dropped: u64,
    /// Packets above the MTU.
    pub too_large: u64,
    /// Packets to the device without a mapping of the address translator: they do not enter the link.
    pub unmapped: u64,
    /// Packets delivered twice.
    pub duplicated: u64,
    /// Copies delivered with a flipped bit.
    pub corrupted: u64,
    /// Packets held back, even if no other packet overtook them.
    pub reordered: u64,
    /// Packets sent at the rate, delivered or lost; zero without a rate.
    pub serialised: Traffic,
    /// The time it took to send them.
    pub busy: Duration,
    /// The highest occupancy of the queue: packets and bytes, each separately.
    pub queue_high_water: Traffic,
}

impl Counters {
    /// The packets that reached the loss stage.
    pub fn exposed_to_loss(&self) -> u64 {
        self.delivered.packets + self.lost
    }

    pub(crate) fn raise_high_water(&mut self, backlog: Traffic) {
        let high = &mut self.queue_high_water;
        high.packets = high.packets.max(backlog.packets);
        high.bytes = high.bytes.max(backlog.bytes);
    }
}

impl AddAssign for Counters {
    /// Adds the counters of another link of the same configuration; takes the higher high-water marks.
    fn add_assign(&mut self, other: Self) {
        let Self {
            offered,
            delivered,
            lost,
            queue_dropped,
            too_large,
            unmapped,
            duplicated,
            corrupted,
            reordered,
            serialised,
            busy,
            queue_high_water,
        } = other;
        self.offered += offered;
        self.delivered += delivered;
        self.lost += lost;
        self.queue_dropped += queue_dropped;
        self.too_large += too_large;
        self.unmapped += unmapped;
        self.duplicated += duplicated;
        self.corrupted += corrupted;
        self.reordered += reordered;
        self.serialised += serialised;
        self.busy += busy;
        self.raise_high_water(queue_high_water);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_adds_everything_but_the_high_water_marks() {
        let traffic = |packets| Traffic {
            packets,
            bytes: packets * 100,
        };
        let times = |factor: u64| Counters {
            offered: traffic(factor * 20),
            delivered: traffic(factor * 14),
            lost: factor * 3,
            queue_dropped: factor * 2,
            too_large: factor,
            unmapped: factor * 8,
            duplicated: factor * 4,
            corrupted: factor * 5,
            reordered: factor * 6,
            serialised: traffic(factor * 17),
            busy: Duration::from_millis(factor * 7),
            queue_high_water: traffic(8),
        };
        let mut sum = times(1);
        sum += times(2);
        assert_eq!(sum, times(3));
    }
}
