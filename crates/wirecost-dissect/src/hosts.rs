//! The same traffic as the loggers of two hosts have it: what arrived, what did not, and how long it took.
//!
//! A packet has no name, so that one of both captures is known by what no router, no address translation and no network card
//! changes: its length, and the beginning of its transport header and content without ports and checksum. The clocks of two
//! hosts differ. A packet cannot arrive before it was sent, which bounds the difference from both sides; its estimate is the
//! middle, as it is for NTP (RFC 5905, section 8), and half of the bounds' distance is printed with it. Bounds that exclude each other
//! show that a clock was set meanwhile.

mod clock;
mod groups;
mod log;
mod matched;
mod sides;
mod table;

use serde::Serialize;
use wirecost_proto::BothWays;

pub use clock::{ClockOffset, HostClocks};
pub use log::Log;
pub use table::table;

use sides::Sides;

/// What two loggers have of the same traffic. Up is from the host of the first capture to that of the second.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hosts {
    /// How far the clock of the second host is ahead, or that a clock was set.
    pub clock: HostClocks,
    /// Packets from the host of the first capture to that of the second.
    pub up: Passage,
    /// Packets from the host of the second capture to that of the first.
    pub down: Passage,
    /// The packets of each host that are not compared: other traffic, packets without a time, and packets of times when the other logger did
    /// not run. Where a clock was set, it is unknown when the other logger ran: those packets count as of the sender or the receiver alone.
    pub others: [u64; 2],
}

/// The packets of a direction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Passage {
    /// Packets that both loggers have.
    pub both: u64,
    /// What only the sender's logger has: lost packets, or segments that were cut on the way.
    pub sender_only: AtOneHost,
    /// What only the receiver's logger has: segments that were cut or joined on the way.
    pub receiver_only: AtOneHost,
    /// How long the packets of both loggers took; `None` without such packets, and where a clock was set.
    pub transit: Option<Transit>,
}

/// Packets and the bytes of their IP packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AtOneHost {
    /// Packets.
    pub packets: u64,
    /// IP bytes.
    pub bytes: u64,
}

/// Times from one logger to the other in nanoseconds. All of a direction are too long or too short by at most the clock's
/// [`within_ns`](ClockOffset::within_ns). A quantile is absent where there are too few packets for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Transit {
    /// The shortest.
    pub min_ns: u64,
    /// The median.
    pub p50_ns: Option<u64>,
    /// The 99th percentile.
    pub p99_ns: Option<u64>,
    /// The longest.
    pub max_ns: u64,
}

/// Why two captures cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoHosts {
    /// No packet is in both.
    Nothing,
    /// All packets of both went the same way, so that nothing bounds the clocks' difference.
    OneWay,
    /// The packets of both have the same times, or differ by the same in both directions, so that nothing tells who sent them: both
    /// captures are of one host, or their times are coarse.
    SameTimes,
}

impl Hosts {
    /// Compares the logs of two hosts.
    ///
    /// # Errors
    /// Nothing is in both, or in one direction alone, or the times are the same.
    pub fn compare(mut first: Log, mut second: Log) -> Result<Self, NoHosts> {
        groups::sorted(&mut first);
        groups::sorted(&mut second);
        let logs = [&first, &second];
        let sides = Sides::known(logs)?;
        let clock = HostClocks::estimated(&sides)?;
        let (BothWays { up, down }, others) = matched::ways(logs, &sides, &clock);
        Ok(Self {
            clock,
            up,
            down,
            others,
        })
    }

    /// Whether segments were cut or joined on the way.
    pub const fn is_cut_differently(&self) -> bool {
        self.up.receiver_only.packets + self.down.receiver_only.packets > 0
    }
}

#[cfg(test)]
mod tests;
