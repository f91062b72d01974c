//! How often intervals enclose the truth, by simulation. Bands hold 99.99 % and follow from the number of
//! repetitions; seeds are fixed and were not chosen.

use wirecost_proto::Rng;
use wirecost_stats::Quantile;

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

#[test]
fn quantile_intervals_have_their_binomial_coverage() {
    // n = 150, ranks 63 and 88: P(63 <= B <= 87) for B binomial(150, 1/2). p90: ranks 127 and 143.
    for (probability, covered) in [(0.5, 0.959_132), (0.9, 0.971_671)] {
        // A uniform number's p-quantile is p.
        let truth = (probability * u64::MAX as f64) as u64;
        expect_share(4_000, covered, 0.0, |mut rng| {
            let mut values: Vec<u64> = (0..150).map(|_| rng.next_u64()).collect();
            values.sort_unstable();
            let quantile = Quantile::of(&values, probability).unwrap();
            quantile.low.unwrap() <= truth && truth <= quantile.high.unwrap()
        });
    }
}
