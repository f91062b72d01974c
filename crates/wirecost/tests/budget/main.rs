//! `wirecost budget`: what its limits hold to, what it says of a change, and what it refuses.

#[path = "../common/mod.rs"]
mod common;

mod capture;
mod refused;
mod steps;

use std::fs;
use std::path::Path;

use common::{Said, open_folder, said, wirecost};
use serde_json::Value;

/// Four stacks with and without loss, each limited to what it was before.
const SCENARIOS: [&str; 4] = [
    "  coap: {run: {stack: [coap-con, coap-con+oscore], size: 64B, link: {rtt: 40ms}, count: 2}, limits: {bytes_per_msg: '<= 0% above'}}\n",
    "  tls: {run: {stack: mqtt-qos1+tls1.3, size: 64B, link: {rtt: 40ms}, count: 2}, limits: {connect_bytes: '<= 0% above', session_bytes: '<= 0 B above'}}\n",
    "  lossy: {run: {stack: mqtt-qos1, size: 1kB, link: {rtt: 40ms, loss: 5%}, count: 4}, limits: {session_bytes: '<= 0% above'}}\n",
    "  month: {run: {stack: coap-con+dtls1.3, size: 16B, interval: 15min, messages_per_connection: 4, count: 1}, limits: {month_bytes: '<= 0% above'}}\n",
];

/// Runs `wirecost budget` with these arguments, after the file is written.
pub(crate) fn budget(folder: &Path, file: &str, arguments: &str) -> Said {
    fs::write(folder.join("budget.yaml"), file).expect("written");
    let arguments = arguments.split(' ').filter(|argument| !argument.is_empty());
    said(
        wirecost(folder)
            .args(["budget", "budget.yaml", "--quiet"])
            .args(arguments),
    )
}

/// A budget of one scenario of MQTT with these keys and limits.
pub(crate) fn of_one(keys: &str, limits: &str) -> String {
    format!(
        "wirecost_budget: 1\nname: firmware\nscenarios:\n  meter:\n    run: {{stack: mqtt-qos1, size: 64B, count: 1{keys}}}\n    limits:\n      {limits}\n"
    )
}

pub(crate) fn json(folder: &Path, file: &str) -> Value {
    let text = fs::read_to_string(folder.join(file)).expect(file);
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn an_exact_limit_holds_for_its_byte_alone() {
    let home = open_folder();
    let first = budget(home.path(), &of_one("", "bytes_per_msg: <= 1 kB"), "--out first");
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let bytes = json(home.path(), "first/budget.json")["limits"][0]["after"]
        .as_f64()
        .expect("bytes") as u64;
    for (limit, code) in [(bytes, 0), (bytes - 1, 99), (bytes + 1, 99)] {
        let exact = budget(
            home.path(),
            &of_one("", &format!("bytes_per_msg: = {limit} B")),
            &format!("--out exact-{limit}"),
        );
        assert_eq!(
            exact.code,
            Some(code),
            "{limit}: {}{}",
            exact.stdout,
            exact.stderr
        );
    }
}

#[test]
fn a_byte_more_is_missed_and_its_layer_its_cause_and_its_setting_are_named() {
    let home = open_folder();
    let limits = "bytes_per_msg: <= 0% above\n      all_in: <= 1 B above";
    let base = budget(home.path(), &of_one("", limits), "--out base");
    assert_eq!(base.code, Some(0), "{}", base.stderr);
    assert!(
        base.stdout
            .starts_with("firmware: 0 of 2 limits hold; 2 not judged"),
        "{}",
        base.stdout
    );
    let files = "--against base --out new --markdown comment.md --junit junit.xml --badge badge.svg";
    let again = budget(home.path(), &of_one("", limits), "--out base");
    assert_eq!(again.line("error: "), Some("base has the results of a budget"));
    let same = budget(home.path(), &of_one("", limits), files);
    assert_eq!(same.code, Some(0), "{}", same.stdout);
    assert!(
        same.stdout.starts_with("firmware: 2 of 2 limits hold\n"),
        "{}",
        same.stdout
    );
    let read = |file: &str| fs::read_to_string(home.path().join(file)).expect(file);
    assert!(read("badge.svg").contains("2 limits hold"));
    let longer = budget(
        home.path(),
        &of_one(", resource: tests", limits),
        &files.replace("new", "longer"),
    );
    assert_eq!(longer.code, Some(99), "{}", longer.stdout);
    let cause = "  message up: application ";
    let named = longer
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix(cause))
        .expect(&longer.stdout);
    assert!(named.ends_with("(+1 B, original)"), "{named}");
    assert!(
        longer.stdout.contains("\n  setting resource: test to tests\n"),
        "{}",
        longer.stdout
    );
    assert!(
        longer.stdout.starts_with("firmware: 1 of 2 limits missed\n"),
        "one byte more is allowed all in: {}",
        longer.stdout
    );
    let comment = read("comment.md");
    for part in [
        "### The budget is missed",
        "| **missed** |",
        "setting resource: test to tests",
        "+1 B (+",
    ] {
        assert!(comment.contains(part), "{part}: {comment}");
    }
    let junit = read("junit.xml");
    assert!(
        junit.contains("tests=\"2\" failures=\"1\"") && junit.contains("type=\"threshold\""),
        "{junit}"
    );
    assert!(read("badge.svg").contains("1 of 2 missed"));
}

#[test]
fn a_payload_that_is_one_byte_larger_is_compared_with_the_earlier_one() {
    let home = open_folder();
    let limit = "bytes_per_msg: <= 0% above";
    assert_eq!(
        budget(home.path(), &of_one("", limit), "--out base").code,
        Some(0)
    );
    let larger = of_one("", limit).replace("64B", "65B");
    let said = budget(home.path(), &larger, "--against base --out new");
    assert_eq!(said.code, Some(99), "{}", said.stdout);
    assert!(
        said.stdout
            .contains("message up: payload 64 B to 65 B (+1 B, original)"),
        "{}",
        said.stdout
    );
}

/// The smaller form of `scripts/bench-gate`, beside threads that do nothing but count.
#[test]
fn an_unchanged_scenario_is_never_an_alarm() {
    const RUNS: usize = 20;
    let home = open_folder();
    let of = |order: usize| {
        let mut scenarios = SCENARIOS;
        scenarios.rotate_left(order % SCENARIOS.len());
        if order % 3 == 1 {
            scenarios.swap(0, 2);
        }
        format!("wirecost_budget: 1\nscenarios:\n{}", scenarios.concat())
    };
    let base = budget(home.path(), &of(0), "--out base");
    assert_eq!(base.code, Some(0), "{}", base.stderr);
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for run in 0..RUNS {
            if run == RUNS / 2 {
                scope.spawn(|| {
                    while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            let arguments = format!("--against base --out now-{run} --jobs {}", run % 2 + 1);
            let now = budget(home.path(), &of(run), &arguments);
            assert_eq!(now.code, Some(0), "run {run}: {}{}", now.stdout, now.stderr);
            let judged = json(home.path(), &format!("now-{run}/budget.json"));
            let limits = judged["limits"].as_array().expect("limits");
            assert_eq!(limits.len(), 6);
            for limit in limits {
                assert_eq!(limit["before"], limit["after"], "{limit}");
            }
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn bytes_money_and_energy_are_those_of_cost() {
    let home = open_folder();
    let limits = "month_bytes: <= 1 GB\n      month_price{tariff=1nce}: <= 9 USD\n      energy{device=nrf9160-lte-m}: <= 9 J";
    let keys = ", interval: 15min, link: lte-m";
    let ran = budget(home.path(), &of_one(keys, limits), "--out new");
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let cost = "cost new/meter --device nrf9160-lte-m --tariff 1nce --json cost.json";
    assert_eq!(said(wirecost(home.path()).args(cost.split(' '))).code, Some(0));
    let row = json(home.path(), "cost.json")["rows"][0].clone();
    let month =
        row["month"]["bytes_up"].as_f64().expect("up") + row["month"]["bytes_down"].as_f64().expect("down");
    let expected = [
        month,
        row["bill"]["amount"].as_f64().expect("money"),
        row["joules_each"]["mean"].as_f64().expect("joules"),
    ];
    let judged = json(home.path(), "new/budget.json");
    for (limit, expected) in judged["limits"].as_array().expect("limits").iter().zip(expected) {
        let after = limit["after"].as_f64().expect("a figure");
        assert!((after - expected).abs() <= 1e-9 * expected, "{limit}: {expected}");
    }
}

#[test]
fn the_sample_holds_and_its_capture_too() {
    let home = open_folder();
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/budget");
    let capture = format!("{sample}/firmware.pcapng");
    let arguments = [
        "budget",
        &format!("{sample}/budget.yaml"),
        "--capture",
        &capture,
        "--out",
        "out",
        "--quiet",
    ];
    let ran = said(wirecost(home.path()).args(arguments));
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
}
