//! The result of `load --find-max`: the highest rate of messages at which a load fulfils a condition, and every load that
//! was run to find it.

use serde::{Deserialize, Serialize};

/// The highest rate that one target held.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RateSearch {
    /// Stack, target and devices, in one line.
    pub name: String,
    /// The condition, e.g. `p(99)<50ms`.
    pub bound: String,
    /// The figure that the condition is about: `response_time`, or `one_way_delay` where nothing answers.
    pub metric: String,
    /// The highest rate that held in most of its loads, in messages per second; null if no tried rate did.
    pub rate: Option<f64>,
    /// The interval of the rate, in messages per second: every load up to the first rate held, and no load from the second
    /// rate on did. Null where no rate is known on that side.
    pub interval: [Option<f64>; 2],
    /// Why the lowest rate above `rate` did not hold, and the bottleneck there; null if every tried rate held.
    pub limit: Option<String>,
    /// The bottleneck of the first load at the lowest rate that did not hold: `generator`, `target`, `link`, `devices`, `none`.
    pub bottleneck: Option<String>,
    /// Whether the search came to its end.
    pub complete: bool,
    /// The loads, in the order in which they ran.
    pub trials: Vec<RateTrial>,
}

/// One load of a search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RateTrial {
    /// The key of the load.
    pub key: String,
    /// Its rate, in messages per second over all devices.
    pub rate: f64,
    /// Whether it held: it is valid, at least 99 % of its messages were acknowledged or delivered, its backlog did not grow,
    /// and the condition is fulfilled.
    pub held: bool,
    /// The figure of the condition in seconds; null where there is none, or where it must not be used.
    pub figure_s: Option<f64>,
    /// Why it did not hold; null if it did.
    pub why: Option<String>,
    /// The bottleneck of the load; null if it has none.
    pub bottleneck: Option<String>,
}

/// The loads of one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtRate {
    /// The rate, in messages per second.
    pub rate: f64,
    /// How many loads held.
    pub held: u32,
    /// How many loads did not hold.
    pub failed: u32,
}

impl AtRate {
    /// Whether most of its loads held.
    pub const fn holds(&self) -> bool {
        self.held > self.failed
    }

    /// How many loads were run.
    pub const fn loads(&self) -> u32 {
        self.held + self.failed
    }

    /// The loads of each rate, the lowest rate first.
    pub fn all(trials: &[RateTrial]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for trial in trials {
            let index = all
                .iter()
                .position(|at| at.rate >= trial.rate)
                .unwrap_or(all.len());
            if all.get(index).is_none_or(|at| at.rate != trial.rate) {
                let (rate, held, failed) = (trial.rate, 0, 0);
                all.insert(index, Self { rate, held, failed });
            }
            match trial.held {
                true => all[index].held += 1,
                false => all[index].failed += 1,
            }
        }
        all
    }

    /// The border of the rates that hold: the index of the highest rate below the lowest one that does not hold, and the
    /// index of that one. Neither needs to exist.
    pub fn border(all: &[Self]) -> [Option<usize>; 2] {
        let above = all.iter().position(|at| !at.holds());
        [above.unwrap_or(all.len()).checked_sub(1), above]
    }
}

impl RateSearch {
    /// Sets the rate, its interval and its limit by the trials.
    #[must_use]
    pub fn concluded(self, complete: bool) -> Self {
        let all = AtRate::all(&self.trials);
        let [low, high] = AtRate::border(&all);
        let first_failed = all.iter().position(|at| at.failed > 0).unwrap_or(all.len());
        let last_held = all.iter().rposition(|at| at.held > 0);
        let surely = first_failed.checked_sub(1).map(|index| all[index].rate);
        let surely_not = all.get(last_held.map_or(0, |index| index + 1)).map(|at| at.rate);
        let failed = high.and_then(|index| {
            let mut trials = self.trials.iter();
            trials.find(|trial| trial.rate == all[index].rate && !trial.held)
        });
        Self {
            rate: low.map(|index| all[index].rate),
            interval: [surely, surely_not],
            limit: failed.and_then(|trial| trial.why.clone()),
            bottleneck: failed.and_then(|trial| trial.bottleneck.clone()),
            complete,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(trials: &[(f64, bool)]) -> RateSearch {
        let trial = |(rate, held): &(f64, bool)| RateTrial {
            rate: *rate,
            held: *held,
            why: (!held).then(|| format!("too slow at {rate}")),
            ..RateTrial::default()
        };
        let trials = trials.iter().map(trial).collect();
        let search = RateSearch {
            trials,
            ..RateSearch::default()
        };
        search.concluded(true)
    }

    #[test]
    fn the_rate_is_the_highest_below_the_first_that_fails() {
        let found = search(&[(1e3, true), (2e3, true), (4e3, false), (3e3, false)]);
        assert_eq!((found.rate, found.interval), (Some(2e3), [Some(2e3), Some(3e3)]));
        assert_eq!(found.limit.as_deref(), Some("too slow at 3000"));
        assert_eq!(search(&[(1e3, true)]).interval, [Some(1e3), None]);
        let none = search(&[(1e3, false)]);
        assert_eq!((none.rate, none.interval), (None, [None, Some(1e3)]));
    }

    #[test]
    fn the_interval_holds_every_rate_with_loads_of_both_kinds() {
        let found = search(&[
            (1e3, true),
            (2e3, true),
            (2e3, false),
            (2e3, true),
            (3e3, false),
            (3e3, true),
            (3e3, false),
            (4e3, false),
        ]);
        assert_eq!((found.rate, found.interval), (Some(2e3), [Some(1e3), Some(4e3)]));
    }
}
