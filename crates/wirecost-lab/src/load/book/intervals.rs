//! What is counted, by the second of the phase, until it is handed over.

use std::time::Duration;

use wirecost_proto::Instant;

use super::Span;
use crate::load::figures::Interval;

/// What has been counted since it was last handed over.
#[derive(Debug)]
pub(super) struct Intervals {
    /// Those in which something has happened, with their keys and in the order of these.
    open: Vec<(u64, Box<Interval>)>,
    /// Where the one stands that was asked for last: mostly it is asked for again.
    latest: usize,
    phase: Begun,
    /// The phases before, in order.
    earlier: Vec<Begun>,
}

/// A phase that has begun.
#[derive(Clone, Copy, Debug)]
struct Begun {
    phase: u32,
    at: Instant,
    warm_up_ends: Instant,
    /// When nothing is offered any more, where that is known.
    offer_ends: Option<Instant>,
    /// When the last message is intended that is known of.
    intended_until: Instant,
    /// How long the first answer took: so much later than messages their answers come where nothing waits.
    first_answer: Option<Duration>,
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
                offer_ends: None,
                intended_until: Instant::START,
                first_answer: None,
            },
            earlier: Vec::new(),
        }
    }

    /// A phase begins.
    pub(super) fn begin(&mut self, phase: u32, at: Instant, span: Span) {
        let begun = Begun {
            phase,
            at,
            warm_up_ends: at + span.warm_up,
            offer_ends: span.offered.map(|offered| at + offered),
            intended_until: at,
            first_answer: None,
        };
        self.earlier.push(std::mem::replace(&mut self.phase, begun));
    }

    /// A message is known to be intended at a time of the current phase.
    pub(super) fn intend(&mut self, at: Instant) {
        self.phase.intended_until = self.phase.intended_until.max(at);
    }

    /// When the last message of the current phase is intended that is known of.
    pub(super) const fn intended_until(&self) -> Instant {
        self.phase.intended_until
    }

    /// The key of the interval of a time in the current phase: phase, second and whether it is warm-up.
    pub(super) fn key_of(&self, at: Instant) -> u64 {
        self.phase.key(at, at)
    }

    /// The key of what happens `now` to a message that was intended earlier: in the phase of the message, and warm-up
    /// where the message is.
    pub(super) fn key_of_message(&self, intended: Instant, now: Instant) -> u64 {
        let phases = std::iter::once(&self.phase).chain(self.earlier.iter().rev());
        let own = phases.into_iter().find(|phase| phase.at <= intended);
        own.unwrap_or(&self.phase).key(intended, now)
    }

    /// Whether the answer that comes `now` to a message comes when nothing is offered any more. Answers are looked at as long
    /// as messages are offered, from the first one on.
    pub(super) fn is_behind(&mut self, intended: Instant, now: Instant) -> bool {
        let phases = std::iter::once(&mut self.phase).chain(self.earlier.iter_mut().rev());
        let Some(own) = phases.into_iter().find(|phase| phase.at <= intended) else {
            return false;
        };
        let took = now.saturating_since(intended);
        let first = *own.first_answer.get_or_insert(took);
        // A count of random arrivals lasts longer than its rate says, or shorter.
        let ends = own.offer_ends.map(|end| end.max(own.intended_until));
        ends.is_some_and(|end| now > end + first)
    }

    /// The interval of a key.
    pub(super) fn of(&mut self, key: u64) -> &mut Interval {
        if self.open.get(self.latest).is_none_or(|(of, _)| *of != key) {
            let found = self.open.binary_search_by_key(&key, |(of, _)| *of);
            self.latest = found.unwrap_or_else(|place| {
                self.open.insert(place, (key, new(key)));
                place
            });
        }
        &mut self.open[self.latest].1
    }

    /// Everything that has been counted; nothing is, then.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Box<Interval>> + use<> {
        let open = std::mem::take(&mut self.open);
        open.into_iter().map(|(_, interval)| interval)
    }
}

/// The interval of a key in which nothing has happened.
fn new(key: u64) -> Box<Interval> {
    let second = (key as u32) >> 1;
    Box::new(Interval::new((key >> 32) as u32, second, key & 1 == 1))
}

impl Begun {
    /// The key of what happens at `at` and belongs to `intended`.
    fn key(&self, intended: Instant, at: Instant) -> u64 {
        let second = at
            .saturating_since(self.at)
            .as_secs()
            .min(u64::from(u32::MAX >> 1));
        // A phase is told before it begins: what happens until then is in its figures where it has no warm-up.
        let warm_up = self.at.max(intended) < self.warm_up_ends;
        u64::from(self.phase) << 32 | second << 1 | u64::from(warm_up)
    }
}

#[cfg(test)]
mod tests {
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

    /// Such a phase, whose first answer takes 50 ms.
    fn answering() -> Intervals {
        let mut intervals = Intervals::new();
        intervals.begin(0, Instant::START, SECOND);
        assert!(!intervals.is_behind(Instant::START, Instant::from_millis(50)));
        intervals
    }

    #[test]
    fn answers_that_come_when_nothing_is_offered_any_more_are_behind() {
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
    fn nothing_is_behind_before_the_last_message_that_is_known_to_come() {
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
    fn what_happens_between_the_word_and_the_beginning_is_no_warm_up_where_there_is_none() {
        let begin = Instant::from_millis(1_020);
        let mut intervals = Intervals::new();
        let is_warm_up =
            |intervals: &Intervals, millis| intervals.key_of(Instant::from_millis(millis)) & 1 == 1;
        intervals.begin(3, begin, Span::default());
        assert!(!is_warm_up(&intervals, 1_000) && !is_warm_up(&intervals, 1_020));
        intervals.begin(4, begin, warm_up(1));
        assert!(is_warm_up(&intervals, 1_000) && is_warm_up(&intervals, 2_019));
        assert!(!is_warm_up(&intervals, 2_020));
    }

    #[test]
    fn what_happens_to_a_message_counts_in_its_own_phase() {
        let mut intervals = Intervals::new();
        let at = Instant::from_millis;
        intervals.begin(0, at(0), Span::default());
        intervals.begin(1, at(1_000), warm_up(1));
        intervals.begin(2, at(5_000), Span::default());
        let place = |intended, now| {
            let key = intervals.key_of_message(at(intended), at(now));
            (key >> 32, (key as u32) >> 1, key & 1 == 1)
        };
        assert_eq!(place(5_000, 5_100), (2, 0, false));
        assert_eq!(place(4_900, 5_100), (1, 4, false));
        assert_eq!(place(1_500, 5_100), (1, 4, true));
        assert_eq!(place(999, 5_100), (0, 5, false));
    }
}
