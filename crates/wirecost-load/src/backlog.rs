//! Which messages of a phase come through only when nothing is offered any more: what had waited is worked off.

/// What tells so in one phase. Times are nanoseconds of one clock, whichever.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backlog {
    /// When nothing is offered any more, where that is known.
    offer_ends_ns: Option<u64>,
    /// When the last message is intended that is known of.
    intended_until_ns: u64,
    /// How long the first message took: so much later than they are intended messages come where nothing waits.
    first_took_ns: Option<u64>,
}

impl Backlog {
    /// The backlog of a phase that begins at `begins_ns` and offers messages until `offer_ends_ns`; `None` where the end is not
    /// known.
    pub(super) const fn new(begins_ns: u64, offer_ends_ns: Option<u64>) -> Self {
        Self {
            offer_ends_ns,
            intended_until_ns: begins_ns,
            first_took_ns: None,
        }
    }

    /// A message is known to be intended at a time: the offer ends no earlier.
    pub(super) fn intend(&mut self, at_ns: u64) {
        self.intended_until_ns = self.intended_until_ns.max(at_ns);
    }

    /// When the last message is intended that is known of.
    pub(super) const fn intended_until_ns(&self) -> u64 {
        self.intended_until_ns
    }

    /// Whether a message that is through `now` is so only when nothing is offered any more. Messages are looked at as long as
    /// they are offered, and for as much longer as the first one took: leave out those of the warm-up.
    pub(super) fn is_behind(&mut self, intended_ns: u64, now_ns: u64) -> bool {
        let took = now_ns.saturating_sub(intended_ns);
        let first = *self.first_took_ns.get_or_insert(took);
        // Anyone can send a stamp, and nothing arrives before it is intended.
        self.intend(intended_ns.min(now_ns));
        // A count of random arrivals lasts longer than its rate says, or shorter.
        let ends = self.offer_ends_ns.map(|end| end.max(self.intended_until_ns));
        ends.is_some_and(|end| now_ns > end.saturating_add(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_is_full_works_off_what_it_does_not_carry_in_the_time_of_the_offer() {
        // 100 messages in 1,000 ns, of which one gets through every 20 ns, the first one 25 ns after it was intended.
        let mut backlog = Backlog::new(0, Some(1_000));
        let behind = (0..100).filter(|number| backlog.is_behind(number * 10, 25 + number * 20));
        assert_eq!(behind.count(), 49);
    }

    #[test]
    fn the_offer_lasts_until_the_last_message_that_is_known_of() {
        let mut backlog = Backlog::new(0, Some(1_000));
        assert!(!backlog.is_behind(0, 50));
        assert!(!backlog.is_behind(1_200, 1_250), "it came later than it should");
        assert!(!backlog.is_behind(1_100, 1_250));
        assert!(backlog.is_behind(1_100, 1_251));
        assert_eq!(backlog.intended_until_ns(), 1_200);
        backlog.intend(1_300);
        assert!(!backlog.is_behind(1_100, 1_350));
    }

    #[test]
    fn a_stamp_that_lies_ahead_moves_no_end_beyond_now() {
        let mut backlog = Backlog::new(0, Some(1_000));
        assert!(!backlog.is_behind(0, 50));
        assert!(!backlog.is_behind(u64::MAX, 900));
        assert!(backlog.is_behind(500, 1_051));
    }

    #[test]
    fn nobody_is_behind_an_end_that_nobody_knows() {
        let mut backlog = Backlog::new(0, None);
        assert!(!backlog.is_behind(0, 50));
        assert!(!backlog.is_behind(0, u64::MAX));
    }
}
