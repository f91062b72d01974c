//! Packets through links, and bands around what is expected of them.

use std::time::Duration;

use statrs::distribution::{ContinuousCDF, StudentsT};
use wirecost_link::{DirectionConfig, Link, LinkConfig};
use wirecost_proto::{BitRate, Delivery, Direction, Fate, Instant, Path, Probability, Rng};

/// The standard normal quantile that leaves 0.005 % above it.
pub(crate) const Z: f64 = 3.890_6;

/// The Kolmogorov-Smirnov statistic times the root of n that is exceeded with a probability of 0.01 %.
const KOLMOGOROV: f64 = 2.225_3;

/// What became of one packet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Passed {
    pub(crate) sent: Instant,
    pub(crate) fate: Fate,
    pub(crate) deliveries: Vec<Delivery>,
}

impl Passed {
    pub(crate) fn is_lost(&self) -> bool {
        self.fate == Fate::Lost
    }

    /// The one-way delay of the first copy in nanoseconds.
    pub(crate) fn delay(&self) -> f64 {
        let first = self.deliveries.first().expect("was delivered");
        first.at.saturating_since(self.sent).as_nanos() as f64
    }
}

pub(crate) fn probability(value: f64) -> Probability {
    Probability::new(value).expect("in [0, 1]")
}

pub(crate) fn rate(bits_per_second: u64) -> Option<BitRate> {
    BitRate::from_bits_per_second(bits_per_second)
}

pub(crate) fn link(config: DirectionConfig, seed: u64) -> Link {
    let config = LinkConfig::both(config);
    config.validate().expect("the configuration is valid");
    Link::new(config, Rng::new(seed))
}

pub(crate) fn offer(path: &mut impl Path, direction: Direction, bytes: usize, sent: Instant) -> Passed {
    let mut deliveries = Vec::new();
    let fate = path.offer(direction, bytes, sent, &mut deliveries);
    Passed {
        sent,
        fate,
        deliveries,
    }
}

/// `count` packets of 100 bytes up, one every `gap`.
pub(crate) fn send(path: &mut impl Path, count: u64, gap: Duration) -> Vec<Passed> {
    let gap = gap.as_nanos() as u64;
    (0..count)
        .map(|index| offer(path, Direction::Up, 100, Instant::from_nanos(index * gap)))
        .collect()
}

/// Fails where a binomial count is outside its band (normal, with continuity correction).
pub(crate) fn expect_frequency(hits: usize, trials: usize, probability: f64) {
    let (hits, trials) = (hits as f64, trials as f64);
    let band = Z * (trials * probability * (1.0 - probability)).sqrt() + 0.5;
    let expected = trials * probability;
    assert!(
        (hits - expected).abs() <= band,
        "{hits} hits, expected {expected} +- {band}"
    );
}

/// Fails where the mean of `values` is further from `expected` than the standard error of one value allows.
pub(crate) fn expect_mean(values: &[f64], expected: f64, standard_deviation: f64) {
    let band = Z * standard_deviation / (values.len() as f64).sqrt();
    let found = mean(values);
    assert!(
        (found - expected).abs() <= band,
        "mean {found}, expected {expected} +- {band}"
    );
}

/// Fails where the mean of independent replications is outside their Student-t band around `expected`.
pub(crate) fn expect_mean_of_replications(values: &[f64], expected: f64) {
    let n = values.len() as f64;
    let found = mean(values);
    let variance = values.iter().map(|x| (x - found).powi(2)).sum::<f64>() / (n - 1.0);
    let t = StudentsT::new(0.0, 1.0, n - 1.0)
        .expect("two replications")
        .inverse_cdf(0.999_95);
    let band = t * (variance / n).sqrt();
    assert!(
        (found - expected).abs() <= band,
        "mean {found}, expected {expected} +- {band}"
    );
}

/// Fails where the empirical distribution is further from `cdf` than Kolmogorov and Smirnov allow.
pub(crate) fn expect_distribution(values: &[f64], cdf: impl Fn(f64) -> f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let distance = |(rank, value): (usize, &f64)| {
        let expected = cdf(*value);
        (expected - rank as f64 / n).max((rank + 1) as f64 / n - expected)
    };
    let statistic = sorted.iter().enumerate().map(distance).fold(0.0, f64::max);
    assert!(statistic <= KOLMOGOROV / n.sqrt(), "distance {statistic}");
}

/// Fails where two sequences of events of one probability are correlated.
pub(crate) fn expect_independent(one: &[bool], other: &[bool]) {
    let n = one.len() as f64;
    let share = |events: &[bool]| events.iter().filter(|hit| **hit).count() as f64 / n;
    let (p, q) = (share(one), share(other));
    let both = one.iter().zip(other).filter(|(a, b)| **a && **b).count() as f64 / n;
    let correlation = (both - p * q) / (p * (1.0 - p) * q * (1.0 - q)).sqrt();
    assert!(correlation.abs() * n.sqrt() <= Z, "correlation {correlation}");
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
