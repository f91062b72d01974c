//! CPU time per delivered report in 21 cells, endpoints and cells together, at several loads.
//!
//! `--test` runs a sixtieth of the time; `--seconds N` chooses how long reports are generated; `--set PATH=VALUE,...` changes the network;
//! a word alone chooses the stacks whose name contains it.

#![allow(clippy::disallowed_macros, reason = "a bench prints its figures")]

use std::time::Duration;

use wirecost_lab::nbiot::{Grid, Options};
use wirecost_proto::ByteSize;
use wirecost_scenario::options::nbiot::STUDY_STACKS;
use wirecost_scenario::parameter::set;

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let is_smoke = arguments.iter().any(|argument| argument == "--test");
    let after = |flag: &str| {
        let at = arguments.iter().position(|argument| argument == flag)?;
        arguments.get(at + 1).cloned()
    };
    let given = after("--seconds").and_then(|seconds| seconds.parse().ok());
    let seconds = given.unwrap_or(if is_smoke { 1 } else { 60 });
    let mut base = Options {
        seeds: 1,
        duration: Duration::from_secs(seconds),
        warm_up: Some(Duration::from_secs(seconds / 10)),
        ..Options::default()
    };
    let changes = after("--set").unwrap_or_default();
    for (path, value) in changes.split(',').filter_map(|change| change.split_once('=')) {
        base.network = set(&base.network, path, value).expect("a parameter and its value");
    }
    let filter = arguments
        .first()
        .filter(|word| word.starts_with(char::is_alphabetic));
    println!(
        "{:<10} {:>6} {:>5} {:>8} {:>8} {:>8} {:>8} {:>6} {:>6} {:>6} {:>8} {:>10} {:>9} {:>7}",
        "stack",
        "size",
        "load",
        "reports",
        "served",
        "p50 s",
        "p95 s",
        "dci",
        "down",
        "up",
        "dci/rep",
        "us/report",
        "events/r",
        "active"
    );
    for stack in STUDY_STACKS {
        for size in [25, 400] {
            for load in [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0] {
                if filter.is_none_or(|filter| stack.contains(filter.as_str())) {
                    case(&base, stack, size, load);
                }
            }
        }
    }
}

fn case(base: &Options, stack: &str, size: usize, load: f64) {
    let options = Options {
        stacks: vec![stack.parse().expect("a stack")],
        sizes: vec![ByteSize::from_bytes(size as u64)],
        loads: vec![load],
        ..base.clone()
    };
    let grid = Grid::new(&options).expect("a grid");
    let mut runs = Vec::new();
    let before = cpu_time();
    grid.play(&[0], 1, &mut |run| runs.push(run), &|| false)
        .expect("a run");
    let spent = cpu_time() - before;
    let summary = grid.summary(&runs);
    let point = &summary.points[0];
    let run = &point.runs[0];
    println!(
        "{stack:<10} {size:>6} {load:>5} {:>8} {:>7.1}% {:>8.2} {:>8.2} {:>5.0}% {:>5.0}% {:>5.0}% {:>8.1} {:>10.1} {:>9.1} {:>7}",
        point.reports,
        100.0 * point.served.mean,
        point.delay_p50_s.unwrap_or(f64::NAN),
        point.delay_p95_s.unwrap_or(f64::NAN),
        100.0 * point.dci_use.mean,
        100.0 * point.downlink_use.mean,
        100.0 * point.uplink_use.mean,
        run.dci_per_report,
        spent.as_secs_f64() * 1e6 / (run.served + run.late).max(1) as f64,
        run.air_events as f64 / run.reports.max(1) as f64,
        run.most_devices,
    );
}

/// CPU time of this process, by the kernel: user and system ticks of 10 ms.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks = |index: usize| {
        fields
            .get(index)
            .and_then(|field| field.parse::<u64>().ok())
            .unwrap_or(0)
    };
    Duration::from_millis(10 * (ticks(11) + ticks(12)))
}
