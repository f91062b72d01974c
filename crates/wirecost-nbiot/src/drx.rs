//! Discontinuous reception of a connected device (C-DRX; TS 36.321 section 5.7): when its receiver is on.

use crate::config::{CdrxConfig, START_OFFSETS};
use crate::npdcch::SearchSpace;
use crate::subframe::{Subframe, last_start, next_start};

/// C-DRX of a device in one coverage level. All times are in subframes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drx {
    cycle: u64,
    /// Where in a cycle on durations begin.
    offset: u64,
    on: u64,
    inactivity: u64,
}

impl Drx {
    /// C-DRX in the search space of a level, whose on durations begin `start` 256ths into each cycle; `None` where devices always
    /// listen.
    pub fn new(config: &CdrxConfig, space: &SearchSpace, start: u16) -> Option<Self> {
        let cycle = u64::from(config.cycle_ms?);
        Some(Self {
            cycle,
            offset: u64::from(start) * cycle / u64::from(START_OFFSETS),
            on: u64::from(config.on_duration_pp) * space.period,
            inactivity: u64::from(config.inactivity_pp) * space.period,
        })
    }

    /// The first search space from `from` on that a device hears which sent or received last at `since`.
    pub fn first_heard(&self, space: &SearchSpace, since: Subframe, from: Subframe) -> Subframe {
        let mut at = space.next(from);
        // An on duration has one search space at least, except where the system frame number begins anew.
        while at >= since + self.inactivity && self.on_until(at).is_none() {
            at = space.next(next_start(at + 1, self.cycle, self.offset));
        }
        at
    }

    /// How long the receiver is off until `until` in a device that sent or received last at `since`.
    pub fn asleep(&self, since: Subframe, until: Subframe) -> u64 {
        let mut asleep = 0;
        let mut at = since + self.inactivity;
        while at < until {
            match self.on_until(at) {
                Some(end) => at = end,
                None => {
                    let wakes = next_start(at, self.cycle, self.offset).min(until);
                    asleep += wakes.since(at);
                    at = wakes;
                }
            }
        }
        asleep
    }

    /// When the on duration ends that `at` is in.
    fn on_until(&self, at: Subframe) -> Option<Subframe> {
        let start = last_start(at, self.cycle, self.offset)?;
        Some(start + self.on).filter(|end| at < *end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{CDRX_CYCLES_MS, Levels};
    use crate::subframe::PER_SFN_CYCLE;
    use proptest::prelude::*;

    /// The same, subframe by subframe.
    struct Walked {
        config: CdrxConfig,
        period: u64,
        start: u16,
    }

    impl Walked {
        fn is_on(&self, since: u64, at: u64) -> bool {
            let cycle = u64::from(self.config.cycle_ms.expect("a cycle"));
            let offset = u64::from(self.start) * cycle / 256;
            let on = u64::from(self.config.on_duration_pp) * self.period;
            let begins = |at: &u64| {
                (at % PER_SFN_CYCLE)
                    .checked_sub(offset)
                    .is_some_and(|within| within.is_multiple_of(cycle))
            };
            at < since + u64::from(self.config.inactivity_pp) * self.period
                || (at.saturating_sub(on - 1)..=at).any(|at| begins(&at))
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn the_receiver_is_on_as_subframe_by_subframe(
            cycle in 0_usize..12, on_duration_pp in 1_u16..4, inactivity_pp in 0_u16..4, start in 0_u16..256,
            level in 0_usize..2, since in 0_u64..25_000, length in 0_u64..12_000,
        ) {
            let config = CdrxConfig { cycle_ms: Some(CDRX_CYCLES_MS[cycle]), on_duration_pp, inactivity_pp, start_offset: None };
            let space = SearchSpace::new(&Levels::default().all()[level]);
            let drx = Drx::new(&config, &space, start).expect("a cycle");
            let walked = Walked { config, period: space.period, start };
            let (from, until) = (Subframe::new(since), Subframe::new(since + length));
            let asleep = (since..since + length).filter(|at| !walked.is_on(since, *at)).count();
            prop_assert_eq!(drx.asleep(from, until), asleep as u64);
            let spaces = (since + length..).filter(|at| space.next(Subframe::new(*at)) == Subframe::new(*at));
            let first = spaces.into_iter().find(|at| walked.is_on(since, *at));
            prop_assert_eq!(Some(drx.first_heard(&space, from, until).index()), first);
        }
    }

    #[test]
    fn without_a_cycle_a_device_always_listens() {
        let space = SearchSpace::new(&Levels::default().ce0);
        assert_eq!(Drx::new(&CdrxConfig::default(), &space, 0), None);
    }
}
