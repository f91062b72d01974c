//! Limits of a capture of the device's own traffic.

use std::fs;

use super::common::{open_folder, said, wirecost};
use super::{budget, json};

const LIMITS: &str = "wirecost_budget: 1\ncapture:\n  interval: 15min\n  limits:\n    bytes_per_msg: <= 1 kB\n    connect_bytes: <= 1 kB\n    month_bytes: <= 2 MB\n    energy{device=nrf9160-lte-m}: <= 2 J\n    all_in: <= 0% above\n";

#[test]
fn the_figures_of_a_capture_are_those_of_the_run_that_made_it() {
    let home = open_folder();
    for (folder, resource) in [("run", "test"), ("longer", "tests")] {
        let run = format!(
            "compare mqtt-qos1 --engine sim -n 1 --size 64B --messages-per-connection 3 --settle 1s --resource {resource} --out {folder} -q"
        );
        assert_eq!(said(wirecost(home.path()).args(run.split(' '))).code, Some(0));
    }
    let base = budget(home.path(), LIMITS, "--capture run/capture/sim.pcapng --out base");
    assert_eq!(base.code, Some(0), "{}{}", base.stdout, base.stderr);
    let cell = json(home.path(), "run/summary.json")["cells"][0].clone();
    let of = |section: &str| {
        ["up", "down"]
            .map(|way| cell[section][way]["wire"]["mean"].as_f64().expect("bytes"))
            .iter()
            .sum::<f64>()
    };
    let judged = json(home.path(), "base/budget.json");
    assert_eq!(judged["limits"][0]["after"].as_f64(), Some(of("message")));
    assert_eq!(judged["limits"][1]["after"].as_f64(), Some(of("connect")));
    assert_eq!(
        judged["limits"][4]["holds"],
        serde_json::Value::Null,
        "nothing is before"
    );
    let longer = budget(
        home.path(),
        LIMITS,
        "--capture longer/capture/sim.pcapng --against base --out new",
    );
    assert_eq!(longer.code, Some(99), "{}", longer.stdout);
    assert!(
        longer.stdout.contains("message up: application "),
        "{}",
        longer.stdout
    );
    assert!(longer.stdout.contains("(+1 B, original)"), "{}", longer.stdout);
}

#[test]
fn a_capture_without_readings_or_without_limits_is_refused() {
    let home = open_folder();
    let none = budget(home.path(), LIMITS, "");
    assert_eq!(
        none.line("error: "),
        Some("budget.yaml:3: the budget limits a capture, and none is given")
    );
    fs::write(home.path().join("empty.pcapng"), EMPTY).expect("written");
    let empty = budget(home.path(), LIMITS, "--capture empty.pcapng");
    assert_eq!(empty.code, Some(2), "{}", empty.stderr);
    assert_eq!(
        empty.line("error: "),
        Some("budget.yaml:3: capture: empty.pcapng has no packets of a device")
    );
    let unlimited = budget(
        home.path(),
        "wirecost_budget: 1\nscenarios:\n  a: {run: {stack: udp, size: 1B}, limits: {all_in: <= 1 kB}}\n",
        "--capture empty.pcapng",
    );
    assert_eq!(
        unlimited.line("error: "),
        Some("--capture: budget.yaml has no limits of a capture")
    );
    let of_time = LIMITS.replace("all_in: <= 0% above", "response_time: p(50)<1s");
    let run = "compare mqtt-qos1 --engine sim -n 1 --size 64B --out run -q";
    assert_eq!(said(wirecost(home.path()).args(run.split(' '))).code, Some(0));
    let refused = budget(home.path(), &of_time, "--capture run/capture/sim.pcapng");
    assert_eq!(
        refused.line("error: "),
        Some("budget.yaml:9: capture: run/capture/sim.pcapng has no figure of response_time p(50)")
    );
}

/// A pcapng file with a section header and an interface, and no packet.
const EMPTY: [u8; 48] = [
    0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255,
    255, 255, 28, 0, 0, 0, 1, 0, 0, 0, 20, 0, 0, 0, 101, 0, 0, 0, 0, 0, 4, 0, 20, 0, 0, 0,
];
