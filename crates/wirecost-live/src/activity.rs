//! State that the forwarder and the users of its link share while both run.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use wirecost_proto::Instant;

use wirecost_proto::hosts::HostIndex;

/// When each device's link was last busy, whether the recording still works, and the delay of the path itself.
#[derive(Debug)]
pub struct Activity {
    last: Vec<AtomicU64>,
    recording_failed: AtomicBool,
    head_start_nanos: AtomicU64,
    /// The flows that devices have opened, in the order of opening.
    flows: Mutex<Vec<OpenedFlow>>,
}

/// A flow of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenedFlow {
    /// When it was opened.
    pub at: Instant,
    /// The device.
    pub host: HostIndex,
    /// The address of the device's socket.
    pub local: SocketAddr,
}

impl Activity {
    /// A table for `devices` devices that have not been active.
    pub fn new(devices: u32) -> Self {
        Self {
            last: (0..devices).map(|_| AtomicU64::new(0)).collect(),
            recording_failed: AtomicBool::new(false),
            head_start_nanos: AtomicU64::new(0),
            flows: Mutex::default(),
        }
    }

    /// Notes a flow that a device has opened.
    pub(crate) fn open(&self, flow: OpenedFlow) {
        self.with_flows(|flows| flows.push(flow));
    }

    /// Reads the flows so far, in the order of opening.
    pub(crate) fn with_flows<T>(&self, read: impl FnOnce(&mut Vec<OpenedFlow>) -> T) -> T {
        // A list is whole even if a thread panicked while it held the lock.
        read(&mut self.flows.lock().unwrap_or_else(PoisonError::into_inner))
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
