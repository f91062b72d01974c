//! What is counted beside the messages' outcomes: connects, deliveries, and everything else that happens in a second.

use wirecost_proto::Instant;
use wirecost_results::figures::{Connects, Interval, record};

use super::MessageTracker;

impl MessageTracker {
    /// What is counted of connections at a time.
    pub fn connects(&mut self, now: Instant) -> &mut Connects {
        &mut self.now(now).connects
    }

    /// What is counted of connects that have ended `now`, and began earlier: those that were begun in the warm-up are its.
    pub fn connects_begun(&mut self, began: Instant, now: Instant) -> &mut Connects {
        &mut self.begun(began, now).connects
    }

    fn begun(&mut self, began: Instant, now: Instant) -> &mut Interval {
        let key = self.intervals.key_of_begun(began, now);
        self.intervals.of(key)
    }

    /// The interval of a time: for what counts in the second in which it happens.
    pub fn now(&mut self, now: Instant) -> &mut Interval {
        let key = self.intervals.key_of(now);
        self.intervals.of(key)
    }

    /// The interval of what happens `now` to a message that was intended earlier, maybe in another phase.
    pub fn of_message(&mut self, intended: Instant, now: Instant) -> &mut Interval {
        let key = self.intervals.key_of_message(intended, now);
        self.intervals.of(key)
    }

    /// Whether a message that nothing answers arrives at a subscriber only when nothing is offered any more.
    pub fn is_delivered_behind(&mut self, intended: Instant, now: Instant) -> bool {
        !self.rules.answered && self.intervals.is_behind(intended, now)
    }

    /// Counts a connect that has come about, and its time where it takes any.
    pub fn connected(&mut self, began: Instant, now: Instant) {
        let takes_time = self.rules.connects;
        let interval = self.begun(began, now);
        interval.connects.established += 1;
        if takes_time {
            record(&mut interval.connect_time, now.saturating_since(began));
        }
    }

    /// Everything counted since it was last asked.
    pub fn take(&mut self) -> impl Iterator<Item = Box<Interval>> + use<> {
        self.intervals.take()
    }
}
