//! What holds whatever is lost, delayed or said.

use proptest::prelude::*;
use wirecost_proto::Rng;

use super::*;

fn any_config() -> impl Strategy<Value = Config> {
    prop_oneof![Just(Config::linux(1_460)), Just(Config::larmo(1_460)),]
}

/// Loses one in four sendings, in a pattern of its own for every offset.
const PATTERNS: [fn(&Sending, usize) -> bool; 6] = [
    |_, number| number.is_multiple_of(4),
    |_, number| number % 7 < 2,
    |sending, number| (number as u32 ^ sending.segment) % 5 == 1,
    |_, number| number.wrapping_mul(2_654_435_761) >> 3 & 7 < 2,
    |sending, _| sending.at % 11 == 0 && sending.at > 0,
    |_, number| (20..29).contains(&number),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn everything_arrives_whatever_is_lost(
        config in any_config(),
        pattern in 0..PATTERNS.len(),
        rtt_ms in 1u64..300,
        segments in 1u32..120,
    ) {
        let mut simulation = Simulation::new(&config, Duration::from_millis(rtt_ms), segments, PATTERNS[pattern]);
        simulation.run();
        prop_assert!(!simulation.gave_up);
    }

    #[test]
    fn any_acknowledgment_at_any_time_keeps_the_scoreboard_whole(config in any_config(), seed in any::<u64>()) {
        let mut rng = Rng::new(seed);
        let mut recovery = opened(&config, Duration::from_millis(10));
        let mut now = 0;
        let mut next = 0;
        for _ in 0..300 {
            now += rng.next_u64() % 60_000;
            step(&mut recovery, &mut rng, &mut next, now);
            recovery.scoreboard.check();
            prop_assert!(recovery.congestion_window() >= 1);
            prop_assert!(!is_after(recovery.scoreboard.una(), recovery.scoreboard.next()));
        }
    }
}

use crate::sequence::is_after;

fn step(recovery: &mut Recovery, rng: &mut Rng, next: &mut u32, now: u64) {
    match rng.next_u64() % 4 {
        0 => {
            while recovery.may_send_new() && *next < 1_000 {
                recovery.sent(sequence_of(*next), MSS, at(now));
                *next += 1;
            }
        }
        1 => {
            while let Some(range) = recovery.next_retransmission() {
                recovery.sent(range.sequence, range.len, at(now));
            }
        }
        2 => {
            recovery.handle_timeout(rng.next_u64().is_multiple_of(2), at(now));
        }
        _ => {
            recovery.handle_ack(&any_ack(rng, *next), at(now));
        }
    }
}

fn any_ack(rng: &mut Rng, next: u32) -> Ack {
    let mut sequence = |spread: u64| {
        let segment = (u64::from(next) + 3).saturating_sub(rng.next_u64() % spread) as u32;
        sequence_of(segment).wrapping_add((rng.next_u64() % 3) as u32)
    };
    let acknowledgment = sequence(30);
    let blocks = [0; 3].map(|_| SackBlock {
        left: sequence(20),
        right: sequence(20),
    });
    Ack {
        acknowledgment,
        sack: SackBlocks::new(&blocks),
        echo: rng
            .next_u64()
            .is_multiple_of(2)
            .then(|| rng.next_u64() as u32 % 10_000),
        has_data: rng.next_u64().is_multiple_of(4),
        updates_window: rng.next_u64().is_multiple_of(4),
        window_bytes: 1 << 20,
        has_new_data: rng.next_u64().is_multiple_of(2),
    }
}
