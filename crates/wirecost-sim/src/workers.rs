//! The service time of a server: workers with one queue.
//!
//! ```text
//! message -> queue -> the first free worker -> service time -> the server's output for the message leaves
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use wirecost_proto::service_time::ServiceTime;
use wirecost_proto::{Instant, Rng};

/// Workers that take messages in the order of their arrival.
#[derive(Clone, Debug)]
pub struct Workers {
    service_time: ServiceTime,
    rng: Rng,
    /// When each worker has finished all its messages.
    free_at: BinaryHeap<Reverse<Instant>>,
    /// The service times of all messages so far.
    given: Duration,
}

impl Workers {
    /// Idle workers, at least one.
    pub fn new(workers: u32, service_time: ServiceTime, rng: Rng) -> Self {
        Self {
            service_time,
            rng,
            free_at: vec![Reverse(Instant::START); workers.max(1) as usize].into(),
            given: Duration::ZERO,
        }
    }

    /// Gives a message that arrives at `now` to the worker that is free first; returns when the worker finishes it.
    pub(crate) fn take(&mut self, now: Instant) -> Instant {
        let service_time = match self.service_time {
            ServiceTime::Constant(time) => time,
            ServiceTime::Exponential { mean } => mean.mul_f64(self.rng.next_exponential()),
        };
        self.given += service_time;
        // `new` makes at least one worker.
        let Some(mut first) = self.free_at.peek_mut() else {
            return now;
        };
        let done = first.0.max(now) + service_time;
        *first = Reverse(done);
        done
    }

    /// The number of workers.
    pub fn count(&self) -> usize {
        self.free_at.len()
    }

    /// The busy time of all workers until `now`, added up.
    pub fn busy_until(&self, now: Instant) -> Duration {
        let ahead = self.free_at.iter().map(|free_at| free_at.0.saturating_since(now));
        self.given.saturating_sub(ahead.sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_waits_for_the_worker_that_is_free_first() {
        let at = Instant::from_millis;
        let service_time = ServiceTime::Constant(Duration::from_millis(10));
        let mut workers = Workers::new(2, service_time, Rng::new(1));
        let done: Vec<Instant> = [0, 1, 2, 3, 30].map(|now| workers.take(at(now))).to_vec();
        assert_eq!(done, [at(10), at(11), at(20), at(21), at(40)]);
        assert_eq!(workers.busy_until(at(40)), Duration::from_millis(50));
        assert_eq!(workers.busy_until(at(35)), Duration::from_millis(45));
    }

    #[test]
    fn exponential_service_times_have_their_mean() {
        let mean = Duration::from_millis(1);
        let mut workers = Workers::new(1, ServiceTime::Exponential { mean }, Rng::new(7));
        let messages = 100_000_u32;
        let last = (0..messages).map(|_| workers.take(Instant::START)).last();
        let each = last.expect("a message").saturating_since(Instant::START) / messages;
        assert!(each.abs_diff(mean) < mean / 50, "{each:?}");
    }
}
