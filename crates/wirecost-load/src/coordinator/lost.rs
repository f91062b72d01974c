//! Parts of agents that were lost: the others go on. What a lost part had offered without reporting it is unknown, and what
//! it no longer offered is missing.

use std::collections::BTreeMap;

use wirecost_proto::Instant;
use wirecost_results::figures::IntervalKey;

use super::Coordinator;
use crate::nanos;
use crate::parts::outcome::{GeneratorError, LostPart};

/// The reason of messages whose outcome a lost agent has not reported.
const REASON: &str = "an agent was lost";
/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

/// What a part was to offer in a phase.
#[derive(Debug, Default, PartialEq, Eq)]
struct Scheduled {
    /// Until it was lost: in each second, and whether it is warm-up.
    before: BTreeMap<(u32, bool), u64>,
    /// After that.
    after: u64,
}

impl Scheduled {
    /// The messages of a phase at these times since its beginning, of which the first `warm_up` nanoseconds are warm-up: until
    /// the part was lost, and from then until the phase ended. `None` if it was lost before the phase began.
    fn count(times: impl Iterator<Item = u64>, warm_up: u64, lost: Option<u64>, ended: u64) -> Self {
        let mut scheduled = Self::default();
        for time in times.take_while(|time| *time < ended) {
            if lost.is_some_and(|lost| time <= lost) {
                let second = u32::try_from(time / SECOND).unwrap_or(u32::MAX);
                *scheduled.before.entry((second, time < warm_up)).or_default() += 1;
            } else {
                scheduled.after += 1;
            }
        }
        scheduled
    }
}

impl Coordinator<'_> {
    /// Notes that a part is lost with its agent.
    pub(super) fn lose(&mut self, part: u32, reason: String, times_ns: [u64; 2]) {
        let Some(state) = self
            .part_states
            .get_mut(part as usize)
            .filter(|state| !state.has_ended)
        else {
            return;
        };
        state.has_ended = true;
        // Its devices would otherwise be shown as connected until the end of the load.
        state.connected = 0;
        let start_ns = self.context.clock.monotonic_nanos(Instant::START);
        let began = self.began;
        let since = |ns: u64| Instant::from_nanos(ns.saturating_sub(start_ns)).saturating_since(began);
        let [heard, at] = times_ns.map(since);
        // All parts of an agent are lost together and with the same reason: one sentence is enough.
        let is_told = self.outcome.lost.iter().any(|lost| lost.reason == reason);
        if !is_told {
            let second = heard.as_secs_f64();
            self.context.watcher.note(&format!(
                "{reason}, in second {second:.1} of the load; the others go on"
            ));
        }
        self.outcome.lost.push(LostPart {
            part,
            heard,
            at,
            reason,
            unknown: 0,
            missing: Some(0),
        });
        if self.part_states.iter().all(|state| state.has_ended) {
            self.outcome.failure.get_or_insert(GeneratorError::NoAgent);
        }
    }

    /// Settles the messages of lost parts by their schedules.
    pub(super) fn settle_losses(&mut self) {
        let mut lost = std::mem::take(&mut self.outcome.lost);
        for part in &mut lost {
            for index in 0..self.outcome.phases.len() {
                self.settle_loss(part, index);
            }
        }
        self.outcome.lost = lost;
    }

    fn settle_loss(&mut self, lost: &mut LostPart, index: usize) {
        let (Some(phase), Some(times)) = (self.options.phases.get(index), self.outcome.phases.get(index))
        else {
            return;
        };
        // Without an offer no message was promised that could be missing.
        if phase.offer().is_none() {
            return;
        }
        let number = index as u32;
        let own =
            |((part, key), _): &(&(u32, IntervalKey), &u64)| *part == lost.part && key.phase() == number;
        // What the part had reported and not ended is settled with all others.
        let of_part = self.offered.iter().filter(own);
        let reported: BTreeMap<IntervalKey, u64> =
            of_part.map(|((_, key), offered)| (*key, *offered)).collect();
        let shares = self.parts.shares().iter();
        let share = shares.into_iter().find(|share| share.number == lost.part);
        let Some(schedule) = share.and_then(|share| share.scheduled(number)) else {
            // A closed loop offers what its answers allow.
            if lost.at < times.begin + times.took {
                lost.missing = None;
            }
            return;
        };
        let at = lost.at.checked_sub(times.begin).map(nanos);
        let scheduled = Scheduled::count(schedule, nanos(phase.warm_up()), at, nanos(times.took));
        for ((second, warm_up), messages) in scheduled.before {
            let key = IntervalKey::new(number, second, warm_up);
            let known = reported.get(&key).copied().unwrap_or(0);
            let unknown = messages.saturating_sub(known);
            if unknown == 0 {
                continue;
            }
            lost.unknown += unknown;
            let interval = self.counted.at(key);
            interval.outcomes.offered += unknown;
            interval.outcomes.unknown += unknown;
            *interval.reasons.entry(REASON.into()).or_default() += unknown;
        }
        lost.missing = lost.missing.map(|missing| missing + scheduled.after);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schedule_of_a_lost_part_is_divided_at_its_loss() {
        let times = || (0..40).map(|message| message * SECOND / 10);
        let scheduled = Scheduled::count(times(), SECOND / 2, Some(SECOND * 3 / 2), SECOND * 3);
        let before = [((0, false), 5), ((0, true), 5), ((1, false), 6)];
        assert_eq!(scheduled.before, BTreeMap::from(before));
        assert_eq!(scheduled.after, 14, "the phase ended after 3 s");
        let scheduled = Scheduled::count(times(), 0, None, SECOND * 9);
        assert_eq!(
            (scheduled.before.len(), scheduled.after),
            (0, 40),
            "it was lost before the phase"
        );
    }
}
