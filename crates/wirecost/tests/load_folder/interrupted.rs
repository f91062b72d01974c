//! Ctrl-C while there is no load yet, or no end of it: whatever is waited for, the run ends and the folder can be read.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Said, ended, eventually, open_folder, signal, wirecost};
use crate::{begin, children, summary};

/// Less than workers and connects are waited for here, and far more than what an interrupted run needs on a machine that
/// has other things to do: a process that was stopped only when it was ready is waited for 10 s. A target that was waited
/// for to the end would end the run with another exit code.
const SOON: Duration = Duration::from_secs(30);

/// Interrupts a run and waits for its end, which must come soon.
fn interrupt(child: Child) -> Said {
    let began = Instant::now();
    signal(child.id(), "INT");
    let said = ended(child);
    let took = began.elapsed();
    assert_eq!(said.code, Some(130), "{}", said.stderr);
    assert!(took < SOON, "it took {took:?}: {}", said.stderr);
    said
}

/// Checks the results of an interrupted run. Returns the number of its loads.
fn check_left(home: &Path, said: &Said) -> usize {
    let summary = summary(&home.join("run"));
    assert!(summary.interrupted, "{summary:?}");
    assert!(said.line("resume:  ").is_some(), "{}", said.stderr);
    let report = fs::read_to_string(home.join("run/report.html")).expect("a report");
    assert!(report.contains("interrupted"));
    let journal = fs::read_to_string(home.join("run/journal.jsonl")).expect("a journal");
    let last = journal.lines().last().expect("a line");
    assert!(last.contains(r#""interrupted":true"#), "{last}");
    summary.loads.len()
}

/// Starts a load and stops its first process of a kind before it is ready.
fn begin_with_stopped(home: &Path, arguments: &str, kind: &str) -> Child {
    let load = begin(home, &format!("{arguments} -o run"));
    let deadline = Instant::now() + SOON;
    let first = loop {
        if let Some(first) = children(load.id(), kind).first() {
            break *first;
        }
        assert!(Instant::now() < deadline, "no {kind} has started");
    };
    signal(first, "STOP");
    thread::sleep(Duration::from_millis(500));
    load
}

#[test]
fn ctrl_c_while_worker_processes_start_ends_the_run_at_once() {
    let home = open_folder();
    let arguments = "mqtt-qos1 -c 8000 -r 100/s -d 60s --processes 2";
    let load = begin_with_stopped(home.path(), arguments, "load-worker");
    let said = interrupt(load);
    check_left(home.path(), &said);
}

#[test]
fn ctrl_c_while_the_counting_target_starts_ends_the_run_at_once() {
    let home = open_folder();
    let load = begin_with_stopped(
        home.path(),
        "mqtt-qos1+tls1.3 -c 4 -r 100/s -d 60s",
        "load-target",
    );
    let said = interrupt(load);
    check_left(home.path(), &said);
}

/// A command with a `mosquitto` that prints its version and serves no client.
fn with_mute_mosquitto(home: &Path) -> Command {
    let script = "#!/bin/sh\n[ \"$1\" = -c ] || { echo mosquitto version 2.0.0; exit; }\nexec sleep 600\n";
    let path = home.join("mosquitto");
    fs::write(&path, script).expect("a script");
    fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("permissions");
    let mut command = wirecost(home);
    let mut folders = home.as_os_str().to_owned();
    folders.push(":");
    folders.push(std::env::var_os("PATH").unwrap_or_default());
    command.env("PATH", folders);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
#[ignore = "needs mosquitto"]
fn ctrl_c_while_a_real_server_starts_ends_the_run_at_once() {
    for command in ["load", "compare --engine live"] {
        let home = open_folder();
        let child = with_mute_mosquitto(home.path())
            .args(command.split(' '))
            .args(["--quiet", "--target", "mosquitto", "mqtt-qos1", "--out", "run"])
            .spawn()
            .expect("wirecost starts");
        eventually("the server is started", || {
            home.path().join("run/mosquitto.log").exists()
        });
        let said = interrupt(child);
        if command == "load" {
            assert_eq!(check_left(home.path(), &said), 0, "nothing had begun");
        }
    }
}

#[test]
fn ctrl_c_during_unanswered_connects_ends_the_run_soon() {
    let home = open_folder();
    let mute = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("mqtt://{}", mute.local_addr().expect("an address"));
    let load = begin(
        home.path(),
        &format!("{url} -c 4 -r 100/s -d 60s --connect-timeout 60s -o run"),
    );
    thread::sleep(Duration::from_secs(1));
    let said = interrupt(load);
    check_left(home.path(), &said);
}
