//! The examples at work, with smaller numbers: what they demand of counts holds. How fast a busy machine is says nothing
//! about them, so that what they demand of times may fail here.

use std::path::Path;

use serde_json::Value;

use super::common::{Said, need_root, open_folder, said, wirecost};
use super::{examples, summary};

/// Runs an example with these words into the folder `run`.
fn run(folder: &Path, example: &str, words: &[&str]) -> Said {
    let path = examples().into_iter().find(|path| path.ends_with(example));
    let mut command = wirecost(folder);
    command.arg("run").arg(path.expect("the example")).args(words);
    said(command.args(["-o", "run", "--quiet"]))
}

/// Asserts that a run has its figures, be they too late or too slow for the example's thresholds.
fn assert_has_run(said: &Said) {
    assert!(
        matches!(said.code, Some(0 | 14 | 99)),
        "{:?}\n{}",
        said.code,
        said.stderr
    );
}

/// The summary of loads in the folder `run`.
fn loads(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("run/summary.json")).expect("summary.json");
    serde_json::from_str(&text).expect("JSON")
}

/// Asserts what the figure is that a threshold of loads is about, be the run too late for it to pass or not.
fn assert_figure(summary: &Value, metric: &str, expected: f64) {
    let thresholds = summary["thresholds"].as_array().expect("thresholds");
    let of_metric = thresholds.iter().find(|one| one["metric"] == metric);
    assert_eq!(
        of_metric.map(|one| one["actual"].as_f64()),
        Some(Some(expected)),
        "{metric}: {thresholds:#?}"
    );
}

fn count(load: &Value, phase: &str, path: &str) -> u64 {
    let phases = load["phases"].as_array().expect("phases");
    let of_phase = phases.iter().find(|one| one["name"] == phase).expect("the phase");
    of_phase.pointer(path).and_then(Value::as_u64).expect("a count")
}

#[test]
fn a_storm_brings_every_device_back_and_loses_nothing() {
    let home = open_folder();
    let phases = "phases=[{do: connect, rate: 500/s}, {do: publish, rate: 100/s, duration: 2s}, {do: drop_all}, \
                  {do: reconnect, backoff: {first: 100ms, max: 1s, jitter: full}, timeout: 90s}, \
                  {do: await_replay, timeout: 30s}]";
    let said = run(
        home.path(),
        "storm.yaml",
        &["--set", "clients=40", "--set", phases],
    );
    assert_has_run(&said);
    let summary = loads(home.path());
    assert_figure(&summary, "messages_lost", 0.0);
    assert_figure(&summary, "connections_failed", 0.0);
    let load = &summary["loads"][0];
    // Forty that send and five that listen.
    assert_eq!(count(load, "connect", "/connects/established"), 45);
    assert_eq!(count(load, "drop", "/connects/lost"), 45);
    assert_eq!(count(load, "reconnect", "/connects/established"), 45);
    assert_eq!(count(load, "publish", "/outcomes/acknowledged"), 200);
    assert_eq!(count(load, "publish", "/deliveries/arrived"), 5 * 200);
}

#[test]
fn a_load_has_a_run_for_each_of_its_values() {
    let home = open_folder();
    let phases = "phases=[{do: publish, duration: 1s, warm_up: 500ms, arrivals: poisson}]";
    let words = [
        "--vary",
        "clients=2,4",
        "--vary",
        "rate=50/s,100/s",
        "--set",
        phases,
    ];
    assert_has_run(&run(home.path(), "load.yaml", &words));
    let summary = loads(home.path());
    assert_figure(&summary, "acknowledged", 1.0);
    let loads = summary["loads"].as_array().expect("loads");
    let asked: Vec<(u64, f64)> = loads
        .iter()
        .map(|load| (load["clients"].as_u64(), load["phases"][1]["asked_rate"].as_f64()))
        .filter_map(|(clients, rate)| clients.zip(rate))
        .collect();
    assert_eq!(asked, [(2, 50.0), (2, 100.0), (4, 50.0), (4, 100.0)]);
}

#[test]
fn the_knee_of_four_workers_shows_in_virtual_time() {
    let home = open_folder();
    let phases = "phases=[{do: publish, duration: 2s, warm_up: 500ms, arrivals: poisson}]";
    let words = [
        "--vary",
        "rate=2000/s,4400/s",
        "--set",
        phases,
        "--set",
        "clients=50",
    ];
    let said = run(home.path(), "knee.yaml", &words);
    assert_eq!(said.code, Some(99), "{}", said.stderr);
    let summary = loads(home.path());
    let limits = summary["loads"].as_array().expect("loads").iter();
    let limits: Vec<Option<&str>> = limits.map(|load| load["bottleneck"]["who"].as_str()).collect();
    assert_eq!(limits, [Some("none"), Some("target")]);
}

#[test]
#[ignore = "needs root"]
fn the_latency_matrix_runs_on_kernel_sockets() {
    need_root();
    let home = open_folder();
    let words = [
        "--set",
        "count=2",
        "--set",
        "settle=300ms",
        "--vary",
        "link.rtt=25ms",
        "--vary",
        "size=16B",
    ];
    assert_has_run(&run(home.path(), "latency-matrix.yaml", &words));
    let cells = summary(home.path(), "run").cells;
    // Three starts of four stacks, without the two that DTLS has not.
    assert_eq!(cells.len(), 10);
    for cell in &cells {
        assert_eq!(
            (cell.engine.as_str(), cell.outcomes.acknowledged),
            ("live", 2),
            "{}",
            cell.stack
        );
    }
}

/// A use case of the public benchmark suite with twenty devices of each kind, and messages for two seconds.
fn of_the_suite(file: &str, engine: &str, phases: &str) -> Value {
    let home = open_folder();
    let target = match engine {
        "live" => "target=mosquitto",
        _ => "target=builtin",
    };
    let mut words = vec!["--engine", engine, "--set", target, "--set", "clients=20"];
    if file != "connections.yaml" {
        words.extend(["--set", "subscribers.devices=20"]);
    }
    words.extend(["--set", phases]);
    let said = run(home.path(), &format!("mqttbs/{file}"), &words);
    assert_has_run(&said);
    loads(home.path())
}

fn each_use_case_of_the_suite_loses_nothing(engine: &str) {
    const PUBLISH: &str = "phases=[{do: publish, rate: 5/s, per_client: true, duration: 2s}]";
    const SESSIONS: &str = "phases=[{do: connect}, {do: drop_all, who: subscribers, reset: false}, \
                            {do: publish, rate: 5/s, per_client: true, duration: 2s}, \
                            {do: reconnect, who: subscribers, backoff: {first: 100ms, max: 1s, jitter: full}, timeout: 60s}, \
                            {do: await_replay, timeout: 30s}]";
    let connections = "phases=[{do: connect, rate: 100/s}, {do: hold, duration: 1s}]";
    let connected = of_the_suite("connections.yaml", engine, connections);
    assert_figure(&connected, "connections_failed", 0.0);
    assert_eq!(
        count(&connected["loads"][0], "connect", "/connects/established"),
        20
    );
    for (file, phases, copies) in [
        ("fan-out.yaml", PUBLISH, 20),
        ("point-to-point.yaml", PUBLISH, 1),
        ("fan-in.yaml", PUBLISH, 1),
    ] {
        let summary = of_the_suite(file, engine, phases);
        let load = &summary["loads"][0];
        assert_eq!(count(load, "publish", "/outcomes/acknowledged"), 200, "{file}");
        assert_eq!(
            count(load, "publish", "/deliveries/arrived"),
            200 * copies,
            "{file}"
        );
        assert_figure(&summary, "missing", 0.0);
    }
    let sessions = of_the_suite("persistent-sessions.yaml", engine, SESSIONS);
    assert_figure(&sessions, "missing", 0.0);
}

#[test]
fn the_use_cases_of_the_public_suite_run_in_virtual_time() {
    each_use_case_of_the_suite_loses_nothing("sim");
}

#[test]
#[ignore = "needs root and mosquitto"]
fn the_use_cases_of_the_public_suite_run_against_mosquitto() {
    need_root();
    each_use_case_of_the_suite_loses_nothing("live");
}
