//! Attempts other than messages: handshakes and reconnects. An attempt counts like a message: it has an intended time
//! and ends in exactly one outcome.

use std::collections::VecDeque;

use wirecost_proto::Instant;
use wirecost_results::figures::record;

use crate::devices::tracker::MessageTracker;

/// How an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The server refused.
    Refused,
    /// The transport or a layer failed, or the time was over.
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
    /// Intended attempts that have not begun.
    waiting: VecDeque<Instant>,
    /// The intended time and the beginning of the running attempt.
    at_work: Option<(Instant, Instant)>,
}

impl Attempts {
    /// No attempts yet, for `devices`.
    pub fn new(devices: usize) -> Self {
        Self {
            each: vec![Attempt::default(); devices],
            outstanding: 0,
        }
    }

    /// Notes an attempt that is intended for a device and noticed `now`. `free` means that the device begins at once:
    /// then the delay is the generator's lag.
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

    /// Begins the device's next attempt if one waits and none is running.
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

    /// The running attempt has succeeded.
    pub fn succeed(&mut self, device: usize, now: Instant, tracker: &mut MessageTracker) {
        let Some((intended, began)) = self.each[device].at_work.take() else {
            return;
        };
        self.outstanding -= 1;
        let response = now.saturating_since(intended);
        // From the intended time: whoever waits does not care on which side the wait was.
        let late = response > tracker.rules().timeout;
        let interval = tracker.now(intended);
        record(&mut interval.response_time, response);
        record(&mut interval.service_time, now.saturating_since(began));
        match late {
            false => interval.outcomes.acknowledged += 1,
            true => interval.outcomes.late += 1,
        }
    }

    /// The running attempt has failed with its connection, which counts the reason. Returns false if none is running.
    pub fn fail(&mut self, device: usize, failure: Failure, tracker: &mut MessageTracker) -> bool {
        let Some((intended, _)) = self.each[device].at_work.take() else {
            return false;
        };
        self.end(intended, failure, tracker);
        true
    }

    /// Gives up all attempts.
    pub fn abandon_all(&mut self, reason: &str, tracker: &mut MessageTracker) {
        for device in 0..self.each.len() {
            let attempt = &mut self.each[device];
            let at_work = attempt.at_work.take().map(|(intended, _)| intended);
            let left: Vec<Instant> = at_work.into_iter().chain(attempt.waiting.drain(..)).collect();
            for intended in left {
                self.end(intended, Failure::Failed, tracker);
                tracker.now(intended).reason(reason);
            }
        }
    }

    fn end(&mut self, intended: Instant, failure: Failure, tracker: &mut MessageTracker) {
        self.outstanding -= 1;
        let interval = tracker.now(intended);
        match failure {
            Failure::Refused => interval.outcomes.refused += 1,
            Failure::Failed => interval.outcomes.failed += 1,
        }
    }

    /// The number of attempts that are not over.
    pub const fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// Whether a device has neither a running nor a waiting attempt.
    pub fn is_free(&self, device: usize) -> bool {
        let attempt = &self.each[device];
        attempt.at_work.is_none() && attempt.waiting.is_empty()
    }
}
