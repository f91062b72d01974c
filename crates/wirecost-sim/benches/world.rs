//! Messages and packets per second of CPU time: one client and one server, 128 bytes, ledger and histogram on, recorder
//! off; the recorder's cost and an idle host's memory apart.
//!
//! `--test` runs a hundredth of it; a word alone chooses the cases whose name contains it.

#![allow(clippy::disallowed_macros, reason = "a bench prints its figures")]

#[path = "../../wirecost-proto/benches/measure/mod.rs"]
#[allow(
    dead_code,
    reason = "what is measured here is not a message between two endpoints"
)]
mod measure;
mod pairs;

use measure::allocations;
use pairs::{coap, cpu_time, datagrams, idle, mqtt, segments, stream};
use wirecost_sim::{Recording, Tally};

/// A case and what it counts.
struct Case {
    name: &'static str,
    /// What is counted, in a second of CPU time, and how many there should be.
    target: Option<(&'static str, f64)>,
    /// Runs so many messages; what was counted, and the events of the world.
    run: fn(u32) -> (u64, u64),
    messages: u32,
}

const CASES: [Case; 7] = [
    Case {
        name: "udp",
        target: None,
        run: |messages| datagrams(messages, Tally::new(|_| 0)),
        messages: 1_000_000,
    },
    Case {
        name: "coap-con",
        target: Some(("exchanges", 1e6)),
        run: |messages| coap(messages, Tally::new(|_| 0)),
        messages: 1_000_000,
    },
    Case {
        name: "coap-con, recorder on",
        target: None,
        run: |messages| coap(messages, (Recording::new(), Tally::new(|_| 0))),
        messages: 200_000,
    },
    Case {
        name: "mqtt-qos1",
        target: Some(("exchanges", 3e5)),
        run: |messages| mqtt(messages, Tally::new(|_| 0)),
        messages: 400_000,
    },
    Case {
        name: "mqtt-qos1, recorder on",
        target: None,
        run: |messages| mqtt(messages, (Recording::new(), Tally::new(|_| 0))),
        messages: 100_000,
    },
    Case {
        name: "tcp",
        target: Some(("packets", 2e6)),
        run: |messages| segments(messages, Tally::new(|_| 0)),
        messages: 1_000_000,
    },
    Case {
        name: "tcp, a megabyte each",
        target: None,
        run: |messages| stream(messages, Tally::new(|_| 0)),
        messages: 1_000,
    },
];

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let is_smoke = arguments.iter().any(|word| word == "--test");
    let filter = arguments.iter().find(|word| !word.starts_with("--"));
    println!(
        "{:<28} {:>10} {:>12} {:>14} {:>16} {:>12}",
        "case", "counted", "CPU time ms", "per CPU second", "events per second", "allocations"
    );
    for case in &CASES {
        if filter.is_none_or(|filter| case.name.contains(filter.as_str())) {
            case.measure(is_smoke);
        }
    }
    print_idle_memory(is_smoke);
}

impl Case {
    fn measure(&self, is_smoke: bool) {
        let messages = if is_smoke {
            self.messages / 100
        } else {
            self.messages
        };
        let before = (cpu_time(), allocations());
        let (counted, events) = (self.run)(messages);
        let seconds = (cpu_time() - before.0).as_secs_f64().max(1e-9);
        let each = (allocations() - before.1) as f64 / counted as f64;
        let rate = counted as f64 / seconds;
        println!(
            "{:<28} {counted:>10} {:>12.1} {rate:>14.0} {:>16.0} {each:>12.3}{}",
            self.name,
            seconds * 1e3,
            events as f64 / seconds,
            self.verdict(rate)
        );
    }

    fn verdict(&self, rate: f64) -> String {
        let Some((what, target)) = self.target else {
            return String::new();
        };
        let verdict = if rate >= target { "reached" } else { "missed" };
        format!("  {what}, target {target:.0}: {verdict}")
    }
}

fn print_idle_memory(is_smoke: bool) {
    let hosts = if is_smoke { 100 } else { 10_000 };
    println!(
        "{:<28} {:>10} {:>12}",
        "bytes of an idle host", "unopened", "open"
    );
    for (name, transport) in idle::TRANSPORTS {
        let (asleep, open) = idle::memory(hosts, transport);
        println!("{name:<28} {asleep:>10} {open:>12}");
    }
}
