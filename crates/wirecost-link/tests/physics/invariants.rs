use std::time::Duration;

use proptest::prelude::*;
use wirecost_link::{
    Counters, DelayVariation, DirectionConfig, GilbertElliott, Link, LinkConfig, Loss, QueueLimit, Reorder,
};
use wirecost_proto::{BitRate, Direction, Fate, Instant, Probability, Rng};

use crate::sample::offer;

fn any_probability() -> impl Strategy<Value = Probability> {
    (0.0..=1.0).prop_map(|value| Probability::new(value).expect("in [0, 1]"))
}

fn any_duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (0..100_000_000_u64).prop_map(Duration::from_nanos),
        Just(Duration::MAX),
        Just(Duration::ZERO)
    ]
}

fn any_variation() -> impl Strategy<Value = DelayVariation> {
    (any_duration(), any::<bool>(), any::<bool>()).prop_map(|(width, uniform, keeps_order)| {
        let variation = if uniform {
            DelayVariation::uniform(width)
        } else {
            DelayVariation::normal(width)
        };
        DelayVariation {
            keeps_order,
            ..variation
        }
    })
}

fn any_loss() -> impl Strategy<Value = Loss> {
    let model = (
        any_probability(),
        any_probability(),
        any_probability(),
        any_probability(),
    );
    let model = model.prop_map(
        |(good_to_bad, bad_to_good, loss_in_good, loss_in_bad)| GilbertElliott {
            good_to_bad,
            bad_to_good,
            loss_in_good,
            loss_in_bad,
        },
    );
    prop_oneof![
        Just(Loss::None),
        any_probability().prop_map(Loss::Bernoulli),
        model.prop_map(Loss::GilbertElliott),
    ]
}

fn any_reorder() -> impl Strategy<Value = Reorder> {
    (any_probability(), any_duration()).prop_map(|(probability, extra_delay)| Reorder {
        probability,
        extra_delay,
    })
}

fn any_queue() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        any::<u64>().prop_map(QueueLimit::Packets),
        (0..5_u64).prop_map(QueueLimit::Packets),
        (0..10_000_u64).prop_map(QueueLimit::Bytes)
    ]
}

fn any_rate() -> impl Strategy<Value = Option<BitRate>> {
    prop_oneof![0..3_u64, 1_000..10_000_000_u64, Just(u64::MAX)].prop_map(BitRate::from_bits_per_second)
}

prop_compose! {
    /// Any configuration, also such as validation refuses.
    fn any_direction()(
        delay in any_duration(),
        delay_variation in proptest::option::of(any_variation()),
        loss in any_loss(),
        reorder in proptest::option::of(any_reorder()),
        (duplicate, corrupt) in (any_probability(), any_probability()),
        rate in any_rate(),
        queue in proptest::option::of(any_queue()),
        mtu in any::<u16>(),
    ) -> DirectionConfig {
        DirectionConfig { delay, delay_variation, loss, reorder, duplicate, corrupt, rate, queue, mtu }
    }
}

fn any_packets() -> impl Strategy<Value = Vec<(u64, usize)>> {
    proptest::collection::vec((0..3_000_000_u64, 0..2_000_usize), 1..60)
}

fn dispositions(counters: &Counters) -> u64 {
    counters.delivered.packets + counters.lost + counters.queue_dropped + counters.too_large
}

fn expect_consistent(fate: Fate, sent: Instant, deliveries: &[wirecost_proto::Delivery]) {
    let copies = match fate {
        Fate::Lost | Fate::QueueDropped | Fate::TooLarge => 0..=0,
        Fate::Held => panic!("a link decides at once"),
        Fate::Delivered | Fate::Corrupted => 1..=1,
        Fate::Duplicated => 2..=usize::MAX,
    };
    assert!(copies.contains(&deliveries.len()), "{fate:?} {deliveries:?}");
    assert!(deliveries.iter().all(|delivery| delivery.at >= sent));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_packet_has_one_fate(config in any_direction(), packets in any_packets(), seed in any::<u64>()) {
        let mut link = Link::new(LinkConfig::both(config), Rng::new(seed));
        let mut now = Instant::START;
        for (gap, bytes) in &packets {
            now += Duration::from_nanos(*gap);
            let passed = offer(&mut link, Direction::Up, *bytes, now);
            expect_consistent(passed.fate, now, &passed.deliveries);
        }
        let counters = link.counters(Direction::Up);
        prop_assert_eq!(counters.offered.packets, packets.len() as u64);
        prop_assert_eq!(dispositions(counters), counters.offered.packets);
        prop_assert_eq!(link.counters(Direction::Down), &Counters::default());
    }
}
