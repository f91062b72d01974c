//! Arrivals at a counting target: if nothing answers messages, they tell the outcomes.

use wirecost_results::figures::{Deliveries, Interval};

use super::{Coordinator, LOOK};
use crate::devices::population::LAST_WAIT;
use crate::parts::usage::Arrived;

impl Coordinator<'_> {
    /// Adds the arrivals at the target in a phase, as far as it knows them. Which messages were lost is unknown: the
    /// last ones count as lost.
    pub(super) fn take_arrivals(&mut self, phase: u32, before: Option<Arrived>) {
        let Some(before) = before else {
            return;
        };
        let sent: u64 = self.counted.of_phase(phase).map(|interval| interval.sent).sum();
        let Some(arrived) = self.await_arrivals(&before, sent) else {
            return;
        };
        let new = arrived.deliveries.since(&before.deliveries);
        let warm_up = arrived.warm_up.since(&before.warm_up);
        let measured = new.since(&warm_up);
        // Where nothing answers, the arrival at the target is the only evidence of a delivery.
        if !self.options.is_answered() {
            let unique = |of: &Deliveries| of.arrived.saturating_sub(of.duplicates);
            let left = self.deliver(phase, false, unique(&measured));
            self.deliver(phase, true, left + unique(&warm_up));
            self.work_off(phase, arrived.worked_off.saturating_sub(before.worked_off));
        }
        // If devices subscribe, the deliveries are theirs. The broker only forwards.
        if self.options.subscribers.is_some() {
            return;
        }
        if let Some(last) = self.last_of(phase, true) {
            last.deliveries += warm_up;
        }
        if let Some(last) = self.last_of(phase, false) {
            last.deliveries += measured;
            if let Some(delays) = arrived.one_way_delay {
                last.one_way_delay.get_or_insert_default().merge(&delays);
            }
        }
    }

    /// The last measured second of a phase, or the last second of its warm-up.
    fn last_of(&mut self, phase: u32, warm_up: bool) -> Option<&mut Interval> {
        let mut seconds = self.counted.of_phase(phase).rev();
        seconds.find(|interval| interval.warm_up == warm_up)
    }

    /// Settles unanswered messages in the measured seconds of a phase, or in its warm-up: the first `arrived` messages
    /// are delivered, and the others are lost. Returns the excess of arrivals.
    fn deliver(&mut self, phase: u32, warm_up: bool, mut arrived: u64) -> u64 {
        let seconds = self.counted.of_phase(phase);
        for interval in seconds.filter(|interval| interval.warm_up == warm_up) {
            let delivered = interval.outcomes.unknown.min(arrived);
            arrived -= delivered;
            interval.outcomes.delivered += delivered;
            interval.outcomes.lost += interval.outcomes.unknown - delivered;
            interval.outcomes.unknown = 0;
        }
        arrived
    }

    /// Counts the last `worked_off` of the delivered messages in the measured seconds of a phase as worked off.
    fn work_off(&mut self, phase: u32, worked_off: u64) {
        let seconds = self.counted.of_phase(phase).rev();
        let measured = seconds.filter(|interval| !interval.warm_up);
        measured.fold(worked_off, |left, interval| interval.work_off(left));
    }

    /// Polls the target until every sent message has arrived, or for the time-out of an answer. After an interruption,
    /// polls only for as long as devices wait.
    fn await_arrivals(&mut self, before: &Arrived, sent: u64) -> Option<Arrived> {
        let (began, timeout) = (self.now(), self.options.timeout);
        let stillness = self.options.stillness();
        let mut last = self.context.target.arrived(self.context.interrupted)?;
        let mut moved = self.now();
        loop {
            let count = last.deliveries.since(&before.deliveries).arrived;
            let now = self.now();
            self.outcome.interrupted |= (self.context.interrupted)();
            // Who has pressed Ctrl-C does not want to wait for the time-out of an answer.
            let patience = if self.outcome.interrupted {
                timeout.min(LAST_WAIT)
            } else {
                timeout
            };
            if count >= sent || now >= began + patience || now.saturating_since(moved) >= stillness {
                return Some(last);
            }
            self.parts.wait(LOOK);
            let next = self.context.target.arrived(self.context.interrupted)?;
            if next.deliveries.arrived != last.deliveries.arrived {
                moved = self.now();
            }
            last = next;
        }
    }
}
