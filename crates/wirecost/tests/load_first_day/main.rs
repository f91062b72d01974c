//! What a person asks of a load on the first day: demands, answers, versions, credentials.

#![allow(clippy::disallowed_macros, reason = "a test says what it does")]

mod broker;
#[path = "../common/mod.rs"]
mod common;
mod who;

use std::path::Path;

use broker::{Mosquitto, loaded, published};
use common::{Said, need_root, open_folder, said, wirecost};
use serde_json::Value;

/// A program's end with these arguments, separated by blanks.
fn run_in(folder: &Path, arguments: &[&str]) -> Said {
    let mut command = wirecost(folder);
    command.args(arguments);
    said(&mut command)
}

/// A simulated load of two seconds with a service time of 1 ms, and more arguments.
fn loaded_in_virtual_time(more: &[&str]) -> Said {
    const LOAD: &str = "load mqtt-qos1 -c 10 -r 100/s -d 2s --engine sim --service-time 1ms -q";
    let line: Vec<&str> = LOAD.split(' ').chain(more.iter().copied()).collect();
    run_in(open_folder().path(), &line)
}

/// The same with its summary on standard output.
fn simulated(more: &[&str]) -> Said {
    loaded_in_virtual_time(&[&["--json", "-"], more].concat())
}

fn summary(said: &Said) -> Value {
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {}", said.stderr))
}

#[test]
fn a_demand_on_the_command_line_is_judged_as_one_of_a_scenario() {
    let held = simulated(&[
        "--threshold",
        "p(99)<50ms",
        "--threshold",
        "acknowledged: rate==100%",
    ]);
    assert_eq!(held.code, Some(0), "{}", held.stderr);
    let thresholds = summary(&held)["thresholds"].take();
    assert_eq!(thresholds[0]["metric"], "response_time");
    assert_eq!(
        (&thresholds[0]["pass"], &thresholds[1]["pass"]),
        (&Value::Bool(true), &Value::Bool(true))
    );
    let failed = simulated(&["--threshold", "p(99)<500us"]);
    assert_eq!(failed.code, Some(99), "{}", failed.stderr);
    assert_eq!(summary(&failed)["thresholds"][0]["pass"], false);
    let unanswered = [
        "load",
        "mqtt-qos0",
        "-d",
        "1s",
        "-r",
        "200/s",
        "--engine",
        "sim",
        "--threshold",
        "p(99)<50ms",
        "-q",
        "--json",
        "-",
    ];
    let unanswered = run_in(open_folder().path(), &unanswered);
    assert_eq!(summary(&unanswered)["thresholds"][0]["metric"], "one_way_delay");
}

#[test]
fn a_demand_of_a_comparison_is_judged() {
    let home = open_folder();
    let asked = |threshold: &str| {
        let line = [
            "compare",
            "mqtt-qos1",
            "-n",
            "5",
            "--engine",
            "sim",
            "-q",
            "--threshold",
            threshold,
        ];
        run_in(home.path(), &line).code
    };
    assert_eq!(asked("bytes_per_msg: mean<5kB"), Some(0));
    assert_eq!(asked("bytes_per_msg: mean<5B"), Some(99));
}

#[test]
fn a_demand_without_a_unit_is_refused_with_what_to_write() {
    let said = simulated(&["--threshold", "p(99)<50"]);
    assert_eq!(said.code, Some(2));
    let error = said.line("error: ").expect("an error");
    assert!(
        error.starts_with("--threshold \"p(99)<50\": ")
            && error.ends_with("\"50\" has no unit: write 40ms or 15min"),
        "{error}"
    );
    let unknown = simulated(&["--threshold", "latency: p(99)<50ms"]);
    assert_eq!(unknown.code, Some(2));
    assert!(
        unknown.stderr.contains("unknown metric \"latency\""),
        "{}",
        unknown.stderr
    );
}

#[test]
fn the_first_three_lines_are_the_answer() {
    let lines = |threshold: &[&str]| {
        let said = loaded_in_virtual_time(threshold);
        let lines = said.stdout.lines().take(3).map(str::to_owned);
        (lines.collect::<Vec<String>>(), said.code)
    };
    let (plain, code) = lines(&[]);
    assert_eq!(code, Some(0));
    assert!(
        plain[2].starts_with("mqtt-qos1 → builtin, 10 clients, 128 B, 100/s"),
        "{plain:?}"
    );
    assert!(
        plain[0].starts_with("100/s acknowledged of 100/s offered, response p50 1.")
            && plain[0].contains(" ms, p99 "),
        "{plain:?}"
    );
    assert_eq!(plain[1], "valid, and no threshold was given; bottleneck: none");
    let (passed, _) = lines(&["--threshold", "p(99)<50ms"]);
    assert_eq!(passed[1], "pass: the threshold holds; bottleneck: none");
    let (failed, code) = lines(&["--threshold", "p(99)<50ms", "--threshold", "p(50)<500us"]);
    assert_eq!(code, Some(99));
    assert!(
        failed[1].starts_with("FAIL: 1 of 2 thresholds: response_time p(50)<500us (1"),
        "{failed:?}"
    );
}

/// No rate holds, so that the searches are short.
#[test]
fn a_search_is_repeated_with_seeds_of_its_own() {
    let home = open_folder();
    let line = [
        "load",
        "mqtt-qos1",
        "-c",
        "10",
        "-r",
        "20/s",
        "-d",
        "1s",
        "--poisson",
        "--engine",
        "sim",
        "--service-time",
        "exponential:10ms",
        "--find-max",
        "p(90)<1us",
        "--repeat",
        "2",
        "-q",
        "-o",
        "run",
    ];
    let said = run_in(home.path(), &line);
    assert_eq!(said.code, Some(99), "{}", said.stderr);
    let text = std::fs::read_to_string(home.path().join("run/summary.json")).expect("a summary");
    let summary: Value = serde_json::from_str(&text).expect("a summary");
    let searches = summary["searches"].as_array().expect("searches");
    assert_eq!(searches.len(), 2);
    let of = &searches[1]["run_of"];
    assert_eq!((&of["run"], &of["runs"]), (&2.into(), &2.into()));
    assert_ne!(searches[0]["trials"], searches[1]["trials"]);
    let first = said.stdout.lines().next().expect("a line");
    assert_eq!(
        first,
        "highest rate over 2 searches: none found a rate that the target holds"
    );
}

#[test]
#[ignore = "needs root and mosquitto"]
fn a_url_is_loaded_by_either_version_of_mqtt_with_user_properties() {
    need_root();
    let home = open_folder();
    let broker = Mosquitto::start(home.path(), "allow_anonymous true");
    let url = broker.url("mqtt");
    let bytes = |more: &[&str]| {
        let (_, load) = loaded(home.path(), &url, &[&["--resource", "t/{device}"], more].concat());
        let publish = published(&load);
        assert_eq!(publish["outcomes"]["acknowledged"], 50, "{load}");
        (
            load["stack"].clone(),
            publish["socket_bytes_up"].as_u64().expect("bytes"),
        )
    };
    let (stack, of_3) = bytes(&[]);
    assert_eq!(stack, "mqtt-qos1");
    let (stack, of_5) = bytes(&["--mqtt", "5"]);
    assert_eq!(stack, "mqtt5-qos1");
    // A PUBLISH of MQTT 5 has the length of its properties.
    assert_eq!(of_5, of_3 + 50);
    let (_, described) = bytes(&[
        "--mqtt",
        "5",
        "--user-property",
        "site=north",
        "--user-property",
        "fw=1.2",
    ]);
    // MQTT 5, section 2.2.2.2: an identifier, and two texts behind two bytes of length each.
    assert_eq!(described, of_5 + 50 * (2 * (1 + 2 + 2) + 4 + 5 + 2 + 3));
}

#[test]
fn versions_and_user_properties_of_others_are_refused() {
    let home = open_folder();
    for (arguments, told) in [
        (
            vec!["coap://127.0.0.1/t", "--mqtt", "5"],
            "--mqtt is a version of MQTT",
        ),
        (
            vec!["mqtt-qos1", "--mqtt", "5"],
            "mqtt-qos1 names its version of MQTT",
        ),
        (
            vec!["mqtt-qos1", "--user-property", "a=b"],
            "mqtt-qos1 has no user properties",
        ),
        (vec!["mqtt5-qos1", "--user-property", "=b"], "write NAME=VALUE"),
        (vec!["mqtt5-qos1", "--user-property", "north"], "write NAME=VALUE"),
    ] {
        let said = run_in(home.path(), &[vec!["load"], arguments.clone()].concat());
        assert_eq!(said.code, Some(2), "{arguments:?}");
        assert!(said.stderr.contains(told), "{arguments:?}: {}", said.stderr);
    }
}

#[test]
fn simulated_user_properties_are_sent() {
    let up = |more: &[&str]| {
        let line = [
            "load",
            "mqtt5-qos1",
            "-r",
            "10/s",
            "-d",
            "1s",
            "--engine",
            "sim",
            "-q",
            "--json",
            "-",
        ];
        let said = run_in(open_folder().path(), &[line.as_slice(), more].concat());
        let summary = summary(&said);
        published(&summary["loads"][0])["socket_bytes_up"]
            .as_u64()
            .expect("bytes")
    };
    assert_eq!(up(&["--user-property", "a=b"]), up(&[]) + 10 * 7);
}
