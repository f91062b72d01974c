//! Loads with an unreachable target: they do not end other loads, do not count as success, and can be run later.

use std::fs;
use std::path::Path;

use crate::common::{Said, open_folder, said, wirecost};
use crate::peers::{Server, own_port};
use crate::{is_whole, summary};

/// A scenario of 20 messages to each of some targets.
fn write(home: &Path, targets: &str) {
    let text = format!(
        "wirecost: 1\nstack: mqtt-qos1\ntarget: [{targets}]\nclients: 2\nrate: 50/s\n\
         phases: [{{do: connect}}, {{do: publish, count: 20}}]\n"
    );
    fs::write(home.join("scenario.yaml"), text).expect("a scenario");
}

fn run(home: &Path, arguments: &str) -> Said {
    let mut command = wirecost(home);
    command.args(["run", "scenario.yaml", "--quiet", "--junit", "junit.xml"]);
    said(command.args(arguments.split_whitespace()))
}

/// Why each load did not run.
fn not_run(folder: &Path) -> Vec<Option<String>> {
    summary(folder)
        .loads
        .into_iter()
        .map(|load| load.not_run)
        .collect()
}

#[test]
fn the_other_loads_run_and_the_test_report_is_not_green() {
    let home = open_folder();
    write(
        home.path(),
        "\"mqtt://127.0.0.1:1/a\", builtin, \"mqtt://127.0.0.1:1/b\"",
    );
    let said = run(home.path(), "-o run");
    assert!(
        matches!(said.code, Some(13 | 14)),
        "{:?} {}",
        said.code,
        said.stderr
    );
    assert!(said.line("resume:  ").is_some(), "{}", said.stderr);
    let reason = "no device could connect to mqtt://127.0.0.1:1/";
    let told: Vec<bool> = not_run(&home.path().join("run"))
        .into_iter()
        .map(|not_run| not_run.is_some_and(|told| told.starts_with(reason)))
        .collect();
    assert_eq!(told, [true, false, true]);
    let summary = summary(&home.path().join("run"));
    assert!(!summary.interrupted);
    assert_eq!(summary.loads[1].phases[1].outcomes.acknowledged, 20);
    let junit = fs::read_to_string(home.path().join("junit.xml")).expect("a test report");
    assert_eq!(junit.matches("type=\"not-run\"").count(), 2, "{junit}");
}

#[test]
fn without_any_connection_the_target_is_unreachable() {
    let home = open_folder();
    write(home.path(), "\"mqtt://127.0.0.1:1/a\", \"mqtt://127.0.0.1:1/b\"");
    let said = run(home.path(), "");
    assert_eq!(said.code, Some(11), "{}", said.stderr);
    let junit = fs::read_to_string(home.path().join("junit.xml")).expect("a test report");
    assert_eq!(junit.matches("type=\"not-run\"").count(), 2, "{junit}");
}

#[test]
fn skipped_loads_are_named_like_finished_ones() {
    let home = open_folder();
    let text = "wirecost: 1\nstack: mqtt-qos1\ntarget: \"mqtt://127.0.0.1:1/a\"\nclients: 2\nrate: [30/s, 50/s]\n\
                phases: [{do: connect}, {do: publish, count: 20}]\n";
    fs::write(home.path().join("scenario.yaml"), text).expect("a scenario");
    let said = run(home.path(), "-o run");
    assert_eq!(said.code, Some(11), "{}", said.stderr);
    let junit = fs::read_to_string(home.path().join("junit.xml")).expect("a test report");
    for rate in ["30/s", "50/s"] {
        assert!(said.stdout.contains(rate), "{}", said.stdout);
        let name = format!("name=\"mqtt-qos1, {rate}\"");
        assert_eq!(junit.matches(&name).count(), 1, "{junit}");
    }
    let loads = summary(&home.path().join("run")).loads;
    assert!(loads.iter().all(|load| load.phases.is_empty()));
}

#[test]
fn a_run_that_is_gone_on_with_tries_them_again() {
    let home = open_folder();
    let port = own_port();
    write(home.path(), &format!("builtin, \"mqtt://127.0.0.1:{port}/a\""));
    let first = run(home.path(), "-o run");
    assert!(
        matches!(first.code, Some(13 | 14)),
        "{:?} {}",
        first.code,
        first.stderr
    );
    let folder = home.path().join("run");
    let before = summary(&folder).loads[0].phases[1].clone();
    let _server = Server::builtin_at("mqtt", port);
    let second = run(home.path(), "--resume run");
    assert!(is_whole(&second), "{:?} {}", second.code, second.stderr);
    assert_eq!(not_run(&folder), [None, None]);
    let loads = summary(&folder).loads;
    assert_eq!(loads[0].phases[1], before, "what had run did not run again");
    assert_eq!(loads[1].phases[1].outcomes.acknowledged, 20);
}

#[test]
fn figures_of_some_machines_are_not_merged_as_those_of_all() {
    let home = open_folder();
    let port = own_port();
    write(home.path(), &format!("builtin, \"mqtt://127.0.0.1:{port}/a\""));
    run(home.path(), "-o without");
    let server = Server::builtin_at("mqtt", port);
    let with = run(home.path(), "-o with");
    assert!(is_whole(&with), "{:?} {}", with.code, with.stderr);
    drop(server);
    let merge = |folders: &str| {
        let mut command = wirecost(home.path());
        said(command.arg("merge").args(folders.split(' ')))
    };
    for folders in ["with without -o a", "without with -o b"] {
        let merged = merge(folders);
        assert_eq!(merged.code, Some(2), "{}", merged.stderr);
        let told = "was not run in one of the folders: no device could connect to";
        assert!(merged.stderr.contains(told), "{}", merged.stderr);
    }
}

#[test]
fn a_url_with_the_wrong_scheme_suggests_the_right_one() {
    let of = |protocol: &str, more: &[&str]| Server::builtin_with(protocol, own_port(), more);
    let (secure, plain, amqp) = (of("mqtt", &["--tls"]), of("mqtt", &[]), of("amqp", &["--tls"]));
    for (scheme, other, server, what) in [
        ("mqtt", "mqtts", &secure, "speaks TLS"),
        ("mqtts", "mqtt", &plain, "does not speak TLS"),
        ("amqp", "amqps", &amqp, "speaks TLS"),
    ] {
        let home = open_folder();
        let host = format!("127.0.0.1:{}", server.port);
        let said = crate::load(
            home.path(),
            &format!("{scheme}://{host}/t -c 2 -n 4 -r 20/s --insecure"),
        );
        let why = format!(
            "no device could connect to {scheme}://{host}/t: its port {what}: did you mean {other}://{host} ?"
        );
        assert_eq!(said.code, Some(12), "{scheme}: {}", said.stderr);
        assert!(said.stderr.contains(&why), "{}\n{why}", said.stderr);
    }
    let web = of("http1", &[]);
    let home = open_folder();
    let said = crate::load(
        home.path(),
        &format!("mqtt://127.0.0.1:{}/t -c 2 -n 4 -r 20/s", web.port),
    );
    let meant = format!("did you mean http://127.0.0.1:{} ?", web.port);
    assert_eq!(said.code, Some(12), "{}", said.stderr);
    assert!(
        said.stderr
            .contains("answered an MQTT CONNECT with an HTTP answer")
            && said.stderr.contains(&meant),
        "{}",
        said.stderr
    );
    let web = of("http1", &["--tls"]);
    let home = open_folder();
    let said = crate::load(
        home.path(),
        &format!("http://127.0.0.1:{}/t -c 2 -n 4 -r 20/s", web.port),
    );
    let meant = format!(
        "its port speaks TLS: did you mean https://127.0.0.1:{} ?",
        web.port
    );
    let line: String = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(line.contains(&meant), "{}", said.stdout);
}
