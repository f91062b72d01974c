use std::time::Duration;

use statrs::distribution::{ContinuousCDF, Normal};
use wirecost_link::{DelayVariation, DirectionConfig};

use crate::sample::{Passed, expect_distribution, expect_mean, link, mean, send};

/// Further apart than any variation below, so that keeping the order changes nothing.
const APART: Duration = Duration::from_secs(1);
const MS: f64 = 1e6;

fn config(delay_ms: u64, variation: DelayVariation) -> DirectionConfig {
    DirectionConfig {
        delay: Duration::from_millis(delay_ms),
        delay_variation: Some(variation),
        ..DirectionConfig::default()
    }
}

fn delays(config: DirectionConfig, seed: u64, count: u64) -> Vec<f64> {
    let passed = send(&mut link(config, seed), count, APART);
    passed.iter().map(Passed::delay).collect()
}

/// Fails where the variance is not `variance`; `kurtosis` is the distribution's fourth standardised moment.
fn expect_variance(values: &[f64], variance: f64, kurtosis: f64) {
    let center = mean(values);
    let squares: Vec<f64> = values.iter().map(|value| (value - center).powi(2)).collect();
    expect_mean(&squares, variance, variance * (kurtosis - 1.0).sqrt());
}

#[test]
fn without_variation_every_delay_is_the_delay() {
    let config = DirectionConfig {
        delay: Duration::from_micros(12_345),
        ..DirectionConfig::default()
    };
    let passed = send(&mut link(config, 1), 100, Duration::from_nanos(1));
    assert!(passed.iter().all(|packet| packet.delay() == 12_345_000.0));
}

#[test]
fn uniform_variation_is_uniform() {
    let variation = DelayVariation::uniform(Duration::from_millis(10));
    let delays = delays(config(50, variation), 2, 50_000);
    assert!(delays.iter().all(|delay| (40.0 * MS..=60.0 * MS).contains(delay)));
    let half_width = 10.0 * MS;
    expect_mean(&delays, 50.0 * MS, half_width / 3.0_f64.sqrt());
    expect_variance(&delays, half_width.powi(2) / 3.0, 1.8);
    expect_distribution(&delays, |delay| (delay - 40.0 * MS) / (20.0 * MS));
}

#[test]
fn normal_variation_is_normal() {
    let variation = DelayVariation::normal(Duration::from_millis(5));
    let delays = delays(config(50, variation), 3, 50_000);
    expect_mean(&delays, 50.0 * MS, 5.0 * MS);
    expect_variance(&delays, (5.0 * MS).powi(2), 3.0);
    let normal = Normal::new(50.0 * MS, 5.0 * MS).expect("a deviation above 0");
    expect_distribution(&delays, |delay| normal.cdf(delay));
}

#[test]
fn a_wide_normal_variation_is_truncated_at_0() {
    let variation = DelayVariation::normal(Duration::from_millis(10));
    let delays = delays(config(10, variation), 4, 50_000);
    let normal = Normal::new(10.0 * MS, 10.0 * MS).expect("a deviation above 0");
    let negative = normal.cdf(0.0);
    expect_distribution(&delays, |delay| (normal.cdf(delay) - negative) / (1.0 - negative));
}

#[test]
fn variation_keeps_the_order_unless_asked_not_to() {
    let variation = DelayVariation::uniform(Duration::from_millis(10));
    let arrivals = |variation| -> Vec<_> {
        let passed = send(
            &mut link(config(20, variation), 5),
            10_000,
            Duration::from_millis(1),
        );
        passed.iter().map(|packet| packet.deliveries[0].at).collect()
    };
    let kept = arrivals(variation);
    assert!(kept.is_sorted());
    let free = arrivals(variation.reordering());
    assert!(!free.is_sorted());
    assert!(
        kept.iter().zip(&free).all(|(kept, free)| kept >= free),
        "waiting only adds delay"
    );
}
