//! Messages that complete only after the offer of a phase has ended: the backlog that the drain works off.

/// The backlog of one phase. All times are nanoseconds of one clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backlog {
    /// The end of the offer, if known.
    offer_ends_ns: Option<u64>,
    /// The intended time of the last known message.
    intended_until_ns: u64,
    /// How long the first message took: the usual delay of a message that does not wait.
    first_took_ns: Option<u64>,
}

impl Backlog {
    /// The backlog of a phase that begins at `begins_ns` and offers messages until `offer_ends_ns`; `None` if the end
    /// is unknown.
    pub(crate) const fn new(begins_ns: u64, offer_ends_ns: Option<u64>) -> Self {
        Self {
            offer_ends_ns,
            intended_until_ns: begins_ns,
            first_took_ns: None,
        }
    }

    /// Notes that a message is intended at `at_ns`: the offer ends no earlier.
    pub(crate) fn intend(&mut self, at_ns: u64) {
        self.intended_until_ns = self.intended_until_ns.max(at_ns);
    }

    /// The intended time of the last known message.
    pub(crate) const fn intended_until_ns(&self) -> u64 {
        self.intended_until_ns
    }

    /// Whether a message that completes `now` does so after the end of the offer, plus the time that the first message
    /// took. Do not call this for messages of the warm-up.
    pub(crate) fn is_behind(&mut self, intended_ns: u64, now_ns: u64) -> bool {
        let took = now_ns.saturating_sub(intended_ns);
        let first = *self.first_took_ns.get_or_insert(took);
        // Anyone can send a stamp, and no message arrives before its intended time.
        self.intend(intended_ns.min(now_ns));
        // A count of random arrivals takes more or less time than its rate suggests.
        let ends = self.offer_ends_ns.map(|end| end.max(self.intended_until_ns));
        ends.is_some_and(|end| now_ns > end.saturating_add(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_link_works_off_its_backlog_after_the_offer() {
        // 100 messages in 1,000 ns. One message completes every 20 ns, the first one 25 ns after its intended time.
        let mut backlog = Backlog::new(0, Some(1_000));
        let behind = (0..100).filter(|number| backlog.is_behind(number * 10, 25 + number * 20));
        assert_eq!(behind.count(), 49);
    }

    #[test]
    fn the_offer_lasts_until_the_last_known_message() {
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
    fn a_stamp_from_the_future_moves_no_end_beyond_now() {
        let mut backlog = Backlog::new(0, Some(1_000));
        assert!(!backlog.is_behind(0, 50));
        assert!(!backlog.is_behind(u64::MAX, 900));
        assert!(backlog.is_behind(500, 1_051));
    }

    #[test]
    fn no_message_is_behind_an_unknown_end() {
        let mut backlog = Backlog::new(0, None);
        assert!(!backlog.is_behind(0, 50));
        assert!(!backlog.is_behind(0, u64::MAX));
    }
}
