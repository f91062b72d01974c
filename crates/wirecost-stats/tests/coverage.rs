//! How often intervals enclose the truth, by simulation. Bands hold 99.99 % and follow from the number of
//! repetitions; seeds are fixed and were not chosen.

use wirecost_proto::Rng;
use wirecost_stats::{Bootstrap, Quantile, mann_whitney};

/// The standard normal quantile that leaves 0.005 % above it.
const Z: f64 = 3.890_6;

/// Fails where the share of repetitions in which something holds is outside its band around `expected`.
fn expect_share(repetitions: u64, expected: f64, slack: f64, holds: impl Fn(Rng) -> bool) {
    let held = (0..repetitions).filter(|seed| holds(Rng::new(*seed))).count();
    let share = held as f64 / repetitions as f64;
    let band = Z * (expected * (1.0 - expected) / repetitions as f64).sqrt() + slack;
    assert!(
        (share - expected).abs() <= band,
        "{share}, expected {expected} +- {band}"
    );
}

fn normal(mut rng: Rng, n: usize) -> Vec<f64> {
    (0..n).map(|_| rng.next_normal()).collect()
}

fn encloses(low: f64, high: f64, truth: f64) -> bool {
    low <= truth && truth <= high
}

#[test]
fn an_order_statistic_interval_covers_as_often_as_the_binomial() {
    // n = 150, ranks 63 and 88: P(63 <= B <= 87) for B binomial(150, 1/2). p90: ranks 127 and 143.
    for (probability, covered) in [(0.5, 0.959_132), (0.9, 0.971_671)] {
        // A uniform number's p-quantile is p.
        let truth = (probability * u64::MAX as f64) as u64;
        expect_share(4_000, covered, 0.0, |mut rng| {
            let mut values: Vec<u64> = (0..150).map(|_| rng.next_u64()).collect();
            values.sort_unstable();
            let quantile = Quantile::from_sorted(&values, probability).unwrap();
            quantile.low.unwrap() <= truth && truth <= quantile.high.unwrap()
        });
    }
}

#[test]
fn the_interval_of_a_ratio_of_medians_covers_it() {
    expect_share(400, 0.95, 0.02, |rng| {
        let times = |rng: Rng, scale: f64| -> Vec<f64> {
            normal(rng, 80).iter().map(|x| scale * (10.0 + x)).collect()
        };
        let bootstrap = Bootstrap {
            resamples: 400,
            ..Bootstrap::new(rng.purpose(1))
        };
        let (long, short) = (times(rng.host(1), 3.0), times(rng.host(2), 1.0));
        let interval = bootstrap.ratio_of_medians(&long, &short).unwrap();
        encloses(interval.low, interval.high, 3.0)
    });
}

#[test]
fn equal_distributions_differ_in_one_test_of_twenty() {
    // The p-value is discrete; its steps near 5 % are well below 0.5 % at 30 values each.
    expect_share(4_000, 0.05, 0.005, |rng| {
        let (one, other) = (normal(rng.host(1), 30), normal(rng.host(2), 30));
        mann_whitney(&one, &other).unwrap().p <= 0.05
    });
}
