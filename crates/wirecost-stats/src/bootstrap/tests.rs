use super::*;

/// The scores of 26 children in a test of spatial perception (Efron and Tibshirani, table 14.1, test A).
const SCORES: [f64; 26] = [
    48.0, 36.0, 20.0, 29.0, 42.0, 42.0, 20.0, 42.0, 22.0, 41.0, 45.0, 14.0, 6.0, 0.0, 33.0, 28.0, 34.0, 4.0,
    32.0, 24.0, 47.0, 41.0, 24.0, 26.0, 30.0, 41.0,
];

fn variance(values: &mut [f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n
}

fn mean(values: &mut [f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn ninety_percent() -> Bootstrap {
    Bootstrap {
        confidence: 0.9,
        ..Bootstrap::new(Rng::new(1))
    }
}

fn expect_close(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance,
        "{found}, expected {expected} +- {tolerance}"
    );
}

#[test]
fn the_textbook_interval_of_a_variance() {
    // Table 14.2: estimate 171.5, 90 % BCa interval [115.8, 259.6], from 2,000 resamples, whose own standard error at the
    // ends is about 3.
    let bca = ninety_percent().bca(&SCORES, variance).unwrap();
    expect_close(bca.estimate, 171.5, 0.05);
    expect_close(bca.low, 115.8, 9.0);
    expect_close(bca.high, 259.6, 9.0);
}

#[test]
fn the_textbook_acceleration() {
    // Section 14.3: 0.061.
    expect_close(acceleration(&SCORES, &variance), 0.061, 0.000_5);
}

#[test]
fn without_bias_and_acceleration_bca_is_the_percentile_interval() {
    for tail in [0.025, 0.05, 0.5, 0.975] {
        expect_close(corrected(tail, 0.0, 0.0), tail, 1e-9);
    }
}

#[test]
fn replicates_equal_to_the_estimate_count_half_for_the_bias() {
    let replicates = Replicates {
        sorted: vec![1.0, 1.0, 2.0, 2.0],
    };
    // The normal quantile of 3/4.
    expect_close(replicates.bias(2.0), 0.674_490, 1e-6);
    expect_close(replicates.bias(1.5), 0.0, 1e-9);
    assert!(replicates.bias(9.0).is_finite());
}

#[test]
fn the_median_of_an_even_number_is_between_the_middle_two() {
    assert_eq!(median(&mut [4.0, 1.0, 2.0, 9.0]), 3.0);
    assert_eq!(median(&mut [4.0, 1.0, 2.0]), 2.0);
    assert_eq!(median(&mut []), 0.0);
}

#[test]
fn the_same_stream_gives_the_same_interval() {
    let bootstrap = Bootstrap::new(Rng::new(7));
    let first = bootstrap.bca(&SCORES, median);
    assert_eq!(first, bootstrap.bca(&SCORES, median));
    let other = Bootstrap::new(Rng::new(8));
    assert_ne!(bootstrap.bca(&SCORES, mean), other.bca(&SCORES, mean));
}

#[test]
fn a_shifted_ratio_is_found() {
    let doubled: Vec<f64> = SCORES.iter().map(|score| score * 2.0 + 200.0).collect();
    let base: Vec<f64> = SCORES.iter().map(|score| score + 100.0).collect();
    let ratio = Bootstrap::new(Rng::new(2))
        .ratio_of_medians(&doubled, &base)
        .unwrap();
    expect_close(ratio.estimate, 2.0, 1e-9);
    assert!(ratio.low < 2.0 && 2.0 < ratio.high);
    assert!(ratio.low > 1.7 && ratio.high < 2.3);
}

#[test]
fn equal_values_have_an_interval_of_one_point() {
    let bootstrap = Bootstrap::new(Rng::new(3));
    let point = Interval {
        estimate: 5.0,
        low: 5.0,
        high: 5.0,
    };
    assert_eq!(bootstrap.bca(&[5.0; 20], median), Some(point));
    assert_eq!(bootstrap.bca(&[5.0], median), Some(point));
}

#[test]
fn what_cannot_be_estimated_is_none() {
    let bootstrap = Bootstrap::new(Rng::new(4));
    assert_eq!(bootstrap.bca(&[], median), None);
    assert_eq!(bootstrap.ratio_of_medians(&[1.0], &[]), None);
    assert_eq!(bootstrap.ratio_of_medians(&[1.0], &[0.0]), None);
}
