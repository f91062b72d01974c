use super::*;
use crate::loss::GilbertElliott;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn rate(bits: u64) -> Option<BitRate> {
    BitRate::from_bits_per_second(bits)
}

fn fault(config: DirectionConfig) -> String {
    let down = DirectionConfig::default();
    let error = LinkConfig {
        up: config,
        down,
        ..LinkConfig::default()
    }
    .validate()
    .unwrap_err();
    error.to_string()
}

#[test]
fn an_odd_rtt_is_split_without_loss() {
    let config = LinkConfig::symmetric(Duration::from_nanos(5));
    assert_eq!(config.up.delay, Duration::from_nanos(2));
    assert_eq!(config.rtt(), Duration::from_nanos(5));
    assert_eq!(config.validate(), Ok(()));
}

#[test]
fn the_default_queue_is_a_bandwidth_delay_product() {
    let mut config = LinkConfig::symmetric(ms(120));
    config.up.rate = rate(100_000_000);
    // 100 Mbit/s x 120 ms = 1.5 MB = 1,000 packets of 1,500 B.
    assert_eq!(config.queue_limit(Direction::Up), QueueLimit::Packets(1_000));
    config.up.rate = rate(50_000);
    assert_eq!(config.queue_limit(Direction::Up), QueueLimit::Packets(64));
    config.up.queue = Some(QueueLimit::Bytes(3_000));
    assert_eq!(config.queue_limit(Direction::Up), QueueLimit::Bytes(3_000));
}

#[test]
fn faults_name_the_value_and_the_expectation() {
    let base = DirectionConfig::default();
    let cases = [
        (
            DirectionConfig { mtu: 67, ..base },
            "link up: mtu must be at least 68B, got 67B",
        ),
        (
            DirectionConfig {
                delay: ms(3_600_001),
                ..base
            },
            "link up: delay must be at most 60min, got 3600001ms",
        ),
        (
            DirectionConfig {
                delay: ms(10),
                delay_variation: Some(DelayVariation::uniform(ms(11))),
                ..base
            },
            "link up: delay variation must be at most the delay of 10ms, got 11ms",
        ),
        (
            DirectionConfig {
                reorder: Some(Reorder {
                    probability: Probability::ZERO,
                    extra_delay: ms(3_600_001),
                }),
                ..base
            },
            "link up: reorder extra delay must be at most 60min, got 3600001ms",
        ),
        (
            DirectionConfig {
                delay_variation: Some(DelayVariation::normal(ms(7_200_000))),
                ..base
            },
            "link up: standard deviation must be at most 60min, got 120min",
        ),
        (
            DirectionConfig {
                queue: Some(QueueLimit::Packets(0)),
                ..base
            },
            "link up: queue must hold at least 1 packet, got 0",
        ),
        (
            DirectionConfig {
                queue: Some(QueueLimit::Bytes(1_499)),
                ..base
            },
            "link up: queue must hold at least one packet of the mtu, 1500B, got 1499B",
        ),
    ];
    for (config, text) in cases {
        assert_eq!(fault(config), text);
    }
}

#[test]
fn a_loss_model_that_cannot_move_is_refused() {
    let never = Probability::ZERO;
    let config = DirectionConfig {
        loss: Loss::GilbertElliott(GilbertElliott {
            good_to_bad: never,
            bad_to_good: never,
            loss_in_good: never,
            loss_in_bad: never,
        }),
        ..DirectionConfig::default()
    };
    assert_eq!(
        fault(config),
        "link up: loss needs good_to_bad or bad_to_good above 0%, got 0% for both"
    );
}
