use super::*;

/// The scores of 26 children in a test of spatial perception (Efron and Tibshirani, table 14.1, test A).
const SCORES: [f64; 26] = [
    48.0, 36.0, 20.0, 29.0, 42.0, 42.0, 20.0, 42.0, 22.0, 41.0, 45.0, 14.0, 6.0, 0.0, 33.0, 28.0, 34.0, 4.0,
    32.0, 24.0, 47.0, 41.0, 24.0, 26.0, 30.0, 41.0,
];

fn expect_close(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance,
        "{found}, expected {expected} +- {tolerance}"
    );
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
    // Scores that all differ, so that two streams have other quantiles.
    let spread: Vec<f64> = (0_u32..400).map(|place| f64::from(place * place)).collect();
    let of = |bootstrap: &Bootstrap| bootstrap.ratio_of_medians(&spread, &SCORES[..4]);
    assert_eq!(of(&bootstrap), of(&bootstrap));
    assert_ne!(of(&bootstrap), of(&Bootstrap::new(Rng::new(8))));
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
        estimate: 2.5,
        low: 2.5,
        high: 2.5,
    };
    assert_eq!(bootstrap.ratio_of_medians(&[5.0; 20], &[2.0; 9]), Some(point));
    assert_eq!(bootstrap.ratio_of_medians(&[5.0], &[2.0]), Some(point));
}

#[test]
fn what_cannot_be_estimated_is_none() {
    let bootstrap = Bootstrap::new(Rng::new(4));
    assert_eq!(bootstrap.ratio_of_medians(&[], &[1.0]), None);
    assert_eq!(bootstrap.ratio_of_medians(&[1.0], &[]), None);
    assert_eq!(bootstrap.ratio_of_medians(&[1.0], &[0.0]), None);
}
