//! Samples of time as results files print them.

use wirecost_stats::{Histogram, Quantile, Sample, Summary};

use super::summary::Times;

impl Times {
    /// The times of exact values in nanoseconds; `None` without a value.
    pub fn of_values(nanos: Vec<u64>) -> Option<Self> {
        Some(Sample::new(nanos)?.summary().into())
    }

    /// The times of a histogram, each to within 0.1 %; `None` without a value.
    pub fn of_histogram(histogram: &Histogram) -> Option<Self> {
        histogram.summary().map(Self::from)
    }
}

impl From<Summary> for Times {
    fn from(summary: Summary) -> Self {
        let quantiles = [
            ("p50", summary.p50),
            ("p90", summary.p90),
            ("p95", summary.p95),
            ("p99", summary.p99),
            ("p999", summary.p99_9),
        ];
        let value = |quantile: Option<Quantile>| quantile.map(|quantile| quantile.value);
        let interval = |quantile: &Quantile| Some([quantile.low?, quantile.high?]);
        let printed = || {
            quantiles
                .iter()
                .filter_map(|(name, quantile)| Some((*name, quantile.as_ref()?)))
        };
        Self {
            n: summary.mean.n,
            mean: summary.mean.mean,
            ci95: summary
                .mean
                .low
                .zip(summary.mean.high)
                .map(|(low, high)| [low, high]),
            p50: value(summary.p50),
            p90: value(summary.p90),
            p95: value(summary.p95),
            p99: value(summary.p99),
            p999: value(summary.p99_9),
            min: summary.min,
            max: summary.max,
            quantile_ci95: printed()
                .map(|(name, quantile)| (name.to_owned(), interval(quantile)))
                .collect(),
            low_n: printed()
                .filter(|(_, quantile)| quantile.low_n)
                .map(|(name, _)| name.to_owned())
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_histogram(values: impl IntoIterator<Item = u64>) -> Option<Times> {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|value| histogram.record(value));
        Times::of_histogram(&histogram)
    }

    #[test]
    fn only_what_the_number_of_values_allows_is_printed() {
        assert_eq!(of_histogram([]), None);
        let few = of_histogram(1..=150).expect("values");
        assert_eq!((few.n, few.p99, few.p999), (150, Some(149), None));
        assert_eq!(few.low_n, ["p95", "p99"]);
        assert_eq!(few.quantile_ci95["p99"], None);
        assert_eq!(few.quantile_ci95["p50"], Some([63, 88]));
        let many = of_histogram((0..10_000).map(|_| 1_000)).expect("values");
        assert_eq!(
            (many.p999, many.quantile_ci95["p999"]),
            (Some(1_000), Some([1_000; 2]))
        );
    }

    #[test]
    fn exact_values_and_a_histogram_of_small_ones_are_the_same() {
        // Below 2,048 ns the histogram has a counter for each value.
        let values: Vec<u64> = (1..=2_000).collect();
        let (exact, kept) = (Times::of_values(values.clone()), of_histogram(values));
        let quantiles = |times: Option<Times>| times.map(|times| (times.quantile_ci95, times.p50, times.p99));
        assert_eq!(quantiles(exact), quantiles(kept));
    }
}
