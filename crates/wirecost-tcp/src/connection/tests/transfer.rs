//! Every byte arrives once, whatever the path does.

use core::time::Duration;

use proptest::prelude::*;
use wirecost_proto::{Instant, ResetReason};

use super::{DELAY, pattern};
use crate::harness::{CLIENT, End, Faults, Net, SERVER};
use crate::{Config, Event, State};

const PRESETS: [fn(u16) -> Config; 2] = [Config::linux, Config::larmo];

/// Both ends send `len` bytes and close; every byte must arrive once, and both must be closed in the end.
fn transfers(configs: [Config; 2], len: usize, faults: Faults, seed: u64) {
    let mut net = Net::new(configs, DELAY, faults, seed);
    for end in [CLIENT, SERVER] {
        net.ends[end].unwritten = pattern(len);
    }
    net.ends[CLIENT].closes = true;
    net.run(Instant::START + Duration::from_secs(100_000));
    for end in [CLIENT, SERVER] {
        assert!(
            net.ends[end].received == pattern(len),
            "seed {seed}: end {end} has {} B",
            net.ends[end].received.len()
        );
        assert_eq!(
            net.ends[end].state(),
            Some(State::Closed),
            "seed {seed}: end {end}"
        );
    }
}

#[test]
fn every_byte_arrives_once_without_loss() {
    for preset in PRESETS {
        for len in [1, 128, 10_000, 100_000] {
            transfers([preset(1460), preset(1460)], len, Faults::NONE, 1);
        }
    }
}

fn faults(loss: f64, duplication: f64, disorder_ms: u64) -> Faults {
    Faults {
        loss,
        duplication,
        disorder: Duration::from_millis(disorder_ms),
    }
}

#[test]
fn every_byte_arrives_once_whatever_the_path_does() {
    for preset in PRESETS {
        for (seed, (loss, duplication, disorder)) in (0..).zip([
            (0.01, 0.0, 0),
            (0.1, 0.0, 0),
            (0.3, 0.0, 0),
            (0.0, 0.3, 0),
            (0.0, 0.0, 30),
            (0.1, 0.1, 10),
        ]) {
            for len in [1, 128, 5_000, 50_000] {
                let configs = [preset(1460), preset(1460)];
                transfers(configs, len, faults(loss, duplication, disorder), seed);
            }
        }
    }
}

#[test]
fn a_megabyte_arrives_through_loss() {
    for (seed, loss) in (1..).zip([0.01, 0.05, 0.1, 0.2]) {
        let configs = [Config::linux(1460), Config::linux(1460)];
        transfers(configs, 1_000_000, faults(loss, 0.0, 0), seed);
    }
}

/// At 30 % both ways half of all retransmissions stay without an answer, and of 120 transfers of a megabyte about 30 meet so many in
/// a row that a sender gives up (RFC 9293, section 3.8.3). What has arrived until then is in order.
#[test]
fn a_sender_that_gives_up_has_delivered_a_prefix() {
    let whole = pattern(1_000_000);
    let (mut arrived, mut given_up) = (0, 0);
    for seed in 1..=12 {
        let configs = [Config::linux(1460), Config::linux(1460)];
        let mut net = Net::new(configs, DELAY, faults(0.3, 0.0, 0), seed);
        for end in [CLIENT, SERVER] {
            net.ends[end].unwritten = whole.clone();
        }
        net.ends[CLIENT].closes = true;
        net.run(Instant::START + Duration::from_secs(100_000));
        assert!(
            net.ends.iter().all(|end| whole.starts_with(&end.received)),
            "seed {seed}"
        );
        let timed_out = |end: &End| end.events.contains(&Event::Reset(ResetReason::TimedOut));
        let is_whole = net.ends.iter().all(|end| end.received.len() == whole.len());
        assert!(is_whole || net.ends.iter().any(timed_out), "seed {seed}");
        arrived += u32::from(is_whole);
        given_up += u32::from(!is_whole);
    }
    assert!(arrived > given_up && given_up > 0, "{arrived} and {given_up}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn any_path_and_any_length(
        seed in any::<u64>(),
        len in 0usize..20_000,
        loss in 0.0..0.3,
        duplication in 0.0..0.3,
        disorder in 0u64..40,
        presets in (0usize..2, 0usize..2),
    ) {
        let configs = [presets.0, presets.1].map(|preset| PRESETS[preset](1460));
        transfers(configs, len, faults(loss, duplication, disorder), seed);
    }
}
