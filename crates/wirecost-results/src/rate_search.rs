//! The result of `load --find-max`: a search as RFC 9971 (Multiple Loss Ratio Search) defines it, with one search goal, and every
//! trial that was run for it.
//!
//! The RFC asks of a trial whether its loss ratio is at most that of the goal. Here a trial is good if its messages were
//! acknowledged, its backlog did not grow, and the condition on its times holds. All trials of a search have one length.

use serde::{Deserialize, Serialize};

use crate::repeat::RunOf;

/// The conditional throughput of one target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateSearch {
    /// Stack, target and devices, in one line.
    pub name: String,
    /// Which of several searches for the same load it is, each with seeds of its own; absent if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_of: Option<RunOf>,
    /// The condition, e.g. `p(99)<50ms`.
    pub bound: String,
    /// The figure that the condition is about: `response_time`, or `one_way_delay` where nothing answers.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::SearchMetric"))]
    pub metric: String,
    /// What the search aims at.
    #[serde(default)]
    pub goal: Goal,
    /// The conditional throughput: the messages per second that were acknowledged or delivered of those offered at the
    /// relevant lower bound; null without such a bound.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub conditional_throughput: Option<f64>,
    /// The highest rate below `relevant_upper_bound` that is a lower bound, in messages per second; null if no rate is.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub relevant_lower_bound: Option<f64>,
    /// The lowest rate that is an upper bound, in messages per second; null if no rate is.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub relevant_upper_bound: Option<f64>,
    /// Why the trials at the relevant upper bound were bad; null without one.
    pub limit: Option<String>,
    /// The bottleneck of the first bad trial at the relevant upper bound: `generator`, `target`, `link`, `devices`, `none`;
    /// null without one.
    pub bottleneck: Option<String>,
    /// Whether the relevant upper bound rests on trials that were bad by the generator: it is no limit of the target.
    #[serde(default)]
    pub ended_by_generator: bool,
    /// Whether the search came to its end.
    pub complete: bool,
    /// The trials, in the order in which they ran.
    pub trials: Vec<RateTrial>,
}

/// A search goal (RFC 9971).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Goal {
    /// Goal Loss Ratio: the largest share of the messages that a good trial may lose.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub loss_ratio: f64,
    /// Goal Exceed Ratio: the largest share of the duration sum that bad trials may have at a lower bound.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub exceed_ratio: f64,
    /// Goal Width: the relevant bounds are at most this far apart, relative to the upper one.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub width: f64,
    /// Goal Initial Trial Duration, in seconds.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub initial_trial_duration_s: f64,
    /// Goal Final Trial Duration, in seconds: the length of every trial.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub final_trial_duration_s: f64,
    /// Goal Duration Sum, in seconds: so long are the trials of a rate together that classify it in any case.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub duration_sum_s: f64,
}

impl Default for Goal {
    /// Trials of one second.
    fn default() -> Self {
        Self::with_trials_of(1.0)
    }
}

/// What a rate is for a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Lower Bound: the target holds it.
    Lower,
    /// Upper Bound: the target does not hold it.
    Upper,
}

impl Goal {
    /// The share of the messages that must be acknowledged or delivered is 99 %.
    pub const LOSS_RATIO: f64 = 0.01;
    /// The bounds are 2 % apart.
    const WIDTH: f64 = 0.02;
    /// Most of the trials decide (RFC 9971 recommends the median).
    const EXCEED_RATIO: f64 = 0.5;
    /// How many trials classify a rate in any case.
    const TRIALS: f64 = 5.0;

    /// The goal of a search whose trials have this length.
    pub const fn with_trials_of(seconds: f64) -> Self {
        Self {
            loss_ratio: Self::LOSS_RATIO,
            exceed_ratio: Self::EXCEED_RATIO,
            width: Self::WIDTH,
            initial_trial_duration_s: seconds,
            final_trial_duration_s: seconds,
            duration_sum_s: seconds * Self::TRIALS,
        }
    }

    /// The target that precedes the goal: a single trial classifies a rate.
    const fn preceding(self) -> Self {
        Self {
            duration_sum_s: self.final_trial_duration_s,
            ..self
        }
    }

    /// What a rate is after so many good and bad trials; `None` while further trials can change it.
    pub fn classify(&self, good: u32, bad: u32) -> Option<Bound> {
        let [good, bad] = [good, bad].map(|trials| f64::from(trials) * self.final_trial_duration_s);
        let sum = self.duration_sum_s.max(good + bad);
        let may_be_bad = sum * self.exceed_ratio;
        match (bad <= may_be_bad, sum - good <= may_be_bad) {
            (true, true) => Some(Bound::Lower),
            (false, _) => Some(Bound::Upper),
            (true, false) => None,
        }
    }

    /// Whether two bounds are near enough to one another.
    pub fn is_reached(&self, lower: f64, upper: f64) -> bool {
        upper - lower <= upper * self.width
    }
}

/// One trial of a search: a load at a rate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateTrial {
    /// The key of the load.
    pub key: String,
    /// Its rate, in messages per second over all devices: the Trial Load.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub rate: f64,
    /// Trial Loss Ratio: the share of its messages that were neither acknowledged nor delivered; null if it was not run.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub loss_ratio: Option<f64>,
    /// Whether it is good: at least 99 % of its messages were acknowledged or delivered, its backlog did not grow, and the condition
    /// is fulfilled for certain.
    pub good: bool,
    /// Whether it is bad by the generator: another generator might have had a good trial.
    #[serde(default)]
    pub by_generator: bool,
    /// The figure of the condition in seconds; null where there is none, or where it must not be used.
    pub figure_s: Option<f64>,
    /// Whether the figure is at most `figure_s`, because the generator was late; absent if it is not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_most: bool,
    /// Why it is bad; null if it is good.
    pub why: Option<String>,
    /// The bottleneck of the load; null if it has none.
    pub bottleneck: Option<String>,
}

/// The trials of one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtRate {
    /// The rate, in messages per second.
    pub rate: f64,
    /// How many trials were good.
    pub good: u32,
    /// How many trials were bad.
    pub bad: u32,
    /// How many trials were bad by the generator.
    pub by_generator: u32,
}

impl AtRate {
    /// What the rate is for a goal; `None` while further trials can change it.
    pub fn bound(&self, goal: &Goal) -> Option<Bound> {
        goal.classify(self.good, self.bad)
    }

    /// How many trials were run.
    pub const fn trials(&self) -> u32 {
        self.good + self.bad
    }

    /// Whether most of its trials were good.
    pub const fn holds(&self) -> bool {
        self.good > self.bad
    }

    /// Whether it is an upper bound only because of the generator.
    pub fn is_of_generator(&self, goal: &Goal) -> bool {
        goal.classify(self.good, self.bad - self.by_generator) != Some(Bound::Upper)
    }

    /// The trials of each rate, the lowest rate first.
    pub fn all(trials: &[RateTrial]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for trial in trials {
            let index = all.partition_point(|at| at.rate < trial.rate);
            if all.get(index).is_none_or(|at| at.rate != trial.rate) {
                let none = Self {
                    rate: trial.rate,
                    good: 0,
                    bad: 0,
                    by_generator: 0,
                };
                all.insert(index, none);
            }
            let at = &mut all[index];
            at.good += u32::from(trial.good);
            at.bad += u32::from(!trial.good);
            at.by_generator += u32::from(!trial.good && trial.by_generator);
        }
        all
    }

    /// The relevant bounds of a goal: the highest lower bound below the lowest upper bound, and that one. A higher rate that was
    /// good once more counts for nothing. Neither needs to exist.
    pub fn relevant_bounds(all: &[Self], goal: &Goal) -> [Option<Self>; 2] {
        let upper = all.iter().position(|at| at.bound(goal) == Some(Bound::Upper));
        let below = &all[..upper.unwrap_or(all.len())];
        let lower = below.iter().rfind(|at| at.bound(goal) == Some(Bound::Lower));
        [lower.copied(), upper.map(|index| all[index])]
    }
}

impl RateSearch {
    /// Sets the conditional throughput, the relevant bounds and the limit by the trials. Those of a search that was interrupted are
    /// by single trials.
    #[must_use]
    pub fn concluded(self, complete: bool) -> Self {
        let goal = if complete {
            self.goal
        } else {
            // An interrupted search has bounds of single trials, which is how it began: the full goal would give none at all.
            self.goal.preceding()
        };
        let [lower, upper] = AtRate::relevant_bounds(&AtRate::all(&self.trials), &goal);
        let failed = upper.and_then(|upper| {
            let mut trials = self.trials.iter();
            trials.find(|trial| trial.rate == upper.rate && !trial.good)
        });
        Self {
            conditional_throughput: lower
                // RFC 9971 defines the conditional throughput as the load of the lower bound without what was lost in it.
                .map(|lower| lower.rate * (1.0 - self.loss_ratio_at(lower.rate, &goal))),
            relevant_lower_bound: lower.map(|lower| lower.rate),
            relevant_upper_bound: upper.map(|upper| upper.rate),
            limit: failed.and_then(|trial| trial.why.clone()),
            bottleneck: failed.and_then(|trial| trial.bottleneck.clone()),
            ended_by_generator: upper.is_some_and(|upper| upper.is_of_generator(&goal)),
            complete,
            ..self
        }
    }

    /// The trial loss ratio at a rate that only the share of the goal exceed ratio exceeds; missing trials count as lost.
    fn loss_ratio_at(&self, rate: f64, goal: &Goal) -> f64 {
        let of_rate = self.trials.iter().filter(|trial| trial.rate == rate);
        // A trial that has no ratio did not hold, and must not count as one without loss.
        let mut ratios: Vec<f64> = of_rate.map(|trial| trial.loss_ratio.unwrap_or(1.0)).collect();
        ratios.sort_by(f64::total_cmp);
        let each = goal.final_trial_duration_s;
        let needed = goal.duration_sum_s.max(ratios.len() as f64 * each) * (1.0 - goal.exceed_ratio);
        let mut sum = 0.0;
        for ratio in ratios {
            sum += each;
            if sum >= needed {
                return ratio;
            }
        }
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(trials: &[(f64, bool)]) -> RateSearch {
        let trial = |(rate, good): &(f64, bool)| RateTrial {
            rate: *rate,
            good: *good,
            loss_ratio: Some(0.0),
            why: (!good).then(|| format!("too slow at {rate}")),
            ..RateTrial::default()
        };
        let trials = trials.iter().map(trial).collect();
        RateSearch {
            trials,
            ..RateSearch::default()
        }
    }

    /// Three trials at each rate, which classify it.
    fn thrice(trials: &[(f64, bool)]) -> RateSearch {
        let each = trials.iter().flat_map(|trial| [*trial; 3]);
        search(&each.collect::<Vec<_>>()).concluded(true)
    }

    fn bounds(search: &RateSearch) -> [Option<f64>; 2] {
        [search.relevant_lower_bound, search.relevant_upper_bound]
    }

    #[test]
    fn the_relevant_lower_bound_is_below_the_lowest_upper_bound() {
        let found = thrice(&[(1e3, true), (2e3, true), (4e3, false), (3e3, false), (8e3, true)]);
        assert_eq!(bounds(&found), [Some(2e3), Some(3e3)]);
        assert_eq!(found.conditional_throughput, Some(2e3));
        assert_eq!(found.limit.as_deref(), Some("too slow at 3000"));
        assert_eq!(bounds(&thrice(&[(1e3, true)])), [Some(1e3), None]);
        assert_eq!(bounds(&thrice(&[(1e3, false)])), [None, Some(1e3)]);
    }

    #[test]
    fn a_single_trial_classifies_only_in_a_search_that_was_interrupted() {
        let so_far = search(&[(1e3, true), (2e3, false)]);
        assert_eq!(bounds(&so_far.clone().concluded(true)), [None, None]);
        assert_eq!(bounds(&so_far.concluded(false)), [Some(1e3), Some(2e3)]);
    }

    #[test]
    fn what_was_lost_at_the_lower_bound_is_no_throughput() {
        let mut found = search(&[(1e3, true), (1e3, true), (1e3, true), (1e3, false)]);
        for (trial, ratio) in found.trials.iter_mut().zip([0.002, 0.01, 0.001, 0.4]) {
            trial.loss_ratio = Some(ratio);
        }
        // Three of five trials lost at most 1 %; of one nothing is known.
        assert_eq!(found.concluded(true).conditional_throughput, Some(990.0));
    }

    #[test]
    fn a_bound_is_of_the_generator_unless_the_other_bad_trials_set_it() {
        let by_generator = |spoiled: usize| {
            let mut found = search(&[[(1e3, true); 4], [(2e3, false); 4]].concat());
            for trial in found.trials.iter_mut().skip(4).take(spoiled) {
                trial.by_generator = true;
            }
            found.concluded(true).ended_by_generator
        };
        assert_eq!([0, 1, 2, 3].map(by_generator), [false, false, true, true]);
    }

    /// RFC 9971: a rate is classified when no result of the trials that are missing could change it.
    #[test]
    fn a_rate_is_classified_when_missing_trials_cannot_change_it() {
        let cases = (0..10_u32).flat_map(|tenths| (1..8_u32).map(move |sum| (f64::from(tenths) / 10.0, sum)));
        for ((exceed_ratio, sum), (good, bad)) in cases.flat_map(|case| {
            let trials = (0..6_u32).flat_map(|good| (0..6_u32).map(move |bad| (good, bad)));
            trials.map(move |trials| (case, trials))
        }) {
            let goal = Goal {
                exceed_ratio,
                duration_sum_s: f64::from(sum),
                ..Goal::default()
            };
            let missing = sum.saturating_sub(good + bad);
            let ends: Vec<Option<Bound>> = (0..=missing)
                .map(|more| goal.classify(good + more, bad + missing - more))
                .collect();
            assert!(ends.iter().all(Option::is_some), "the whole sum classifies");
            let agreed = ends[0].filter(|_| ends.iter().all(|end| *end == ends[0]));
            assert_eq!(
                goal.classify(good, bad),
                agreed,
                "{good} good and {bad} bad of {sum}, {exceed_ratio}"
            );
        }
    }
}
