use std::time::Duration;

use wirecost_link::{Achieved, DirectionConfig, GilbertElliott, Loss};
use wirecost_proto::Direction;

use crate::sample::{
    Passed, expect_frequency, expect_independent, expect_mean, expect_mean_of_replications, link, offer,
    probability, rate, send,
};

const GAP: Duration = Duration::from_millis(1);

fn config(loss: Loss) -> DirectionConfig {
    DirectionConfig {
        loss,
        ..DirectionConfig::default()
    }
}

fn bernoulli(share: f64) -> DirectionConfig {
    config(Loss::Bernoulli(probability(share)))
}

fn model() -> GilbertElliott {
    GilbertElliott {
        good_to_bad: probability(0.05),
        bad_to_good: probability(0.25),
        loss_in_good: probability(0.01),
        loss_in_bad: probability(0.6),
    }
}

fn losses(passed: &[Passed]) -> Vec<bool> {
    passed.iter().map(Passed::is_lost).collect()
}

fn lost(config: DirectionConfig, seed: u64, count: u64) -> Vec<bool> {
    losses(&send(&mut link(config, seed), count, GAP))
}

fn count(losses: &[bool]) -> usize {
    losses.iter().filter(|lost| **lost).count()
}

/// The lengths of the runs of losses between deliveries.
fn bursts(losses: &[bool]) -> Vec<f64> {
    let runs = losses.split(|lost| !lost).map(<[bool]>::len);
    runs.filter(|length| *length > 0)
        .map(|length| length as f64)
        .collect()
}

#[test]
fn bernoulli_losses_are_binomial() {
    for (seed, share) in [(1, 0.001), (2, 0.01), (3, 0.05), (4, 0.5), (5, 0.97)] {
        let losses = lost(bernoulli(share), seed, 100_000);
        expect_frequency(count(&losses), losses.len(), share);
    }
}

#[test]
fn bernoulli_losses_have_no_memory() {
    let losses = lost(bernoulli(0.1), 6, 100_000);
    for lag in [1, 2, 3, 64] {
        expect_independent(&losses[lag..], &losses[..losses.len() - lag]);
    }
    let bursts = bursts(&losses);
    // Bursts are geometric: mean 1/(1-p), variance p/(1-p)^2.
    expect_mean(&bursts, 1.0 / 0.9, 0.1_f64.sqrt() / 0.9);
}

#[test]
fn directions_and_links_lose_independently() {
    let mut first = link(bernoulli(0.2), 7);
    let up = losses(&send(&mut first, 50_000, GAP));
    let down: Vec<bool> = (0..50_000)
        .map(|_| offer(&mut first, Direction::Down, 100, Default::default()).is_lost())
        .collect();
    expect_independent(&up, &down);
    expect_independent(&up, &lost(bernoulli(0.2), 8, 50_000));
}

#[test]
fn gilbert_elliott_loses_its_stationary_rate() {
    let shares: Vec<f64> = (0..100)
        .map(|seed| count(&lost(config(Loss::GilbertElliott(model())), seed, 2_000)) as f64 / 2_000.0)
        .collect();
    // pi_B = 0.05 / 0.3 = 1/6: 5/6 x 1 % + 1/6 x 60 %.
    expect_mean_of_replications(&shares, 0.05 / 6.0 + 0.1);
}

#[test]
fn gilbert_elliott_starts_in_its_stationary_distribution() {
    let losses: Vec<bool> = (0..20_000)
        .map(|seed| lost(config(Loss::GilbertElliott(model())), seed, 1)[0])
        .collect();
    expect_frequency(count(&losses), losses.len(), model().rate());
}

#[test]
fn gilbert_bursts_are_geometric_with_the_mean_asked_for() {
    let model = GilbertElliott::bursts(probability(0.05), 4.0).expect("exists");
    let bursts = bursts(&lost(config(Loss::GilbertElliott(model)), 9, 200_000));
    // Geometric with r = 1/4: mean 4, standard deviation sqrt(1 - r) / r.
    expect_mean(&bursts, 4.0, 0.75_f64.sqrt() * 4.0);
    let single = bursts.iter().filter(|length| **length == 1.0).count();
    expect_frequency(single, bursts.len(), 0.25);
}

#[test]
fn gilbert_elliott_losses_correlate_as_the_chain_does() {
    let model = model();
    let rate = model.rate();
    for lag in [1, 2, 5, 10] {
        let correlation = |seed: u64| {
            let losses = lost(config(Loss::GilbertElliott(model)), 1_000 + seed, 2_000);
            let deviation: Vec<f64> = losses
                .iter()
                .map(|lost| f64::from(u8::from(*lost)) - rate)
                .collect();
            let products = deviation
                .iter()
                .zip(&deviation[lag as usize..])
                .map(|(a, b)| a * b);
            products.sum::<f64>() / (2_000.0 - f64::from(lag)) / (rate * (1.0 - rate))
        };
        let correlations: Vec<f64> = (0..50).map(correlation).collect();
        expect_mean_of_replications(&correlations, model.autocorrelation(lag));
    }
}

#[test]
fn the_achieved_check_accepts_what_the_link_does() {
    let models = [
        Loss::None,
        Loss::Bernoulli(probability(0.03)),
        Loss::GilbertElliott(model()),
    ];
    for loss in models {
        for seed in 0..30 {
            let mut link = link(config(loss), seed);
            send(&mut link, 5_000, GAP);
            let achieved = Achieved::new(&config(loss), link.counters(Direction::Up));
            assert!(achieved.is_within(), "seed {seed}: {achieved:?}");
            assert_eq!(achieved.loss.trials, 5_000);
        }
    }
}

#[test]
fn packets_that_the_queue_drops_are_not_exposed_to_loss() {
    let config = DirectionConfig {
        rate: rate(400_000),
        ..bernoulli(0.3)
    };
    let mut link = link(config, 11);
    // One packet of 100 bytes takes 2 ms: half of them are dropped.
    send(&mut link, 20_000, GAP);
    let counters = link.counters(Direction::Up);
    assert!(counters.queue_dropped > 9_000);
    assert!(Achieved::new(&config, counters).is_within());
}

#[test]
fn a_few_bursts_in_a_short_run_raise_no_alarm() {
    let rare = GilbertElliott::bursts(probability(0.01), 5.0).expect("exists");
    for (model, count) in [(rare, 30), (rare, 400), (model(), 50), (model(), 400)] {
        let alarm = |seed| {
            let mut link = link(config(Loss::GilbertElliott(model)), seed);
            send(&mut link, count, GAP);
            let counters = link.counters(Direction::Up);
            !Achieved::new(&config(Loss::GilbertElliott(model)), counters).is_within()
        };
        let alarms = (0..1_000).filter(|seed| alarm(*seed)).count();
        // 0.1 expected at most; above 3 with a probability below 0.01 %.
        assert!(alarms <= 3, "{alarms} alarms of 1,000 at {count} packets");
    }
}

#[test]
fn the_achieved_check_rejects_another_rate() {
    let mut link = link(bernoulli(0.02), 10);
    send(&mut link, 20_000, GAP);
    let asked = bernoulli(0.03);
    assert!(!Achieved::new(&asked, link.counters(Direction::Up)).is_within());
}
