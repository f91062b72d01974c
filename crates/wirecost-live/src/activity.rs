//! What the forwarder lets the drivers know while both run: when each device's link was last busy.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use wirecost_proto::Instant;

use crate::hosts::HostIndex;

/// When each device's link was last busy, and whether the recording still works.
#[derive(Debug)]
pub struct Activity {
    last: Vec<AtomicU64>,
    recording_failed: AtomicBool,
}

impl Activity {
    /// A table for `devices` devices, none of which has been active.
    pub fn new(devices: u32) -> Self {
        Self {
            last: (0..devices).map(|_| AtomicU64::new(0)).collect(),
            recording_failed: AtomicBool::new(false),
        }
    }

    /// Notes that the link of `host` is busy until `until`.
    pub fn note(&self, host: HostIndex, until: Instant) {
        if let Some(last) = self.last.get(host as usize) {
            last.fetch_max(until.as_nanos(), Ordering::Relaxed);
        }
    }

    /// Until when the link of `host` was, or is known to be, busy.
    pub fn last(&self, host: HostIndex) -> Instant {
        let last = self
            .last
            .get(host as usize)
            .map_or(0, |last| last.load(Ordering::Relaxed));
        Instant::from_nanos(last)
    }

    /// Notes that packets are no longer recorded (full disk).
    pub fn fail_recording(&self) {
        self.recording_failed.store(true, Ordering::Relaxed);
    }

    /// Whether packets are no longer recorded.
    pub fn recording_failed(&self) -> bool {
        self.recording_failed.load(Ordering::Relaxed)
    }
}
