use std::time::Duration;

use wirecost_link::{Achieved, Counters, DirectionConfig, Link, QueueLimit, Traffic};
use wirecost_proto::{Direction, Fate, Instant, Rng};

use crate::sample::{Passed, expect_mean_of_replications, link, mean, offer, rate, send};

/// 100 bytes at 800 kbit/s.
const SERVICE: Duration = Duration::from_millis(1);
const SERVICE_NS: f64 = 1e6;

fn config(limit: QueueLimit) -> DirectionConfig {
    DirectionConfig {
        rate: rate(800_000),
        queue: Some(limit),
        mtu: 100,
        ..DirectionConfig::default()
    }
}

fn counters(link: &Link) -> Counters {
    *link.counters(Direction::Up)
}

/// Packets with exponential gaps, so many per service time as `load` says.
fn poisson(limit: QueueLimit, load: f64, seed: u64, count: usize) -> Vec<Passed> {
    let mut link = link(config(limit), seed);
    let mut gaps = Rng::new(seed).cell(1);
    let mut now = 0.0;
    let mut send_next = || {
        now += gaps.next_exponential() * SERVICE_NS / load;
        offer(&mut link, Direction::Up, 100, Instant::from_nanos(now as u64))
    };
    (0..count).map(|_| send_next()).collect()
}

fn dropped_share(passed: &[Passed]) -> f64 {
    let dropped = passed.iter().filter(|packet| packet.fate == Fate::QueueDropped);
    dropped.count() as f64 / passed.len() as f64
}

#[test]
fn serialisation_takes_bits_over_rate() {
    let config = DirectionConfig {
        delay: Duration::from_millis(5),
        rate: rate(3_000),
        ..DirectionConfig::default()
    };
    let mut link = link(config, 1);
    let passed = offer(&mut link, Direction::Up, 100, Instant::START);
    // 800 bit at 3 kbit/s, rounded up to whole nanoseconds.
    assert_eq!(passed.delay(), 266_666_667.0 + 5e6);
}

#[test]
fn packets_leave_one_service_time_apart() {
    let mut link = link(config(QueueLimit::Packets(1_000)), 2);
    for index in 1..=1_000 {
        let passed = offer(&mut link, Direction::Up, 100, Instant::START);
        assert_eq!(passed.deliveries[0].at, Instant::from_millis(index));
    }
    assert_eq!(counters(&link).busy, SERVICE * 1_000);
    let achieved = Achieved::new(&config(QueueLimit::Packets(1_000)), &counters(&link));
    assert_eq!(achieved.rate, rate(800_000));
}

#[test]
fn a_packet_limit_is_exact() {
    let mut link = link(config(QueueLimit::Packets(7)), 3);
    let fates: Vec<Fate> = send(&mut link, 10, Duration::ZERO)
        .iter()
        .map(|packet| packet.fate)
        .collect();
    assert_eq!(fates[..7], [Fate::Delivered; 7]);
    assert_eq!(fates[7..], [Fate::QueueDropped; 3]);
    let high = counters(&link).queue_high_water;
    assert_eq!(
        high,
        Traffic {
            packets: 7,
            bytes: 700
        }
    );
}

#[test]
fn a_byte_limit_is_exact() {
    let mut link = link(config(QueueLimit::Bytes(250)), 4);
    let mut fate = |bytes| offer(&mut link, Direction::Up, bytes, Instant::START).fate;
    assert_eq!(fate(100), Fate::Delivered);
    assert_eq!(fate(100), Fate::Delivered);
    assert_eq!(fate(51), Fate::QueueDropped);
    assert_eq!(fate(50), Fate::Delivered);
    assert_eq!(fate(1), Fate::QueueDropped);
    assert_eq!(counters(&link).queue_high_water.bytes, 250);
}

#[test]
fn a_space_is_free_when_the_last_bit_has_left() {
    let mut link = link(config(QueueLimit::Packets(1)), 5);
    let mut fate = |nanos| offer(&mut link, Direction::Up, 100, Instant::from_nanos(nanos)).fate;
    assert_eq!(fate(0), Fate::Delivered);
    assert_eq!(fate(999_999), Fate::QueueDropped);
    assert_eq!(fate(1_000_000), Fate::Delivered);
}

#[test]
fn overload_drops_what_the_rate_does_not_carry() {
    let limit = 20;
    let mut link = link(config(QueueLimit::Packets(limit)), 6);
    let count = 100_000;
    let passed = send(&mut link, count, Duration::from_micros(800));
    let carried = (1.0 - dropped_share(&passed)) * count as f64;
    // 0.8 of the offered packets, and at the end one queue more that has not left.
    let expected = 0.8 * count as f64;
    assert!(
        (expected..=expected + limit as f64 + 1.0).contains(&carried),
        "{carried}"
    );
}

#[test]
fn the_mean_wait_is_that_of_an_m_d_1_queue() {
    for (load, base) in [(0.3, 0), (0.7, 1_000)] {
        let wait = |seed: u64| {
            let passed = poisson(QueueLimit::Packets(1_000_000), load, base + seed, 6_000);
            // The first packets find the queue emptier than it will be.
            let waits: Vec<f64> = passed
                .iter()
                .skip(1_000)
                .map(|packet| packet.delay() - SERVICE_NS)
                .collect();
            mean(&waits) / SERVICE_NS
        };
        let waits: Vec<f64> = (0..40).map(wait).collect();
        // Pollaczek and Khinchine for constant service times.
        expect_mean_of_replications(&waits, load / (2.0 * (1.0 - load)));
    }
}

#[test]
fn tail_drop_is_that_of_an_m_d_1_k_queue() {
    let share = |limit, load: f64, base: u64| -> Vec<f64> {
        (0..40)
            .map(|seed: u64| dropped_share(&poisson(QueueLimit::Packets(limit), load, base + seed, 5_000)))
            .collect()
    };
    for (load, base) in [(0.5_f64, 100), (1.5, 200)] {
        // An idle time of probability pi_0 after a departure makes the cycle pi_0 + load service times long:
        // pi_0 is 1 where the queue holds one packet, and e^-load where it holds two.
        expect_mean_of_replications(&share(1, load, base), 1.0 - 1.0 / (1.0 + load));
        expect_mean_of_replications(&share(2, load, base + 50), 1.0 - 1.0 / ((-load).exp() + load));
    }
}

#[test]
fn nothing_waits_without_a_rate() {
    let config = DirectionConfig {
        queue: Some(QueueLimit::Packets(1)),
        ..DirectionConfig::default()
    };
    let mut link = link(config, 7);
    let passed = send(&mut link, 1_000, Duration::ZERO);
    assert!(passed.iter().all(|packet| packet.delay() == 0.0));
    assert_eq!(counters(&link).serialised, Traffic::default());
}

#[test]
fn the_mtu_is_the_largest_packet() {
    let mut link = link(config(QueueLimit::Packets(1)), 8);
    assert_eq!(
        offer(&mut link, Direction::Up, 101, Instant::START).fate,
        Fate::TooLarge
    );
    let next = offer(&mut link, Direction::Up, 100, Instant::START);
    assert_eq!(next.fate, Fate::Delivered, "a refused packet takes no space");
    assert_eq!(counters(&link).too_large, 1);
}
