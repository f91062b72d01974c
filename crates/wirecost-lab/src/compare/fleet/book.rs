//! What the devices of a fleet note together.

use std::time::Duration;

use wirecost_results::summary::Outcomes;
use wirecost_stats::Histogram;

/// The notes of a fleet.
#[derive(Debug)]
pub(super) struct MessageTracker {
    /// From the intended start of a connect until the client may send.
    pub(super) connects: Histogram,
    /// From the intended send of a message until its answer, of those that came in time.
    pub(super) responses: Histogram,
    /// From the actual send.
    pub(super) services: Histogram,
    /// How messages ended.
    pub(super) outcomes: Outcomes,
    /// Messages that were handed to their endpoints.
    pub(super) sent: u64,
    /// Devices that closed their connection.
    pub(super) closed: u64,
    /// Devices that failed, and the first one's reason.
    pub(super) failures: (u64, Option<String>),
}

impl Default for MessageTracker {
    fn default() -> Self {
        Self {
            connects: Histogram::new(),
            responses: Histogram::new(),
            services: Histogram::new(),
            outcomes: Outcomes::default(),
            sent: 0,
            closed: 0,
            failures: (0, None),
        }
    }
}

impl MessageTracker {
    /// An answer after so long, from the intended and from the actual send.
    pub(super) fn acknowledged(&mut self, response: Duration, service: Duration, timeout: Duration) {
        if response > timeout {
            self.outcomes.late += 1;
            return;
        }
        self.outcomes.acknowledged += 1;
        self.responses.record(nanos(response));
        self.services.record(nanos(service));
    }

    /// A device that can do no more.
    pub(super) fn failed(&mut self, why: String) {
        self.failures.0 += 1;
        self.failures.1.get_or_insert(why);
    }
}

pub(super) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
