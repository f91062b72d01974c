//! What has arrived at a target that counts: where nothing answers, that is how messages ended.

use super::{Coordinator, LOOK};
use crate::load::devices::LAST_WAIT;
use crate::load::target::Arrived;

impl Coordinator<'_> {
    /// Adds what has arrived at the target in a phase, as far as it can tell. Which messages were lost nobody knows: they
    /// count at the end.
    pub(super) fn take_arrivals(&mut self, phase: u32, before: Option<Arrived>) {
        let Some(before) = before else {
            return;
        };
        let sent: u64 = self.of_phase(phase).map(|interval| interval.sent).sum();
        let Some(arrived) = self.await_arrivals(&before, sent) else {
            return;
        };
        let new = arrived.deliveries.since(&before.deliveries);
        if !self.options.is_answered() {
            let mut unique = new.arrived.saturating_sub(new.duplicates);
            for interval in self.of_phase(phase) {
                let delivered = interval.outcomes.unknown.min(unique);
                unique -= delivered;
                interval.outcomes.delivered += delivered;
                interval.outcomes.lost += interval.outcomes.unknown - delivered;
                interval.outcomes.unknown = 0;
            }
        }
        // Where devices subscribe, deliveries are theirs, and what the broker has is on its way to them.
        if self.options.subscribers.is_some() {
            return;
        }
        if let Some(last) = self.of_phase(phase).last() {
            last.deliveries += new;
            if let Some(delays) = arrived.one_way_delay {
                last.one_way_delay.get_or_insert_default().merge(&delays);
            }
        }
    }

    /// Asks the target until everything that was sent has arrived, or for as long as an answer would be waited for; where
    /// the run was interrupted, for as long as devices wait then.
    fn await_arrivals(&mut self, before: &Arrived, sent: u64) -> Option<Arrived> {
        let (began, timeout) = (self.now(), self.options.timeout);
        let stillness = self.options.stillness();
        let mut last = self.around.target.arrived(self.around.interrupted)?;
        let mut moved = self.now();
        loop {
            let count = last.deliveries.since(&before.deliveries).arrived;
            let now = self.now();
            self.outcome.interrupted |= (self.around.interrupted)();
            let patience = if self.outcome.interrupted {
                timeout.min(LAST_WAIT)
            } else {
                timeout
            };
            if count >= sent || now >= began + patience || now.saturating_since(moved) >= stillness {
                return Some(last);
            }
            std::thread::sleep(LOOK);
            let next = self.around.target.arrived(self.around.interrupted)?;
            if next.deliveries.arrived != last.deliveries.arrived {
                moved = self.now();
            }
            last = next;
        }
    }
}
