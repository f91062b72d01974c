use std::time::Duration;

use wirecost_link::{Chain, DirectionConfig, Link, LinkConfig, Loss, QueueLimit, Reorder};
use wirecost_proto::{Direction, Fate, Instant, Path, Rng};

use crate::sample::{expect_frequency, link, offer, probability, rate, send};

fn delayed(millis: u64) -> DirectionConfig {
    DirectionConfig {
        delay: Duration::from_millis(millis),
        ..DirectionConfig::default()
    }
}

/// A line of one 100-byte packet per `service_ms`.
fn line(service_ms: u64) -> DirectionConfig {
    DirectionConfig {
        rate: rate(800_000 / service_ms),
        queue: Some(QueueLimit::Packets(1_000_000)),
        ..DirectionConfig::default()
    }
}

fn lossy(share: f64) -> DirectionConfig {
    DirectionConfig {
        loss: Loss::Bernoulli(probability(share)),
        ..DirectionConfig::default()
    }
}

fn chain(configs: &[DirectionConfig]) -> Chain {
    let links = configs.iter().zip(1..).map(|(config, seed)| link(*config, seed));
    Chain::new(links.collect())
}

#[test]
fn delays_add_up() {
    let passed = offer(
        &mut chain(&[delayed(3), delayed(5)]),
        Direction::Up,
        100,
        Instant::START,
    );
    assert_eq!((passed.fate, passed.delay()), (Fate::Delivered, 8e6));
    let passed = offer(&mut chain(&[]), Direction::Up, 100, Instant::START);
    assert_eq!((passed.fate, passed.delay()), (Fate::Delivered, 0.0));
}

#[test]
fn losses_multiply() {
    let mut chain = chain(&[lossy(0.1), lossy(0.2)]);
    let passed = send(&mut chain, 50_000, Duration::from_millis(1));
    let lost = passed.iter().filter(|packet| packet.is_lost()).count();
    expect_frequency(lost, passed.len(), 1.0 - 0.9 * 0.8);
    let reached = chain.links()[1].counters(Direction::Up).offered.packets;
    assert_eq!(
        reached,
        chain.links()[0].counters(Direction::Up).delivered.packets
    );
}

#[test]
fn packets_down_pass_the_links_from_the_last_to_the_first() {
    let small = DirectionConfig {
        mtu: 500,
        ..delayed(1)
    };
    let mut chain = chain(&[small, delayed(2)]);
    assert_eq!(
        offer(&mut chain, Direction::Down, 501, Instant::START).fate,
        Fate::TooLarge
    );
    assert_eq!(chain.links()[1].counters(Direction::Down).offered.packets, 1);
    assert_eq!(
        offer(&mut chain, Direction::Up, 501, Instant::START).fate,
        Fate::TooLarge
    );
    assert_eq!(chain.links()[1].counters(Direction::Up).offered.packets, 0);
}

#[test]
fn a_tandem_of_lines_follows_lindleys_recursion() {
    let mut chain = chain(&[line(2), delayed(7), line(5)]);
    let mut gaps = Rng::new(3);
    let (mut now, mut first, mut second) = (0, 0, 0);
    for _ in 0..5_000 {
        now += gaps.next_below(10_000_000);
        let passed = offer(&mut chain, Direction::Up, 100, Instant::from_nanos(now));
        first = first.max(now) + 2_000_000;
        second = second.max(first + 7_000_000) + 5_000_000;
        assert_eq!(passed.deliveries[0].at, Instant::from_nanos(second));
    }
}

#[test]
fn a_chain_is_its_links_one_by_one_where_none_reorders() {
    let bursty = DirectionConfig {
        loss: Loss::Bernoulli(probability(0.05)),
        duplicate: probability(0.05),
        ..line(1)
    };
    let bottleneck = DirectionConfig {
        queue: Some(QueueLimit::Packets(3)),
        ..line(2)
    };
    let chained = send(
        &mut chain(&[bursty, bottleneck]),
        5_000,
        Duration::from_micros(1_500),
    );
    let (mut one, mut other) = (link(bursty, 1), link(bottleneck, 2));
    let mut expected = Vec::new();
    for packet in send(&mut one, 5_000, Duration::from_micros(1_500)) {
        for copy in packet.deliveries {
            other.offer(Direction::Up, 100, copy.at, &mut expected);
        }
    }
    let arrived: Vec<_> = chained
        .iter()
        .flat_map(|packet| packet.deliveries.clone())
        .collect();
    assert_eq!(arrived, expected);
}

#[test]
fn what_overtook_stays_ahead_behind_a_line() {
    let reordering = DirectionConfig {
        reorder: Some(Reorder {
            probability: probability(0.1),
            extra_delay: Duration::from_micros(30_500),
        }),
        ..DirectionConfig::default()
    };
    let gap = Duration::from_millis(10);
    let before = send(&mut link(reordering, 1), 5_000, gap);
    let behind = send(&mut chain(&[reordering, line(1)]), 5_000, gap);
    // The line is idle most of the time: it adds its service time, and the wait for at most one other packet,
    // which may have been promised the line from 0.5 ms later on.
    for (before, behind) in before.iter().zip(&behind) {
        let added = behind.delay() - before.delay();
        assert!((1e6..=2.5e6).contains(&added), "{added} ns");
    }
    let mut arrivals: Vec<Instant> = behind.iter().map(|packet| packet.deliveries[0].at).collect();
    assert!(!arrivals.is_sorted());
    arrivals.sort_unstable();
    let is_apart = |pair: &[Instant]| pair[1].saturating_since(pair[0]) >= Duration::from_millis(1);
    assert!(
        arrivals.windows(2).all(is_apart),
        "the line sends one packet at a time"
    );
}

#[test]
fn a_flipped_bit_stays_flipped() {
    let corrupting = DirectionConfig {
        corrupt: probability(1.0),
        ..DirectionConfig::default()
    };
    let mut first = link(corrupting, 1);
    let mut chain = chain(&[corrupting, corrupting]);
    for _ in 0..100 {
        let expected = offer(&mut first, Direction::Up, 100, Instant::START);
        assert_eq!(offer(&mut chain, Direction::Up, 100, Instant::START), expected);
    }
}

#[test]
fn one_lost_copy_of_two_is_a_delivery() {
    let doubling = DirectionConfig {
        duplicate: probability(1.0),
        ..DirectionConfig::default()
    };
    let mut chain = Chain::new(vec![
        Link::new(LinkConfig::both(doubling), Rng::new(1)),
        Link::new(LinkConfig::both(lossy(0.5)), Rng::new(2)),
    ]);
    let passed = send(&mut chain, 20_000, Duration::from_millis(1));
    for (fate, copies, share) in [
        (Fate::Lost, 0, 0.25),
        (Fate::Delivered, 1, 0.5),
        (Fate::Duplicated, 2, 0.25),
    ] {
        let of_fate = passed.iter().filter(|packet| packet.fate == fate);
        assert!(of_fate.clone().all(|packet| packet.deliveries.len() == copies));
        expect_frequency(of_fate.count(), passed.len(), share);
    }
}
