//! Runs that end early.

use std::path::Path;
use std::process::{Child, Stdio};

use wirecost_results::Summary;

use crate::common::{
    Said, compared, ended, eventually, need_program, need_root, open_folder, said, signal, summary_in,
    wirecost,
};
use crate::{files, nothing_is_left_behind, processes_of};

/// Starts a run of a thousand devices, far longer than the tests wait, in `home`.
fn long_run(home: &Path, more: &[&str]) -> Child {
    need_root();
    let out = home.join("run");
    let mut command = wirecost(home);
    command
        .args([
            "compare",
            "--engine",
            "live",
            "mqtt-qos1",
            "-n",
            "1000",
            "--settle",
            "200ms",
            "--rtt",
            "5ms",
            "--out",
        ])
        .arg(out)
        .args(more);
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("wirecost starts")
}

/// Waits until a run has devices that are through, by the time that the first ones need on a machine that has other things
/// to do: the last of a thousand starts after ten seconds.
fn let_it_measure(home: &Path) {
    eventually("the run records", || home.join("run/journal.jsonl").exists());
    std::thread::sleep(std::time::Duration::from_millis(4_500));
}

/// Checks the output of a run that ended early and in order.
fn check_kept(home: &Path, said: &Said) -> Summary {
    let summary = summary_in(&home.join("run"));
    assert!(summary.interrupted, "{}", said.stderr);
    let outcomes = &summary.cells[0].outcomes;
    assert!((1..1_000).contains(&outcomes.offered), "{outcomes:?}");
    assert!(outcomes.add_up(), "{outcomes:?}");
    let kept = files(&home.join("run"));
    for file in [
        "report.html",
        "capture/all.pcapng",
        "samples.csv",
        "env.json",
        "summary.md",
    ] {
        assert!(
            kept.iter().any(|name| name == file),
            "{file} is missing in {kept:?}"
        );
    }
    nothing_is_left_behind(home);
    summary
}

#[test]
#[ignore = "needs root"]
fn ctrl_c_keeps_the_measured_figures() {
    for name in ["INT", "TERM"] {
        let home = open_folder();
        let child = long_run(home.path(), &[]);
        let_it_measure(home.path());
        signal(child.id(), name);
        let said = ended(child);
        assert_eq!(said.code, Some(130), "SIG{name}: {}", said.stderr);
        assert!(
            said.line("interrupted: what was measured is in ").is_some(),
            "{}",
            said.stderr
        );
        let summary = check_kept(home.path(), &said);
        let acknowledged = summary.cells[0].outcomes.acknowledged;
        assert_eq!(
            acknowledged, summary.cells[0].outcomes.offered,
            "finished samples only"
        );
    }
}

#[test]
#[ignore = "needs root and mosquitto"]
fn a_killed_run_leaves_no_process_and_no_device() {
    need_program("mosquitto", "mosquitto");
    for target in ["builtin", "mosquitto"] {
        let home = open_folder();
        let mut child = long_run(home.path(), &["--target", target]);
        let_it_measure(home.path());
        signal(child.id(), "KILL");
        child.wait().expect("it ends");
        eventually("every process ends", || processes_of(home.path()).is_empty());
        nothing_is_left_behind(home.path());
    }
}

#[test]
#[ignore = "needs root and mosquitto"]
fn a_target_that_dies_ends_the_run_and_is_named() {
    need_program("mosquitto", "mosquitto");
    let home = open_folder();
    let child = long_run(home.path(), &["--target", "mosquitto"]);
    let_it_measure(home.path());
    signal(mosquitto_of(home.path()), "KILL");
    let said = ended(child);
    assert_eq!(said.code, Some(13), "{}", said.stderr);
    let error = said.line("error: ").expect("a sentence");
    assert!(
        error.contains("mosquitto") && error.contains("ended during the run with signal: 9"),
        "{error}"
    );
    assert!(
        said.line("hint: what was measured before is in ").is_some(),
        "{}",
        said.stderr
    );
    check_kept(home.path(), &said);
}

/// The process whose configuration is in `home`.
fn mosquitto_of(home: &Path) -> u32 {
    let config = home.join("run/mosquitto.d/mosquitto.conf");
    let config = config.to_str().expect("a text");
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_it = |pid: &u32| {
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.contains(config) && line.contains("mosquitto\0")
    };
    let mut found = pids.filter(is_it);
    found.next().expect("mosquitto runs")
}

#[test]
#[ignore = "needs root"]
fn a_closed_pipe_does_not_end_the_run() {
    need_root();
    let home = open_folder();
    let mut command = wirecost(home.path());
    command.args([
        "compare", "--engine", "live", "tcp", "-n", "5", "--settle", "200ms", "--out", "run",
    ]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("wirecost starts");
    drop((child.stdout.take(), child.stderr.take()));
    let said = ended(child);
    let summary = compared(&said, &home.path().join("run"));
    assert_eq!(summary.cells[0].outcomes.delivered, 5);
}

#[test]
#[ignore = "needs root"]
fn the_first_line_names_the_stacks_and_the_folder() {
    need_root();
    let home = open_folder();
    let said = said(wirecost(home.path()).args([
        "compare", "--engine", "live", "udp", "-n", "2", "--settle", "200ms", "--out", "run",
    ]));
    let first = said.stderr.lines().next().expect("a line");
    assert!(
        first.starts_with("wirecost ") && first.contains("udp") && first.ends_with("into run"),
        "{first}"
    );
    compared(&said, &home.path().join("run"));
    assert!(
        said.stdout.contains("udp"),
        "the table goes to stdout: {}",
        said.stdout
    );
    assert!(
        said.line("report:  ").is_some() && said.line("capture: ").is_some(),
        "{}",
        said.stderr
    );
}
