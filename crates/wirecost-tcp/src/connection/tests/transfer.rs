//! Every byte arrives once, whatever the path does.

use core::time::Duration;

use proptest::prelude::*;
use wirecost_proto::Instant;

use super::{DELAY, pattern};
use crate::harness::{CLIENT, Faults, Net, SERVER};
use crate::{Config, State};

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
    for (seed, loss) in (1..).zip([0.01, 0.05, 0.1, 0.2, 0.3]) {
        let configs = [Config::linux(1460), Config::linux(1460)];
        transfers(configs, 1_000_000, faults(loss, 0.0, 0), seed);
    }
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
