//! The counts of each second of the phase, until they are handed over.

use wirecost_proto::Instant;
use wirecost_results::figures::{Interval, IntervalKey};

use super::Span;
use crate::schedule::backlog::Backlog;

/// The counts since the last hand-over.
#[derive(Debug)]
pub(super) struct Intervals {
    /// Intervals with counts, with their keys and in key order.
    open: Vec<(IntervalKey, Box<Interval>)>,
    /// The index of the last used interval, which is usually used again.
    latest: usize,
    phase: Begun,
    /// The earlier phases, in order.
    earlier: Vec<Begun>,
}

/// A phase that has begun.
#[derive(Clone, Copy, Debug)]
struct Begun {
    phase: u32,
    at: Instant,
    warm_up_ends: Instant,
    backlog: Backlog,
}

impl Intervals {
    /// Before the first phase.
    pub(super) const fn new() -> Self {
        Self {
            open: Vec::new(),
            latest: 0,
            phase: Begun {
                phase: 0,
                at: Instant::START,
                warm_up_ends: Instant::START,
                backlog: Backlog::new(0, None),
            },
            earlier: Vec::new(),
        }
    }

    /// Begins a phase.
    pub(super) fn begin(&mut self, phase: u32, at: Instant, span: Span) {
        let offer_ends = span.offered.map(|offered| (at + offered).as_nanos());
        let begun = Begun {
            phase,
            at,
            warm_up_ends: at + span.warm_up,
            backlog: Backlog::new(at.as_nanos(), offer_ends),
        };
        self.earlier.push(std::mem::replace(&mut self.phase, begun));
    }

    /// Notes that a message is intended at a time of the current phase.
    pub(super) fn intend(&mut self, at: Instant) {
        self.phase.backlog.intend(at.as_nanos());
    }

    /// The intended time of the last known message of the current phase.
    pub(super) const fn intended_until(&self) -> Instant {
        Instant::from_nanos(self.phase.backlog.intended_until_ns())
    }

    /// The key of the interval of a time in the current phase.
    pub(super) fn key_of(&self, at: Instant) -> IntervalKey {
        self.phase.key(at, at)
    }

    /// The key of an event `now` in the current phase that began at `began`. If that was in the warm-up, the event is
    /// warm-up.
    pub(super) fn key_of_begun(&self, began: Instant, now: Instant) -> IntervalKey {
        self.phase.key(began, now)
    }

    /// The key of an event `now` of a message that was intended earlier: in the phase of the message, and warm-up if
    /// the message is.
    pub(super) fn key_of_message(&self, intended: Instant, now: Instant) -> IntervalKey {
        self.begun_at(intended).key(intended, now)
    }

    /// The key of an acknowledgement `now` of a message that was intended earlier: in the phase of the message, and
    /// warm-up if the acknowledgement arrives in the warm-up.
    pub(super) fn key_of_acknowledgement(&self, intended: Instant, now: Instant) -> IntervalKey {
        self.begun_at(intended).key(now, now)
    }

    /// The phase of a message.
    fn begun_at(&self, intended: Instant) -> &Begun {
        let phases = std::iter::once(&self.phase).chain(self.earlier.iter().rev());
        let own = phases.into_iter().find(|phase| phase.at <= intended);
        own.unwrap_or(&self.phase)
    }

    /// Whether a measured message completes only after the end of the offer, plus the time that the first one took.
    pub(super) fn is_behind(&mut self, intended: Instant, now: Instant) -> bool {
        let phases = std::iter::once(&mut self.phase).chain(self.earlier.iter_mut().rev());
        let Some(own) = phases.into_iter().find(|phase| phase.at <= intended) else {
            return false;
        };
        // A message that already waited at the end of the warm-up is no further behind at the end of the offer.
        own.warm_up_ends <= intended && own.backlog.is_behind(intended.as_nanos(), now.as_nanos())
    }

    /// The interval of a key.
    pub(super) fn interval(&mut self, key: IntervalKey) -> &mut Interval {
        if self.open.get(self.latest).is_none_or(|(of, _)| *of != key) {
            let found = self.open.binary_search_by_key(&key, |(of, _)| *of);
            self.latest = found.unwrap_or_else(|place| {
                self.open.insert(place, (key, Box::new(Interval::at(key))));
                place
            });
        }
        &mut self.open[self.latest].1
    }

    /// Takes all counts and leaves none.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Box<Interval>> + use<> {
        let open = std::mem::take(&mut self.open);
        open.into_iter().map(|(_, interval)| interval)
    }
}

impl Begun {
    /// The key of an event at `at` that belongs to `intended`.
    fn key(&self, intended: Instant, at: Instant) -> IntervalKey {
        let second = at.saturating_since(self.at).as_secs();
        // A phase is announced before it begins: if it has no warm-up, earlier events count in its figures.
        let warm_up = self.at.max(intended) < self.warm_up_ends;
        IntervalKey::new(self.phase, u32::try_from(second).unwrap_or(u32::MAX), warm_up)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn warm_up(seconds: u64) -> Span {
        Span {
            warm_up: Duration::from_secs(seconds),
            offered: None,
        }
    }

    /// Messages are offered for a second.
    const SECOND: Span = Span {
        warm_up: Duration::ZERO,
        offered: Some(Duration::from_secs(1)),
    };

    /// A phase whose first answer takes 50 ms.
    fn answering() -> Intervals {
        let mut intervals = Intervals::new();
        intervals.begin(0, Instant::START, SECOND);
        assert!(!intervals.is_behind(Instant::START, Instant::from_millis(50)));
        intervals
    }

    #[test]
    fn answers_after_the_end_of_the_offer_are_behind() {
        let at = Instant::from_millis;
        let mut intervals = answering();
        assert!(!intervals.is_behind(at(999), at(1_049)), "and so does the last");
        assert!(intervals.is_behind(at(500), at(1_051)));
        intervals.begin(1, at(2_000), Span::default());
        assert!(
            intervals.is_behind(at(900), at(2_100)),
            "it is of the phase before"
        );
        assert!(
            !intervals.is_behind(at(2_000), at(60_000)),
            "who knows when it ends"
        );
    }

    #[test]
    fn messages_that_waited_since_the_warm_up_count_as_carried() {
        let at = Instant::from_millis;
        let mut intervals = Intervals::new();
        let span = Span {
            warm_up: Duration::from_secs(1),
            offered: Some(Duration::from_secs(2)),
        };
        intervals.begin(0, Instant::START, span);
        assert!(!intervals.is_behind(at(0), at(20)));
        assert!(!intervals.is_behind(at(999), at(60_000)), "it is in no figure");
        assert!(!intervals.is_behind(at(1_000), at(1_500)));
        assert!(!intervals.is_behind(at(1_500), at(2_500)));
        assert!(intervals.is_behind(at(1_500), at(2_501)));
    }

    #[test]
    fn nothing_is_behind_before_the_last_announced_message() {
        let at = Instant::from_millis;
        let mut intervals = answering();
        intervals.intend(at(1_300));
        intervals.intend(at(1_200));
        assert_eq!(intervals.intended_until(), at(1_300));
        assert!(!intervals.is_behind(at(900), at(1_350)));
        assert!(intervals.is_behind(at(900), at(1_351)));
        intervals.begin(1, at(2_000), SECOND);
        assert_eq!(intervals.intended_until(), at(2_000), "it is another phase");
    }

    #[test]
    fn events_before_the_beginning_are_not_warm_up_without_one() {
        let begin = Instant::from_millis(1_020);
        let mut intervals = Intervals::new();
        let is_warm_up =
            |intervals: &Intervals, millis| intervals.key_of(Instant::from_millis(millis)).is_warm_up();
        intervals.begin(3, begin, Span::default());
        assert!(!is_warm_up(&intervals, 1_000) && !is_warm_up(&intervals, 1_020));
        intervals.begin(4, begin, warm_up(1));
        assert!(is_warm_up(&intervals, 1_000) && is_warm_up(&intervals, 2_019));
        assert!(!is_warm_up(&intervals, 2_020));
    }

    #[test]
    fn events_of_a_message_count_in_its_own_phase() {
        let mut intervals = Intervals::new();
        let at = Instant::from_millis;
        intervals.begin(0, at(0), Span::default());
        intervals.begin(1, at(1_000), warm_up(1));
        intervals.begin(2, at(5_000), Span::default());
        let place = |intended, now| {
            let key = intervals.key_of_message(at(intended), at(now));
            (key.phase(), key.second(), key.is_warm_up())
        };
        assert_eq!(place(5_000, 5_100), (2, 0, false));
        assert_eq!(place(4_900, 5_100), (1, 4, false));
        assert_eq!(place(1_500, 5_100), (1, 4, true));
        assert_eq!(place(999, 5_100), (0, 5, false));
    }
}
