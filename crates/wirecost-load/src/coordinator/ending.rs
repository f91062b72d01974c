//! The end of a load: waits for parts as long as they hand over key material.

use std::time::Duration;

use wirecost_proto::Instant;

use super::{Coordinator, GRACE};

/// How long to wait for parts that have been told to quit: as long as the bytes of secrets that they hand over grow.
#[derive(Clone, Copy, Debug)]
struct Patience {
    until: Instant,
    /// Bytes of secrets so far.
    had: usize,
}

/// How long the last deliveries may take from one machine to another.
const LAST_DELIVERIES: Duration = Duration::from_millis(500);

impl Coordinator<'_> {
    /// Waits for deliveries that are under way to subscribers on other machines than their senders: a part of subscribers ends
    /// its phase without knowing of them.
    pub(super) fn await_last_deliveries(&mut self) {
        if self.parts.shares().is_empty() || self.options.subscribers.is_none() || self.outcome.ends_it() {
            return;
        }
        let until = self.now() + LAST_DELIVERIES;
        while self.now() < until {
            self.receive(self.look());
        }
    }

    /// Waits until all parts have ended. Skips parts that did not end their phase, and waits no longer than [`GRACE`]
    /// after the last secrets have arrived. Notes how many parts have not handed over all secrets.
    pub(super) fn wait_for_the_end(&mut self) {
        let mut patience = Patience::new(self.now());
        while self.is_awaited(|state| !state.is_done) && !patience.is_over(self.now()) {
            self.receive(self.look());
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

    /// Notes the bytes of secrets so far.
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
    use super::*;

    #[test]
    fn waiting_lasts_while_parts_hand_over_secrets() {
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
