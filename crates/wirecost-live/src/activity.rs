//! State that the forwarder and the users of its link share while both run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use wirecost_proto::Instant;

use wirecost_proto::hosts::HostIndex;

/// When each device's link was last busy, whether the recording still works, and the delay of the path itself.
#[derive(Debug)]
pub struct Activity {
    last: Vec<AtomicU64>,
    recording_failed: AtomicBool,
    head_start_nanos: AtomicU64,
}

impl Activity {
    /// A table for `devices` devices that have not been active.
    pub fn new(devices: u32) -> Self {
        Self {
            last: (0..devices).map(|_| AtomicU64::new(0)).collect(),
            recording_failed: AtomicBool::new(false),
            head_start_nanos: AtomicU64::new(0),
        }
    }

    /// Notes that the link of `host` is busy until `until`.
    pub fn note(&self, host: HostIndex, until: Instant) {
        if let Some(last) = self.last.get(host as usize) {
            last.fetch_max(until.as_nanos(), Ordering::Relaxed);
        }
    }

    /// Until when the link of `host` was or will be busy.
    pub fn last(&self, host: HostIndex) -> Instant {
        let last = self
            .last
            .get(host as usize)
            .map_or(0, |last| last.load(Ordering::Relaxed));
        Instant::from_nanos(last)
    }

    /// Notes that packets are no longer recorded (full disk).
    pub(crate) fn fail_recording(&self) {
        self.recording_failed.store(true, Ordering::Relaxed);
    }

    /// Whether packets are no longer recorded.
    pub fn recording_failed(&self) -> bool {
        self.recording_failed.load(Ordering::Relaxed)
    }

    /// Sets the delay of the path itself from one side to the other.
    pub fn set_head_start(&self, head_start: Duration) {
        let nanos = u64::try_from(head_start.as_nanos()).unwrap_or(u64::MAX);
        self.head_start_nanos.store(nanos, Ordering::Relaxed);
    }

    /// How long before its time the forwarder hands a packet over, to compensate for the path.
    pub fn head_start(&self) -> Duration {
        Duration::from_nanos(self.head_start_nanos.load(Ordering::Relaxed))
    }
}
