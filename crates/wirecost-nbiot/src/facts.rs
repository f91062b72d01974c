//! What devices and cells did: airtime, states, counts.

use std::time::Duration;

use crate::subframe::duration;

/// Time on the air of one device, by channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Airtime {
    /// Preambles.
    pub nprach: Duration,
    /// DCIs for the device, sent to it whether or not it decoded them.
    pub npdcch: Duration,
    /// Downlink blocks for the device, random access responses included.
    pub npdsch: Duration,
    /// Uplink blocks of the device (NPUSCH format 1).
    pub npusch_data: Duration,
    /// HARQ-ACKs of the device (NPUSCH format 2).
    pub npusch_ack: Duration,
}

/// How long a device was in which state, from the begin of random access to the return to idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateTimes {
    /// It transmits.
    pub transmit: Duration,
    /// It receives DCIs and blocks that are for it.
    pub receive: Duration,
    /// It monitors search spaces: the share of waiting time that they take.
    pub monitor: Duration,
    /// It waits without receiver: for an occasion, between search spaces, in gaps, and between on durations of C-DRX.
    pub idle_connected: Duration,
}

/// What one device did so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UeFacts {
    /// Its serving cell.
    pub cell: usize,
    /// Its coverage level by threshold: 0, 1 or 2.
    pub coverage_level: usize,
    /// Path gain to the serving cell with both antennas, in dB.
    pub path_gain_db: f64,
    /// Time on the air by channel.
    pub airtime: Airtime,
    /// Time in each state.
    pub states: StateTimes,
    /// Preambles sent.
    pub preambles: u32,
    /// Preambles lost in collisions.
    pub collisions: u32,
    /// Connections established; a device that sends early data has none.
    pub connections: u32,
    /// Retransmissions of blocks, Msg3 and Msg4 included.
    pub harq_retransmissions: u32,
    /// Retransmissions of RLC packet data units.
    pub rlc_retransmissions: u64,
}

/// What one cell did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CellFacts {
    /// DCIs sent, by coverage level.
    pub dci_used: [u64; 3],
    /// DCIs that all search spaces so far could have carried, by coverage level.
    pub dci_available: [u64; 3],
    /// Time of NPDCCH.
    pub npdcch: Duration,
    /// Time of NPDSCH.
    pub npdsch: Duration,
    /// Time of usable downlink subframes so far.
    pub downlink_available: Duration,
    /// Time of NPUSCH of both formats, in full carriers: one tone for 12 ms is 1 ms.
    pub npusch: Duration,
    /// Time of the uplink carrier less NPRACH so far.
    pub uplink_available: Duration,
    /// Responses to random access sent.
    pub responses: u64,
}

impl CellFacts {
    /// Both together.
    pub(crate) fn plus(self, other: Self) -> Self {
        let sum = |one: [u64; 3], other: [u64; 3]| std::array::from_fn(|level| one[level] + other[level]);
        Self {
            dci_used: sum(self.dci_used, other.dci_used),
            dci_available: sum(self.dci_available, other.dci_available),
            npdcch: self.npdcch + other.npdcch,
            npdsch: self.npdsch + other.npdsch,
            downlink_available: self.downlink_available + other.downlink_available,
            npusch: self.npusch + other.npusch,
            uplink_available: self.uplink_available + other.uplink_available,
            responses: self.responses + other.responses,
        }
    }
}

/// Counters of one device, in subframes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UeCounters {
    pub(crate) nprach: u64,
    pub(crate) npdcch: u64,
    pub(crate) npdsch: u64,
    pub(crate) npusch_data: u64,
    pub(crate) npusch_ack: u64,
    /// Time since the begin of random access, of connections that ended.
    pub(crate) active: u64,
    /// Time of it in which the device waited for an NPRACH occasion.
    pub(crate) occasion_wait: u64,
    /// Time of it in which C-DRX had the receiver off.
    pub(crate) asleep: u64,
    pub(crate) preambles: u32,
    pub(crate) collisions: u32,
    pub(crate) connections: u32,
    pub(crate) harq_retransmissions: u32,
}

impl UeCounters {
    pub(crate) const fn airtime(&self) -> Airtime {
        Airtime {
            nprach: duration(self.nprach),
            npdcch: duration(self.npdcch),
            npdsch: duration(self.npdsch),
            npusch_data: duration(self.npusch_data),
            npusch_ack: duration(self.npusch_ack),
        }
    }

    /// The time in each state, of `active` subframes, where search spaces take the share `duty` of time.
    pub(crate) fn states(&self, active: u64, duty: f64) -> StateTimes {
        let transmit = self.nprach + self.npusch_data + self.npusch_ack;
        let receive = self.npdcch + self.npdsch;
        let waiting = active.saturating_sub(transmit + receive);
        let listening = waiting.saturating_sub(self.occasion_wait + self.asleep);
        let monitor = (listening as f64 * duty) as u64;
        StateTimes {
            transmit: duration(transmit),
            receive: duration(receive),
            monitor: duration(monitor),
            idle_connected: duration(waiting - monitor),
        }
    }
}

/// Counters of one cell, in subframes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CellCounters {
    pub(crate) dci: [u64; 3],
    pub(crate) npdcch: u64,
    pub(crate) npdsch: u64,
    /// Subframes times bins of 3.75 kHz.
    pub(crate) npusch_bins: u64,
    pub(crate) responses: u64,
}
