use std::time::Duration;

use statrs::distribution::{ChiSquared, ContinuousCDF};
use wirecost_link::{Achieved, DirectionConfig};
use wirecost_proto::{Direction, Fate, Instant};

use crate::sample::{expect_frequency, expect_independent, link, offer, probability, send};

const GAP: Duration = Duration::from_millis(1);

fn config(duplicate: f64, corrupt: f64) -> DirectionConfig {
    DirectionConfig {
        delay: Duration::from_millis(10),
        duplicate: probability(duplicate),
        corrupt: probability(corrupt),
        ..DirectionConfig::default()
    }
}

#[test]
fn packets_are_duplicated_as_often_as_asked() {
    let mut link = link(config(0.03, 0.0), 1);
    let passed = send(&mut link, 100_000, GAP);
    let twice = passed.iter().filter(|packet| packet.fate == Fate::Duplicated);
    assert!(twice.clone().all(|packet| packet.deliveries.len() == 2));
    assert!(
        twice
            .clone()
            .all(|packet| packet.deliveries[0] == packet.deliveries[1])
    );
    expect_frequency(twice.clone().count(), passed.len(), 0.03);
    let counters = link.counters(Direction::Up);
    assert_eq!(counters.duplicated, twice.count() as u64);
    assert_eq!(
        counters.delivered.packets, 100_000,
        "a copy is not a packet delivered"
    );
}

#[test]
fn copies_are_corrupted_as_often_as_asked() {
    let mut link = link(config(0.0, 0.02), 2);
    let passed = send(&mut link, 100_000, GAP);
    let corrupted = |packet: &&crate::sample::Passed| packet.deliveries[0].flip_bit.is_some();
    assert!(
        passed
            .iter()
            .filter(corrupted)
            .all(|packet| packet.fate == Fate::Corrupted)
    );
    let hits = passed.iter().filter(corrupted).count();
    expect_frequency(hits, passed.len(), 0.02);
    assert_eq!(link.counters(Direction::Up).corrupted, hits as u64);
}

#[test]
fn both_copies_are_corrupted_independently() {
    let mut link = link(config(1.0, 0.2), 3);
    let passed = send(&mut link, 50_000, GAP);
    let flipped = |copy: usize| -> Vec<bool> {
        let flips = passed
            .iter()
            .map(|packet| packet.deliveries[copy].flip_bit.is_some());
        flips.collect()
    };
    expect_independent(&flipped(0), &flipped(1));
    assert!(passed.iter().all(|packet| packet.fate == Fate::Duplicated));
    let achieved = Achieved::new(&config(1.0, 0.2), link.counters(Direction::Up));
    assert!(achieved.is_within(), "corruption is per copy: {achieved:?}");
}

#[test]
fn every_bit_is_flipped_as_often() {
    let mut link = link(config(0.0, 1.0), 4);
    let (bytes, count) = (20, 64_000);
    let mut flips = vec![0_u32; bytes * 8];
    for _ in 0..count {
        let passed = offer(&mut link, Direction::Up, bytes, Instant::START);
        flips[passed.deliveries[0].flip_bit.expect("always corrupted") as usize] += 1;
    }
    let expected = f64::from(count) / flips.len() as f64;
    let statistic: f64 = flips
        .iter()
        .map(|hits| (f64::from(*hits) - expected).powi(2) / expected)
        .sum();
    let limit = ChiSquared::new(flips.len() as f64 - 1.0)
        .expect("above 0")
        .inverse_cdf(0.999_9);
    assert!(statistic <= limit, "chi-square {statistic}, at most {limit}");
}

#[test]
fn a_packet_without_bytes_has_no_bit_to_flip() {
    let passed = offer(&mut link(config(0.0, 1.0), 5), Direction::Up, 0, Instant::START);
    assert_eq!(passed.fate, Fate::Delivered);
}
