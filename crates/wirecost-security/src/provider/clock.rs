use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;
use wirecost_proto::Instant;

use crate::Epoch;

/// The time of one endpoint: the `now` of its last input. Clones share it.
#[derive(Clone, Debug)]
pub struct Clock {
    epoch: Epoch,
    nanos: Arc<AtomicU64>,
}

impl Clock {
    /// A clock at the start of the run.
    pub fn new(epoch: Epoch) -> Self {
        Self {
            epoch,
            nanos: Arc::default(),
        }
    }

    /// Moves to `now`.
    pub fn set(&self, now: Instant) {
        self.nanos.store(now.as_nanos(), Ordering::Relaxed);
    }
}

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        let now = Instant::from_nanos(self.nanos.load(Ordering::Relaxed));
        Some(UnixTime::since_unix_epoch(self.epoch.unix_at(now)))
    }
}
