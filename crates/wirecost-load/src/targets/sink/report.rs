//! The counts and the usage of a target.

use serde::{Deserialize, Serialize};
use wirecost_live::process::usage::OwnUsage;
use wirecost_results::figures::Deliveries;
use wirecost_stats::Histogram;

use crate::nanos;
use crate::parts::usage::Arrived;

/// The arrivals at a target since its start.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SinkReport {
    /// Messages or requests that arrived completely, without the repetitions that the protocol discards.
    pub messages: u64,
    /// Bytes of their payload.
    pub payload_bytes: u64,
    /// Messages whose number had arrived before; `None` without stamps.
    pub duplicates: Option<u64>,
    /// Messages that arrived after one of the same device with a higher number; `None` without stamps. A message more
    /// than 64 numbers behind counts here, because it is unknown whether it came before.
    pub out_of_order: Option<u64>,
    /// Messages that are too short for a stamp.
    pub unstamped: u64,
    /// Messages of a warm-up: intended before its end, or arrived before its end if they have no stamp.
    #[serde(default)]
    pub warm_up: Deliveries,
    /// Stamped messages outside the warm-up that arrived after the end of the offer, plus the time that the first one
    /// of their phase took, without repetitions. 0 without stamps.
    #[serde(default)]
    pub worked_off: u64,
    /// From the intended send to the arrival, in nanoseconds, since [`super::Sink::begin_phase`] and without the
    /// warm-up; `None` without stamps. A message counts each time it arrives.
    pub one_way_delay: Option<Histogram>,
    /// What the process has used since its start.
    pub usage: SinkUsage,
}

/// The resources that a target has used since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SinkUsage {
    /// Messages that arrived.
    pub messages: u64,
    /// CPU time in user mode, in nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// CPU time of the busiest process, in nanoseconds. Each process serves with one thread, hence uses at most one
    /// CPU.
    pub busiest_process_ns: u64,
    /// Resident memory in bytes.
    pub resident_bytes: u64,
    /// Number of processes.
    pub processes: u32,
}

impl SinkReport {
    /// Adds the counts of another process.
    pub fn add(&mut self, other: &Self) {
        let Self {
            messages,
            payload_bytes,
            unstamped,
            duplicates,
            out_of_order,
            warm_up,
            worked_off,
            one_way_delay,
            usage,
        } = other;
        self.messages += messages;
        self.payload_bytes += payload_bytes;
        self.unstamped += unstamped;
        self.warm_up += *warm_up;
        // All fields are named above, so that a new count cannot be forgotten here.
        self.worked_off += worked_off;
        self.duplicates = add(self.duplicates, *duplicates);
        self.out_of_order = add(self.out_of_order, *out_of_order);
        match (&mut self.one_way_delay, one_way_delay) {
            (Some(sum), Some(more)) => sum.merge(more),
            (sum @ None, Some(more)) => *sum = Some(more.clone()),
            (_, None) => {}
        }
        self.usage.add(usage);
    }
}

impl From<SinkReport> for Arrived {
    fn from(report: SinkReport) -> Self {
        Self {
            deliveries: Deliveries {
                arrived: report.messages,
                duplicates: report.duplicates.unwrap_or(0),
                out_of_order: report.out_of_order.unwrap_or(0),
                ..Deliveries::default()
            },
            warm_up: report.warm_up,
            worked_off: report.worked_off,
            one_way_delay: report.one_way_delay.filter(|delays| !delays.is_empty()),
        }
    }
}

fn add(sum: Option<u64>, more: Option<u64>) -> Option<u64> {
    sum.into_iter().chain(more).reduce(|sum, more| sum + more)
}

impl SinkUsage {
    /// Adds the usage of another process.
    pub fn add(&mut self, other: &Self) {
        let Self {
            messages,
            user_ns,
            system_ns,
            busiest_process_ns,
            resident_bytes,
            processes,
        } = other;
        self.messages += messages;
        self.user_ns += user_ns;
        self.system_ns += system_ns;
        // Not a sum: one process that is full is a limit, however idle the others are.
        self.busiest_process_ns = self.busiest_process_ns.max(*busiest_process_ns);
        self.resident_bytes += resident_bytes;
        self.processes += processes;
    }

    /// The usage of this process.
    pub(super) fn own(messages: u64) -> Self {
        let usage = OwnUsage::read().unwrap_or_default();
        Self {
            messages,
            user_ns: nanos(usage.user),
            system_ns: nanos(usage.system),
            busiest_process_ns: nanos(usage.user + usage.system),
            resident_bytes: usage.resident_bytes,
            processes: 1,
        }
    }
}
