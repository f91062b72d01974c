//! The percentile distribution of a histogram, step by step.

use super::{Histogram, MAX_NS};

/// One step through a percentile distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The share of values at or below `value_ns`, in [0, 1], as iterated: halving the distance to 1.
    pub quantile: f64,
    /// The value in nanoseconds: the largest that is counted with it.
    pub value_ns: u64,
    /// How many values are at or below it.
    pub total_count: u64,
}

impl Histogram {
    /// The percentile distribution in ascending order, with `ticks` steps each time the distance to 100 % halves.
    /// The last step is at 1; an empty histogram has none.
    ///
    /// The steps are those of HdrHistogram's iterator by percentiles, at exact shares. HdrHistogram adds floating-point numbers,
    /// which gives a share above 0.9 instead of 0.9, and then a value that is one too high.
    pub fn steps(&self, ticks: u32) -> impl Iterator<Item = Step> + use<> {
        let (all, mut total_count) = (self.len(), 0);
        let mut quantiles = Quantiles::new(ticks);
        let mut steps = Vec::new();
        for recorded in self.recorded().iter() {
            total_count += recorded.times;
            let mut step = |quantile| {
                steps.push(Step {
                    quantile,
                    value_ns: recorded.largest().min(MAX_NS),
                    total_count,
                });
            };
            while quantiles.rank(all) <= total_count {
                step(quantiles.share());
                quantiles.advance();
                if total_count == all {
                    step(1.0);
                    break;
                }
            }
        }
        steps.into_iter()
    }
}

/// Shares from 0 towards 1, `ticks` of them each time the distance to 1 halves.
struct Quantiles {
    ticks: u128,
    halvings: u32,
    tick: u128,
}

impl Quantiles {
    fn new(ticks: u32) -> Self {
        Self {
            ticks: ticks.max(1).into(),
            halvings: 0,
            tick: 0,
        }
    }

    /// The distance to 1, as numerator and denominator.
    fn rest(&self) -> (u128, u128) {
        (2 * self.ticks - self.tick, (2 * self.ticks) << self.halvings)
    }

    fn share(&self) -> f64 {
        let (rest, whole) = self.rest();
        (whole - rest) as f64 / whole as f64
    }

    /// The rank of the value, counted from 1 among `values`, that the share reaches.
    fn rank(&self, values: u64) -> u64 {
        let (rest, whole) = self.rest();
        // At most `values`, which has 64 bits.
        let above = (u128::from(values) * rest / whole) as u64;
        (values - above).max(1)
    }

    fn advance(&mut self) {
        self.tick += 1;
        if self.tick == self.ticks {
            (self.tick, self.halvings) = (0, self.halvings + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::tests::record;

    #[test]
    fn a_step_is_at_its_share_exactly() {
        for values in [10, 20, 50, 300, 1_000, 12_345] {
            let histogram = record(1..=values);
            for step in histogram.steps(5).filter(|step| step.quantile < 1.0) {
                let value = histogram.quantile(step.quantile);
                let [beyond] = histogram.counts_up_to([value]);
                assert_eq!(
                    (step.value_ns, step.total_count),
                    (value, beyond),
                    "{step:?} of {values}"
                );
            }
            let at = histogram
                .steps(5)
                .find(|step| step.quantile == 0.9)
                .expect("a step");
            if values < 2_000 {
                let share = values * 9 / 10;
                assert_eq!((at.value_ns, at.total_count), (share, share));
            }
        }
    }

    /// The steps of HdrHistogram's own iterator, where its shares are exact.
    #[test]
    fn steps_are_those_of_the_library() {
        let histogram = record((1..=1_024).map(|i| i * i * 1_000));
        let counts = crate::histogram::in_library(&histogram.recorded());
        let theirs = counts
            .iter_quantiles(4)
            .map(|step| (step.quantile_iterated_to(), step.value_iterated_to()));
        let ours = histogram.steps(4).map(|step| (step.quantile, step.value_ns));
        assert_eq!(ours.collect::<Vec<_>>(), theirs.collect::<Vec<_>>());
    }

    #[test]
    fn steps_ascend_to_the_whole() {
        let histogram = record((1..=1_000).map(|i| i * 1_000_000));
        let steps: Vec<Step> = histogram.steps(5).collect();
        assert!(steps.is_sorted_by(|a, b| a.quantile <= b.quantile && a.value_ns <= b.value_ns));
        let last = steps.last().unwrap();
        assert_eq!((last.quantile, last.total_count), (1.0, 1_000));
        let median = steps.iter().find(|step| step.quantile == 0.5).unwrap();
        assert!((500_000_000..=500_500_000).contains(&median.value_ns));
        assert_eq!(median.total_count, 500);
    }

    #[test]
    fn an_empty_histogram_has_no_steps() {
        let histogram = Histogram::new();
        assert!(histogram.is_empty());
        assert_eq!(histogram.steps(5).count(), 0);
        assert_eq!((histogram.mean(), histogram.quantile(0.5)), (0.0, 0));
    }
}
