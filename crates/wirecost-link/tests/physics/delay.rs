use std::time::Duration;

use statrs::distribution::{ContinuousCDF, Normal};
use wirecost_link::{DelayVariation, DirectionConfig};
use wirecost_proto::Direction;

use crate::sample::{Passed, expect_distribution, expect_mean, link, mean, offer, send};

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
fn the_mean_is_the_distributions_also_where_it_is_truncated() {
    let ms = Duration::from_millis;
    let variations = [
        (50, DelayVariation::uniform(ms(10)), 10.0 / 3.0_f64.sqrt()),
        (50, DelayVariation::uniform(ms(50)), 50.0 / 3.0_f64.sqrt()),
        (50, DelayVariation::normal(ms(5)), 5.0),
        (50, DelayVariation::normal(ms(25)), 25.0),
        (20, DelayVariation::normal(ms(20)), 20.0),
        (10, DelayVariation::normal(ms(40)), 40.0),
        (0, DelayVariation::normal(ms(10)), 10.0),
    ];
    for (seed, (delay, variation, deviation)) in (20..).zip(variations) {
        let config = config(delay, variation);
        let expected = config.mean_delay().as_nanos() as f64;
        // A truncated distribution is narrower than the whole.
        expect_mean(&delays(config, seed, 50_000), expected, deviation * MS);
    }
    let whole = |delay, variation| config(delay, variation).mean_delay();
    assert_eq!(whole(50, DelayVariation::uniform(ms(50))), ms(50));
    assert_eq!(whole(70, DelayVariation::normal(ms(5))), ms(70));
    // Half a normal distribution: its mean is the deviation times the root of 2 / pi.
    let half = whole(0, DelayVariation::normal(ms(10))).as_nanos() as f64;
    assert!((half - 10.0 * MS * (2.0 / std::f64::consts::PI).sqrt()).abs() < 1.0);
}

/// The mean delays of the first, second, third packet of trains that enter all at once, each train far from the others.
fn of_trains(variation: DelayVariation, packets: usize, trains: u64) -> Vec<Vec<f64>> {
    let mut link = link(config(50, variation), 6);
    let mut delays = vec![Vec::new(); packets];
    for train in 0..trains {
        let sent = wirecost_proto::Instant::from_nanos(train * APART.as_nanos() as u64);
        for place in &mut delays {
            place.push(offer(&mut link, Direction::Up, 100, sent).delay());
        }
    }
    delays
}

#[test]
fn in_order_packets_wait_for_the_slowest_before_them() {
    // The largest of k uniform numbers is k / (k + 1) of the width on average.
    let half_width = 10.0 * MS;
    let trains = of_trains(DelayVariation::uniform(Duration::from_millis(10)), 10, 20_000);
    for (place, delays) in (1..).zip(&trains) {
        let k = f64::from(place);
        let expected = 40.0 * MS + 2.0 * half_width * k / (k + 1.0);
        expect_mean(delays, expected, half_width / 3.0_f64.sqrt());
    }
    // The larger of two normal numbers is above their mean by their deviation over the root of pi.
    let trains = of_trains(DelayVariation::normal(Duration::from_millis(5)), 2, 20_000);
    let expected = 50.0 * MS + 5.0 * MS / std::f64::consts::PI.sqrt();
    expect_mean(&trains[1], expected, 5.0 * MS);
    let free = of_trains(
        DelayVariation::uniform(Duration::from_millis(10)).reordering(),
        10,
        20_000,
    );
    for delays in &free {
        expect_mean(delays, 50.0 * MS, half_width / 3.0_f64.sqrt());
    }
}

#[test]
fn packets_far_apart_keep_the_mean_delay() {
    let ms = Duration::from_millis;
    for (variation, deviation) in [
        (DelayVariation::uniform(ms(10)), 10.0 / 3.0_f64.sqrt()),
        (DelayVariation::normal(ms(5)), 5.0),
    ] {
        let passed = send(&mut link(config(50, variation), 7), 50_000, variation.reach());
        let delays: Vec<f64> = passed.iter().map(Passed::delay).collect();
        expect_mean(&delays, 50.0 * MS, deviation * MS);
    }
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
