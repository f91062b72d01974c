//! The end of a load: parts are waited for as long as they have something to hand over.

use wirecost_proto::Instant;

use super::{Coordinator, GRACE, LOOK};

/// How long parts are waited for that have been told to end: as long as what they hand over grows, as the secrets of many
/// connections do for a while.
#[derive(Clone, Copy, Debug)]
struct Patience {
    until: Instant,
    /// Bytes of secrets that there were.
    had: usize,
}

impl Coordinator<'_> {
    /// Waits until all parts have ended, but not for those that did not end their phase, and no longer than [`GRACE`] after
    /// the last secrets have come. Notes how many parts have not said all of theirs.
    pub(super) fn wait_for_the_end(&mut self) {
        let mut patience = Patience::new(self.now());
        while self.is_awaited(|state| !state.is_done) && !patience.is_over(self.now()) {
            self.receive(LOOK);
            patience.note(self.outcome.keys.text().len(), self.now());
        }
        let options = self.options;
        if options.keeps_keys() && options.stack.has_handshake() {
            let without = self.part_states.iter().filter(|state| !state.has_said_keys);
            self.outcome.parts_without_keys = without.count();
        }
    }
}

impl Patience {
    fn new(now: Instant) -> Self {
        let until = now + GRACE;
        Self { until, had: 0 }
    }

    /// Notes how many bytes of secrets there are.
    fn note(&mut self, has: usize, now: Instant) {
        if has > self.had {
            *self = Self {
                until: now + GRACE,
                had: has,
            };
        }
    }

    fn is_over(&self, now: Instant) -> bool {
        now >= self.until
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn parts_are_waited_for_as_long_as_they_hand_over_secrets_and_no_longer() {
        let at = |seconds| Instant::START + Duration::from_secs(seconds);
        let mut patience = Patience::new(at(0));
        for seconds in [9, 18, 27] {
            assert!(!patience.is_over(at(seconds)), "{seconds}");
            patience.note(seconds as usize, at(seconds));
        }
        patience.note(27, at(36));
        assert!(!patience.is_over(at(36)));
        assert!(patience.is_over(at(37)), "nothing has come since");
    }
}
