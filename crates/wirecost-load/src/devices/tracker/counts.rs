//! Counts other than the messages' outcomes: connects, deliveries, and other events of a second.

use wirecost_proto::Instant;
use wirecost_results::figures::{Connects, Interval, record};

use super::MessageTracker;

impl MessageTracker {
    /// The connection counters of a time.
    pub fn connects(&mut self, now: Instant) -> &mut Connects {
        &mut self.now(now).connects
    }

    /// The counters of connects that have ended `now` and began at `began`: connects that began in the warm-up belong
    /// to it.
    pub fn connects_begun(&mut self, began: Instant, now: Instant) -> &mut Connects {
        &mut self.begun(began, now).connects
    }

    fn begun(&mut self, began: Instant, now: Instant) -> &mut Interval {
        let key = self.intervals.key_of_begun(began, now);
        self.intervals.interval(key)
    }

    /// The interval of a time, for events that count in the second in which they happen.
    pub fn now(&mut self, now: Instant) -> &mut Interval {
        let key = self.intervals.key_of(now);
        self.intervals.interval(key)
    }

    /// The interval of an event `now` of a message that was intended earlier, maybe in another phase.
    pub fn of_message(&mut self, intended: Instant, now: Instant) -> &mut Interval {
        let key = self.intervals.key_of_message(intended, now);
        self.intervals.interval(key)
    }

    /// Whether an unanswered message arrives at a subscriber only after the end of the offer.
    pub fn is_delivered_behind(&mut self, intended: Instant, now: Instant) -> bool {
        !self.rules.answered && self.intervals.is_behind(intended, now)
    }

    /// Counts a successful connect, and its time if it takes any.
    pub fn connected(&mut self, began: Instant, now: Instant) {
        let takes_time = self.rules.connects;
        let interval = self.begun(began, now);
        interval.connects.established += 1;
        if takes_time {
            record(&mut interval.connect_time, now.saturating_since(began));
        }
    }

    /// Takes all counts since the last call.
    pub fn take(&mut self) -> impl Iterator<Item = Box<Interval>> + use<> {
        self.intervals.take()
    }
}
