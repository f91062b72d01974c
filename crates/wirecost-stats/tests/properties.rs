//! What holds for any sample.

use proptest::prelude::*;
use wirecost_stats::{Histogram, Sample, mann_whitney};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_summary_is_ordered(values in proptest::collection::vec(any::<u64>(), 1..400)) {
        let summary = Sample::new(values).unwrap().summary();
        let quantiles = [summary.p50, summary.p90, summary.p95, summary.p99, summary.p99_9];
        let printed: Vec<u64> = quantiles.iter().flatten().map(|quantile| quantile.value).collect();
        prop_assert!(printed.is_sorted());
        for quantile in quantiles.iter().flatten() {
            prop_assert!(summary.min <= quantile.value && quantile.value <= summary.max);
            prop_assert!(quantile.low.is_none_or(|low| low <= quantile.value));
            prop_assert!(quantile.high.is_none_or(|high| high >= quantile.value));
        }
    }

    #[test]
    fn a_histogram_agrees_with_the_sample(values in proptest::collection::vec(0..7_200_000_000_000_u64, 100..400)) {
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        let sample = Sample::new(values).unwrap();
        for probability in [0.5, 0.9, 0.99] {
            let exact = sample.quantile(probability).unwrap().value as f64;
            let kept = histogram.quantile(probability) as f64;
            prop_assert!((kept - exact).abs() <= exact * 0.001 + 1.0, "{} ns kept as {} ns", exact, kept);
        }
    }

    #[test]
    fn a_comparison_is_a_probability(
        one in proptest::collection::vec(any::<f64>(), 1..30),
        other in proptest::collection::vec(-3..3_i8, 1..30),
    ) {
        let other: Vec<f64> = other.into_iter().map(f64::from).collect();
        let test = mann_whitney(&one, &other).unwrap();
        prop_assert!((0.0..=1.0).contains(&test.p));
        prop_assert!((0.0..=1.0).contains(&test.superiority));
    }
}
