//! NPDCCH: when search spaces start and which repetitions a DCI can have.

use crate::config::LevelConfig;
use crate::subframe::{PER_SFN_CYCLE, Subframe, next_start};

/// The search space of one coverage level (TS 36.213 section 16.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchSpace {
    /// The largest number of repetitions, and the usable subframes of the search space.
    pub rmax: u64,
    /// Subframes between two starts: Rmax x G.
    pub period: u64,
    offset: u64,
}

impl SearchSpace {
    /// The search space of a level.
    pub fn new(level: &LevelConfig) -> Self {
        let period = level.npdcch_period();
        Self {
            rmax: u64::from(level.npdcch_rmax),
            period,
            offset: period * u64::from(level.npdcch_offset_eighths) / 8,
        }
    }

    /// The first start that is not before `from`: `(10 SFN + subframe) mod T` is the offset.
    pub fn next(&self, from: Subframe) -> Subframe {
        next_start(from, self.period, self.offset)
    }

    /// The number of starts before `subframe`.
    pub fn starts_before(&self, subframe: Subframe) -> u64 {
        let count = |length: u64| length.saturating_sub(self.offset).div_ceil(self.period);
        if self.period > PER_SFN_CYCLE {
            return count(subframe.index());
        }
        let (cycles, within) = (subframe.index() / PER_SFN_CYCLE, subframe.index() % PER_SFN_CYCLE);
        cycles * count(PER_SFN_CYCLE) + count(within)
    }

    /// The repetitions that a DCI can have, fewest first: Rmax/8, Rmax/4, Rmax/2 and Rmax, as far as they are whole (TS 36.213 table
    /// 16.6-1).
    pub fn repetitions(&self) -> impl Iterator<Item = u64> + use<> {
        let rmax = self.rmax;
        [8, 4, 2, 1]
            .into_iter()
            .filter(move |part| rmax >= *part)
            .map(move |part| rmax / part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Levels;
    use proptest::prelude::*;

    fn space(rmax: u16, g: f64, eighths: u8) -> SearchSpace {
        SearchSpace::new(&LevelConfig {
            npdcch_rmax: rmax,
            npdcch_g: g,
            npdcch_offset_eighths: eighths,
            ..Levels::default().ce0
        })
    }

    #[test]
    fn periods_are_rmax_times_g() {
        let periods = Levels::default()
            .all()
            .map(|level| SearchSpace::new(&level).period);
        assert_eq!(periods, [16, 96, 2_048]);
    }

    #[test]
    fn repetitions_are_parts_of_rmax() {
        assert!(space(8, 2.0, 0).repetitions().eq([1, 2, 4, 8]));
        assert!(space(2, 4.0, 0).repetitions().eq([1, 2]));
        assert!(space(512, 4.0, 0).repetitions().eq([64, 128, 256, 512]));
    }

    #[test]
    fn the_count_restarts_with_the_system_frame_number() {
        // 96 does not divide 10,240: the last period of a cycle is cut short.
        let space = space(64, 1.5, 0);
        assert_eq!(space.next(Subframe::new(10_177)), Subframe::new(10_240));
        assert_eq!(space.next(Subframe::new(10_176)), Subframe::new(10_176));
    }

    proptest! {
        #[test]
        fn starts_are_counted_as_they_come(from in 0_u64..100_000, eighths in 0_u8..4, which in 0_usize..4) {
            let (rmax, g) = [(8, 2.0), (64, 1.5), (512, 4.0), (2_048, 64.0)][which];
            let space = space(rmax, g, eighths);
            let next = space.next(Subframe::new(from));
            prop_assert!(next.index() >= from);
            prop_assert_eq!(space.starts_before(next), space.starts_before(Subframe::new(from)));
            prop_assert_eq!(space.starts_before(next + 1), space.starts_before(next) + 1);
        }
    }
}
