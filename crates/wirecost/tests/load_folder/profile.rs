//! CPU profiles of the target: taken where `perf` can, and said why not where it cannot.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::TempDir;
use wirecost_results::LoadSummary;

use crate::common::{open_folder, said, wirecost};
use crate::{is_whole, publish, summary};

/// Runs a load that is profiled, where the only programs are those in `programs`.
fn profiled(home: &Path, programs: &Path, target: &str) -> LoadSummary {
    let mut command = wirecost(home);
    command.args([
        "load",
        target,
        "-c",
        "2",
        "-r",
        "100/s",
        "-n",
        "100",
        "--profile",
        "--quiet",
    ]);
    let said = said(command.args(["-o", "run"]).env("PATH", programs));
    assert!(is_whole(&said), "{:?} {}", said.code, said.stderr);
    let summary = summary(&home.join("run"));
    assert_eq!(
        publish(&summary).outcomes.acknowledged,
        100,
        "the figures are whole"
    );
    summary
}

/// Why there is no profile.
fn refusal(summary: &LoadSummary) -> &str {
    let load = &summary.loads[0];
    assert_eq!(load.profile, None);
    let mut warnings = load.warnings.iter();
    let warning = warnings
        .find(|warning| warning.kind.name() == "no-profile")
        .expect("a reason");
    assert!(!warning.invalidates);
    &warning.text
}

/// A folder with a `perf` that does this.
fn perf(script: &str) -> TempDir {
    let folder = open_folder();
    let path = folder.path().join("perf");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a program");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("permissions");
    folder
}

#[test]
fn a_machine_without_perf_says_so() {
    let home = open_folder();
    let programs = open_folder();
    assert_eq!(
        refusal(&profiled(home.path(), programs.path(), "mqtt-qos1")),
        "there is no CPU profile of the target: there is no program perf: Debian's package linux-perf has it"
    );
}

#[test]
fn a_machine_without_counters_says_so() {
    let home = open_folder();
    let programs = perf("echo 'Error:' >&2; echo 'No permission to enable cpu-clock event.' >&2; exit 255");
    assert_eq!(
        refusal(&profiled(home.path(), programs.path(), "mqtt-qos1")),
        "there is no CPU profile of the target: perf failed: No permission to enable cpu-clock event."
    );
}

#[test]
fn a_profile_is_ended_with_the_load_and_kept_as_folded_stacks() {
    let home = open_folder();
    // It records until it is told to stop, into the file that comes last.
    let programs = perf(
        "case $1 in\n\
         record) for file; do :; done; read word; [ \"$word\" = stop ] && echo samples > \"$file\";;\n\
         script) printf 'sink\\n\\tffffffff81230000 tcp_sendmsg\\n\\t55e0 main\\n\\n';;\n\
         esac",
    );
    let summary = profiled(home.path(), programs.path(), "mqtt-qos1");
    let file = summary.loads[0].profile.as_deref().expect("a profile");
    let folded = std::fs::read_to_string(home.path().join("run").join(file)).expect("folded stacks");
    assert_eq!(folded, "sink;main;tcp_sendmsg_[k] 1\n");
    let report = std::fs::read_to_string(home.path().join("run/report.html")).expect("a report");
    assert!(report.contains("tcp_sendmsg"), "a flame graph");
}

/// Whatever `perf` there is on this machine: a profile, or why there is none.
#[test]
fn there_is_a_profile_or_a_reason() {
    let home = open_folder();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let summary = profiled(home.path(), Path::new(&path), "mqtt-qos1");
    match &summary.loads[0].profile {
        Some(file) => {
            let folded = std::fs::read_to_string(home.path().join("run").join(file)).expect("folded stacks");
            assert!(folded.lines().all(|line| line.contains(';')), "{folded}");
        }
        None => assert!(!refusal(&summary).is_empty()),
    }
}

#[test]
fn a_profile_of_a_foreign_target_is_refused_before_the_run() {
    let home = open_folder();
    let mut command = wirecost(home.path());
    let said = said(command.args(["load", "mqtt://127.0.0.1:1/t", "--profile", "-o", "run"]));
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    let error = "error: --profile: wirecost can profile only a target that it starts, and mqtt://127.0.0.1:1/t runs already";
    assert!(said.stderr.starts_with(error), "{}", said.stderr);
    assert!(!home.path().join("run").exists(), "nothing is run");
    let text = "wirecost: 1\ntarget: mqtt://127.0.0.1:1/t\nprofile: true\nphases: [{do: publish, rate: 1/s, count: 1}]\n";
    std::fs::write(home.path().join("a.yaml"), text).expect("a scenario");
    let mut command = wirecost(home.path());
    let said = crate::common::said(command.args(["run", "a.yaml"]));
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr
            .starts_with("error: a.yaml:3: profile: wirecost can profile only a target"),
        "{}",
        said.stderr
    );
}
