use std::time::Duration;

use wirecost_link::{DelayVariation, DirectionConfig, Link, LinkConfig, Loss, QueueLimit, Reorder};
use wirecost_proto::{Direction, Instant, Rng};

use crate::sample::{Passed, offer, probability, rate};

fn everything() -> DirectionConfig {
    DirectionConfig {
        delay: Duration::from_millis(20),
        delay_variation: Some(DelayVariation::normal(Duration::from_millis(4))),
        loss: Loss::Bernoulli(probability(0.1)),
        reorder: Some(Reorder {
            probability: probability(0.1),
            extra_delay: Duration::from_millis(5),
        }),
        duplicate: probability(0.1),
        corrupt: probability(0.1),
        rate: rate(1_000_000),
        queue: Some(QueueLimit::Packets(20)),
        mtu: 1_500,
    }
}

fn link(config: DirectionConfig, seed: u64) -> Link {
    Link::new(LinkConfig::both(config), Rng::new(seed))
}

fn at(index: u64) -> Instant {
    Instant::from_nanos(index * 600_000)
}

fn one_direction(link: &mut Link, direction: Direction) -> Vec<Passed> {
    (0..2_000)
        .map(|index| offer(link, direction, 100, at(index)))
        .collect()
}

#[test]
fn the_same_stream_decides_alike() {
    let run = |seed| one_direction(&mut link(everything(), seed), Direction::Up);
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn the_other_direction_changes_nothing() {
    let mut alternating = link(everything(), 3);
    let (mut up, mut down) = (Vec::new(), Vec::new());
    for index in 0..2_000 {
        down.push(offer(&mut alternating, Direction::Down, 100, at(index)));
        up.push(offer(&mut alternating, Direction::Up, 100, at(index)));
    }
    let mut separate = link(everything(), 3);
    assert_eq!(one_direction(&mut separate, Direction::Up), up);
    assert_eq!(one_direction(&mut separate, Direction::Down), down);
    assert_ne!(up, down);
}

#[test]
fn an_impairment_changes_no_other_ones_decisions() {
    let plain = DirectionConfig {
        delay_variation: None,
        reorder: None,
        duplicate: probability(0.0),
        corrupt: probability(0.0),
        rate: None,
        ..everything()
    };
    let losses = |config| -> Vec<bool> {
        let mut link = link(config, 4);
        one_direction(&mut link, Direction::Up)
            .iter()
            .map(Passed::is_lost)
            .collect()
    };
    let queue = |packets| DirectionConfig {
        queue: Some(QueueLimit::Packets(packets)),
        ..everything()
    };
    let alone = losses(plain);
    assert!(alone == losses(queue(2_000)));
    // Behind a queue that drops, the packets that remain meet the same decisions.
    let behind = losses(queue(1));
    assert!(behind != alone && behind.iter().zip(&alone).all(|(behind, alone)| *alone || !behind));
}

#[test]
fn corruption_hits_the_same_packets_with_and_without_loss() {
    let lossless = DirectionConfig {
        loss: Loss::None,
        ..everything()
    };
    let with = one_direction(&mut link(everything(), 5), Direction::Up);
    let without = one_direction(&mut link(lossless, 5), Direction::Up);
    let survivors = with
        .iter()
        .zip(&without)
        .filter(|(lossy, _)| !lossy.deliveries.is_empty());
    for (lossy, lossless) in survivors {
        let flips =
            |packet: &Passed| -> Vec<_> { packet.deliveries.iter().map(|copy| copy.flip_bit).collect() };
        assert_eq!(flips(lossy), flips(lossless));
    }
}
