//! What a target has counted and used.

use serde::{Deserialize, Serialize};
use wirecost_live::process::usage::OwnUsage;
use wirecost_results::figures::Deliveries;
use wirecost_stats::Histogram;

use crate::nanos;
use crate::target::Arrived;

/// What has arrived at a target since its start.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SinkReport {
    /// Messages, or requests, that arrived whole; repetitions that the protocol discards are left out.
    pub messages: u64,
    /// Bytes of their payload.
    pub payload_bytes: u64,
    /// Of the messages, those with a number that had arrived before; `None` without stamps.
    pub duplicates: Option<u64>,
    /// Of the messages, those behind one of the same device with a higher number; `None` without stamps. Of a message
    /// more than 64 numbers behind it is not known whether it came before: it counts here.
    pub out_of_order: Option<u64>,
    /// Of the messages, those too short for a stamp.
    pub unstamped: u64,
    /// Of the messages, those of a warm-up: intended before the end of it, or where they have no stamp, arrived before that.
    #[serde(default)]
    pub warm_up: Deliveries,
    /// Of the messages with a stamp that are not of a warm-up, those that came only when nothing was offered any more, and
    /// later than the first one of their phase took; repetitions are left out. 0 without stamps.
    #[serde(default)]
    pub worked_off: u64,
    /// From the intended send to the arrival, in nanoseconds, since [`super::Sink::begin_phase`] and without the warm-up;
    /// `None` without stamps. A message counts each time it arrives.
    pub one_way_delay: Option<Histogram>,
    /// What was used for it.
    pub usage: SinkUsage,
}

/// What a target has used since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SinkUsage {
    /// Messages that arrived.
    pub messages: u64,
    /// CPU time in user mode, in nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// CPU time of the busiest process, in nanoseconds. Each has one thread that serves: it cannot use more than one CPU.
    pub busiest_process_ns: u64,
    /// Resident memory in bytes.
    pub resident_bytes: u64,
    /// Its processes.
    pub processes: u32,
}

impl SinkReport {
    /// Adds what another process has counted.
    pub fn add(&mut self, other: &Self) {
        self.messages += other.messages;
        self.payload_bytes += other.payload_bytes;
        self.unstamped += other.unstamped;
        self.warm_up += other.warm_up;
        self.worked_off += other.worked_off;
        self.duplicates = add(self.duplicates, other.duplicates);
        self.out_of_order = add(self.out_of_order, other.out_of_order);
        match (&mut self.one_way_delay, &other.one_way_delay) {
            (Some(sum), Some(more)) => sum.merge(more),
            (sum @ None, Some(more)) => *sum = Some(more.clone()),
            (_, None) => {}
        }
        self.usage.add(&other.usage);
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
    /// Adds what another process has used.
    pub fn add(&mut self, other: &Self) {
        self.messages += other.messages;
        self.user_ns += other.user_ns;
        self.system_ns += other.system_ns;
        self.busiest_process_ns = self.busiest_process_ns.max(other.busiest_process_ns);
        self.resident_bytes += other.resident_bytes;
        self.processes += other.processes;
    }

    /// What this process has used.
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
