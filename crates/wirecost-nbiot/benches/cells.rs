//! CPU time per delivered report of 21 cells at several loads: one uplink packet, and an exchange of four packets.
//!
//! `--test` runs a tenth of the time; `--seconds N` chooses how long devices arrive; a word alone chooses the cases whose name
//! contains it.

#![allow(clippy::disallowed_macros, reason = "a bench prints its figures")]

#[path = "../tests/traffic/mod.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod traffic;

use std::time::Duration;

use traffic::{FOUR_PACKETS, REPORT, Traffic};
use wirecost_nbiot::{Config, Network};

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let is_smoke = arguments.iter().any(|argument| argument == "--test");
    let given = arguments.iter().position(|argument| argument == "--seconds");
    let given = given.and_then(|at| arguments.get(at + 1)?.parse().ok());
    let seconds = given.unwrap_or(if is_smoke { 6 } else { 120 });
    let filter = arguments
        .iter()
        .find(|word| word.chars().all(|letter| letter.is_ascii_alphabetic()));
    println!(
        "{:<14} {:>6} {:>9} {:>8} {:>9} {:>9} {:>11} {:>10} {:>8}",
        "exchange", "load", "devices", "served", "p50 ms", "p95 ms", "us/report", "events/rep", "at once"
    );
    for (name, exchange) in [("report", REPORT), ("four", FOUR_PACKETS)] {
        for load in [0.5, 1.0, 2.0, 3.0, 4.0] {
            if filter.is_none_or(|filter| name.contains(filter.as_str())) {
                case(name, exchange, load, seconds);
            }
        }
    }
}

fn case(name: &str, exchange: traffic::Exchange, load: f64, seconds: u64) {
    let mut network = Network::new(&Config::default(), 1).expect("a configuration that is allowed");
    let traffic = Traffic {
        exchange,
        rate: load * network.cells() as f64,
        arrivals: Duration::from_secs(seconds),
        seed: 1,
    };
    let before = cpu_time();
    let result = traffic::run(&mut network, &traffic);
    let spent = cpu_time() - before;
    let mut delays = result.delays_ms;
    delays.sort_by(f64::total_cmp);
    let quantile = |share: f64| {
        delays
            .get((delays.len() as f64 * share) as usize)
            .copied()
            .unwrap_or(f64::NAN)
    };
    println!(
        "{name:<14} {load:>6} {:>9} {:>7.1}% {:>9.0} {:>9.0} {:>11.1} {:>10.1} {:>8}",
        result.devices,
        100.0 * result.served as f64 / result.devices as f64,
        quantile(0.5),
        quantile(0.95),
        spent.as_secs_f64() * 1e6 / result.served.max(1) as f64,
        network.events() as f64 / result.served.max(1) as f64,
        result.most_devices,
    );
}

/// CPU time of this thread, by the kernel's scheduler.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or_default())
}
