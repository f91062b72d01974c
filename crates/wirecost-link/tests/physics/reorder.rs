use std::time::Duration;

use wirecost_link::{DelayVariation, DirectionConfig, Reorder};
use wirecost_proto::Direction;

use crate::sample::{expect_frequency, expect_independent, link, probability, send};

const EXTRA_NS: f64 = 3.5e6;

fn config(share: f64) -> DirectionConfig {
    DirectionConfig {
        delay: Duration::from_millis(10),
        reorder: Some(Reorder {
            probability: probability(share),
            extra_delay: Duration::from_nanos(EXTRA_NS as u64),
        }),
        ..DirectionConfig::default()
    }
}

#[test]
fn packets_are_held_back_as_often_and_as_long_as_asked() {
    let mut link = link(config(0.05), 1);
    let passed = send(&mut link, 100_000, Duration::from_millis(1));
    let late: Vec<bool> = passed.iter().map(|packet| packet.delay() != 10e6).collect();
    let extra = passed
        .iter()
        .map(|packet| packet.delay() - 10e6)
        .filter(|extra| *extra != 0.0);
    assert!(extra.clone().all(|extra| extra == EXTRA_NS));
    expect_frequency(extra.count(), passed.len(), 0.05);
    expect_independent(&late[1..], &late[..late.len() - 1]);
    let held = late.iter().filter(|late| **late).count();
    assert_eq!(link.counters(Direction::Up).reordered, held as u64);
}

#[test]
fn later_packets_overtake_a_packet_held_back() {
    let mut link = link(config(0.1), 2);
    let passed = send(&mut link, 10_000, Duration::from_millis(1));
    let is_late = |index: usize| passed[index].delay() != 10e6;
    let overtaking = |index: usize| {
        let later = passed[index + 1..passed.len().min(index + 20)].iter();
        later
            .filter(|packet| packet.deliveries[0].at < passed[index].deliveries[0].at)
            .count()
    };
    for index in 0..passed.len() - 20 {
        // 3.5 gaps late: three packets pass, but those that are late themselves.
        let expected = (1..=3)
            .filter(|next| is_late(index) && !is_late(index + next))
            .count();
        assert_eq!(overtaking(index), expected, "packet {index}");
    }
}

#[test]
fn packets_not_held_back_keep_their_order() {
    let varied = DirectionConfig {
        delay_variation: Some(DelayVariation::uniform(Duration::from_millis(5))),
        ..config(0.1)
    };
    let plain = DirectionConfig {
        reorder: None,
        ..varied
    };
    let passed = send(&mut link(varied, 3), 10_000, Duration::from_millis(1));
    let expected = send(&mut link(plain, 3), 10_000, Duration::from_millis(1));
    let late = passed.iter().zip(&expected).filter(|(late, plain)| late != plain);
    assert!(
        late.clone()
            .all(|(late, plain)| late.delay() == plain.delay() + EXTRA_NS)
    );
    expect_frequency(late.count(), passed.len(), 0.1);
}
