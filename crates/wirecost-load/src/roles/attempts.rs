//! What devices attempt beside messages: handshakes, and to come back. An attempt is counted as a message is: when it was
//! intended, and in exactly one outcome.

use std::collections::VecDeque;

use wirecost_proto::Instant;
use wirecost_results::figures::record;

use crate::tracker::MessageTracker;

/// How an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The server said no.
    Refused,
    /// The transport or a layer failed, or there was no time left.
    Failed,
}

/// The attempts of a part's devices in one phase.
#[derive(Debug)]
pub struct Attempts {
    each: Vec<Attempt>,
    outstanding: usize,
}

#[derive(Clone, Debug, Default)]
struct Attempt {
    /// Intended, and not begun.
    waiting: VecDeque<Instant>,
    /// When the one at work was intended, and when it began.
    at_work: Option<(Instant, Instant)>,
}

impl Attempts {
    /// No attempts yet, of `devices`.
    pub fn new(devices: usize) -> Self {
        Self {
            each: vec![Attempt::default(); devices],
            outstanding: 0,
        }
    }

    /// Notes an attempt that is intended for a device, noticed `now`. `free` says that the device begins at once: what
    /// it was late is the generator's lag.
    pub fn offer(
        &mut self,
        device: usize,
        intended: Instant,
        now: Instant,
        free: bool,
        tracker: &mut MessageTracker,
    ) {
        self.each[device].waiting.push_back(intended);
        self.outstanding += 1;
        let interval = tracker.now(intended);
        interval.outcomes.offered += 1;
        if free {
            record(&mut interval.schedule_lag, now.saturating_since(intended));
        }
    }

    /// The device begins its next attempt, if there is one and none at work.
    pub fn begin(&mut self, device: usize, now: Instant, tracker: &mut MessageTracker) -> bool {
        let attempt = &mut self.each[device];
        if attempt.at_work.is_some() {
            return false;
        }
        let Some(intended) = attempt.waiting.pop_front() else {
            return false;
        };
        attempt.at_work = Some((intended, now));
        tracker.now(intended).sent += 1;
        true
    }

    /// The attempt at work has come about.
    pub fn succeed(&mut self, device: usize, now: Instant, tracker: &mut MessageTracker) {
        let Some((intended, began)) = self.each[device].at_work.take() else {
            return;
        };
        self.outstanding -= 1;
        let response = now.saturating_since(intended);
        let late = response > tracker.rules().timeout;
        let interval = tracker.now(intended);
        record(&mut interval.response_time, response);
        record(&mut interval.service_time, now.saturating_since(began));
        match late {
            false => interval.outcomes.acknowledged += 1,
            true => interval.outcomes.late += 1,
        }
    }

    /// The attempt at work has not come about; false where there is none.
    pub fn fail(
        &mut self,
        device: usize,
        failure: Failure,
        reason: &str,
        tracker: &mut MessageTracker,
    ) -> bool {
        let Some((intended, _)) = self.each[device].at_work.take() else {
            return false;
        };
        self.end(intended, failure, reason, tracker);
        true
    }

    /// Gives up all of them.
    pub fn abandon_all(&mut self, reason: &str, tracker: &mut MessageTracker) {
        for device in 0..self.each.len() {
            self.fail(device, Failure::Failed, reason, tracker);
            while let Some(intended) = self.each[device].waiting.pop_front() {
                self.end(intended, Failure::Failed, reason, tracker);
            }
        }
    }

    fn end(&mut self, intended: Instant, failure: Failure, reason: &str, tracker: &mut MessageTracker) {
        self.outstanding -= 1;
        let interval = tracker.now(intended);
        match failure {
            Failure::Refused => interval.outcomes.refused += 1,
            Failure::Failed => interval.outcomes.failed += 1,
        }
        interval.reason(reason);
    }

    /// How many are not over.
    pub const fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// Whether a device has neither one at work nor one that waits.
    pub fn is_free(&self, device: usize) -> bool {
        let attempt = &self.each[device];
        attempt.at_work.is_none() && attempt.waiting.is_empty()
    }
}
